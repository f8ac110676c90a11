{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Mean reciprocal rank
  Formula: 1 / rank of the first hit in the top k.
  Source: Voorhees: The TREC-8 question answering track report (1999).
-#}

{% macro mrr(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('mrr', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'mrr', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'mrr', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('mrr', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test mrr_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.mrr(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('mrr', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__mrr(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('mrr') }}
{%- endmacro %}

{% macro duckdb__mrr(recommendations, interactions, cutoff) -%}
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
            THEN 1 / nullif(min(CASE WHEN rank <= {{ cutoff }} THEN rank END), 0)
            ELSE 0
        END AS mrr_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE mrr_at_{{ cutoff }} END AS mrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_value, count(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_n,
        stddev_samp(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mrr' AS metric, {{ cutoff }} AS k, mrr_at_{{ cutoff }}_value AS value, mrr_at_{{ cutoff }}_n AS n_users,
    mrr_at_{{ cutoff }}_std AS std,
    mrr_at_{{ cutoff }}_value - 1.9599639845400536 * mrr_at_{{ cutoff }}_std / sqrt(mrr_at_{{ cutoff }}_n) AS ci_low,
    mrr_at_{{ cutoff }}_value + 1.9599639845400536 * mrr_at_{{ cutoff }}_std / sqrt(mrr_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__mrr(recommendations, interactions, cutoff) -%}
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
            THEN CAST(1 AS DOUBLE) / NULLIF(MIN(CASE WHEN rank <= {{ cutoff }} THEN rank END), 0)
            ELSE 0
        END AS mrr_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE mrr_at_{{ cutoff }} END AS mrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_value, COUNT(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_n,
        STDDEV_SAMP(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mrr' AS metric, {{ cutoff }} AS k, mrr_at_{{ cutoff }}_value AS value, mrr_at_{{ cutoff }}_n AS n_users,
    mrr_at_{{ cutoff }}_std AS std,
    mrr_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * mrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(mrr_at_{{ cutoff }}_n), 0) AS ci_low,
    mrr_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * mrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(mrr_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__mrr(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__mrr(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro trino__mrr(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__mrr(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__mrr(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__mrr(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__mrr(recommendations, interactions, cutoff) -%}
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
            THEN CAST(1 AS FLOAT64) / NULLIF(MIN(CASE WHEN rank <= {{ cutoff }} THEN rank END), 0)
            ELSE 0
        END AS mrr_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE mrr_at_{{ cutoff }} END AS mrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_value, COUNT(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_n,
        STDDEV_SAMP(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mrr' AS metric, {{ cutoff }} AS k, mrr_at_{{ cutoff }}_value AS value, mrr_at_{{ cutoff }}_n AS n_users,
    mrr_at_{{ cutoff }}_std AS std,
    mrr_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * mrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(mrr_at_{{ cutoff }}_n), 0) AS ci_low,
    mrr_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * mrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(mrr_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__mrr(recommendations, interactions, cutoff) -%}
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
            THEN CAST(1 AS Nullable(Float64)) / nullIf(MIN(CASE WHEN rank <= {{ cutoff }} THEN rank END), 0)
            ELSE 0
        END AS mrr_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE mrr_at_{{ cutoff }} END AS mrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_value,
        CAST(COUNT(mrr_at_{{ cutoff }}) AS Nullable(Int64)) AS mrr_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(mrr_at_{{ cutoff }}) AS Nullable(Int64)) > 1 THEN stddevSampStable(mrr_at_{{ cutoff }})
        END AS mrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mrr' AS metric, {{ cutoff }} AS k, mrr_at_{{ cutoff }}_value AS value, mrr_at_{{ cutoff }}_n AS n_users,
    mrr_at_{{ cutoff }}_std AS std,
    mrr_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * mrr_at_{{ cutoff }}_std
        / nullIf(SQRT(mrr_at_{{ cutoff }}_n), 0) AS ci_low,
    mrr_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * mrr_at_{{ cutoff }}_std
        / nullIf(SQRT(mrr_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__mrr(recommendations, interactions, cutoff) -%}
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
            THEN CAST(1 AS DOUBLE PRECISION) / NULLIF(MIN(CASE WHEN rank <= {{ cutoff }} THEN rank END), 0)
            ELSE 0
        END AS mrr_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE mrr_at_{{ cutoff }} END AS mrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_value, COUNT(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_n,
        STDDEV_SAMP(mrr_at_{{ cutoff }}) AS mrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mrr' AS metric, {{ cutoff }} AS k, mrr_at_{{ cutoff }}_value AS value, mrr_at_{{ cutoff }}_n AS n_users,
    mrr_at_{{ cutoff }}_std AS std,
    mrr_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * mrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(mrr_at_{{ cutoff }}_n), 0) AS ci_low,
    mrr_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * mrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(mrr_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
