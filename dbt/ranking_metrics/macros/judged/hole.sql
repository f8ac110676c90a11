{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Unjudged items
  Formula: number of items in the top k that are not judged (have no row in the interactions) /
    divisor; 0 for an empty list.
  Source: hole@k in mteb (divisor=k, scope=run).
-#}

{% macro hole(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('hole', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'hole', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'hole', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('hole', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test hole_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.hole(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('hole', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__hole(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('hole') }}
{%- endmacro %}

{% macro duckdb__hole(recommendations, interactions, cutoff) -%}
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
            sum(CASE WHEN rank <= {{ cutoff }} THEN 1 - is_judged END) / least({{ cutoff }}, max(n_recommended)), 0
        ) AS hole_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_value, count(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_n,
        stddev_samp(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hole' AS metric, {{ cutoff }} AS k, hole_at_{{ cutoff }}_value AS value, hole_at_{{ cutoff }}_n AS n_users,
    hole_at_{{ cutoff }}_std AS std,
    hole_at_{{ cutoff }}_value - 1.9599639845400536 * hole_at_{{ cutoff }}_std / sqrt(hole_at_{{ cutoff }}_n) AS ci_low,
    hole_at_{{ cutoff }}_value + 1.9599639845400536 * hole_at_{{ cutoff }}_std / sqrt(hole_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__hole(recommendations, interactions, cutoff) -%}
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
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN 1 - is_judged END) AS DOUBLE)
                / LEAST({{ cutoff }}, MAX(n_recommended)),
            0
        ) AS hole_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_value, COUNT(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_n,
        STDDEV_SAMP(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hole' AS metric, {{ cutoff }} AS k, hole_at_{{ cutoff }}_value AS value, hole_at_{{ cutoff }}_n AS n_users,
    hole_at_{{ cutoff }}_std AS std,
    hole_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * hole_at_{{ cutoff }}_std
        / NULLIF(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_low,
    hole_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * hole_at_{{ cutoff }}_std
        / NULLIF(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__hole(recommendations, interactions, cutoff) -%}
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
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN 1 - is_judged END) AS DOUBLE)
                / LEAST_IGNORE_NULLS({{ cutoff }}, MAX(n_recommended)),
            0
        ) AS hole_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_value, COUNT(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_n,
        STDDEV_SAMP(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hole' AS metric, {{ cutoff }} AS k, hole_at_{{ cutoff }}_value AS value, hole_at_{{ cutoff }}_n AS n_users,
    hole_at_{{ cutoff }}_std AS std,
    hole_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * hole_at_{{ cutoff }}_std
        / NULLIF(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_low,
    hole_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * hole_at_{{ cutoff }}_std
        / NULLIF(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__hole(recommendations, interactions, cutoff) -%}
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
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN 1 - is_judged END) AS FLOAT64)
                / LEAST({{ cutoff }}, COALESCE(MAX(n_recommended), {{ cutoff }})),
            0
        ) AS hole_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_value, COUNT(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_n,
        STDDEV_SAMP(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hole' AS metric, {{ cutoff }} AS k, hole_at_{{ cutoff }}_value AS value, hole_at_{{ cutoff }}_n AS n_users,
    hole_at_{{ cutoff }}_std AS std,
    hole_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * hole_at_{{ cutoff }}_std
        / NULLIF(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_low,
    hole_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * hole_at_{{ cutoff }}_std
        / NULLIF(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__hole(recommendations, interactions, cutoff) -%}
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
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN 1 - is_judged END) AS DOUBLE)
                / LEAST({{ cutoff }}, COALESCE(MAX(n_recommended), {{ cutoff }})),
            0
        ) AS hole_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_value, COUNT(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_n,
        STDDEV_SAMP(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hole' AS metric, {{ cutoff }} AS k, hole_at_{{ cutoff }}_value AS value, hole_at_{{ cutoff }}_n AS n_users,
    hole_at_{{ cutoff }}_std AS std,
    hole_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * hole_at_{{ cutoff }}_std
        / NULLIF(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_low,
    hole_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * hole_at_{{ cutoff }}_std
        / NULLIF(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__hole(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__hole(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__hole(recommendations, interactions, cutoff) -%}
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
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN 1 - is_judged END) AS Nullable(Float64))
                / LEAST({{ cutoff }}, MAX(n_recommended)),
            0
        ) AS hole_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_value,
        CAST(COUNT(hole_at_{{ cutoff }}) AS Nullable(Int64)) AS hole_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(hole_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(hole_at_{{ cutoff }})
        END AS hole_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hole' AS metric, {{ cutoff }} AS k, hole_at_{{ cutoff }}_value AS value, hole_at_{{ cutoff }}_n AS n_users,
    hole_at_{{ cutoff }}_std AS std,
    hole_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * hole_at_{{ cutoff }}_std
        / nullIf(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_low,
    hole_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * hole_at_{{ cutoff }}_std
        / nullIf(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__hole(recommendations, interactions, cutoff) -%}
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
            CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN 1 - is_judged END) AS DOUBLE PRECISION)
                / LEAST({{ cutoff }}, MAX(n_recommended)),
            0
        ) AS hole_at_{{ cutoff }}
    FROM interaction_profile
    LEFT JOIN judgements USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_value, COUNT(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_n,
        STDDEV_SAMP(hole_at_{{ cutoff }}) AS hole_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'hole' AS metric, {{ cutoff }} AS k, hole_at_{{ cutoff }}_value AS value, hole_at_{{ cutoff }}_n AS n_users,
    hole_at_{{ cutoff }}_std AS std,
    hole_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * hole_at_{{ cutoff }}_std
        / NULLIF(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_low,
    hole_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * hole_at_{{ cutoff }}_std
        / NULLIF(SQRT(hole_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
