{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Normalised cumulative reciprocal rank
  Formula: sum of 1 / rank over the hits in the top k / (1 + 1/2 + … + 1/m), where m is the length
    of the best possible list.
  Source: NCRR in Cornac.
-#}

{% macro ncrr(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('ncrr', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'ncrr', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'ncrr', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('ncrr', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test ncrr_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.ncrr(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('ncrr', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__ncrr(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('ncrr') }}
{%- endmacro %}

{% macro duckdb__ncrr(recommendations, interactions, cutoff) -%}
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
), numbers AS (
    -- one row per position
    SELECT unnest(generate_series(1, {{ cutoff }})) AS rank
), harmonics AS (
    -- one row per position, with the sum 1 + 1/2 + … + 1/rank
    SELECT
        rank,
        sum(1 / rank) OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS harmonic
    FROM numbers
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN min(hits.rank) <= {{ cutoff }}
            THEN sum(CASE WHEN hits.rank <= {{ cutoff }} THEN 1 / nullif(hits.rank, 0) END) / max(harmonic)
            ELSE 0
        END AS ncrr_at_{{ cutoff }}
    FROM hits
    LEFT JOIN harmonics ON harmonics.rank = least({{ cutoff }}, n_relevant)
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE ncrr_at_{{ cutoff }} END AS ncrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_value, count(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_n,
        stddev_samp(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ncrr' AS metric, {{ cutoff }} AS k, ncrr_at_{{ cutoff }}_value AS value, ncrr_at_{{ cutoff }}_n AS n_users,
    ncrr_at_{{ cutoff }}_std AS std,
    ncrr_at_{{ cutoff }}_value - 1.9599639845400536 * ncrr_at_{{ cutoff }}_std / sqrt(ncrr_at_{{ cutoff }}_n) AS ci_low,
    ncrr_at_{{ cutoff }}_value + 1.9599639845400536 * ncrr_at_{{ cutoff }}_std / sqrt(ncrr_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__ncrr(recommendations, interactions, cutoff) -%}
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
), numbers AS (
    -- one row per position
    SELECT EXPLODE(SEQUENCE(1, {{ cutoff }})) AS rank
), harmonics AS (
    -- one row per position, with the sum 1 + 1/2 + … + 1/rank
    SELECT
        rank,
        SUM(CAST(1 AS DOUBLE) / rank)
            OVER (ORDER BY rank NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS harmonic
    FROM numbers
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(hits.rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN hits.rank <= {{ cutoff }} THEN CAST(1 AS DOUBLE)
                / NULLIF(hits.rank, 0) END) AS DOUBLE) / MAX(harmonic)
            ELSE 0
        END AS ncrr_at_{{ cutoff }}
    FROM hits
    LEFT JOIN harmonics ON harmonics.rank = LEAST({{ cutoff }}, n_relevant)
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE ncrr_at_{{ cutoff }} END AS ncrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_value, COUNT(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_n,
        STDDEV_SAMP(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ncrr' AS metric, {{ cutoff }} AS k, ncrr_at_{{ cutoff }}_value AS value, ncrr_at_{{ cutoff }}_n AS n_users,
    ncrr_at_{{ cutoff }}_std AS std,
    ncrr_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_low,
    ncrr_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__ncrr(recommendations, interactions, cutoff) -%}
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
), digits AS (
    SELECT digits.digit
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS digits(digit)
), numbers_4 AS (
    -- one row: the last number
    SELECT 0 AS rank, {{ cutoff }} AS last_number
), numbers_3 AS (
    -- one row per multiple of 1000 up to the last number
    SELECT numbers_4.rank + 1000 * digits.digit AS rank, numbers_4.last_number
    FROM numbers_4
    CROSS JOIN digits
    WHERE numbers_4.rank + 1000 * digits.digit <= numbers_4.last_number
), numbers_2 AS (
    -- one row per multiple of 100 up to the last number
    SELECT numbers_3.rank + 100 * digits.digit AS rank, numbers_3.last_number
    FROM numbers_3
    CROSS JOIN digits
    WHERE numbers_3.rank + 100 * digits.digit <= numbers_3.last_number
), numbers_1 AS (
    -- one row per multiple of 10 up to the last number
    SELECT numbers_2.rank + 10 * digits.digit AS rank, numbers_2.last_number
    FROM numbers_2
    CROSS JOIN digits
    WHERE numbers_2.rank + 10 * digits.digit <= numbers_2.last_number
), numbers_0 AS (
    -- one row per multiple of 1 up to the last number
    SELECT numbers_1.rank + 1 * digits.digit AS rank, numbers_1.last_number
    FROM numbers_1
    CROSS JOIN digits
    WHERE numbers_1.rank + 1 * digits.digit <= numbers_1.last_number
), numbers AS (
    -- one row per position
    SELECT numbers_0.rank FROM numbers_0 WHERE numbers_0.rank > 0
), harmonics AS (
    -- one row per position, with the sum 1 + 1/2 + … + 1/rank
    SELECT
        rank,
        SUM(CAST(1 AS DOUBLE) / rank)
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS harmonic
    FROM numbers
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(hits.rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN hits.rank <= {{ cutoff }} THEN CAST(1 AS DOUBLE)
                / NULLIF(hits.rank, 0) END) AS DOUBLE) / MAX(harmonic)
            ELSE 0
        END AS ncrr_at_{{ cutoff }}
    FROM hits
    LEFT JOIN harmonics ON harmonics.rank = LEAST_IGNORE_NULLS({{ cutoff }}, n_relevant)
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE ncrr_at_{{ cutoff }} END AS ncrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_value, COUNT(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_n,
        STDDEV_SAMP(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ncrr' AS metric, {{ cutoff }} AS k, ncrr_at_{{ cutoff }}_value AS value, ncrr_at_{{ cutoff }}_n AS n_users,
    ncrr_at_{{ cutoff }}_std AS std,
    ncrr_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_low,
    ncrr_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__ncrr(recommendations, interactions, cutoff) -%}
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
), digits AS (
    SELECT digits.digit
    FROM UNNEST([
        STRUCT(0 AS digit),
        STRUCT(1 AS digit),
        STRUCT(2 AS digit),
        STRUCT(3 AS digit),
        STRUCT(4 AS digit),
        STRUCT(5 AS digit),
        STRUCT(6 AS digit),
        STRUCT(7 AS digit),
        STRUCT(8 AS digit),
        STRUCT(9 AS digit)
    ]) AS digits
), numbers_4 AS (
    -- one row: the last number
    SELECT 0 AS rank, {{ cutoff }} AS last_number
), numbers_3 AS (
    -- one row per multiple of 1000 up to the last number
    SELECT numbers_4.rank + 1000 * digits.digit AS rank, numbers_4.last_number
    FROM numbers_4
    CROSS JOIN digits
    WHERE numbers_4.rank + 1000 * digits.digit <= numbers_4.last_number
), numbers_2 AS (
    -- one row per multiple of 100 up to the last number
    SELECT numbers_3.rank + 100 * digits.digit AS rank, numbers_3.last_number
    FROM numbers_3
    CROSS JOIN digits
    WHERE numbers_3.rank + 100 * digits.digit <= numbers_3.last_number
), numbers_1 AS (
    -- one row per multiple of 10 up to the last number
    SELECT numbers_2.rank + 10 * digits.digit AS rank, numbers_2.last_number
    FROM numbers_2
    CROSS JOIN digits
    WHERE numbers_2.rank + 10 * digits.digit <= numbers_2.last_number
), numbers_0 AS (
    -- one row per multiple of 1 up to the last number
    SELECT numbers_1.rank + 1 * digits.digit AS rank, numbers_1.last_number
    FROM numbers_1
    CROSS JOIN digits
    WHERE numbers_1.rank + 1 * digits.digit <= numbers_1.last_number
), numbers AS (
    -- one row per position
    SELECT numbers_0.rank FROM numbers_0 WHERE numbers_0.rank > 0
), harmonics AS (
    -- one row per position, with the sum 1 + 1/2 + … + 1/rank
    SELECT
        rank,
        SUM(CAST(1 AS FLOAT64) / rank)
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS harmonic
    FROM numbers
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(hits.rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN hits.rank <= {{ cutoff }} THEN CAST(1 AS FLOAT64)
                / NULLIF(hits.rank, 0) END) AS FLOAT64) / MAX(harmonic)
            ELSE 0
        END AS ncrr_at_{{ cutoff }}
    FROM hits
    LEFT JOIN harmonics ON harmonics.rank = LEAST({{ cutoff }}, COALESCE(n_relevant, {{ cutoff }}))
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE ncrr_at_{{ cutoff }} END AS ncrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_value, COUNT(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_n,
        STDDEV_SAMP(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ncrr' AS metric, {{ cutoff }} AS k, ncrr_at_{{ cutoff }}_value AS value, ncrr_at_{{ cutoff }}_n AS n_users,
    ncrr_at_{{ cutoff }}_std AS std,
    ncrr_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_low,
    ncrr_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__ncrr(recommendations, interactions, cutoff) -%}
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
), digits AS (
    SELECT digits.digit
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS digits(digit)
), numbers_4 AS (
    -- one row: the last number
    SELECT 0 AS rank, {{ cutoff }} AS last_number
), numbers_3 AS (
    -- one row per multiple of 1000 up to the last number
    SELECT numbers_4.rank + 1000 * digits.digit AS rank, numbers_4.last_number
    FROM numbers_4
    CROSS JOIN digits
    WHERE numbers_4.rank + 1000 * digits.digit <= numbers_4.last_number
), numbers_2 AS (
    -- one row per multiple of 100 up to the last number
    SELECT numbers_3.rank + 100 * digits.digit AS rank, numbers_3.last_number
    FROM numbers_3
    CROSS JOIN digits
    WHERE numbers_3.rank + 100 * digits.digit <= numbers_3.last_number
), numbers_1 AS (
    -- one row per multiple of 10 up to the last number
    SELECT numbers_2.rank + 10 * digits.digit AS rank, numbers_2.last_number
    FROM numbers_2
    CROSS JOIN digits
    WHERE numbers_2.rank + 10 * digits.digit <= numbers_2.last_number
), numbers_0 AS (
    -- one row per multiple of 1 up to the last number
    SELECT numbers_1.rank + 1 * digits.digit AS rank, numbers_1.last_number
    FROM numbers_1
    CROSS JOIN digits
    WHERE numbers_1.rank + 1 * digits.digit <= numbers_1.last_number
), numbers AS (
    -- one row per position
    SELECT numbers_0.rank FROM numbers_0 WHERE numbers_0.rank > 0
), harmonics AS (
    -- one row per position, with the sum 1 + 1/2 + … + 1/rank
    SELECT
        rank,
        SUM(CAST(1 AS DOUBLE) / rank)
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS harmonic
    FROM numbers
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(hits.rank) <= {{ cutoff }}
            THEN CAST(SUM(CASE WHEN hits.rank <= {{ cutoff }} THEN CAST(1 AS DOUBLE)
                / NULLIF(hits.rank, 0) END) AS DOUBLE) / MAX(harmonic)
            ELSE 0
        END AS ncrr_at_{{ cutoff }}
    FROM hits
    LEFT JOIN harmonics ON harmonics.rank = LEAST({{ cutoff }}, COALESCE(n_relevant, {{ cutoff }}))
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE ncrr_at_{{ cutoff }} END AS ncrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_value, COUNT(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_n,
        STDDEV_SAMP(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ncrr' AS metric, {{ cutoff }} AS k, ncrr_at_{{ cutoff }}_value AS value, ncrr_at_{{ cutoff }}_n AS n_users,
    ncrr_at_{{ cutoff }}_std AS std,
    ncrr_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_low,
    ncrr_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__ncrr(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__ncrr(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__ncrr(recommendations, interactions, cutoff) -%}
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
), numbers AS (
    -- one row per position
    SELECT arrayJoin(range(1, {{ cutoff }} + 1)) AS rank
), harmonics AS (
    -- one row per position, with the sum 1 + 1/2 + … + 1/rank
    SELECT
        rank,
        SUM(CAST(1 AS Nullable(Float64)) / rank)
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS harmonic
    FROM numbers
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(hits.rank) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN hits.rank <= {{ cutoff }} THEN CAST(1 AS Nullable(Float64)) / nullIf(hits.rank, 0)
                END
            ) AS Nullable(Float64)) / MAX(harmonic)
            ELSE 0
        END AS ncrr_at_{{ cutoff }}
    FROM hits
    LEFT JOIN harmonics ON harmonics.rank = LEAST({{ cutoff }}, n_relevant)
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE ncrr_at_{{ cutoff }} END AS ncrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_value,
        CAST(COUNT(ncrr_at_{{ cutoff }}) AS Nullable(Int64)) AS ncrr_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(ncrr_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(ncrr_at_{{ cutoff }})
        END AS ncrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ncrr' AS metric, {{ cutoff }} AS k, ncrr_at_{{ cutoff }}_value AS value, ncrr_at_{{ cutoff }}_n AS n_users,
    ncrr_at_{{ cutoff }}_std AS std,
    ncrr_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * ncrr_at_{{ cutoff }}_std
        / nullIf(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_low,
    ncrr_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * ncrr_at_{{ cutoff }}_std
        / nullIf(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__ncrr(recommendations, interactions, cutoff) -%}
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
), numbers AS (
    -- one row per position
    SELECT GENERATE_SERIES(1, {{ cutoff }}) AS rank
), harmonics AS (
    -- one row per position, with the sum 1 + 1/2 + … + 1/rank
    SELECT
        rank,
        SUM(CAST(1 AS DOUBLE PRECISION) / rank)
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS harmonic
    FROM numbers
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(hits.rank) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN hits.rank <= {{ cutoff }} THEN CAST(1 AS DOUBLE PRECISION) / NULLIF(hits.rank, 0)
                END
            ) AS DOUBLE PRECISION) / MAX(harmonic)
            ELSE 0
        END AS ncrr_at_{{ cutoff }}
    FROM hits
    LEFT JOIN harmonics ON harmonics.rank = LEAST({{ cutoff }}, n_relevant)
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE ncrr_at_{{ cutoff }} END AS ncrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_value, COUNT(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_n,
        STDDEV_SAMP(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ncrr' AS metric, {{ cutoff }} AS k, ncrr_at_{{ cutoff }}_value AS value, ncrr_at_{{ cutoff }}_n AS n_users,
    ncrr_at_{{ cutoff }}_std AS std,
    ncrr_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_low,
    ncrr_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro redshift__ncrr(recommendations, interactions, cutoff) -%}
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
), digits AS (
    SELECT digits.digit
    FROM (
        SELECT 0 AS digit
        UNION ALL
        SELECT 1
        UNION ALL
        SELECT 2
        UNION ALL
        SELECT 3
        UNION ALL
        SELECT 4
        UNION ALL
        SELECT 5
        UNION ALL
        SELECT 6
        UNION ALL
        SELECT 7
        UNION ALL
        SELECT 8
        UNION ALL
        SELECT 9
    ) AS digits
), numbers_4 AS (
    -- one row: the last number
    SELECT 0 AS rank, {{ cutoff }} AS last_number
), numbers_3 AS (
    -- one row per multiple of 1000 up to the last number
    SELECT numbers_4.rank + 1000 * digits.digit AS rank, numbers_4.last_number
    FROM numbers_4
    CROSS JOIN digits
    WHERE numbers_4.rank + 1000 * digits.digit <= numbers_4.last_number
), numbers_2 AS (
    -- one row per multiple of 100 up to the last number
    SELECT numbers_3.rank + 100 * digits.digit AS rank, numbers_3.last_number
    FROM numbers_3
    CROSS JOIN digits
    WHERE numbers_3.rank + 100 * digits.digit <= numbers_3.last_number
), numbers_1 AS (
    -- one row per multiple of 10 up to the last number
    SELECT numbers_2.rank + 10 * digits.digit AS rank, numbers_2.last_number
    FROM numbers_2
    CROSS JOIN digits
    WHERE numbers_2.rank + 10 * digits.digit <= numbers_2.last_number
), numbers_0 AS (
    -- one row per multiple of 1 up to the last number
    SELECT numbers_1.rank + 1 * digits.digit AS rank, numbers_1.last_number
    FROM numbers_1
    CROSS JOIN digits
    WHERE numbers_1.rank + 1 * digits.digit <= numbers_1.last_number
), numbers AS (
    -- one row per position
    SELECT numbers_0.rank FROM numbers_0 WHERE numbers_0.rank > 0
), harmonics AS (
    -- one row per position, with the sum 1 + 1/2 + … + 1/rank
    SELECT
        rank,
        SUM(CAST(1 AS DOUBLE PRECISION) / rank)
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS harmonic
    FROM numbers
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id,
        CASE
            WHEN MIN(hits.rank) <= {{ cutoff }}
            THEN CAST(SUM(
                CASE
                    WHEN hits.rank <= {{ cutoff }} THEN CAST(1 AS DOUBLE PRECISION) / NULLIF(hits.rank, 0)
                END
            ) AS DOUBLE PRECISION) / MAX(harmonic)
            ELSE 0
        END AS ncrr_at_{{ cutoff }}
    FROM hits
    LEFT JOIN harmonics ON harmonics.rank = LEAST({{ cutoff }}, n_relevant)
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE ncrr_at_{{ cutoff }} END AS ncrr_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN hits_values ON hits_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_value, COUNT(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_n,
        STDDEV_SAMP(ncrr_at_{{ cutoff }}) AS ncrr_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'ncrr' AS metric, {{ cutoff }} AS k, ncrr_at_{{ cutoff }}_value AS value, ncrr_at_{{ cutoff }}_n AS n_users,
    ncrr_at_{{ cutoff }}_std AS std,
    ncrr_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_low,
    ncrr_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * ncrr_at_{{ cutoff }}_std
        / NULLIF(SQRT(ncrr_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
