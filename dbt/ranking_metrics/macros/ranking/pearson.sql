{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Pearson's correlation
  Formula: correlation between the scores and the relevance of the judged items in the top k.
    Lists ordered by rank or row are compared by position instead of score.
  Undefined: fewer than two judged items in the top k, or all of them have the same score or the
    same relevance.
  Source: Pearson: Notes on regression and inheritance in the case of two parents, Proceedings of
    the Royal Society of London 58 (1895); Correlation in ClayRS.
-#}

{% macro pearson(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('pearson', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'pearson', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'pearson', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('pearson', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test pearson_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.pearson(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('pearson', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__pearson(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('pearson') }}
{%- endmacro %}

{% macro duckdb__pearson(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), precise_items AS (
    -- one row per judged item in the top k; differences of single precision would lose digits
    SELECT user_id, CAST(score AS DOUBLE) AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), ranged_items AS (
    -- one row per judged item in the top k, with the ranges of scores and relevance in the list
    SELECT
        user_id, predicted, relevance,
        min(predicted) OVER (PARTITION BY user_id) AS lowest_predicted,
        max(predicted) OVER (PARTITION BY user_id) AS highest_predicted,
        min(relevance) OVER (PARTITION BY user_id) AS lowest_relevance,
        max(relevance) OVER (PARTITION BY user_id) AS highest_relevance
    FROM precise_items
), scaled_items AS (
    -- one row per judged item in the top k, with score and relevance on a scale from 0 to 1
    SELECT
        user_id,
        (
            predicted - lowest_predicted
        ) / nullif(highest_predicted - lowest_predicted, 0) AS predicted,
        (
            relevance - lowest_relevance
        ) / nullif(highest_relevance - lowest_relevance, 0) AS relevance
    FROM ranged_items
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        (
            count(scaled_items.user_id) * sum(predicted * relevance) - sum(predicted)
                * sum(relevance)
        ) / nullif(
            sqrt(
                count(scaled_items.user_id) * sum(predicted * predicted) - sum(predicted)
                    * sum(predicted)
            ) * sqrt(
                count(scaled_items.user_id) * sum(relevance * relevance) - sum(relevance)
                    * sum(relevance)
            ),
            0
        ) AS pearson_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN scaled_items ON scaled_items.user_id = relevant_users.user_id
    GROUP BY relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_value, count(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_n,
        stddev_samp(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pearson' AS metric, {{ cutoff }} AS k, pearson_at_{{ cutoff }}_value AS value, pearson_at_{{ cutoff }}_n AS n_users,
    pearson_at_{{ cutoff }}_std AS std,
    pearson_at_{{ cutoff }}_value - 1.9599639845400536 * pearson_at_{{ cutoff }}_std / sqrt(pearson_at_{{ cutoff }}_n)
        AS ci_low,
    pearson_at_{{ cutoff }}_value + 1.9599639845400536 * pearson_at_{{ cutoff }}_std / sqrt(pearson_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__pearson(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id NULLS LAST) AS rank
    FROM recommendations
), precise_items AS (
    -- one row per judged item in the top k; differences of single precision would lose digits
    SELECT user_id, CAST(score AS DOUBLE) AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), ranged_items AS (
    -- one row per judged item in the top k, with the ranges of scores and relevance in the list
    SELECT
        user_id, predicted, relevance,
        MIN(predicted) OVER (PARTITION BY user_id) AS lowest_predicted,
        MAX(predicted) OVER (PARTITION BY user_id) AS highest_predicted,
        MIN(relevance) OVER (PARTITION BY user_id) AS lowest_relevance,
        MAX(relevance) OVER (PARTITION BY user_id) AS highest_relevance
    FROM precise_items
), scaled_items AS (
    -- one row per judged item in the top k, with score and relevance on a scale from 0 to 1
    SELECT
        user_id,
        CAST(predicted - lowest_predicted AS DOUBLE)
            / NULLIF(highest_predicted - lowest_predicted, 0) AS predicted,
        CAST(relevance - lowest_relevance AS DOUBLE)
            / NULLIF(highest_relevance - lowest_relevance, 0) AS relevance
    FROM ranged_items
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(scaled_items.user_id) * SUM(predicted * relevance) - SUM(predicted)
            * SUM(relevance) AS DOUBLE) / NULLIF(
            SQRT(
                COUNT(scaled_items.user_id) * SUM(predicted * predicted) - SUM(predicted)
                    * SUM(predicted)
            ) * SQRT(
                COUNT(scaled_items.user_id) * SUM(relevance * relevance) - SUM(relevance)
                    * SUM(relevance)
            ),
            0
        ) AS pearson_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN scaled_items ON scaled_items.user_id = relevant_users.user_id
    GROUP BY relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_value, COUNT(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_n,
        STDDEV_SAMP(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pearson' AS metric, {{ cutoff }} AS k, pearson_at_{{ cutoff }}_value AS value, pearson_at_{{ cutoff }}_n AS n_users,
    pearson_at_{{ cutoff }}_std AS std,
    pearson_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * pearson_at_{{ cutoff }}_std
        / NULLIF(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_low,
    pearson_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * pearson_at_{{ cutoff }}_std
        / NULLIF(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__pearson(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), precise_items AS (
    -- one row per judged item in the top k; differences of single precision would lose digits
    SELECT user_id, CAST(score AS DOUBLE) AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), ranged_items AS (
    -- one row per judged item in the top k, with the ranges of scores and relevance in the list
    SELECT
        user_id, predicted, relevance,
        MIN(predicted) OVER (PARTITION BY user_id) AS lowest_predicted,
        MAX(predicted) OVER (PARTITION BY user_id) AS highest_predicted,
        MIN(relevance) OVER (PARTITION BY user_id) AS lowest_relevance,
        MAX(relevance) OVER (PARTITION BY user_id) AS highest_relevance
    FROM precise_items
), scaled_items AS (
    -- one row per judged item in the top k, with score and relevance on a scale from 0 to 1
    SELECT
        user_id,
        CAST(predicted - lowest_predicted AS DOUBLE)
            / NULLIF(highest_predicted - lowest_predicted, 0) AS predicted,
        CAST(relevance - lowest_relevance AS DOUBLE)
            / NULLIF(highest_relevance - lowest_relevance, 0) AS relevance
    FROM ranged_items
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(scaled_items.user_id) * SUM(predicted * relevance) - SUM(predicted)
            * SUM(relevance) AS DOUBLE) / NULLIF(
            SQRT(
                COUNT(scaled_items.user_id) * SUM(predicted * predicted) - SUM(predicted)
                    * SUM(predicted)
            ) * SQRT(
                COUNT(scaled_items.user_id) * SUM(relevance * relevance) - SUM(relevance)
                    * SUM(relevance)
            ),
            0
        ) AS pearson_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN scaled_items ON scaled_items.user_id = relevant_users.user_id
    GROUP BY relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_value, COUNT(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_n,
        STDDEV_SAMP(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pearson' AS metric, {{ cutoff }} AS k, pearson_at_{{ cutoff }}_value AS value, pearson_at_{{ cutoff }}_n AS n_users,
    pearson_at_{{ cutoff }}_std AS std,
    pearson_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * pearson_at_{{ cutoff }}_std
        / NULLIF(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_low,
    pearson_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * pearson_at_{{ cutoff }}_std
        / NULLIF(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__pearson(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS FLOAT64) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), precise_items AS (
    -- one row per judged item in the top k; differences of single precision would lose digits
    SELECT user_id, CAST(score AS FLOAT64) AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), ranged_items AS (
    -- one row per judged item in the top k, with the ranges of scores and relevance in the list
    SELECT
        user_id, predicted, relevance,
        MIN(predicted) OVER (PARTITION BY user_id) AS lowest_predicted,
        MAX(predicted) OVER (PARTITION BY user_id) AS highest_predicted,
        MIN(relevance) OVER (PARTITION BY user_id) AS lowest_relevance,
        MAX(relevance) OVER (PARTITION BY user_id) AS highest_relevance
    FROM precise_items
), scaled_items AS (
    -- one row per judged item in the top k, with score and relevance on a scale from 0 to 1
    SELECT
        user_id,
        CAST(predicted - lowest_predicted AS FLOAT64)
            / NULLIF(highest_predicted - lowest_predicted, 0) AS predicted,
        CAST(relevance - lowest_relevance AS FLOAT64)
            / NULLIF(highest_relevance - lowest_relevance, 0) AS relevance
    FROM ranged_items
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(scaled_items.user_id) * SUM(predicted * relevance) - SUM(predicted)
            * SUM(relevance) AS FLOAT64) / NULLIF(
            SQRT(
                COUNT(scaled_items.user_id) * SUM(predicted * predicted) - SUM(predicted)
                    * SUM(predicted)
            ) * SQRT(
                COUNT(scaled_items.user_id) * SUM(relevance * relevance) - SUM(relevance)
                    * SUM(relevance)
            ),
            0
        ) AS pearson_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN scaled_items ON scaled_items.user_id = relevant_users.user_id
    GROUP BY relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_value, COUNT(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_n,
        STDDEV_SAMP(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pearson' AS metric, {{ cutoff }} AS k, pearson_at_{{ cutoff }}_value AS value, pearson_at_{{ cutoff }}_n AS n_users,
    pearson_at_{{ cutoff }}_std AS std,
    pearson_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * pearson_at_{{ cutoff }}_std
        / NULLIF(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_low,
    pearson_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * pearson_at_{{ cutoff }}_std
        / NULLIF(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__pearson(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), precise_items AS (
    -- one row per judged item in the top k; differences of single precision would lose digits
    SELECT user_id, CAST(score AS DOUBLE) AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), ranged_items AS (
    -- one row per judged item in the top k, with the ranges of scores and relevance in the list
    SELECT
        user_id, predicted, relevance,
        MIN(predicted) OVER (PARTITION BY user_id) AS lowest_predicted,
        MAX(predicted) OVER (PARTITION BY user_id) AS highest_predicted,
        MIN(relevance) OVER (PARTITION BY user_id) AS lowest_relevance,
        MAX(relevance) OVER (PARTITION BY user_id) AS highest_relevance
    FROM precise_items
), scaled_items AS (
    -- one row per judged item in the top k, with score and relevance on a scale from 0 to 1
    SELECT
        user_id,
        CAST(predicted - lowest_predicted AS DOUBLE)
            / NULLIF(highest_predicted - lowest_predicted, 0) AS predicted,
        CAST(relevance - lowest_relevance AS DOUBLE)
            / NULLIF(highest_relevance - lowest_relevance, 0) AS relevance
    FROM ranged_items
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(scaled_items.user_id) * SUM(predicted * relevance) - SUM(predicted)
            * SUM(relevance) AS DOUBLE) / NULLIF(
            SQRT(
                COUNT(scaled_items.user_id) * SUM(predicted * predicted) - SUM(predicted)
                    * SUM(predicted)
            ) * SQRT(
                COUNT(scaled_items.user_id) * SUM(relevance * relevance) - SUM(relevance)
                    * SUM(relevance)
            ),
            0
        ) AS pearson_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN scaled_items ON scaled_items.user_id = relevant_users.user_id
    GROUP BY relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_value, COUNT(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_n,
        STDDEV_SAMP(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pearson' AS metric, {{ cutoff }} AS k, pearson_at_{{ cutoff }}_value AS value, pearson_at_{{ cutoff }}_n AS n_users,
    pearson_at_{{ cutoff }}_std AS std,
    pearson_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * pearson_at_{{ cutoff }}_std
        / NULLIF(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_low,
    pearson_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * pearson_at_{{ cutoff }}_std
        / NULLIF(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__pearson(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__pearson(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__pearson(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS Nullable(Float64)) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        CAST(ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id)
            AS Nullable(Int64)) AS rank
    FROM recommendations
), precise_items AS (
    -- one row per judged item in the top k; differences of single precision would lose digits
    SELECT user_id, CAST(score AS Nullable(Float64)) AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), ranged_items AS (
    -- one row per judged item in the top k, with the ranges of scores and relevance in the list
    SELECT
        user_id, predicted, relevance,
        MIN(predicted) OVER (PARTITION BY user_id) AS lowest_predicted,
        MAX(predicted) OVER (PARTITION BY user_id) AS highest_predicted,
        MIN(relevance) OVER (PARTITION BY user_id) AS lowest_relevance,
        MAX(relevance) OVER (PARTITION BY user_id) AS highest_relevance
    FROM precise_items
), scaled_items AS (
    -- one row per judged item in the top k, with score and relevance on a scale from 0 to 1
    SELECT
        user_id,
        CAST(predicted - lowest_predicted AS Nullable(Float64))
            / nullIf(highest_predicted - lowest_predicted, 0) AS predicted,
        CAST(relevance - lowest_relevance AS Nullable(Float64))
            / nullIf(highest_relevance - lowest_relevance, 0) AS relevance
    FROM ranged_items
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(CAST(COUNT(scaled_items.user_id) AS Nullable(Int64)) * SUM(predicted * relevance)
            - SUM(predicted) * SUM(relevance) AS Nullable(Float64)) / nullIf(
            SQRT(
                CAST(COUNT(scaled_items.user_id) AS Nullable(Int64)) * SUM(predicted * predicted)
                    - SUM(predicted) * SUM(predicted)
            ) * SQRT(
                CAST(COUNT(scaled_items.user_id) AS Nullable(Int64)) * SUM(relevance * relevance)
                    - SUM(relevance) * SUM(relevance)
            ),
            0
        ) AS pearson_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN scaled_items ON scaled_items.user_id = relevant_users.user_id
    GROUP BY relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_value,
        CAST(COUNT(pearson_at_{{ cutoff }}) AS Nullable(Int64)) AS pearson_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(pearson_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(pearson_at_{{ cutoff }})
        END AS pearson_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pearson' AS metric, {{ cutoff }} AS k, pearson_at_{{ cutoff }}_value AS value, pearson_at_{{ cutoff }}_n AS n_users,
    pearson_at_{{ cutoff }}_std AS std,
    pearson_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * pearson_at_{{ cutoff }}_std
        / nullIf(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_low,
    pearson_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * pearson_at_{{ cutoff }}_std
        / nullIf(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__pearson(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE PRECISION) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), precise_items AS (
    -- one row per judged item in the top k; differences of single precision would lose digits
    SELECT user_id, CAST(score AS DOUBLE PRECISION) AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), ranged_items AS (
    -- one row per judged item in the top k, with the ranges of scores and relevance in the list
    SELECT
        user_id, predicted, relevance,
        MIN(predicted) OVER (PARTITION BY user_id) AS lowest_predicted,
        MAX(predicted) OVER (PARTITION BY user_id) AS highest_predicted,
        MIN(relevance) OVER (PARTITION BY user_id) AS lowest_relevance,
        MAX(relevance) OVER (PARTITION BY user_id) AS highest_relevance
    FROM precise_items
), scaled_items AS (
    -- one row per judged item in the top k, with score and relevance on a scale from 0 to 1
    SELECT
        user_id,
        CAST(predicted - lowest_predicted AS DOUBLE PRECISION)
            / NULLIF(highest_predicted - lowest_predicted, 0) AS predicted,
        CAST(relevance - lowest_relevance AS DOUBLE PRECISION)
            / NULLIF(highest_relevance - lowest_relevance, 0) AS relevance
    FROM ranged_items
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(scaled_items.user_id) * SUM(predicted * relevance) - SUM(predicted)
            * SUM(relevance) AS DOUBLE PRECISION) / NULLIF(
            SQRT(
                COUNT(scaled_items.user_id) * SUM(predicted * predicted) - SUM(predicted)
                    * SUM(predicted)
            ) * SQRT(
                COUNT(scaled_items.user_id) * SUM(relevance * relevance) - SUM(relevance)
                    * SUM(relevance)
            ),
            0
        ) AS pearson_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN scaled_items ON scaled_items.user_id = relevant_users.user_id
    GROUP BY relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_value, COUNT(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_n,
        STDDEV_SAMP(pearson_at_{{ cutoff }}) AS pearson_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pearson' AS metric, {{ cutoff }} AS k, pearson_at_{{ cutoff }}_value AS value, pearson_at_{{ cutoff }}_n AS n_users,
    pearson_at_{{ cutoff }}_std AS std,
    pearson_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * pearson_at_{{ cutoff }}_std
        / NULLIF(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_low,
    pearson_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * pearson_at_{{ cutoff }}_std
        / NULLIF(SQRT(pearson_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
