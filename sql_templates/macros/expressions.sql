{#- Expressions that several templates share. Every macro is an expression, never a whole query. -#}

{#- TRUE if a value is NULL, NaN or infinite. NaN and infinity minus themselves are NaN in every
    engine, while functions and comparisons for NaN differ. -#}
{%- macro is_no_number(value) -%}
{{ value }} IS NULL OR NOT ({{ value }} - {{ value }} = 0)
{%- endmacro -%}

{#- The relevance with a gain of 0 under exponential_from: one below the threshold. -#}
{%- macro worthless_grade(relevant_from) -%}
{%- if relevant_from is none or relevant_from < 0 -%}
{{ refuse(
    "gain=exponential_from needs a relevant_from of 0 or more, not "
    ~ relevant_from | string | lower,
    remedy="set it with {set:relevant_from}",
    settings=True
) }}
{%- else -%} {{ relevant_from - 1 }}
{%- endif -%}
{%- endmacro -%}

{#- The gain of a relevant item in units of `gain_unit`. The terms of a sum are then at most about 1
    for any relevance (stars, play counts) and fit the units of exact sums. `relevance`: the column
    with the relevance of the item; `best`: the column with the user's highest relevance. -#}
{%- macro item_gain(gain, relevance, best, relevant_from) -%}
{%- if gain == "binary" -%} 1
{%- elif gain == "linear" -%} {{ relevance }} / {{ best }}
{%- elif gain == "exponential" -%} pow(2, {{ relevance }} - {{ best }}) - pow(2, -{{ best }})
{%- else -%} pow(2, {{ relevance }} - {{ best }}) - pow(2, {{ worthless_grade(relevant_from) }} - {{ best }})
{%- endif -%}
{%- endmacro -%}

{#- The unit of `item_gain`. Gains are 1, the relevance, 2^relevance - 1, or
    2^(relevance - relevant_from + 1) - 1. -#}
{%- macro gain_unit(gain, best, relevant_from) -%}
{%- if gain == "binary" -%} 1
{%- elif gain == "linear" -%} {{ best }}
{%- elif gain == "exponential" -%} pow(2, {{ best }})
{%- else -%} pow(2, {{ best }} - ({{ worthless_grade(relevant_from) }}))
{%- endif -%}
{%- endmacro -%}

{#- The discount of a rank; `rank` starts at 1. `patience`: the factor from a rank to the next, for
    the discounts geometric and rbp. -#}
{%- macro rank_discount(discount, rank, patience=none) -%}
{%- if discount == "log2" -%} 1 / log2({{ rank }} + 1)
{%- elif discount == "geometric" -%} pow({{ patience }}, {{ rank }} - 1)
{%- elif discount == "rbp" -%} (1 - {{ patience }}) * pow({{ patience }}, {{ rank }} - 1)
{%- elif discount == "none" -%} 1
{%- elif discount == "log2_max2" -%} 1 / log2(greatest({{ rank }}, 2))
{%- else -%}
CASE
        WHEN {{ rank }} <= 2 THEN 1 / {{ rank }}
        ELSE 1 / log2({{ rank }}{{ " + 1" if discount == "course_text" }})
    END
{%- endif -%}
{%- endmacro -%}

{#- Gain times discount of a relevant item at its rank, in units of `gain_unit`. -#}
{%- macro discounted_gain(gain, discount, relevance, best, rank, relevant_from) -%}
{%- if gain == "binary" -%} {{ rank_discount(discount, rank) }}
{%- else -%} ({{ item_gain(gain, relevance, best, relevant_from) }}) * ({{ rank_discount(discount, rank) }})
{%- endif -%}
{%- endmacro -%}

{#- A score in single precision; values out of range become the largest or smallest such number. -#}
{%- macro single_precision(score) -%}
CAST(greatest(least(CAST({{ score }} AS DOUBLE), 3.4028234e38), -3.4028234e38) AS REAL)
{%- endmacro -%}

{#- The largest difference of two per-user values that sums in another order can make. -#}
{%- macro rounding_of(value, other) -%}
1e-12 * greatest(1, abs({{ value }}), abs({{ other }}))
{%- endmacro -%}

{#- TRUE if two per-user values are equal but for rounding, so that users are tied. -#}
{%- macro is_rounding(value, other) -%}
abs({{ value }} - {{ other }}) <= {{ rounding_of(value, other) }}
{%- endmacro -%}

{#- The divisor of a user's hits. Without a cutoff, k is NULL and stands for the whole list.
    `n_relevant` and `n_recommended` are constant within a user; max() picks that value. -#}
{%- macro divided_by(divisor, n_relevant="n_relevant", n_recommended="n_recommended", k="k") -%}
{%- if divisor in ("k", "all_positions") -%} coalesce({{ k }}, max({{ n_recommended }}))
{%- elif divisor == "relevant" -%} max({{ n_relevant }})
{%- elif divisor == "min_k_relevant" -%} least({{ k }}, max({{ n_relevant }}))
{%- elif divisor == "min_relevant_length" -%}
least({{ k }}, max({{ n_relevant }}), max({{ n_recommended }}))
{%- elif divisor == "length" -%} least({{ k }}, max({{ n_recommended }}))
{%- else -%} count(*)
{%- endif -%}
{%- endmacro -%}

{#- The whole milliseconds from one time to another, of columns of times or numbers; NULL if one is
    missing, or if a number is too far from others to be a time. -#}
{%- macro milliseconds_between(earlier, later, times) -%}
{%- if times == "timestamp" -%}
date_diff(
            'millisecond',
            CAST({{ earlier }} AS TIMESTAMP),
            CAST({{ later }} AS TIMESTAMP)
        )
{%- else -%}
{%- set difference = "CAST(" ~ later ~ " AS DOUBLE) - CAST(" ~ earlier ~ " AS DOUBLE)" -%}
CASE
            WHEN abs({{ difference }}) < 1e15
                THEN CAST(round({{ "1000 * (" ~ difference ~ ")" if times == "seconds" else difference }}) AS BIGINT)
        END
{%- endif -%}
{%- endmacro -%}

{#- The unit of numbers of time since 1970, as a text: 1e11 seconds are the year 5138. -#}
{%- macro unit_of_time(number) -%}
CASE
            WHEN {{ number }} > 1e17 THEN 'nanoseconds'
            WHEN {{ number }} > 1e14 THEN 'microseconds'
            WHEN {{ number }} > 1e11 THEN 'milliseconds'
            ELSE 'seconds'
        END
{%- endmacro -%}

{#- TRUE if the numbers of time of both tables have one unit. -#}
{%- macro same_unit_of_time(table, other) -%}
(SELECT {{ unit_of_time("max(of_" ~ table ~ ".timestamp)") }} FROM {{ table }} AS of_{{ table }})
    = (SELECT {{ unit_of_time("max(of_" ~ other ~ ".timestamp)") }} FROM {{ other }} AS of_{{ other }})
{%- endmacro -%}

{#- The milliseconds in a unit of time. -#}
{%- macro milliseconds_in(unit) -%}
{%- if unit == "seconds" -%} 1000
{%- elif unit == "minutes" -%} 60000
{%- elif unit == "hours" -%} 3600000
{%- elif unit == "days" -%} 86400000
{%- else -%} 604800000
{%- endif -%}
{%- endmacro -%}

{#- The length of the best possible list. -#}
{%- macro ideal_length(ideal, n_relevant, n_recommended, k, list_k=none) -%}
{%- if ideal == "min_k_relevant" -%} least({{ k }}, {{ n_relevant }})
{%- elif ideal == "all_relevant" -%} {{ n_relevant }}
{%- elif ideal == "min_relevant_length" -%}
least({{ k }}, {{ n_relevant }}, {{ n_recommended }})
{%- elif ideal == "hits" -%} hits.hit_number
{%- elif ideal == "hits_of_list" -%}
least({{ k }}, {{ "hits.n_hits" if list_k is none else "cut_list_hits.n_hits" }})
{%- else -%} coalesce({{ k }}, {{ n_recommended }})
{%- endif -%}
{%- endmacro -%}

{#- TRUE if two tables agree in these columns; `names` are quoted as in SQL. -#}
{%- macro same_columns(left, right, names) -%}
{%- for name in names -%}
{{ " AND " if not loop.first }}{{ left }}.{{ name }} = {{ right }}.{{ name }}
{%- endfor -%}
{%- endmacro -%}

{#- The name of a slice as text, also of that without a value; a check refuses the text (none).
    `is_all`: the condition that all values of the column are combined, if some rows do; quotes
    distinguish a text (all) from their name. -#}
{%- macro slice_label(column, value, is_all) -%}
{%- set text = value if column.is_text else "CAST(" ~ value ~ " AS VARCHAR)" -%}
{%- set label = text if column.is_complete
    else "coalesce(" ~ text ~ ", " ~ literal(column.attribute.missing) ~ ")" -%}
{%- if is_all -%}
CASE
        WHEN {{ is_all }} THEN '(all)'
        {%- if column.is_quoted %}
        WHEN {{ text }} = '(all)' THEN '"(all)"'
        {%- endif %}
        ELSE {{ label }}
    END
{%- else -%} {{ label }}
{%- endif -%}
{%- endmacro -%}

{#- The sort key of a slice: the place of its value among the levels of the column, its position, or
    the value itself. -#}
{%- macro slice_position(column, value) -%}
{%- if column.attribute.levels and column.attribute.is_plain -%}
CASE CAST({{ value }} AS VARCHAR)
        {%- for level in column.attribute.levels %}
        WHEN {{ literal(level) }} THEN {{ loop.index }}
        {%- endfor %}
    END
{%- else -%} {{ value if column.attribute.is_plain else column.source ~ ".position" }}
{%- endif -%}
{%- endmacro -%}

{#- The sum of the weights of users with a value; NULL if it is 0. -#}
{%- macro sum_of_weights(value, weight) -%}
nullif(sum(CASE WHEN {{ value }} IS NOT NULL THEN {{ weight }} END), 0)
{%- endmacro -%}

{%- macro weighted_mean(value, weight) -%}
sum({{ weight }} * {{ value }}) / {{ sum_of_weights(value, weight) }}
{%- endmacro -%}

{#- The weighted standard deviation of values around `mean`, with the correction n / (n - 1). -#}
{%- macro weighted_deviation(value, weight, mean) -%}
sqrt(
        sum(({{ value }} - {{ mean }}) * ({{ value }} - {{ mean }}) * {{ weight }})
        / {{ sum_of_weights(value, weight) }}
        * count({{ value }}) / nullif(count({{ value }}) - 1, 0)
    )
{%- endmacro -%}

{#- The sum of squared weighted deviations, as products: power() takes DuckDB longer than all the rest. -#}
{%- macro sum_of_squares(weight, value, mean) -%}
sum(({{ value }} - {{ mean }}) * ({{ value }} - {{ mean }}) * {{ weight }} * {{ weight }})
{%- endmacro -%}

{#- The standard error of a weighted mean, which is a ratio of two sums over users. -#}
{%- macro weighted_error(value, weight, mean) -%}
sqrt(
        {{ sum_of_squares(weight, value, mean) }}
        * count({{ value }}) / nullif(count({{ value }}) - 1, 0)
    ) / {{ sum_of_weights(value, weight) }}
{%- endmacro -%}

{#- The standard error of a ratio of two sums over rounds: without n / (n - 1), which estimators of
    off-policy evaluation omit. -#}
{%- macro ratio_error(value, weight, mean) -%}
CASE
        WHEN count({{ value }}) > 1 THEN
            sqrt({{ sum_of_squares(weight, value, mean) }})
            / {{ sum_of_weights(value, weight) }}
    END
{%- endmacro -%}

{#- The aggregate of per-user values, except weighted means; a confidence interval is value ± z standard errors. -#}
{%- macro aggregated(aggregate, value, z, quantile) -%}
{%- if aggregate in ("mean", "linear") -%} avg({{ value }})
{%- elif aggregate == "median" -%} median({{ value }})
{%- elif aggregate == "median_low" -%} quantile_disc({{ value }}, 0.5)
{%- elif aggregate == "quantile" -%} quantile_cont({{ value }}, {{ quantile }})
{%- elif aggregate == "quantile_low" -%} quantile_disc({{ value }}, {{ quantile }})
{%- elif aggregate == "geometric_mean" -%} exp(avg(ln(CASE WHEN {{ value }} < 0.00001 THEN 0.00001 ELSE {{ value }} END)))
{%- elif aggregate == "effective_size" -%} {{ effective_sample_size(value) }}
{%- elif aggregate in ("sum", "min", "max") -%} {{ aggregate }}({{ value }})
{%- elif aggregate == "half_width" -%} {{ z }} * stddev_samp({{ value }}) / sqrt(nullif(count({{ value }}), 0))
{%- endif -%}
{%- endmacro -%}

{#- TRUE if an item of this relevance is relevant: above 0 without a threshold, always with -inf.
    -#}
{%- macro counts_as_relevant(relevance, relevant_from) -%}
{%- if relevant_from is none -%} {{ relevance }} > 0
{%- elif relevant_from | string == "-inf" -%} TRUE
{%- else -%} {{ relevance }} >= {{ relevant_from }}
{%- endif -%}
{%- endmacro -%}

{#- The number of hits that reaches a recall. In doubles, 0.7 * 10 can be slightly more or less than
    7; trec_eval adds 0.9 and truncates (up to version 9), or rounds (version 10). -#}
{%- macro hits_for_recall(rule, recall, n_relevant) -%}
{%- if rule == "exact" -%} {{ recall }} * {{ n_relevant }} - 1e-9
{%- elif rule == "trec_eval_9" -%} floor({{ recall }} * {{ n_relevant }} + 0.9)
{%- else -%} floor({{ recall }} * {{ n_relevant }} + 0.5)
{%- endif -%}
{%- endmacro -%}

{#- The mean rank of a user's relevant items. With catalogue_mean, relevant items that are not in the
    top k have the mean of the ranks below it, down to the number of items in the catalogue. -#}
{%- macro mean_rank_of_relevant(unlisted, mean="arithmetic") -%}
{%- set unlisted_rank -%}
({{ divided_by("length") }} + 1 + (SELECT count(*) FROM catalogue)) / 2
{%- endset -%}
{%- if unlisted == "drop" and mean == "arithmetic" -%} avg(rank)
{%- elif unlisted == "drop" -%} exp(sum(ln(rank)) / count(*))
{%- elif mean == "arithmetic" -%}
(
        sum(rank)
        + (max(n_relevant) - count(hit_number))
        * {{ unlisted_rank }}
    ) / max(n_relevant)
{%- else -%}
exp(
        (
            sum(ln(greatest(rank, 1)))
            + (max(n_relevant) - count(hit_number))
            * ln({{ unlisted_rank }})
        ) / max(n_relevant)
    )
{%- endif -%}
{%- endmacro -%}

{#- The prediction for an item of a list: its score, or minus its rank in a list that has no scores
    or whose order is not that of the scores. -#}
{%- macro predicted_by(order, score_type, table) -%}
{%- if order != "score" -%} -{{ table }}.rank
{%- elif score_type == "float" -%} {{ single_precision(table ~ ".score") }}
{%- else -%} {{ table }}.score
{%- endif -%}
{%- endmacro -%}

{#- The ORDER BY terms of a list, best item first. `order`: the column; `in_bytes`: spells the order
    of text ids. With ties=worst and ties=best, the column `relevance` breaks ties: NULL, for
    items that are not relevant, is below every number. With ties=average, the order of tied items
    has no effect. -#}
{%- macro list_order(order, ties, score_type, in_bytes) -%}
{%- if order == "rank" -%} rank
{%- elif order == "row" -%} row_number
{%- else -%}
{{ single_precision("score") if score_type == "float" else "score" }} DESC,
{%- if ties in ("item_asc", "average") %} {{ in_bytes("item_id") }}
{%- elif ties == "item_desc" %} {{ in_bytes("item_id") }} DESC
{%- elif ties == "item_asc_text" %} {{ in_bytes("CAST(item_id AS VARCHAR)", True) }}
{%- elif ties == "item_desc_text" %} {{ in_bytes("CAST(item_id AS VARCHAR)", True) }} DESC
{%- elif ties == "worst" %} CASE WHEN relevance IS NULL THEN 0 ELSE 1 END, relevance, {{ in_bytes("item_id") }}
{%- elif ties == "best" %} CASE WHEN relevance IS NULL THEN 1 ELSE 0 END, relevance DESC, {{ in_bytes("item_id") }}
{%- elif ties == "row_reversed" %} row_number DESC
{%- else %} row_number
{%- endif -%}
{%- endif -%}
{%- endmacro -%}

{#- The number of hits, or with ties=average the expected number of hits. -#}
{%- macro number_of_hits(order, ties) -%}
{%- if order == "score" and ties == "average" -%} sum(rank_share)
{%- else -%} count(*)
{%- endif -%}
{%- endmacro -%}

{#- The sum of a term of each hit, or with ties=average the expected sum. -#}
{%- macro sum_over_hits(term, order, ties, table="") -%}
{%- if order == "score" and ties == "average" -%} sum({{ table }}rank_share * {{ term }})
{%- else -%} sum({{ term }})
{%- endif -%}
{%- endmacro -%}

{#- A share of hits. With averaged ties, the exact sum of many rank shares may be above 1 in its last
    digits. -#}
{%- macro at_most_one(share, order, ties) -%}
{%- if order == "score" and ties == "average" -%} least({{ share }}, 1)
{%- else -%} {{ share }}
{%- endif -%}
{%- endmacro -%}

{#- The smallest cutoff that includes a rank; NULL beyond all cutoffs. Rows are counted once per
    such bucket, whatever the number of cutoffs. -#}
{%- macro smallest_cutoff(rank, cutoffs) -%}
{%- set finite = cutoffs | reject("none") | sort -%}
{%- if finite -%}
CASE
{%- for k in finite %}
        WHEN {{ rank }} <= {{ k }} THEN {{ k }}
{%- endfor %}
    END
{%- else -%} CAST(NULL AS INTEGER)
{%- endif -%}
{%- endmacro -%}

{#- The weight of a logged decision, the inverse of its propensity. -#}
{%- macro logged_weight(propensity, max_weight) -%}
{%- if max_weight is none -%} 1 / {{ propensity }}
{%- else -%}
CASE WHEN 1 / {{ propensity }} > {{ max_weight }} THEN {{ max_weight }} ELSE 1 / {{ propensity }} END
{%- endif -%}
{%- endmacro -%}

{#- The weight of a round, at most `max_weight`. -#}
{%- macro cut_weight(weight, max_weight) -%}
{%- if max_weight is none -%} {{ weight }}
{%- else -%} least({{ weight }}, {{ max_weight }})
{%- endif -%}
{%- endmacro -%}

{#- The weight of a round after a change of large weights. -#}
{%- macro changed_weight(change, weight, max_weight, lambda) -%}
{%- if change == "clip" -%} {{ cut_weight(weight, max_weight) }}
{%- elif lambda is none -%}
{{ refuse("weights=" ~ change ~ " needs the setting lambda, which has no default", settings=True) }}
{%- elif change == "subgaussian" and lambda > 1 -%}
{{ refuse("weights=subgaussian needs a lambda of at most 1", settings=True) }}
{%- elif change == "switch" -%}
CASE WHEN {{ weight }} <= {{ lambda }} THEN {{ weight }} ELSE 0 END
{%- elif change == "shrink" -%}
CASE
        WHEN {{ weight }} > 0
            THEN {{ lambda }} * {{ weight }} / ({{ weight }} * {{ weight }} + {{ lambda }})
        ELSE 0
    END
{%- else -%}
CASE
        WHEN {{ weight }} > 0
            THEN {{ weight }} / (1 - {{ lambda }} + {{ lambda }} * {{ weight }})
        ELSE 0
    END
{%- endif -%}
{%- endmacro -%}

{#- The number of equally weighted decisions that give the same precision. -#}
{%- macro effective_sample_size(weight) -%}
sum({{ weight }}) * sum({{ weight }}) / sum({{ weight }} * {{ weight }})
{%- endmacro -%}

{#- The standard error of the mean of a term. -#}
{%- macro standard_error_of(term) -%}
stddev_samp({{ term }}) / sqrt(count({{ term }}))
{%- endmacro -%}

{#- A sort key for a random order, which is the same for the same seed on every engine. -#}
{%- macro shuffled_by(seed, user) -%}
md5('{{ seed }}:' || {{ user }})
{%- endmacro -%}

{#- The end of a text about the users of the stage surveyed_users, unless these are all users. -#}
{%- macro of_surveyed_users() -%}
CASE
        WHEN (SELECT count(*) FROM interaction_profile) > 2000 THEN ' of 2,000 users'
        ELSE ''
    END
{%- endmacro -%}

{#- The probability that a reader stops at an item, as in expected reciprocal rank or in pFound. -#}
{%- macro stop_probability(stop, relevance, highest) -%}
{%- if stop == "exponential" -%} pow(2, {{ relevance }} - {{ highest }}) - pow(2, -{{ highest }})
{%- else -%} coalesce({{ relevance }} / {{ highest }}, 0)
{%- endif -%}
{%- endmacro -%}

{#- Components of unit vectors are whole multiples of 1 / unit_scale(). Sums of integers below 2^53
    are exact in doubles, so for lists of up to eight thousand items they do not depend on the order
    of rows. -#}
{%- macro unit_scale() -%} 1099511627776 {%- endmacro -%}

{#- The number of components in a block; each component of a block is a column. The vectors of a
    list are summed in one row per block instead of one per component. -#}
{%- macro block_width(over) -%}
{%- if over == "features" -%} 16 {%- else -%} 1 {%- endif -%}
{%- endmacro -%}

{#- The sorted hashes of the items of a list of `n_rows` rows, so that equal items are adjacent.
    Sorting them takes half the time of counting distinct items. `max` accepts fewer than a million
    values. Different items look equal if 63 bits of their hashes are equal, which happens in one of
    10^11 lists of 10,000 items. -#}
{%- macro sorted_hashes(item, n_rows) -%}
max(CAST(hash({{ item }}) >> 1 AS BIGINT), {{ n_rows }})
{%- endmacro -%}

{#- The end of a metric that compares groups of items: a statistic of their values, NULL for fewer than
    two groups, and if no value is above 0. `relation` has one row per model, cutoff and group with
    the column `value`. Deviations are relative to the mean, so that exact sums keep their digits; the
    mean is summed in the order of the groups, so that it has the same digits in every run. -#}
{%- macro statistic_of_groups(statistic, relation, value, keys) -%}
{%- set mean = "mean_" ~ value -%}
{%- set of_deviations = statistic in ("mean_abs_deviation", "variance", "std_over_mean") -%}
{%- if of_deviations -%}
,

-- one row per model and group, with the mean of all groups
deviations AS (
    SELECT
        {{ keys }},
        k,
        {{ value }},
        avg({{ value }}) OVER (
            PARTITION BY {{ keys }}, k
            ORDER BY item_group ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS {{ mean }}
    FROM {{ relation }}
)
{%- endif %}

SELECT
    {{ keys }},
    k,
    CASE
        WHEN count(*) > 1
            THEN
                {% if statistic == "min_max_ratio" -%} min({{ value }}) / max({{ value }})
                {%- elif statistic == "max_min_ratio" -%} max({{ value }}) / min({{ value }})
                {%- elif statistic == "max_min_difference" -%}
                nullif(max({{ value }}), 0) - min({{ value }})
                {%- elif statistic == "mean_abs_deviation" -%}
                max({{ mean }}) * sum(abs({{ value }} / {{ mean }} - 1)) / count(*)
                {%- elif statistic == "variance" -%}
                power(max({{ mean }}), 2) * sum(power({{ value }} / {{ mean }} - 1, 2)) / count(*)
                {%- else -%} sqrt(sum(power({{ value }} / {{ mean }} - 1, 2)) / count(*))
                {%- endif %}
    END AS value
FROM {{ "deviations" if of_deviations else relation }}
GROUP BY {{ keys }}, k
{%- endmacro -%}

{#- A value that has one column per cutoff, in the row of a cutoff. -#}
{%- macro at_each_cutoff(column, k, cutoffs) -%}
CASE
{%- for cutoff in cutoffs %}
        WHEN {{ k }} {{ "IS NULL" if cutoff is none else "= " ~ cutoff }}
            THEN {{ column }}_{{ loop.index0 }}
{%- endfor %}
    END
{%- endmacro -%}

{#- The table of the values of an attribute of items, its column, and the share of a value in the
    weight of its item. -#}
{%- macro table_of_values(attribute) -%}
{{ {
    "category": "item_category_shares", "group": "item_group_shares", "popularity": "popularity_groups"
}[attribute] }}
{%- endmacro -%}

{%- macro column_of_values(attribute) -%}
{{ {"category": "category", "group": "item_group", "popularity": "popularity_group"}[attribute] }}
{%- endmacro -%}

{%- macro share_of_value(attribute) -%}
{%- if attribute == "category" -%} item_category_shares.category_share
{%- elif attribute == "group" -%} item_group_shares.group_share
{%- else -%} CAST(1 AS DOUBLE)
{%- endif -%}
{%- endmacro -%}

{#- The divergence of the categories of a list from those in the history, as an aggregate of the
    categories of the list. `p`: the share in the history, `q`: the share in the list, `n`: the
    number of categories in the history, NULL for a category that is not in the history.
    kl: categories that only the history has add p · ln(1 / smoothing).
    js: categories that only one side has add half their share; with js_smoothing, their terms do
    not depend on the category.
    hellinger: categories that only the history has add their share; 1 - sum(p) may be slightly
    beside 0. -#}
{%- macro divergence_from_history(
    divergence, smoothing, js_smoothing, p="p", q="q", n="n_categories"
) -%}
{%- if divergence == "kl" -%}
greatest(
        sum(
            CASE
                WHEN {{ p }} > 0
                    THEN {{ p }} * ln({{ p }} / ({{ 1 - smoothing }} * {{ q }} + {{ smoothing }} * {{ p }}))
                ELSE 0
            END
        ) - (1 - sum({{ p }})) * ln({{ smoothing }}),
        0
    )
{%- elif divergence in ("js", "js_distance") -%}
{%- set kept = 1 - js_smoothing -%}
{%- set own = p -%}
{%- set other = q -%}
{%- if js_smoothing -%}
{%- set own = "(" ~ kept ~ " * " ~ p ~ " + " ~ js_smoothing ~ " * " ~ q ~ ")" -%}
{%- set other = "(" ~ kept ~ " * " ~ q ~ " + " ~ js_smoothing ~ " * " ~ p ~ ")" -%}
{%- endif -%}
{%- set of_one = js_smoothing ~ " * log2(" ~ js_smoothing ~ ") + " ~ kept ~ " * log2(" ~ kept ~ ")" -%}
{%- set js -%}
greatest(
        1 + sum(
            CASE
                WHEN {{ p }} > 0
                    THEN
                        {{ own }} * log2({{ own }} / ({{ p }} + {{ q }}))
                        + {{ other }} * log2({{ other }} / ({{ p }} + {{ q }}))
                ELSE {{ q ~ " * (" ~ of_one ~ ")" if js_smoothing else 0 }}
            END
        ) / 2
        {%- if js_smoothing %} + (1 - sum({{ p }})) * ({{ of_one }}) / 2{% endif %},
        0
    )
{%- endset -%}
{#- The root of the rounding error of equal shares would be larger than the error: 14 digits. -#}
{{ "sqrt(round(1e14 * " ~ js ~ ") / 1e14)" if divergence == "js_distance" else js }}
{%- elif divergence == "hellinger" -%}
sqrt((
        sum(power(sqrt({{ p }}) - sqrt({{ q }}), 2))
        + CASE WHEN count({{ n }}) = max({{ n }}) THEN 0 ELSE 1 - sum({{ p }}) END
    ) / 2)
{%- else -%}
greatest(1 - sum(least({{ p }}, {{ q }})), 0)
{%- endif -%}
{%- endmacro -%}

{#- The divergence of the groups of a list from the shares that they should have, as an aggregate of
    the groups of the list. `q`: the share in the list, `t`: the share that the group should have.
    tv: a group that is not in the list has no share in common.
    js: a group that is not in the list adds half its target, and one without a target half its
    share.
    kl: a group that is not in the list adds nothing; the divergence from a target of 0, which only
    target=history and target=given have, is infinite. -#}
{%- macro divergence_from_target(divergence, target, q="q", t="t") -%}
{%- if divergence == "tv" -%}
greatest(1 - sum(least({{ q }}, {{ t }})), 0)
{%- elif divergence == "js" -%}
greatest(
        1 + sum(
            CASE
                WHEN {{ q }} > 0 AND {{ t }} > 0
                    THEN
                        {{ t }} * log2({{ t }} / ({{ t }} + {{ q }}))
                        + {{ q }} * log2({{ q }} / ({{ t }} + {{ q }}))
                ELSE 0
            END
        ) / 2,
        0
    )
{%- elif target in ("history", "given") -%}
CASE
        WHEN min(CASE WHEN {{ q }} > 0 THEN {{ t }} END) > 0
            THEN
                greatest(
                    sum(
                        CASE
                            WHEN {{ q }} > 0 AND {{ t }} > 0 THEN {{ q }} * ln({{ q }} / {{ t }})
                            ELSE 0
                        END
                    ),
                    0
                )
    END
{%- else -%}
greatest(sum(CASE WHEN {{ q }} > 0 THEN {{ q }} * ln({{ q }} / {{ t }}) ELSE 0 END), 0)
{%- endif -%}
{%- endmacro -%}

{#- The model, and the run, of a row for texts: ` of als, run 3`; empty if there is only one. -#}
{%- macro of_model(relation, model_columns) -%}
{%- if not model_columns -%} ''
{%- else -%} ' of '
{%- for name in model_columns %} ||{{ " ', run ' ||" if name == "run" and not loop.first }}
{{- " 'run ' ||" if name == "run" and loop.first }} CAST({{ relation }}.{{ name }} AS VARCHAR)
{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
