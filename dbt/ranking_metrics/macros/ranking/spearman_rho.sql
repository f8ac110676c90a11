{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Spearman's rho
  Formula: correlation between the ranks by score and the ranks by relevance of the judged items
    in the top k; equal values share their average rank. Lists ordered by rank or row are compared
    by position instead of score.
  Undefined: fewer than two judged items in the top k, or all of them have the same score or the
    same relevance.
  Source: Spearman: The proof and measurement of association between two things, American Journal
    of Psychology 15 (1904).
-#}

{% macro spearman_rho(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('spearman_rho', cutoff) -%}
{%- set recommendations = ranking_metrics._scored_lists(
    'spearman_rho', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'spearman_rho', interactions, user_column, item_column, relevance_column, needs_relevance=True
) -%}
{{ adapter.dispatch('spearman_rho', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test spearman_rho_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.spearman_rho(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('spearman_rho', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__spearman_rho(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('spearman_rho') }}
{%- endmacro %}

{% macro duckdb__spearman_rho(recommendations, interactions, cutoff) -%}
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
), placed AS (
    -- one row per judged item in the top k, with its places by score and by relevance: the sum of
    -- the first and the last position of equal values, a whole number and twice their mean rank
    SELECT
        user_id,
        rank() OVER (PARTITION BY user_id ORDER BY score) + count(*) OVER (
            PARTITION BY user_id ORDER BY score RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS predicted_place,
        rank() OVER (PARTITION BY user_id ORDER BY relevance) + count(*) OVER (
            PARTITION BY user_id
            ORDER BY relevance
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS relevance_place
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        (
            count(predicted_place) * CAST(sum(predicted_place * relevance_place) AS INT128)
                - CAST(sum(predicted_place) AS INT128) * CAST(sum(relevance_place) AS INT128)
        ) / nullif(
            sqrt(
                CAST(count(predicted_place) * CAST(sum(predicted_place * predicted_place) AS INT128)
                    - CAST(sum(predicted_place) AS INT128) * CAST(sum(predicted_place) AS INT128)
                    AS DOUBLE)
                    * CAST(count(predicted_place)
                    * CAST(sum(relevance_place * relevance_place) AS INT128)
                    - CAST(sum(relevance_place) AS INT128) * CAST(sum(relevance_place) AS INT128)
                    AS DOUBLE)
            ),
            0
        ) AS spearman_rho_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN placed USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_value,
        count(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_n,
        stddev_samp(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'spearman_rho' AS metric, {{ cutoff }} AS k, spearman_rho_at_{{ cutoff }}_value AS value,
    spearman_rho_at_{{ cutoff }}_n AS n_users, spearman_rho_at_{{ cutoff }}_std AS std,
    spearman_rho_at_{{ cutoff }}_value - 1.9599639845400536 * spearman_rho_at_{{ cutoff }}_std
        / sqrt(spearman_rho_at_{{ cutoff }}_n) AS ci_low,
    spearman_rho_at_{{ cutoff }}_value + 1.9599639845400536 * spearman_rho_at_{{ cutoff }}_std
        / sqrt(spearman_rho_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__spearman_rho(recommendations, interactions, cutoff) -%}
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
), placed AS (
    -- one row per judged item in the top k, with its places by score and by relevance: the sum of
    -- the first and the last position of equal values, a whole number and twice their mean rank
    SELECT
        user_id,
        RANK() OVER (PARTITION BY user_id ORDER BY score NULLS LAST) + COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY score NULLS LAST
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS predicted_place,
        RANK() OVER (PARTITION BY user_id ORDER BY relevance NULLS LAST) + COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY relevance NULLS LAST
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS relevance_place
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(predicted_place) * CAST(SUM(predicted_place * relevance_place) AS DECIMAL(38, 0))
            - CAST(SUM(predicted_place) AS DECIMAL(38, 0))
            * CAST(SUM(relevance_place) AS DECIMAL(38, 0)) AS DOUBLE) / NULLIF(
            SQRT(
                CAST(COUNT(predicted_place)
                    * CAST(SUM(predicted_place * predicted_place) AS DECIMAL(38, 0))
                    - CAST(SUM(predicted_place) AS DECIMAL(38, 0))
                    * CAST(SUM(predicted_place) AS DECIMAL(38, 0)) AS DOUBLE)
                    * CAST(COUNT(predicted_place)
                    * CAST(SUM(relevance_place * relevance_place) AS DECIMAL(38, 0))
                    - CAST(SUM(relevance_place) AS DECIMAL(38, 0))
                    * CAST(SUM(relevance_place) AS DECIMAL(38, 0)) AS DOUBLE)
            ),
            0
        ) AS spearman_rho_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN placed USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_value,
        COUNT(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_n,
        STDDEV_SAMP(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'spearman_rho' AS metric, {{ cutoff }} AS k, spearman_rho_at_{{ cutoff }}_value AS value,
    spearman_rho_at_{{ cutoff }}_n AS n_users, spearman_rho_at_{{ cutoff }}_std AS std,
    spearman_rho_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * spearman_rho_at_{{ cutoff }}_std
        / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_low,
    spearman_rho_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * spearman_rho_at_{{ cutoff }}_std
        / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__spearman_rho(recommendations, interactions, cutoff) -%}
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
), placed AS (
    -- one row per judged item in the top k, with its places by score and by relevance: the sum of
    -- the first and the last position of equal values, a whole number and twice their mean rank
    SELECT
        user_id,
        RANK() OVER (PARTITION BY user_id ORDER BY score) + COUNT(*) OVER (
            PARTITION BY user_id ORDER BY score RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS predicted_place,
        RANK() OVER (PARTITION BY user_id ORDER BY relevance) + COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY relevance
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS relevance_place
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(predicted_place) * CAST(SUM(predicted_place * relevance_place) AS DECIMAL(38, 0))
            - CAST(SUM(predicted_place) AS DECIMAL(38, 0))
            * CAST(SUM(relevance_place) AS DECIMAL(38, 0)) AS DOUBLE) / NULLIF(
            SQRT(
                CAST(COUNT(predicted_place)
                    * CAST(SUM(predicted_place * predicted_place) AS DECIMAL(38, 0))
                    - CAST(SUM(predicted_place) AS DECIMAL(38, 0))
                    * CAST(SUM(predicted_place) AS DECIMAL(38, 0)) AS DOUBLE)
                    * CAST(COUNT(predicted_place)
                    * CAST(SUM(relevance_place * relevance_place) AS DECIMAL(38, 0))
                    - CAST(SUM(relevance_place) AS DECIMAL(38, 0))
                    * CAST(SUM(relevance_place) AS DECIMAL(38, 0)) AS DOUBLE)
            ),
            0
        ) AS spearman_rho_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN placed USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_value,
        COUNT(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_n,
        STDDEV_SAMP(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'spearman_rho' AS metric, {{ cutoff }} AS k, spearman_rho_at_{{ cutoff }}_value AS value,
    spearman_rho_at_{{ cutoff }}_n AS n_users, spearman_rho_at_{{ cutoff }}_std AS std,
    spearman_rho_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * spearman_rho_at_{{ cutoff }}_std
        / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_low,
    spearman_rho_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * spearman_rho_at_{{ cutoff }}_std
        / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__spearman_rho(recommendations, interactions, cutoff) -%}
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
), placed AS (
    -- one row per judged item in the top k, with its places by score and by relevance: the sum of
    -- the first and the last position of equal values, a whole number and twice their mean rank
    SELECT
        user_id,
        RANK() OVER (PARTITION BY user_id ORDER BY score IS NULL, score) + COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY score IS NULL, score
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS predicted_place,
        RANK() OVER (PARTITION BY user_id ORDER BY relevance IS NULL, relevance) + COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY relevance IS NULL, relevance
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS relevance_place
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(predicted_place) * CAST(SUM(predicted_place * relevance_place) AS BIGNUMERIC)
            - CAST(SUM(predicted_place) AS BIGNUMERIC) * CAST(SUM(relevance_place) AS BIGNUMERIC)
            AS FLOAT64) / NULLIF(
            SQRT(
                CAST(COUNT(predicted_place)
                    * CAST(SUM(predicted_place * predicted_place) AS BIGNUMERIC)
                    - CAST(SUM(predicted_place) AS BIGNUMERIC)
                    * CAST(SUM(predicted_place) AS BIGNUMERIC) AS FLOAT64)
                    * CAST(COUNT(predicted_place)
                    * CAST(SUM(relevance_place * relevance_place) AS BIGNUMERIC)
                    - CAST(SUM(relevance_place) AS BIGNUMERIC)
                    * CAST(SUM(relevance_place) AS BIGNUMERIC) AS FLOAT64)
            ),
            0
        ) AS spearman_rho_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN placed USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_value,
        COUNT(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_n,
        STDDEV_SAMP(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'spearman_rho' AS metric, {{ cutoff }} AS k, spearman_rho_at_{{ cutoff }}_value AS value,
    spearman_rho_at_{{ cutoff }}_n AS n_users, spearman_rho_at_{{ cutoff }}_std AS std,
    spearman_rho_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * spearman_rho_at_{{ cutoff }}_std
        / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_low,
    spearman_rho_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * spearman_rho_at_{{ cutoff }}_std
        / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__spearman_rho(recommendations, interactions, cutoff) -%}
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
), placed AS (
    -- one row per judged item in the top k, with its places by score and by relevance: the sum of
    -- the first and the last position of equal values, a whole number and twice their mean rank
    SELECT
        user_id,
        RANK() OVER (PARTITION BY user_id ORDER BY score) + COUNT(*) OVER (
            PARTITION BY user_id ORDER BY score RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS predicted_place,
        RANK() OVER (PARTITION BY user_id ORDER BY relevance) + COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY relevance
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS relevance_place
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(predicted_place) * CAST(SUM(predicted_place * relevance_place) AS DECIMAL(38, 0))
            - CAST(SUM(predicted_place) AS DECIMAL(38, 0))
            * CAST(SUM(relevance_place) AS DECIMAL(38, 0)) AS DOUBLE) / NULLIF(
            SQRT(
                CAST(COUNT(predicted_place)
                    * CAST(SUM(predicted_place * predicted_place) AS DECIMAL(38, 0))
                    - CAST(SUM(predicted_place) AS DECIMAL(38, 0))
                    * CAST(SUM(predicted_place) AS DECIMAL(38, 0)) AS DOUBLE)
                    * CAST(COUNT(predicted_place)
                    * CAST(SUM(relevance_place * relevance_place) AS DECIMAL(38, 0))
                    - CAST(SUM(relevance_place) AS DECIMAL(38, 0))
                    * CAST(SUM(relevance_place) AS DECIMAL(38, 0)) AS DOUBLE)
            ),
            0
        ) AS spearman_rho_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN placed USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_value,
        COUNT(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_n,
        STDDEV_SAMP(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'spearman_rho' AS metric, {{ cutoff }} AS k, spearman_rho_at_{{ cutoff }}_value AS value,
    spearman_rho_at_{{ cutoff }}_n AS n_users, spearman_rho_at_{{ cutoff }}_std AS std,
    spearman_rho_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * spearman_rho_at_{{ cutoff }}_std
        / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_low,
    spearman_rho_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * spearman_rho_at_{{ cutoff }}_std
        / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__spearman_rho(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__spearman_rho(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__spearman_rho(recommendations, interactions, cutoff) -%}
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
), placed AS (
    -- one row per judged item in the top k, with its places by score and by relevance: the sum of
    -- the first and the last position of equal values, a whole number and twice their mean rank
    SELECT
        user_id,
        CAST(RANK() OVER (PARTITION BY user_id ORDER BY score) AS Nullable(Int64))
            + CAST(COUNT(*) OVER (
            PARTITION BY user_id ORDER BY score RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS Nullable(Int64)) AS predicted_place,
        CAST(RANK() OVER (PARTITION BY user_id ORDER BY relevance) AS Nullable(Int64))
            + CAST(COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY relevance
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS Nullable(Int64)) AS relevance_place
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(CAST(COUNT(predicted_place) AS Nullable(Int64))
            * CAST(SUM(predicted_place * relevance_place) AS Nullable(Int128))
            - CAST(SUM(predicted_place) AS Nullable(Int128))
            * CAST(SUM(relevance_place) AS Nullable(Int128)) AS Nullable(Float64)) / nullIf(
            SQRT(
                CAST(CAST(COUNT(predicted_place) AS Nullable(Int64))
                    * CAST(SUM(predicted_place * predicted_place) AS Nullable(Int128))
                    - CAST(SUM(predicted_place) AS Nullable(Int128))
                    * CAST(SUM(predicted_place) AS Nullable(Int128)) AS Nullable(Float64))
                    * CAST(CAST(COUNT(predicted_place) AS Nullable(Int64))
                    * CAST(SUM(relevance_place * relevance_place) AS Nullable(Int128))
                    - CAST(SUM(relevance_place) AS Nullable(Int128))
                    * CAST(SUM(relevance_place) AS Nullable(Int128)) AS Nullable(Float64))
            ),
            0
        ) AS spearman_rho_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN placed USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_value,
        CAST(COUNT(spearman_rho_at_{{ cutoff }}) AS Nullable(Int64)) AS spearman_rho_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(spearman_rho_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(spearman_rho_at_{{ cutoff }})
        END AS spearman_rho_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'spearman_rho' AS metric, {{ cutoff }} AS k, spearman_rho_at_{{ cutoff }}_value AS value,
    spearman_rho_at_{{ cutoff }}_n AS n_users, spearman_rho_at_{{ cutoff }}_std AS std,
    spearman_rho_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * spearman_rho_at_{{ cutoff }}_std / nullIf(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_low,
    spearman_rho_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * spearman_rho_at_{{ cutoff }}_std / nullIf(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__spearman_rho(recommendations, interactions, cutoff) -%}
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
), placed AS (
    -- one row per judged item in the top k, with its places by score and by relevance: the sum of
    -- the first and the last position of equal values, a whole number and twice their mean rank
    SELECT
        user_id,
        RANK() OVER (PARTITION BY user_id ORDER BY score) + COUNT(*) OVER (
            PARTITION BY user_id ORDER BY score RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS predicted_place,
        RANK() OVER (PARTITION BY user_id ORDER BY relevance) + COUNT(*) OVER (
            PARTITION BY user_id
            ORDER BY relevance
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS relevance_place
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(predicted_place) * CAST(SUM(predicted_place * relevance_place) AS DECIMAL)
            - CAST(SUM(predicted_place) AS DECIMAL) * CAST(SUM(relevance_place) AS DECIMAL)
            AS DOUBLE PRECISION) / NULLIF(
            SQRT(
                CAST(COUNT(predicted_place)
                    * CAST(SUM(predicted_place * predicted_place) AS DECIMAL)
                    - CAST(SUM(predicted_place) AS DECIMAL) * CAST(SUM(predicted_place) AS DECIMAL)
                    AS DOUBLE PRECISION)
                    * CAST(COUNT(predicted_place)
                    * CAST(SUM(relevance_place * relevance_place) AS DECIMAL)
                    - CAST(SUM(relevance_place) AS DECIMAL) * CAST(SUM(relevance_place) AS DECIMAL)
                    AS DOUBLE PRECISION)
            ),
            0
        ) AS spearman_rho_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN placed USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_value,
        COUNT(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_n,
        STDDEV_SAMP(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'spearman_rho' AS metric, {{ cutoff }} AS k, spearman_rho_at_{{ cutoff }}_value AS value,
    spearman_rho_at_{{ cutoff }}_n AS n_users, spearman_rho_at_{{ cutoff }}_std AS std,
    spearman_rho_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * spearman_rho_at_{{ cutoff }}_std / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_low,
    spearman_rho_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * spearman_rho_at_{{ cutoff }}_std / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro redshift__spearman_rho(recommendations, interactions, cutoff) -%}
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
), placed AS (
    -- one row per judged item in the top k, with its places by score and by relevance: the sum of
    -- the first and the last position of equal values, a whole number and twice their mean rank
    SELECT
        user_id,
        RANK() OVER (PARTITION BY user_id ORDER BY score) + (
            COUNT(*) OVER (PARTITION BY user_id) + 1
                - RANK() OVER (PARTITION BY user_id ORDER BY score DESC)
        ) AS predicted_place,
        RANK() OVER (PARTITION BY user_id ORDER BY relevance) + (
            COUNT(*) OVER (PARTITION BY user_id) + 1
                - RANK() OVER (PARTITION BY user_id ORDER BY relevance DESC)
        ) AS relevance_place
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
    WHERE rank <= {{ cutoff }}
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CAST(COUNT(predicted_place) * CAST(SUM(predicted_place * relevance_place) AS DECIMAL(38, 0))
            - CAST(SUM(predicted_place) AS DECIMAL(38, 0))
            * CAST(SUM(relevance_place) AS DECIMAL(38, 0)) AS DOUBLE PRECISION) / NULLIF(
            SQRT(
                CAST(COUNT(predicted_place)
                    * CAST(SUM(predicted_place * predicted_place) AS DECIMAL(38, 0))
                    - CAST(SUM(predicted_place) AS DECIMAL(38, 0))
                    * CAST(SUM(predicted_place) AS DECIMAL(38, 0)) AS DOUBLE PRECISION)
                    * CAST(COUNT(predicted_place)
                    * CAST(SUM(relevance_place * relevance_place) AS DECIMAL(38, 0))
                    - CAST(SUM(relevance_place) AS DECIMAL(38, 0))
                    * CAST(SUM(relevance_place) AS DECIMAL(38, 0)) AS DOUBLE PRECISION)
            ),
            0
        ) AS spearman_rho_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN placed USING (user_id)
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_value,
        COUNT(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_n,
        STDDEV_SAMP(spearman_rho_at_{{ cutoff }}) AS spearman_rho_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'spearman_rho' AS metric, {{ cutoff }} AS k, spearman_rho_at_{{ cutoff }}_value AS value,
    spearman_rho_at_{{ cutoff }}_n AS n_users, spearman_rho_at_{{ cutoff }}_std AS std,
    spearman_rho_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * spearman_rho_at_{{ cutoff }}_std / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_low,
    spearman_rho_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * spearman_rho_at_{{ cutoff }}_std / NULLIF(SQRT(spearman_rho_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
