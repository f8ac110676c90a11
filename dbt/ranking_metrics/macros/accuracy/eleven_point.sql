{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Eleven-point average precision
  Formula: mean of the interpolated precision at a recall of 0, 0.1, …, 1; the interpolated
    precision is the highest precision at any rank in the top k with at least this recall, or 0.
  Source: Manning, Raghavan, Schütze: Introduction to Information Retrieval (2008), section 8.4;
    11pt_avg in trec_eval.
-#}

{% macro eleven_point(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('eleven_point', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'eleven_point', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'eleven_point', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('eleven_point', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test eleven_point_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.eleven_point(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('eleven_point', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__eleven_point(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('eleven_point') }}
{%- endmacro %}

{% macro duckdb__eleven_point(recommendations, interactions, cutoff) -%}
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
), hits_at_cutoffs AS (
    -- one row per row of hits and cutoff that includes it
    SELECT user_id, rank, hit_number, n_relevant FROM hits WHERE rank <= {{ cutoff }}
), levels AS (
    -- one row per level of recall: 0, 0.1, …, 1
    SELECT unnest(generate_series(1, 11)) AS level
), interpolated AS (
    -- one row per user, cutoff and level of recall that is reached
    SELECT user_id, level, max(hit_number / nullif(rank, 0)) AS interpolated_precision
    FROM hits_at_cutoffs
    CROSS JOIN levels
    WHERE hit_number >= ((level - 1) / 10) * n_relevant - 1e-9
    GROUP BY user_id, level
), eleven_point AS (
    SELECT user_id, sum(interpolated_precision) / 11 AS value FROM interpolated GROUP BY user_id
), eleven_point_values AS (
    -- one row per key, with one column per cutoff of eleven_point
    SELECT user_id, CASE WHEN count(1) = 0 THEN 0 ELSE max(value) END AS eleven_point_at_{{ cutoff }}
    FROM eleven_point
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN eleven_point_values.user_id IS NULL THEN 0 ELSE eleven_point_at_{{ cutoff }} END
            AS eleven_point_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN eleven_point_values ON eleven_point_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_value,
        count(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_n,
        stddev_samp(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'eleven_point' AS metric, {{ cutoff }} AS k, eleven_point_at_{{ cutoff }}_value AS value,
    eleven_point_at_{{ cutoff }}_n AS n_users, eleven_point_at_{{ cutoff }}_std AS std,
    eleven_point_at_{{ cutoff }}_value - 1.9599639845400536 * eleven_point_at_{{ cutoff }}_std
        / sqrt(eleven_point_at_{{ cutoff }}_n) AS ci_low,
    eleven_point_at_{{ cutoff }}_value + 1.9599639845400536 * eleven_point_at_{{ cutoff }}_std
        / sqrt(eleven_point_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__eleven_point(recommendations, interactions, cutoff) -%}
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
), hits_at_cutoffs AS (
    -- one row per row of hits and cutoff that includes it
    SELECT user_id, rank, hit_number, n_relevant FROM hits WHERE rank <= {{ cutoff }}
), levels AS (
    -- one row per level of recall: 0, 0.1, …, 1
    SELECT EXPLODE(SEQUENCE(1, 11)) AS level
), interpolated AS (
    -- one row per user, cutoff and level of recall that is reached
    SELECT
        user_id, level, MAX(CAST(hit_number AS DOUBLE) / NULLIF(rank, 0)) AS interpolated_precision
    FROM hits_at_cutoffs
    CROSS JOIN levels
    WHERE hit_number >= (CAST(level - 1 AS DOUBLE) / 10) * n_relevant - CAST(1e-9 AS DOUBLE)
    GROUP BY user_id, level
), eleven_point AS (
    SELECT user_id, CAST(SUM(interpolated_precision) AS DOUBLE) / 11 AS value
    FROM interpolated
    GROUP BY user_id
), eleven_point_values AS (
    -- one row per key, with one column per cutoff of eleven_point
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS eleven_point_at_{{ cutoff }}
    FROM eleven_point
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN eleven_point_values.user_id IS NULL THEN 0 ELSE eleven_point_at_{{ cutoff }} END
            AS eleven_point_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN eleven_point_values ON eleven_point_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_value,
        COUNT(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_n,
        STDDEV_SAMP(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'eleven_point' AS metric, {{ cutoff }} AS k, eleven_point_at_{{ cutoff }}_value AS value,
    eleven_point_at_{{ cutoff }}_n AS n_users, eleven_point_at_{{ cutoff }}_std AS std,
    eleven_point_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * eleven_point_at_{{ cutoff }}_std
        / NULLIF(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_low,
    eleven_point_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * eleven_point_at_{{ cutoff }}_std
        / NULLIF(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__eleven_point(recommendations, interactions, cutoff) -%}
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
), hits_at_cutoffs AS (
    -- one row per row of hits and cutoff that includes it
    SELECT user_id, rank, hit_number, n_relevant FROM hits WHERE rank <= {{ cutoff }}
), digits AS (
    SELECT digits.digit
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS digits(digit)
), levels_2 AS (
    -- one row: the last number
    SELECT 0 AS level, 11 AS last_number
), levels_1 AS (
    -- one row per multiple of 10 up to the last number
    SELECT levels_2.level + 10 * digits.digit AS level, levels_2.last_number
    FROM levels_2
    CROSS JOIN digits
    WHERE levels_2.level + 10 * digits.digit <= levels_2.last_number
), levels_0 AS (
    -- one row per multiple of 1 up to the last number
    SELECT levels_1.level + 1 * digits.digit AS level, levels_1.last_number
    FROM levels_1
    CROSS JOIN digits
    WHERE levels_1.level + 1 * digits.digit <= levels_1.last_number
), levels AS (
    -- one row per level of recall: 0, 0.1, …, 1
    SELECT levels_0.level FROM levels_0 WHERE levels_0.level > 0
), interpolated AS (
    -- one row per user, cutoff and level of recall that is reached
    SELECT
        user_id, level, MAX(CAST(hit_number AS DOUBLE) / NULLIF(rank, 0)) AS interpolated_precision
    FROM hits_at_cutoffs
    CROSS JOIN levels
    WHERE hit_number >= (CAST(level - 1 AS DOUBLE) / 10) * n_relevant - CAST(1e-9 AS DOUBLE)
    GROUP BY user_id, level
), eleven_point AS (
    SELECT user_id, CAST(SUM(interpolated_precision) AS DOUBLE) / 11 AS value
    FROM interpolated
    GROUP BY user_id
), eleven_point_values AS (
    -- one row per key, with one column per cutoff of eleven_point
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS eleven_point_at_{{ cutoff }}
    FROM eleven_point
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN eleven_point_values.user_id IS NULL THEN 0 ELSE eleven_point_at_{{ cutoff }} END
            AS eleven_point_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN eleven_point_values ON eleven_point_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_value,
        COUNT(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_n,
        STDDEV_SAMP(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'eleven_point' AS metric, {{ cutoff }} AS k, eleven_point_at_{{ cutoff }}_value AS value,
    eleven_point_at_{{ cutoff }}_n AS n_users, eleven_point_at_{{ cutoff }}_std AS std,
    eleven_point_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * eleven_point_at_{{ cutoff }}_std
        / NULLIF(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_low,
    eleven_point_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * eleven_point_at_{{ cutoff }}_std
        / NULLIF(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__eleven_point(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__eleven_point(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro athena__eleven_point(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.snowflake__eleven_point(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro bigquery__eleven_point(recommendations, interactions, cutoff) -%}
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
), hits_at_cutoffs AS (
    -- one row per row of hits and cutoff that includes it
    SELECT user_id, rank, hit_number, n_relevant FROM hits WHERE rank <= {{ cutoff }}
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
), levels_2 AS (
    -- one row: the last number
    SELECT 0 AS level, 11 AS last_number
), levels_1 AS (
    -- one row per multiple of 10 up to the last number
    SELECT levels_2.level + 10 * digits.digit AS level, levels_2.last_number
    FROM levels_2
    CROSS JOIN digits
    WHERE levels_2.level + 10 * digits.digit <= levels_2.last_number
), levels_0 AS (
    -- one row per multiple of 1 up to the last number
    SELECT levels_1.level + 1 * digits.digit AS level, levels_1.last_number
    FROM levels_1
    CROSS JOIN digits
    WHERE levels_1.level + 1 * digits.digit <= levels_1.last_number
), levels AS (
    -- one row per level of recall: 0, 0.1, …, 1
    SELECT levels_0.level FROM levels_0 WHERE levels_0.level > 0
), interpolated AS (
    -- one row per user, cutoff and level of recall that is reached
    SELECT
        user_id, level, MAX(CAST(hit_number AS FLOAT64) / NULLIF(rank, 0)) AS interpolated_precision
    FROM hits_at_cutoffs
    CROSS JOIN levels
    WHERE hit_number >= (CAST(level - 1 AS FLOAT64) / 10) * n_relevant - CAST(1e-9 AS FLOAT64)
    GROUP BY user_id, level
), eleven_point AS (
    SELECT user_id, CAST(SUM(interpolated_precision) AS FLOAT64) / 11 AS value
    FROM interpolated
    GROUP BY user_id
), eleven_point_values AS (
    -- one row per key, with one column per cutoff of eleven_point
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS eleven_point_at_{{ cutoff }}
    FROM eleven_point
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN eleven_point_values.user_id IS NULL THEN 0 ELSE eleven_point_at_{{ cutoff }} END
            AS eleven_point_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN eleven_point_values ON eleven_point_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_value,
        COUNT(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_n,
        STDDEV_SAMP(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'eleven_point' AS metric, {{ cutoff }} AS k, eleven_point_at_{{ cutoff }}_value AS value,
    eleven_point_at_{{ cutoff }}_n AS n_users, eleven_point_at_{{ cutoff }}_std AS std,
    eleven_point_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * eleven_point_at_{{ cutoff }}_std
        / NULLIF(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_low,
    eleven_point_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * eleven_point_at_{{ cutoff }}_std
        / NULLIF(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro clickhouse__eleven_point(recommendations, interactions, cutoff) -%}
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
), hits_at_cutoffs AS (
    -- one row per row of hits and cutoff that includes it
    SELECT user_id, rank, hit_number, n_relevant FROM hits WHERE rank <= {{ cutoff }}
), levels AS (
    -- one row per level of recall: 0, 0.1, …, 1
    SELECT arrayJoin(range(1, 11 + 1)) AS level
), interpolated AS (
    -- one row per user, cutoff and level of recall that is reached
    SELECT
        user_id, level,
        MAX(CAST(hit_number AS Nullable(Float64)) / nullIf(rank, 0)) AS interpolated_precision
    FROM hits_at_cutoffs
    CROSS JOIN levels
    WHERE
        hit_number >= (
            CAST(level - 1 AS Nullable(Float64)) / 10
        ) * n_relevant - CAST(1e-9 AS Nullable(Float64))
    GROUP BY user_id, level
), eleven_point AS (
    SELECT user_id, CAST(SUM(interpolated_precision) AS Nullable(Float64)) / 11 AS value
    FROM interpolated
    GROUP BY user_id
), eleven_point_values AS (
    -- one row per key, with one column per cutoff of eleven_point
    SELECT
        user_id,
        CASE WHEN CAST(COUNT(1) AS Nullable(Int64)) = 0 THEN 0 ELSE MAX(value) END
            AS eleven_point_at_{{ cutoff }}
    FROM eleven_point
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN eleven_point_values.user_id IS NULL THEN 0 ELSE eleven_point_at_{{ cutoff }} END
            AS eleven_point_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN eleven_point_values ON eleven_point_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_value,
        CAST(COUNT(eleven_point_at_{{ cutoff }}) AS Nullable(Int64)) AS eleven_point_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(eleven_point_at_{{ cutoff }}) AS Nullable(Int64)) > 1
            THEN stddevSampStable(eleven_point_at_{{ cutoff }})
        END AS eleven_point_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'eleven_point' AS metric, {{ cutoff }} AS k, eleven_point_at_{{ cutoff }}_value AS value,
    eleven_point_at_{{ cutoff }}_n AS n_users, eleven_point_at_{{ cutoff }}_std AS std,
    eleven_point_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64))
        * eleven_point_at_{{ cutoff }}_std / nullIf(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_low,
    eleven_point_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64))
        * eleven_point_at_{{ cutoff }}_std / nullIf(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__eleven_point(recommendations, interactions, cutoff) -%}
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
), hits_at_cutoffs AS (
    -- one row per row of hits and cutoff that includes it
    SELECT user_id, rank, hit_number, n_relevant FROM hits WHERE rank <= {{ cutoff }}
), levels AS (
    -- one row per level of recall: 0, 0.1, …, 1
    SELECT GENERATE_SERIES(1, 11) AS level
), interpolated AS (
    -- one row per user, cutoff and level of recall that is reached
    SELECT
        user_id, level,
        MAX(CAST(hit_number AS DOUBLE PRECISION) / NULLIF(rank, 0)) AS interpolated_precision
    FROM hits_at_cutoffs
    CROSS JOIN levels
    WHERE
        hit_number >= (
            CAST(level - 1 AS DOUBLE PRECISION) / 10
        ) * n_relevant - CAST(1e-9 AS DOUBLE PRECISION)
    GROUP BY user_id, level
), eleven_point AS (
    SELECT user_id, CAST(SUM(interpolated_precision) AS DOUBLE PRECISION) / 11 AS value
    FROM interpolated
    GROUP BY user_id
), eleven_point_values AS (
    -- one row per key, with one column per cutoff of eleven_point
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS eleven_point_at_{{ cutoff }}
    FROM eleven_point
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN eleven_point_values.user_id IS NULL THEN 0 ELSE eleven_point_at_{{ cutoff }} END
            AS eleven_point_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN eleven_point_values ON eleven_point_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_value,
        COUNT(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_n,
        STDDEV_SAMP(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'eleven_point' AS metric, {{ cutoff }} AS k, eleven_point_at_{{ cutoff }}_value AS value,
    eleven_point_at_{{ cutoff }}_n AS n_users, eleven_point_at_{{ cutoff }}_std AS std,
    eleven_point_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * eleven_point_at_{{ cutoff }}_std / NULLIF(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_low,
    eleven_point_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * eleven_point_at_{{ cutoff }}_std / NULLIF(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro redshift__eleven_point(recommendations, interactions, cutoff) -%}
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
), hits_at_cutoffs AS (
    -- one row per row of hits and cutoff that includes it
    SELECT user_id, rank, hit_number, n_relevant FROM hits WHERE rank <= {{ cutoff }}
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
), levels_2 AS (
    -- one row: the last number
    SELECT 0 AS level, 11 AS last_number
), levels_1 AS (
    -- one row per multiple of 10 up to the last number
    SELECT levels_2.level + 10 * digits.digit AS level, levels_2.last_number
    FROM levels_2
    CROSS JOIN digits
    WHERE levels_2.level + 10 * digits.digit <= levels_2.last_number
), levels_0 AS (
    -- one row per multiple of 1 up to the last number
    SELECT levels_1.level + 1 * digits.digit AS level, levels_1.last_number
    FROM levels_1
    CROSS JOIN digits
    WHERE levels_1.level + 1 * digits.digit <= levels_1.last_number
), levels AS (
    -- one row per level of recall: 0, 0.1, …, 1
    SELECT levels_0.level FROM levels_0 WHERE levels_0.level > 0
), interpolated AS (
    -- one row per user, cutoff and level of recall that is reached
    SELECT
        user_id, level,
        MAX(CAST(hit_number AS DOUBLE PRECISION) / NULLIF(rank, 0)) AS interpolated_precision
    FROM hits_at_cutoffs
    CROSS JOIN levels
    WHERE
        hit_number >= (
            CAST(level - 1 AS DOUBLE PRECISION) / 10
        ) * n_relevant - CAST(1e-9 AS DOUBLE PRECISION)
    GROUP BY user_id, level
), eleven_point AS (
    SELECT user_id, CAST(SUM(interpolated_precision) AS DOUBLE PRECISION) / 11 AS value
    FROM interpolated
    GROUP BY user_id
), eleven_point_values AS (
    -- one row per key, with one column per cutoff of eleven_point
    SELECT user_id, CASE WHEN COUNT(1) = 0 THEN 0 ELSE MAX(value) END AS eleven_point_at_{{ cutoff }}
    FROM eleven_point
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        CASE WHEN eleven_point_values.user_id IS NULL THEN 0 ELSE eleven_point_at_{{ cutoff }} END
            AS eleven_point_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN eleven_point_values ON eleven_point_values.user_id = relevant_users.user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_value,
        COUNT(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_n,
        STDDEV_SAMP(eleven_point_at_{{ cutoff }}) AS eleven_point_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'eleven_point' AS metric, {{ cutoff }} AS k, eleven_point_at_{{ cutoff }}_value AS value,
    eleven_point_at_{{ cutoff }}_n AS n_users, eleven_point_at_{{ cutoff }}_std AS std,
    eleven_point_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * eleven_point_at_{{ cutoff }}_std / NULLIF(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_low,
    eleven_point_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION)
        * eleven_point_at_{{ cutoff }}_std / NULLIF(SQRT(eleven_point_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
