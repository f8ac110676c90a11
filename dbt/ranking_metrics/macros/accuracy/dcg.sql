{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Discounted cumulative gain
  Formula: sum over the hits in the top k of gain · discount(rank).
  Source: Järvelin, Kekäläinen: Cumulated gain-based evaluation of IR techniques, TOIS 20 (2002).
-#}

{% macro dcg(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('dcg', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'dcg', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'dcg', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('dcg', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test dcg_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.dcg(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('dcg', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__dcg(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('dcg') }}
{%- endmacro %}

{% macro duckdb__dcg(recommendations, interactions, cutoff) -%}
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
            THEN sum(CASE WHEN rank <= {{ cutoff }} THEN 1 / nullif(log2(rank + 1), 0) END)
            ELSE 0
        END AS dcg_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE dcg_at_{{ cutoff }} END AS dcg_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_value, count(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_n,
        stddev_samp(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'dcg' AS metric, {{ cutoff }} AS k, dcg_at_{{ cutoff }}_value AS value, dcg_at_{{ cutoff }}_n AS n_users,
    dcg_at_{{ cutoff }}_std AS std,
    dcg_at_{{ cutoff }}_value - 1.9599639845400536 * dcg_at_{{ cutoff }}_std / sqrt(dcg_at_{{ cutoff }}_n) AS ci_low,
    dcg_at_{{ cutoff }}_value + 1.9599639845400536 * dcg_at_{{ cutoff }}_std / sqrt(dcg_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__dcg(recommendations, interactions, cutoff) -%}
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
            THEN SUM(CASE WHEN rank <= {{ cutoff }} THEN CAST(1 AS DOUBLE)
                / NULLIF(LOG(2, rank + 1), 0) END)
            ELSE 0
        END AS dcg_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE dcg_at_{{ cutoff }} END AS dcg_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_value, COUNT(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_n,
        STDDEV_SAMP(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'dcg' AS metric, {{ cutoff }} AS k, dcg_at_{{ cutoff }}_value AS value, dcg_at_{{ cutoff }}_n AS n_users,
    dcg_at_{{ cutoff }}_std AS std,
    dcg_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * dcg_at_{{ cutoff }}_std
        / NULLIF(SQRT(dcg_at_{{ cutoff }}_n), 0) AS ci_low,
    dcg_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * dcg_at_{{ cutoff }}_std
        / NULLIF(SQRT(dcg_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__dcg(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__dcg(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro trino__dcg(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__dcg(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__dcg(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__dcg(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__dcg(recommendations, interactions, cutoff) -%}
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
            THEN SUM(CASE WHEN rank <= {{ cutoff }} THEN CAST(1 AS FLOAT64)
                / NULLIF(LOG(rank + 1, 2), 0) END)
            ELSE 0
        END AS dcg_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE dcg_at_{{ cutoff }} END AS dcg_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_value, COUNT(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_n,
        STDDEV_SAMP(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'dcg' AS metric, {{ cutoff }} AS k, dcg_at_{{ cutoff }}_value AS value, dcg_at_{{ cutoff }}_n AS n_users,
    dcg_at_{{ cutoff }}_std AS std,
    dcg_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * dcg_at_{{ cutoff }}_std
        / NULLIF(SQRT(dcg_at_{{ cutoff }}_n), 0) AS ci_low,
    dcg_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * dcg_at_{{ cutoff }}_std
        / NULLIF(SQRT(dcg_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__dcg(recommendations, interactions, cutoff) -%}
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
            THEN SUM(
                CASE
                    WHEN rank <= {{ cutoff }} THEN CAST(1 AS Nullable(Float64)) / nullIf(log2(rank + 1), 0)
                END
            )
            ELSE 0
        END AS dcg_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE dcg_at_{{ cutoff }} END AS dcg_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_value,
        CAST(COUNT(dcg_at_{{ cutoff }}) AS Nullable(Int64)) AS dcg_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(dcg_at_{{ cutoff }}) AS Nullable(Int64)) > 1 THEN stddevSampStable(dcg_at_{{ cutoff }})
        END AS dcg_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'dcg' AS metric, {{ cutoff }} AS k, dcg_at_{{ cutoff }}_value AS value, dcg_at_{{ cutoff }}_n AS n_users,
    dcg_at_{{ cutoff }}_std AS std,
    dcg_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * dcg_at_{{ cutoff }}_std
        / nullIf(SQRT(dcg_at_{{ cutoff }}_n), 0) AS ci_low,
    dcg_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * dcg_at_{{ cutoff }}_std
        / nullIf(SQRT(dcg_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__dcg(recommendations, interactions, cutoff) -%}
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
            THEN SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CAST(1 AS DOUBLE PRECISION) / NULLIF(
                        (
                            LN(NULLIF(CAST(rank + 1 AS DOUBLE PRECISION), 0))
                                / LN(CAST(2 AS DOUBLE PRECISION))
                        ),
                        0
                    )
                END
            )
            ELSE 0
        END AS dcg_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE dcg_at_{{ cutoff }} END AS dcg_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_value, COUNT(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_n,
        STDDEV_SAMP(dcg_at_{{ cutoff }}) AS dcg_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'dcg' AS metric, {{ cutoff }} AS k, dcg_at_{{ cutoff }}_value AS value, dcg_at_{{ cutoff }}_n AS n_users,
    dcg_at_{{ cutoff }}_std AS std,
    dcg_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * dcg_at_{{ cutoff }}_std
        / NULLIF(SQRT(dcg_at_{{ cutoff }}_n), 0) AS ci_low,
    dcg_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * dcg_at_{{ cutoff }}_std
        / NULLIF(SQRT(dcg_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
