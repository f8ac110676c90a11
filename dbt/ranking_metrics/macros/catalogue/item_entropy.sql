{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Entropy of the recommended items
  Formula: - sum over the recommended items of p · log2 p, where p is the share of the item in all
    places of the top k of all lists.
  Undefined: scale=normalised, and the catalogue has only one item.
  Source: distributional_coverage in recommenders; SEntropy in Elliot.
-#}

{% macro item_entropy(
    recommendations=none, cutoff=none, user_column='user_id', item_column='item_id',
    rank_column='rank', score_column=none
) -%}
{%- do ranking_metrics._check_cutoff('item_entropy', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'item_entropy', recommendations, user_column, item_column, rank_column, score_column
) -%}
{{ adapter.dispatch('item_entropy', 'ranking_metrics')(recommendations, cutoff) }}
{%- endmacro %}

{% test item_entropy_at_least(
    model, cutoff=none, threshold=none, user_column='user_id', item_column='item_id',
    rank_column='rank', score_column=none
) -%}
{%- set result = ranking_metrics.item_entropy(model, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column) -%}
{{ ranking_metrics._at_least('item_entropy', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__item_entropy(recommendations, cutoff) -%}
{{ ranking_metrics._no_sql('item_entropy') }}
{%- endmacro %}

{% macro duckdb__item_entropy(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT item_id, CAST(rank AS BIGINT) AS rank FROM recommendations
), exposures AS (
    -- one row per item that a model recommends
    SELECT item_id, count(*) AS exposure
    FROM ranked
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
    GROUP BY item_id
), entropies AS (
    -- one row per model, with the entropy in bits
    SELECT log2(sum(exposure)) - sum(exposure * log2(exposure)) / sum(exposure) AS entropy
    FROM exposures
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'item_entropy' AS metric, {{ cutoff }} AS k, entropy AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM entropies
{%- endmacro %}

{% macro spark__item_entropy(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT item_id, CAST(rank AS BIGINT) AS rank FROM recommendations
), exposures AS (
    -- one row per item that a model recommends
    SELECT item_id, COUNT(*) AS exposure
    FROM ranked
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
    GROUP BY item_id
), entropies AS (
    -- one row per model, with the entropy in bits
    SELECT
        LOG(2, SUM(exposure)) - CAST(SUM(exposure * LOG(2, exposure)) AS DOUBLE) / SUM(exposure)
            AS entropy
    FROM exposures
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'item_entropy' AS metric, {{ cutoff }} AS k, entropy AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM entropies
{%- endmacro %}

{% macro snowflake__item_entropy(recommendations, cutoff) -%}
{{ ranking_metrics.spark__item_entropy(recommendations, cutoff) }}
{%- endmacro %}

{% macro trino__item_entropy(recommendations, cutoff) -%}
{{ ranking_metrics.spark__item_entropy(recommendations, cutoff) }}
{%- endmacro %}

{% macro athena__item_entropy(recommendations, cutoff) -%}
{{ ranking_metrics.spark__item_entropy(recommendations, cutoff) }}
{%- endmacro %}

{% macro bigquery__item_entropy(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT item_id, CAST(rank AS INT64) AS rank FROM recommendations
), exposures AS (
    -- one row per item that a model recommends
    SELECT item_id, COUNT(*) AS exposure
    FROM ranked
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
    GROUP BY item_id
), entropies AS (
    -- one row per model, with the entropy in bits
    SELECT
        LOG(SUM(exposure), 2) - CAST(SUM(exposure * LOG(exposure, 2)) AS FLOAT64) / SUM(exposure)
            AS entropy
    FROM exposures
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'item_entropy' AS metric, {{ cutoff }} AS k, entropy AS value, CAST(NULL AS INT64) AS n_users,
    CAST(NULL AS FLOAT64) AS std, CAST(NULL AS FLOAT64) AS ci_low, CAST(NULL AS FLOAT64) AS ci_high
FROM entropies
{%- endmacro %}

{% macro clickhouse__item_entropy(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT item_id, CAST(rank AS Nullable(Int64)) AS rank FROM recommendations
), exposures AS (
    -- one row per item that a model recommends
    SELECT item_id, CAST(COUNT(*) AS Nullable(Int64)) AS exposure
    FROM ranked
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
    GROUP BY item_id
), entropies AS (
    -- one row per model, with the entropy in bits
    SELECT
        log2(SUM(exposure)) - CAST(SUM(exposure * log2(exposure)) AS Nullable(Float64))
            / SUM(exposure) AS entropy
    FROM exposures
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'item_entropy' AS metric, {{ cutoff }} AS k, entropy AS value, CAST(NULL AS Nullable(Int64)) AS n_users,
    CAST(NULL AS Nullable(Float64)) AS std, CAST(NULL AS Nullable(Float64)) AS ci_low,
    CAST(NULL AS Nullable(Float64)) AS ci_high
FROM entropies
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__item_entropy(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT item_id, CAST(rank AS BIGINT) AS rank FROM recommendations
), exposures AS (
    -- one row per item that a model recommends
    SELECT item_id, COUNT(*) AS exposure
    FROM ranked
    WHERE rank <= {{ cutoff }} AND rank <= {{ cutoff }}
    GROUP BY item_id
), entropies AS (
    -- one row per model, with the entropy in bits
    SELECT
        (
            LN(NULLIF(CAST(SUM(exposure) AS DOUBLE PRECISION), 0)) / LN(CAST(2 AS DOUBLE PRECISION))
        ) - CAST(SUM(
            exposure * (
                LN(NULLIF(CAST(exposure AS DOUBLE PRECISION), 0)) / LN(CAST(2 AS DOUBLE PRECISION))
            )
        ) AS DOUBLE PRECISION) / SUM(exposure) AS entropy
    FROM exposures
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'item_entropy' AS metric, {{ cutoff }} AS k, entropy AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE PRECISION) AS std, CAST(NULL AS DOUBLE PRECISION) AS ci_low,
    CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM entropies
{%- endmacro %}
