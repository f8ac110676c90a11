{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Inferred average precision
  Formula: sum over the hits in the top k of (1 + d · (R + 0.00001) / (R + N + 0.00002)) / rank,
    divided by the number of relevant items; above the hit, d items are in the pool (have a row in
    the interactions), R are relevant and N are judged not relevant. An item with a relevance
    below judged_from is in the pool without a judgement.
  Source: Yilmaz, Aslam: Estimating average precision with incomplete and imperfect judgments,
    CIKM 2006; infAP in trec_eval.
-#}

{% macro inf_ap(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('inf_ap', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'inf_ap', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'inf_ap', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('inf_ap', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test inf_ap_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.inf_ap(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('inf_ap', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__inf_ap(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('inf_ap') }}
{%- endmacro %}

{% macro duckdb__inf_ap(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, count(*) AS n_relevant
    FROM interactions
    WHERE CAST(relevance AS DOUBLE) > 0
    GROUP BY user_id
), pool AS (
    -- one row per (user, item) of the interactions
    SELECT user_id, item_id, max(CAST(relevance AS DOUBLE)) AS relevance
    FROM interactions
    GROUP BY user_id, item_id
), pooled AS (
    -- one row per recommended item in the pool
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        CASE WHEN pool.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN pool USING (user_id, item_id)
), counted AS (
    -- one row per pooled item of a list, with the numbers of pooled items above it
    SELECT
        user_id, rank, is_relevant,
        count(*) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_pooled_above,
        count(CASE WHEN is_relevant = 1 THEN 1 END) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_relevant_above,
        count(CASE WHEN is_relevant = 0 THEN 1 END) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_nonrelevant_above
    FROM pooled
), pool_hits AS (
    -- one row per hit
    SELECT user_id, rank, n_pooled_above, n_relevant_above, n_nonrelevant_above, n_relevant
    FROM counted
    INNER JOIN relevant_users USING (user_id)
    WHERE is_relevant = 1
), pool_hits_values AS (
    -- one row per user with pool_hits
    SELECT
        user_id,
        CASE
            WHEN min(rank) <= {{ cutoff }}
            THEN sum(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN (
                        1 + n_pooled_above * (
                            n_relevant_above + CAST(0.00001 AS DOUBLE)
                        )
                            / nullif(n_relevant_above + n_nonrelevant_above
                            + CAST(0.00002 AS DOUBLE), 0)
                    ) / nullif(rank, 0)
                END
            ) / max(n_relevant)
            ELSE 0
        END AS inf_ap_at_{{ cutoff }}
    FROM pool_hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN pool_hits_values.user_id IS NULL THEN 0 ELSE inf_ap_at_{{ cutoff }} END AS inf_ap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN pool_hits_values ON pool_hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_value, count(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_n,
        stddev_samp(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inf_ap' AS metric, {{ cutoff }} AS k, inf_ap_at_{{ cutoff }}_value AS value, inf_ap_at_{{ cutoff }}_n AS n_users,
    inf_ap_at_{{ cutoff }}_std AS std,
    inf_ap_at_{{ cutoff }}_value - 1.9599639845400536 * inf_ap_at_{{ cutoff }}_std / sqrt(inf_ap_at_{{ cutoff }}_n)
        AS ci_low,
    inf_ap_at_{{ cutoff }}_value + 1.9599639845400536 * inf_ap_at_{{ cutoff }}_std / sqrt(inf_ap_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__inf_ap(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant
    FROM interactions
    WHERE CAST(relevance AS DOUBLE) > 0
    GROUP BY user_id
), pool AS (
    -- one row per (user, item) of the interactions
    SELECT user_id, item_id, MAX(CAST(relevance AS DOUBLE)) AS relevance
    FROM interactions
    GROUP BY user_id, item_id
), pooled AS (
    -- one row per recommended item in the pool
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        CASE WHEN pool.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN pool USING (user_id, item_id)
), counted AS (
    -- one row per pooled item of a list, with the numbers of pooled items above it
    SELECT
        user_id, rank, is_relevant,
        COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY rank NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_pooled_above,
        COUNT(CASE WHEN is_relevant = 1 THEN 1 END) OVER (
            PARTITION BY user_id
            ORDER BY rank NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_relevant_above,
        COUNT(CASE WHEN is_relevant = 0 THEN 1 END) OVER (
            PARTITION BY user_id
            ORDER BY rank NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_nonrelevant_above
    FROM pooled
), pool_hits AS (
    -- one row per hit
    SELECT user_id, rank, n_pooled_above, n_relevant_above, n_nonrelevant_above, n_relevant
    FROM counted
    INNER JOIN relevant_users USING (user_id)
    WHERE is_relevant = 1
), pool_hits_values AS (
    -- one row per user with pool_hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN (
                        1 + n_pooled_above * (
                            n_relevant_above + CAST(0.00001 AS DOUBLE)
                        )
                            / NULLIF(n_relevant_above + n_nonrelevant_above
                            + CAST(0.00002 AS DOUBLE), 0)
                    ) / NULLIF(rank, 0)
                END
            ) AS DOUBLE) / MAX(n_relevant)
            ELSE 0
        END AS inf_ap_at_{{ cutoff }}
    FROM pool_hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN pool_hits_values.user_id IS NULL THEN 0 ELSE inf_ap_at_{{ cutoff }} END AS inf_ap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN pool_hits_values ON pool_hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_value, COUNT(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_n,
        STDDEV_SAMP(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inf_ap' AS metric, {{ cutoff }} AS k, inf_ap_at_{{ cutoff }}_value AS value, inf_ap_at_{{ cutoff }}_n AS n_users,
    inf_ap_at_{{ cutoff }}_std AS std,
    inf_ap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * inf_ap_at_{{ cutoff }}_std
        / NULLIF(SQRT(inf_ap_at_{{ cutoff }}_n), 0) AS ci_low,
    inf_ap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * inf_ap_at_{{ cutoff }}_std
        / NULLIF(SQRT(inf_ap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__inf_ap(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant
    FROM interactions
    WHERE CAST(relevance AS DOUBLE) > 0
    GROUP BY user_id
), pool AS (
    -- one row per (user, item) of the interactions
    SELECT user_id, item_id, MAX(CAST(relevance AS DOUBLE)) AS relevance
    FROM interactions
    GROUP BY user_id, item_id
), pooled AS (
    -- one row per recommended item in the pool
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        CASE WHEN pool.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN pool USING (user_id, item_id)
), counted AS (
    -- one row per pooled item of a list, with the numbers of pooled items above it
    SELECT
        user_id, rank, is_relevant,
        COUNT(*) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_pooled_above,
        COUNT(CASE WHEN is_relevant = 1 THEN 1 END) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_relevant_above,
        COUNT(CASE WHEN is_relevant = 0 THEN 1 END) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_nonrelevant_above
    FROM pooled
), pool_hits AS (
    -- one row per hit
    SELECT user_id, rank, n_pooled_above, n_relevant_above, n_nonrelevant_above, n_relevant
    FROM counted
    INNER JOIN relevant_users USING (user_id)
    WHERE is_relevant = 1
), pool_hits_values AS (
    -- one row per user with pool_hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN (
                        1 + n_pooled_above * (
                            n_relevant_above + CAST(0.00001 AS DOUBLE)
                        )
                            / NULLIF(n_relevant_above + n_nonrelevant_above
                            + CAST(0.00002 AS DOUBLE), 0)
                    ) / NULLIF(rank, 0)
                END
            ) AS DOUBLE) / MAX(n_relevant)
            ELSE 0
        END AS inf_ap_at_{{ cutoff }}
    FROM pool_hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN pool_hits_values.user_id IS NULL THEN 0 ELSE inf_ap_at_{{ cutoff }} END AS inf_ap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN pool_hits_values ON pool_hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_value, COUNT(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_n,
        STDDEV_SAMP(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inf_ap' AS metric, {{ cutoff }} AS k, inf_ap_at_{{ cutoff }}_value AS value, inf_ap_at_{{ cutoff }}_n AS n_users,
    inf_ap_at_{{ cutoff }}_std AS std,
    inf_ap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * inf_ap_at_{{ cutoff }}_std
        / NULLIF(SQRT(inf_ap_at_{{ cutoff }}_n), 0) AS ci_low,
    inf_ap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * inf_ap_at_{{ cutoff }}_std
        / NULLIF(SQRT(inf_ap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__inf_ap(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__inf_ap(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__inf_ap(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__inf_ap(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__inf_ap(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant
    FROM interactions
    WHERE CAST(relevance AS FLOAT64) > 0
    GROUP BY user_id
), pool AS (
    -- one row per (user, item) of the interactions
    SELECT user_id, item_id, MAX(CAST(relevance AS FLOAT64)) AS relevance
    FROM interactions
    GROUP BY user_id, item_id
), pooled AS (
    -- one row per recommended item in the pool
    SELECT
        user_id, CAST(rank AS INT64) AS rank,
        CASE WHEN pool.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN pool USING (user_id, item_id)
), counted AS (
    -- one row per pooled item of a list, with the numbers of pooled items above it
    SELECT
        user_id, rank, is_relevant,
        COUNT(*) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_pooled_above,
        COUNT(CASE WHEN is_relevant = 1 THEN 1 END) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_relevant_above,
        COUNT(CASE WHEN is_relevant = 0 THEN 1 END) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_nonrelevant_above
    FROM pooled
), pool_hits AS (
    -- one row per hit
    SELECT user_id, rank, n_pooled_above, n_relevant_above, n_nonrelevant_above, n_relevant
    FROM counted
    INNER JOIN relevant_users USING (user_id)
    WHERE is_relevant = 1
), pool_hits_values AS (
    -- one row per user with pool_hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN (
                        1 + n_pooled_above * (
                            n_relevant_above + CAST(0.00001 AS FLOAT64)
                        )
                            / NULLIF(n_relevant_above + n_nonrelevant_above
                            + CAST(0.00002 AS FLOAT64), 0)
                    ) / NULLIF(rank, 0)
                END
            ) AS FLOAT64) / MAX(n_relevant)
            ELSE 0
        END AS inf_ap_at_{{ cutoff }}
    FROM pool_hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN pool_hits_values.user_id IS NULL THEN 0 ELSE inf_ap_at_{{ cutoff }} END AS inf_ap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN pool_hits_values ON pool_hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_value, COUNT(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_n,
        STDDEV_SAMP(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inf_ap' AS metric, {{ cutoff }} AS k, inf_ap_at_{{ cutoff }}_value AS value, inf_ap_at_{{ cutoff }}_n AS n_users,
    inf_ap_at_{{ cutoff }}_std AS std,
    inf_ap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * inf_ap_at_{{ cutoff }}_std
        / NULLIF(SQRT(inf_ap_at_{{ cutoff }}_n), 0) AS ci_low,
    inf_ap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * inf_ap_at_{{ cutoff }}_std
        / NULLIF(SQRT(inf_ap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__inf_ap(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_relevant
    FROM interactions
    WHERE CAST(relevance AS Nullable(Float64)) > 0
    GROUP BY user_id
), pool AS (
    -- one row per (user, item) of the interactions
    SELECT user_id, item_id, MAX(CAST(relevance AS Nullable(Float64))) AS relevance
    FROM interactions
    GROUP BY user_id, item_id
), pooled AS (
    -- one row per recommended item in the pool
    SELECT
        user_id, CAST(rank AS Nullable(Int64)) AS rank,
        CASE WHEN pool.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN pool USING (user_id, item_id)
), counted AS (
    -- one row per pooled item of a list, with the numbers of pooled items above it
    SELECT
        user_id, rank, is_relevant,
        CAST(COUNT(*) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS Nullable(Int64)) AS n_pooled_above,
        CAST(COUNT(CASE WHEN is_relevant = 1 THEN 1 END) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS Nullable(Int64)) AS n_relevant_above,
        CAST(COUNT(CASE WHEN is_relevant = 0 THEN 1 END) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS Nullable(Int64)) AS n_nonrelevant_above
    FROM pooled
), pool_hits AS (
    -- one row per hit
    SELECT user_id, rank, n_pooled_above, n_relevant_above, n_nonrelevant_above, n_relevant
    FROM counted
    INNER JOIN relevant_users USING (user_id)
    WHERE is_relevant = 1
), pool_hits_values AS (
    -- one row per user with pool_hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN (
                        1 + n_pooled_above * (
                            n_relevant_above + CAST(0.00001 AS Nullable(Float64))
                        )
                            / nullIf(n_relevant_above + n_nonrelevant_above
                            + CAST(0.00002 AS Nullable(Float64)), 0)
                    ) / nullIf(rank, 0)
                END
            ) AS Nullable(Float64)) / MAX(n_relevant)
            ELSE 0
        END AS inf_ap_at_{{ cutoff }}
    FROM pool_hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN pool_hits_values.user_id IS NULL THEN 0 ELSE inf_ap_at_{{ cutoff }} END AS inf_ap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN pool_hits_values ON pool_hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_value,
        CAST(COUNT(inf_ap_at_{{ cutoff }}) AS Nullable(Int64)) AS inf_ap_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(inf_ap_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(inf_ap_at_{{ cutoff }})
        END AS inf_ap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inf_ap' AS metric, {{ cutoff }} AS k, inf_ap_at_{{ cutoff }}_value AS value, inf_ap_at_{{ cutoff }}_n AS n_users,
    inf_ap_at_{{ cutoff }}_std AS std,
    inf_ap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * inf_ap_at_{{ cutoff }}_std
        / nullIf(SQRT(inf_ap_at_{{ cutoff }}_n), 0) AS ci_low,
    inf_ap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * inf_ap_at_{{ cutoff }}_std
        / nullIf(SQRT(inf_ap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__inf_ap(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant
    FROM interactions
    WHERE CAST(relevance AS DOUBLE PRECISION) > 0
    GROUP BY user_id
), pool AS (
    -- one row per (user, item) of the interactions
    SELECT user_id, item_id, MAX(CAST(relevance AS DOUBLE PRECISION)) AS relevance
    FROM interactions
    GROUP BY user_id, item_id
), pooled AS (
    -- one row per recommended item in the pool
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        CASE WHEN pool.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN pool USING (user_id, item_id)
), counted AS (
    -- one row per pooled item of a list, with the numbers of pooled items above it
    SELECT
        user_id, rank, is_relevant,
        COUNT(*) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_pooled_above,
        COUNT(CASE WHEN is_relevant = 1 THEN 1 END) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_relevant_above,
        COUNT(CASE WHEN is_relevant = 0 THEN 1 END) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS n_nonrelevant_above
    FROM pooled
), pool_hits AS (
    -- one row per hit
    SELECT user_id, rank, n_pooled_above, n_relevant_above, n_nonrelevant_above, n_relevant
    FROM counted
    INNER JOIN relevant_users USING (user_id)
    WHERE is_relevant = 1
), pool_hits_values AS (
    -- one row per user with pool_hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN (
                        1 + n_pooled_above * (
                            n_relevant_above + CAST(0.00001 AS DOUBLE PRECISION)
                        )
                            / NULLIF(n_relevant_above + n_nonrelevant_above
                            + CAST(0.00002 AS DOUBLE PRECISION), 0)
                    ) / NULLIF(rank, 0)
                END
            ) AS DOUBLE PRECISION) / MAX(n_relevant)
            ELSE 0
        END AS inf_ap_at_{{ cutoff }}
    FROM pool_hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN pool_hits_values.user_id IS NULL THEN 0 ELSE inf_ap_at_{{ cutoff }} END AS inf_ap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN pool_hits_values ON pool_hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_value, COUNT(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_n,
        STDDEV_SAMP(inf_ap_at_{{ cutoff }}) AS inf_ap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'inf_ap' AS metric, {{ cutoff }} AS k, inf_ap_at_{{ cutoff }}_value AS value, inf_ap_at_{{ cutoff }}_n AS n_users,
    inf_ap_at_{{ cutoff }}_std AS std,
    inf_ap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * inf_ap_at_{{ cutoff }}_std
        / NULLIF(SQRT(inf_ap_at_{{ cutoff }}_n), 0) AS ci_low,
    inf_ap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * inf_ap_at_{{ cutoff }}_std
        / NULLIF(SQRT(inf_ap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
