{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Binary preference
  Formula: sum over the hits in the top k of 1 - min(b, R) / min(B, R), divided by R, for R
    relevant items and B items that are judged not relevant, b of which are above the hit; a hit
    with b = 0 counts 1. Unjudged items have no effect.
  Undefined: no item of the user is judged not relevant, with no_nonrelevant=undefined.
  Source: Buckley, Voorhees: Retrieval evaluation with incomplete information, SIGIR 2004; bpref
    in trec_eval.
-#}

{% macro bpref(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('bpref', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'bpref', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'bpref', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('bpref', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test bpref_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.bpref(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('bpref', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__bpref(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('bpref') }}
{%- endmacro %}

{% macro duckdb__bpref(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, count(*) AS n_relevant FROM judged WHERE relevance > 0 GROUP BY user_id
), judged_users AS (
    -- one row per user with judged items
    SELECT user_id, count(CASE WHEN NOT (relevance > 0) THEN 1 END) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT
        user_id, 0 AS rank, 0 AS is_relevant, 0 AS n_nonrelevant_above, n_relevant,
        coalesce(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, rank, is_relevant,
        sum(1 - is_relevant) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_nonrelevant_above,
        coalesce(n_relevant, 0) AS n_relevant, n_nonrelevant
    FROM matched
    INNER JOIN judged_users USING (user_id)
    LEFT JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        coalesce(
            sum(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CASE
                        WHEN is_relevant = 1
                        THEN 1 - coalesce(
                            least(n_nonrelevant_above, audience_matches.n_relevant)
                                / nullif(least(n_nonrelevant, audience_matches.n_relevant), 0),
                            0
                        )
                        ELSE 0
                    END
                END
            ) / nullif(max(CASE WHEN rank <= {{ cutoff }} THEN audience_matches.n_relevant END), 0),
            0
        ) AS bpref_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_value, count(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_n,
        stddev_samp(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'bpref' AS metric, {{ cutoff }} AS k, bpref_at_{{ cutoff }}_value AS value, bpref_at_{{ cutoff }}_n AS n_users,
    bpref_at_{{ cutoff }}_std AS std,
    bpref_at_{{ cutoff }}_value - 1.9599639845400536 * bpref_at_{{ cutoff }}_std / sqrt(bpref_at_{{ cutoff }}_n) AS ci_low,
    bpref_at_{{ cutoff }}_value + 1.9599639845400536 * bpref_at_{{ cutoff }}_std / sqrt(bpref_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__bpref(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM judged WHERE relevance > 0 GROUP BY user_id
), judged_users AS (
    -- one row per user with judged items
    SELECT user_id, COUNT(CASE WHEN NOT (relevance > 0) THEN 1 END) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT
        user_id, 0 AS rank, 0 AS is_relevant, 0 AS n_nonrelevant_above, n_relevant,
        COALESCE(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, rank, is_relevant,
        SUM(1 - is_relevant) OVER (
            PARTITION BY user_id
            ORDER BY rank NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_nonrelevant_above,
        COALESCE(n_relevant, 0) AS n_relevant, n_nonrelevant
    FROM matched
    INNER JOIN judged_users USING (user_id)
    LEFT JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CASE
                        WHEN is_relevant = 1
                        THEN 1 - COALESCE(
                            CAST(LEAST(n_nonrelevant_above, audience_matches.n_relevant) AS DOUBLE)
                                / NULLIF(LEAST(n_nonrelevant, audience_matches.n_relevant), 0),
                            0
                        )
                        ELSE 0
                    END
                END
            ) AS DOUBLE)
                / NULLIF(MAX(CASE WHEN rank <= {{ cutoff }} THEN audience_matches.n_relevant END), 0),
            0
        ) AS bpref_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_value, COUNT(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_n,
        STDDEV_SAMP(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'bpref' AS metric, {{ cutoff }} AS k, bpref_at_{{ cutoff }}_value AS value, bpref_at_{{ cutoff }}_n AS n_users,
    bpref_at_{{ cutoff }}_std AS std,
    bpref_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * bpref_at_{{ cutoff }}_std
        / NULLIF(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_low,
    bpref_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * bpref_at_{{ cutoff }}_std
        / NULLIF(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__bpref(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM judged WHERE relevance > 0 GROUP BY user_id
), judged_users AS (
    -- one row per user with judged items
    SELECT user_id, COUNT(CASE WHEN NOT (relevance > 0) THEN 1 END) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT
        user_id, 0 AS rank, 0 AS is_relevant, 0 AS n_nonrelevant_above, n_relevant,
        COALESCE(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, rank, is_relevant,
        SUM(1 - is_relevant) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_nonrelevant_above,
        COALESCE(n_relevant, 0) AS n_relevant, n_nonrelevant
    FROM matched
    INNER JOIN judged_users USING (user_id)
    LEFT JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CASE
                        WHEN is_relevant = 1
                        THEN 1 - COALESCE(
                            CAST(LEAST_IGNORE_NULLS(n_nonrelevant_above, audience_matches.n_relevant) AS DOUBLE) / NULLIF(LEAST_IGNORE_NULLS(n_nonrelevant, audience_matches.n_relevant), 0),
                            0
                        )
                        ELSE 0
                    END
                END
            ) AS DOUBLE)
                / NULLIF(MAX(CASE WHEN rank <= {{ cutoff }} THEN audience_matches.n_relevant END), 0),
            0
        ) AS bpref_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_value, COUNT(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_n,
        STDDEV_SAMP(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'bpref' AS metric, {{ cutoff }} AS k, bpref_at_{{ cutoff }}_value AS value, bpref_at_{{ cutoff }}_n AS n_users,
    bpref_at_{{ cutoff }}_std AS std,
    bpref_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * bpref_at_{{ cutoff }}_std
        / NULLIF(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_low,
    bpref_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * bpref_at_{{ cutoff }}_std
        / NULLIF(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__bpref(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS FLOAT64) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM judged WHERE relevance > 0 GROUP BY user_id
), judged_users AS (
    -- one row per user with judged items
    SELECT user_id, COUNT(CASE WHEN NOT (relevance > 0) THEN 1 END) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT
        user_id, CAST(rank AS INT64) AS rank,
        CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT
        user_id, 0 AS rank, 0 AS is_relevant, 0 AS n_nonrelevant_above, n_relevant,
        COALESCE(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, rank, is_relevant,
        SUM(1 - is_relevant) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_nonrelevant_above,
        COALESCE(n_relevant, 0) AS n_relevant, n_nonrelevant
    FROM matched
    INNER JOIN judged_users USING (user_id)
    LEFT JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CASE
                        WHEN is_relevant = 1
                        THEN 1 - COALESCE(
                            CAST(LEAST(
                                COALESCE(n_nonrelevant_above, audience_matches.n_relevant),
                                COALESCE(audience_matches.n_relevant, n_nonrelevant_above)
                            ) AS FLOAT64) / NULLIF(
                                LEAST(
                                    COALESCE(n_nonrelevant, audience_matches.n_relevant),
                                    COALESCE(audience_matches.n_relevant, n_nonrelevant)
                                ),
                                0
                            ),
                            0
                        )
                        ELSE 0
                    END
                END
            ) AS FLOAT64)
                / NULLIF(MAX(CASE WHEN rank <= {{ cutoff }} THEN audience_matches.n_relevant END), 0),
            0
        ) AS bpref_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_value, COUNT(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_n,
        STDDEV_SAMP(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'bpref' AS metric, {{ cutoff }} AS k, bpref_at_{{ cutoff }}_value AS value, bpref_at_{{ cutoff }}_n AS n_users,
    bpref_at_{{ cutoff }}_std AS std,
    bpref_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * bpref_at_{{ cutoff }}_std
        / NULLIF(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_low,
    bpref_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * bpref_at_{{ cutoff }}_std
        / NULLIF(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__bpref(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM judged WHERE relevance > 0 GROUP BY user_id
), judged_users AS (
    -- one row per user with judged items
    SELECT user_id, COUNT(CASE WHEN NOT (relevance > 0) THEN 1 END) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT
        user_id, 0 AS rank, 0 AS is_relevant, 0 AS n_nonrelevant_above, n_relevant,
        COALESCE(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, rank, is_relevant,
        SUM(1 - is_relevant) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_nonrelevant_above,
        COALESCE(n_relevant, 0) AS n_relevant, n_nonrelevant
    FROM matched
    INNER JOIN judged_users USING (user_id)
    LEFT JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CASE
                        WHEN is_relevant = 1
                        THEN 1 - COALESCE(
                            CAST(LEAST(
                                COALESCE(n_nonrelevant_above, audience_matches.n_relevant),
                                COALESCE(audience_matches.n_relevant, n_nonrelevant_above)
                            ) AS DOUBLE) / NULLIF(
                                LEAST(
                                    COALESCE(n_nonrelevant, audience_matches.n_relevant),
                                    COALESCE(audience_matches.n_relevant, n_nonrelevant)
                                ),
                                0
                            ),
                            0
                        )
                        ELSE 0
                    END
                END
            ) AS DOUBLE)
                / NULLIF(MAX(CASE WHEN rank <= {{ cutoff }} THEN audience_matches.n_relevant END), 0),
            0
        ) AS bpref_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_value, COUNT(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_n,
        STDDEV_SAMP(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'bpref' AS metric, {{ cutoff }} AS k, bpref_at_{{ cutoff }}_value AS value, bpref_at_{{ cutoff }}_n AS n_users,
    bpref_at_{{ cutoff }}_std AS std,
    bpref_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * bpref_at_{{ cutoff }}_std
        / NULLIF(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_low,
    bpref_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * bpref_at_{{ cutoff }}_std
        / NULLIF(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__bpref(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__bpref(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__bpref(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS Nullable(Float64)) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_relevant
    FROM judged
    WHERE relevance > 0
    GROUP BY user_id
), judged_users AS (
    -- one row per user with judged items
    SELECT
        user_id,
        CAST(COUNT(CASE WHEN NOT (relevance > 0) THEN 1 END) AS Nullable(Int64)) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT
        user_id, CAST(rank AS Nullable(Int64)) AS rank,
        CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT
        user_id, 0 AS rank, 0 AS is_relevant, 0 AS n_nonrelevant_above, n_relevant,
        COALESCE(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, rank, is_relevant,
        SUM(1 - is_relevant) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_nonrelevant_above,
        COALESCE(n_relevant, 0) AS n_relevant, n_nonrelevant
    FROM matched
    INNER JOIN judged_users USING (user_id)
    LEFT JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CASE
                        WHEN is_relevant = 1
                        THEN 1 - COALESCE(
                            CAST(LEAST(n_nonrelevant_above, audience_matches.n_relevant)
                                AS Nullable(Float64))
                                / nullIf(LEAST(n_nonrelevant, audience_matches.n_relevant), 0),
                            0
                        )
                        ELSE 0
                    END
                END
            ) AS Nullable(Float64))
                / nullIf(MAX(CASE WHEN rank <= {{ cutoff }} THEN audience_matches.n_relevant END), 0),
            0
        ) AS bpref_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_value,
        CAST(COUNT(bpref_at_{{ cutoff }}) AS Nullable(Int64)) AS bpref_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(bpref_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(bpref_at_{{ cutoff }})
        END AS bpref_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'bpref' AS metric, {{ cutoff }} AS k, bpref_at_{{ cutoff }}_value AS value, bpref_at_{{ cutoff }}_n AS n_users,
    bpref_at_{{ cutoff }}_std AS std,
    bpref_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * bpref_at_{{ cutoff }}_std
        / nullIf(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_low,
    bpref_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * bpref_at_{{ cutoff }}_std
        / nullIf(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__bpref(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE PRECISION) AS relevance FROM interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM judged WHERE relevance > 0 GROUP BY user_id
), judged_users AS (
    -- one row per user with judged items
    SELECT user_id, COUNT(CASE WHEN NOT (relevance > 0) THEN 1 END) AS n_nonrelevant
    FROM judged
    GROUP BY user_id
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
    FROM recommendations AS ranked
    INNER JOIN judged USING (user_id, item_id)
), audience_matches AS (
    -- one row per user of the audience, with or without judged items
    SELECT
        user_id, 0 AS rank, 0 AS is_relevant, 0 AS n_nonrelevant_above, n_relevant,
        COALESCE(n_nonrelevant, 0) AS n_nonrelevant
    FROM relevant_users
    LEFT JOIN judged_users USING (user_id)
    UNION ALL
    -- one row per judged item of a list
    SELECT
        user_id, rank, is_relevant,
        SUM(1 - is_relevant) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS n_nonrelevant_above,
        COALESCE(n_relevant, 0) AS n_relevant, n_nonrelevant
    FROM matched
    INNER JOIN judged_users USING (user_id)
    LEFT JOIN relevant_users USING (user_id)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(
                CASE
                    WHEN rank <= {{ cutoff }}
                    THEN CASE
                        WHEN is_relevant = 1
                        THEN 1 - COALESCE(
                            CAST(LEAST(n_nonrelevant_above, audience_matches.n_relevant)
                                AS DOUBLE PRECISION)
                                / NULLIF(LEAST(n_nonrelevant, audience_matches.n_relevant), 0),
                            0
                        )
                        ELSE 0
                    END
                END
            ) AS DOUBLE PRECISION)
                / NULLIF(MAX(CASE WHEN rank <= {{ cutoff }} THEN audience_matches.n_relevant END), 0),
            0
        ) AS bpref_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN audience_matches USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_value, COUNT(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_n,
        STDDEV_SAMP(bpref_at_{{ cutoff }}) AS bpref_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'bpref' AS metric, {{ cutoff }} AS k, bpref_at_{{ cutoff }}_value AS value, bpref_at_{{ cutoff }}_n AS n_users,
    bpref_at_{{ cutoff }}_std AS std,
    bpref_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * bpref_at_{{ cutoff }}_std
        / NULLIF(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_low,
    bpref_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * bpref_at_{{ cutoff }}_std
        / NULLIF(SQRT(bpref_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
