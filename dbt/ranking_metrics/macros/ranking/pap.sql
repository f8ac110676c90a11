{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Partial AUC with precision
  Formula: sum over the first k hits above the k-th miss of (k - misses above) / (k · min(k,
    relevant items)). The whole list counts, whatever k is; without a cutoff, k is the number of
    misses in the list, or 1 if there is none.
  Source: PAP in RecTools.
-#}

{% macro pap(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('pap', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'pap', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'pap', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('pap', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test pap_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.pap(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('pap', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__pap(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('pap') }}
{%- endmacro %}

{% macro duckdb__pap(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, hit_number, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN min(miss_number) <= {{ cutoff }}
            THEN sum(
                CASE
                    WHEN miss_number <= {{ cutoff }}
                    THEN CASE WHEN hit_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number ELSE 0 END
                END
            ) / (
                max(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END)
                    * least(max(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END), max(n_relevant))
            )
            ELSE 0
        END AS pap_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE pap_at_{{ cutoff }} END AS pap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_value, count(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_n,
        stddev_samp(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pap' AS metric, {{ cutoff }} AS k, pap_at_{{ cutoff }}_value AS value, pap_at_{{ cutoff }}_n AS n_users,
    pap_at_{{ cutoff }}_std AS std,
    pap_at_{{ cutoff }}_value - 1.9599639845400536 * pap_at_{{ cutoff }}_std / sqrt(pap_at_{{ cutoff }}_n) AS ci_low,
    pap_at_{{ cutoff }}_value + 1.9599639845400536 * pap_at_{{ cutoff }}_std / sqrt(pap_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__pap(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, hit_number, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN MIN(miss_number) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN miss_number <= {{ cutoff }}
                    THEN CASE WHEN hit_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number ELSE 0 END
                END
            ) AS DOUBLE) / (
                MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END)
                    * LEAST(MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END), MAX(n_relevant))
            )
            ELSE 0
        END AS pap_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE pap_at_{{ cutoff }} END AS pap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_value, COUNT(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_n,
        STDDEV_SAMP(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pap' AS metric, {{ cutoff }} AS k, pap_at_{{ cutoff }}_value AS value, pap_at_{{ cutoff }}_n AS n_users,
    pap_at_{{ cutoff }}_std AS std,
    pap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * pap_at_{{ cutoff }}_std
        / NULLIF(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_low,
    pap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * pap_at_{{ cutoff }}_std
        / NULLIF(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__pap(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, hit_number, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN MIN(miss_number) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN miss_number <= {{ cutoff }}
                    THEN CASE WHEN hit_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number ELSE 0 END
                END
            ) AS DOUBLE) / (
                MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END)
                    * LEAST_IGNORE_NULLS(MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END), MAX(n_relevant))
            )
            ELSE 0
        END AS pap_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE pap_at_{{ cutoff }} END AS pap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_value, COUNT(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_n,
        STDDEV_SAMP(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pap' AS metric, {{ cutoff }} AS k, pap_at_{{ cutoff }}_value AS value, pap_at_{{ cutoff }}_n AS n_users,
    pap_at_{{ cutoff }}_std AS std,
    pap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * pap_at_{{ cutoff }}_std
        / NULLIF(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_low,
    pap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * pap_at_{{ cutoff }}_std
        / NULLIF(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__pap(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, hit_number, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN MIN(miss_number) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN miss_number <= {{ cutoff }}
                    THEN CASE WHEN hit_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number ELSE 0 END
                END
            ) AS FLOAT64) / (
                MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END) * LEAST(
                    COALESCE(MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END), MAX(n_relevant)),
                    COALESCE(MAX(n_relevant), MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END))
                )
            )
            ELSE 0
        END AS pap_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE pap_at_{{ cutoff }} END AS pap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_value, COUNT(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_n,
        STDDEV_SAMP(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pap' AS metric, {{ cutoff }} AS k, pap_at_{{ cutoff }}_value AS value, pap_at_{{ cutoff }}_n AS n_users,
    pap_at_{{ cutoff }}_std AS std,
    pap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * pap_at_{{ cutoff }}_std
        / NULLIF(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_low,
    pap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * pap_at_{{ cutoff }}_std
        / NULLIF(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__pap(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, hit_number, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN MIN(miss_number) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN miss_number <= {{ cutoff }}
                    THEN CASE WHEN hit_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number ELSE 0 END
                END
            ) AS DOUBLE) / (
                MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END) * LEAST(
                    COALESCE(MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END), MAX(n_relevant)),
                    COALESCE(MAX(n_relevant), MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END))
                )
            )
            ELSE 0
        END AS pap_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE pap_at_{{ cutoff }} END AS pap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_value, COUNT(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_n,
        STDDEV_SAMP(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pap' AS metric, {{ cutoff }} AS k, pap_at_{{ cutoff }}_value AS value, pap_at_{{ cutoff }}_n AS n_users,
    pap_at_{{ cutoff }}_std AS std,
    pap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * pap_at_{{ cutoff }}_std
        / NULLIF(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_low,
    pap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * pap_at_{{ cutoff }}_std
        / NULLIF(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__pap(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__pap(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__pap(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, hit_number, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN MIN(miss_number) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN miss_number <= {{ cutoff }}
                    THEN CASE WHEN hit_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number ELSE 0 END
                END
            ) AS Nullable(Float64)) / (
                MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END)
                    * LEAST(MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END), MAX(n_relevant))
            )
            ELSE 0
        END AS pap_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE pap_at_{{ cutoff }} END AS pap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_value,
        CAST(COUNT(pap_at_{{ cutoff }}) AS Nullable(Int64)) AS pap_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(pap_at_{{ cutoff }}) AS Nullable(Int64)) > 1 THEN stddevSampStable(pap_at_{{ cutoff }})
        END AS pap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pap' AS metric, {{ cutoff }} AS k, pap_at_{{ cutoff }}_value AS value, pap_at_{{ cutoff }}_n AS n_users,
    pap_at_{{ cutoff }}_std AS std,
    pap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * pap_at_{{ cutoff }}_std
        / nullIf(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_low,
    pap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * pap_at_{{ cutoff }}_std
        / nullIf(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__pap(recommendations, interactions, cutoff) -%}
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
    SELECT user_id, hit_number, rank - hit_number + 1 AS miss_number, n_relevant FROM hits
), hits_by_misses_values AS (
    -- one row per user with hits_by_misses
    SELECT
        user_id,
        CASE
            WHEN MIN(miss_number) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN miss_number <= {{ cutoff }}
                    THEN CASE WHEN hit_number <= {{ cutoff }} THEN {{ cutoff + 1 }} - miss_number ELSE 0 END
                END
            ) AS DOUBLE PRECISION) / (
                MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END)
                    * LEAST(MAX(CASE WHEN miss_number <= {{ cutoff }} THEN {{ cutoff }} END), MAX(n_relevant))
            )
            ELSE 0
        END AS pap_at_{{ cutoff }}
    FROM hits_by_misses
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN hits_by_misses_values.user_id IS NULL THEN 0 ELSE pap_at_{{ cutoff }} END AS pap_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_by_misses_values ON hits_by_misses_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_value, COUNT(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_n,
        STDDEV_SAMP(pap_at_{{ cutoff }}) AS pap_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'pap' AS metric, {{ cutoff }} AS k, pap_at_{{ cutoff }}_value AS value, pap_at_{{ cutoff }}_n AS n_users,
    pap_at_{{ cutoff }}_std AS std,
    pap_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * pap_at_{{ cutoff }}_std
        / NULLIF(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_low,
    pap_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * pap_at_{{ cutoff }}_std
        / NULLIF(SQRT(pap_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
