{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Kendall's tau
  Formula: (concordant - discordant pairs of judged items in the top k, by score and relevance) /
    geometric mean of the number of pairs with different scores and the number of pairs with
    different relevance. Lists ordered by rank or row are compared by position instead of score.
  Undefined: fewer than two judged items in the top k, or all of them have the same score or the
    same relevance.
  Source: Kendall: The treatment of ties in ranking problems, Biometrika 33 (1945).
-#}

{% macro kendall_tau(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('kendall_tau', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'kendall_tau', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'kendall_tau', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('kendall_tau', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test kendall_tau_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.kendall_tau(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('kendall_tau', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__kendall_tau(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('kendall_tau') }}
{%- endmacro %}

{% macro duckdb__kendall_tau(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT user_id, rank, score AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), matched_pairs AS (
    -- one row per judged item of a list, compared with all judged items above it
    SELECT
        lower_item.user_id, lower_item.rank,
        sum(
            CASE
                WHEN (
                    upper_item.predicted > lower_item.predicted
                ) = (upper_item.relevance > lower_item.relevance
                )
                THEN 1
                ELSE -1
            END * CASE
                WHEN upper_item.predicted <> lower_item.predicted
                AND upper_item.relevance <> lower_item.relevance
                THEN 1
                ELSE 0
            END
        ) AS agreement,
        count(CASE WHEN upper_item.predicted <> lower_item.predicted THEN 1 END)
            AS n_predicted_differ,
        count(CASE WHEN upper_item.relevance <> lower_item.relevance THEN 1 END)
            AS n_relevance_differ
    FROM matched AS lower_item
    LEFT JOIN matched AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        sum(CASE WHEN rank <= {{ cutoff }} THEN agreement END) / nullif(
            sqrt(
                CAST(sum(CASE WHEN rank <= {{ cutoff }} THEN n_predicted_differ END) AS DOUBLE)
                    * CAST(sum(CASE WHEN rank <= {{ cutoff }} THEN n_relevance_differ END) AS DOUBLE)
            ),
            0
        ) AS kendall_tau_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN matched_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_value,
        count(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_n,
        stddev_samp(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'kendall_tau' AS metric, {{ cutoff }} AS k, kendall_tau_at_{{ cutoff }}_value AS value,
    kendall_tau_at_{{ cutoff }}_n AS n_users, kendall_tau_at_{{ cutoff }}_std AS std,
    kendall_tau_at_{{ cutoff }}_value - 1.9599639845400536 * kendall_tau_at_{{ cutoff }}_std
        / sqrt(kendall_tau_at_{{ cutoff }}_n) AS ci_low,
    kendall_tau_at_{{ cutoff }}_value + 1.9599639845400536 * kendall_tau_at_{{ cutoff }}_std
        / sqrt(kendall_tau_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__kendall_tau(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id NULLS LAST) AS rank
    FROM recommendations
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT user_id, rank, score AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), matched_pairs AS (
    -- one row per judged item of a list, compared with all judged items above it
    SELECT
        lower_item.user_id, lower_item.rank,
        SUM(
            CASE
                WHEN (
                    upper_item.predicted > lower_item.predicted
                ) = (upper_item.relevance > lower_item.relevance
                )
                THEN 1
                ELSE -1
            END * CASE
                WHEN upper_item.predicted <> lower_item.predicted
                AND upper_item.relevance <> lower_item.relevance
                THEN 1
                ELSE 0
            END
        ) AS agreement,
        COUNT(CASE WHEN upper_item.predicted <> lower_item.predicted THEN 1 END)
            AS n_predicted_differ,
        COUNT(CASE WHEN upper_item.relevance <> lower_item.relevance THEN 1 END)
            AS n_relevance_differ
    FROM matched AS lower_item
    LEFT JOIN matched AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN agreement END) AS DOUBLE) / NULLIF(
            SQRT(
                CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_predicted_differ END) AS DOUBLE)
                    * CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_relevance_differ END) AS DOUBLE)
            ),
            0
        ) AS kendall_tau_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN matched_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_value,
        COUNT(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_n,
        STDDEV_SAMP(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'kendall_tau' AS metric, {{ cutoff }} AS k, kendall_tau_at_{{ cutoff }}_value AS value,
    kendall_tau_at_{{ cutoff }}_n AS n_users, kendall_tau_at_{{ cutoff }}_std AS std,
    kendall_tau_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * kendall_tau_at_{{ cutoff }}_std
        / NULLIF(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_low,
    kendall_tau_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * kendall_tau_at_{{ cutoff }}_std
        / NULLIF(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__kendall_tau(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT user_id, rank, score AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), matched_pairs AS (
    -- one row per judged item of a list, compared with all judged items above it
    SELECT
        lower_item.user_id, lower_item.rank,
        SUM(
            CASE
                WHEN (
                    upper_item.predicted > lower_item.predicted
                ) = (upper_item.relevance > lower_item.relevance
                )
                THEN 1
                ELSE -1
            END * CASE
                WHEN upper_item.predicted <> lower_item.predicted
                AND upper_item.relevance <> lower_item.relevance
                THEN 1
                ELSE 0
            END
        ) AS agreement,
        COUNT(CASE WHEN upper_item.predicted <> lower_item.predicted THEN 1 END)
            AS n_predicted_differ,
        COUNT(CASE WHEN upper_item.relevance <> lower_item.relevance THEN 1 END)
            AS n_relevance_differ
    FROM matched AS lower_item
    LEFT JOIN matched AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN agreement END) AS DOUBLE) / NULLIF(
            SQRT(
                CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_predicted_differ END) AS DOUBLE)
                    * CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_relevance_differ END) AS DOUBLE)
            ),
            0
        ) AS kendall_tau_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN matched_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_value,
        COUNT(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_n,
        STDDEV_SAMP(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'kendall_tau' AS metric, {{ cutoff }} AS k, kendall_tau_at_{{ cutoff }}_value AS value,
    kendall_tau_at_{{ cutoff }}_n AS n_users, kendall_tau_at_{{ cutoff }}_std AS std,
    kendall_tau_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * kendall_tau_at_{{ cutoff }}_std
        / NULLIF(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_low,
    kendall_tau_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * kendall_tau_at_{{ cutoff }}_std
        / NULLIF(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__kendall_tau(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT user_id, rank, score AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), matched_pairs AS (
    -- one row per judged item of a list, compared with all judged items above it
    SELECT
        lower_item.user_id, lower_item.rank,
        SUM(
            CASE
                WHEN (
                    upper_item.predicted > lower_item.predicted
                ) = (upper_item.relevance > lower_item.relevance
                )
                THEN 1
                ELSE -1
            END * CASE
                WHEN upper_item.predicted <> lower_item.predicted
                AND upper_item.relevance <> lower_item.relevance
                THEN 1
                ELSE 0
            END
        ) AS agreement,
        COUNT(CASE WHEN upper_item.predicted <> lower_item.predicted THEN 1 END)
            AS n_predicted_differ,
        COUNT(CASE WHEN upper_item.relevance <> lower_item.relevance THEN 1 END)
            AS n_relevance_differ
    FROM matched AS lower_item
    LEFT JOIN matched AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN agreement END) AS FLOAT64) / NULLIF(
            SQRT(
                CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_predicted_differ END) AS FLOAT64)
                    * CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_relevance_differ END) AS FLOAT64)
            ),
            0
        ) AS kendall_tau_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN matched_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_value,
        COUNT(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_n,
        STDDEV_SAMP(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'kendall_tau' AS metric, {{ cutoff }} AS k, kendall_tau_at_{{ cutoff }}_value AS value,
    kendall_tau_at_{{ cutoff }}_n AS n_users, kendall_tau_at_{{ cutoff }}_std AS std,
    kendall_tau_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * kendall_tau_at_{{ cutoff }}_std
        / NULLIF(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_low,
    kendall_tau_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * kendall_tau_at_{{ cutoff }}_std
        / NULLIF(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__kendall_tau(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT user_id, rank, score AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), matched_pairs AS (
    -- one row per judged item of a list, compared with all judged items above it
    SELECT
        lower_item.user_id, lower_item.rank,
        SUM(
            CASE
                WHEN (
                    upper_item.predicted > lower_item.predicted
                ) = (upper_item.relevance > lower_item.relevance
                )
                THEN 1
                ELSE -1
            END * CASE
                WHEN upper_item.predicted <> lower_item.predicted
                AND upper_item.relevance <> lower_item.relevance
                THEN 1
                ELSE 0
            END
        ) AS agreement,
        COUNT(CASE WHEN upper_item.predicted <> lower_item.predicted THEN 1 END)
            AS n_predicted_differ,
        COUNT(CASE WHEN upper_item.relevance <> lower_item.relevance THEN 1 END)
            AS n_relevance_differ
    FROM matched AS lower_item
    LEFT JOIN matched AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN agreement END) AS DOUBLE) / NULLIF(
            SQRT(
                CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_predicted_differ END) AS DOUBLE)
                    * CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_relevance_differ END) AS DOUBLE)
            ),
            0
        ) AS kendall_tau_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN matched_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_value,
        COUNT(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_n,
        STDDEV_SAMP(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'kendall_tau' AS metric, {{ cutoff }} AS k, kendall_tau_at_{{ cutoff }}_value AS value,
    kendall_tau_at_{{ cutoff }}_n AS n_users, kendall_tau_at_{{ cutoff }}_std AS std,
    kendall_tau_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * kendall_tau_at_{{ cutoff }}_std
        / NULLIF(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_low,
    kendall_tau_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * kendall_tau_at_{{ cutoff }}_std
        / NULLIF(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__kendall_tau(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__kendall_tau(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__kendall_tau(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        CAST(ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC, item_id)
            AS Nullable(Int64)) AS rank
    FROM recommendations
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT user_id, rank, score AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), matched_pairs AS (
    -- one row per judged item of a list, compared with all judged items above it
    SELECT
        lower_item.user_id AS user_id, lower_item.rank AS rank,
        SUM(
            CASE
                WHEN (
                    upper_item.predicted > lower_item.predicted
                ) = (upper_item.relevance > lower_item.relevance
                )
                THEN 1
                ELSE -1
            END * CASE
                WHEN upper_item.predicted <> lower_item.predicted
                AND upper_item.relevance <> lower_item.relevance
                THEN 1
                ELSE 0
            END
        ) AS agreement,
        CAST(COUNT(CASE WHEN upper_item.predicted <> lower_item.predicted THEN 1 END)
            AS Nullable(Int64)) AS n_predicted_differ,
        CAST(COUNT(CASE WHEN upper_item.relevance <> lower_item.relevance THEN 1 END)
            AS Nullable(Int64)) AS n_relevance_differ
    FROM matched AS lower_item
    LEFT JOIN matched AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN agreement END) AS Nullable(Float64)) / nullIf(
            SQRT(
                CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_predicted_differ END) AS Nullable(Float64))
                    * CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_relevance_differ END)
                    AS Nullable(Float64))
            ),
            0
        ) AS kendall_tau_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN matched_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_value,
        CAST(COUNT(kendall_tau_at_{{ cutoff }}) AS Nullable(Int64)) AS kendall_tau_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(kendall_tau_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(kendall_tau_at_{{ cutoff }})
        END AS kendall_tau_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'kendall_tau' AS metric, {{ cutoff }} AS k, kendall_tau_at_{{ cutoff }}_value AS value,
    kendall_tau_at_{{ cutoff }}_n AS n_users, kendall_tau_at_{{ cutoff }}_std AS std,
    kendall_tau_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * kendall_tau_at_{{ cutoff }}_std / nullIf(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_low,
    kendall_tau_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * kendall_tau_at_{{ cutoff }}_std / nullIf(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__kendall_tau(recommendations, interactions, cutoff) -%}
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
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY score DESC NULLS LAST, item_id) AS rank
    FROM recommendations
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT user_id, rank, score AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), matched_pairs AS (
    -- one row per judged item of a list, compared with all judged items above it
    SELECT
        lower_item.user_id, lower_item.rank,
        SUM(
            CASE
                WHEN (
                    upper_item.predicted > lower_item.predicted
                ) = (upper_item.relevance > lower_item.relevance
                )
                THEN 1
                ELSE -1
            END * CASE
                WHEN upper_item.predicted <> lower_item.predicted
                AND upper_item.relevance <> lower_item.relevance
                THEN 1
                ELSE 0
            END
        ) AS agreement,
        COUNT(CASE WHEN upper_item.predicted <> lower_item.predicted THEN 1 END)
            AS n_predicted_differ,
        COUNT(CASE WHEN upper_item.relevance <> lower_item.relevance THEN 1 END)
            AS n_relevance_differ
    FROM matched AS lower_item
    LEFT JOIN matched AS upper_item
        ON upper_item.user_id = lower_item.user_id AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= {{ cutoff }}
    GROUP BY lower_item.user_id, lower_item.rank
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN agreement END) AS DOUBLE PRECISION) / NULLIF(
            SQRT(
                CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_predicted_differ END) AS DOUBLE PRECISION)
                    * CAST(SUM(CASE WHEN rank <= {{ cutoff }} THEN n_relevance_differ END)
                    AS DOUBLE PRECISION)
            ),
            0
        ) AS kendall_tau_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN matched_pairs USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_value,
        COUNT(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_n,
        STDDEV_SAMP(kendall_tau_at_{{ cutoff }}) AS kendall_tau_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'kendall_tau' AS metric, {{ cutoff }} AS k, kendall_tau_at_{{ cutoff }}_value AS value,
    kendall_tau_at_{{ cutoff }}_n AS n_users, kendall_tau_at_{{ cutoff }}_std AS std,
    kendall_tau_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * kendall_tau_at_{{ cutoff }}_std / NULLIF(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_low,
    kendall_tau_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * kendall_tau_at_{{ cutoff }}_std / NULLIF(SQRT(kendall_tau_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
