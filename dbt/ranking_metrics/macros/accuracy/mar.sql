{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Mean average recall
  Formula: sum over the hits in the top k of (hits so far / relevant items) / divisor.
  Source: rs_metrics 0.2 documentation.
-#}

{% macro mar(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('mar', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'mar', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'mar', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('mar', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test mar_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.mar(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('mar', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__mar(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('mar') }}
{%- endmacro %}

{% macro duckdb__mar(recommendations, interactions, cutoff) -%}
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
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, rank, row_number() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number
    FROM hit_ranks
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        coalesce(sum(CASE WHEN rank <= {{ cutoff }} THEN hit_number END) / max(n_relevant) / {{ cutoff }}, 0)
            AS mar_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_value, count(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_n,
        stddev_samp(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mar' AS metric, {{ cutoff }} AS k, mar_at_{{ cutoff }}_value AS value, mar_at_{{ cutoff }}_n AS n_users,
    mar_at_{{ cutoff }}_std AS std,
    mar_at_{{ cutoff }}_value - 1.9599639845400536 * mar_at_{{ cutoff }}_std / sqrt(mar_at_{{ cutoff }}_n) AS ci_low,
    mar_at_{{ cutoff }}_value + 1.9599639845400536 * mar_at_{{ cutoff }}_std / sqrt(mar_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__mar(recommendations, interactions, cutoff) -%}
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
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank NULLS LAST) AS hit_number
    FROM hit_ranks
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN hit_number END) AS DOUBLE) / MAX(n_relevant)
                / {{ cutoff }},
            0
        ) AS mar_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_value, COUNT(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_n,
        STDDEV_SAMP(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mar' AS metric, {{ cutoff }} AS k, mar_at_{{ cutoff }}_value AS value, mar_at_{{ cutoff }}_n AS n_users,
    mar_at_{{ cutoff }}_std AS std,
    mar_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * mar_at_{{ cutoff }}_std
        / NULLIF(SQRT(mar_at_{{ cutoff }}_n), 0) AS ci_low,
    mar_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * mar_at_{{ cutoff }}_std
        / NULLIF(SQRT(mar_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__mar(recommendations, interactions, cutoff) -%}
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
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, rank, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number
    FROM hit_ranks
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN hit_number END) AS DOUBLE) / MAX(n_relevant)
                / {{ cutoff }},
            0
        ) AS mar_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_value, COUNT(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_n,
        STDDEV_SAMP(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mar' AS metric, {{ cutoff }} AS k, mar_at_{{ cutoff }}_value AS value, mar_at_{{ cutoff }}_n AS n_users,
    mar_at_{{ cutoff }}_std AS std,
    mar_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * mar_at_{{ cutoff }}_std
        / NULLIF(SQRT(mar_at_{{ cutoff }}_n), 0) AS ci_low,
    mar_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * mar_at_{{ cutoff }}_std
        / NULLIF(SQRT(mar_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__mar(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__mar(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__mar(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__mar(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__mar(recommendations, interactions, cutoff) -%}
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
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS INT64) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, rank, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number
    FROM hit_ranks
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN hit_number END) AS FLOAT64) / MAX(n_relevant)
                / {{ cutoff }},
            0
        ) AS mar_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_value, COUNT(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_n,
        STDDEV_SAMP(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mar' AS metric, {{ cutoff }} AS k, mar_at_{{ cutoff }}_value AS value, mar_at_{{ cutoff }}_n AS n_users,
    mar_at_{{ cutoff }}_std AS std,
    mar_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * mar_at_{{ cutoff }}_std
        / NULLIF(SQRT(mar_at_{{ cutoff }}_n), 0) AS ci_low,
    mar_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * mar_at_{{ cutoff }}_std
        / NULLIF(SQRT(mar_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__mar(recommendations, interactions, cutoff) -%}
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
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS Nullable(Int64)) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank,
        CAST(ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS Nullable(Int64))
            AS hit_number
    FROM hit_ranks
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN hit_number END) AS Nullable(Float64))
                / MAX(n_relevant) / {{ cutoff }},
            0
        ) AS mar_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_value,
        CAST(COUNT(mar_at_{{ cutoff }}) AS Nullable(Int64)) AS mar_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(mar_at_{{ cutoff }}) AS Nullable(Int64)) > 1 THEN stddevSampStable(mar_at_{{ cutoff }})
        END AS mar_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mar' AS metric, {{ cutoff }} AS k, mar_at_{{ cutoff }}_value AS value, mar_at_{{ cutoff }}_n AS n_users,
    mar_at_{{ cutoff }}_std AS std,
    mar_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * mar_at_{{ cutoff }}_std
        / nullIf(SQRT(mar_at_{{ cutoff }}_n), 0) AS ci_low,
    mar_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * mar_at_{{ cutoff }}_std
        / nullIf(SQRT(mar_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__mar(recommendations, interactions, cutoff) -%}
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
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, rank, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number
    FROM hit_ranks
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN hit_number END) AS DOUBLE PRECISION)
                / MAX(n_relevant) / {{ cutoff }},
            0
        ) AS mar_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_value, COUNT(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_n,
        STDDEV_SAMP(mar_at_{{ cutoff }}) AS mar_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mar' AS metric, {{ cutoff }} AS k, mar_at_{{ cutoff }}_value AS value, mar_at_{{ cutoff }}_n AS n_users,
    mar_at_{{ cutoff }}_std AS std,
    mar_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * mar_at_{{ cutoff }}_std
        / NULLIF(SQRT(mar_at_{{ cutoff }}_n), 0) AS ci_low,
    mar_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * mar_at_{{ cutoff }}_std
        / NULLIF(SQRT(mar_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
