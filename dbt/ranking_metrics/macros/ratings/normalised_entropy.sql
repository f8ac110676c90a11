{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Normalised entropy
  Formula: log loss / entropy of the base rate, where the base rate is the share of relevant items
    among the judged items in the top k of all lists; 1 minus the value is the relative
    information gain.
  Undefined: the judged items in the top k of all lists are all relevant, or none of them is.
  Source: He et al.: Practical lessons from predicting clicks on ads at Facebook, ADKDD 2014.
-#}

{% macro normalised_entropy(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', score_column='score', relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('normalised_entropy', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'normalised_entropy', recommendations, user_column, item_column, none, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'normalised_entropy', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('normalised_entropy', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test normalised_entropy_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', score_column='score', relevance_column=none
) -%}
{%- set result = ranking_metrics.normalised_entropy(model, interactions, cutoff,
    user_column=user_column, item_column=item_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('normalised_entropy', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__normalised_entropy(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('normalised_entropy') }}
{%- endmacro %}

{% macro duckdb__normalised_entropy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, count(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        'recommendations' AS model,
        greatest(least(CAST(ranked.score AS DOUBLE), 1 - 1e-15), 1e-15) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), losses AS (
    -- one row per model, with its log loss and the share of relevant items
    SELECT
        model,
        sum(-ln(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END)) / count(*)
            AS loss,
        sum(is_relevant) / count(*) AS base_rate
    FROM probabilities_at_cutoffs
    GROUP BY model
), normalised_entropy_values AS (
    -- one row per key, with one column per cutoff of normalised_entropy
    SELECT
        model,
        CASE
            WHEN base_rate > 0 AND base_rate < 1
            THEN -loss / nullif(base_rate * ln(base_rate) + (1 - base_rate) * ln(1 - base_rate), 0)
        END AS normalised_entropy_at_{{ cutoff }}
    FROM losses
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'normalised_entropy' AS metric, {{ cutoff }} AS k, normalised_entropy_at_{{ cutoff }} AS value,
    CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM models
LEFT JOIN normalised_entropy_values USING (model)
{%- endmacro %}

{% macro spark__normalised_entropy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, COUNT(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id NULLS LAST) AS rank
    FROM recommendations
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        'recommendations' AS model,
        GREATEST(
            LEAST(CAST(ranked.score AS DOUBLE), 1 - CAST(1e-15 AS DOUBLE)), CAST(1e-15 AS DOUBLE)
        ) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), losses AS (
    -- one row per model, with its log loss and the share of relevant items
    SELECT
        model,
        CAST(SUM(-LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END))
            AS DOUBLE) / COUNT(*) AS loss,
        CAST(SUM(is_relevant) AS DOUBLE) / COUNT(*) AS base_rate
    FROM probabilities_at_cutoffs
    GROUP BY model
), normalised_entropy_values AS (
    -- one row per key, with one column per cutoff of normalised_entropy
    SELECT
        model,
        CASE
            WHEN base_rate > 0 AND base_rate < 1
            THEN CAST(-loss AS DOUBLE) / NULLIF(base_rate * LN(base_rate) + (
                1 - base_rate
            ) * LN(1 - base_rate), 0)
        END AS normalised_entropy_at_{{ cutoff }}
    FROM losses
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'normalised_entropy' AS metric, {{ cutoff }} AS k, normalised_entropy_at_{{ cutoff }} AS value,
    CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM models
LEFT JOIN normalised_entropy_values USING (model)
{%- endmacro %}

{% macro snowflake__normalised_entropy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, COUNT(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        'recommendations' AS model,
        GREATEST_IGNORE_NULLS(
            LEAST_IGNORE_NULLS(CAST(ranked.score AS DOUBLE), 1 - CAST(1e-15 AS DOUBLE)),
            CAST(1e-15 AS DOUBLE)
        ) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), losses AS (
    -- one row per model, with its log loss and the share of relevant items
    SELECT
        model,
        CAST(SUM(-LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END))
            AS DOUBLE) / COUNT(*) AS loss,
        CAST(SUM(is_relevant) AS DOUBLE) / COUNT(*) AS base_rate
    FROM probabilities_at_cutoffs
    GROUP BY model
), normalised_entropy_values AS (
    -- one row per key, with one column per cutoff of normalised_entropy
    SELECT
        model,
        CASE
            WHEN base_rate > 0 AND base_rate < 1
            THEN CAST(-loss AS DOUBLE) / NULLIF(base_rate * LN(base_rate) + (
                1 - base_rate
            ) * LN(1 - base_rate), 0)
        END AS normalised_entropy_at_{{ cutoff }}
    FROM losses
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'normalised_entropy' AS metric, {{ cutoff }} AS k, normalised_entropy_at_{{ cutoff }} AS value,
    CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM models
LEFT JOIN normalised_entropy_values USING (model)
{%- endmacro %}

{% macro bigquery__normalised_entropy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, COUNT(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        'recommendations' AS model,
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
    WHERE ranked.rank <= {{ cutoff }}
), losses AS (
    -- one row per model, with its log loss and the share of relevant items
    SELECT
        model,
        CAST(SUM(-LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END))
            AS FLOAT64) / COUNT(*) AS loss,
        CAST(SUM(is_relevant) AS FLOAT64) / COUNT(*) AS base_rate
    FROM probabilities_at_cutoffs
    GROUP BY model
), normalised_entropy_values AS (
    -- one row per key, with one column per cutoff of normalised_entropy
    SELECT
        model,
        CASE
            WHEN base_rate > 0 AND base_rate < 1
            THEN CAST(-loss AS FLOAT64) / NULLIF(base_rate * LN(base_rate) + (
                1 - base_rate
            ) * LN(1 - base_rate), 0)
        END AS normalised_entropy_at_{{ cutoff }}
    FROM losses
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'normalised_entropy' AS metric, {{ cutoff }} AS k, normalised_entropy_at_{{ cutoff }} AS value,
    CAST(NULL AS INT64) AS n_users, CAST(NULL AS FLOAT64) AS std, CAST(NULL AS FLOAT64) AS ci_low,
    CAST(NULL AS FLOAT64) AS ci_high
FROM models
LEFT JOIN normalised_entropy_values USING (model)
{%- endmacro %}

{% macro trino__normalised_entropy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, COUNT(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        'recommendations' AS model,
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
    WHERE ranked.rank <= {{ cutoff }}
), losses AS (
    -- one row per model, with its log loss and the share of relevant items
    SELECT
        model,
        CAST(SUM(-LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END))
            AS DOUBLE) / COUNT(*) AS loss,
        CAST(SUM(is_relevant) AS DOUBLE) / COUNT(*) AS base_rate
    FROM probabilities_at_cutoffs
    GROUP BY model
), normalised_entropy_values AS (
    -- one row per key, with one column per cutoff of normalised_entropy
    SELECT
        model,
        CASE
            WHEN base_rate > 0 AND base_rate < 1
            THEN CAST(-loss AS DOUBLE) / NULLIF(base_rate * LN(base_rate) + (
                1 - base_rate
            ) * LN(1 - base_rate), 0)
        END AS normalised_entropy_at_{{ cutoff }}
    FROM losses
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'normalised_entropy' AS metric, {{ cutoff }} AS k, normalised_entropy_at_{{ cutoff }} AS value,
    CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM models
LEFT JOIN normalised_entropy_values USING (model)
{%- endmacro %}

{% macro athena__normalised_entropy(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__normalised_entropy(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__normalised_entropy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, CAST(COUNT(*) AS Nullable(Int64)) AS n_lists
    FROM recommendation_profile
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
        'recommendations' AS model,
        GREATEST(
            LEAST(CAST(ranked.score AS Nullable(Float64)), 1 - CAST(1e-15 AS Nullable(Float64))),
            CAST(1e-15 AS Nullable(Float64))
        ) AS probability,
        CASE WHEN CAST(relevance AS Nullable(Float64)) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), losses AS (
    -- one row per model, with its log loss and the share of relevant items
    SELECT
        model,
        CAST(SUM(-LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END))
            AS Nullable(Float64)) / CAST(COUNT(*) AS Nullable(Int64)) AS loss,
        CAST(SUM(is_relevant) AS Nullable(Float64)) / CAST(COUNT(*) AS Nullable(Int64)) AS base_rate
    FROM probabilities_at_cutoffs
    GROUP BY model
), normalised_entropy_values AS (
    -- one row per key, with one column per cutoff of normalised_entropy
    SELECT
        model,
        CASE
            WHEN base_rate > 0 AND base_rate < 1
            THEN CAST(-loss AS Nullable(Float64)) / nullIf(base_rate * LN(base_rate) + (
                1 - base_rate
            ) * LN(1 - base_rate), 0)
        END AS normalised_entropy_at_{{ cutoff }}
    FROM losses
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'normalised_entropy' AS metric, {{ cutoff }} AS k, normalised_entropy_at_{{ cutoff }} AS value,
    CAST(NULL AS Nullable(Int64)) AS n_users, CAST(NULL AS Nullable(Float64)) AS std,
    CAST(NULL AS Nullable(Float64)) AS ci_low, CAST(NULL AS Nullable(Float64)) AS ci_high
FROM models
LEFT JOIN normalised_entropy_values USING (model)
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__normalised_entropy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, COUNT(*) AS n_lists FROM recommendation_profile
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), probabilities_at_cutoffs AS (
    -- one row per row of probabilities and cutoff that includes it
    SELECT
        'recommendations' AS model,
        GREATEST(
            LEAST(CAST(ranked.score AS DOUBLE PRECISION), 1 - CAST(1e-15 AS DOUBLE PRECISION)),
            CAST(1e-15 AS DOUBLE PRECISION)
        ) AS probability,
        CASE WHEN CAST(relevance AS DOUBLE PRECISION) > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM ranked
    INNER JOIN interactions AS judged USING (user_id, item_id)
    WHERE ranked.rank <= {{ cutoff }}
), losses AS (
    -- one row per model, with its log loss and the share of relevant items
    SELECT
        model,
        CAST(SUM(-LN(CASE WHEN is_relevant = 1 THEN probability ELSE 1 - probability END))
            AS DOUBLE PRECISION) / COUNT(*) AS loss,
        CAST(SUM(is_relevant) AS DOUBLE PRECISION) / COUNT(*) AS base_rate
    FROM probabilities_at_cutoffs
    GROUP BY model
), normalised_entropy_values AS (
    -- one row per key, with one column per cutoff of normalised_entropy
    SELECT
        model,
        CASE
            WHEN base_rate > 0 AND base_rate < 1
            THEN CAST(-loss AS DOUBLE PRECISION) / NULLIF(base_rate * LN(base_rate) + (
                1 - base_rate
            ) * LN(1 - base_rate), 0)
        END AS normalised_entropy_at_{{ cutoff }}
    FROM losses
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'normalised_entropy' AS metric, {{ cutoff }} AS k, normalised_entropy_at_{{ cutoff }} AS value,
    CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE PRECISION) AS std,
    CAST(NULL AS DOUBLE PRECISION) AS ci_low, CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM models
LEFT JOIN normalised_entropy_values USING (model)
{%- endmacro %}
