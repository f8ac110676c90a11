{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Log loss
  Formula: mean over the judged items in the top k of all lists of -ln(p) for a relevant item and
    -ln(1 - p) for another one, where p is the predicted probability.
  Undefined: no item in the top k of all lists is judged.
  Source: log_loss in scikit-learn; LogLoss in RecBole.
-#}

{% macro log_loss(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', score_column='score', relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('log_loss', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'log_loss', recommendations, user_column, item_column, none, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'log_loss', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('log_loss', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test log_loss_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', score_column='score', relevance_column=none
) -%}
{%- set result = ranking_metrics.log_loss(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, score_column=score_column, relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('log_loss', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__log_loss(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('log_loss') }}
{%- endmacro %}

{% macro duckdb__log_loss(recommendations, interactions, cutoff) -%}
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
        ranked.rank, greatest(least(CAST(ranked.score AS DOUBLE), 1 - 1e-15), 1e-15) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        sum(
            CASE
                WHEN rank <= {{ cutoff }}
                THEN -ln(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END)
            END
        ) / nullif(count(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0) AS log_loss_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'log_loss' AS metric, {{ cutoff }} AS k, log_loss_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro spark__log_loss(recommendations, interactions, cutoff) -%}
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
        ranked.rank,
        GREATEST(
            LEAST(CAST(ranked.score AS DOUBLE), 1 - CAST(1e-15 AS DOUBLE)), CAST(1e-15 AS DOUBLE)
        ) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }}
                THEN -LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END)
            END
        ) AS DOUBLE) / NULLIF(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0) AS log_loss_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'log_loss' AS metric, {{ cutoff }} AS k, log_loss_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro snowflake__log_loss(recommendations, interactions, cutoff) -%}
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
        ranked.rank,
        GREATEST_IGNORE_NULLS(
            LEAST_IGNORE_NULLS(CAST(ranked.score AS DOUBLE), 1 - CAST(1e-15 AS DOUBLE)),
            CAST(1e-15 AS DOUBLE)
        ) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }}
                THEN -LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END)
            END
        ) AS DOUBLE) / NULLIF(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0) AS log_loss_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'log_loss' AS metric, {{ cutoff }} AS k, log_loss_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro bigquery__log_loss(recommendations, interactions, cutoff) -%}
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
        ranked.rank,
        GREATEST(
            COALESCE(
                LEAST(
                    COALESCE(CAST(ranked.score AS FLOAT64), 1 - CAST(1e-15 AS FLOAT64)),
                    COALESCE(1 - CAST(1e-15 AS FLOAT64), CAST(ranked.score AS FLOAT64))
                ),
                CAST(1e-15 AS FLOAT64)
            ),
            COALESCE(
                CAST(1e-15 AS FLOAT64),
                LEAST(
                    COALESCE(CAST(ranked.score AS FLOAT64), 1 - CAST(1e-15 AS FLOAT64)),
                    COALESCE(1 - CAST(1e-15 AS FLOAT64), CAST(ranked.score AS FLOAT64))
                )
            )
        ) AS probability,
        CASE WHEN CAST(relevance AS FLOAT64) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }}
                THEN -LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END)
            END
        ) AS FLOAT64) / NULLIF(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0) AS log_loss_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'log_loss' AS metric, {{ cutoff }} AS k, log_loss_at_{{ cutoff }} AS value, CAST(NULL AS INT64) AS n_users,
    CAST(NULL AS FLOAT64) AS std, CAST(NULL AS FLOAT64) AS ci_low, CAST(NULL AS FLOAT64) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro trino__log_loss(recommendations, interactions, cutoff) -%}
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
        ranked.rank,
        GREATEST(
            COALESCE(
                LEAST(
                    COALESCE(CAST(ranked.score AS DOUBLE), 1 - CAST(1e-15 AS DOUBLE)),
                    COALESCE(1 - CAST(1e-15 AS DOUBLE), CAST(ranked.score AS DOUBLE))
                ),
                CAST(1e-15 AS DOUBLE)
            ),
            COALESCE(
                CAST(1e-15 AS DOUBLE),
                LEAST(
                    COALESCE(CAST(ranked.score AS DOUBLE), 1 - CAST(1e-15 AS DOUBLE)),
                    COALESCE(1 - CAST(1e-15 AS DOUBLE), CAST(ranked.score AS DOUBLE))
                )
            )
        ) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }}
                THEN -LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END)
            END
        ) AS DOUBLE) / NULLIF(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0) AS log_loss_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'log_loss' AS metric, {{ cutoff }} AS k, log_loss_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM probabilities_values
{%- endmacro %}

{% macro athena__log_loss(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__log_loss(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__log_loss(recommendations, interactions, cutoff) -%}
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
        ranked.rank AS rank,
        GREATEST(
            LEAST(CAST(ranked.score AS Nullable(Float64)), 1 - CAST(1e-15 AS Nullable(Float64))),
            CAST(1e-15 AS Nullable(Float64))
        ) AS probability,
        CASE WHEN CAST(relevance AS Nullable(Float64)) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }}
                THEN -LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END)
            END
        ) AS Nullable(Float64))
            / nullIf(CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS Nullable(Int64)), 0)
            AS log_loss_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'log_loss' AS metric, {{ cutoff }} AS k, log_loss_at_{{ cutoff }} AS value,
    CAST(NULL AS Nullable(Int64)) AS n_users, CAST(NULL AS Nullable(Float64)) AS std,
    CAST(NULL AS Nullable(Float64)) AS ci_low, CAST(NULL AS Nullable(Float64)) AS ci_high
FROM probabilities_values
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__log_loss(recommendations, interactions, cutoff) -%}
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
        ranked.rank,
        GREATEST(
            LEAST(CAST(ranked.score AS DOUBLE PRECISION), 1 - CAST(1e-15 AS DOUBLE PRECISION)),
            CAST(1e-15 AS DOUBLE PRECISION)
        ) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE PRECISION) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
), probabilities_values AS (
    -- one row per run with probabilities
    SELECT
        CAST(SUM(
            CASE
                WHEN rank <= {{ cutoff }}
                THEN -LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END)
            END
        ) AS DOUBLE PRECISION) / NULLIF(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END), 0)
            AS log_loss_at_{{ cutoff }}
    FROM probabilities
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'log_loss' AS metric, {{ cutoff }} AS k, log_loss_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE PRECISION) AS std, CAST(NULL AS DOUBLE PRECISION) AS ci_low,
    CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM probabilities_values
{%- endmacro %}
