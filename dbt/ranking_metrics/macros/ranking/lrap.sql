{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Label ranking average precision
  Formula: mean over the hits in the top k of (hits with at least this score / items with at least
    this score); 0 without a hit. Lists ordered by rank or row are compared by position instead of
    score.
  Source: label_ranking_average_precision_score in scikit-learn, of the items of a list.
-#}

{% macro lrap(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('lrap', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'lrap', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'lrap', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('lrap', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test lrap_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.lrap(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('lrap', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__lrap(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('lrap') }}
{%- endmacro %}

{% macro duckdb__lrap(recommendations, interactions, cutoff) -%}
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
), labelled_items_at_cutoffs AS (
    -- one row per row of labelled_items and cutoff that includes it
    SELECT
        ranked.user_id, score AS predicted,
        CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        user_id, is_relevant,
        count(*) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within,
        sum(is_relevant) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_relevant_within
    FROM labelled_items_at_cutoffs
), lrap AS (
    SELECT user_id, avg(n_relevant_within / nullif(n_items_within, 0)) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), lrap_values AS (
    -- one row per key, with one column per cutoff of lrap
    SELECT user_id, CASE WHEN count(1) = 0 THEN 0 ELSE max(value) END AS lrap_at_{{ cutoff }}
    FROM lrap
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN lrap_values.user_id IS NULL THEN 0 ELSE lrap_at_{{ cutoff }} END AS lrap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN lrap_values ON lrap_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_value, count(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_n,
        stddev_samp(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'lrap' AS metric, {{ cutoff }} AS k, lrap_at_{{ cutoff }}_value AS value, lrap_at_{{ cutoff }}_n AS n_users,
    lrap_at_{{ cutoff }}_std AS std,
    lrap_at_{{ cutoff }}_value - 1.9599639845400536 * lrap_at_{{ cutoff }}_std / sqrt(lrap_at_{{ cutoff }}_n) AS ci_low,
    lrap_at_{{ cutoff }}_value + 1.9599639845400536 * lrap_at_{{ cutoff }}_std / sqrt(lrap_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__lrap(recommendations, interactions, cutoff) -%}
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
), labelled_items_at_cutoffs AS (
    -- one row per row of labelled_items and cutoff that includes it
    SELECT
        ranked.user_id, score AS predicted,
        CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        user_id, is_relevant,
        COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within,
        SUM(is_relevant) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_relevant_within
    FROM labelled_items_at_cutoffs
), lrap AS (
    SELECT user_id, AVG(CAST(n_relevant_within AS DOUBLE) / NULLIF(n_items_within, 0)) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), lrap_values AS (
    -- one row per key, with one column per cutoff of lrap
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS lrap_at_{{ cutoff }}
    FROM lrap
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN lrap_values.user_id IS NULL THEN 0 ELSE lrap_at_{{ cutoff }} END AS lrap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN lrap_values ON lrap_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_value, COUNT(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_n,
        STDDEV_SAMP(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'lrap' AS metric, {{ cutoff }} AS k, lrap_at_{{ cutoff }}_value AS value, lrap_at_{{ cutoff }}_n AS n_users,
    lrap_at_{{ cutoff }}_std AS std,
    lrap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_low,
    lrap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__lrap(recommendations, interactions, cutoff) -%}
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
), labelled_items_at_cutoffs AS (
    -- one row per row of labelled_items and cutoff that includes it
    SELECT
        ranked.user_id, score AS predicted,
        CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        user_id, is_relevant,
        COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC NULLS LAST
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within,
        SUM(is_relevant) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC NULLS LAST
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_relevant_within
    FROM labelled_items_at_cutoffs
), lrap AS (
    SELECT user_id, AVG(CAST(n_relevant_within AS DOUBLE) / NULLIF(n_items_within, 0)) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), lrap_values AS (
    -- one row per key, with one column per cutoff of lrap
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS lrap_at_{{ cutoff }}
    FROM lrap
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN lrap_values.user_id IS NULL THEN 0 ELSE lrap_at_{{ cutoff }} END AS lrap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN lrap_values ON lrap_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_value, COUNT(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_n,
        STDDEV_SAMP(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'lrap' AS metric, {{ cutoff }} AS k, lrap_at_{{ cutoff }}_value AS value, lrap_at_{{ cutoff }}_n AS n_users,
    lrap_at_{{ cutoff }}_std AS std,
    lrap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_low,
    lrap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__lrap(recommendations, interactions, cutoff) -%}
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
), labelled_items_at_cutoffs AS (
    -- one row per row of labelled_items and cutoff that includes it
    SELECT
        ranked.user_id, score AS predicted,
        CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        user_id, is_relevant,
        COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within,
        SUM(is_relevant) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_relevant_within
    FROM labelled_items_at_cutoffs
), lrap AS (
    SELECT user_id, AVG(CAST(n_relevant_within AS FLOAT64) / NULLIF(n_items_within, 0)) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), lrap_values AS (
    -- one row per key, with one column per cutoff of lrap
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS lrap_at_{{ cutoff }}
    FROM lrap
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN lrap_values.user_id IS NULL THEN 0 ELSE lrap_at_{{ cutoff }} END AS lrap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN lrap_values ON lrap_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_value, COUNT(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_n,
        STDDEV_SAMP(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'lrap' AS metric, {{ cutoff }} AS k, lrap_at_{{ cutoff }}_value AS value, lrap_at_{{ cutoff }}_n AS n_users,
    lrap_at_{{ cutoff }}_std AS std,
    lrap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_low,
    lrap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__lrap(recommendations, interactions, cutoff) -%}
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
), labelled_items_at_cutoffs AS (
    -- one row per row of labelled_items and cutoff that includes it
    SELECT
        ranked.user_id, score AS predicted,
        CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        user_id, is_relevant,
        COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within,
        SUM(is_relevant) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_relevant_within
    FROM labelled_items_at_cutoffs
), lrap AS (
    SELECT user_id, AVG(CAST(n_relevant_within AS DOUBLE) / NULLIF(n_items_within, 0)) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), lrap_values AS (
    -- one row per key, with one column per cutoff of lrap
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS lrap_at_{{ cutoff }}
    FROM lrap
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN lrap_values.user_id IS NULL THEN 0 ELSE lrap_at_{{ cutoff }} END AS lrap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN lrap_values ON lrap_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_value, COUNT(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_n,
        STDDEV_SAMP(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'lrap' AS metric, {{ cutoff }} AS k, lrap_at_{{ cutoff }}_value AS value, lrap_at_{{ cutoff }}_n AS n_users,
    lrap_at_{{ cutoff }}_std AS std,
    lrap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_low,
    lrap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__lrap(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__lrap(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__lrap(recommendations, interactions, cutoff) -%}
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
), labelled_items_at_cutoffs AS (
    -- one row per row of labelled_items and cutoff that includes it
    SELECT
        ranked.user_id AS user_id, score AS predicted,
        CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        user_id, is_relevant,
        CAST(COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS Nullable(Int64)) AS n_items_within,
        SUM(is_relevant) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_relevant_within
    FROM labelled_items_at_cutoffs
), lrap AS (
    SELECT
        user_id,
        AVG(CAST(n_relevant_within AS Nullable(Float64)) / nullIf(n_items_within, 0)) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), lrap_values AS (
    -- one row per key, with one column per cutoff of lrap
    SELECT
        user_id,
        CASE WHEN CAST(COUNT(1) AS Nullable(Int64)) = 0 THEN 0 ELSE MAX(value) END AS lrap_at_{{ cutoff }}
    FROM lrap
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN lrap_values.user_id IS NULL THEN 0 ELSE lrap_at_{{ cutoff }} END AS lrap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN lrap_values ON lrap_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_value,
        CAST(COUNT(lrap_at_{{ cutoff }}) AS Nullable(Int64)) AS lrap_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(lrap_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(lrap_at_{{ cutoff }})
        END AS lrap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'lrap' AS metric, {{ cutoff }} AS k, lrap_at_{{ cutoff }}_value AS value, lrap_at_{{ cutoff }}_n AS n_users,
    lrap_at_{{ cutoff }}_std AS std,
    lrap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * lrap_at_{{ cutoff }}_std
        / nullIf(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_low,
    lrap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * lrap_at_{{ cutoff }}_std
        / nullIf(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__lrap(recommendations, interactions, cutoff) -%}
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
), labelled_items_at_cutoffs AS (
    -- one row per row of labelled_items and cutoff that includes it
    SELECT
        ranked.user_id, score AS predicted,
        CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        user_id, is_relevant,
        COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC NULLS LAST
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_within,
        SUM(is_relevant) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC NULLS LAST
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_relevant_within
    FROM labelled_items_at_cutoffs
), lrap AS (
    SELECT
        user_id,
        AVG(CAST(n_relevant_within AS DOUBLE PRECISION) / NULLIF(n_items_within, 0)) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), lrap_values AS (
    -- one row per key, with one column per cutoff of lrap
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS lrap_at_{{ cutoff }}
    FROM lrap
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN lrap_values.user_id IS NULL THEN 0 ELSE lrap_at_{{ cutoff }} END AS lrap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN lrap_values ON lrap_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_value, COUNT(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_n,
        STDDEV_SAMP(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'lrap' AS metric, {{ cutoff }} AS k, lrap_at_{{ cutoff }}_value AS value, lrap_at_{{ cutoff }}_n AS n_users,
    lrap_at_{{ cutoff }}_std AS std,
    lrap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_low,
    lrap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro redshift__lrap(recommendations, interactions, cutoff) -%}
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
), labelled_items_at_cutoffs AS (
    -- one row per row of labelled_items and cutoff that includes it
    SELECT
        ranked.user_id, score AS predicted,
        CASE WHEN relevant.item_id IS NULL THEN 0 ELSE 1 END AS is_relevant
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE rank <= {{ cutoff }}
), placed AS (
    -- one row per recommended item in the top k; equal scores share the last of their places
    SELECT
        user_id, is_relevant,
        (
            COUNT(*) OVER (PARTITION BY user_id) + 1
                - RANK() OVER (PARTITION BY user_id ORDER BY predicted ASC NULLS FIRST)
        ) AS n_items_within,
        SUM(is_relevant) OVER (
            PARTITION BY user_id
            ORDER BY predicted DESC NULLS LAST
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_relevant_within
    FROM labelled_items_at_cutoffs
), lrap AS (
    SELECT
        user_id,
        AVG(CAST(n_relevant_within AS DOUBLE PRECISION) / NULLIF(n_items_within, 0)) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), lrap_values AS (
    -- one row per key, with one column per cutoff of lrap
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS lrap_at_{{ cutoff }}
    FROM lrap
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN lrap_values.user_id IS NULL THEN 0 ELSE lrap_at_{{ cutoff }} END AS lrap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN lrap_values ON lrap_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_value, COUNT(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_n,
        STDDEV_SAMP(lrap_at_{{ cutoff }}) AS lrap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'lrap' AS metric, {{ cutoff }} AS k, lrap_at_{{ cutoff }}_value AS value, lrap_at_{{ cutoff }}_n AS n_users,
    lrap_at_{{ cutoff }}_std AS std,
    lrap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_low,
    lrap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * lrap_at_{{ cutoff }}_std
        / NULLIF(SQRT(lrap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
