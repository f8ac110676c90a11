{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Average relevance position
  Formula: mean rank of the hits in the top k, weighted by relevance: sum of rank · relevance /
    sum of relevance.
  Undefined: no relevant item in the top k, or all of these have the relevance 0.
  Source: ARPMetric in TF-Ranking.
-#}

{% macro relevance_position(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('relevance_position', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'relevance_position', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'relevance_position', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('relevance_position', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test relevance_position_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.relevance_position(model, interactions, cutoff,
    user_column=user_column, item_column=item_column, rank_column=rank_column,
    score_column=score_column, relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('relevance_position', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__relevance_position(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('relevance_position') }}
{%- endmacro %}

{% macro duckdb__relevance_position(recommendations, interactions, cutoff) -%}
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
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank, relevant.relevance, relevant_users.best_relevance
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        sum(
            CASE WHEN rank <= {{ cutoff }} THEN rank * (relevance / nullif(hits.best_relevance, 0)) END
        )
            / nullif(sum(CASE WHEN rank <= {{ cutoff }} THEN relevance
            / nullif(hits.best_relevance, 0) END), 0) AS relevance_position_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_value,
        count(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_n,
        stddev_samp(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'relevance_position' AS metric, {{ cutoff }} AS k, relevance_position_at_{{ cutoff }}_value AS value,
    relevance_position_at_{{ cutoff }}_n AS n_users, relevance_position_at_{{ cutoff }}_std AS std,
    relevance_position_at_{{ cutoff }}_value - 1.9599639845400536 * relevance_position_at_{{ cutoff }}_std
        / sqrt(relevance_position_at_{{ cutoff }}_n) AS ci_low,
    relevance_position_at_{{ cutoff }}_value + 1.9599639845400536 * relevance_position_at_{{ cutoff }}_std
        / sqrt(relevance_position_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__relevance_position(recommendations, interactions, cutoff) -%}
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
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank, relevant.relevance, relevant_users.best_relevance
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }}
                THEN rank * (CAST(relevance AS DOUBLE) / NULLIF(hits.best_relevance, 0))
            END
        ) AS DOUBLE) / NULLIF(
            SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CAST(relevance AS DOUBLE) / NULLIF(hits.best_relevance, 0)
                END
            ),
            0
        ) AS relevance_position_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_value,
        COUNT(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_n,
        STDDEV_SAMP(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'relevance_position' AS metric, {{ cutoff }} AS k, relevance_position_at_{{ cutoff }}_value AS value,
    relevance_position_at_{{ cutoff }}_n AS n_users, relevance_position_at_{{ cutoff }}_std AS std,
    relevance_position_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE)
        * relevance_position_at_{{ cutoff }}_std / NULLIF(SQRT(relevance_position_at_{{ cutoff }}_n), 0) AS ci_low,
    relevance_position_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE)
        * relevance_position_at_{{ cutoff }}_std / NULLIF(SQRT(relevance_position_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__relevance_position(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__relevance_position(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro trino__relevance_position(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__relevance_position(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__relevance_position(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__relevance_position(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__relevance_position(recommendations, interactions, cutoff) -%}
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
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS INT64) AS rank, relevant.relevance, relevant_users.best_relevance
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }}
                THEN rank * (CAST(relevance AS FLOAT64) / NULLIF(hits.best_relevance, 0))
            END
        ) AS FLOAT64) / NULLIF(
            SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CAST(relevance AS FLOAT64) / NULLIF(hits.best_relevance, 0)
                END
            ),
            0
        ) AS relevance_position_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_value,
        COUNT(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_n,
        STDDEV_SAMP(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'relevance_position' AS metric, {{ cutoff }} AS k, relevance_position_at_{{ cutoff }}_value AS value,
    relevance_position_at_{{ cutoff }}_n AS n_users, relevance_position_at_{{ cutoff }}_std AS std,
    relevance_position_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64)
        * relevance_position_at_{{ cutoff }}_std / NULLIF(SQRT(relevance_position_at_{{ cutoff }}_n), 0) AS ci_low,
    relevance_position_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64)
        * relevance_position_at_{{ cutoff }}_std / NULLIF(SQRT(relevance_position_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__relevance_position(recommendations, interactions, cutoff) -%}
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
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, CAST(rank AS Nullable(Int64)) AS rank, relevant.relevance AS relevance,
        relevant_users.best_relevance AS best_relevance
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }}
                THEN rank * (CAST(relevance AS Nullable(Float64)) / nullIf(hits.best_relevance, 0))
            END
        ) AS Nullable(Float64)) / nullIf(
            SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CAST(relevance AS Nullable(Float64)) / nullIf(hits.best_relevance, 0)
                END
            ),
            0
        ) AS relevance_position_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_value,
        CAST(COUNT(relevance_position_at_{{ cutoff }}) AS Nullable(Int64)) AS relevance_position_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(relevance_position_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(relevance_position_at_{{ cutoff }})
        END AS relevance_position_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'relevance_position' AS metric, {{ cutoff }} AS k, relevance_position_at_{{ cutoff }}_value AS value,
    relevance_position_at_{{ cutoff }}_n AS n_users, relevance_position_at_{{ cutoff }}_std AS std,
    relevance_position_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * relevance_position_at_{{ cutoff }}_std / nullIf(SQRT(relevance_position_at_{{ cutoff }}_n), 0) AS ci_low,
    relevance_position_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * relevance_position_at_{{ cutoff }}_std / nullIf(SQRT(relevance_position_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__relevance_position(recommendations, interactions, cutoff) -%}
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
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank, relevant.relevance, relevant_users.best_relevance
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }}
                THEN rank * (CAST(relevance AS DOUBLE PRECISION) / NULLIF(hits.best_relevance, 0))
            END
        ) AS DOUBLE PRECISION) / NULLIF(
            SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CAST(relevance AS DOUBLE PRECISION) / NULLIF(hits.best_relevance, 0)
                END
            ),
            0
        ) AS relevance_position_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_value,
        COUNT(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_n,
        STDDEV_SAMP(relevance_position_at_{{ cutoff }}) AS relevance_position_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'relevance_position' AS metric, {{ cutoff }} AS k, relevance_position_at_{{ cutoff }}_value AS value,
    relevance_position_at_{{ cutoff }}_n AS n_users, relevance_position_at_{{ cutoff }}_std AS std,
    relevance_position_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * relevance_position_at_{{ cutoff }}_std / NULLIF(SQRT(relevance_position_at_{{ cutoff }}_n), 0) AS ci_low,
    relevance_position_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * relevance_position_at_{{ cutoff }}_std / NULLIF(SQRT(relevance_position_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
