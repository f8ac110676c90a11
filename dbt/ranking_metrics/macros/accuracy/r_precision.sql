{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  R-precision
  Formula: hits in the first R positions / R, where R is the number of the user's relevant items;
    with a cutoff, only the top k count.
  Source: Manning, Raghavan, Schütze: Introduction to Information Retrieval (2008), section 8.4.
-#}

{% macro r_precision(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('r_precision', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'r_precision', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'r_precision', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('r_precision', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test r_precision_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.r_precision(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('r_precision', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__r_precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('r_precision') }}
{%- endmacro %}

{% macro duckdb__r_precision(recommendations, interactions, cutoff) -%}
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
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank, relevant_users.n_relevant
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        count(CASE WHEN rank <= {{ cutoff }} AND rank <= hits.n_relevant THEN 1 END)
            / max(relevant_users.n_relevant) AS r_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_value,
        count(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_n,
        stddev_samp(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'r_precision' AS metric, {{ cutoff }} AS k, r_precision_at_{{ cutoff }}_value AS value,
    r_precision_at_{{ cutoff }}_n AS n_users, r_precision_at_{{ cutoff }}_std AS std,
    r_precision_at_{{ cutoff }}_value - 1.9599639845400536 * r_precision_at_{{ cutoff }}_std
        / sqrt(r_precision_at_{{ cutoff }}_n) AS ci_low,
    r_precision_at_{{ cutoff }}_value + 1.9599639845400536 * r_precision_at_{{ cutoff }}_std
        / sqrt(r_precision_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__r_precision(recommendations, interactions, cutoff) -%}
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
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank, relevant_users.n_relevant
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} AND rank <= hits.n_relevant THEN 1 END) AS DOUBLE)
            / MAX(relevant_users.n_relevant) AS r_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_value,
        COUNT(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'r_precision' AS metric, {{ cutoff }} AS k, r_precision_at_{{ cutoff }}_value AS value,
    r_precision_at_{{ cutoff }}_n AS n_users, r_precision_at_{{ cutoff }}_std AS std,
    r_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * r_precision_at_{{ cutoff }}_std
        / NULLIF(SQRT(r_precision_at_{{ cutoff }}_n), 0) AS ci_low,
    r_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * r_precision_at_{{ cutoff }}_std
        / NULLIF(SQRT(r_precision_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__r_precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__r_precision(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro trino__r_precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__r_precision(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__r_precision(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__r_precision(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__r_precision(recommendations, interactions, cutoff) -%}
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
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS INT64) AS rank, relevant_users.n_relevant
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} AND rank <= hits.n_relevant THEN 1 END) AS FLOAT64)
            / MAX(relevant_users.n_relevant) AS r_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_value,
        COUNT(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'r_precision' AS metric, {{ cutoff }} AS k, r_precision_at_{{ cutoff }}_value AS value,
    r_precision_at_{{ cutoff }}_n AS n_users, r_precision_at_{{ cutoff }}_std AS std,
    r_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * r_precision_at_{{ cutoff }}_std
        / NULLIF(SQRT(r_precision_at_{{ cutoff }}_n), 0) AS ci_low,
    r_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * r_precision_at_{{ cutoff }}_std
        / NULLIF(SQRT(r_precision_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__r_precision(recommendations, interactions, cutoff) -%}
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
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS Nullable(Int64)) AS rank, relevant_users.n_relevant AS n_relevant
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(CAST(COUNT(CASE WHEN rank <= {{ cutoff }} AND rank <= hits.n_relevant THEN 1 END)
            AS Nullable(Int64)) AS Nullable(Float64)) / MAX(relevant_users.n_relevant)
            AS r_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_value,
        CAST(COUNT(r_precision_at_{{ cutoff }}) AS Nullable(Int64)) AS r_precision_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(r_precision_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(r_precision_at_{{ cutoff }})
        END AS r_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'r_precision' AS metric, {{ cutoff }} AS k, r_precision_at_{{ cutoff }}_value AS value,
    r_precision_at_{{ cutoff }}_n AS n_users, r_precision_at_{{ cutoff }}_std AS std,
    r_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * r_precision_at_{{ cutoff }}_std / nullIf(SQRT(r_precision_at_{{ cutoff }}_n), 0) AS ci_low,
    r_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * r_precision_at_{{ cutoff }}_std / nullIf(SQRT(r_precision_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__r_precision(recommendations, interactions, cutoff) -%}
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
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, CAST(rank AS BIGINT) AS rank, relevant_users.n_relevant
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(CASE WHEN rank <= {{ cutoff }} AND rank <= hits.n_relevant THEN 1 END)
            AS DOUBLE PRECISION) / MAX(relevant_users.n_relevant) AS r_precision_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_value,
        COUNT(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_n,
        STDDEV_SAMP(r_precision_at_{{ cutoff }}) AS r_precision_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'r_precision' AS metric, {{ cutoff }} AS k, r_precision_at_{{ cutoff }}_value AS value,
    r_precision_at_{{ cutoff }}_n AS n_users, r_precision_at_{{ cutoff }}_std AS std,
    r_precision_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * r_precision_at_{{ cutoff }}_std / NULLIF(SQRT(r_precision_at_{{ cutoff }}_n), 0) AS ci_low,
    r_precision_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * r_precision_at_{{ cutoff }}_std / NULLIF(SQRT(r_precision_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
