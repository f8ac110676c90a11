{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Number of relevant items
  Formula: number of relevant items of the user, recommended or not; the same at every k.
  Source: num_rel in trec_eval; TestItemCount in LensKit; NumRel in ir_measures.
-#}

{% macro n_relevant(
    interactions=none, cutoff=none, user_column='user_id', item_column='item_id',
    relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('n_relevant', cutoff) -%}
{%- set interactions = ranking_metrics._held_out(
    'n_relevant', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('n_relevant', 'ranking_metrics')(interactions, cutoff) }}
{%- endmacro %}

{% test n_relevant_at_least(
    model, cutoff=none, threshold=none, user_column='user_id', item_column='item_id',
    relevance_column=none
) -%}
{%- set result = ranking_metrics.n_relevant(model, cutoff, user_column=user_column,
    item_column=item_column, relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('n_relevant', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__n_relevant(interactions, cutoff) -%}
{{ ranking_metrics._no_sql('n_relevant') }}
{%- endmacro %}

{% macro duckdb__n_relevant(interactions, cutoff) -%}
WITH interactions AS (
    {{ interactions | indent(4) }}
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, count(*) AS n_relevant
    FROM interactions
    WHERE CAST(relevance AS DOUBLE) > 0
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(n_relevant AS DOUBLE) AS n_relevant_at_{{ cutoff }} FROM relevant_users
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_value,
        count(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_n,
        stddev_samp(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_relevant' AS metric, {{ cutoff }} AS k, n_relevant_at_{{ cutoff }}_value AS value,
    n_relevant_at_{{ cutoff }}_n AS n_users, n_relevant_at_{{ cutoff }}_std AS std,
    n_relevant_at_{{ cutoff }}_value - 1.9599639845400536 * n_relevant_at_{{ cutoff }}_std
        / sqrt(n_relevant_at_{{ cutoff }}_n) AS ci_low,
    n_relevant_at_{{ cutoff }}_value + 1.9599639845400536 * n_relevant_at_{{ cutoff }}_std
        / sqrt(n_relevant_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__n_relevant(interactions, cutoff) -%}
WITH interactions AS (
    {{ interactions | indent(4) }}
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant
    FROM interactions
    WHERE CAST(relevance AS DOUBLE) > 0
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(n_relevant AS DOUBLE) AS n_relevant_at_{{ cutoff }} FROM relevant_users
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_value,
        COUNT(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_n,
        STDDEV_SAMP(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_relevant' AS metric, {{ cutoff }} AS k, n_relevant_at_{{ cutoff }}_value AS value,
    n_relevant_at_{{ cutoff }}_n AS n_users, n_relevant_at_{{ cutoff }}_std AS std,
    n_relevant_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * n_relevant_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_relevant_at_{{ cutoff }}_n), 0) AS ci_low,
    n_relevant_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * n_relevant_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_relevant_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__n_relevant(interactions, cutoff) -%}
{{ ranking_metrics.spark__n_relevant(interactions, cutoff) }}
{%- endmacro %}

{% macro trino__n_relevant(interactions, cutoff) -%}
{{ ranking_metrics.spark__n_relevant(interactions, cutoff) }}
{%- endmacro %}

{% macro athena__n_relevant(interactions, cutoff) -%}
{{ ranking_metrics.spark__n_relevant(interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__n_relevant(interactions, cutoff) -%}
WITH interactions AS (
    {{ interactions | indent(4) }}
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant
    FROM interactions
    WHERE CAST(relevance AS FLOAT64) > 0
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(n_relevant AS FLOAT64) AS n_relevant_at_{{ cutoff }} FROM relevant_users
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_value,
        COUNT(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_n,
        STDDEV_SAMP(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_relevant' AS metric, {{ cutoff }} AS k, n_relevant_at_{{ cutoff }}_value AS value,
    n_relevant_at_{{ cutoff }}_n AS n_users, n_relevant_at_{{ cutoff }}_std AS std,
    n_relevant_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * n_relevant_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_relevant_at_{{ cutoff }}_n), 0) AS ci_low,
    n_relevant_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * n_relevant_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_relevant_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__n_relevant(interactions, cutoff) -%}
WITH interactions AS (
    {{ interactions | indent(4) }}
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_relevant
    FROM interactions
    WHERE CAST(relevance AS Nullable(Float64)) > 0
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(n_relevant AS Nullable(Float64)) AS n_relevant_at_{{ cutoff }} FROM relevant_users
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_value,
        CAST(COUNT(n_relevant_at_{{ cutoff }}) AS Nullable(Int64)) AS n_relevant_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(n_relevant_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(n_relevant_at_{{ cutoff }})
        END AS n_relevant_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_relevant' AS metric, {{ cutoff }} AS k, n_relevant_at_{{ cutoff }}_value AS value,
    n_relevant_at_{{ cutoff }}_n AS n_users, n_relevant_at_{{ cutoff }}_std AS std,
    n_relevant_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * n_relevant_at_{{ cutoff }}_std / nullIf(SQRT(n_relevant_at_{{ cutoff }}_n), 0) AS ci_low,
    n_relevant_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * n_relevant_at_{{ cutoff }}_std / nullIf(SQRT(n_relevant_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__n_relevant(interactions, cutoff) -%}
WITH interactions AS (
    {{ interactions | indent(4) }}
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant
    FROM interactions
    WHERE CAST(relevance AS DOUBLE PRECISION) > 0
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(n_relevant AS DOUBLE PRECISION) AS n_relevant_at_{{ cutoff }} FROM relevant_users
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_value,
        COUNT(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_n,
        STDDEV_SAMP(n_relevant_at_{{ cutoff }}) AS n_relevant_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_relevant' AS metric, {{ cutoff }} AS k, n_relevant_at_{{ cutoff }}_value AS value,
    n_relevant_at_{{ cutoff }}_n AS n_users, n_relevant_at_{{ cutoff }}_std AS std,
    n_relevant_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * n_relevant_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_relevant_at_{{ cutoff }}_n), 0) AS ci_low,
    n_relevant_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * n_relevant_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_relevant_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
