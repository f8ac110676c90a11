{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Fall-out
  Formula: non-relevant items in the top k / all non-relevant items of the user.
  Undefined: the user has no non-relevant item, with no_nonrelevant=undefined.
  Source: Manning, Raghavan, Schütze: Introduction to Information Retrieval (2008), section 8.4;
    RetrievalFallOut in torchmetrics.
-#}

{% macro fallout(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('fallout', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'fallout', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'fallout', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('fallout', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test fallout_at_most(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.fallout(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_most('fallout', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__fallout(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('fallout') }}
{%- endmacro %}

{% macro duckdb__fallout(recommendations, interactions, cutoff) -%}
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
), judged_users AS (
    -- one row per user with judged items
    SELECT user_id, count(CASE WHEN NOT (relevance > 0) THEN 1 END) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT user_id, 0 AS rank, 0 AS is_nonrelevant, coalesce(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        1 - (CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END) AS is_nonrelevant,
        judged_users.n_nonrelevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
    INNER JOIN judged_users USING (user_id)
), audience_matches_values AS (
    -- one row per user with audience_matches
    SELECT
        user_id,
        CASE
            WHEN min(rank) <= {{ cutoff }}
            THEN sum(CASE WHEN rank <= {{ cutoff }} THEN is_nonrelevant END)
                / nullif(max(CASE WHEN rank <= {{ cutoff }} THEN n_nonrelevant END), 0)
            ELSE 0
        END AS fallout_at_{{ cutoff }}
    FROM audience_matches
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN audience_matches_values.user_id IS NULL THEN 0 ELSE fallout_at_{{ cutoff }} END
            AS fallout_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches_values ON audience_matches_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_value, count(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_n,
        stddev_samp(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'fallout' AS metric, {{ cutoff }} AS k, fallout_at_{{ cutoff }}_value AS value, fallout_at_{{ cutoff }}_n AS n_users,
    fallout_at_{{ cutoff }}_std AS std,
    fallout_at_{{ cutoff }}_value - 1.9599639845400536 * fallout_at_{{ cutoff }}_std / sqrt(fallout_at_{{ cutoff }}_n)
        AS ci_low,
    fallout_at_{{ cutoff }}_value + 1.9599639845400536 * fallout_at_{{ cutoff }}_std / sqrt(fallout_at_{{ cutoff }}_n)
        AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__fallout(recommendations, interactions, cutoff) -%}
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
), judged_users AS (
    -- one row per user with judged items
    SELECT user_id, COUNT(CASE WHEN NOT (relevance > 0) THEN 1 END) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT user_id, 0 AS rank, 0 AS is_nonrelevant, COALESCE(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        1 - (CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END) AS is_nonrelevant,
        judged_users.n_nonrelevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
    INNER JOIN judged_users USING (user_id)
), audience_matches_values AS (
    -- one row per user with audience_matches
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_nonrelevant END) AS DOUBLE)
                / NULLIF(MAX(CASE WHEN rank <= {{ cutoff }} THEN n_nonrelevant END), 0)
            ELSE 0
        END AS fallout_at_{{ cutoff }}
    FROM audience_matches
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN audience_matches_values.user_id IS NULL THEN 0 ELSE fallout_at_{{ cutoff }} END
            AS fallout_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches_values ON audience_matches_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_value, COUNT(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_n,
        STDDEV_SAMP(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'fallout' AS metric, {{ cutoff }} AS k, fallout_at_{{ cutoff }}_value AS value, fallout_at_{{ cutoff }}_n AS n_users,
    fallout_at_{{ cutoff }}_std AS std,
    fallout_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * fallout_at_{{ cutoff }}_std
        / NULLIF(SQRT(fallout_at_{{ cutoff }}_n), 0) AS ci_low,
    fallout_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * fallout_at_{{ cutoff }}_std
        / NULLIF(SQRT(fallout_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__fallout(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__fallout(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro trino__fallout(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__fallout(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__fallout(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.spark__fallout(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__fallout(recommendations, interactions, cutoff) -%}
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
), judged_users AS (
    -- one row per user with judged items
    SELECT user_id, COUNT(CASE WHEN NOT (relevance > 0) THEN 1 END) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT user_id, 0 AS rank, 0 AS is_nonrelevant, COALESCE(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, CAST(rank AS INT64) AS rank,
        1 - (CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END) AS is_nonrelevant,
        judged_users.n_nonrelevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
    INNER JOIN judged_users USING (user_id)
), audience_matches_values AS (
    -- one row per user with audience_matches
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_nonrelevant END) AS FLOAT64)
                / NULLIF(MAX(CASE WHEN rank <= {{ cutoff }} THEN n_nonrelevant END), 0)
            ELSE 0
        END AS fallout_at_{{ cutoff }}
    FROM audience_matches
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN audience_matches_values.user_id IS NULL THEN 0 ELSE fallout_at_{{ cutoff }} END
            AS fallout_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches_values ON audience_matches_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_value, COUNT(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_n,
        STDDEV_SAMP(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'fallout' AS metric, {{ cutoff }} AS k, fallout_at_{{ cutoff }}_value AS value, fallout_at_{{ cutoff }}_n AS n_users,
    fallout_at_{{ cutoff }}_std AS std,
    fallout_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * fallout_at_{{ cutoff }}_std
        / NULLIF(SQRT(fallout_at_{{ cutoff }}_n), 0) AS ci_low,
    fallout_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * fallout_at_{{ cutoff }}_std
        / NULLIF(SQRT(fallout_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__fallout(recommendations, interactions, cutoff) -%}
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
), judged_users AS (
    -- one row per user with judged items
    SELECT
        user_id,
        CAST(COUNT(CASE WHEN NOT (relevance > 0) THEN 1 END) AS Nullable(Int64)) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT user_id, 0 AS rank, 0 AS is_nonrelevant, COALESCE(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, CAST(rank AS Nullable(Int64)) AS rank,
        1 - (CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END) AS is_nonrelevant,
        judged_users.n_nonrelevant AS n_nonrelevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
    INNER JOIN judged_users USING (user_id)
), audience_matches_values AS (
    -- one row per user with audience_matches
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_nonrelevant END) AS Nullable(Float64))
                / nullIf(MAX(CASE WHEN rank <= {{ cutoff }} THEN n_nonrelevant END), 0)
            ELSE 0
        END AS fallout_at_{{ cutoff }}
    FROM audience_matches
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN audience_matches_values.user_id IS NULL THEN 0 ELSE fallout_at_{{ cutoff }} END
            AS fallout_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches_values ON audience_matches_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_value,
        CAST(COUNT(fallout_at_{{ cutoff }}) AS Nullable(Int64)) AS fallout_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(fallout_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(fallout_at_{{ cutoff }})
        END AS fallout_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'fallout' AS metric, {{ cutoff }} AS k, fallout_at_{{ cutoff }}_value AS value, fallout_at_{{ cutoff }}_n AS n_users,
    fallout_at_{{ cutoff }}_std AS std,
    fallout_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * fallout_at_{{ cutoff }}_std
        / nullIf(SQRT(fallout_at_{{ cutoff }}_n), 0) AS ci_low,
    fallout_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * fallout_at_{{ cutoff }}_std
        / nullIf(SQRT(fallout_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__fallout(recommendations, interactions, cutoff) -%}
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
), judged_users AS (
    -- one row per user with judged items
    SELECT user_id, COUNT(CASE WHEN NOT (relevance > 0) THEN 1 END) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT user_id, 0 AS rank, 0 AS is_nonrelevant, COALESCE(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        1 - (CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END) AS is_nonrelevant,
        judged_users.n_nonrelevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
    INNER JOIN judged_users USING (user_id)
), audience_matches_values AS (
    -- one row per user with audience_matches
    SELECT
        user_id,
        CASE
            WHEN MIN(rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN is_nonrelevant END) AS DOUBLE PRECISION)
                / NULLIF(MAX(CASE WHEN rank <= {{ cutoff }} THEN n_nonrelevant END), 0)
            ELSE 0
        END AS fallout_at_{{ cutoff }}
    FROM audience_matches
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN audience_matches_values.user_id IS NULL THEN 0 ELSE fallout_at_{{ cutoff }} END
            AS fallout_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches_values ON audience_matches_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_value, COUNT(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_n,
        STDDEV_SAMP(fallout_at_{{ cutoff }}) AS fallout_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'fallout' AS metric, {{ cutoff }} AS k, fallout_at_{{ cutoff }}_value AS value, fallout_at_{{ cutoff }}_n AS n_users,
    fallout_at_{{ cutoff }}_std AS std,
    fallout_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * fallout_at_{{ cutoff }}_std
        / NULLIF(SQRT(fallout_at_{{ cutoff }}_n), 0) AS ci_low,
    fallout_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * fallout_at_{{ cutoff }}_std
        / NULLIF(SQRT(fallout_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
