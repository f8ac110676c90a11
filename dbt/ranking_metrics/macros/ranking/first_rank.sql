{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Rank of the first relevant item
  Formula: rank of the first hit in the top k.
  Undefined: no relevant item in the top k.
  Source: FirstRelevantRank in rankerEval.
-#}

{% macro first_rank(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('first_rank', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'first_rank', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'first_rank', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('first_rank', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test first_rank_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.first_rank(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('first_rank', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__first_rank(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('first_rank') }}
{%- endmacro %}

{% macro duckdb__first_rank(recommendations, interactions, cutoff) -%}
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
    SELECT CAST(min(CASE WHEN rank <= {{ cutoff }} THEN rank END) AS DOUBLE) AS first_rank_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_value,
        count(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_n,
        stddev_samp(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'first_rank' AS metric, {{ cutoff }} AS k, first_rank_at_{{ cutoff }}_value AS value,
    first_rank_at_{{ cutoff }}_n AS n_users, first_rank_at_{{ cutoff }}_std AS std,
    first_rank_at_{{ cutoff }}_value - 1.9599639845400536 * first_rank_at_{{ cutoff }}_std
        / sqrt(first_rank_at_{{ cutoff }}_n) AS ci_low,
    first_rank_at_{{ cutoff }}_value + 1.9599639845400536 * first_rank_at_{{ cutoff }}_std
        / sqrt(first_rank_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__first_rank(recommendations, interactions, cutoff) -%}
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
    SELECT CAST(MIN(CASE WHEN rank <= {{ cutoff }} THEN rank END) AS DOUBLE) AS first_rank_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_value,
        COUNT(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_n,
        STDDEV_SAMP(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'first_rank' AS metric, {{ cutoff }} AS k, first_rank_at_{{ cutoff }}_value AS value,
    first_rank_at_{{ cutoff }}_n AS n_users, first_rank_at_{{ cutoff }}_std AS std,
    first_rank_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * first_rank_at_{{ cutoff }}_std
        / NULLIF(SQRT(first_rank_at_{{ cutoff }}_n), 0) AS ci_low,
    first_rank_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * first_rank_at_{{ cutoff }}_std
        / NULLIF(SQRT(first_rank_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__first_rank(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__first_rank(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro trino__first_rank(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__first_rank(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__first_rank(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__first_rank(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__first_rank(recommendations, interactions, cutoff) -%}
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
    SELECT CAST(MIN(CASE WHEN rank <= {{ cutoff }} THEN rank END) AS FLOAT64) AS first_rank_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_value,
        COUNT(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_n,
        STDDEV_SAMP(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'first_rank' AS metric, {{ cutoff }} AS k, first_rank_at_{{ cutoff }}_value AS value,
    first_rank_at_{{ cutoff }}_n AS n_users, first_rank_at_{{ cutoff }}_std AS std,
    first_rank_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * first_rank_at_{{ cutoff }}_std
        / NULLIF(SQRT(first_rank_at_{{ cutoff }}_n), 0) AS ci_low,
    first_rank_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * first_rank_at_{{ cutoff }}_std
        / NULLIF(SQRT(first_rank_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__first_rank(recommendations, interactions, cutoff) -%}
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
        CAST(MIN(CASE WHEN rank <= {{ cutoff }} THEN rank END) AS Nullable(Float64)) AS first_rank_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_value,
        CAST(COUNT(first_rank_at_{{ cutoff }}) AS Nullable(Int64)) AS first_rank_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(first_rank_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(first_rank_at_{{ cutoff }})
        END AS first_rank_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'first_rank' AS metric, {{ cutoff }} AS k, first_rank_at_{{ cutoff }}_value AS value,
    first_rank_at_{{ cutoff }}_n AS n_users, first_rank_at_{{ cutoff }}_std AS std,
    first_rank_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * first_rank_at_{{ cutoff }}_std / nullIf(SQRT(first_rank_at_{{ cutoff }}_n), 0) AS ci_low,
    first_rank_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * first_rank_at_{{ cutoff }}_std / nullIf(SQRT(first_rank_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__first_rank(recommendations, interactions, cutoff) -%}
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
    SELECT CAST(MIN(CASE WHEN rank <= {{ cutoff }} THEN rank END) AS DOUBLE PRECISION) AS first_rank_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_value,
        COUNT(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_n,
        STDDEV_SAMP(first_rank_at_{{ cutoff }}) AS first_rank_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'first_rank' AS metric, {{ cutoff }} AS k, first_rank_at_{{ cutoff }}_value AS value,
    first_rank_at_{{ cutoff }}_n AS n_users, first_rank_at_{{ cutoff }}_std AS std,
    first_rank_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * first_rank_at_{{ cutoff }}_std
        / NULLIF(SQRT(first_rank_at_{{ cutoff }}_n), 0) AS ci_low,
    first_rank_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * first_rank_at_{{ cutoff }}_std
        / NULLIF(SQRT(first_rank_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
