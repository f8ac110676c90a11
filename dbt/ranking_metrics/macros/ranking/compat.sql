{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Compatibility
  Formula: rank-biased overlap of the top k with the top k of the ideal list, divided by that of
    the ideal list with itself; the ideal list has the relevant items, the highest relevance
    first, and items of equal relevance in the order of the list.
  Source: Clarke, Vtyurina, Smucker: Assessing top-k preferences, TOIS 39 (2021).
-#}

{% macro compat(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('compat', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'compat', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'compat', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('compat', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test compat_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.compat(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('compat', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__compat(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('compat') }}
{%- endmacro %}

{% macro duckdb__compat(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, count(*) AS n_rows FROM recommendations GROUP BY user_id
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, item_id, CAST(rank AS BIGINT) AS rank, relevant.relevance,
        relevant_users.n_relevant, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
    INNER JOIN recommendation_profile USING (user_id)
), placed AS (
    -- one row per relevant (user, item), with the best rank that its relevance allows in the ideal
    -- list
    SELECT user_id, item_id, rank() OVER (PARTITION BY user_id ORDER BY relevance DESC) AS best_rank
    FROM relevant
), ideal_hits AS (
    -- one row per hit
    SELECT
        user_id, rank,
        best_rank - 1 + row_number() OVER (PARTITION BY user_id, relevance ORDER BY rank)
            AS ideal_rank,
        n_relevant, n_recommended
    FROM hits
    INNER JOIN placed USING (user_id, item_id)
), ideal_hits_at_cutoffs AS (
    -- one row per row of ideal_hits and cutoff that includes it
    SELECT user_id, rank, ideal_rank, n_relevant, n_recommended, {{ cutoff }} AS k
    FROM ideal_hits
    WHERE rank <= {{ cutoff }}
), numbers AS (
    -- one row per depth
    SELECT unnest(generate_series(1, {{ cutoff }})) AS depth
), weights AS (
    -- one row per depth, with its weight
    SELECT depth, power(CAST(0.95 AS DOUBLE), depth - 1) AS weight FROM numbers
), summed AS (
    -- one row per depth, with the sums up to this depth
    SELECT
        depth, weight / depth AS own_agreement,
        sum(weight / depth) OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS agreement,
        sum(weight) OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS whole_weight
    FROM weights
), ideal_depths AS (
    SELECT depth, agreement, whole_weight, agreement - own_agreement AS agreement_above FROM summed
), compat AS (
    SELECT
        user_id,
        round(
            1e12 * sum(
                CASE
                    WHEN first_common.depth <= longer.depth
                    THEN longer.agreement - first_common.agreement_above
                    ELSE 0
                END
            ) / nullif(
                max(ideal.whole_weight + ideal.depth * (longer.agreement - ideal.agreement)), 0
            )
        ) / 1e12 AS value
    FROM ideal_hits_at_cutoffs
    INNER JOIN ideal_depths AS longer
        ON longer.depth = least(k, greatest(n_recommended, n_relevant))
    INNER JOIN ideal_depths AS ideal ON ideal.depth = least(k, n_relevant)
    -- the depth from which on both lists have the item
    LEFT JOIN ideal_depths AS first_common ON first_common.depth = greatest(rank, ideal_rank)
    GROUP BY user_id
), compat_values AS (
    -- one row per key, with one column per cutoff of compat
    SELECT user_id, CASE WHEN count(1) = 0 THEN 0 ELSE max(value) END AS compat_at_{{ cutoff }}
    FROM compat
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN compat_values.user_id IS NULL THEN 0 ELSE compat_at_{{ cutoff }} END AS compat_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN compat_values ON compat_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_value, count(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_n,
        stddev_samp(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'compat' AS metric, {{ cutoff }} AS k, compat_at_{{ cutoff }}_value AS value, compat_at_{{ cutoff }}_n AS n_users,
    compat_at_{{ cutoff }}_std AS std,
    compat_at_{{ cutoff }}_value - 1.9599639845400536 * compat_at_{{ cutoff }}_std / sqrt(compat_at_{{ cutoff }}_n)
        AS ci_low,
    compat_at_{{ cutoff }}_value + 1.9599639845400536 * compat_at_{{ cutoff }}_std / sqrt(compat_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__compat(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, item_id, CAST(rank AS BIGINT) AS rank, relevant.relevance,
        relevant_users.n_relevant, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
    INNER JOIN recommendation_profile USING (user_id)
), placed AS (
    -- one row per relevant (user, item), with the best rank that its relevance allows in the ideal
    -- list
    SELECT user_id, item_id, RANK() OVER (PARTITION BY user_id ORDER BY relevance DESC) AS best_rank
    FROM relevant
), ideal_hits AS (
    -- one row per hit
    SELECT
        user_id, rank,
        best_rank - 1 + ROW_NUMBER() OVER (PARTITION BY user_id, relevance ORDER BY rank NULLS LAST)
            AS ideal_rank,
        n_relevant, n_recommended
    FROM hits
    INNER JOIN placed USING (user_id, item_id)
), ideal_hits_at_cutoffs AS (
    -- one row per row of ideal_hits and cutoff that includes it
    SELECT user_id, rank, ideal_rank, n_relevant, n_recommended, {{ cutoff }} AS k
    FROM ideal_hits
    WHERE rank <= {{ cutoff }}
), numbers AS (
    -- one row per depth
    SELECT EXPLODE(SEQUENCE(1, {{ cutoff }})) AS depth
), weights AS (
    -- one row per depth, with its weight
    SELECT depth, POWER(CAST(0.95 AS DOUBLE), depth - 1) AS weight FROM numbers
), summed AS (
    -- one row per depth, with the sums up to this depth
    SELECT
        depth, CAST(weight AS DOUBLE) / depth AS own_agreement,
        SUM(CAST(weight AS DOUBLE) / depth)
            OVER (ORDER BY depth NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS agreement,
        SUM(weight)
            OVER (ORDER BY depth NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS whole_weight
    FROM weights
), ideal_depths AS (
    SELECT depth, agreement, whole_weight, agreement - own_agreement AS agreement_above FROM summed
), compat AS (
    SELECT
        user_id,
        CAST(ROUND(
            CAST(1e12 AS DOUBLE) * SUM(
                CASE
                    WHEN first_common.depth <= longer.depth
                    THEN longer.agreement - first_common.agreement_above
                    ELSE 0
                END
            ) / NULLIF(
                MAX(ideal.whole_weight + ideal.depth * (longer.agreement - ideal.agreement)), 0
            )
        ) AS DOUBLE) / CAST(1e12 AS DOUBLE) AS value
    FROM ideal_hits_at_cutoffs
    INNER JOIN ideal_depths AS longer
        ON longer.depth = LEAST(k, GREATEST(n_recommended, n_relevant))
    INNER JOIN ideal_depths AS ideal ON ideal.depth = LEAST(k, n_relevant)
    -- the depth from which on both lists have the item
    LEFT JOIN ideal_depths AS first_common ON first_common.depth = GREATEST(rank, ideal_rank)
    GROUP BY user_id
), compat_values AS (
    -- one row per key, with one column per cutoff of compat
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS compat_at_{{ cutoff }}
    FROM compat
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN compat_values.user_id IS NULL THEN 0 ELSE compat_at_{{ cutoff }} END AS compat_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN compat_values ON compat_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_value, COUNT(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_n,
        STDDEV_SAMP(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'compat' AS metric, {{ cutoff }} AS k, compat_at_{{ cutoff }}_value AS value, compat_at_{{ cutoff }}_n AS n_users,
    compat_at_{{ cutoff }}_std AS std,
    compat_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_low,
    compat_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__compat(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, item_id, CAST(rank AS BIGINT) AS rank, relevant.relevance,
        relevant_users.n_relevant, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
    INNER JOIN recommendation_profile USING (user_id)
), placed AS (
    -- one row per relevant (user, item), with the best rank that its relevance allows in the ideal
    -- list
    SELECT
        user_id, item_id,
        RANK() OVER (PARTITION BY user_id ORDER BY relevance DESC NULLS LAST) AS best_rank
    FROM relevant
), ideal_hits AS (
    -- one row per hit
    SELECT
        user_id, rank,
        best_rank - 1 + ROW_NUMBER() OVER (PARTITION BY user_id, relevance ORDER BY rank)
            AS ideal_rank,
        n_relevant, n_recommended
    FROM hits
    INNER JOIN placed USING (user_id, item_id)
), ideal_hits_at_cutoffs AS (
    -- one row per row of ideal_hits and cutoff that includes it
    SELECT user_id, rank, ideal_rank, n_relevant, n_recommended, {{ cutoff }} AS k
    FROM ideal_hits
    WHERE rank <= {{ cutoff }}
), digits AS (
    SELECT digits.digit
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS digits(digit)
), numbers_4 AS (
    -- one row: the last number
    SELECT 0 AS depth, {{ cutoff }} AS last_number
), numbers_3 AS (
    -- one row per multiple of 1000 up to the last number
    SELECT numbers_4.depth + 1000 * digits.digit AS depth, numbers_4.last_number
    FROM numbers_4
    CROSS JOIN digits
    WHERE numbers_4.depth + 1000 * digits.digit <= numbers_4.last_number
), numbers_2 AS (
    -- one row per multiple of 100 up to the last number
    SELECT numbers_3.depth + 100 * digits.digit AS depth, numbers_3.last_number
    FROM numbers_3
    CROSS JOIN digits
    WHERE numbers_3.depth + 100 * digits.digit <= numbers_3.last_number
), numbers_1 AS (
    -- one row per multiple of 10 up to the last number
    SELECT numbers_2.depth + 10 * digits.digit AS depth, numbers_2.last_number
    FROM numbers_2
    CROSS JOIN digits
    WHERE numbers_2.depth + 10 * digits.digit <= numbers_2.last_number
), numbers_0 AS (
    -- one row per multiple of 1 up to the last number
    SELECT numbers_1.depth + 1 * digits.digit AS depth, numbers_1.last_number
    FROM numbers_1
    CROSS JOIN digits
    WHERE numbers_1.depth + 1 * digits.digit <= numbers_1.last_number
), numbers AS (
    -- one row per depth
    SELECT numbers_0.depth FROM numbers_0 WHERE numbers_0.depth > 0
), weights AS (
    -- one row per depth, with its weight
    SELECT depth, POWER(CAST(0.95 AS DOUBLE), depth - 1) AS weight FROM numbers
), summed AS (
    -- one row per depth, with the sums up to this depth
    SELECT
        depth, CAST(weight AS DOUBLE) / depth AS own_agreement,
        SUM(CAST(weight AS DOUBLE) / depth)
            OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS agreement,
        SUM(weight) OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS whole_weight
    FROM weights
), ideal_depths AS (
    SELECT depth, agreement, whole_weight, agreement - own_agreement AS agreement_above FROM summed
), compat AS (
    SELECT
        user_id,
        CAST(ROUND(
            CAST(1e12 AS DOUBLE) * SUM(
                CASE
                    WHEN first_common.depth <= longer.depth
                    THEN longer.agreement - first_common.agreement_above
                    ELSE 0
                END
            ) / NULLIF(
                MAX(ideal.whole_weight + ideal.depth * (longer.agreement - ideal.agreement)), 0
            )
        ) AS DOUBLE) / CAST(1e12 AS DOUBLE) AS value
    FROM ideal_hits_at_cutoffs
    INNER JOIN ideal_depths AS longer
        ON longer.depth = LEAST_IGNORE_NULLS(k, GREATEST_IGNORE_NULLS(n_recommended, n_relevant))
    INNER JOIN ideal_depths AS ideal ON ideal.depth = LEAST_IGNORE_NULLS(k, n_relevant)
    -- the depth from which on both lists have the item
    LEFT JOIN ideal_depths AS first_common
        ON first_common.depth = GREATEST_IGNORE_NULLS(rank, ideal_rank)
    GROUP BY user_id
), compat_values AS (
    -- one row per key, with one column per cutoff of compat
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS compat_at_{{ cutoff }}
    FROM compat
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN compat_values.user_id IS NULL THEN 0 ELSE compat_at_{{ cutoff }} END AS compat_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN compat_values ON compat_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_value, COUNT(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_n,
        STDDEV_SAMP(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'compat' AS metric, {{ cutoff }} AS k, compat_at_{{ cutoff }}_value AS value, compat_at_{{ cutoff }}_n AS n_users,
    compat_at_{{ cutoff }}_std AS std,
    compat_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_low,
    compat_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__compat(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS FLOAT64) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, item_id, CAST(rank AS INT64) AS rank, relevant.relevance,
        relevant_users.n_relevant, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
    INNER JOIN recommendation_profile USING (user_id)
), placed AS (
    -- one row per relevant (user, item), with the best rank that its relevance allows in the ideal
    -- list
    SELECT user_id, item_id, RANK() OVER (PARTITION BY user_id ORDER BY relevance DESC) AS best_rank
    FROM relevant
), ideal_hits AS (
    -- one row per hit
    SELECT
        user_id, rank,
        best_rank - 1 + ROW_NUMBER() OVER (PARTITION BY user_id, relevance ORDER BY rank)
            AS ideal_rank,
        n_relevant, n_recommended
    FROM hits
    INNER JOIN placed USING (user_id, item_id)
), ideal_hits_at_cutoffs AS (
    -- one row per row of ideal_hits and cutoff that includes it
    SELECT user_id, rank, ideal_rank, n_relevant, n_recommended, {{ cutoff }} AS k
    FROM ideal_hits
    WHERE rank <= {{ cutoff }}
), digits AS (
    SELECT digits.digit
    FROM UNNEST([
        STRUCT(0 AS digit),
        STRUCT(1 AS digit),
        STRUCT(2 AS digit),
        STRUCT(3 AS digit),
        STRUCT(4 AS digit),
        STRUCT(5 AS digit),
        STRUCT(6 AS digit),
        STRUCT(7 AS digit),
        STRUCT(8 AS digit),
        STRUCT(9 AS digit)
    ]) AS digits
), numbers_4 AS (
    -- one row: the last number
    SELECT 0 AS depth, {{ cutoff }} AS last_number
), numbers_3 AS (
    -- one row per multiple of 1000 up to the last number
    SELECT numbers_4.depth + 1000 * digits.digit AS depth, numbers_4.last_number
    FROM numbers_4
    CROSS JOIN digits
    WHERE numbers_4.depth + 1000 * digits.digit <= numbers_4.last_number
), numbers_2 AS (
    -- one row per multiple of 100 up to the last number
    SELECT numbers_3.depth + 100 * digits.digit AS depth, numbers_3.last_number
    FROM numbers_3
    CROSS JOIN digits
    WHERE numbers_3.depth + 100 * digits.digit <= numbers_3.last_number
), numbers_1 AS (
    -- one row per multiple of 10 up to the last number
    SELECT numbers_2.depth + 10 * digits.digit AS depth, numbers_2.last_number
    FROM numbers_2
    CROSS JOIN digits
    WHERE numbers_2.depth + 10 * digits.digit <= numbers_2.last_number
), numbers_0 AS (
    -- one row per multiple of 1 up to the last number
    SELECT numbers_1.depth + 1 * digits.digit AS depth, numbers_1.last_number
    FROM numbers_1
    CROSS JOIN digits
    WHERE numbers_1.depth + 1 * digits.digit <= numbers_1.last_number
), numbers AS (
    -- one row per depth
    SELECT numbers_0.depth FROM numbers_0 WHERE numbers_0.depth > 0
), weights AS (
    -- one row per depth, with its weight
    SELECT depth, POWER(CAST(0.95 AS FLOAT64), depth - 1) AS weight FROM numbers
), summed AS (
    -- one row per depth, with the sums up to this depth
    SELECT
        depth, CAST(weight AS FLOAT64) / depth AS own_agreement,
        SUM(CAST(weight AS FLOAT64) / depth)
            OVER (ORDER BY depth IS NULL, depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS agreement,
        SUM(weight)
            OVER (ORDER BY depth IS NULL, depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS whole_weight
    FROM weights
), ideal_depths AS (
    SELECT depth, agreement, whole_weight, agreement - own_agreement AS agreement_above FROM summed
), compat AS (
    SELECT
        user_id,
        CAST(ROUND(
            CAST(1e12 AS FLOAT64) * SUM(
                CASE
                    WHEN first_common.depth <= longer.depth
                    THEN longer.agreement - first_common.agreement_above
                    ELSE 0
                END
            ) / NULLIF(
                MAX(ideal.whole_weight + ideal.depth * (longer.agreement - ideal.agreement)), 0
            )
        ) AS FLOAT64) / CAST(1e12 AS FLOAT64) AS value
    FROM ideal_hits_at_cutoffs
    INNER JOIN ideal_depths AS longer
        ON longer.depth = LEAST(
            COALESCE(
                k,
                GREATEST(COALESCE(n_recommended, n_relevant), COALESCE(n_relevant, n_recommended))
            ),
            COALESCE(
                GREATEST(COALESCE(n_recommended, n_relevant), COALESCE(n_relevant, n_recommended)),
                k
            )
        )
    INNER JOIN ideal_depths AS ideal
        ON ideal.depth = LEAST(COALESCE(k, n_relevant), COALESCE(n_relevant, k))
    -- the depth from which on both lists have the item
    LEFT JOIN ideal_depths AS first_common
        ON first_common.depth = GREATEST(COALESCE(rank, ideal_rank), COALESCE(ideal_rank, rank))
    GROUP BY user_id
), compat_values AS (
    -- one row per key, with one column per cutoff of compat
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS compat_at_{{ cutoff }}
    FROM compat
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN compat_values.user_id IS NULL THEN 0 ELSE compat_at_{{ cutoff }} END AS compat_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN compat_values ON compat_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_value, COUNT(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_n,
        STDDEV_SAMP(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'compat' AS metric, {{ cutoff }} AS k, compat_at_{{ cutoff }}_value AS value, compat_at_{{ cutoff }}_n AS n_users,
    compat_at_{{ cutoff }}_std AS std,
    compat_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_low,
    compat_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__compat(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, item_id, CAST(rank AS BIGINT) AS rank, relevant.relevance,
        relevant_users.n_relevant, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
    INNER JOIN recommendation_profile USING (user_id)
), placed AS (
    -- one row per relevant (user, item), with the best rank that its relevance allows in the ideal
    -- list
    SELECT user_id, item_id, RANK() OVER (PARTITION BY user_id ORDER BY relevance DESC) AS best_rank
    FROM relevant
), ideal_hits AS (
    -- one row per hit
    SELECT
        user_id, rank,
        best_rank - 1 + ROW_NUMBER() OVER (PARTITION BY user_id, relevance ORDER BY rank)
            AS ideal_rank,
        n_relevant, n_recommended
    FROM hits
    INNER JOIN placed USING (user_id, item_id)
), ideal_hits_at_cutoffs AS (
    -- one row per row of ideal_hits and cutoff that includes it
    SELECT user_id, rank, ideal_rank, n_relevant, n_recommended, {{ cutoff }} AS k
    FROM ideal_hits
    WHERE rank <= {{ cutoff }}
), digits AS (
    SELECT digits.digit
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS digits(digit)
), numbers_4 AS (
    -- one row: the last number
    SELECT 0 AS depth, {{ cutoff }} AS last_number
), numbers_3 AS (
    -- one row per multiple of 1000 up to the last number
    SELECT numbers_4.depth + 1000 * digits.digit AS depth, numbers_4.last_number
    FROM numbers_4
    CROSS JOIN digits
    WHERE numbers_4.depth + 1000 * digits.digit <= numbers_4.last_number
), numbers_2 AS (
    -- one row per multiple of 100 up to the last number
    SELECT numbers_3.depth + 100 * digits.digit AS depth, numbers_3.last_number
    FROM numbers_3
    CROSS JOIN digits
    WHERE numbers_3.depth + 100 * digits.digit <= numbers_3.last_number
), numbers_1 AS (
    -- one row per multiple of 10 up to the last number
    SELECT numbers_2.depth + 10 * digits.digit AS depth, numbers_2.last_number
    FROM numbers_2
    CROSS JOIN digits
    WHERE numbers_2.depth + 10 * digits.digit <= numbers_2.last_number
), numbers_0 AS (
    -- one row per multiple of 1 up to the last number
    SELECT numbers_1.depth + 1 * digits.digit AS depth, numbers_1.last_number
    FROM numbers_1
    CROSS JOIN digits
    WHERE numbers_1.depth + 1 * digits.digit <= numbers_1.last_number
), numbers AS (
    -- one row per depth
    SELECT numbers_0.depth FROM numbers_0 WHERE numbers_0.depth > 0
), weights AS (
    -- one row per depth, with its weight
    SELECT depth, POWER(CAST(0.95 AS DOUBLE), depth - 1) AS weight FROM numbers
), summed AS (
    -- one row per depth, with the sums up to this depth
    SELECT
        depth, CAST(weight AS DOUBLE) / depth AS own_agreement,
        SUM(CAST(weight AS DOUBLE) / depth)
            OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS agreement,
        SUM(weight) OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS whole_weight
    FROM weights
), ideal_depths AS (
    SELECT depth, agreement, whole_weight, agreement - own_agreement AS agreement_above FROM summed
), compat AS (
    SELECT
        user_id,
        CAST(ROUND(
            CAST(1e12 AS DOUBLE) * SUM(
                CASE
                    WHEN first_common.depth <= longer.depth
                    THEN longer.agreement - first_common.agreement_above
                    ELSE 0
                END
            ) / NULLIF(
                MAX(ideal.whole_weight + ideal.depth * (longer.agreement - ideal.agreement)), 0
            )
        ) AS DOUBLE) / CAST(1e12 AS DOUBLE) AS value
    FROM ideal_hits_at_cutoffs
    INNER JOIN ideal_depths AS longer
        ON longer.depth = LEAST(
            COALESCE(
                k,
                GREATEST(COALESCE(n_recommended, n_relevant), COALESCE(n_relevant, n_recommended))
            ),
            COALESCE(
                GREATEST(COALESCE(n_recommended, n_relevant), COALESCE(n_relevant, n_recommended)),
                k
            )
        )
    INNER JOIN ideal_depths AS ideal
        ON ideal.depth = LEAST(COALESCE(k, n_relevant), COALESCE(n_relevant, k))
    -- the depth from which on both lists have the item
    LEFT JOIN ideal_depths AS first_common
        ON first_common.depth = GREATEST(COALESCE(rank, ideal_rank), COALESCE(ideal_rank, rank))
    GROUP BY user_id
), compat_values AS (
    -- one row per key, with one column per cutoff of compat
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS compat_at_{{ cutoff }}
    FROM compat
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN compat_values.user_id IS NULL THEN 0 ELSE compat_at_{{ cutoff }} END AS compat_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN compat_values ON compat_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_value, COUNT(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_n,
        STDDEV_SAMP(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'compat' AS metric, {{ cutoff }} AS k, compat_at_{{ cutoff }}_value AS value, compat_at_{{ cutoff }}_n AS n_users,
    compat_at_{{ cutoff }}_std AS std,
    compat_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_low,
    compat_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__compat(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__compat(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__compat(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_rows
    FROM recommendations
    GROUP BY user_id
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS Nullable(Float64)) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, item_id, CAST(rank AS Nullable(Int64)) AS rank, relevant.relevance AS relevance,
        relevant_users.n_relevant AS n_relevant, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
    INNER JOIN recommendation_profile USING (user_id)
), placed AS (
    -- one row per relevant (user, item), with the best rank that its relevance allows in the ideal
    -- list
    SELECT
        user_id, item_id,
        CAST(RANK() OVER (PARTITION BY user_id ORDER BY relevance DESC) AS Nullable(Int64))
            AS best_rank
    FROM relevant
), ideal_hits AS (
    -- one row per hit
    SELECT
        user_id, rank,
        best_rank - 1
            + CAST(ROW_NUMBER() OVER (PARTITION BY user_id, relevance ORDER BY rank)
            AS Nullable(Int64)) AS ideal_rank,
        n_relevant, n_recommended
    FROM hits
    INNER JOIN placed USING (user_id, item_id)
), ideal_hits_at_cutoffs AS (
    -- one row per row of ideal_hits and cutoff that includes it
    SELECT user_id, rank, ideal_rank, n_relevant, n_recommended, {{ cutoff }} AS k
    FROM ideal_hits
    WHERE rank <= {{ cutoff }}
), numbers AS (
    -- one row per depth
    SELECT arrayJoin(range(1, {{ cutoff }} + 1)) AS depth
), weights AS (
    -- one row per depth, with its weight
    SELECT depth, POWER(CAST(0.95 AS Nullable(Float64)), depth - 1) AS weight FROM numbers
), summed AS (
    -- one row per depth, with the sums up to this depth
    SELECT
        depth, CAST(weight AS Nullable(Float64)) / depth AS own_agreement,
        SUM(CAST(weight AS Nullable(Float64)) / depth)
            OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS agreement,
        SUM(weight) OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS whole_weight
    FROM weights
), ideal_depths AS (
    SELECT depth, agreement, whole_weight, agreement - own_agreement AS agreement_above FROM summed
), compat AS (
    SELECT
        user_id,
        CAST(ROUND(
            CAST(1e12 AS Nullable(Float64)) * SUM(
                CASE
                    WHEN first_common.depth <= longer.depth
                    THEN longer.agreement - first_common.agreement_above
                    ELSE 0
                END
            ) / nullIf(
                MAX(ideal.whole_weight + ideal.depth * (longer.agreement - ideal.agreement)), 0
            )
        ) AS Nullable(Float64)) / CAST(1e12 AS Nullable(Float64)) AS value
    FROM ideal_hits_at_cutoffs
    INNER JOIN ideal_depths AS longer
        ON longer.depth = LEAST(k, GREATEST(n_recommended, n_relevant))
    INNER JOIN ideal_depths AS ideal ON ideal.depth = LEAST(k, n_relevant)
    -- the depth from which on both lists have the item
    LEFT JOIN ideal_depths AS first_common ON first_common.depth = GREATEST(rank, ideal_rank)
    GROUP BY user_id
), compat_values AS (
    -- one row per key, with one column per cutoff of compat
    SELECT
        user_id,
        CASE WHEN CAST(COUNT(1) AS Nullable(Int64)) = 0 THEN 0 ELSE MAX(value) END AS compat_at_{{ cutoff }}
    FROM compat
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN compat_values.user_id IS NULL THEN 0 ELSE compat_at_{{ cutoff }} END AS compat_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN compat_values ON compat_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_value,
        CAST(COUNT(compat_at_{{ cutoff }}) AS Nullable(Int64)) AS compat_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(compat_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(compat_at_{{ cutoff }})
        END AS compat_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'compat' AS metric, {{ cutoff }} AS k, compat_at_{{ cutoff }}_value AS value, compat_at_{{ cutoff }}_n AS n_users,
    compat_at_{{ cutoff }}_std AS std,
    compat_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * compat_at_{{ cutoff }}_std
        / nullIf(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_low,
    compat_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * compat_at_{{ cutoff }}_std
        / nullIf(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__compat(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE PRECISION) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, item_id, CAST(rank AS BIGINT) AS rank, relevant.relevance,
        relevant_users.n_relevant, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
    INNER JOIN recommendation_profile USING (user_id)
), placed AS (
    -- one row per relevant (user, item), with the best rank that its relevance allows in the ideal
    -- list
    SELECT
        user_id, item_id,
        RANK() OVER (PARTITION BY user_id ORDER BY relevance DESC NULLS LAST) AS best_rank
    FROM relevant
), ideal_hits AS (
    -- one row per hit
    SELECT
        user_id, rank,
        best_rank - 1 + ROW_NUMBER() OVER (PARTITION BY user_id, relevance ORDER BY rank)
            AS ideal_rank,
        n_relevant, n_recommended
    FROM hits
    INNER JOIN placed USING (user_id, item_id)
), ideal_hits_at_cutoffs AS (
    -- one row per row of ideal_hits and cutoff that includes it
    SELECT user_id, rank, ideal_rank, n_relevant, n_recommended, {{ cutoff }} AS k
    FROM ideal_hits
    WHERE rank <= {{ cutoff }}
), numbers AS (
    -- one row per depth
    SELECT GENERATE_SERIES(1, {{ cutoff }}) AS depth
), weights AS (
    -- one row per depth, with its weight
    SELECT depth, POWER(CAST(0.95 AS DOUBLE PRECISION), depth - 1) AS weight FROM numbers
), summed AS (
    -- one row per depth, with the sums up to this depth
    SELECT
        depth, CAST(weight AS DOUBLE PRECISION) / depth AS own_agreement,
        SUM(CAST(weight AS DOUBLE PRECISION) / depth)
            OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS agreement,
        SUM(weight) OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS whole_weight
    FROM weights
), ideal_depths AS (
    SELECT depth, agreement, whole_weight, agreement - own_agreement AS agreement_above FROM summed
), compat AS (
    SELECT
        user_id,
        CAST(ROUND(
            CAST(1e12 AS DOUBLE PRECISION) * SUM(
                CASE
                    WHEN first_common.depth <= longer.depth
                    THEN longer.agreement - first_common.agreement_above
                    ELSE 0
                END
            ) / NULLIF(
                MAX(ideal.whole_weight + ideal.depth * (longer.agreement - ideal.agreement)), 0
            )
        ) AS DOUBLE PRECISION) / CAST(1e12 AS DOUBLE PRECISION) AS value
    FROM ideal_hits_at_cutoffs
    INNER JOIN ideal_depths AS longer
        ON longer.depth = LEAST(k, GREATEST(n_recommended, n_relevant))
    INNER JOIN ideal_depths AS ideal ON ideal.depth = LEAST(k, n_relevant)
    -- the depth from which on both lists have the item
    LEFT JOIN ideal_depths AS first_common ON first_common.depth = GREATEST(rank, ideal_rank)
    GROUP BY user_id
), compat_values AS (
    -- one row per key, with one column per cutoff of compat
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS compat_at_{{ cutoff }}
    FROM compat
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN compat_values.user_id IS NULL THEN 0 ELSE compat_at_{{ cutoff }} END AS compat_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN compat_values ON compat_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_value, COUNT(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_n,
        STDDEV_SAMP(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'compat' AS metric, {{ cutoff }} AS k, compat_at_{{ cutoff }}_value AS value, compat_at_{{ cutoff }}_n AS n_users,
    compat_at_{{ cutoff }}_std AS std,
    compat_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_low,
    compat_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro redshift__compat(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE PRECISION) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, item_id, CAST(rank AS BIGINT) AS rank, relevant.relevance,
        relevant_users.n_relevant, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
    INNER JOIN recommendation_profile USING (user_id)
), placed AS (
    -- one row per relevant (user, item), with the best rank that its relevance allows in the ideal
    -- list
    SELECT
        user_id, item_id,
        RANK() OVER (PARTITION BY user_id ORDER BY relevance DESC NULLS LAST) AS best_rank
    FROM relevant
), ideal_hits AS (
    -- one row per hit
    SELECT
        user_id, rank,
        best_rank - 1 + ROW_NUMBER() OVER (PARTITION BY user_id, relevance ORDER BY rank)
            AS ideal_rank,
        n_relevant, n_recommended
    FROM hits
    INNER JOIN placed USING (user_id, item_id)
), ideal_hits_at_cutoffs AS (
    -- one row per row of ideal_hits and cutoff that includes it
    SELECT user_id, rank, ideal_rank, n_relevant, n_recommended, {{ cutoff }} AS k
    FROM ideal_hits
    WHERE rank <= {{ cutoff }}
), digits AS (
    SELECT digits.digit
    FROM (
        SELECT 0 AS digit
        UNION ALL
        SELECT 1
        UNION ALL
        SELECT 2
        UNION ALL
        SELECT 3
        UNION ALL
        SELECT 4
        UNION ALL
        SELECT 5
        UNION ALL
        SELECT 6
        UNION ALL
        SELECT 7
        UNION ALL
        SELECT 8
        UNION ALL
        SELECT 9
    ) AS digits
), numbers_4 AS (
    -- one row: the last number
    SELECT 0 AS depth, {{ cutoff }} AS last_number
), numbers_3 AS (
    -- one row per multiple of 1000 up to the last number
    SELECT numbers_4.depth + 1000 * digits.digit AS depth, numbers_4.last_number
    FROM numbers_4
    CROSS JOIN digits
    WHERE numbers_4.depth + 1000 * digits.digit <= numbers_4.last_number
), numbers_2 AS (
    -- one row per multiple of 100 up to the last number
    SELECT numbers_3.depth + 100 * digits.digit AS depth, numbers_3.last_number
    FROM numbers_3
    CROSS JOIN digits
    WHERE numbers_3.depth + 100 * digits.digit <= numbers_3.last_number
), numbers_1 AS (
    -- one row per multiple of 10 up to the last number
    SELECT numbers_2.depth + 10 * digits.digit AS depth, numbers_2.last_number
    FROM numbers_2
    CROSS JOIN digits
    WHERE numbers_2.depth + 10 * digits.digit <= numbers_2.last_number
), numbers_0 AS (
    -- one row per multiple of 1 up to the last number
    SELECT numbers_1.depth + 1 * digits.digit AS depth, numbers_1.last_number
    FROM numbers_1
    CROSS JOIN digits
    WHERE numbers_1.depth + 1 * digits.digit <= numbers_1.last_number
), numbers AS (
    -- one row per depth
    SELECT numbers_0.depth FROM numbers_0 WHERE numbers_0.depth > 0
), weights AS (
    -- one row per depth, with its weight
    SELECT depth, POWER(CAST(0.95 AS DOUBLE PRECISION), depth - 1) AS weight FROM numbers
), summed AS (
    -- one row per depth, with the sums up to this depth
    SELECT
        depth, CAST(weight AS DOUBLE PRECISION) / depth AS own_agreement,
        SUM(CAST(weight AS DOUBLE PRECISION) / depth)
            OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS agreement,
        SUM(weight) OVER (ORDER BY depth ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS whole_weight
    FROM weights
), ideal_depths AS (
    SELECT depth, agreement, whole_weight, agreement - own_agreement AS agreement_above FROM summed
), compat AS (
    SELECT
        user_id,
        CAST(ROUND(
            CAST(1e12 AS DOUBLE PRECISION) * SUM(
                CASE
                    WHEN first_common.depth <= longer.depth
                    THEN longer.agreement - first_common.agreement_above
                    ELSE 0
                END
            ) / NULLIF(
                MAX(ideal.whole_weight + ideal.depth * (longer.agreement - ideal.agreement)), 0
            )
        ) AS DOUBLE PRECISION) / CAST(1e12 AS DOUBLE PRECISION) AS value
    FROM ideal_hits_at_cutoffs
    INNER JOIN ideal_depths AS longer
        ON longer.depth = LEAST(k, GREATEST(n_recommended, n_relevant))
    INNER JOIN ideal_depths AS ideal ON ideal.depth = LEAST(k, n_relevant)
    -- the depth from which on both lists have the item
    LEFT JOIN ideal_depths AS first_common ON first_common.depth = GREATEST(rank, ideal_rank)
    GROUP BY user_id
), compat_values AS (
    -- one row per key, with one column per cutoff of compat
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS compat_at_{{ cutoff }}
    FROM compat
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN compat_values.user_id IS NULL THEN 0 ELSE compat_at_{{ cutoff }} END AS compat_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN compat_values ON compat_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_value, COUNT(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_n,
        STDDEV_SAMP(compat_at_{{ cutoff }}) AS compat_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'compat' AS metric, {{ cutoff }} AS k, compat_at_{{ cutoff }}_value AS value, compat_at_{{ cutoff }}_n AS n_users,
    compat_at_{{ cutoff }}_std AS std,
    compat_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_low,
    compat_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * compat_at_{{ cutoff }}_std
        / NULLIF(SQRT(compat_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
