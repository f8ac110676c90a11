{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Brier score
  Formula: mean over the judged items in the top k of all lists of (p - y)², where p is the
    predicted probability and y is 1 for a relevant item, else 0.
  Undefined: no item in the top k of all lists is judged.
  Source: Brier: Verification of forecasts expressed in terms of probability, Monthly Weather
    Review 78 (1950).
-#}

{% macro brier(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', score_column='score', relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('brier', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'brier', recommendations, user_column, item_column, none, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'brier', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('brier', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test brier_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', score_column='score', relevance_column=none
) -%}
{%- set result = ranking_metrics.brier(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, score_column=score_column, relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('brier', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__brier(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('brier') }}
{%- endmacro %}

{% macro duckdb__brier(recommendations, interactions, cutoff) -%}
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
        sum(
            CASE
                WHEN rank <= {{ cutoff }} THEN (probability - is_relevant) * (probability - is_relevant)
            END
        ) / nullif(count(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0) AS brier_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'brier' AS metric, {{ cutoff }} AS k, brier_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro spark__brier(recommendations, interactions, cutoff) -%}
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
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }} THEN (probability - is_relevant) * (probability - is_relevant)
            END
        ) AS DOUBLE) / NULLIF(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0) AS brier_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'brier' AS metric, {{ cutoff }} AS k, brier_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro snowflake__brier(recommendations, interactions, cutoff) -%}
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
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }} THEN (probability - is_relevant) * (probability - is_relevant)
            END
        ) AS DOUBLE) / NULLIF(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0) AS brier_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'brier' AS metric, {{ cutoff }} AS k, brier_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro bigquery__brier(recommendations, interactions, cutoff) -%}
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
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }} THEN (probability - is_relevant) * (probability - is_relevant)
            END
        ) AS FLOAT64) / NULLIF(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0) AS brier_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'brier' AS metric, {{ cutoff }} AS k, brier_at_{{ cutoff }} AS value, CAST(NULL AS INT64) AS n_users,
    CAST(NULL AS FLOAT64) AS std, CAST(NULL AS FLOAT64) AS ci_low, CAST(NULL AS FLOAT64) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro trino__brier(recommendations, interactions, cutoff) -%}
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
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }} THEN (probability - is_relevant) * (probability - is_relevant)
            END
        ) AS DOUBLE) / NULLIF(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0) AS brier_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'brier' AS metric, {{ cutoff }} AS k, brier_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro athena__brier(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__brier(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__brier(recommendations, interactions, cutoff) -%}
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
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }} THEN (probability - is_relevant) * (probability - is_relevant)
            END
        ) AS Nullable(Float64))
            / nullIf(CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS Nullable(Int64)), 0)
            AS brier_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'brier' AS metric, {{ cutoff }} AS k, brier_at_{{ cutoff }} AS value, CAST(NULL AS Nullable(Int64)) AS n_users,
    CAST(NULL AS Nullable(Float64)) AS std, CAST(NULL AS Nullable(Float64)) AS ci_low,
    CAST(NULL AS Nullable(Float64)) AS ci_high
FROM probabilities_values
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__brier(recommendations, interactions, cutoff) -%}
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
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }} THEN (probability - is_relevant) * (probability - is_relevant)
            END
        ) AS DOUBLE PRECISION) / NULLIF(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0)
            AS brier_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'brier' AS metric, {{ cutoff }} AS k, brier_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE PRECISION) AS std, CAST(NULL AS DOUBLE PRECISION) AS ci_low,
    CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM probabilities_values
{%- endmacro %}
