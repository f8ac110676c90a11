{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Lists without repeated items
  Formula: 1 if no item is repeated in the top k, else 0.
  Undefined: the top k is empty.
  Source: RecTools documentation, UnrepeatedReco.
-#}

{% macro unrepeated(
    recommendations=none, cutoff=none, user_column='user_id', item_column='item_id',
    rank_column='rank', score_column=none
) -%}
{%- do ranking_metrics._check_cutoff('unrepeated', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'unrepeated', recommendations, user_column, item_column, rank_column, score_column
) -%}
{{ adapter.dispatch('unrepeated', 'ranking_metrics')(recommendations, cutoff) }}
{%- endmacro %}

{% test unrepeated_at_least(
    model, cutoff=none, threshold=none, user_column='user_id', item_column='item_id',
    rank_column='rank', score_column=none
) -%}
{%- set result = ranking_metrics.unrepeated(model, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column) -%}
{{ ranking_metrics._at_least('unrepeated', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__unrepeated(recommendations, cutoff) -%}
{{ ranking_metrics._no_sql('unrepeated') }}
{%- endmacro %}

{% macro duckdb__unrepeated(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS BIGINT) AS rank FROM recommendations
), listed_values AS (
    -- one row per user with listed
    SELECT
        user_id,
        CASE
            WHEN min(rank) <= {{ cutoff }}
            THEN CASE
                WHEN count(DISTINCT CASE WHEN rank <= {{ cutoff }} THEN item_id END) = count(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
                THEN 1
                ELSE 0
            END
        END AS unrepeated_at_{{ cutoff }}
    FROM ranked
    WHERE rank <= {{ cutoff }}
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(unrepeated_at_{{ cutoff }} AS DOUBLE) AS unrepeated_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN listed_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_value,
        count(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_n,
        stddev_samp(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'unrepeated' AS metric, {{ cutoff }} AS k, unrepeated_at_{{ cutoff }}_value AS value,
    unrepeated_at_{{ cutoff }}_n AS n_users, unrepeated_at_{{ cutoff }}_std AS std,
    unrepeated_at_{{ cutoff }}_value - 1.9599639845400536 * unrepeated_at_{{ cutoff }}_std
        / sqrt(unrepeated_at_{{ cutoff }}_n) AS ci_low,
    unrepeated_at_{{ cutoff }}_value + 1.9599639845400536 * unrepeated_at_{{ cutoff }}_std
        / sqrt(unrepeated_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__unrepeated(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS BIGINT) AS rank FROM recommendations
), listed_values AS (
    -- one row per user with listed
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CASE
                WHEN COUNT(DISTINCT CASE WHEN rank <= {{ cutoff }} THEN item_id END) = COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
                THEN 1
                ELSE 0
            END
        END AS unrepeated_at_{{ cutoff }}
    FROM ranked
    WHERE rank <= {{ cutoff }}
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(unrepeated_at_{{ cutoff }} AS DOUBLE) AS unrepeated_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN listed_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_value,
        COUNT(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_n,
        STDDEV_SAMP(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'unrepeated' AS metric, {{ cutoff }} AS k, unrepeated_at_{{ cutoff }}_value AS value,
    unrepeated_at_{{ cutoff }}_n AS n_users, unrepeated_at_{{ cutoff }}_std AS std,
    unrepeated_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * unrepeated_at_{{ cutoff }}_std
        / NULLIF(SQRT(unrepeated_at_{{ cutoff }}_n), 0) AS ci_low,
    unrepeated_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * unrepeated_at_{{ cutoff }}_std
        / NULLIF(SQRT(unrepeated_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__unrepeated(recommendations, cutoff) -%}
{{ ranking_metrics.spark__unrepeated(recommendations, cutoff) }}
{%- endmacro %}

{% macro trino__unrepeated(recommendations, cutoff) -%}
{{ ranking_metrics.spark__unrepeated(recommendations, cutoff) }}
{%- endmacro %}

{% macro athena__unrepeated(recommendations, cutoff) -%}
{{ ranking_metrics.spark__unrepeated(recommendations, cutoff) }}
{%- endmacro %}

{% macro bigquery__unrepeated(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS INT64) AS rank FROM recommendations
), listed_values AS (
    -- one row per user with listed
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CASE
                WHEN COUNT(DISTINCT CASE WHEN rank <= {{ cutoff }} THEN item_id END) = COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
                THEN 1
                ELSE 0
            END
        END AS unrepeated_at_{{ cutoff }}
    FROM ranked
    WHERE rank <= {{ cutoff }}
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(unrepeated_at_{{ cutoff }} AS FLOAT64) AS unrepeated_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN listed_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_value,
        COUNT(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_n,
        STDDEV_SAMP(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'unrepeated' AS metric, {{ cutoff }} AS k, unrepeated_at_{{ cutoff }}_value AS value,
    unrepeated_at_{{ cutoff }}_n AS n_users, unrepeated_at_{{ cutoff }}_std AS std,
    unrepeated_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * unrepeated_at_{{ cutoff }}_std
        / NULLIF(SQRT(unrepeated_at_{{ cutoff }}_n), 0) AS ci_low,
    unrepeated_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * unrepeated_at_{{ cutoff }}_std
        / NULLIF(SQRT(unrepeated_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__unrepeated(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS Nullable(Int64)) AS rank FROM recommendations
), listed_values AS (
    -- one row per user with listed
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CASE
                WHEN CAST(COUNT(DISTINCT CASE WHEN rank <= {{ cutoff }} THEN item_id END)
                    AS Nullable(Int64)) = CAST(COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
                    AS Nullable(Int64))
                THEN 1
                ELSE 0
            END
        END AS unrepeated_at_{{ cutoff }}
    FROM ranked
    WHERE rank <= {{ cutoff }}
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(unrepeated_at_{{ cutoff }} AS Nullable(Float64)) AS unrepeated_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN listed_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_value,
        CAST(COUNT(unrepeated_at_{{ cutoff }}) AS Nullable(Int64)) AS unrepeated_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(unrepeated_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(unrepeated_at_{{ cutoff }})
        END AS unrepeated_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'unrepeated' AS metric, {{ cutoff }} AS k, unrepeated_at_{{ cutoff }}_value AS value,
    unrepeated_at_{{ cutoff }}_n AS n_users, unrepeated_at_{{ cutoff }}_std AS std,
    unrepeated_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * unrepeated_at_{{ cutoff }}_std / nullIf(SQRT(unrepeated_at_{{ cutoff }}_n), 0) AS ci_low,
    unrepeated_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * unrepeated_at_{{ cutoff }}_std / nullIf(SQRT(unrepeated_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__unrepeated(recommendations, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT user_id, item_id, CAST(rank AS BIGINT) AS rank FROM recommendations
), listed_values AS (
    -- one row per user with listed
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CASE
                WHEN COUNT(DISTINCT CASE WHEN rank <= {{ cutoff }} THEN item_id END) = COUNT(CASE WHEN rank <= {{ cutoff }} THEN 1 END)
                THEN 1
                ELSE 0
            END
        END AS unrepeated_at_{{ cutoff }}
    FROM ranked
    WHERE rank <= {{ cutoff }}
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CAST(unrepeated_at_{{ cutoff }} AS DOUBLE PRECISION) AS unrepeated_at_{{ cutoff }}
    FROM recommendation_profile
    LEFT JOIN listed_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_value,
        COUNT(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_n,
        STDDEV_SAMP(unrepeated_at_{{ cutoff }}) AS unrepeated_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'unrepeated' AS metric, {{ cutoff }} AS k, unrepeated_at_{{ cutoff }}_value AS value,
    unrepeated_at_{{ cutoff }}_n AS n_users, unrepeated_at_{{ cutoff }}_std AS std,
    unrepeated_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * unrepeated_at_{{ cutoff }}_std
        / NULLIF(SQRT(unrepeated_at_{{ cutoff }}_n), 0) AS ci_low,
    unrepeated_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * unrepeated_at_{{ cutoff }}_std
        / NULLIF(SQRT(unrepeated_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
