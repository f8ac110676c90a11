{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Label ranking loss
  Formula: share of the pairs of a hit and a miss in the top k in which the miss has at least the
    score of the hit; 1 without a hit, 0 without a miss. Lists ordered by rank or row are compared
    by position instead of score.
  Source: label_ranking_loss in scikit-learn, of the items of a list.
-#}

{% macro ranking_loss(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('ranking_loss', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'ranking_loss', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'ranking_loss', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('ranking_loss', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test ranking_loss_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.ranking_loss(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('ranking_loss', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__ranking_loss(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('ranking_loss') }}
{%- endmacro %}

{% macro duckdb__ranking_loss(recommendations, interactions, cutoff) -%}
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
        ) AS n_relevant_within,
        count(*) OVER (PARTITION BY user_id) AS n_items
    FROM labelled_items_at_cutoffs
), ranking_loss AS (
    SELECT
        user_id,
        coalesce(
            sum(n_items_within - n_relevant_within) / nullif(count(*) * (
                max(n_items) - count(*)
            ), 0),
            0
        ) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), ranking_loss_values AS (
    -- one row per key, with one column per cutoff of ranking_loss
    SELECT user_id, CASE WHEN count(1) = 0 THEN 1 ELSE max(value) END AS ranking_loss_at_{{ cutoff }}
    FROM ranking_loss
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT coalesce(ranking_loss_at_{{ cutoff }}, 1) AS ranking_loss_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN ranking_loss_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_value,
        count(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_n,
        stddev_samp(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ranking_loss' AS metric, {{ cutoff }} AS k, ranking_loss_at_{{ cutoff }}_value AS value,
    ranking_loss_at_{{ cutoff }}_n AS n_users, ranking_loss_at_{{ cutoff }}_std AS std,
    ranking_loss_at_{{ cutoff }}_value - 1.9599639845400536 * ranking_loss_at_{{ cutoff }}_std
        / sqrt(ranking_loss_at_{{ cutoff }}_n) AS ci_low,
    ranking_loss_at_{{ cutoff }}_value + 1.9599639845400536 * ranking_loss_at_{{ cutoff }}_std
        / sqrt(ranking_loss_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__ranking_loss(recommendations, interactions, cutoff) -%}
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
        ) AS n_relevant_within,
        COUNT(*) OVER (PARTITION BY user_id) AS n_items
    FROM labelled_items_at_cutoffs
), ranking_loss AS (
    SELECT
        user_id,
        COALESCE(
            CAST(SUM(n_items_within - n_relevant_within) AS DOUBLE) / NULLIF(COUNT(*) * (
                MAX(n_items) - COUNT(*)
            ), 0),
            0
        ) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), ranking_loss_values AS (
    -- one row per key, with one column per cutoff of ranking_loss
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 1 ELSE MAX(value) END AS ranking_loss_at_{{ cutoff }}
    FROM ranking_loss
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(ranking_loss_at_{{ cutoff }}, 1) AS ranking_loss_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN ranking_loss_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_value,
        COUNT(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_n,
        STDDEV_SAMP(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ranking_loss' AS metric, {{ cutoff }} AS k, ranking_loss_at_{{ cutoff }}_value AS value,
    ranking_loss_at_{{ cutoff }}_n AS n_users, ranking_loss_at_{{ cutoff }}_std AS std,
    ranking_loss_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * ranking_loss_at_{{ cutoff }}_std
        / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_low,
    ranking_loss_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * ranking_loss_at_{{ cutoff }}_std
        / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__ranking_loss(recommendations, interactions, cutoff) -%}
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
        ) AS n_relevant_within,
        COUNT(*) OVER (PARTITION BY user_id) AS n_items
    FROM labelled_items_at_cutoffs
), ranking_loss AS (
    SELECT
        user_id,
        COALESCE(
            CAST(SUM(n_items_within - n_relevant_within) AS DOUBLE) / NULLIF(COUNT(*) * (
                MAX(n_items) - COUNT(*)
            ), 0),
            0
        ) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), ranking_loss_values AS (
    -- one row per key, with one column per cutoff of ranking_loss
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 1 ELSE MAX(value) END AS ranking_loss_at_{{ cutoff }}
    FROM ranking_loss
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(ranking_loss_at_{{ cutoff }}, 1) AS ranking_loss_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN ranking_loss_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_value,
        COUNT(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_n,
        STDDEV_SAMP(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ranking_loss' AS metric, {{ cutoff }} AS k, ranking_loss_at_{{ cutoff }}_value AS value,
    ranking_loss_at_{{ cutoff }}_n AS n_users, ranking_loss_at_{{ cutoff }}_std AS std,
    ranking_loss_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * ranking_loss_at_{{ cutoff }}_std
        / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_low,
    ranking_loss_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * ranking_loss_at_{{ cutoff }}_std
        / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__ranking_loss(recommendations, interactions, cutoff) -%}
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
        ) AS n_relevant_within,
        COUNT(*) OVER (PARTITION BY user_id) AS n_items
    FROM labelled_items_at_cutoffs
), ranking_loss AS (
    SELECT
        user_id,
        COALESCE(
            CAST(SUM(n_items_within - n_relevant_within) AS FLOAT64) / NULLIF(COUNT(*) * (
                MAX(n_items) - COUNT(*)
            ), 0),
            0
        ) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), ranking_loss_values AS (
    -- one row per key, with one column per cutoff of ranking_loss
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 1 ELSE MAX(value) END AS ranking_loss_at_{{ cutoff }}
    FROM ranking_loss
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(ranking_loss_at_{{ cutoff }}, 1) AS ranking_loss_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN ranking_loss_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_value,
        COUNT(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_n,
        STDDEV_SAMP(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ranking_loss' AS metric, {{ cutoff }} AS k, ranking_loss_at_{{ cutoff }}_value AS value,
    ranking_loss_at_{{ cutoff }}_n AS n_users, ranking_loss_at_{{ cutoff }}_std AS std,
    ranking_loss_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * ranking_loss_at_{{ cutoff }}_std
        / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_low,
    ranking_loss_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * ranking_loss_at_{{ cutoff }}_std
        / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__ranking_loss(recommendations, interactions, cutoff) -%}
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
        ) AS n_relevant_within,
        COUNT(*) OVER (PARTITION BY user_id) AS n_items
    FROM labelled_items_at_cutoffs
), ranking_loss AS (
    SELECT
        user_id,
        COALESCE(
            CAST(SUM(n_items_within - n_relevant_within) AS DOUBLE) / NULLIF(COUNT(*) * (
                MAX(n_items) - COUNT(*)
            ), 0),
            0
        ) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), ranking_loss_values AS (
    -- one row per key, with one column per cutoff of ranking_loss
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 1 ELSE MAX(value) END AS ranking_loss_at_{{ cutoff }}
    FROM ranking_loss
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(ranking_loss_at_{{ cutoff }}, 1) AS ranking_loss_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN ranking_loss_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_value,
        COUNT(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_n,
        STDDEV_SAMP(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ranking_loss' AS metric, {{ cutoff }} AS k, ranking_loss_at_{{ cutoff }}_value AS value,
    ranking_loss_at_{{ cutoff }}_n AS n_users, ranking_loss_at_{{ cutoff }}_std AS std,
    ranking_loss_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * ranking_loss_at_{{ cutoff }}_std
        / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_low,
    ranking_loss_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * ranking_loss_at_{{ cutoff }}_std
        / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__ranking_loss(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__ranking_loss(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__ranking_loss(recommendations, interactions, cutoff) -%}
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
        ) AS n_relevant_within,
        CAST(COUNT(*) OVER (PARTITION BY user_id) AS Nullable(Int64)) AS n_items
    FROM labelled_items_at_cutoffs
), ranking_loss AS (
    SELECT
        user_id,
        COALESCE(
            CAST(SUM(n_items_within - n_relevant_within) AS Nullable(Float64)) / nullIf(
                CAST(COUNT(*) AS Nullable(Int64)) * (
                    MAX(n_items) - CAST(COUNT(*) AS Nullable(Int64))
                ),
                0
            ),
            0
        ) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), ranking_loss_values AS (
    -- one row per key, with one column per cutoff of ranking_loss
    SELECT
        user_id,
        CASE WHEN CAST(COUNT(1) AS Nullable(Int64)) = 0 THEN 1 ELSE MAX(value) END
            AS ranking_loss_at_{{ cutoff }}
    FROM ranking_loss
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(ranking_loss_at_{{ cutoff }}, 1) AS ranking_loss_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN ranking_loss_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_value,
        CAST(COUNT(ranking_loss_at_{{ cutoff }}) AS Nullable(Int64)) AS ranking_loss_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(ranking_loss_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(ranking_loss_at_{{ cutoff }})
        END AS ranking_loss_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ranking_loss' AS metric, {{ cutoff }} AS k, ranking_loss_at_{{ cutoff }}_value AS value,
    ranking_loss_at_{{ cutoff }}_n AS n_users, ranking_loss_at_{{ cutoff }}_std AS std,
    ranking_loss_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * ranking_loss_at_{{ cutoff }}_std / nullIf(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_low,
    ranking_loss_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * ranking_loss_at_{{ cutoff }}_std / nullIf(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__ranking_loss(recommendations, interactions, cutoff) -%}
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
        ) AS n_relevant_within,
        COUNT(*) OVER (PARTITION BY user_id) AS n_items
    FROM labelled_items_at_cutoffs
), ranking_loss AS (
    SELECT
        user_id,
        COALESCE(
            CAST(SUM(n_items_within - n_relevant_within) AS DOUBLE PRECISION) / NULLIF(COUNT(*) * (
                MAX(n_items) - COUNT(*)
            ), 0),
            0
        ) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), ranking_loss_values AS (
    -- one row per key, with one column per cutoff of ranking_loss
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 1 ELSE MAX(value) END AS ranking_loss_at_{{ cutoff }}
    FROM ranking_loss
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(ranking_loss_at_{{ cutoff }}, 1) AS ranking_loss_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN ranking_loss_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_value,
        COUNT(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_n,
        STDDEV_SAMP(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ranking_loss' AS metric, {{ cutoff }} AS k, ranking_loss_at_{{ cutoff }}_value AS value,
    ranking_loss_at_{{ cutoff }}_n AS n_users, ranking_loss_at_{{ cutoff }}_std AS std,
    ranking_loss_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * ranking_loss_at_{{ cutoff }}_std / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_low,
    ranking_loss_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * ranking_loss_at_{{ cutoff }}_std / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro redshift__ranking_loss(recommendations, interactions, cutoff) -%}
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
        ) AS n_relevant_within,
        COUNT(*) OVER (PARTITION BY user_id) AS n_items
    FROM labelled_items_at_cutoffs
), ranking_loss AS (
    SELECT
        user_id,
        COALESCE(
            CAST(SUM(n_items_within - n_relevant_within) AS DOUBLE PRECISION) / NULLIF(COUNT(*) * (
                MAX(n_items) - COUNT(*)
            ), 0),
            0
        ) AS value
    FROM placed
    WHERE is_relevant = 1
    GROUP BY user_id
), ranking_loss_values AS (
    -- one row per key, with one column per cutoff of ranking_loss
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 1 ELSE MAX(value) END AS ranking_loss_at_{{ cutoff }}
    FROM ranking_loss
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(ranking_loss_at_{{ cutoff }}, 1) AS ranking_loss_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN ranking_loss_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_value,
        COUNT(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_n,
        STDDEV_SAMP(ranking_loss_at_{{ cutoff }}) AS ranking_loss_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ranking_loss' AS metric, {{ cutoff }} AS k, ranking_loss_at_{{ cutoff }}_value AS value,
    ranking_loss_at_{{ cutoff }}_n AS n_users, ranking_loss_at_{{ cutoff }}_std AS std,
    ranking_loss_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * ranking_loss_at_{{ cutoff }}_std / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_low,
    ranking_loss_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * ranking_loss_at_{{ cutoff }}_std / NULLIF(SQRT(ranking_loss_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
