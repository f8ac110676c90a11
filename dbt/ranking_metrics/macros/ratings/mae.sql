{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Mean absolute error
  Formula: mean of |score - relevance| over the judged items in the top k of all lists.
  Undefined: no item in the top k of all lists is judged.
  Source: Herlocker et al.: Evaluating collaborative filtering recommender systems, ACM TOIS 22
    (2004).
-#}

{% macro mae(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', score_column='score', relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('mae', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'mae', recommendations, user_column, item_column, none, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'mae', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('mae', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test mae_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', score_column='score', relevance_column=none
) -%}
{%- set result = ranking_metrics.mae(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, score_column=score_column, relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('mae', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__mae(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('mae') }}
{%- endmacro %}

{% macro duckdb__mae(recommendations, interactions, cutoff) -%}
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
), predictions AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS DOUBLE) AS score, CAST(relevance AS DOUBLE) AS relevance
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), predictions_values AS (
    -- one row per run with predictions
    SELECT avg(CASE WHEN rank <= {{ cutoff }} THEN abs(score - relevance) END) AS mae_at_{{ cutoff }}
    FROM predictions
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mae' AS metric, {{ cutoff }} AS k, mae_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM predictions_values
{%- endmacro %}

{% macro spark__mae(recommendations, interactions, cutoff) -%}
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
), predictions AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS DOUBLE) AS score, CAST(relevance AS DOUBLE) AS relevance
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), predictions_values AS (
    -- one row per run with predictions
    SELECT AVG(CASE WHEN rank <= {{ cutoff }} THEN ABS(score - relevance) END) AS mae_at_{{ cutoff }}
    FROM predictions
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mae' AS metric, {{ cutoff }} AS k, mae_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM predictions_values
{%- endmacro %}

{% macro snowflake__mae(recommendations, interactions, cutoff) -%}
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
), predictions AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS DOUBLE) AS score, CAST(relevance AS DOUBLE) AS relevance
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), predictions_values AS (
    -- one row per run with predictions
    SELECT AVG(CASE WHEN rank <= {{ cutoff }} THEN ABS(score - relevance) END) AS mae_at_{{ cutoff }}
    FROM predictions
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mae' AS metric, {{ cutoff }} AS k, mae_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM predictions_values
{%- endmacro %}

{% macro bigquery__mae(recommendations, interactions, cutoff) -%}
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
), predictions AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS FLOAT64) AS score, CAST(relevance AS FLOAT64) AS relevance
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), predictions_values AS (
    -- one row per run with predictions
    SELECT AVG(CASE WHEN rank <= {{ cutoff }} THEN ABS(score - relevance) END) AS mae_at_{{ cutoff }}
    FROM predictions
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mae' AS metric, {{ cutoff }} AS k, mae_at_{{ cutoff }} AS value, CAST(NULL AS INT64) AS n_users,
    CAST(NULL AS FLOAT64) AS std, CAST(NULL AS FLOAT64) AS ci_low, CAST(NULL AS FLOAT64) AS ci_high
FROM predictions_values
{%- endmacro %}

{% macro trino__mae(recommendations, interactions, cutoff) -%}
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
), predictions AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS DOUBLE) AS score, CAST(relevance AS DOUBLE) AS relevance
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), predictions_values AS (
    -- one row per run with predictions
    SELECT AVG(CASE WHEN rank <= {{ cutoff }} THEN ABS(score - relevance) END) AS mae_at_{{ cutoff }}
    FROM predictions
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mae' AS metric, {{ cutoff }} AS k, mae_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM predictions_values
{%- endmacro %}

{% macro athena__mae(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__mae(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__mae(recommendations, interactions, cutoff) -%}
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
), predictions AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank AS rank, CAST(ranked.score AS Nullable(Float64)) AS score,
        CAST(relevance AS Nullable(Float64)) AS relevance
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), predictions_values AS (
    -- one row per run with predictions
    SELECT AVG(CASE WHEN rank <= {{ cutoff }} THEN ABS(score - relevance) END) AS mae_at_{{ cutoff }}
    FROM predictions
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mae' AS metric, {{ cutoff }} AS k, mae_at_{{ cutoff }} AS value, CAST(NULL AS Nullable(Int64)) AS n_users,
    CAST(NULL AS Nullable(Float64)) AS std, CAST(NULL AS Nullable(Float64)) AS ci_low,
    CAST(NULL AS Nullable(Float64)) AS ci_high
FROM predictions_values
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__mae(recommendations, interactions, cutoff) -%}
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
), predictions AS (
    -- one row per recommended item that is judged
    SELECT
        ranked.rank, CAST(ranked.score AS DOUBLE PRECISION) AS score,
        CAST(relevance AS DOUBLE PRECISION) AS relevance
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), predictions_values AS (
    -- one row per run with predictions
    SELECT AVG(CASE WHEN rank <= {{ cutoff }} THEN ABS(score - relevance) END) AS mae_at_{{ cutoff }}
    FROM predictions
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'mae' AS metric, {{ cutoff }} AS k, mae_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE PRECISION) AS std, CAST(NULL AS DOUBLE PRECISION) AS ci_low,
    CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM predictions_values
{%- endmacro %}
