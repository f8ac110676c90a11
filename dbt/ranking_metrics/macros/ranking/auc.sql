{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Pooled AUC
  Formula: share of the pairs of a relevant and a non-relevant judged item, from the top k of all
    users together, in which the relevant item has the higher score; equal scores count one half.
    Lists ordered by rank or row are compared by position instead of score; with drop_seen=true,
    by position among the remaining items.
  Undefined: the top k of all lists has no relevant item, or no judged item that is not relevant.
  Source: Fawcett: An introduction to ROC analysis, Pattern Recognition Letters 27 (2006); AUC in
    Elliot and GAUC in RecBole (scope=catalogue).
-#}

{% macro auc(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('auc', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'auc', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'auc', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('auc', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test auc_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.auc(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('auc', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__auc(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('auc') }}
{%- endmacro %}

{% macro duckdb__auc(recommendations, interactions, cutoff) -%}
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
    SELECT
        predicted, CAST(sum(is_relevant) AS INT128) AS n_relevant,
        CAST(count(*) - sum(is_relevant) AS INT128) AS n_other
    FROM matched_at_cutoffs
    GROUP BY predicted
), wins AS (
    -- one row per score, with twice the number of pairs that its relevant items win
    SELECT
        n_relevant, n_other,
        n_relevant * (
            2
                * sum(n_other)
                OVER (ORDER BY predicted ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - n_other
        ) AS twice_won
    FROM scores
), auc AS (
    SELECT sum(twice_won) / nullif(2 * sum(n_relevant) * sum(n_other), 0) AS value FROM wins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM auc
{%- endmacro %}

{% macro spark__auc(recommendations, interactions, cutoff) -%}
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
    SELECT
        predicted, CAST(SUM(is_relevant) AS DECIMAL(38, 0)) AS n_relevant,
        CAST(COUNT(*) - SUM(is_relevant) AS DECIMAL(38, 0)) AS n_other
    FROM matched_at_cutoffs
    GROUP BY predicted
), wins AS (
    -- one row per score, with twice the number of pairs that its relevant items win
    SELECT
        n_relevant, n_other,
        n_relevant * (
            2
                * SUM(n_other)
                OVER (ORDER BY predicted NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING
                AND CURRENT ROW) - n_other
        ) AS twice_won
    FROM scores
), auc AS (
    SELECT CAST(SUM(twice_won) AS DOUBLE) / NULLIF(2 * SUM(n_relevant) * SUM(n_other), 0) AS value
    FROM wins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM auc
{%- endmacro %}

{% macro snowflake__auc(recommendations, interactions, cutoff) -%}
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
    SELECT
        predicted, CAST(SUM(is_relevant) AS DECIMAL(38, 0)) AS n_relevant,
        CAST(COUNT(*) - SUM(is_relevant) AS DECIMAL(38, 0)) AS n_other
    FROM matched_at_cutoffs
    GROUP BY predicted
), wins AS (
    -- one row per score, with twice the number of pairs that its relevant items win
    SELECT
        n_relevant, n_other,
        n_relevant * (
            2
                * SUM(n_other)
                OVER (ORDER BY predicted ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - n_other
        ) AS twice_won
    FROM scores
), auc AS (
    SELECT CAST(SUM(twice_won) AS DOUBLE) / NULLIF(2 * SUM(n_relevant) * SUM(n_other), 0) AS value
    FROM wins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM auc
{%- endmacro %}

{% macro bigquery__auc(recommendations, interactions, cutoff) -%}
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
    SELECT
        predicted, CAST(SUM(is_relevant) AS BIGNUMERIC) AS n_relevant,
        CAST(COUNT(*) - SUM(is_relevant) AS BIGNUMERIC) AS n_other
    FROM matched_at_cutoffs
    GROUP BY predicted
), wins AS (
    -- one row per score, with twice the number of pairs that its relevant items win
    SELECT
        n_relevant, n_other,
        n_relevant * (
            2 * SUM(n_other) OVER (
                ORDER BY predicted IS NULL, predicted
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) - n_other
        ) AS twice_won
    FROM scores
), auc AS (
    SELECT CAST(SUM(twice_won) AS FLOAT64) / NULLIF(2 * SUM(n_relevant) * SUM(n_other), 0) AS value
    FROM wins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS INT64) AS n_users, CAST(NULL AS FLOAT64) AS std,
    CAST(NULL AS FLOAT64) AS ci_low, CAST(NULL AS FLOAT64) AS ci_high
FROM auc
{%- endmacro %}

{% macro trino__auc(recommendations, interactions, cutoff) -%}
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
    SELECT
        predicted, CAST(SUM(is_relevant) AS DECIMAL(38, 0)) AS n_relevant,
        CAST(COUNT(*) - SUM(is_relevant) AS DECIMAL(38, 0)) AS n_other
    FROM matched_at_cutoffs
    GROUP BY predicted
), wins AS (
    -- one row per score, with twice the number of pairs that its relevant items win
    SELECT
        n_relevant, n_other,
        n_relevant * (
            2
                * SUM(n_other)
                OVER (ORDER BY predicted ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - n_other
        ) AS twice_won
    FROM scores
), auc AS (
    SELECT CAST(SUM(twice_won) AS DOUBLE) / NULLIF(2 * SUM(n_relevant) * SUM(n_other), 0) AS value
    FROM wins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM auc
{%- endmacro %}

{% macro athena__auc(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__auc(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__auc(recommendations, interactions, cutoff) -%}
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
    SELECT
        predicted, CAST(SUM(is_relevant) AS Nullable(Int128)) AS n_relevant,
        CAST(CAST(COUNT(*) AS Nullable(Int64)) - SUM(is_relevant) AS Nullable(Int128)) AS n_other
    FROM matched_at_cutoffs
    GROUP BY predicted
), wins AS (
    -- one row per score, with twice the number of pairs that its relevant items win
    SELECT
        n_relevant, n_other,
        n_relevant * (
            2
                * SUM(n_other)
                OVER (ORDER BY predicted ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - n_other
        ) AS twice_won
    FROM scores
), auc AS (
    SELECT
        CAST(SUM(twice_won) AS Nullable(Float64)) / nullIf(2 * SUM(n_relevant) * SUM(n_other), 0)
            AS value
    FROM wins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS Nullable(Int64)) AS n_users,
    CAST(NULL AS Nullable(Float64)) AS std, CAST(NULL AS Nullable(Float64)) AS ci_low,
    CAST(NULL AS Nullable(Float64)) AS ci_high
FROM auc
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__auc(recommendations, interactions, cutoff) -%}
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
    SELECT
        predicted, CAST(SUM(is_relevant) AS DECIMAL) AS n_relevant,
        CAST(COUNT(*) - SUM(is_relevant) AS DECIMAL) AS n_other
    FROM matched_at_cutoffs
    GROUP BY predicted
), wins AS (
    -- one row per score, with twice the number of pairs that its relevant items win
    SELECT
        n_relevant, n_other,
        n_relevant * (
            2
                * SUM(n_other)
                OVER (ORDER BY predicted ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - n_other
        ) AS twice_won
    FROM scores
), auc AS (
    SELECT
        CAST(SUM(twice_won) AS DOUBLE PRECISION) / NULLIF(2 * SUM(n_relevant) * SUM(n_other), 0)
            AS value
    FROM wins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE PRECISION) AS std, CAST(NULL AS DOUBLE PRECISION) AS ci_low,
    CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM auc
{%- endmacro %}

{% macro redshift__auc(recommendations, interactions, cutoff) -%}
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
    SELECT
        predicted, CAST(SUM(is_relevant) AS DECIMAL(38, 0)) AS n_relevant,
        CAST(COUNT(*) - SUM(is_relevant) AS DECIMAL(38, 0)) AS n_other
    FROM matched_at_cutoffs
    GROUP BY predicted
), wins AS (
    -- one row per score, with twice the number of pairs that its relevant items win
    SELECT
        n_relevant, n_other,
        n_relevant * (
            2
                * SUM(n_other)
                OVER (ORDER BY predicted ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - n_other
        ) AS twice_won
    FROM scores
), auc AS (
    SELECT
        CAST(SUM(twice_won) AS DOUBLE PRECISION) / NULLIF(2 * SUM(n_relevant) * SUM(n_other), 0)
            AS value
    FROM wins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'auc' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE PRECISION) AS std, CAST(NULL AS DOUBLE PRECISION) AS ci_low,
    CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM auc
{%- endmacro %}
