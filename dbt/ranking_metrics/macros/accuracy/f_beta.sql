{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  F-beta
  Formula: (1 + beta²) · P · R / (beta² · P + R) = (1 + beta²) · hits / (beta² · relevant + k),
    per user.
  Source: van Rijsbergen: Information Retrieval (1979), chapter 7.
-#}

{% macro f_beta(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('f_beta', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'f_beta', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'f_beta', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('f_beta', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test f_beta_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.f_beta(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('f_beta', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__f_beta(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('f_beta') }}
{%- endmacro %}

{% macro duckdb__f_beta(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT 2 * count(CASE WHEN rank <= {{ cutoff }} THEN 1 END) / (max(n_relevant) + {{ cutoff }}) AS f_beta_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_value, count(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_n,
        stddev_samp(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'f_beta' AS metric, {{ cutoff }} AS k, f_beta_at_{{ cutoff }}_value AS value, f_beta_at_{{ cutoff }}_n AS n_users,
    f_beta_at_{{ cutoff }}_std AS std,
    f_beta_at_{{ cutoff }}_value - 1.9599639845400536 * f_beta_at_{{ cutoff }}_std / sqrt(f_beta_at_{{ cutoff }}_n)
        AS ci_low,
    f_beta_at_{{ cutoff }}_value + 1.9599639845400536 * f_beta_at_{{ cutoff }}_std / sqrt(f_beta_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__f_beta(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(2 * COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS DOUBLE) / (
            MAX(n_relevant) + {{ cutoff }}
        ) AS f_beta_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_value, COUNT(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_n,
        STDDEV_SAMP(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'f_beta' AS metric, {{ cutoff }} AS k, f_beta_at_{{ cutoff }}_value AS value, f_beta_at_{{ cutoff }}_n AS n_users,
    f_beta_at_{{ cutoff }}_std AS std,
    f_beta_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * f_beta_at_{{ cutoff }}_std
        / NULLIF(SQRT(f_beta_at_{{ cutoff }}_n), 0) AS ci_low,
    f_beta_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * f_beta_at_{{ cutoff }}_std
        / NULLIF(SQRT(f_beta_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__f_beta(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__f_beta(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro trino__f_beta(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__f_beta(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__f_beta(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__f_beta(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__f_beta(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS FLOAT64) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS INT64) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(2 * COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS FLOAT64) / (
            MAX(n_relevant) + {{ cutoff }}
        ) AS f_beta_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_value, COUNT(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_n,
        STDDEV_SAMP(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'f_beta' AS metric, {{ cutoff }} AS k, f_beta_at_{{ cutoff }}_value AS value, f_beta_at_{{ cutoff }}_n AS n_users,
    f_beta_at_{{ cutoff }}_std AS std,
    f_beta_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * f_beta_at_{{ cutoff }}_std
        / NULLIF(SQRT(f_beta_at_{{ cutoff }}_n), 0) AS ci_low,
    f_beta_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * f_beta_at_{{ cutoff }}_std
        / NULLIF(SQRT(f_beta_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__f_beta(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS Nullable(Float64)) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS Nullable(Int64)) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(2 * CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS Nullable(Int64))
            AS Nullable(Float64)) / (
            MAX(n_relevant) + {{ cutoff }}
        ) AS f_beta_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_value,
        CAST(COUNT(f_beta_at_{{ cutoff }}) AS Nullable(Int64)) AS f_beta_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(f_beta_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(f_beta_at_{{ cutoff }})
        END AS f_beta_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'f_beta' AS metric, {{ cutoff }} AS k, f_beta_at_{{ cutoff }}_value AS value, f_beta_at_{{ cutoff }}_n AS n_users,
    f_beta_at_{{ cutoff }}_std AS std,
    f_beta_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * f_beta_at_{{ cutoff }}_std
        / nullIf(SQRT(f_beta_at_{{ cutoff }}_n), 0) AS ci_low,
    f_beta_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * f_beta_at_{{ cutoff }}_std
        / nullIf(SQRT(f_beta_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__f_beta(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE PRECISION) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(2 * COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS DOUBLE PRECISION) / (
            MAX(n_relevant) + {{ cutoff }}
        ) AS f_beta_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_value, COUNT(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_n,
        STDDEV_SAMP(f_beta_at_{{ cutoff }}) AS f_beta_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'f_beta' AS metric, {{ cutoff }} AS k, f_beta_at_{{ cutoff }}_value AS value, f_beta_at_{{ cutoff }}_n AS n_users,
    f_beta_at_{{ cutoff }}_std AS std,
    f_beta_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * f_beta_at_{{ cutoff }}_std
        / NULLIF(SQRT(f_beta_at_{{ cutoff }}_n), 0) AS ci_low,
    f_beta_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * f_beta_at_{{ cutoff }}_std
        / NULLIF(SQRT(f_beta_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
