{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Calibration ratio
  Formula: sum of the predicted probabilities / number of relevant items, over the judged items in
    the top k of all lists.
  Undefined: no item in the top k of all lists is relevant.
  Source: He et al.: Practical lessons from predicting clicks on ads at Facebook, ADKDD 2014.
-#}

{% macro calibration_ratio(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', score_column='score', relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('calibration_ratio', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'calibration_ratio', recommendations, user_column, item_column, none, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'calibration_ratio', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('calibration_ratio', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro default__calibration_ratio(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('calibration_ratio') }}
{%- endmacro %}

{% macro duckdb__calibration_ratio(recommendations, interactions, cutoff) -%}
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
), probabilities AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS DOUBLE) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        sum(CASE WHEN rank <= {{ cutoff }} THEN probability END)
            / nullif(sum(CASE WHEN rank <= {{ cutoff }} THEN is_relevant END), 0)
            AS calibration_ratio_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'calibration_ratio' AS metric, {{ cutoff }} AS k, calibration_ratio_at_{{ cutoff }} AS value,
    CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro spark__calibration_ratio(recommendations, interactions, cutoff) -%}
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
), probabilities AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS DOUBLE) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN probability END) AS DOUBLE)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_relevant END), 0)
            AS calibration_ratio_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'calibration_ratio' AS metric, {{ cutoff }} AS k, calibration_ratio_at_{{ cutoff }} AS value,
    CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro snowflake__calibration_ratio(recommendations, interactions, cutoff) -%}
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
), probabilities AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS DOUBLE) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN probability END) AS DOUBLE)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_relevant END), 0)
            AS calibration_ratio_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'calibration_ratio' AS metric, {{ cutoff }} AS k, calibration_ratio_at_{{ cutoff }} AS value,
    CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro bigquery__calibration_ratio(recommendations, interactions, cutoff) -%}
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
), probabilities AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS FLOAT64) AS probability,
        CASE WHEN CAST(relevance AS FLOAT64) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN probability END) AS FLOAT64)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_relevant END), 0)
            AS calibration_ratio_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'calibration_ratio' AS metric, {{ cutoff }} AS k, calibration_ratio_at_{{ cutoff }} AS value,
    CAST(NULL AS INT64) AS n_users, CAST(NULL AS FLOAT64) AS std, CAST(NULL AS FLOAT64) AS ci_low,
    CAST(NULL AS FLOAT64) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro trino__calibration_ratio(recommendations, interactions, cutoff) -%}
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
), probabilities AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS DOUBLE) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN probability END) AS DOUBLE)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_relevant END), 0)
            AS calibration_ratio_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'calibration_ratio' AS metric, {{ cutoff }} AS k, calibration_ratio_at_{{ cutoff }} AS value,
    CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro athena__calibration_ratio(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__calibration_ratio(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__calibration_ratio(recommendations, interactions, cutoff) -%}
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
), probabilities AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank AS rank, CAST(ranked.score AS Nullable(Float64)) AS probability,
        CASE WHEN CAST(relevance AS Nullable(Float64)) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN probability END) AS Nullable(Float64))
            / nullIf(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_relevant END), 0)
            AS calibration_ratio_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'calibration_ratio' AS metric, {{ cutoff }} AS k, calibration_ratio_at_{{ cutoff }} AS value,
    CAST(NULL AS Nullable(Int64)) AS n_users, CAST(NULL AS Nullable(Float64)) AS std,
    CAST(NULL AS Nullable(Float64)) AS ci_low, CAST(NULL AS Nullable(Float64)) AS ci_high
FROM probabilities_values
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__calibration_ratio(recommendations, interactions, cutoff) -%}
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
), probabilities AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS DOUBLE PRECISION) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE PRECISION) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN probability END) AS DOUBLE PRECISION)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_relevant END), 0)
            AS calibration_ratio_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'calibration_ratio' AS metric, {{ cutoff }} AS k, calibration_ratio_at_{{ cutoff }} AS value,
    CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE PRECISION) AS std,
    CAST(NULL AS DOUBLE PRECISION) AS ci_low, CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM probabilities_values
{%- endmacro %}
