{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Precision
  Formula: hits in the top k / divisor.
  Source: Manning, Raghavan, Schütze: Introduction to Information Retrieval (2008), section 8.4.
-#}

{% macro precision(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('precision', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'precision', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'precision', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('precision', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test precision_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.precision(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('precision', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('precision') }}
{%- endmacro %}

{% macro duckdb__precision(recommendations, interactions, cutoff) -%}
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
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT count(CASE WHEN rank <= {{ cutoff }} THEN 1 END) / {{ cutoff }} AS precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_value,
        count(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_n,
        stddev_samp(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'precision' AS metric, {{ cutoff }} AS k, precision_at_{{ cutoff }}_value AS value,
    precision_at_{{ cutoff }}_n AS n_users, precision_at_{{ cutoff }}_std AS std,
    precision_at_{{ cutoff }}_value - 1.9599639845400536 * precision_at_{{ cutoff }}_std / sqrt(precision_at_{{ cutoff }}_n)
        AS ci_low,
    precision_at_{{ cutoff }}_value + 1.9599639845400536 * precision_at_{{ cutoff }}_std / sqrt(precision_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__precision(recommendations, interactions, cutoff) -%}
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
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS DOUBLE) / {{ cutoff }} AS precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_value,
        COUNT(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'precision' AS metric, {{ cutoff }} AS k, precision_at_{{ cutoff }}_value AS value,
    precision_at_{{ cutoff }}_n AS n_users, precision_at_{{ cutoff }}_std AS std,
    precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * precision_at_{{ cutoff }}_std
        / NULLIF(SQRT(precision_at_{{ cutoff }}_n), 0) AS ci_low,
    precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * precision_at_{{ cutoff }}_std
        / NULLIF(SQRT(precision_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__precision(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro trino__precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__precision(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__precision(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__precision(recommendations, interactions, cutoff) -%}
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
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS FLOAT64) / {{ cutoff }} AS precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_value,
        COUNT(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'precision' AS metric, {{ cutoff }} AS k, precision_at_{{ cutoff }}_value AS value,
    precision_at_{{ cutoff }}_n AS n_users, precision_at_{{ cutoff }}_std AS std,
    precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * precision_at_{{ cutoff }}_std
        / NULLIF(SQRT(precision_at_{{ cutoff }}_n), 0) AS ci_low,
    precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * precision_at_{{ cutoff }}_std
        / NULLIF(SQRT(precision_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__precision(recommendations, interactions, cutoff) -%}
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
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS Nullable(Int64)) AS Nullable(Float64))
            / {{ cutoff }} AS precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_value,
        CAST(COUNT(precision_at_{{ cutoff }}) AS Nullable(Int64)) AS precision_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(precision_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(precision_at_{{ cutoff }})
        END AS precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'precision' AS metric, {{ cutoff }} AS k, precision_at_{{ cutoff }}_value AS value,
    precision_at_{{ cutoff }}_n AS n_users, precision_at_{{ cutoff }}_std AS std,
    precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * precision_at_{{ cutoff }}_std
        / nullIf(SQRT(precision_at_{{ cutoff }}_n), 0) AS ci_low,
    precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * precision_at_{{ cutoff }}_std
        / nullIf(SQRT(precision_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__precision(recommendations, interactions, cutoff) -%}
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
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS DOUBLE PRECISION) / {{ cutoff }}
            AS precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_value,
        COUNT(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(precision_at_{{ cutoff }}) AS precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'precision' AS metric, {{ cutoff }} AS k, precision_at_{{ cutoff }}_value AS value,
    precision_at_{{ cutoff }}_n AS n_users, precision_at_{{ cutoff }}_std AS std,
    precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * precision_at_{{ cutoff }}_std
        / NULLIF(SQRT(precision_at_{{ cutoff }}_n), 0) AS ci_low,
    precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * precision_at_{{ cutoff }}_std
        / NULLIF(SQRT(precision_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
