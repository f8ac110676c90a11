{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Normalised distance-based performance measure
  Formula: (contradicted pairs + half the pairs with equal scores) / all pairs, of judged items in
    the top k with different relevance; the higher score contradicts the pair if its relevance is
    lower. Lists ordered by rank or row are compared by position instead of score.
  Undefined: all judged items in the top k have the same relevance, or there is none.
  Source: Yao: Measuring retrieval effectiveness based on user preference of documents, JASIS 46
    (1995); ndpm in rexmex.
-#}

{% macro ndpm(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('ndpm', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'ndpm', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'ndpm', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('ndpm', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test ndpm_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.ndpm(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('ndpm', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__ndpm(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('ndpm') }}
{%- endmacro %}

{% macro duckdb__ndpm(recommendations, interactions, cutoff) -%}
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
        count(
            CASE
                WHEN upper_item.grade <> lower_item.grade
                AND upper_item.predicted = lower_item.predicted
                THEN 1
            END
        ) AS n_tied,
        count(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        1 - (
            sum(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END)
                + sum(CASE WHEN rank <= {{ cutoff }} THEN n_tied END) / 2
        ) / nullif(sum(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS ndpm_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_value, count(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_n,
        stddev_samp(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ndpm' AS metric, {{ cutoff }} AS k, ndpm_at_{{ cutoff }}_value AS value, ndpm_at_{{ cutoff }}_n AS n_users,
    ndpm_at_{{ cutoff }}_std AS std,
    ndpm_at_{{ cutoff }}_value - 1.9599639845400536 * ndpm_at_{{ cutoff }}_std / sqrt(ndpm_at_{{ cutoff }}_n) AS ci_low,
    ndpm_at_{{ cutoff }}_value + 1.9599639845400536 * ndpm_at_{{ cutoff }}_std / sqrt(ndpm_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__ndpm(recommendations, interactions, cutoff) -%}
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
        COUNT(
            CASE
                WHEN upper_item.grade <> lower_item.grade
                AND upper_item.predicted = lower_item.predicted
                THEN 1
            END
        ) AS n_tied,
        COUNT(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        1 - (
            SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END)
                + CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_tied END) AS DOUBLE) / 2
        ) / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS ndpm_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_value, COUNT(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_n,
        STDDEV_SAMP(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ndpm' AS metric, {{ cutoff }} AS k, ndpm_at_{{ cutoff }}_value AS value, ndpm_at_{{ cutoff }}_n AS n_users,
    ndpm_at_{{ cutoff }}_std AS std,
    ndpm_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * ndpm_at_{{ cutoff }}_std
        / NULLIF(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_low,
    ndpm_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * ndpm_at_{{ cutoff }}_std
        / NULLIF(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__ndpm(recommendations, interactions, cutoff) -%}
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
        COUNT(
            CASE
                WHEN upper_item.grade <> lower_item.grade
                AND upper_item.predicted = lower_item.predicted
                THEN 1
            END
        ) AS n_tied,
        COUNT(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        1 - (
            SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END)
                + CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_tied END) AS DOUBLE) / 2
        ) / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS ndpm_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_value, COUNT(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_n,
        STDDEV_SAMP(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ndpm' AS metric, {{ cutoff }} AS k, ndpm_at_{{ cutoff }}_value AS value, ndpm_at_{{ cutoff }}_n AS n_users,
    ndpm_at_{{ cutoff }}_std AS std,
    ndpm_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * ndpm_at_{{ cutoff }}_std
        / NULLIF(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_low,
    ndpm_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * ndpm_at_{{ cutoff }}_std
        / NULLIF(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__ndpm(recommendations, interactions, cutoff) -%}
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
        COUNT(
            CASE
                WHEN upper_item.grade <> lower_item.grade
                AND upper_item.predicted = lower_item.predicted
                THEN 1
            END
        ) AS n_tied,
        COUNT(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        1 - (
            SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END)
                + CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_tied END) AS FLOAT64) / 2
        ) / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS ndpm_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_value, COUNT(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_n,
        STDDEV_SAMP(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ndpm' AS metric, {{ cutoff }} AS k, ndpm_at_{{ cutoff }}_value AS value, ndpm_at_{{ cutoff }}_n AS n_users,
    ndpm_at_{{ cutoff }}_std AS std,
    ndpm_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * ndpm_at_{{ cutoff }}_std
        / NULLIF(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_low,
    ndpm_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * ndpm_at_{{ cutoff }}_std
        / NULLIF(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__ndpm(recommendations, interactions, cutoff) -%}
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
        COUNT(
            CASE
                WHEN upper_item.grade <> lower_item.grade
                AND upper_item.predicted = lower_item.predicted
                THEN 1
            END
        ) AS n_tied,
        COUNT(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        1 - (
            SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END)
                + CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_tied END) AS DOUBLE) / 2
        ) / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS ndpm_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_value, COUNT(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_n,
        STDDEV_SAMP(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ndpm' AS metric, {{ cutoff }} AS k, ndpm_at_{{ cutoff }}_value AS value, ndpm_at_{{ cutoff }}_n AS n_users,
    ndpm_at_{{ cutoff }}_std AS std,
    ndpm_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * ndpm_at_{{ cutoff }}_std
        / NULLIF(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_low,
    ndpm_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * ndpm_at_{{ cutoff }}_std
        / NULLIF(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__ndpm(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__ndpm(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__ndpm(recommendations, interactions, cutoff) -%}
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
        CAST(COUNT(
            CASE
                WHEN upper_item.grade <> lower_item.grade
                AND upper_item.predicted = lower_item.predicted
                THEN 1
            END
        ) AS Nullable(Int64)) AS n_tied,
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
        1 - (
            SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END)
                + CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_tied END) AS Nullable(Float64)) / 2
        ) / nullIf(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS ndpm_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_value,
        CAST(COUNT(ndpm_at_{{ cutoff }}) AS Nullable(Int64)) AS ndpm_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(ndpm_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(ndpm_at_{{ cutoff }})
        END AS ndpm_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ndpm' AS metric, {{ cutoff }} AS k, ndpm_at_{{ cutoff }}_value AS value, ndpm_at_{{ cutoff }}_n AS n_users,
    ndpm_at_{{ cutoff }}_std AS std,
    ndpm_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * ndpm_at_{{ cutoff }}_std
        / nullIf(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_low,
    ndpm_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * ndpm_at_{{ cutoff }}_std
        / nullIf(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__ndpm(recommendations, interactions, cutoff) -%}
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
        COUNT(
            CASE
                WHEN upper_item.grade <> lower_item.grade
                AND upper_item.predicted = lower_item.predicted
                THEN 1
            END
        ) AS n_tied,
        COUNT(CASE WHEN upper_item.grade <> lower_item.grade THEN 1 END) AS n_unequal
    FROM graded_items AS lower_item
    INNER JOIN graded_items AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        1 - (
            SUM(CASE WHEN rank <= {{ cutoff }} THEN n_ordered END)
                + CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_tied END) AS DOUBLE PRECISION) / 2
        ) / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_unequal END), 0) AS ndpm_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN graded_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_value, COUNT(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_n,
        STDDEV_SAMP(ndpm_at_{{ cutoff }}) AS ndpm_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ndpm' AS metric, {{ cutoff }} AS k, ndpm_at_{{ cutoff }}_value AS value, ndpm_at_{{ cutoff }}_n AS n_users,
    ndpm_at_{{ cutoff }}_std AS std,
    ndpm_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * ndpm_at_{{ cutoff }}_std
        / NULLIF(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_low,
    ndpm_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * ndpm_at_{{ cutoff }}_std
        / NULLIF(SQRT(ndpm_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
