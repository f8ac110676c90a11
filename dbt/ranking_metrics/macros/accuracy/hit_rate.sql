{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Hit rate
  Formula: 1 if any of the top k items is relevant, else 0.
  Source: Success@k in trec_eval; HitRate in RePlay, RecTools, RecBole.
-#}

{% macro hit_rate(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('hit_rate', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'hit_rate', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'hit_rate', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('hit_rate', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test hit_rate_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.hit_rate(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('hit_rate', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__hit_rate(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('hit_rate') }}
{%- endmacro %}

{% macro duckdb__hit_rate(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, CASE WHEN min(rank) <= {{ cutoff }} THEN 1 ELSE 0 END AS hit_rate_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(coalesce(hit_rate_at_{{ cutoff }}, 0) AS DOUBLE) AS hit_rate_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_value,
        count(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_n,
        stddev_samp(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hit_rate' AS metric, {{ cutoff }} AS k, hit_rate_at_{{ cutoff }}_value AS value, hit_rate_at_{{ cutoff }}_n AS n_users,
    hit_rate_at_{{ cutoff }}_std AS std,
    hit_rate_at_{{ cutoff }}_value - 1.9599639845400536 * hit_rate_at_{{ cutoff }}_std / sqrt(hit_rate_at_{{ cutoff }}_n)
        AS ci_low,
    hit_rate_at_{{ cutoff }}_value + 1.9599639845400536 * hit_rate_at_{{ cutoff }}_std / sqrt(hit_rate_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__hit_rate(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, CASE WHEN MIN(rank) <= {{ cutoff }} THEN 1 ELSE 0 END AS hit_rate_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(hit_rate_at_{{ cutoff }}, 0) AS DOUBLE) AS hit_rate_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_value,
        COUNT(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_n,
        STDDEV_SAMP(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hit_rate' AS metric, {{ cutoff }} AS k, hit_rate_at_{{ cutoff }}_value AS value, hit_rate_at_{{ cutoff }}_n AS n_users,
    hit_rate_at_{{ cutoff }}_std AS std,
    hit_rate_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * hit_rate_at_{{ cutoff }}_std
        / NULLIF(SQRT(hit_rate_at_{{ cutoff }}_n), 0) AS ci_low,
    hit_rate_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * hit_rate_at_{{ cutoff }}_std
        / NULLIF(SQRT(hit_rate_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__hit_rate(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__hit_rate(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro trino__hit_rate(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__hit_rate(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__hit_rate(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__hit_rate(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__hit_rate(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, CASE WHEN MIN(rank) <= {{ cutoff }} THEN 1 ELSE 0 END AS hit_rate_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(hit_rate_at_{{ cutoff }}, 0) AS FLOAT64) AS hit_rate_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_value,
        COUNT(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_n,
        STDDEV_SAMP(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hit_rate' AS metric, {{ cutoff }} AS k, hit_rate_at_{{ cutoff }}_value AS value, hit_rate_at_{{ cutoff }}_n AS n_users,
    hit_rate_at_{{ cutoff }}_std AS std,
    hit_rate_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * hit_rate_at_{{ cutoff }}_std
        / NULLIF(SQRT(hit_rate_at_{{ cutoff }}_n), 0) AS ci_low,
    hit_rate_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * hit_rate_at_{{ cutoff }}_std
        / NULLIF(SQRT(hit_rate_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__hit_rate(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, CASE WHEN MIN(rank) <= {{ cutoff }} THEN 1 ELSE 0 END AS hit_rate_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(hit_rate_at_{{ cutoff }}, 0) AS Nullable(Float64)) AS hit_rate_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_value,
        CAST(COUNT(hit_rate_at_{{ cutoff }}) AS Nullable(Int64)) AS hit_rate_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(hit_rate_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(hit_rate_at_{{ cutoff }})
        END AS hit_rate_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hit_rate' AS metric, {{ cutoff }} AS k, hit_rate_at_{{ cutoff }}_value AS value, hit_rate_at_{{ cutoff }}_n AS n_users,
    hit_rate_at_{{ cutoff }}_std AS std,
    hit_rate_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * hit_rate_at_{{ cutoff }}_std
        / nullIf(SQRT(hit_rate_at_{{ cutoff }}_n), 0) AS ci_low,
    hit_rate_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * hit_rate_at_{{ cutoff }}_std
        / nullIf(SQRT(hit_rate_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__hit_rate(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, CASE WHEN MIN(rank) <= {{ cutoff }} THEN 1 ELSE 0 END AS hit_rate_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(COALESCE(hit_rate_at_{{ cutoff }}, 0) AS DOUBLE PRECISION) AS hit_rate_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_value,
        COUNT(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_n,
        STDDEV_SAMP(hit_rate_at_{{ cutoff }}) AS hit_rate_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hit_rate' AS metric, {{ cutoff }} AS k, hit_rate_at_{{ cutoff }}_value AS value, hit_rate_at_{{ cutoff }}_n AS n_users,
    hit_rate_at_{{ cutoff }}_std AS std,
    hit_rate_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * hit_rate_at_{{ cutoff }}_std
        / NULLIF(SQRT(hit_rate_at_{{ cutoff }}_n), 0) AS ci_low,
    hit_rate_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * hit_rate_at_{{ cutoff }}_std
        / NULLIF(SQRT(hit_rate_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
