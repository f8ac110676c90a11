{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Sufficient lists
  Formula: 1 if the list has k items or more, else 0.
  Source: RecTools documentation, SufficientReco.
-#}

{% macro sufficient(
    recommendations=none, cutoff=none, user_column='user_id', item_column='item_id',
    rank_column='rank', score_column=none
) -%}
{%- do ranking_metrics._check_cutoff('sufficient', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'sufficient', recommendations, user_column, item_column, rank_column, score_column
) -%}
{{ adapter.dispatch('sufficient', 'ranking_metrics')(recommendations, cutoff) }}
{%- endmacro %}

{% test sufficient_at_least(
    model, cutoff=none, threshold=none, user_column='user_id', item_column='item_id',
    rank_column='rank', score_column=none
) -%}
{%- set result = ranking_metrics.sufficient(model, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column) -%}
{{ ranking_metrics._at_least('sufficient', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__sufficient(recommendations, cutoff) -%}
{{ ranking_metrics._no_sql('sufficient') }}
{%- endmacro %}

{% macro duckdb__sufficient(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, count(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, CASE WHEN least({{ cutoff }}, n_rows) = {{ cutoff }} THEN 1 ELSE 0 END AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(coalesce(sufficient_at_{{ cutoff }}, 0) AS DOUBLE) AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_value,
        count(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_n,
        stddev_samp(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'sufficient' AS metric, {{ cutoff }} AS k, sufficient_at_{{ cutoff }}_value AS value,
    sufficient_at_{{ cutoff }}_n AS n_users, sufficient_at_{{ cutoff }}_std AS std,
    sufficient_at_{{ cutoff }}_value - 1.9599639845400536 * sufficient_at_{{ cutoff }}_std
        / sqrt(sufficient_at_{{ cutoff }}_n) AS ci_low,
    sufficient_at_{{ cutoff }}_value + 1.9599639845400536 * sufficient_at_{{ cutoff }}_std
        / sqrt(sufficient_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__sufficient(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, CASE WHEN LEAST({{ cutoff }}, n_rows) = {{ cutoff }} THEN 1 ELSE 0 END AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(sufficient_at_{{ cutoff }}, 0) AS DOUBLE) AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_value,
        COUNT(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_n,
        STDDEV_SAMP(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'sufficient' AS metric, {{ cutoff }} AS k, sufficient_at_{{ cutoff }}_value AS value,
    sufficient_at_{{ cutoff }}_n AS n_users, sufficient_at_{{ cutoff }}_std AS std,
    sufficient_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * sufficient_at_{{ cutoff }}_std
        / NULLIF(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_low,
    sufficient_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * sufficient_at_{{ cutoff }}_std
        / NULLIF(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__sufficient(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT
        user_id,
        CASE WHEN LEAST_IGNORE_NULLS({{ cutoff }}, n_rows) = {{ cutoff }} THEN 1 ELSE 0 END AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(sufficient_at_{{ cutoff }}, 0) AS DOUBLE) AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_value,
        COUNT(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_n,
        STDDEV_SAMP(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'sufficient' AS metric, {{ cutoff }} AS k, sufficient_at_{{ cutoff }}_value AS value,
    sufficient_at_{{ cutoff }}_n AS n_users, sufficient_at_{{ cutoff }}_std AS std,
    sufficient_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * sufficient_at_{{ cutoff }}_std
        / NULLIF(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_low,
    sufficient_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * sufficient_at_{{ cutoff }}_std
        / NULLIF(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__sufficient(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT
        user_id,
        CASE WHEN LEAST({{ cutoff }}, COALESCE(n_rows, {{ cutoff }})) = {{ cutoff }} THEN 1 ELSE 0 END AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(sufficient_at_{{ cutoff }}, 0) AS FLOAT64) AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_value,
        COUNT(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_n,
        STDDEV_SAMP(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'sufficient' AS metric, {{ cutoff }} AS k, sufficient_at_{{ cutoff }}_value AS value,
    sufficient_at_{{ cutoff }}_n AS n_users, sufficient_at_{{ cutoff }}_std AS std,
    sufficient_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * sufficient_at_{{ cutoff }}_std
        / NULLIF(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_low,
    sufficient_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * sufficient_at_{{ cutoff }}_std
        / NULLIF(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__sufficient(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT
        user_id,
        CASE WHEN LEAST({{ cutoff }}, COALESCE(n_rows, {{ cutoff }})) = {{ cutoff }} THEN 1 ELSE 0 END AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(sufficient_at_{{ cutoff }}, 0) AS DOUBLE) AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_value,
        COUNT(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_n,
        STDDEV_SAMP(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'sufficient' AS metric, {{ cutoff }} AS k, sufficient_at_{{ cutoff }}_value AS value,
    sufficient_at_{{ cutoff }}_n AS n_users, sufficient_at_{{ cutoff }}_std AS std,
    sufficient_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * sufficient_at_{{ cutoff }}_std
        / NULLIF(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_low,
    sufficient_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * sufficient_at_{{ cutoff }}_std
        / NULLIF(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__sufficient(recommendations, cutoff) -%}
{{ ranking_metrics.trino__sufficient(recommendations, cutoff) }}
{%- endmacro %}

{% macro clickhouse__sufficient(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_rows
    FROM recommendations
    GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, CASE WHEN LEAST({{ cutoff }}, n_rows) = {{ cutoff }} THEN 1 ELSE 0 END AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(sufficient_at_{{ cutoff }}, 0) AS Nullable(Float64)) AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_value,
        CAST(COUNT(sufficient_at_{{ cutoff }}) AS Nullable(Int64)) AS sufficient_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(sufficient_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(sufficient_at_{{ cutoff }})
        END AS sufficient_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'sufficient' AS metric, {{ cutoff }} AS k, sufficient_at_{{ cutoff }}_value AS value,
    sufficient_at_{{ cutoff }}_n AS n_users, sufficient_at_{{ cutoff }}_std AS std,
    sufficient_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * sufficient_at_{{ cutoff }}_std / nullIf(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_low,
    sufficient_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * sufficient_at_{{ cutoff }}_std / nullIf(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__sufficient(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, CASE WHEN LEAST({{ cutoff }}, n_rows) = {{ cutoff }} THEN 1 ELSE 0 END AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(sufficient_at_{{ cutoff }}, 0) AS DOUBLE PRECISION) AS sufficient_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_value,
        COUNT(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_n,
        STDDEV_SAMP(sufficient_at_{{ cutoff }}) AS sufficient_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'sufficient' AS metric, {{ cutoff }} AS k, sufficient_at_{{ cutoff }}_value AS value,
    sufficient_at_{{ cutoff }}_n AS n_users, sufficient_at_{{ cutoff }}_std AS std,
    sufficient_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * sufficient_at_{{ cutoff }}_std
        / NULLIF(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_low,
    sufficient_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * sufficient_at_{{ cutoff }}_std
        / NULLIF(SQRT(sufficient_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
