{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Pooled average precision (area under the precision-recall curve)
  Formula: mean over the relevant items in the top k of all lists of the precision among the
    judged items with at least this score (area under the precision-recall curve). Lists ordered
    by rank or row are compared by position instead of score.
  Undefined: no item in the top k of all lists is relevant.
  Source: average_precision_score in scikit-learn; Davis, Goadrich: The relationship between
    precision-recall and ROC curves, ICML 2006.
-#}

{% macro pr_auc(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('pr_auc', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'pr_auc', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'pr_auc', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('pr_auc', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test pr_auc_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.pr_auc(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('pr_auc', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__pr_auc(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('pr_auc') }}
{%- endmacro %}

{% macro duckdb__pr_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), matched_at_cutoffs AS (
    -- one row per row of matched and cutoff that includes it
    SELECT
        ranked.score AS predicted,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), scores AS (
    -- one row per score
    SELECT predicted, sum(is_relevant) AS n_relevant, count(*) AS n_items
    FROM matched_at_cutoffs
    GROUP BY predicted
), thresholds AS (
    -- one row per score, with the numbers of items that have it or a higher one
    SELECT
        n_relevant,
        sum(n_relevant)
            OVER (ORDER BY predicted DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS n_relevant_above,
        sum(n_items) OVER (ORDER BY predicted DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS n_items_above
    FROM scores
), pr_auc AS (
    SELECT sum(n_relevant * n_relevant_above / n_items_above) / nullif(sum(n_relevant), 0) AS value
    FROM thresholds
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pr_auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM pr_auc
{%- endmacro %}

{% macro spark__pr_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id NULLS LAST) AS rank
    FROM recommendations
), matched_at_cutoffs AS (
    -- one row per row of matched and cutoff that includes it
    SELECT
        ranked.score AS predicted,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), scores AS (
    -- one row per score
    SELECT predicted, SUM(is_relevant) AS n_relevant, COUNT(*) AS n_items
    FROM matched_at_cutoffs
    GROUP BY predicted
), thresholds AS (
    -- one row per score, with the numbers of items that have it or a higher one
    SELECT
        n_relevant,
        SUM(n_relevant)
            OVER (ORDER BY predicted DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS n_relevant_above,
        SUM(n_items) OVER (ORDER BY predicted DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS n_items_above
    FROM scores
), pr_auc AS (
    SELECT
        CAST(SUM(CAST(n_relevant * n_relevant_above AS DOUBLE) / n_items_above) AS DOUBLE)
            / NULLIF(SUM(n_relevant), 0) AS value
    FROM thresholds
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pr_auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM pr_auc
{%- endmacro %}

{% macro snowflake__pr_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), matched_at_cutoffs AS (
    -- one row per row of matched and cutoff that includes it
    SELECT
        ranked.score AS predicted,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), scores AS (
    -- one row per score
    SELECT predicted, SUM(is_relevant) AS n_relevant, COUNT(*) AS n_items
    FROM matched_at_cutoffs
    GROUP BY predicted
), thresholds AS (
    -- one row per score, with the numbers of items that have it or a higher one
    SELECT
        n_relevant,
        SUM(n_relevant) OVER (
            ORDER BY predicted DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_relevant_above,
        SUM(n_items) OVER (
            ORDER BY predicted DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_above
    FROM scores
), pr_auc AS (
    SELECT
        CAST(SUM(CAST(n_relevant * n_relevant_above AS DOUBLE) / n_items_above) AS DOUBLE)
            / NULLIF(SUM(n_relevant), 0) AS value
    FROM thresholds
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pr_auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM pr_auc
{%- endmacro %}

{% macro bigquery__pr_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), matched_at_cutoffs AS (
    -- one row per row of matched and cutoff that includes it
    SELECT
        ranked.score AS predicted,
        CASE WHEN CAST(relevance AS FLOAT64) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), scores AS (
    -- one row per score
    SELECT predicted, SUM(is_relevant) AS n_relevant, COUNT(*) AS n_items
    FROM matched_at_cutoffs
    GROUP BY predicted
), thresholds AS (
    -- one row per score, with the numbers of items that have it or a higher one
    SELECT
        n_relevant,
        SUM(n_relevant)
            OVER (ORDER BY predicted DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS n_relevant_above,
        SUM(n_items) OVER (ORDER BY predicted DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS n_items_above
    FROM scores
), pr_auc AS (
    SELECT
        CAST(SUM(CAST(n_relevant * n_relevant_above AS FLOAT64) / n_items_above) AS FLOAT64)
            / NULLIF(SUM(n_relevant), 0) AS value
    FROM thresholds
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pr_auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS INT64) AS n_users,
    CAST(NULL AS FLOAT64) AS std, CAST(NULL AS FLOAT64) AS ci_low, CAST(NULL AS FLOAT64) AS ci_high
FROM pr_auc
{%- endmacro %}

{% macro trino__pr_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), matched_at_cutoffs AS (
    -- one row per row of matched and cutoff that includes it
    SELECT
        ranked.score AS predicted,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), scores AS (
    -- one row per score
    SELECT predicted, SUM(is_relevant) AS n_relevant, COUNT(*) AS n_items
    FROM matched_at_cutoffs
    GROUP BY predicted
), thresholds AS (
    -- one row per score, with the numbers of items that have it or a higher one
    SELECT
        n_relevant,
        SUM(n_relevant)
            OVER (ORDER BY predicted DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS n_relevant_above,
        SUM(n_items) OVER (ORDER BY predicted DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS n_items_above
    FROM scores
), pr_auc AS (
    SELECT
        CAST(SUM(CAST(n_relevant * n_relevant_above AS DOUBLE) / n_items_above) AS DOUBLE)
            / NULLIF(SUM(n_relevant), 0) AS value
    FROM thresholds
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pr_auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM pr_auc
{%- endmacro %}

{% macro athena__pr_auc(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__pr_auc(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__pr_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        CAST(ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id)
            AS Nullable(Int64)) AS rank
    FROM recommendations
), matched_at_cutoffs AS (
    -- one row per row of matched and cutoff that includes it
    SELECT
        ranked.score AS predicted,
        CASE WHEN CAST(relevance AS Nullable(Float64)) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), scores AS (
    -- one row per score
    SELECT predicted, SUM(is_relevant) AS n_relevant, CAST(COUNT(*) AS Nullable(Int64)) AS n_items
    FROM matched_at_cutoffs
    GROUP BY predicted
), thresholds AS (
    -- one row per score, with the numbers of items that have it or a higher one
    SELECT
        n_relevant,
        SUM(n_relevant)
            OVER (ORDER BY predicted DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS n_relevant_above,
        SUM(n_items) OVER (ORDER BY predicted DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS n_items_above
    FROM scores
), pr_auc AS (
    SELECT
        CAST(SUM(CAST(n_relevant * n_relevant_above AS Nullable(Float64)) / n_items_above)
            AS Nullable(Float64)) / nullIf(SUM(n_relevant), 0) AS value
    FROM thresholds
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pr_auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS Nullable(Int64)) AS n_users,
    CAST(NULL AS Nullable(Float64)) AS std, CAST(NULL AS Nullable(Float64)) AS ci_low,
    CAST(NULL AS Nullable(Float64)) AS ci_high
FROM pr_auc
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__pr_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), matched_at_cutoffs AS (
    -- one row per row of matched and cutoff that includes it
    SELECT
        ranked.score AS predicted,
        CASE WHEN CAST(relevance AS DOUBLE PRECISION) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), scores AS (
    -- one row per score
    SELECT predicted, SUM(is_relevant) AS n_relevant, COUNT(*) AS n_items
    FROM matched_at_cutoffs
    GROUP BY predicted
), thresholds AS (
    -- one row per score, with the numbers of items that have it or a higher one
    SELECT
        n_relevant,
        SUM(n_relevant) OVER (
            ORDER BY predicted DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_relevant_above,
        SUM(n_items) OVER (
            ORDER BY predicted DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_items_above
    FROM scores
), pr_auc AS (
    SELECT
        CAST(SUM(CAST(n_relevant * n_relevant_above AS DOUBLE PRECISION) / n_items_above)
            AS DOUBLE PRECISION) / NULLIF(SUM(n_relevant), 0) AS value
    FROM thresholds
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pr_auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE PRECISION) AS std, CAST(NULL AS DOUBLE PRECISION) AS ci_low,
    CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM pr_auc
{%- endmacro %}
