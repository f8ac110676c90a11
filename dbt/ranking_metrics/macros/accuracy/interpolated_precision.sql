{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Interpolated precision
  Formula: highest precision at any rank in the top k with at least this recall; 0 if no rank
    reaches the recall.
  Source: Manning, Raghavan, Schütze: Introduction to Information Retrieval (2008), section 8.4;
    iprec_at_recall in trec_eval.
-#}

{% macro interpolated_precision(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('interpolated_precision', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'interpolated_precision', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'interpolated_precision', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('interpolated_precision', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test interpolated_precision_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.interpolated_precision(model, interactions, cutoff,
    user_column=user_column, item_column=item_column, rank_column=rank_column,
    score_column=score_column, relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('interpolated_precision', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__interpolated_precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('interpolated_precision') }}
{%- endmacro %}

{% macro duckdb__interpolated_precision(recommendations, interactions, cutoff) -%}
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
                    WHEN rank <= {{ cutoff }} AND hit_number >= CAST(0.5 AS DOUBLE) * hits.n_relevant - 1e-9
                    THEN hit_number / nullif(rank, 0)
                END
            ),
            0
        ) AS interpolated_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_value,
        count(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_n,
        stddev_samp(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'interpolated_precision' AS metric, {{ cutoff }} AS k, interpolated_precision_at_{{ cutoff }}_value AS value,
    interpolated_precision_at_{{ cutoff }}_n AS n_users, interpolated_precision_at_{{ cutoff }}_std AS std,
    interpolated_precision_at_{{ cutoff }}_value - 1.9599639845400536 * interpolated_precision_at_{{ cutoff }}_std
        / sqrt(interpolated_precision_at_{{ cutoff }}_n) AS ci_low,
    interpolated_precision_at_{{ cutoff }}_value + 1.9599639845400536 * interpolated_precision_at_{{ cutoff }}_std
        / sqrt(interpolated_precision_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__interpolated_precision(recommendations, interactions, cutoff) -%}
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
                    WHEN rank <= {{ cutoff }}
                    AND hit_number >= CAST(0.5 AS DOUBLE) * hits.n_relevant - CAST(1e-9 AS DOUBLE)
                    THEN CAST(hit_number AS DOUBLE) / NULLIF(rank, 0)
                END
            ),
            0
        ) AS interpolated_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_value,
        COUNT(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'interpolated_precision' AS metric, {{ cutoff }} AS k, interpolated_precision_at_{{ cutoff }}_value AS value,
    interpolated_precision_at_{{ cutoff }}_n AS n_users, interpolated_precision_at_{{ cutoff }}_std AS std,
    interpolated_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE)
        * interpolated_precision_at_{{ cutoff }}_std / NULLIF(SQRT(interpolated_precision_at_{{ cutoff }}_n), 0)
        AS ci_low,
    interpolated_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE)
        * interpolated_precision_at_{{ cutoff }}_std / NULLIF(SQRT(interpolated_precision_at_{{ cutoff }}_n), 0)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__interpolated_precision(recommendations, interactions, cutoff) -%}
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
                    WHEN rank <= {{ cutoff }}
                    AND hit_number >= CAST(0.5 AS DOUBLE) * hits.n_relevant - CAST(1e-9 AS DOUBLE)
                    THEN CAST(hit_number AS DOUBLE) / NULLIF(rank, 0)
                END
            ),
            0
        ) AS interpolated_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_value,
        COUNT(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'interpolated_precision' AS metric, {{ cutoff }} AS k, interpolated_precision_at_{{ cutoff }}_value AS value,
    interpolated_precision_at_{{ cutoff }}_n AS n_users, interpolated_precision_at_{{ cutoff }}_std AS std,
    interpolated_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE)
        * interpolated_precision_at_{{ cutoff }}_std / NULLIF(SQRT(interpolated_precision_at_{{ cutoff }}_n), 0)
        AS ci_low,
    interpolated_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE)
        * interpolated_precision_at_{{ cutoff }}_std / NULLIF(SQRT(interpolated_precision_at_{{ cutoff }}_n), 0)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__interpolated_precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__interpolated_precision(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__interpolated_precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__interpolated_precision(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__interpolated_precision(recommendations, interactions, cutoff) -%}
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
                    AND hit_number >= CAST(0.5 AS FLOAT64) * hits.n_relevant - CAST(1e-9 AS FLOAT64)
                    THEN CAST(hit_number AS FLOAT64) / NULLIF(rank, 0)
                END
            ),
            0
        ) AS interpolated_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_value,
        COUNT(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'interpolated_precision' AS metric, {{ cutoff }} AS k, interpolated_precision_at_{{ cutoff }}_value AS value,
    interpolated_precision_at_{{ cutoff }}_n AS n_users, interpolated_precision_at_{{ cutoff }}_std AS std,
    interpolated_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64)
        * interpolated_precision_at_{{ cutoff }}_std / NULLIF(SQRT(interpolated_precision_at_{{ cutoff }}_n), 0)
        AS ci_low,
    interpolated_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64)
        * interpolated_precision_at_{{ cutoff }}_std / NULLIF(SQRT(interpolated_precision_at_{{ cutoff }}_n), 0)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__interpolated_precision(recommendations, interactions, cutoff) -%}
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
                    AND hit_number >= CAST(0.5 AS Nullable(Float64)) * hits.n_relevant
                        - CAST(1e-9 AS Nullable(Float64))
                    THEN CAST(hit_number AS Nullable(Float64)) / nullIf(rank, 0)
                END
            ),
            0
        ) AS interpolated_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_value,
        CAST(COUNT(interpolated_precision_at_{{ cutoff }}) AS Nullable(Int64))
            AS interpolated_precision_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(interpolated_precision_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(interpolated_precision_at_{{ cutoff }})
        END AS interpolated_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'interpolated_precision' AS metric, {{ cutoff }} AS k, interpolated_precision_at_{{ cutoff }}_value AS value,
    interpolated_precision_at_{{ cutoff }}_n AS n_users, interpolated_precision_at_{{ cutoff }}_std AS std,
    interpolated_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * interpolated_precision_at_{{ cutoff }}_std / nullIf(SQRT(interpolated_precision_at_{{ cutoff }}_n), 0)
        AS ci_low,
    interpolated_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * interpolated_precision_at_{{ cutoff }}_std / nullIf(SQRT(interpolated_precision_at_{{ cutoff }}_n), 0)
        AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__interpolated_precision(recommendations, interactions, cutoff) -%}
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
                    AND hit_number >= CAST(0.5 AS DOUBLE PRECISION) * hits.n_relevant
                        - CAST(1e-9 AS DOUBLE PRECISION)
                    THEN CAST(hit_number AS DOUBLE PRECISION) / NULLIF(rank, 0)
                END
            ),
            0
        ) AS interpolated_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_value,
        COUNT(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(interpolated_precision_at_{{ cutoff }}) AS interpolated_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'interpolated_precision' AS metric, {{ cutoff }} AS k, interpolated_precision_at_{{ cutoff }}_value AS value,
    interpolated_precision_at_{{ cutoff }}_n AS n_users, interpolated_precision_at_{{ cutoff }}_std AS std,
    interpolated_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * interpolated_precision_at_{{ cutoff }}_std / NULLIF(SQRT(interpolated_precision_at_{{ cutoff }}_n), 0)
        AS ci_low,
    interpolated_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * interpolated_precision_at_{{ cutoff }}_std / NULLIF(SQRT(interpolated_precision_at_{{ cutoff }}_n), 0)
        AS ci_high
FROM totals
{%- endmacro %}
