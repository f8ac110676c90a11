{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  ROC AUC of the list
  Formula: share of the pairs of a hit and a miss in the top k in which the hit is ranked above
    the miss; 0 without a hit, 1 without a miss.
  Source: RePlay documentation, RocAuc.
-#}

{% macro roc_auc(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('roc_auc', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'roc_auc', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'roc_auc', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('roc_auc', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test roc_auc_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.roc_auc(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('roc_auc', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__roc_auc(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('roc_auc') }}
{%- endmacro %}

{% macro duckdb__roc_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, count(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank, row_number() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number,
        n_rows AS n_recommended
    FROM hit_ranks
    INNER JOIN recommendation_profile USING (user_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN min(rank) <= {{ cutoff }}
            THEN coalesce(
                1 - sum(CASE WHEN rank <= {{ cutoff }} THEN rank - hit_number END) / nullif(
                    count(CASE WHEN rank <= {{ cutoff }} THEN 1 END) * (
                        least({{ cutoff }}, max(n_recommended)) - count(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
                    ),
                    0
                ),
                1
            )
            ELSE 0
        END AS roc_auc_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT coalesce(roc_auc_at_{{ cutoff }}, 0) AS roc_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_value, count(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_n,
        stddev_samp(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'roc_auc' AS metric, {{ cutoff }} AS k, roc_auc_at_{{ cutoff }}_value AS value, roc_auc_at_{{ cutoff }}_n AS n_users,
    roc_auc_at_{{ cutoff }}_std AS std,
    roc_auc_at_{{ cutoff }}_value - 1.9599639845400536 * roc_auc_at_{{ cutoff }}_std / sqrt(roc_auc_at_{{ cutoff }}_n)
        AS ci_low,
    roc_auc_at_{{ cutoff }}_value + 1.9599639845400536 * roc_auc_at_{{ cutoff }}_std / sqrt(roc_auc_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__roc_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank NULLS LAST) AS hit_number,
        n_rows AS n_recommended
    FROM hit_ranks
    INNER JOIN recommendation_profile USING (user_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN COALESCE(
                1 - CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN rank - hit_number END) AS DOUBLE) / NULLIF(
                    COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) * (
                        LEAST({{ cutoff }}, MAX(n_recommended)) - COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
                    ),
                    0
                ),
                1
            )
            ELSE 0
        END AS roc_auc_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(roc_auc_at_{{ cutoff }}, 0) AS roc_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_value, COUNT(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_n,
        STDDEV_SAMP(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'roc_auc' AS metric, {{ cutoff }} AS k, roc_auc_at_{{ cutoff }}_value AS value, roc_auc_at_{{ cutoff }}_n AS n_users,
    roc_auc_at_{{ cutoff }}_std AS std,
    roc_auc_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * roc_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_low,
    roc_auc_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * roc_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__roc_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number,
        n_rows AS n_recommended
    FROM hit_ranks
    INNER JOIN recommendation_profile USING (user_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN COALESCE(
                1 - CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN rank - hit_number END) AS DOUBLE) / NULLIF(
                    COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) * (
                        LEAST_IGNORE_NULLS({{ cutoff }}, MAX(n_recommended))
                            - COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
                    ),
                    0
                ),
                1
            )
            ELSE 0
        END AS roc_auc_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(roc_auc_at_{{ cutoff }}, 0) AS roc_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_value, COUNT(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_n,
        STDDEV_SAMP(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'roc_auc' AS metric, {{ cutoff }} AS k, roc_auc_at_{{ cutoff }}_value AS value, roc_auc_at_{{ cutoff }}_n AS n_users,
    roc_auc_at_{{ cutoff }}_std AS std,
    roc_auc_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * roc_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_low,
    roc_auc_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * roc_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__roc_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS FLOAT64) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS INT64) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number,
        n_rows AS n_recommended
    FROM hit_ranks
    INNER JOIN recommendation_profile USING (user_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN COALESCE(
                1 - CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN rank - hit_number END) AS FLOAT64)
                    / NULLIF(
                    COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) * (
                        LEAST({{ cutoff }}, COALESCE(MAX(n_recommended), {{ cutoff }}))
                            - COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
                    ),
                    0
                ),
                1
            )
            ELSE 0
        END AS roc_auc_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(roc_auc_at_{{ cutoff }}, 0) AS roc_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_value, COUNT(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_n,
        STDDEV_SAMP(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'roc_auc' AS metric, {{ cutoff }} AS k, roc_auc_at_{{ cutoff }}_value AS value, roc_auc_at_{{ cutoff }}_n AS n_users,
    roc_auc_at_{{ cutoff }}_std AS std,
    roc_auc_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * roc_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_low,
    roc_auc_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * roc_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__roc_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number,
        n_rows AS n_recommended
    FROM hit_ranks
    INNER JOIN recommendation_profile USING (user_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN COALESCE(
                1 - CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN rank - hit_number END) AS DOUBLE) / NULLIF(
                    COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) * (
                        LEAST({{ cutoff }}, COALESCE(MAX(n_recommended), {{ cutoff }}))
                            - COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
                    ),
                    0
                ),
                1
            )
            ELSE 0
        END AS roc_auc_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(roc_auc_at_{{ cutoff }}, 0) AS roc_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_value, COUNT(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_n,
        STDDEV_SAMP(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'roc_auc' AS metric, {{ cutoff }} AS k, roc_auc_at_{{ cutoff }}_value AS value, roc_auc_at_{{ cutoff }}_n AS n_users,
    roc_auc_at_{{ cutoff }}_std AS std,
    roc_auc_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * roc_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_low,
    roc_auc_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * roc_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__roc_auc(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__roc_auc(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__roc_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_rows
    FROM recommendations
    GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS Nullable(Float64)) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
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
        n_rows AS n_recommended
    FROM hit_ranks
    INNER JOIN recommendation_profile USING (user_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN COALESCE(
                1
                    - CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN rank - hit_number END)
                    AS Nullable(Float64)) / nullIf(
                    CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS Nullable(Int64)) * (
                        LEAST({{ cutoff }}, MAX(n_recommended))
                            - CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) AS Nullable(Int64))
                    ),
                    0
                ),
                1
            )
            ELSE 0
        END AS roc_auc_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(roc_auc_at_{{ cutoff }}, 0) AS roc_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_value,
        CAST(COUNT(roc_auc_at_{{ cutoff }}) AS Nullable(Int64)) AS roc_auc_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(roc_auc_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(roc_auc_at_{{ cutoff }})
        END AS roc_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'roc_auc' AS metric, {{ cutoff }} AS k, roc_auc_at_{{ cutoff }}_value AS value, roc_auc_at_{{ cutoff }}_n AS n_users,
    roc_auc_at_{{ cutoff }}_std AS std,
    roc_auc_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * roc_auc_at_{{ cutoff }}_std
        / nullIf(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_low,
    roc_auc_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * roc_auc_at_{{ cutoff }}_std
        / nullIf(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__roc_auc(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id, COUNT(*) AS n_rows FROM recommendations GROUP BY user_id
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE PRECISION) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), hit_ranks AS (
    -- one row per hit: a recommended item that is relevant to its user
    SELECT user_id, CAST(rank AS BIGINT) AS rank
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        user_id, rank, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number,
        n_rows AS n_recommended
    FROM hit_ranks
    INNER JOIN recommendation_profile USING (user_id)
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN COALESCE(
                1 - CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN rank - hit_number END) AS DOUBLE PRECISION)
                    / NULLIF(
                    COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END) * (
                        LEAST({{ cutoff }}, MAX(n_recommended)) - COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
                    ),
                    0
                ),
                1
            )
            ELSE 0
        END AS roc_auc_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT COALESCE(roc_auc_at_{{ cutoff }}, 0) AS roc_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_value, COUNT(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_n,
        STDDEV_SAMP(roc_auc_at_{{ cutoff }}) AS roc_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'roc_auc' AS metric, {{ cutoff }} AS k, roc_auc_at_{{ cutoff }}_value AS value, roc_auc_at_{{ cutoff }}_n AS n_users,
    roc_auc_at_{{ cutoff }}_std AS std,
    roc_auc_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * roc_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_low,
    roc_auc_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * roc_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(roc_auc_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
