{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Partial AUC
  Formula: sum over the hits above the k-th miss of (k - misses above) / (k · relevant items). The
    whole list counts, whatever k is; without a cutoff, k is the number of misses in the list, or
    1 if there is none.
  Source: PartialAUC in RecTools.
-#}

{% macro partial_auc(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('partial_auc', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'partial_auc', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'partial_auc', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('partial_auc', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test partial_auc_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.partial_auc(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('partial_auc', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__partial_auc(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('partial_auc') }}
{%- endmacro %}

{% macro duckdb__partial_auc(recommendations, interactions, cutoff) -%}
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
), hits_by_misses AS (
    -- one row per hit: rank - hit_number misses stand above it
    SELECT user_id, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN min(miss_number) <= {{ cutoff }}
            THEN sum(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number END) / (
                {{ cutoff }} * max(n_relevant)
            )
            ELSE 0
        END AS partial_auc_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE partial_auc_at_{{ cutoff }} END
            AS partial_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_value,
        count(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_n,
        stddev_samp(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'partial_auc' AS metric, {{ cutoff }} AS k, partial_auc_at_{{ cutoff }}_value AS value,
    partial_auc_at_{{ cutoff }}_n AS n_users, partial_auc_at_{{ cutoff }}_std AS std,
    partial_auc_at_{{ cutoff }}_value - 1.9599639845400536 * partial_auc_at_{{ cutoff }}_std
        / sqrt(partial_auc_at_{{ cutoff }}_n) AS ci_low,
    partial_auc_at_{{ cutoff }}_value + 1.9599639845400536 * partial_auc_at_{{ cutoff }}_std
        / sqrt(partial_auc_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__partial_auc(recommendations, interactions, cutoff) -%}
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
), hits_by_misses AS (
    -- one row per hit: rank - hit_number misses stand above it
    SELECT user_id, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN MIN(miss_number) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number END) AS DOUBLE) / (
                {{ cutoff }} * MAX(n_relevant)
            )
            ELSE 0
        END AS partial_auc_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE partial_auc_at_{{ cutoff }} END
            AS partial_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_value,
        COUNT(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_n,
        STDDEV_SAMP(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'partial_auc' AS metric, {{ cutoff }} AS k, partial_auc_at_{{ cutoff }}_value AS value,
    partial_auc_at_{{ cutoff }}_n AS n_users, partial_auc_at_{{ cutoff }}_std AS std,
    partial_auc_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * partial_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(partial_auc_at_{{ cutoff }}_n), 0) AS ci_low,
    partial_auc_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * partial_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(partial_auc_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__partial_auc(recommendations, interactions, cutoff) -%}
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
), hits_by_misses AS (
    -- one row per hit: rank - hit_number misses stand above it
    SELECT user_id, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN MIN(miss_number) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number END) AS DOUBLE) / (
                {{ cutoff }} * MAX(n_relevant)
            )
            ELSE 0
        END AS partial_auc_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE partial_auc_at_{{ cutoff }} END
            AS partial_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_value,
        COUNT(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_n,
        STDDEV_SAMP(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'partial_auc' AS metric, {{ cutoff }} AS k, partial_auc_at_{{ cutoff }}_value AS value,
    partial_auc_at_{{ cutoff }}_n AS n_users, partial_auc_at_{{ cutoff }}_std AS std,
    partial_auc_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * partial_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(partial_auc_at_{{ cutoff }}_n), 0) AS ci_low,
    partial_auc_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * partial_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(partial_auc_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__partial_auc(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__partial_auc(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__partial_auc(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__partial_auc(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__partial_auc(recommendations, interactions, cutoff) -%}
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
), hits_by_misses AS (
    -- one row per hit: rank - hit_number misses stand above it
    SELECT user_id, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN MIN(miss_number) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number END) AS FLOAT64) / (
                {{ cutoff }} * MAX(n_relevant)
            )
            ELSE 0
        END AS partial_auc_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE partial_auc_at_{{ cutoff }} END
            AS partial_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_value,
        COUNT(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_n,
        STDDEV_SAMP(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'partial_auc' AS metric, {{ cutoff }} AS k, partial_auc_at_{{ cutoff }}_value AS value,
    partial_auc_at_{{ cutoff }}_n AS n_users, partial_auc_at_{{ cutoff }}_std AS std,
    partial_auc_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * partial_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(partial_auc_at_{{ cutoff }}_n), 0) AS ci_low,
    partial_auc_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * partial_auc_at_{{ cutoff }}_std
        / NULLIF(SQRT(partial_auc_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__partial_auc(recommendations, interactions, cutoff) -%}
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
), hits_by_misses AS (
    -- one row per hit: rank - hit_number misses stand above it
    SELECT user_id, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN MIN(miss_number) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number END)
                AS Nullable(Float64)) / (
                {{ cutoff }} * MAX(n_relevant)
            )
            ELSE 0
        END AS partial_auc_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE partial_auc_at_{{ cutoff }} END
            AS partial_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_value,
        CAST(COUNT(partial_auc_at_{{ cutoff }}) AS Nullable(Int64)) AS partial_auc_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(partial_auc_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(partial_auc_at_{{ cutoff }})
        END AS partial_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'partial_auc' AS metric, {{ cutoff }} AS k, partial_auc_at_{{ cutoff }}_value AS value,
    partial_auc_at_{{ cutoff }}_n AS n_users, partial_auc_at_{{ cutoff }}_std AS std,
    partial_auc_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * partial_auc_at_{{ cutoff }}_std / nullIf(SQRT(partial_auc_at_{{ cutoff }}_n), 0) AS ci_low,
    partial_auc_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * partial_auc_at_{{ cutoff }}_std / nullIf(SQRT(partial_auc_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__partial_auc(recommendations, interactions, cutoff) -%}
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
), hits_by_misses AS (
    -- one row per hit: rank - hit_number misses stand above it
    SELECT user_id, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN MIN(miss_number) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number END)
                AS DOUBLE PRECISION) / (
                {{ cutoff }} * MAX(n_relevant)
            )
            ELSE 0
        END AS partial_auc_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE partial_auc_at_{{ cutoff }} END
            AS partial_auc_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_value,
        COUNT(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_n,
        STDDEV_SAMP(partial_auc_at_{{ cutoff }}) AS partial_auc_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'partial_auc' AS metric, {{ cutoff }} AS k, partial_auc_at_{{ cutoff }}_value AS value,
    partial_auc_at_{{ cutoff }}_n AS n_users, partial_auc_at_{{ cutoff }}_std AS std,
    partial_auc_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * partial_auc_at_{{ cutoff }}_std / NULLIF(SQRT(partial_auc_at_{{ cutoff }}_n), 0) AS ci_low,
    partial_auc_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * partial_auc_at_{{ cutoff }}_std / NULLIF(SQRT(partial_auc_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
