{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Mean average precision
  Formula: sum over the hits in the top k of (hits so far / rank) / divisor.
  Source: Buckley, Voorhees: Evaluating evaluation measure stability, SIGIR 2000.
-#}

{% macro map(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('map', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'map', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'map', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('map', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test map_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.map(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('map', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__map(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('map') }}
{%- endmacro %}

{% macro duckdb__map(recommendations, interactions, cutoff) -%}
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
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN min(rank) <= {{ cutoff }}
            THEN sum(CASE WHEN rank <= {{ cutoff }} THEN hit_number / nullif(rank, 0) END)
                / least({{ cutoff }}, max(n_relevant))
            ELSE 0
        END AS map_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE map_at_{{ cutoff }} END AS map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_value, count(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_n,
        stddev_samp(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'map' AS metric, {{ cutoff }} AS k, map_at_{{ cutoff }}_value AS value, map_at_{{ cutoff }}_n AS n_users,
    map_at_{{ cutoff }}_std AS std,
    map_at_{{ cutoff }}_value - 1.9599639845400536 * map_at_{{ cutoff }}_std / sqrt(map_at_{{ cutoff }}_n) AS ci_low,
    map_at_{{ cutoff }}_value + 1.9599639845400536 * map_at_{{ cutoff }}_std / sqrt(map_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__map(recommendations, interactions, cutoff) -%}
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
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN CAST(hit_number AS DOUBLE)
                / NULLIF(rank, 0) END) AS DOUBLE) / LEAST({{ cutoff }}, MAX(n_relevant))
            ELSE 0
        END AS map_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE map_at_{{ cutoff }} END AS map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_value, COUNT(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_n,
        STDDEV_SAMP(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'map' AS metric, {{ cutoff }} AS k, map_at_{{ cutoff }}_value AS value, map_at_{{ cutoff }}_n AS n_users,
    map_at_{{ cutoff }}_std AS std,
    map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * map_at_{{ cutoff }}_std
        / NULLIF(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_low,
    map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * map_at_{{ cutoff }}_std
        / NULLIF(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__map(recommendations, interactions, cutoff) -%}
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
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN CAST(hit_number AS DOUBLE)
                / NULLIF(rank, 0) END) AS DOUBLE) / LEAST_IGNORE_NULLS({{ cutoff }}, MAX(n_relevant))
            ELSE 0
        END AS map_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE map_at_{{ cutoff }} END AS map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_value, COUNT(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_n,
        STDDEV_SAMP(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'map' AS metric, {{ cutoff }} AS k, map_at_{{ cutoff }}_value AS value, map_at_{{ cutoff }}_n AS n_users,
    map_at_{{ cutoff }}_std AS std,
    map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * map_at_{{ cutoff }}_std
        / NULLIF(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_low,
    map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * map_at_{{ cutoff }}_std
        / NULLIF(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__map(recommendations, interactions, cutoff) -%}
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
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN CAST(hit_number AS FLOAT64)
                / NULLIF(rank, 0) END) AS FLOAT64) / LEAST({{ cutoff }}, COALESCE(MAX(n_relevant), {{ cutoff }}))
            ELSE 0
        END AS map_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE map_at_{{ cutoff }} END AS map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_value, COUNT(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_n,
        STDDEV_SAMP(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'map' AS metric, {{ cutoff }} AS k, map_at_{{ cutoff }}_value AS value, map_at_{{ cutoff }}_n AS n_users,
    map_at_{{ cutoff }}_std AS std,
    map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * map_at_{{ cutoff }}_std
        / NULLIF(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_low,
    map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * map_at_{{ cutoff }}_std
        / NULLIF(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__map(recommendations, interactions, cutoff) -%}
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
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN CAST(hit_number AS DOUBLE)
                / NULLIF(rank, 0) END) AS DOUBLE) / LEAST({{ cutoff }}, COALESCE(MAX(n_relevant), {{ cutoff }}))
            ELSE 0
        END AS map_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE map_at_{{ cutoff }} END AS map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_value, COUNT(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_n,
        STDDEV_SAMP(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'map' AS metric, {{ cutoff }} AS k, map_at_{{ cutoff }}_value AS value, map_at_{{ cutoff }}_n AS n_users,
    map_at_{{ cutoff }}_std AS std,
    map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * map_at_{{ cutoff }}_std
        / NULLIF(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_low,
    map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * map_at_{{ cutoff }}_std
        / NULLIF(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__map(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__map(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__map(recommendations, interactions, cutoff) -%}
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
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }} THEN CAST(hit_number AS Nullable(Float64)) / nullIf(rank, 0)
                END
            ) AS Nullable(Float64)) / LEAST({{ cutoff }}, MAX(n_relevant))
            ELSE 0
        END AS map_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE map_at_{{ cutoff }} END AS map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_value,
        CAST(COUNT(map_at_{{ cutoff }}) AS Nullable(Int64)) AS map_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(map_at_{{ cutoff }}) AS Nullable(Int64)) > 1 THEN stddevSampStable(map_at_{{ cutoff }})
        END AS map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'map' AS metric, {{ cutoff }} AS k, map_at_{{ cutoff }}_value AS value, map_at_{{ cutoff }}_n AS n_users,
    map_at_{{ cutoff }}_std AS std,
    map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * map_at_{{ cutoff }}_std
        / nullIf(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_low,
    map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * map_at_{{ cutoff }}_std
        / nullIf(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__map(recommendations, interactions, cutoff) -%}
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
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }} THEN CAST(hit_number AS DOUBLE PRECISION) / NULLIF(rank, 0)
                END
            ) AS DOUBLE PRECISION) / LEAST({{ cutoff }}, MAX(n_relevant))
            ELSE 0
        END AS map_at_{{ cutoff }}
    FROM hits
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE map_at_{{ cutoff }} END AS map_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_value, COUNT(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_n,
        STDDEV_SAMP(map_at_{{ cutoff }}) AS map_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'map' AS metric, {{ cutoff }} AS k, map_at_{{ cutoff }}_value AS value, map_at_{{ cutoff }}_n AS n_users,
    map_at_{{ cutoff }}_std AS std,
    map_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * map_at_{{ cutoff }}_std
        / NULLIF(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_low,
    map_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * map_at_{{ cutoff }}_std
        / NULLIF(SQRT(map_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
