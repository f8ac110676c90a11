{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  pFound
  Formula: sum over the top k of p · (product of 1 - p over the items above) · (1 -
    break_probability)^(rank - 1), where p = relevance / max_grade is the probability that a
    reader stops at the item.
  Source: Gulin, Karpovich, Raskovalov, Segalovich: Yandex at ROMIP 2009.
-#}

{% macro pfound(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('pfound', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'pfound', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'pfound', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('pfound', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test pfound_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.pfound(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('pfound', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__pfound(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('pfound') }}
{%- endmacro %}

{% macro duckdb__pfound(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, max(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT max(best_relevance) AS relevance FROM relevant_users
), stops AS (
    -- one row per hit, with the probability that a reader stops there
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        coalesce(relevant.relevance / nullif(top_relevance.relevance, 0), 0) AS stop_probability
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), cascades AS (
    -- one row per hit, with the probability that the reader did not stop at a hit above it (a
    -- product, computed as a sum of logarithms)
    SELECT
        user_id, rank, stop_probability,
        exp(
            greatest(
                coalesce(
                    sum(ln(greatest(1 - stop_probability, 1e-300))) OVER (
                        PARTITION BY user_id
                        ORDER BY rank
                        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                    ),
                    0
                ),
                -700
            )
        ) AS look_probability
    FROM stops
), cascades_values AS (
    -- one row per user with cascades
    SELECT
        user_id,
        CASE
            WHEN min(rank) <= {{ cutoff }}
            THEN sum(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN look_probability * stop_probability * power(CAST(0.85 AS DOUBLE), rank - 1)
                END
            )
            ELSE 0
        END AS pfound_at_{{ cutoff }}
    FROM cascades
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN cascades_values.user_id IS NULL THEN 0 ELSE pfound_at_{{ cutoff }} END AS pfound_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN cascades_values ON cascades_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_value, count(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_n,
        stddev_samp(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pfound' AS metric, {{ cutoff }} AS k, pfound_at_{{ cutoff }}_value AS value, pfound_at_{{ cutoff }}_n AS n_users,
    pfound_at_{{ cutoff }}_std AS std,
    pfound_at_{{ cutoff }}_value - 1.9599639845400536 * pfound_at_{{ cutoff }}_std / sqrt(pfound_at_{{ cutoff }}_n)
        AS ci_low,
    pfound_at_{{ cutoff }}_value + 1.9599639845400536 * pfound_at_{{ cutoff }}_std / sqrt(pfound_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__pfound(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), stops AS (
    -- one row per hit, with the probability that a reader stops there
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        COALESCE(CAST(relevant.relevance AS DOUBLE) / NULLIF(top_relevance.relevance, 0), 0)
            AS stop_probability
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), cascades AS (
    -- one row per hit, with the probability that the reader did not stop at a hit above it (a
    -- product, computed as a sum of logarithms)
    SELECT
        user_id, rank, stop_probability,
        EXP(
            GREATEST(
                COALESCE(
                    SUM(LN(GREATEST(1 - stop_probability, CAST(1e-300 AS DOUBLE)))) OVER (
                        PARTITION BY user_id
                        ORDER BY rank NULLS LAST
                        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                    ),
                    0
                ),
                -700
            )
        ) AS look_probability
    FROM stops
), cascades_values AS (
    -- one row per user with cascades
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN look_probability * stop_probability * POWER(CAST(0.85 AS DOUBLE), rank - 1)
                END
            )
            ELSE 0
        END AS pfound_at_{{ cutoff }}
    FROM cascades
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN cascades_values.user_id IS NULL THEN 0 ELSE pfound_at_{{ cutoff }} END AS pfound_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN cascades_values ON cascades_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_value, COUNT(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_n,
        STDDEV_SAMP(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pfound' AS metric, {{ cutoff }} AS k, pfound_at_{{ cutoff }}_value AS value, pfound_at_{{ cutoff }}_n AS n_users,
    pfound_at_{{ cutoff }}_std AS std,
    pfound_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * pfound_at_{{ cutoff }}_std
        / NULLIF(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_low,
    pfound_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * pfound_at_{{ cutoff }}_std
        / NULLIF(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__pfound(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), stops AS (
    -- one row per hit, with the probability that a reader stops there
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        COALESCE(CAST(relevant.relevance AS DOUBLE) / NULLIF(top_relevance.relevance, 0), 0)
            AS stop_probability
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), cascades AS (
    -- one row per hit, with the probability that the reader did not stop at a hit above it (a
    -- product, computed as a sum of logarithms)
    SELECT
        user_id, rank, stop_probability,
        EXP(
            GREATEST_IGNORE_NULLS(
                COALESCE(
                    SUM(LN(GREATEST_IGNORE_NULLS(1 - stop_probability, CAST(1e-300 AS DOUBLE))))
                        OVER (
                        PARTITION BY user_id
                        ORDER BY rank
                        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                    ),
                    0
                ),
                -700
            )
        ) AS look_probability
    FROM stops
), cascades_values AS (
    -- one row per user with cascades
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN look_probability * stop_probability * POWER(CAST(0.85 AS DOUBLE), rank - 1)
                END
            )
            ELSE 0
        END AS pfound_at_{{ cutoff }}
    FROM cascades
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN cascades_values.user_id IS NULL THEN 0 ELSE pfound_at_{{ cutoff }} END AS pfound_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN cascades_values ON cascades_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_value, COUNT(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_n,
        STDDEV_SAMP(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pfound' AS metric, {{ cutoff }} AS k, pfound_at_{{ cutoff }}_value AS value, pfound_at_{{ cutoff }}_n AS n_users,
    pfound_at_{{ cutoff }}_std AS std,
    pfound_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * pfound_at_{{ cutoff }}_std
        / NULLIF(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_low,
    pfound_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * pfound_at_{{ cutoff }}_std
        / NULLIF(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__pfound(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS FLOAT64) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), stops AS (
    -- one row per hit, with the probability that a reader stops there
    SELECT
        user_id, CAST(rank AS INT64) AS rank,
        COALESCE(CAST(relevant.relevance AS FLOAT64) / NULLIF(top_relevance.relevance, 0), 0)
            AS stop_probability
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), cascades AS (
    -- one row per hit, with the probability that the reader did not stop at a hit above it (a
    -- product, computed as a sum of logarithms)
    SELECT
        user_id, rank, stop_probability,
        EXP(
            GREATEST(
                COALESCE(
                    COALESCE(
                        SUM(
                            LN(
                                GREATEST(
                                    COALESCE(1 - stop_probability, CAST(1e-300 AS FLOAT64)),
                                    COALESCE(CAST(1e-300 AS FLOAT64), 1 - stop_probability)
                                )
                            )
                        ) OVER (
                            PARTITION BY user_id
                            ORDER BY rank
                            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                        ),
                        0
                    ),
                    -700
                ),
                COALESCE(
                    -700,
                    COALESCE(
                        SUM(
                            LN(
                                GREATEST(
                                    COALESCE(1 - stop_probability, CAST(1e-300 AS FLOAT64)),
                                    COALESCE(CAST(1e-300 AS FLOAT64), 1 - stop_probability)
                                )
                            )
                        ) OVER (
                            PARTITION BY user_id
                            ORDER BY rank
                            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                        ),
                        0
                    )
                )
            )
        ) AS look_probability
    FROM stops
), cascades_values AS (
    -- one row per user with cascades
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN look_probability * stop_probability
                        * POWER(CAST(0.85 AS FLOAT64), rank - 1)
                END
            )
            ELSE 0
        END AS pfound_at_{{ cutoff }}
    FROM cascades
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN cascades_values.user_id IS NULL THEN 0 ELSE pfound_at_{{ cutoff }} END AS pfound_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN cascades_values ON cascades_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_value, COUNT(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_n,
        STDDEV_SAMP(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pfound' AS metric, {{ cutoff }} AS k, pfound_at_{{ cutoff }}_value AS value, pfound_at_{{ cutoff }}_n AS n_users,
    pfound_at_{{ cutoff }}_std AS std,
    pfound_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * pfound_at_{{ cutoff }}_std
        / NULLIF(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_low,
    pfound_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * pfound_at_{{ cutoff }}_std
        / NULLIF(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__pfound(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), stops AS (
    -- one row per hit, with the probability that a reader stops there
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        COALESCE(CAST(relevant.relevance AS DOUBLE) / NULLIF(top_relevance.relevance, 0), 0)
            AS stop_probability
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), cascades AS (
    -- one row per hit, with the probability that the reader did not stop at a hit above it (a
    -- product, computed as a sum of logarithms)
    SELECT
        user_id, rank, stop_probability,
        EXP(
            GREATEST(
                COALESCE(
                    COALESCE(
                        SUM(
                            LN(
                                GREATEST(
                                    COALESCE(1 - stop_probability, CAST(1e-300 AS DOUBLE)),
                                    COALESCE(CAST(1e-300 AS DOUBLE), 1 - stop_probability)
                                )
                            )
                        ) OVER (
                            PARTITION BY user_id
                            ORDER BY rank
                            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                        ),
                        0
                    ),
                    -700
                ),
                COALESCE(
                    -700,
                    COALESCE(
                        SUM(
                            LN(
                                GREATEST(
                                    COALESCE(1 - stop_probability, CAST(1e-300 AS DOUBLE)),
                                    COALESCE(CAST(1e-300 AS DOUBLE), 1 - stop_probability)
                                )
                            )
                        ) OVER (
                            PARTITION BY user_id
                            ORDER BY rank
                            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                        ),
                        0
                    )
                )
            )
        ) AS look_probability
    FROM stops
), cascades_values AS (
    -- one row per user with cascades
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN look_probability * stop_probability * POWER(CAST(0.85 AS DOUBLE), rank - 1)
                END
            )
            ELSE 0
        END AS pfound_at_{{ cutoff }}
    FROM cascades
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN cascades_values.user_id IS NULL THEN 0 ELSE pfound_at_{{ cutoff }} END AS pfound_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN cascades_values ON cascades_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_value, COUNT(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_n,
        STDDEV_SAMP(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pfound' AS metric, {{ cutoff }} AS k, pfound_at_{{ cutoff }}_value AS value, pfound_at_{{ cutoff }}_n AS n_users,
    pfound_at_{{ cutoff }}_std AS std,
    pfound_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * pfound_at_{{ cutoff }}_std
        / NULLIF(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_low,
    pfound_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * pfound_at_{{ cutoff }}_std
        / NULLIF(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__pfound(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__pfound(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__pfound(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS Nullable(Float64)) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), stops AS (
    -- one row per hit, with the probability that a reader stops there
    SELECT
        user_id, CAST(rank AS Nullable(Int64)) AS rank,
        COALESCE(
            CAST(relevant.relevance AS Nullable(Float64)) / nullIf(top_relevance.relevance, 0), 0
        ) AS stop_probability
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), cascades AS (
    -- one row per hit, with the probability that the reader did not stop at a hit above it (a
    -- product, computed as a sum of logarithms)
    SELECT
        user_id, rank, stop_probability,
        EXP(
            GREATEST(
                COALESCE(
                    SUM(LN(GREATEST(1 - stop_probability, CAST(1e-300 AS Nullable(Float64)))))
                        OVER (
                        PARTITION BY user_id
                        ORDER BY rank
                        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                    ),
                    0
                ),
                -700
            )
        ) AS look_probability
    FROM stops
), cascades_values AS (
    -- one row per user with cascades
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN look_probability * stop_probability
                        * POWER(CAST(0.85 AS Nullable(Float64)), rank - 1)
                END
            )
            ELSE 0
        END AS pfound_at_{{ cutoff }}
    FROM cascades
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN cascades_values.user_id IS NULL THEN 0 ELSE pfound_at_{{ cutoff }} END AS pfound_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN cascades_values ON cascades_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_value,
        CAST(COUNT(pfound_at_{{ cutoff }}) AS Nullable(Int64)) AS pfound_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(pfound_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(pfound_at_{{ cutoff }})
        END AS pfound_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pfound' AS metric, {{ cutoff }} AS k, pfound_at_{{ cutoff }}_value AS value, pfound_at_{{ cutoff }}_n AS n_users,
    pfound_at_{{ cutoff }}_std AS std,
    pfound_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * pfound_at_{{ cutoff }}_std
        / nullIf(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_low,
    pfound_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * pfound_at_{{ cutoff }}_std
        / nullIf(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__pfound(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE PRECISION) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), stops AS (
    -- one row per hit, with the probability that a reader stops there
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        COALESCE(
            CAST(relevant.relevance AS DOUBLE PRECISION) / NULLIF(top_relevance.relevance, 0), 0
        ) AS stop_probability
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), cascades AS (
    -- one row per hit, with the probability that the reader did not stop at a hit above it (a
    -- product, computed as a sum of logarithms)
    SELECT
        user_id, rank, stop_probability,
        EXP(
            GREATEST(
                COALESCE(
                    SUM(LN(GREATEST(1 - stop_probability, CAST(1e-300 AS DOUBLE PRECISION)))) OVER (
                        PARTITION BY user_id
                        ORDER BY rank
                        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                    ),
                    0
                ),
                -700
            )
        ) AS look_probability
    FROM stops
), cascades_values AS (
    -- one row per user with cascades
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN look_probability * stop_probability
                        * POWER(CAST(0.85 AS DOUBLE PRECISION), rank - 1)
                END
            )
            ELSE 0
        END AS pfound_at_{{ cutoff }}
    FROM cascades
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN cascades_values.user_id IS NULL THEN 0 ELSE pfound_at_{{ cutoff }} END AS pfound_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN cascades_values ON cascades_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_value, COUNT(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_n,
        STDDEV_SAMP(pfound_at_{{ cutoff }}) AS pfound_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pfound' AS metric, {{ cutoff }} AS k, pfound_at_{{ cutoff }}_value AS value, pfound_at_{{ cutoff }}_n AS n_users,
    pfound_at_{{ cutoff }}_std AS std,
    pfound_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * pfound_at_{{ cutoff }}_std
        / NULLIF(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_low,
    pfound_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * pfound_at_{{ cutoff }}_std
        / NULLIF(SQRT(pfound_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
