{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Expected calibration error
  Formula: judged items in the top k of all lists are put into bins by predicted probability; sum
    over the bins of (share of the items in the bin) · |mean probability - share of relevant items
    in the bin|.
  Undefined: no item in the top k of all lists is judged.
  Source: Naeini, Cooper, Hauskrecht: Obtaining well calibrated probabilities using Bayesian
    binning, AAAI 2015.
-#}

{% macro ece(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', score_column='score', relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('ece', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'ece', recommendations, user_column, item_column, none, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'ece', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('ece', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test ece_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', score_column='score', relevance_column=none
) -%}
{%- set result = ranking_metrics.ece(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, score_column=score_column, relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('ece', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__ece(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('ece') }}
{%- endmacro %}

{% macro duckdb__ece(recommendations, interactions, cutoff) -%}
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
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        CAST(ranked.score AS DOUBLE) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), binned AS (
    -- one row per prediction, with the number of its bin
    SELECT probability, is_relevant, least(floor(probability * 10), 10 - 1) AS bin
    FROM probabilities_at_cutoffs
), bins AS (
    -- one row per bin, with the actual and the expected number of relevant items
    SELECT bin, count(*) AS n_items, sum(is_relevant) AS n_relevant, sum(probability) AS expected
    FROM binned
    GROUP BY bin
), ece AS (
    SELECT sum(abs(expected - n_relevant)) / sum(n_items) AS value FROM bins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ece' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM ece
{%- endmacro %}

{% macro spark__ece(recommendations, interactions, cutoff) -%}
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
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        CAST(ranked.score AS DOUBLE) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), binned AS (
    -- one row per prediction, with the number of its bin
    SELECT probability, is_relevant, LEAST(FLOOR(probability * 10), 10 - 1) AS bin
    FROM probabilities_at_cutoffs
), bins AS (
    -- one row per bin, with the actual and the expected number of relevant items
    SELECT bin, COUNT(*) AS n_items, SUM(is_relevant) AS n_relevant, SUM(probability) AS expected
    FROM binned
    GROUP BY bin
), ece AS (
    SELECT CAST(SUM(ABS(expected - n_relevant)) AS DOUBLE) / SUM(n_items) AS value FROM bins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ece' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM ece
{%- endmacro %}

{% macro snowflake__ece(recommendations, interactions, cutoff) -%}
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
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        CAST(ranked.score AS DOUBLE) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), binned AS (
    -- one row per prediction, with the number of its bin
    SELECT probability, is_relevant, LEAST_IGNORE_NULLS(FLOOR(probability * 10), 10 - 1) AS bin
    FROM probabilities_at_cutoffs
), bins AS (
    -- one row per bin, with the actual and the expected number of relevant items
    SELECT bin, COUNT(*) AS n_items, SUM(is_relevant) AS n_relevant, SUM(probability) AS expected
    FROM binned
    GROUP BY bin
), ece AS (
    SELECT CAST(SUM(ABS(expected - n_relevant)) AS DOUBLE) / SUM(n_items) AS value FROM bins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ece' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM ece
{%- endmacro %}

{% macro bigquery__ece(recommendations, interactions, cutoff) -%}
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
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        CAST(ranked.score AS FLOAT64) AS probability,
        CASE WHEN CAST(relevance AS FLOAT64) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), binned AS (
    -- one row per prediction, with the number of its bin
    SELECT
        probability, is_relevant,
        LEAST(
            COALESCE(FLOOR(probability * 10), 10 - 1), COALESCE(10 - 1, FLOOR(probability * 10))
        ) AS bin
    FROM probabilities_at_cutoffs
), bins AS (
    -- one row per bin, with the actual and the expected number of relevant items
    SELECT bin, COUNT(*) AS n_items, SUM(is_relevant) AS n_relevant, SUM(probability) AS expected
    FROM binned
    GROUP BY bin
), ece AS (
    SELECT CAST(SUM(ABS(expected - n_relevant)) AS FLOAT64) / SUM(n_items) AS value FROM bins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ece' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS INT64) AS n_users, CAST(NULL AS FLOAT64) AS std,
    CAST(NULL AS FLOAT64) AS ci_low, CAST(NULL AS FLOAT64) AS ci_high
FROM ece
{%- endmacro %}

{% macro trino__ece(recommendations, interactions, cutoff) -%}
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
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        CAST(ranked.score AS DOUBLE) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), binned AS (
    -- one row per prediction, with the number of its bin
    SELECT
        probability, is_relevant,
        LEAST(
            COALESCE(FLOOR(probability * 10), 10 - 1), COALESCE(10 - 1, FLOOR(probability * 10))
        ) AS bin
    FROM probabilities_at_cutoffs
), bins AS (
    -- one row per bin, with the actual and the expected number of relevant items
    SELECT bin, COUNT(*) AS n_items, SUM(is_relevant) AS n_relevant, SUM(probability) AS expected
    FROM binned
    GROUP BY bin
), ece AS (
    SELECT CAST(SUM(ABS(expected - n_relevant)) AS DOUBLE) / SUM(n_items) AS value FROM bins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ece' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM ece
{%- endmacro %}

{% macro athena__ece(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__ece(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__ece(recommendations, interactions, cutoff) -%}
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
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        CAST(ranked.score AS Nullable(Float64)) AS probability,
        CASE WHEN CAST(relevance AS Nullable(Float64)) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), binned AS (
    -- one row per prediction, with the number of its bin
    SELECT probability, is_relevant, LEAST(FLOOR(probability * 10), 10 - 1) AS bin
    FROM probabilities_at_cutoffs
), bins AS (
    -- one row per bin, with the actual and the expected number of relevant items
    SELECT
        bin, CAST(COUNT(*) AS Nullable(Int64)) AS n_items, SUM(is_relevant) AS n_relevant,
        SUM(probability) AS expected
    FROM binned
    GROUP BY bin
), ece AS (
    SELECT CAST(SUM(ABS(expected - n_relevant)) AS Nullable(Float64)) / SUM(n_items) AS value
    FROM bins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ece' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS Nullable(Int64)) AS n_users,
    CAST(NULL AS Nullable(Float64)) AS std, CAST(NULL AS Nullable(Float64)) AS ci_low,
    CAST(NULL AS Nullable(Float64)) AS ci_high
FROM ece
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__ece(recommendations, interactions, cutoff) -%}
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
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        CAST(ranked.score AS DOUBLE PRECISION) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE PRECISION) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), binned AS (
    -- one row per prediction, with the number of its bin
    SELECT probability, is_relevant, LEAST(FLOOR(probability * 10), 10 - 1) AS bin
    FROM probabilities_at_cutoffs
), bins AS (
    -- one row per bin, with the actual and the expected number of relevant items
    SELECT bin, COUNT(*) AS n_items, SUM(is_relevant) AS n_relevant, SUM(probability) AS expected
    FROM binned
    GROUP BY bin
), ece AS (
    SELECT CAST(SUM(ABS(expected - n_relevant)) AS DOUBLE PRECISION) / SUM(n_items) AS value
    FROM bins
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ece' AS metric, {{ cutoff }} AS k, value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE PRECISION) AS std, CAST(NULL AS DOUBLE PRECISION) AS ci_low,
    CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM ece
{%- endmacro %}
