{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Judged items
  Formula: number of items in the top k that are judged (have a row in the interactions), relevant
    or not / divisor; 0 for an empty list.
  Source: Judged@k in ir_measures.
-#}

{% macro judged(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('judged', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'judged', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'judged', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('judged', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test judged_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.judged(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('judged', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__judged(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('judged') }}
{%- endmacro %}

{% macro duckdb__judged(recommendations, interactions, cutoff) -%}
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
), judgements AS (
    -- one row per recommended item
    SELECT
        ranked.user_id, CAST(ranked.rank AS BIGINT) AS rank,
        CASE WHEN judged_items.item_id IS NULL THEN 0 ELSE 1 END AS is_judged,
        recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN recommendation_profile ON recommendation_profile.user_id = ranked.user_id
    LEFT JOIN interactions AS judged_items
        ON judged_items.user_id = ranked.user_id AND judged_items.item_id = ranked.item_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        coalesce(
            sum(CASE WHEN rank <= {{ cutoff }} THEN is_judged END) / least({{ cutoff }}, max(n_recommended)), 0
        ) AS judged_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_value, count(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_n,
        stddev_samp(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'judged' AS metric, {{ cutoff }} AS k, judged_at_{{ cutoff }}_value AS value, judged_at_{{ cutoff }}_n AS n_users,
    judged_at_{{ cutoff }}_std AS std,
    judged_at_{{ cutoff }}_value - 1.9599639845400536 * judged_at_{{ cutoff }}_std / sqrt(judged_at_{{ cutoff }}_n)
        AS ci_low,
    judged_at_{{ cutoff }}_value + 1.9599639845400536 * judged_at_{{ cutoff }}_std / sqrt(judged_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__judged(recommendations, interactions, cutoff) -%}
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
), judgements AS (
    -- one row per recommended item
    SELECT
        ranked.user_id, CAST(ranked.rank AS BIGINT) AS rank,
        CASE WHEN judged_items.item_id IS NULL THEN 0 ELSE 1 END AS is_judged,
        recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN recommendation_profile ON recommendation_profile.user_id = ranked.user_id
    LEFT JOIN interactions AS judged_items
        ON judged_items.user_id = ranked.user_id AND judged_items.item_id = ranked.item_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_judged END) AS DOUBLE)
                / LEAST({{ cutoff }}, MAX(n_recommended)),
            0
        ) AS judged_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_value, COUNT(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_n,
        STDDEV_SAMP(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'judged' AS metric, {{ cutoff }} AS k, judged_at_{{ cutoff }}_value AS value, judged_at_{{ cutoff }}_n AS n_users,
    judged_at_{{ cutoff }}_std AS std,
    judged_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * judged_at_{{ cutoff }}_std
        / NULLIF(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_low,
    judged_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * judged_at_{{ cutoff }}_std
        / NULLIF(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__judged(recommendations, interactions, cutoff) -%}
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
), judgements AS (
    -- one row per recommended item
    SELECT
        ranked.user_id, CAST(ranked.rank AS BIGINT) AS rank,
        CASE WHEN judged_items.item_id IS NULL THEN 0 ELSE 1 END AS is_judged,
        recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN recommendation_profile ON recommendation_profile.user_id = ranked.user_id
    LEFT JOIN interactions AS judged_items
        ON judged_items.user_id = ranked.user_id AND judged_items.item_id = ranked.item_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_judged END) AS DOUBLE)
                / LEAST_IGNORE_NULLS({{ cutoff }}, MAX(n_recommended)),
            0
        ) AS judged_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_value, COUNT(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_n,
        STDDEV_SAMP(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'judged' AS metric, {{ cutoff }} AS k, judged_at_{{ cutoff }}_value AS value, judged_at_{{ cutoff }}_n AS n_users,
    judged_at_{{ cutoff }}_std AS std,
    judged_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * judged_at_{{ cutoff }}_std
        / NULLIF(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_low,
    judged_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * judged_at_{{ cutoff }}_std
        / NULLIF(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__judged(recommendations, interactions, cutoff) -%}
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
), judgements AS (
    -- one row per recommended item
    SELECT
        ranked.user_id, CAST(ranked.rank AS INT64) AS rank,
        CASE WHEN judged_items.item_id IS NULL THEN 0 ELSE 1 END AS is_judged,
        recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN recommendation_profile ON recommendation_profile.user_id = ranked.user_id
    LEFT JOIN interactions AS judged_items
        ON judged_items.user_id = ranked.user_id AND judged_items.item_id = ranked.item_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_judged END) AS FLOAT64)
                / LEAST({{ cutoff }}, COALESCE(MAX(n_recommended), {{ cutoff }})),
            0
        ) AS judged_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_value, COUNT(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_n,
        STDDEV_SAMP(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'judged' AS metric, {{ cutoff }} AS k, judged_at_{{ cutoff }}_value AS value, judged_at_{{ cutoff }}_n AS n_users,
    judged_at_{{ cutoff }}_std AS std,
    judged_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * judged_at_{{ cutoff }}_std
        / NULLIF(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_low,
    judged_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * judged_at_{{ cutoff }}_std
        / NULLIF(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__judged(recommendations, interactions, cutoff) -%}
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
), judgements AS (
    -- one row per recommended item
    SELECT
        ranked.user_id, CAST(ranked.rank AS BIGINT) AS rank,
        CASE WHEN judged_items.item_id IS NULL THEN 0 ELSE 1 END AS is_judged,
        recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN recommendation_profile ON recommendation_profile.user_id = ranked.user_id
    LEFT JOIN interactions AS judged_items
        ON judged_items.user_id = ranked.user_id AND judged_items.item_id = ranked.item_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_judged END) AS DOUBLE)
                / LEAST({{ cutoff }}, COALESCE(MAX(n_recommended), {{ cutoff }})),
            0
        ) AS judged_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_value, COUNT(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_n,
        STDDEV_SAMP(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'judged' AS metric, {{ cutoff }} AS k, judged_at_{{ cutoff }}_value AS value, judged_at_{{ cutoff }}_n AS n_users,
    judged_at_{{ cutoff }}_std AS std,
    judged_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * judged_at_{{ cutoff }}_std
        / NULLIF(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_low,
    judged_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * judged_at_{{ cutoff }}_std
        / NULLIF(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__judged(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__judged(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__judged(recommendations, interactions, cutoff) -%}
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
), judgements AS (
    -- one row per recommended item
    SELECT
        ranked.user_id AS user_id, CAST(ranked.rank AS Nullable(Int64)) AS rank,
        CASE WHEN judged_items.item_id IS NULL THEN 0 ELSE 1 END AS is_judged,
        recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN recommendation_profile ON recommendation_profile.user_id = ranked.user_id
    LEFT JOIN interactions AS judged_items
        ON judged_items.user_id = ranked.user_id AND judged_items.item_id = ranked.item_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_judged END) AS Nullable(Float64))
                / LEAST({{ cutoff }}, MAX(n_recommended)),
            0
        ) AS judged_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_value,
        CAST(COUNT(judged_at_{{ cutoff }}) AS Nullable(Int64)) AS judged_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(judged_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(judged_at_{{ cutoff }})
        END AS judged_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'judged' AS metric, {{ cutoff }} AS k, judged_at_{{ cutoff }}_value AS value, judged_at_{{ cutoff }}_n AS n_users,
    judged_at_{{ cutoff }}_std AS std,
    judged_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * judged_at_{{ cutoff }}_std
        / nullIf(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_low,
    judged_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * judged_at_{{ cutoff }}_std
        / nullIf(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__judged(recommendations, interactions, cutoff) -%}
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
), judgements AS (
    -- one row per recommended item
    SELECT
        ranked.user_id, CAST(ranked.rank AS BIGINT) AS rank,
        CASE WHEN judged_items.item_id IS NULL THEN 0 ELSE 1 END AS is_judged,
        recommendation_profile.n_rows AS n_recommended
    FROM recommendations AS ranked
    INNER JOIN recommendation_profile ON recommendation_profile.user_id = ranked.user_id
    LEFT JOIN interactions AS judged_items
        ON judged_items.user_id = ranked.user_id AND judged_items.item_id = ranked.item_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_judged END) AS DOUBLE PRECISION)
                / LEAST({{ cutoff }}, MAX(n_recommended)),
            0
        ) AS judged_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_value, COUNT(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_n,
        STDDEV_SAMP(judged_at_{{ cutoff }}) AS judged_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'judged' AS metric, {{ cutoff }} AS k, judged_at_{{ cutoff }}_value AS value, judged_at_{{ cutoff }}_n AS n_users,
    judged_at_{{ cutoff }}_std AS std,
    judged_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * judged_at_{{ cutoff }}_std
        / NULLIF(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_low,
    judged_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * judged_at_{{ cutoff }}_std
        / NULLIF(SQRT(judged_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
