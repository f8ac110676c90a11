{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  User coverage
  Formula: 1 if the top k has at_least items, else 0; the mean over users is the share of users
    with enough recommendations.
  Source: CoveredUsers in RecTools; UserCoverage and UserCoverageAtN in Elliot.
-#}

{% macro user_coverage(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('user_coverage', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'user_coverage', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'user_coverage', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('user_coverage', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test user_coverage_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.user_coverage(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('user_coverage', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__user_coverage(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('user_coverage') }}
{%- endmacro %}

{% macro duckdb__user_coverage(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, count(*) AS n_rows FROM recommendations GROUP BY user_id
), interaction_profile AS (
    -- one row per user of the interactions
    SELECT user_id FROM interactions GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, CASE WHEN least({{ cutoff }}, n_rows) >= 1 THEN 1 ELSE 0 END AS user_coverage_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(coalesce(user_coverage_at_{{ cutoff }}, 0) AS DOUBLE) AS user_coverage_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_value,
        count(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_n,
        stddev_samp(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'user_coverage' AS metric, {{ cutoff }} AS k, user_coverage_at_{{ cutoff }}_value AS value,
    user_coverage_at_{{ cutoff }}_n AS n_users, user_coverage_at_{{ cutoff }}_std AS std,
    user_coverage_at_{{ cutoff }}_value - 1.9599639845400536 * user_coverage_at_{{ cutoff }}_std
        / sqrt(user_coverage_at_{{ cutoff }}_n) AS ci_low,
    user_coverage_at_{{ cutoff }}_value + 1.9599639845400536 * user_coverage_at_{{ cutoff }}_std
        / sqrt(user_coverage_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__user_coverage(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), interaction_profile AS (
    -- one row per user of the interactions
    SELECT user_id FROM interactions GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, CASE WHEN LEAST({{ cutoff }}, n_rows) >= 1 THEN 1 ELSE 0 END AS user_coverage_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(user_coverage_at_{{ cutoff }}, 0) AS DOUBLE) AS user_coverage_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_value,
        COUNT(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_n,
        STDDEV_SAMP(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'user_coverage' AS metric, {{ cutoff }} AS k, user_coverage_at_{{ cutoff }}_value AS value,
    user_coverage_at_{{ cutoff }}_n AS n_users, user_coverage_at_{{ cutoff }}_std AS std,
    user_coverage_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * user_coverage_at_{{ cutoff }}_std
        / NULLIF(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_low,
    user_coverage_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * user_coverage_at_{{ cutoff }}_std
        / NULLIF(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__user_coverage(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), interaction_profile AS (
    -- one row per user of the interactions
    SELECT user_id FROM interactions GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT
        user_id,
        CASE WHEN LEAST_IGNORE_NULLS({{ cutoff }}, n_rows) >= 1 THEN 1 ELSE 0 END AS user_coverage_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(user_coverage_at_{{ cutoff }}, 0) AS DOUBLE) AS user_coverage_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_value,
        COUNT(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_n,
        STDDEV_SAMP(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'user_coverage' AS metric, {{ cutoff }} AS k, user_coverage_at_{{ cutoff }}_value AS value,
    user_coverage_at_{{ cutoff }}_n AS n_users, user_coverage_at_{{ cutoff }}_std AS std,
    user_coverage_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * user_coverage_at_{{ cutoff }}_std
        / NULLIF(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_low,
    user_coverage_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * user_coverage_at_{{ cutoff }}_std
        / NULLIF(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__user_coverage(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), interaction_profile AS (
    -- one row per user of the interactions
    SELECT user_id FROM interactions GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT
        user_id,
        CASE WHEN LEAST({{ cutoff }}, COALESCE(n_rows, {{ cutoff }})) >= 1 THEN 1 ELSE 0 END
            AS user_coverage_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(user_coverage_at_{{ cutoff }}, 0) AS FLOAT64) AS user_coverage_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_value,
        COUNT(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_n,
        STDDEV_SAMP(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'user_coverage' AS metric, {{ cutoff }} AS k, user_coverage_at_{{ cutoff }}_value AS value,
    user_coverage_at_{{ cutoff }}_n AS n_users, user_coverage_at_{{ cutoff }}_std AS std,
    user_coverage_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * user_coverage_at_{{ cutoff }}_std
        / NULLIF(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_low,
    user_coverage_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * user_coverage_at_{{ cutoff }}_std
        / NULLIF(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__user_coverage(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), interaction_profile AS (
    -- one row per user of the interactions
    SELECT user_id FROM interactions GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT
        user_id,
        CASE WHEN LEAST({{ cutoff }}, COALESCE(n_rows, {{ cutoff }})) >= 1 THEN 1 ELSE 0 END
            AS user_coverage_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(user_coverage_at_{{ cutoff }}, 0) AS DOUBLE) AS user_coverage_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_value,
        COUNT(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_n,
        STDDEV_SAMP(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'user_coverage' AS metric, {{ cutoff }} AS k, user_coverage_at_{{ cutoff }}_value AS value,
    user_coverage_at_{{ cutoff }}_n AS n_users, user_coverage_at_{{ cutoff }}_std AS std,
    user_coverage_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * user_coverage_at_{{ cutoff }}_std
        / NULLIF(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_low,
    user_coverage_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * user_coverage_at_{{ cutoff }}_std
        / NULLIF(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__user_coverage(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__user_coverage(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__user_coverage(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_rows
    FROM recommendations
    GROUP BY user_id
), interaction_profile AS (
    -- one row per user of the interactions
    SELECT user_id FROM interactions GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, CASE WHEN LEAST({{ cutoff }}, n_rows) >= 1 THEN 1 ELSE 0 END AS user_coverage_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(user_coverage_at_{{ cutoff }}, 0) AS Nullable(Float64)) AS user_coverage_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_value,
        CAST(COUNT(user_coverage_at_{{ cutoff }}) AS Nullable(Int64)) AS user_coverage_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(user_coverage_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(user_coverage_at_{{ cutoff }})
        END AS user_coverage_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'user_coverage' AS metric, {{ cutoff }} AS k, user_coverage_at_{{ cutoff }}_value AS value,
    user_coverage_at_{{ cutoff }}_n AS n_users, user_coverage_at_{{ cutoff }}_std AS std,
    user_coverage_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * user_coverage_at_{{ cutoff }}_std / nullIf(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_low,
    user_coverage_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * user_coverage_at_{{ cutoff }}_std / nullIf(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__user_coverage(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), interaction_profile AS (
    -- one row per user of the interactions
    SELECT user_id FROM interactions GROUP BY user_id
), list_lengths_values AS (
    -- one row per user with list_lengths
    SELECT user_id, CASE WHEN LEAST({{ cutoff }}, n_rows) >= 1 THEN 1 ELSE 0 END AS user_coverage_at_{{ cutoff }}
    FROM recommendation_profile
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(user_coverage_at_{{ cutoff }}, 0) AS DOUBLE PRECISION) AS user_coverage_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN list_lengths_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_value,
        COUNT(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_n,
        STDDEV_SAMP(user_coverage_at_{{ cutoff }}) AS user_coverage_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'user_coverage' AS metric, {{ cutoff }} AS k, user_coverage_at_{{ cutoff }}_value AS value,
    user_coverage_at_{{ cutoff }}_n AS n_users, user_coverage_at_{{ cutoff }}_std AS std,
    user_coverage_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * user_coverage_at_{{ cutoff }}_std / NULLIF(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_low,
    user_coverage_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * user_coverage_at_{{ cutoff }}_std / NULLIF(SQRT(user_coverage_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
