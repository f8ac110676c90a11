{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Set average precision
  Formula: precision · recall of the top k: squared number of hits / (items in the top k ·
    relevant items).
  Source: set_map in trec_eval.
-#}

{% macro set_map(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('set_map', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'set_map', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'set_map', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('set_map', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test set_map_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.set_map(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('set_map', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__set_map(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('set_map') }}
{%- endmacro %}

{% macro duckdb__set_map(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, count(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN recommendation_profile USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(count(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS DOUBLE) / least({{ cutoff }}, max(n_recommended))
            * count(CASE WHEN rank <= {{ cutoff }} THEN 1 END) / max(n_relevant) AS set_map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_value, count(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_n,
        stddev_samp(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'set_map' AS metric, {{ cutoff }} AS k, set_map_at_{{ cutoff }}_value AS value, set_map_at_{{ cutoff }}_n AS n_users,
    set_map_at_{{ cutoff }}_std AS std,
    set_map_at_{{ cutoff }}_value - 1.9599639845400536 * set_map_at_{{ cutoff }}_std / sqrt(set_map_at_{{ cutoff }}_n)
        AS ci_low,
    set_map_at_{{ cutoff }}_value + 1.9599639845400536 * set_map_at_{{ cutoff }}_std / sqrt(set_map_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__set_map(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN recommendation_profile USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS DOUBLE) / LEAST({{ cutoff }}, MAX(n_recommended))
            * COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) / MAX(n_relevant) AS set_map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_value, COUNT(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_n,
        STDDEV_SAMP(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'set_map' AS metric, {{ cutoff }} AS k, set_map_at_{{ cutoff }}_value AS value, set_map_at_{{ cutoff }}_n AS n_users,
    set_map_at_{{ cutoff }}_std AS std,
    set_map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * set_map_at_{{ cutoff }}_std
        / NULLIF(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_low,
    set_map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * set_map_at_{{ cutoff }}_std
        / NULLIF(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__set_map(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN recommendation_profile USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS DOUBLE)
            / LEAST_IGNORE_NULLS({{ cutoff }}, MAX(n_recommended))
            * COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) / MAX(n_relevant) AS set_map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_value, COUNT(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_n,
        STDDEV_SAMP(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'set_map' AS metric, {{ cutoff }} AS k, set_map_at_{{ cutoff }}_value AS value, set_map_at_{{ cutoff }}_n AS n_users,
    set_map_at_{{ cutoff }}_std AS std,
    set_map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * set_map_at_{{ cutoff }}_std
        / NULLIF(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_low,
    set_map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * set_map_at_{{ cutoff }}_std
        / NULLIF(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__set_map(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS FLOAT64) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS INT64) AS rank, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN recommendation_profile USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS FLOAT64)
            / LEAST({{ cutoff }}, COALESCE(MAX(n_recommended), {{ cutoff }}))
            * COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) / MAX(n_relevant) AS set_map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_value, COUNT(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_n,
        STDDEV_SAMP(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'set_map' AS metric, {{ cutoff }} AS k, set_map_at_{{ cutoff }}_value AS value, set_map_at_{{ cutoff }}_n AS n_users,
    set_map_at_{{ cutoff }}_std AS std,
    set_map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * set_map_at_{{ cutoff }}_std
        / NULLIF(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_low,
    set_map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * set_map_at_{{ cutoff }}_std
        / NULLIF(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__set_map(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN recommendation_profile USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS DOUBLE)
            / LEAST({{ cutoff }}, COALESCE(MAX(n_recommended), {{ cutoff }}))
            * COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) / MAX(n_relevant) AS set_map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_value, COUNT(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_n,
        STDDEV_SAMP(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'set_map' AS metric, {{ cutoff }} AS k, set_map_at_{{ cutoff }}_value AS value, set_map_at_{{ cutoff }}_n AS n_users,
    set_map_at_{{ cutoff }}_std AS std,
    set_map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * set_map_at_{{ cutoff }}_std
        / NULLIF(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_low,
    set_map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * set_map_at_{{ cutoff }}_std
        / NULLIF(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__set_map(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__set_map(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__set_map(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_rows
    FROM recommendations
    GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS Nullable(Float64)) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, CAST(rank AS Nullable(Int64)) AS rank,
        recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN recommendation_profile USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS Nullable(Int64)) AS Nullable(Float64))
            / LEAST({{ cutoff }}, MAX(n_recommended))
            * CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS Nullable(Int64)) / MAX(n_relevant)
            AS set_map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_value,
        CAST(COUNT(set_map_at_{{ cutoff }}) AS Nullable(Int64)) AS set_map_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(set_map_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(set_map_at_{{ cutoff }})
        END AS set_map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'set_map' AS metric, {{ cutoff }} AS k, set_map_at_{{ cutoff }}_value AS value, set_map_at_{{ cutoff }}_n AS n_users,
    set_map_at_{{ cutoff }}_std AS std,
    set_map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * set_map_at_{{ cutoff }}_std
        / nullIf(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_low,
    set_map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * set_map_at_{{ cutoff }}_std
        / nullIf(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__set_map(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE PRECISION) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank, recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN recommendation_profile USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS DOUBLE PRECISION)
            / LEAST({{ cutoff }}, MAX(n_recommended)) * COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
            / MAX(n_relevant) AS set_map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_value, COUNT(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_n,
        STDDEV_SAMP(set_map_at_{{ cutoff }}) AS set_map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'set_map' AS metric, {{ cutoff }} AS k, set_map_at_{{ cutoff }}_value AS value, set_map_at_{{ cutoff }}_n AS n_users,
    set_map_at_{{ cutoff }}_std AS std,
    set_map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * set_map_at_{{ cutoff }}_std
        / NULLIF(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_low,
    set_map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * set_map_at_{{ cutoff }}_std
        / NULLIF(SQRT(set_map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
