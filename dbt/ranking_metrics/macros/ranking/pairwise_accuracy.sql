{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Pairwise accuracy
  Formula: share of the pairs of judged items in the top k with different relevance in which the
    item with the higher relevance has the higher score; pairs with equal scores count 0. Lists
    ordered by rank or row are compared by position instead of score.
  Undefined: all judged items in the top k have the same relevance, or there is none.
  Source: ordered pair accuracy (OPAMetric) in TF-Ranking; Accuracy in ir_measures (pairs=binary,
    among=list).
-#}

{% macro pairwise_accuracy(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('pairwise_accuracy', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'pairwise_accuracy', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'pairwise_accuracy', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('pairwise_accuracy', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test pairwise_accuracy_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.pairwise_accuracy(model, interactions, cutoff,
    user_column=user_column, item_column=item_column, rank_column=rank_column,
    score_column=score_column, relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('pairwise_accuracy', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__pairwise_accuracy(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('pairwise_accuracy') }}
{%- endmacro %}

{% macro duckdb__pairwise_accuracy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), graded_items AS (
    -- one row per recommended item that is judged
    SELECT user_id, rank, score AS predicted, relevance AS grade
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), graded_pairs AS (
    -- one row per item of a list, compared with every item above it
    SELECT
        lower_item.user_id, lower_item.rank,
        count(
            CASE
                WHEN upper_item.grade > lower_item.grade
                AND upper_item.predicted > lower_item.predicted
                THEN 1
            END
        ) AS n_ordered,
        count(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        sum(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END)
            / nullif(sum(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS pairwise_accuracy_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_value,
        count(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_n,
        stddev_samp(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pairwise_accuracy' AS metric, {{ cutoff }} AS k, pairwise_accuracy_at_{{ cutoff }}_value AS value,
    pairwise_accuracy_at_{{ cutoff }}_n AS n_users, pairwise_accuracy_at_{{ cutoff }}_std AS std,
    pairwise_accuracy_at_{{ cutoff }}_value - 1.9599639845400536 * pairwise_accuracy_at_{{ cutoff }}_std
        / sqrt(pairwise_accuracy_at_{{ cutoff }}_n) AS ci_low,
    pairwise_accuracy_at_{{ cutoff }}_value + 1.9599639845400536 * pairwise_accuracy_at_{{ cutoff }}_std
        / sqrt(pairwise_accuracy_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__pairwise_accuracy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id NULLS LAST) AS rank
    FROM recommendations
), graded_items AS (
    -- one row per recommended item that is judged
    SELECT user_id, rank, score AS predicted, relevance AS grade
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), graded_pairs AS (
    -- one row per item of a list, compared with every item above it
    SELECT
        lower_item.user_id, lower_item.rank,
        COUNT(
            CASE
                WHEN upper_item.grade > lower_item.grade
                AND upper_item.predicted > lower_item.predicted
                THEN 1
            END
        ) AS n_ordered,
        COUNT(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END) AS DOUBLE)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS pairwise_accuracy_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_value,
        COUNT(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_n,
        STDDEV_SAMP(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pairwise_accuracy' AS metric, {{ cutoff }} AS k, pairwise_accuracy_at_{{ cutoff }}_value AS value,
    pairwise_accuracy_at_{{ cutoff }}_n AS n_users, pairwise_accuracy_at_{{ cutoff }}_std AS std,
    pairwise_accuracy_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE)
        * pairwise_accuracy_at_{{ cutoff }}_std / NULLIF(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_low,
    pairwise_accuracy_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE)
        * pairwise_accuracy_at_{{ cutoff }}_std / NULLIF(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__pairwise_accuracy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), graded_items AS (
    -- one row per recommended item that is judged
    SELECT user_id, rank, score AS predicted, relevance AS grade
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), graded_pairs AS (
    -- one row per item of a list, compared with every item above it
    SELECT
        lower_item.user_id, lower_item.rank,
        COUNT(
            CASE
                WHEN upper_item.grade > lower_item.grade
                AND upper_item.predicted > lower_item.predicted
                THEN 1
            END
        ) AS n_ordered,
        COUNT(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END) AS DOUBLE)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS pairwise_accuracy_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_value,
        COUNT(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_n,
        STDDEV_SAMP(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pairwise_accuracy' AS metric, {{ cutoff }} AS k, pairwise_accuracy_at_{{ cutoff }}_value AS value,
    pairwise_accuracy_at_{{ cutoff }}_n AS n_users, pairwise_accuracy_at_{{ cutoff }}_std AS std,
    pairwise_accuracy_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE)
        * pairwise_accuracy_at_{{ cutoff }}_std / NULLIF(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_low,
    pairwise_accuracy_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE)
        * pairwise_accuracy_at_{{ cutoff }}_std / NULLIF(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__pairwise_accuracy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS FLOAT64) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), graded_items AS (
    -- one row per recommended item that is judged
    SELECT user_id, rank, score AS predicted, relevance AS grade
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), graded_pairs AS (
    -- one row per item of a list, compared with every item above it
    SELECT
        lower_item.user_id, lower_item.rank,
        COUNT(
            CASE
                WHEN upper_item.grade > lower_item.grade
                AND upper_item.predicted > lower_item.predicted
                THEN 1
            END
        ) AS n_ordered,
        COUNT(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END) AS FLOAT64)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS pairwise_accuracy_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_value,
        COUNT(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_n,
        STDDEV_SAMP(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pairwise_accuracy' AS metric, {{ cutoff }} AS k, pairwise_accuracy_at_{{ cutoff }}_value AS value,
    pairwise_accuracy_at_{{ cutoff }}_n AS n_users, pairwise_accuracy_at_{{ cutoff }}_std AS std,
    pairwise_accuracy_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64)
        * pairwise_accuracy_at_{{ cutoff }}_std / NULLIF(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_low,
    pairwise_accuracy_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64)
        * pairwise_accuracy_at_{{ cutoff }}_std / NULLIF(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__pairwise_accuracy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), graded_items AS (
    -- one row per recommended item that is judged
    SELECT user_id, rank, score AS predicted, relevance AS grade
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), graded_pairs AS (
    -- one row per item of a list, compared with every item above it
    SELECT
        lower_item.user_id, lower_item.rank,
        COUNT(
            CASE
                WHEN upper_item.grade > lower_item.grade
                AND upper_item.predicted > lower_item.predicted
                THEN 1
            END
        ) AS n_ordered,
        COUNT(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END) AS DOUBLE)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS pairwise_accuracy_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_value,
        COUNT(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_n,
        STDDEV_SAMP(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pairwise_accuracy' AS metric, {{ cutoff }} AS k, pairwise_accuracy_at_{{ cutoff }}_value AS value,
    pairwise_accuracy_at_{{ cutoff }}_n AS n_users, pairwise_accuracy_at_{{ cutoff }}_std AS std,
    pairwise_accuracy_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE)
        * pairwise_accuracy_at_{{ cutoff }}_std / NULLIF(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_low,
    pairwise_accuracy_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE)
        * pairwise_accuracy_at_{{ cutoff }}_std / NULLIF(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__pairwise_accuracy(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__pairwise_accuracy(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__pairwise_accuracy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS Nullable(Float64)) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        CAST(ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id)
            AS Nullable(Int64)) AS rank
    FROM recommendations
), graded_items AS (
    -- one row per recommended item that is judged
    SELECT user_id, rank, score AS predicted, relevance AS grade
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), graded_pairs AS (
    -- one row per item of a list, compared with every item above it
    SELECT
        lower_item.user_id AS user_id, lower_item.rank AS rank,
        CAST(COUNT(
            CASE
                WHEN upper_item.grade > lower_item.grade
                AND upper_item.predicted > lower_item.predicted
                THEN 1
            END
        ) AS Nullable(Int64)) AS n_ordered,
        CAST(COUNT(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS Nullable(Int64))
            AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END) AS Nullable(Float64))
            / nullIf(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS pairwise_accuracy_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_value,
        CAST(COUNT(pairwise_accuracy_at_{{ cutoff }}) AS Nullable(Int64)) AS pairwise_accuracy_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(pairwise_accuracy_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(pairwise_accuracy_at_{{ cutoff }})
        END AS pairwise_accuracy_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pairwise_accuracy' AS metric, {{ cutoff }} AS k, pairwise_accuracy_at_{{ cutoff }}_value AS value,
    pairwise_accuracy_at_{{ cutoff }}_n AS n_users, pairwise_accuracy_at_{{ cutoff }}_std AS std,
    pairwise_accuracy_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * pairwise_accuracy_at_{{ cutoff }}_std / nullIf(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_low,
    pairwise_accuracy_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * pairwise_accuracy_at_{{ cutoff }}_std / nullIf(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__pairwise_accuracy(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE PRECISION) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), graded_items AS (
    -- one row per recommended item that is judged
    SELECT user_id, rank, score AS predicted, relevance AS grade
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), graded_pairs AS (
    -- one row per item of a list, compared with every item above it
    SELECT
        lower_item.user_id, lower_item.rank,
        COUNT(
            CASE
                WHEN upper_item.grade > lower_item.grade
                AND upper_item.predicted > lower_item.predicted
                THEN 1
            END
        ) AS n_ordered,
        COUNT(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END) AS DOUBLE PRECISION)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS pairwise_accuracy_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_value,
        COUNT(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_n,
        STDDEV_SAMP(pairwise_accuracy_at_{{ cutoff }}) AS pairwise_accuracy_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pairwise_accuracy' AS metric, {{ cutoff }} AS k, pairwise_accuracy_at_{{ cutoff }}_value AS value,
    pairwise_accuracy_at_{{ cutoff }}_n AS n_users, pairwise_accuracy_at_{{ cutoff }}_std AS std,
    pairwise_accuracy_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * pairwise_accuracy_at_{{ cutoff }}_std / NULLIF(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_low,
    pairwise_accuracy_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * pairwise_accuracy_at_{{ cutoff }}_std / NULLIF(SQRT(pairwise_accuracy_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
