{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Recall at fixed precision
  Formula: highest recall at any rank in the top k with at least this precision; 0 if no rank has
    the precision.
  Source: retrieval_recall_at_fixed_precision in torchmetrics.
-#}

{% macro recall_at_precision(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('recall_at_precision', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'recall_at_precision', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'recall_at_precision', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('recall_at_precision', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test recall_at_precision_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.recall_at_precision(model, interactions, cutoff,
    user_column=user_column, item_column=item_column, rank_column=rank_column,
    score_column=score_column, relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('recall_at_precision', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__recall_at_precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('recall_at_precision') }}
{%- endmacro %}

{% macro duckdb__recall_at_precision(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank, row_number() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number,
        n_relevant
    FROM hit_ranks
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        coalesce(
            max(
                CASE
                    WHEN rank <= {{ cutoff }} AND hit_number >= CAST(0.5 AS DOUBLE) * rank - 1e-9
                    THEN hit_number / hits.n_relevant
                END
            ),
            0
        ) AS recall_at_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_value,
        count(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_n,
        stddev_samp(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'recall_at_precision' AS metric, {{ cutoff }} AS k, recall_at_precision_at_{{ cutoff }}_value AS value,
    recall_at_precision_at_{{ cutoff }}_n AS n_users, recall_at_precision_at_{{ cutoff }}_std AS std,
    recall_at_precision_at_{{ cutoff }}_value - 1.9599639845400536 * recall_at_precision_at_{{ cutoff }}_std
        / sqrt(recall_at_precision_at_{{ cutoff }}_n) AS ci_low,
    recall_at_precision_at_{{ cutoff }}_value + 1.9599639845400536 * recall_at_precision_at_{{ cutoff }}_std
        / sqrt(recall_at_precision_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__recall_at_precision(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank NULLS LAST) AS hit_number, n_relevant
    FROM hit_ranks
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            MAX(
                CASE
                    WHEN rank <= {{ cutoff }} AND hit_number >= CAST(0.5 AS DOUBLE) * rank
                        - CAST(1e-9 AS DOUBLE)
                    THEN CAST(hit_number AS DOUBLE) / hits.n_relevant
                END
            ),
            0
        ) AS recall_at_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_value,
        COUNT(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'recall_at_precision' AS metric, {{ cutoff }} AS k, recall_at_precision_at_{{ cutoff }}_value AS value,
    recall_at_precision_at_{{ cutoff }}_n AS n_users, recall_at_precision_at_{{ cutoff }}_std AS std,
    recall_at_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE)
        * recall_at_precision_at_{{ cutoff }}_std / NULLIF(SQRT(recall_at_precision_at_{{ cutoff }}_n), 0)
        AS ci_low,
    recall_at_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE)
        * recall_at_precision_at_{{ cutoff }}_std / NULLIF(SQRT(recall_at_precision_at_{{ cutoff }}_n), 0)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__recall_at_precision(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number,
        n_relevant
    FROM hit_ranks
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            MAX(
                CASE
                    WHEN rank <= {{ cutoff }} AND hit_number >= CAST(0.5 AS DOUBLE) * rank
                        - CAST(1e-9 AS DOUBLE)
                    THEN CAST(hit_number AS DOUBLE) / hits.n_relevant
                END
            ),
            0
        ) AS recall_at_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_value,
        COUNT(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'recall_at_precision' AS metric, {{ cutoff }} AS k, recall_at_precision_at_{{ cutoff }}_value AS value,
    recall_at_precision_at_{{ cutoff }}_n AS n_users, recall_at_precision_at_{{ cutoff }}_std AS std,
    recall_at_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE)
        * recall_at_precision_at_{{ cutoff }}_std / NULLIF(SQRT(recall_at_precision_at_{{ cutoff }}_n), 0)
        AS ci_low,
    recall_at_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE)
        * recall_at_precision_at_{{ cutoff }}_std / NULLIF(SQRT(recall_at_precision_at_{{ cutoff }}_n), 0)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__recall_at_precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__recall_at_precision(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__recall_at_precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__recall_at_precision(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__recall_at_precision(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS FLOAT64) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS INT64) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number,
        n_relevant
    FROM hit_ranks
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            MAX(
                CASE
                    WHEN rank <= {{ cutoff }}
                    AND hit_number >= CAST(0.5 AS FLOAT64) * rank - CAST(1e-9 AS FLOAT64)
                    THEN CAST(hit_number AS FLOAT64) / hits.n_relevant
                END
            ),
            0
        ) AS recall_at_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_value,
        COUNT(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'recall_at_precision' AS metric, {{ cutoff }} AS k, recall_at_precision_at_{{ cutoff }}_value AS value,
    recall_at_precision_at_{{ cutoff }}_n AS n_users, recall_at_precision_at_{{ cutoff }}_std AS std,
    recall_at_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64)
        * recall_at_precision_at_{{ cutoff }}_std / NULLIF(SQRT(recall_at_precision_at_{{ cutoff }}_n), 0)
        AS ci_low,
    recall_at_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64)
        * recall_at_precision_at_{{ cutoff }}_std / NULLIF(SQRT(recall_at_precision_at_{{ cutoff }}_n), 0)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__recall_at_precision(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS Nullable(Float64)) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_relevant FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS Nullable(Int64)) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank,
        CAST(ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS Nullable(Int64))
            AS hit_number,
        n_relevant
    FROM hit_ranks
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            MAX(
                CASE
                    WHEN rank <= {{ cutoff }}
                    AND hit_number >= CAST(0.5 AS Nullable(Float64)) * rank
                        - CAST(1e-9 AS Nullable(Float64))
                    THEN CAST(hit_number AS Nullable(Float64)) / hits.n_relevant
                END
            ),
            0
        ) AS recall_at_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_value,
        CAST(COUNT(recall_at_precision_at_{{ cutoff }}) AS Nullable(Int64))
            AS recall_at_precision_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(recall_at_precision_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(recall_at_precision_at_{{ cutoff }})
        END AS recall_at_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'recall_at_precision' AS metric, {{ cutoff }} AS k, recall_at_precision_at_{{ cutoff }}_value AS value,
    recall_at_precision_at_{{ cutoff }}_n AS n_users, recall_at_precision_at_{{ cutoff }}_std AS std,
    recall_at_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * recall_at_precision_at_{{ cutoff }}_std / nullIf(SQRT(recall_at_precision_at_{{ cutoff }}_n), 0)
        AS ci_low,
    recall_at_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * recall_at_precision_at_{{ cutoff }}_std / nullIf(SQRT(recall_at_precision_at_{{ cutoff }}_n), 0)
        AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__recall_at_precision(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE PRECISION) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number,
        n_relevant
    FROM hit_ranks
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            MAX(
                CASE
                    WHEN rank <= {{ cutoff }}
                    AND hit_number >= CAST(0.5 AS DOUBLE PRECISION) * rank
                        - CAST(1e-9 AS DOUBLE PRECISION)
                    THEN CAST(hit_number AS DOUBLE PRECISION) / hits.n_relevant
                END
            ),
            0
        ) AS recall_at_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_value,
        COUNT(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(recall_at_precision_at_{{ cutoff }}) AS recall_at_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'recall_at_precision' AS metric, {{ cutoff }} AS k, recall_at_precision_at_{{ cutoff }}_value AS value,
    recall_at_precision_at_{{ cutoff }}_n AS n_users, recall_at_precision_at_{{ cutoff }}_std AS std,
    recall_at_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * recall_at_precision_at_{{ cutoff }}_std / NULLIF(SQRT(recall_at_precision_at_{{ cutoff }}_n), 0)
        AS ci_low,
    recall_at_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * recall_at_precision_at_{{ cutoff }}_std / NULLIF(SQRT(recall_at_precision_at_{{ cutoff }}_n), 0)
        AS ci_high
FROM totals
{%- endmacro %}
