{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Coverage error
  Formula: number of items in the top k with a score at least as high as the lowest score of a
    hit. Lists ordered by rank or row are compared by position instead of score.
  Undefined: no relevant item in the top k.
  Source: coverage_error in scikit-learn, of the items of a list.
-#}

{% macro coverage_error(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('coverage_error', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'coverage_error', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'coverage_error', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('coverage_error', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test coverage_error_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.coverage_error(model, interactions, cutoff,
    user_column=user_column, item_column=item_column, rank_column=rank_column,
    score_column=score_column, relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('coverage_error', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__coverage_error(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('coverage_error') }}
{%- endmacro %}

{% macro duckdb__coverage_error(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        ranked.user_id, CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant,
        count(*) OVER (
            PARTITION BY ranked.user_id
            ORDER BY score DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), coverage_error AS (
    SELECT user_id, max(n_items_within) AS value FROM placed WHERE is_relevant = 1 GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(value AS DOUBLE) AS coverage_error_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN coverage_error USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_value,
        count(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_n,
        stddev_samp(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'coverage_error' AS metric, {{ cutoff }} AS k, coverage_error_at_{{ cutoff }}_value AS value,
    coverage_error_at_{{ cutoff }}_n AS n_users, coverage_error_at_{{ cutoff }}_std AS std,
    coverage_error_at_{{ cutoff }}_value - 1.9599639845400536 * coverage_error_at_{{ cutoff }}_std
        / sqrt(coverage_error_at_{{ cutoff }}_n) AS ci_low,
    coverage_error_at_{{ cutoff }}_value + 1.9599639845400536 * coverage_error_at_{{ cutoff }}_std
        / sqrt(coverage_error_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__coverage_error(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id NULLS LAST) AS rank
    FROM recommendations
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        ranked.user_id, CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant,
        COUNT(*) OVER (
            PARTITION BY ranked.user_id
            ORDER BY score DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), coverage_error AS (
    SELECT user_id, MAX(n_items_within) AS value FROM placed WHERE is_relevant = 1 GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(value AS DOUBLE) AS coverage_error_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN coverage_error USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_value,
        COUNT(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_n,
        STDDEV_SAMP(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'coverage_error' AS metric, {{ cutoff }} AS k, coverage_error_at_{{ cutoff }}_value AS value,
    coverage_error_at_{{ cutoff }}_n AS n_users, coverage_error_at_{{ cutoff }}_std AS std,
    coverage_error_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * coverage_error_at_{{ cutoff }}_std
        / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_low,
    coverage_error_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * coverage_error_at_{{ cutoff }}_std
        / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__coverage_error(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        ranked.user_id, CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant,
        COUNT(*) OVER (
            PARTITION BY ranked.user_id
            ORDER BY score DESC NULLS LAST
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), coverage_error AS (
    SELECT user_id, MAX(n_items_within) AS value FROM placed WHERE is_relevant = 1 GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(value AS DOUBLE) AS coverage_error_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN coverage_error USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_value,
        COUNT(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_n,
        STDDEV_SAMP(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'coverage_error' AS metric, {{ cutoff }} AS k, coverage_error_at_{{ cutoff }}_value AS value,
    coverage_error_at_{{ cutoff }}_n AS n_users, coverage_error_at_{{ cutoff }}_std AS std,
    coverage_error_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * coverage_error_at_{{ cutoff }}_std
        / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_low,
    coverage_error_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * coverage_error_at_{{ cutoff }}_std
        / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__coverage_error(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        ranked.user_id, CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant,
        COUNT(*) OVER (
            PARTITION BY ranked.user_id
            ORDER BY score DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), coverage_error AS (
    SELECT user_id, MAX(n_items_within) AS value FROM placed WHERE is_relevant = 1 GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(value AS FLOAT64) AS coverage_error_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN coverage_error USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_value,
        COUNT(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_n,
        STDDEV_SAMP(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'coverage_error' AS metric, {{ cutoff }} AS k, coverage_error_at_{{ cutoff }}_value AS value,
    coverage_error_at_{{ cutoff }}_n AS n_users, coverage_error_at_{{ cutoff }}_std AS std,
    coverage_error_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * coverage_error_at_{{ cutoff }}_std
        / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_low,
    coverage_error_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * coverage_error_at_{{ cutoff }}_std
        / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__coverage_error(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        ranked.user_id, CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant,
        COUNT(*) OVER (
            PARTITION BY ranked.user_id
            ORDER BY score DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), coverage_error AS (
    SELECT user_id, MAX(n_items_within) AS value FROM placed WHERE is_relevant = 1 GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(value AS DOUBLE) AS coverage_error_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN coverage_error USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_value,
        COUNT(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_n,
        STDDEV_SAMP(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'coverage_error' AS metric, {{ cutoff }} AS k, coverage_error_at_{{ cutoff }}_value AS value,
    coverage_error_at_{{ cutoff }}_n AS n_users, coverage_error_at_{{ cutoff }}_std AS std,
    coverage_error_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * coverage_error_at_{{ cutoff }}_std
        / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_low,
    coverage_error_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * coverage_error_at_{{ cutoff }}_std
        / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__coverage_error(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__coverage_error(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__coverage_error(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        CAST(ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id)
            AS Nullable(Int64)) AS rank
    FROM recommendations
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        ranked.user_id AS user_id,
        CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant,
        CAST(COUNT(*) OVER (
            PARTITION BY ranked.user_id
            ORDER BY score DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS Nullable(Int64)) AS n_items_within
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), coverage_error AS (
    SELECT user_id, MAX(n_items_within) AS value FROM placed WHERE is_relevant = 1 GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(value AS Nullable(Float64)) AS coverage_error_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN coverage_error USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_value,
        CAST(COUNT(coverage_error_at_{{ cutoff }}) AS Nullable(Int64)) AS coverage_error_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(coverage_error_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(coverage_error_at_{{ cutoff }})
        END AS coverage_error_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'coverage_error' AS metric, {{ cutoff }} AS k, coverage_error_at_{{ cutoff }}_value AS value,
    coverage_error_at_{{ cutoff }}_n AS n_users, coverage_error_at_{{ cutoff }}_std AS std,
    coverage_error_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * coverage_error_at_{{ cutoff }}_std / nullIf(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_low,
    coverage_error_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * coverage_error_at_{{ cutoff }}_std / nullIf(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__coverage_error(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        ranked.user_id, CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant,
        COUNT(*) OVER (
            PARTITION BY ranked.user_id
            ORDER BY score DESC NULLS LAST
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), coverage_error AS (
    SELECT user_id, MAX(n_items_within) AS value FROM placed WHERE is_relevant = 1 GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(value AS DOUBLE PRECISION) AS coverage_error_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN coverage_error USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_value,
        COUNT(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_n,
        STDDEV_SAMP(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'coverage_error' AS metric, {{ cutoff }} AS k, coverage_error_at_{{ cutoff }}_value AS value,
    coverage_error_at_{{ cutoff }}_n AS n_users, coverage_error_at_{{ cutoff }}_std AS std,
    coverage_error_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * coverage_error_at_{{ cutoff }}_std / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_low,
    coverage_error_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * coverage_error_at_{{ cutoff }}_std / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro redshift__coverage_error(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        ranked.user_id, CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant,
        (
            COUNT(*) OVER (PARTITION BY ranked.user_id) + 1
                - RANK() OVER (PARTITION BY ranked.user_id ORDER BY score ASC NULLS FIRST)
        ) AS n_items_within
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), coverage_error AS (
    SELECT user_id, MAX(n_items_within) AS value FROM placed WHERE is_relevant = 1 GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(value AS DOUBLE PRECISION) AS coverage_error_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN coverage_error USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_value,
        COUNT(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_n,
        STDDEV_SAMP(coverage_error_at_{{ cutoff }}) AS coverage_error_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'coverage_error' AS metric, {{ cutoff }} AS k, coverage_error_at_{{ cutoff }}_value AS value,
    coverage_error_at_{{ cutoff }}_n AS n_users, coverage_error_at_{{ cutoff }}_std AS std,
    coverage_error_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * coverage_error_at_{{ cutoff }}_std / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_low,
    coverage_error_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * coverage_error_at_{{ cutoff }}_std / NULLIF(SQRT(coverage_error_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
