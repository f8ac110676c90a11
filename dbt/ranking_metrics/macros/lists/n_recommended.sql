{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Number of recommended items
  Formula: number of items in the top k, smaller than k if the list is shorter.
  Source: num_ret in trec_eval; ListLength in LensKit; NumRetrieved in Elliot.
-#}

{% macro n_recommended(
    recommendations=none, cutoff=none, user_column='user_id', item_column='item_id',
    rank_column='rank', score_column=none
) -%}
{%- do ranking_metrics._check_cutoff('n_recommended', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'n_recommended', recommendations, user_column, item_column, rank_column, score_column
) -%}
{{ adapter.dispatch('n_recommended', 'ranking_metrics')(recommendations, cutoff) }}
{%- endmacro %}

{% test n_recommended_at_least(
    model, cutoff=none, threshold=none, user_column='user_id', item_column='item_id',
    rank_column='rank', score_column=none
) -%}
{%- set result = ranking_metrics.n_recommended(model, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column) -%}
{{ ranking_metrics._at_least('n_recommended', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__n_recommended(recommendations, cutoff) -%}
{{ ranking_metrics._no_sql('n_recommended') }}
{%- endmacro %}

{% macro duckdb__n_recommended(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, count(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, least({{ cutoff }}, n_rows) AS n_recommended_at_{{ cutoff }} FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(coalesce(n_recommended_at_{{ cutoff }}, 0) AS DOUBLE) AS n_recommended_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_value,
        count(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_n,
        stddev_samp(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_recommended' AS metric, {{ cutoff }} AS k, n_recommended_at_{{ cutoff }}_value AS value,
    n_recommended_at_{{ cutoff }}_n AS n_users, n_recommended_at_{{ cutoff }}_std AS std,
    n_recommended_at_{{ cutoff }}_value - 1.9599639845400536 * n_recommended_at_{{ cutoff }}_std
        / sqrt(n_recommended_at_{{ cutoff }}_n) AS ci_low,
    n_recommended_at_{{ cutoff }}_value + 1.9599639845400536 * n_recommended_at_{{ cutoff }}_std
        / sqrt(n_recommended_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__n_recommended(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, LEAST({{ cutoff }}, n_rows) AS n_recommended_at_{{ cutoff }} FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(n_recommended_at_{{ cutoff }}, 0) AS DOUBLE) AS n_recommended_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_value,
        COUNT(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_n,
        STDDEV_SAMP(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_recommended' AS metric, {{ cutoff }} AS k, n_recommended_at_{{ cutoff }}_value AS value,
    n_recommended_at_{{ cutoff }}_n AS n_users, n_recommended_at_{{ cutoff }}_std AS std,
    n_recommended_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * n_recommended_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_low,
    n_recommended_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * n_recommended_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__n_recommended(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, LEAST_IGNORE_NULLS({{ cutoff }}, n_rows) AS n_recommended_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(n_recommended_at_{{ cutoff }}, 0) AS DOUBLE) AS n_recommended_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_value,
        COUNT(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_n,
        STDDEV_SAMP(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_recommended' AS metric, {{ cutoff }} AS k, n_recommended_at_{{ cutoff }}_value AS value,
    n_recommended_at_{{ cutoff }}_n AS n_users, n_recommended_at_{{ cutoff }}_std AS std,
    n_recommended_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * n_recommended_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_low,
    n_recommended_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * n_recommended_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__n_recommended(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, LEAST({{ cutoff }}, COALESCE(n_rows, {{ cutoff }})) AS n_recommended_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(n_recommended_at_{{ cutoff }}, 0) AS FLOAT64) AS n_recommended_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_value,
        COUNT(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_n,
        STDDEV_SAMP(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_recommended' AS metric, {{ cutoff }} AS k, n_recommended_at_{{ cutoff }}_value AS value,
    n_recommended_at_{{ cutoff }}_n AS n_users, n_recommended_at_{{ cutoff }}_std AS std,
    n_recommended_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * n_recommended_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_low,
    n_recommended_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * n_recommended_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__n_recommended(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, LEAST({{ cutoff }}, COALESCE(n_rows, {{ cutoff }})) AS n_recommended_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(n_recommended_at_{{ cutoff }}, 0) AS DOUBLE) AS n_recommended_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_value,
        COUNT(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_n,
        STDDEV_SAMP(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_recommended' AS metric, {{ cutoff }} AS k, n_recommended_at_{{ cutoff }}_value AS value,
    n_recommended_at_{{ cutoff }}_n AS n_users, n_recommended_at_{{ cutoff }}_std AS std,
    n_recommended_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * n_recommended_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_low,
    n_recommended_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * n_recommended_at_{{ cutoff }}_std
        / NULLIF(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__n_recommended(recommendations, cutoff) -%}
{{ ranking_metrics.trino__n_recommended(recommendations, cutoff) }}
{%- endmacro %}

{% macro clickhouse__n_recommended(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_rows
    FROM recommendations
    GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, LEAST({{ cutoff }}, n_rows) AS n_recommended_at_{{ cutoff }} FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(n_recommended_at_{{ cutoff }}, 0) AS Nullable(Float64)) AS n_recommended_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_value,
        CAST(COUNT(n_recommended_at_{{ cutoff }}) AS Nullable(Int64)) AS n_recommended_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(n_recommended_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(n_recommended_at_{{ cutoff }})
        END AS n_recommended_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_recommended' AS metric, {{ cutoff }} AS k, n_recommended_at_{{ cutoff }}_value AS value,
    n_recommended_at_{{ cutoff }}_n AS n_users, n_recommended_at_{{ cutoff }}_std AS std,
    n_recommended_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * n_recommended_at_{{ cutoff }}_std / nullIf(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_low,
    n_recommended_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * n_recommended_at_{{ cutoff }}_std / nullIf(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__n_recommended(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, LEAST({{ cutoff }}, n_rows) AS n_recommended_at_{{ cutoff }} FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(n_recommended_at_{{ cutoff }}, 0) AS DOUBLE PRECISION) AS n_recommended_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_value,
        COUNT(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_n,
        STDDEV_SAMP(n_recommended_at_{{ cutoff }}) AS n_recommended_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'n_recommended' AS metric, {{ cutoff }} AS k, n_recommended_at_{{ cutoff }}_value AS value,
    n_recommended_at_{{ cutoff }}_n AS n_users, n_recommended_at_{{ cutoff }}_std AS std,
    n_recommended_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * n_recommended_at_{{ cutoff }}_std / NULLIF(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_low,
    n_recommended_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * n_recommended_at_{{ cutoff }}_std / NULLIF(SQRT(n_recommended_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
