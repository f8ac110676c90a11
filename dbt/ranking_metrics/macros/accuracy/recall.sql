{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Recall
  Formula: hits in the top k / divisor.
  Source: Manning, Raghavan, Schütze: Introduction to Information Retrieval (2008), section 8.4.
-#}

{% macro recall(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('recall', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'recall', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'recall', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('recall', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test recall_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.recall(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('recall', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__recall(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('recall') }}
{%- endmacro %}

{% macro duckdb__recall(recommendations, interactions, cutoff) -%}
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
    SELECT count(CASE WHEN rank <= {{ cutoff }} THEN 1 END) / max(n_relevant) AS recall_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_value, count(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_n,
        stddev_samp(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'recall' AS metric, {{ cutoff }} AS k, recall_at_{{ cutoff }}_value AS value, recall_at_{{ cutoff }}_n AS n_users,
    recall_at_{{ cutoff }}_std AS std,
    recall_at_{{ cutoff }}_value - 1.9599639845400536 * recall_at_{{ cutoff }}_std / sqrt(recall_at_{{ cutoff }}_n)
        AS ci_low,
    recall_at_{{ cutoff }}_value + 1.9599639845400536 * recall_at_{{ cutoff }}_std / sqrt(recall_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__recall(recommendations, interactions, cutoff) -%}
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
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS DOUBLE) / MAX(n_relevant) AS recall_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_value, COUNT(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_n,
        STDDEV_SAMP(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'recall' AS metric, {{ cutoff }} AS k, recall_at_{{ cutoff }}_value AS value, recall_at_{{ cutoff }}_n AS n_users,
    recall_at_{{ cutoff }}_std AS std,
    recall_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * recall_at_{{ cutoff }}_std
        / NULLIF(SQRT(recall_at_{{ cutoff }}_n), 0) AS ci_low,
    recall_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * recall_at_{{ cutoff }}_std
        / NULLIF(SQRT(recall_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__recall(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__recall(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro trino__recall(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__recall(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__recall(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__recall(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__recall(recommendations, interactions, cutoff) -%}
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
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS FLOAT64) / MAX(n_relevant)
            AS recall_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_value, COUNT(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_n,
        STDDEV_SAMP(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'recall' AS metric, {{ cutoff }} AS k, recall_at_{{ cutoff }}_value AS value, recall_at_{{ cutoff }}_n AS n_users,
    recall_at_{{ cutoff }}_std AS std,
    recall_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * recall_at_{{ cutoff }}_std
        / NULLIF(SQRT(recall_at_{{ cutoff }}_n), 0) AS ci_low,
    recall_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * recall_at_{{ cutoff }}_std
        / NULLIF(SQRT(recall_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__recall(recommendations, interactions, cutoff) -%}
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
        CAST(CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS Nullable(Int64)) AS Nullable(Float64))
            / MAX(n_relevant) AS recall_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_value,
        CAST(COUNT(recall_at_{{ cutoff }}) AS Nullable(Int64)) AS recall_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(recall_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(recall_at_{{ cutoff }})
        END AS recall_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'recall' AS metric, {{ cutoff }} AS k, recall_at_{{ cutoff }}_value AS value, recall_at_{{ cutoff }}_n AS n_users,
    recall_at_{{ cutoff }}_std AS std,
    recall_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * recall_at_{{ cutoff }}_std
        / nullIf(SQRT(recall_at_{{ cutoff }}_n), 0) AS ci_low,
    recall_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * recall_at_{{ cutoff }}_std
        / nullIf(SQRT(recall_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__recall(recommendations, interactions, cutoff) -%}
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
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS DOUBLE PRECISION) / MAX(n_relevant)
            AS recall_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_value, COUNT(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_n,
        STDDEV_SAMP(recall_at_{{ cutoff }}) AS recall_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'recall' AS metric, {{ cutoff }} AS k, recall_at_{{ cutoff }}_value AS value, recall_at_{{ cutoff }}_n AS n_users,
    recall_at_{{ cutoff }}_std AS std,
    recall_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * recall_at_{{ cutoff }}_std
        / NULLIF(SQRT(recall_at_{{ cutoff }}_n), 0) AS ci_low,
    recall_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * recall_at_{{ cutoff }}_std
        / NULLIF(SQRT(recall_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
