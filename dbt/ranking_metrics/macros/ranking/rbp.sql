{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Rank-biased precision
  Formula: (1 - p) · sum over the hits in the top k of gain · p^(rank - 1), where p is the
    probability that a reader continues to the next item. The value of a finite list is below 1.
  Source: Moffat, Zobel: Rank-biased precision for measurement of retrieval effectiveness, TOIS 27
    (2008).
-#}

{% macro rbp(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('rbp', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'rbp', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'rbp', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('rbp', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test rbp_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.rbp(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('rbp', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__rbp(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('rbp') }}
{%- endmacro %}

{% macro duckdb__rbp(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN min(rank) <= {{ cutoff }}
            THEN (
                1 - CAST(0.8 AS DOUBLE)
            ) * sum(CASE WHEN rank <= {{ cutoff }} THEN power(CAST(0.8 AS DOUBLE), rank - 1) END)
            ELSE 0
        END AS rbp_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE rbp_at_{{ cutoff }} END AS rbp_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_value, count(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_n,
        stddev_samp(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'rbp' AS metric, {{ cutoff }} AS k, rbp_at_{{ cutoff }}_value AS value, rbp_at_{{ cutoff }}_n AS n_users,
    rbp_at_{{ cutoff }}_std AS std,
    rbp_at_{{ cutoff }}_value - 1.9599639845400536 * rbp_at_{{ cutoff }}_std / sqrt(rbp_at_{{ cutoff }}_n) AS ci_low,
    rbp_at_{{ cutoff }}_value + 1.9599639845400536 * rbp_at_{{ cutoff }}_std / sqrt(rbp_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__rbp(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN (
                1 - CAST(0.8 AS DOUBLE)
            ) * SUM(CASE WHEN rank <= {{ cutoff }} THEN POWER(CAST(0.8 AS DOUBLE), rank - 1) END)
            ELSE 0
        END AS rbp_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE rbp_at_{{ cutoff }} END AS rbp_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_value, COUNT(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_n,
        STDDEV_SAMP(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'rbp' AS metric, {{ cutoff }} AS k, rbp_at_{{ cutoff }}_value AS value, rbp_at_{{ cutoff }}_n AS n_users,
    rbp_at_{{ cutoff }}_std AS std,
    rbp_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * rbp_at_{{ cutoff }}_std
        / NULLIF(SQRT(rbp_at_{{ cutoff }}_n), 0) AS ci_low,
    rbp_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * rbp_at_{{ cutoff }}_std
        / NULLIF(SQRT(rbp_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__rbp(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__rbp(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro trino__rbp(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__rbp(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__rbp(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__rbp(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__rbp(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS FLOAT64) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS INT64) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN (
                1 - CAST(0.8 AS FLOAT64)
            ) * SUM(CASE WHEN rank <= {{ cutoff }} THEN POWER(CAST(0.8 AS FLOAT64), rank - 1) END)
            ELSE 0
        END AS rbp_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE rbp_at_{{ cutoff }} END AS rbp_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_value, COUNT(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_n,
        STDDEV_SAMP(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'rbp' AS metric, {{ cutoff }} AS k, rbp_at_{{ cutoff }}_value AS value, rbp_at_{{ cutoff }}_n AS n_users,
    rbp_at_{{ cutoff }}_std AS std,
    rbp_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * rbp_at_{{ cutoff }}_std
        / NULLIF(SQRT(rbp_at_{{ cutoff }}_n), 0) AS ci_low,
    rbp_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * rbp_at_{{ cutoff }}_std
        / NULLIF(SQRT(rbp_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__rbp(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS Nullable(Float64)) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS Nullable(Int64)) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN (
                1 - CAST(0.8 AS Nullable(Float64))
            ) * SUM(CASE WHEN rank <= {{ cutoff }} THEN POWER(CAST(0.8 AS Nullable(Float64)), rank - 1) END)
            ELSE 0
        END AS rbp_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE rbp_at_{{ cutoff }} END AS rbp_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_value,
        CAST(COUNT(rbp_at_{{ cutoff }}) AS Nullable(Int64)) AS rbp_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(rbp_at_{{ cutoff }}) AS Nullable(Int64)) > 1 THEN stddevSampStable(rbp_at_{{ cutoff }})
        END AS rbp_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'rbp' AS metric, {{ cutoff }} AS k, rbp_at_{{ cutoff }}_value AS value, rbp_at_{{ cutoff }}_n AS n_users,
    rbp_at_{{ cutoff }}_std AS std,
    rbp_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * rbp_at_{{ cutoff }}_std
        / nullIf(SQRT(rbp_at_{{ cutoff }}_n), 0) AS ci_low,
    rbp_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * rbp_at_{{ cutoff }}_std
        / nullIf(SQRT(rbp_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__rbp(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE PRECISION) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN (
                1 - CAST(0.8 AS DOUBLE PRECISION)
            ) * SUM(CASE WHEN rank <= {{ cutoff }} THEN POWER(CAST(0.8 AS DOUBLE PRECISION), rank - 1) END)
            ELSE 0
        END AS rbp_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE rbp_at_{{ cutoff }} END AS rbp_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_value, COUNT(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_n,
        STDDEV_SAMP(rbp_at_{{ cutoff }}) AS rbp_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'rbp' AS metric, {{ cutoff }} AS k, rbp_at_{{ cutoff }}_value AS value, rbp_at_{{ cutoff }}_n AS n_users,
    rbp_at_{{ cutoff }}_std AS std,
    rbp_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * rbp_at_{{ cutoff }}_std
        / NULLIF(SQRT(rbp_at_{{ cutoff }}_n), 0) AS ci_low,
    rbp_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * rbp_at_{{ cutoff }}_std
        / NULLIF(SQRT(rbp_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
