{#- Expressions that several templates share. Every macro is an expression, never a whole query. -#}

{#- Is a value NULL, NaN or infinite? Of the last two, the difference from itself is NaN, whatever
    an engine calls its functions and however it compares NaN. -#}
{%- macro is_no_number(value) -%}
{{ value }} IS NULL OR NOT ({{ value }} - {{ value }} = 0)
{%- endmacro -%}

{#- The grade that exponential_from gives a gain of 0: one below the threshold. -#}
{%- macro worthless_grade(relevant_from) -%}
{%- if relevant_from is none or relevant_from < 0 -%}
{{ refuse(
    "gain=exponential_from needs a number from 0 up for relevant_from, not "
    ~ relevant_from | string | lower,
    remedy="give such a number with {set:relevant_from}",
    settings=True
) }}
{%- else -%} {{ relevant_from - 1 }}
{%- endif -%}
{%- endmacro -%}

{#- What a relevant item is worth, in units of `gain_unit`: so the terms of a sum are at most
    about 1, whatever the grades are (stars, play counts), and fit the units of exact sums.
    `relevance` names the column with the item's grade, `best` the one with the user's highest. -#}
{%- macro item_gain(gain, relevance, best, relevant_from) -%}
{%- if gain == "binary" -%} 1
{%- elif gain == "linear" -%} {{ relevance }} / {{ best }}
{%- elif gain == "exponential" -%} pow(2, {{ relevance }} - {{ best }}) - pow(2, -{{ best }})
{%- else -%} pow(2, {{ relevance }} - {{ best }}) - pow(2, {{ worthless_grade(relevant_from) }} - {{ best }})
{%- endif -%}
{%- endmacro -%}

{#- The unit of `item_gain`: gains are 1, the relevance, 2^relevance - 1, or
    2^(relevance - relevant_from + 1) - 1. -#}
{%- macro gain_unit(gain, best, relevant_from) -%}
{%- if gain == "binary" -%} 1
{%- elif gain == "linear" -%} {{ best }}
{%- elif gain == "exponential" -%} pow(2, {{ best }})
{%- else -%} pow(2, {{ best }} - ({{ worthless_grade(relevant_from) }}))
{%- endif -%}
{%- endmacro -%}

{#- What a position is worth; `rank` starts at 1. -#}
{%- macro rank_discount(discount, rank) -%}
{%- if discount == "log2" -%} 1 / log2({{ rank }} + 1)
{%- elif discount == "log2_max2" -%} 1 / log2(greatest({{ rank }}, 2))
{%- else -%}
CASE
        WHEN {{ rank }} <= 2 THEN 1 / {{ rank }}
        ELSE 1 / log2({{ rank }}{{ " + 1" if discount == "course_text" }})
    END
{%- endif -%}
{%- endmacro -%}

{#- A relevant item at its rank: gain times discount, in units of `gain_unit`. -#}
{%- macro discounted_gain(gain, discount, relevance, best, rank, relevant_from) -%}
{%- if gain == "binary" -%} {{ rank_discount(discount, rank) }}
{%- else -%} ({{ item_gain(gain, relevance, best, relevant_from) }}) * ({{ rank_discount(discount, rank) }})
{%- endif -%}
{%- endmacro -%}

{#- A score in single precision; what is too large for it becomes the largest number there is. -#}
{%- macro single_precision(score) -%}
CAST(greatest(least(CAST({{ score }} AS DOUBLE), 3.4028234e38), -3.4028234e38) AS REAL)
{%- endmacro -%}

{#- The number that a user's hits are divided by. Without a cutoff, k is NULL and stands for the
    whole list. `n_relevant` and `n_recommended` are the same in all rows of a user, so max() only
    picks that one value. -#}
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

{#- How many positions the best possible list fills. -#}
{%- macro ideal_length(ideal, n_relevant, n_recommended, k) -%}
{%- if ideal == "min_k_relevant" -%} least({{ k }}, {{ n_relevant }})
{%- elif ideal == "all_relevant" -%} {{ n_relevant }}
{%- elif ideal == "min_relevant_length" -%}
least({{ k }}, {{ n_relevant }}, {{ n_recommended }})
{%- else -%} coalesce({{ k }}, {{ n_recommended }})
{%- endif -%}
{%- endmacro -%}

{#- Two tables agree in these columns; names come as SQL spells them. -#}
{%- macro same_columns(left, right, names) -%}
{%- for name in names -%}
{{ " AND " if not loop.first }}{{ left }}.{{ name }} = {{ right }}.{{ name }}
{%- endfor -%}
{%- endmacro -%}

{#- A value as text, told apart from what stands for no value and for all of them. -#}
{%- macro slice_label(value) -%}
CASE
        WHEN CAST({{ value }} AS VARCHAR) IN ('(none)', '(all)')
            THEN '"' || CAST({{ value }} AS VARCHAR) || '"'
        ELSE CAST({{ value }} AS VARCHAR)
    END
{%- endmacro -%}

{#- What the values of users become; an interval is z standard errors to both sides. -#}
{%- macro aggregated(aggregate, value, z, quantile) -%}
{%- if aggregate == "mean" -%} avg({{ value }})
{%- elif aggregate == "median" -%} median({{ value }})
{%- elif aggregate == "median_low" -%} quantile_disc({{ value }}, 0.5)
{%- elif aggregate == "quantile" -%} quantile_cont({{ value }}, {{ quantile }})
{%- elif aggregate == "quantile_low" -%} quantile_disc({{ value }}, {{ quantile }})
{%- elif aggregate in ("min", "max") -%} {{ aggregate }}({{ value }})
{%- else -%} {{ z }} * stddev_samp({{ value }}) / sqrt(nullif(count({{ value }}), 0))
{%- endif -%}
{%- endmacro -%}

{#- Does a grade make an item relevant? Without a threshold, any above 0; from minus infinity up,
    any at all. -#}
{%- macro counts_as_relevant(relevance, relevant_from) -%}
{%- if relevant_from is none -%} {{ relevance }} > 0
{%- elif relevant_from | string == "-inf" -%} TRUE
{%- else -%} {{ relevance }} >= {{ relevant_from }}
{%- endif -%}
{%- endmacro -%}

{#- What orders a list, best first. `order` says which column that is; `in_bytes` spells the order
    of ids that are texts. -#}
{%- macro list_order(order, ties, score_type, in_bytes) -%}
{%- if order == "rank" -%} rank
{%- elif order == "row" -%} row_number
{%- else -%}
{{ single_precision("score") if score_type == "float" else "score" }} DESC,
{%- if ties == "item_asc" %} {{ in_bytes("item_id") }}
{%- elif ties == "item_desc" %} {{ in_bytes("item_id") }} DESC
{%- elif ties == "item_desc_text" %} {{ in_bytes("CAST(item_id AS VARCHAR)", True) }} DESC
{%- else %} row_number
{%- endif -%}
{%- endif -%}
{%- endmacro -%}

{#- The smallest cutoff that a rank lies within; NULL beyond all of them. Rows are counted once
    per such bucket, whatever the number of cutoffs. -#}
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

{#- A decision counts as often as its propensity says that it was missed. -#}
{%- macro logged_weight(propensity, max_weight) -%}
{%- if max_weight is none -%} 1 / {{ propensity }}
{%- else -%}
CASE WHEN 1 / {{ propensity }} > {{ max_weight }} THEN {{ max_weight }} ELSE 1 / {{ propensity }} END
{%- endif -%}
{%- endmacro -%}

{#- Number of evenly weighted decisions that an estimate is worth. -#}
{%- macro effective_sample_size(weight) -%}
sum({{ weight }}) * sum({{ weight }}) / sum({{ weight }} * {{ weight }})
{%- endmacro -%}

{#- Standard error of the mean of a term. -#}
{%- macro standard_error_of(term) -%}
stddev_samp({{ term }}) / sqrt(count({{ term }}))
{%- endmacro -%}

{#- A text that puts rows in a random order, which is the same for the same seed on any engine. -#}
{%- macro shuffled_by(seed, user) -%}
md5('{{ seed }}:' || {{ user }})
{%- endmacro -%}

{#- How likely a reader stops at an item: the model of expected reciprocal rank, or of pFound. -#}
{%- macro stop_probability(stop, relevance, highest) -%}
{%- if stop == "exponential" -%} pow(2, {{ relevance }} - {{ highest }}) - pow(2, -{{ highest }})
{%- else -%} coalesce({{ relevance }} / {{ highest }}, 0)
{%- endif -%}
{%- endmacro -%}

{#- Components of unit vectors are whole multiples of 1 / unit_scale(). Sums of whole numbers below
    2^53 are exact in doubles: for lists of up to eight thousand items no order of rows changes
    them. -#}
{%- macro unit_scale() -%} 1099511627776 {%- endmacro -%}

{#- Vectors are stored in blocks of so many components, each a column: a list's vectors are summed
    in as many rows as it has blocks, not components. -#}
{%- macro block_width(over) -%}
{%- if over == "features" -%} 16 {%- else -%} 1 {%- endif -%}
{%- endmacro -%}

{#- Hashes of the items of a list of `n_rows` rows in order, so that equal items stand side by side:
    to sort them is half the work of counting different items. `max` takes less than a million
    values. Different items look equal if 63 bits of their hashes do, which happens in one of 10^11
    lists of 10,000 items. -#}
{%- macro sorted_hashes(item, n_rows) -%}
max(CAST(hash({{ item }}) >> 1 AS BIGINT), {{ n_rows }})
{%- endmacro -%}

{#- The probability that a score stands for. Below log odds of -700 the power would be too large. -#}
{%- macro probability_of(scores, score) -%}
{%- if scores == "logit" -%} 1 / (1 + exp(least(-{{ score }}, 700)))
{%- else -%} {{ score }}
{%- endif -%}
{%- endmacro -%}
