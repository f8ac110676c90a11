{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  C/W/L
  Formula: expected gain per item that a reader looks at, who continues from rank r to r + 1 with
    the probability c_r of the browsing model: sum of w_r · gain_r over the top k, where w_r = c_1
    · … · c_(r-1), divided by the sum of all w_r. Items below the top k, and missing items, count
    as items without gain up to rank 1000, where the reader stops; with browsing=precision, sdcg,
    nerr8 and nerr9, the reader stops at rank k, or without a cutoff at the end of the list.
  Source: Moffat, Bailey, Scholer, Thomas, TOIS 35 (2017), article 24; Azzopardi, Mackenzie,
    Moffat: ERR is not C/W/L, ICTIR 2021; cwl-eval.
-#}

{% macro cwl(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('cwl', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'cwl', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'cwl', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('cwl', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test cwl_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.cwl(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('cwl', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__cwl(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('cwl') }}
{%- endmacro %}

{% macro duckdb__cwl(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, max(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT max(best_relevance) AS relevance FROM relevant_users
), scaled_hits AS (
    -- one row per hit, with gain 1 for the highest relevance
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        coalesce(relevant.relevance / nullif(top_relevance.relevance, 0), 0) AS gain
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), gains AS (
    -- one row per hit in the first 1000 ranks
    SELECT user_id, rank, gain FROM scaled_hits WHERE rank <= 1000
), numbers AS (
    -- one row per rank; no reader looks at more than 1000 items
    SELECT unnest(generate_series(1, 1000)) AS rank
), reader_ranks AS (
    -- one row per rank, with the probability that a reader without a hit above reaches it
    SELECT
        rank, exp(greatest((rank - 1) * ln(CAST(0.8 AS DOUBLE)), -700)) AS look_probability,
        sum(exp(greatest((
            rank - 1
        ) * ln(CAST(0.8 AS DOUBLE)), -700)))
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS looked_at
    FROM numbers
), reader_hits AS (
    -- one row per user of the audience, with or without hits
    SELECT user_id, 0 AS rank, CAST(0.0 AS DOUBLE) AS gain, CAST(0.0 AS DOUBLE) AS look_probability
    FROM relevant_users
    UNION ALL
    -- one row per hit
    SELECT user_id, rank, gain, look_probability
    FROM gains
    INNER JOIN reader_ranks USING (rank)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        coalesce(
            sum(CASE WHEN reader_hits.rank <= {{ cutoff }} THEN reader_hits.look_probability * gain END)
                / nullif(coalesce(max(looked_at), 0), 0),
            0
        ) AS cwl_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN reader_hits USING (user_id)
    LEFT JOIN reader_ranks ON reader_ranks.rank = 1000
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_value, count(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_n,
        stddev_samp(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'cwl' AS metric, {{ cutoff }} AS k, cwl_at_{{ cutoff }}_value AS value, cwl_at_{{ cutoff }}_n AS n_users,
    cwl_at_{{ cutoff }}_std AS std,
    cwl_at_{{ cutoff }}_value - 1.9599639845400536 * cwl_at_{{ cutoff }}_std / sqrt(cwl_at_{{ cutoff }}_n) AS ci_low,
    cwl_at_{{ cutoff }}_value + 1.9599639845400536 * cwl_at_{{ cutoff }}_std / sqrt(cwl_at_{{ cutoff }}_n) AS ci_high
FROM totals
{%- endmacro %}

{% macro spark__cwl(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), scaled_hits AS (
    -- one row per hit, with gain 1 for the highest relevance
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        COALESCE(CAST(relevant.relevance AS DOUBLE) / NULLIF(top_relevance.relevance, 0), 0) AS gain
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), gains AS (
    -- one row per hit in the first 1000 ranks
    SELECT user_id, rank, gain FROM scaled_hits WHERE rank <= 1000
), numbers AS (
    -- one row per rank; no reader looks at more than 1000 items
    SELECT EXPLODE(SEQUENCE(1, 1000)) AS rank
), reader_ranks AS (
    -- one row per rank, with the probability that a reader without a hit above reaches it
    SELECT
        rank, EXP(GREATEST((rank - 1) * LN(CAST(0.8 AS DOUBLE)), -700)) AS look_probability,
        SUM(EXP(GREATEST((
            rank - 1
        ) * LN(CAST(0.8 AS DOUBLE)), -700)))
            OVER (ORDER BY rank NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS looked_at
    FROM numbers
), reader_hits AS (
    -- one row per user of the audience, with or without hits
    SELECT user_id, 0 AS rank, CAST(0.0 AS DOUBLE) AS gain, CAST(0.0 AS DOUBLE) AS look_probability
    FROM relevant_users
    UNION ALL
    -- one row per hit
    SELECT user_id, rank, gain, look_probability
    FROM gains
    INNER JOIN reader_ranks USING (rank)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN reader_hits.rank <= {{ cutoff }} THEN reader_hits.look_probability
                * gain END) AS DOUBLE) / NULLIF(COALESCE(MAX(looked_at), 0), 0),
            0
        ) AS cwl_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN reader_hits USING (user_id)
    LEFT JOIN reader_ranks ON reader_ranks.rank = 1000
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_value, COUNT(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_n,
        STDDEV_SAMP(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'cwl' AS metric, {{ cutoff }} AS k, cwl_at_{{ cutoff }}_value AS value, cwl_at_{{ cutoff }}_n AS n_users,
    cwl_at_{{ cutoff }}_std AS std,
    cwl_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_low,
    cwl_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro snowflake__cwl(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), scaled_hits AS (
    -- one row per hit, with gain 1 for the highest relevance
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        COALESCE(CAST(relevant.relevance AS DOUBLE) / NULLIF(top_relevance.relevance, 0), 0) AS gain
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), gains AS (
    -- one row per hit in the first 1000 ranks
    SELECT user_id, rank, gain FROM scaled_hits WHERE rank <= 1000
), digits AS (
    SELECT digits.digit
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS digits(digit)
), numbers_4 AS (
    -- one row: the last number
    SELECT 0 AS rank, 1000 AS last_number
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
    -- one row per rank; no reader looks at more than 1000 items
    SELECT numbers_0.rank FROM numbers_0 WHERE numbers_0.rank > 0
), reader_ranks AS (
    -- one row per rank, with the probability that a reader without a hit above reaches it
    SELECT
        rank,
        EXP(GREATEST_IGNORE_NULLS((rank - 1) * LN(CAST(0.8 AS DOUBLE)), -700)) AS look_probability,
        SUM(EXP(GREATEST_IGNORE_NULLS((
            rank - 1
        ) * LN(CAST(0.8 AS DOUBLE)), -700)))
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS looked_at
    FROM numbers
), reader_hits AS (
    -- one row per user of the audience, with or without hits
    SELECT user_id, 0 AS rank, CAST(0.0 AS DOUBLE) AS gain, CAST(0.0 AS DOUBLE) AS look_probability
    FROM relevant_users
    UNION ALL
    -- one row per hit
    SELECT user_id, rank, gain, look_probability
    FROM gains
    INNER JOIN reader_ranks USING (rank)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN reader_hits.rank <= {{ cutoff }} THEN reader_hits.look_probability
                * gain END) AS DOUBLE) / NULLIF(COALESCE(MAX(looked_at), 0), 0),
            0
        ) AS cwl_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN reader_hits USING (user_id)
    LEFT JOIN reader_ranks ON reader_ranks.rank = 1000
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_value, COUNT(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_n,
        STDDEV_SAMP(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'cwl' AS metric, {{ cutoff }} AS k, cwl_at_{{ cutoff }}_value AS value, cwl_at_{{ cutoff }}_n AS n_users,
    cwl_at_{{ cutoff }}_std AS std,
    cwl_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_low,
    cwl_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro bigquery__cwl(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS FLOAT64) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), scaled_hits AS (
    -- one row per hit, with gain 1 for the highest relevance
    SELECT
        user_id, CAST(rank AS INT64) AS rank,
        COALESCE(CAST(relevant.relevance AS FLOAT64) / NULLIF(top_relevance.relevance, 0), 0)
            AS gain
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), gains AS (
    -- one row per hit in the first 1000 ranks
    SELECT user_id, rank, gain FROM scaled_hits WHERE rank <= 1000
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
    SELECT 0 AS rank, 1000 AS last_number
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
    -- one row per rank; no reader looks at more than 1000 items
    SELECT numbers_0.rank FROM numbers_0 WHERE numbers_0.rank > 0
), reader_ranks AS (
    -- one row per rank, with the probability that a reader without a hit above reaches it
    SELECT
        rank,
        EXP(
            GREATEST(
                COALESCE((rank - 1) * LN(CAST(0.8 AS FLOAT64)), -700),
                COALESCE(-700, (rank - 1) * LN(CAST(0.8 AS FLOAT64)))
            )
        ) AS look_probability,
        SUM(
            EXP(
                GREATEST(
                    COALESCE((rank - 1) * LN(CAST(0.8 AS FLOAT64)), -700),
                    COALESCE(-700, (rank - 1) * LN(CAST(0.8 AS FLOAT64)))
                )
            )
        ) OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS looked_at
    FROM numbers
), reader_hits AS (
    -- one row per user of the audience, with or without hits
    SELECT
        user_id, 0 AS rank, CAST(0.0 AS FLOAT64) AS gain, CAST(0.0 AS FLOAT64) AS look_probability
    FROM relevant_users
    UNION ALL
    -- one row per hit
    SELECT user_id, rank, gain, look_probability
    FROM gains
    INNER JOIN reader_ranks USING (rank)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN reader_hits.rank <= {{ cutoff }} THEN reader_hits.look_probability
                * gain END) AS FLOAT64) / NULLIF(COALESCE(MAX(looked_at), 0), 0),
            0
        ) AS cwl_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN reader_hits USING (user_id)
    LEFT JOIN reader_ranks ON reader_ranks.rank = 1000
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_value, COUNT(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_n,
        STDDEV_SAMP(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'cwl' AS metric, {{ cutoff }} AS k, cwl_at_{{ cutoff }}_value AS value, cwl_at_{{ cutoff }}_n AS n_users,
    cwl_at_{{ cutoff }}_std AS std,
    cwl_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS FLOAT64) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_low,
    cwl_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS FLOAT64) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro trino__cwl(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), scaled_hits AS (
    -- one row per hit, with gain 1 for the highest relevance
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        COALESCE(CAST(relevant.relevance AS DOUBLE) / NULLIF(top_relevance.relevance, 0), 0) AS gain
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), gains AS (
    -- one row per hit in the first 1000 ranks
    SELECT user_id, rank, gain FROM scaled_hits WHERE rank <= 1000
), digits AS (
    SELECT digits.digit
    FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS digits(digit)
), numbers_4 AS (
    -- one row: the last number
    SELECT 0 AS rank, 1000 AS last_number
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
    -- one row per rank; no reader looks at more than 1000 items
    SELECT numbers_0.rank FROM numbers_0 WHERE numbers_0.rank > 0
), reader_ranks AS (
    -- one row per rank, with the probability that a reader without a hit above reaches it
    SELECT
        rank,
        EXP(
            GREATEST(
                COALESCE((rank - 1) * LN(CAST(0.8 AS DOUBLE)), -700),
                COALESCE(-700, (rank - 1) * LN(CAST(0.8 AS DOUBLE)))
            )
        ) AS look_probability,
        SUM(
            EXP(
                GREATEST(
                    COALESCE((rank - 1) * LN(CAST(0.8 AS DOUBLE)), -700),
                    COALESCE(-700, (rank - 1) * LN(CAST(0.8 AS DOUBLE)))
                )
            )
        ) OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS looked_at
    FROM numbers
), reader_hits AS (
    -- one row per user of the audience, with or without hits
    SELECT user_id, 0 AS rank, CAST(0.0 AS DOUBLE) AS gain, CAST(0.0 AS DOUBLE) AS look_probability
    FROM relevant_users
    UNION ALL
    -- one row per hit
    SELECT user_id, rank, gain, look_probability
    FROM gains
    INNER JOIN reader_ranks USING (rank)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN reader_hits.rank <= {{ cutoff }} THEN reader_hits.look_probability
                * gain END) AS DOUBLE) / NULLIF(COALESCE(MAX(looked_at), 0), 0),
            0
        ) AS cwl_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN reader_hits USING (user_id)
    LEFT JOIN reader_ranks ON reader_ranks.rank = 1000
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_value, COUNT(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_n,
        STDDEV_SAMP(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'cwl' AS metric, {{ cutoff }} AS k, cwl_at_{{ cutoff }}_value AS value, cwl_at_{{ cutoff }}_n AS n_users,
    cwl_at_{{ cutoff }}_std AS std,
    cwl_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_low,
    cwl_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro athena__cwl(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__cwl(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__cwl(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS Nullable(Float64)) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), scaled_hits AS (
    -- one row per hit, with gain 1 for the highest relevance
    SELECT
        user_id, CAST(rank AS Nullable(Int64)) AS rank,
        COALESCE(
            CAST(relevant.relevance AS Nullable(Float64)) / nullIf(top_relevance.relevance, 0), 0
        ) AS gain
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), gains AS (
    -- one row per hit in the first 1000 ranks
    SELECT user_id, rank, gain FROM scaled_hits WHERE rank <= 1000
), numbers AS (
    -- one row per rank; no reader looks at more than 1000 items
    SELECT arrayJoin(range(1, 1000 + 1)) AS rank
), reader_ranks AS (
    -- one row per rank, with the probability that a reader without a hit above reaches it
    SELECT
        rank,
        EXP(GREATEST((rank - 1) * LN(CAST(0.8 AS Nullable(Float64))), -700)) AS look_probability,
        SUM(EXP(GREATEST((
            rank - 1
        ) * LN(CAST(0.8 AS Nullable(Float64))), -700)))
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS looked_at
    FROM numbers
), reader_hits AS (
    -- one row per user of the audience, with or without hits
    SELECT
        user_id, 0 AS rank, CAST(0.0 AS Nullable(Float64)) AS gain,
        CAST(0.0 AS Nullable(Float64)) AS look_probability
    FROM relevant_users
    UNION ALL
    -- one row per hit
    SELECT user_id, rank, gain, look_probability
    FROM gains
    INNER JOIN reader_ranks USING (rank)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN reader_hits.rank <= {{ cutoff }} THEN reader_hits.look_probability
                * gain END) AS Nullable(Float64)) / nullIf(COALESCE(MAX(looked_at), 0), 0),
            0
        ) AS cwl_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN reader_hits USING (user_id)
    LEFT JOIN reader_ranks ON reader_ranks.rank = 1000
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_value,
        CAST(COUNT(cwl_at_{{ cutoff }}) AS Nullable(Int64)) AS cwl_at_{{ cutoff }}_n,
        CASE
            WHEN CAST(COUNT(cwl_at_{{ cutoff }}) AS Nullable(Int64)) > 1 THEN stddevSampStable(cwl_at_{{ cutoff }})
        END AS cwl_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'cwl' AS metric, {{ cutoff }} AS k, cwl_at_{{ cutoff }}_value AS value, cwl_at_{{ cutoff }}_n AS n_users,
    cwl_at_{{ cutoff }}_std AS std,
    cwl_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS Nullable(Float64)) * cwl_at_{{ cutoff }}_std
        / nullIf(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_low,
    cwl_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS Nullable(Float64)) * cwl_at_{{ cutoff }}_std
        / nullIf(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__cwl(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE PRECISION) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), scaled_hits AS (
    -- one row per hit, with gain 1 for the highest relevance
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        COALESCE(
            CAST(relevant.relevance AS DOUBLE PRECISION) / NULLIF(top_relevance.relevance, 0), 0
        ) AS gain
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), gains AS (
    -- one row per hit in the first 1000 ranks
    SELECT user_id, rank, gain FROM scaled_hits WHERE rank <= 1000
), numbers AS (
    -- one row per rank; no reader looks at more than 1000 items
    SELECT GENERATE_SERIES(1, 1000) AS rank
), reader_ranks AS (
    -- one row per rank, with the probability that a reader without a hit above reaches it
    SELECT
        rank,
        EXP(GREATEST((rank - 1) * LN(CAST(0.8 AS DOUBLE PRECISION)), -700)) AS look_probability,
        SUM(EXP(GREATEST((
            rank - 1
        ) * LN(CAST(0.8 AS DOUBLE PRECISION)), -700)))
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS looked_at
    FROM numbers
), reader_hits AS (
    -- one row per user of the audience, with or without hits
    SELECT
        user_id, 0 AS rank, CAST(0.0 AS DOUBLE PRECISION) AS gain,
        CAST(0.0 AS DOUBLE PRECISION) AS look_probability
    FROM relevant_users
    UNION ALL
    -- one row per hit
    SELECT user_id, rank, gain, look_probability
    FROM gains
    INNER JOIN reader_ranks USING (rank)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN reader_hits.rank <= {{ cutoff }} THEN reader_hits.look_probability
                * gain END) AS DOUBLE PRECISION) / NULLIF(COALESCE(MAX(looked_at), 0), 0),
            0
        ) AS cwl_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN reader_hits USING (user_id)
    LEFT JOIN reader_ranks ON reader_ranks.rank = 1000
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_value, COUNT(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_n,
        STDDEV_SAMP(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'cwl' AS metric, {{ cutoff }} AS k, cwl_at_{{ cutoff }}_value AS value, cwl_at_{{ cutoff }}_n AS n_users,
    cwl_at_{{ cutoff }}_std AS std,
    cwl_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_low,
    cwl_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}

{% macro redshift__cwl(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE PRECISION) AS relevance FROM interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, MAX(relevance) AS best_relevance FROM relevant GROUP BY user_id
), top_relevance AS (
    -- one row: the highest relevance of all users, inside the audience or not
    SELECT MAX(best_relevance) AS relevance FROM relevant_users
), scaled_hits AS (
    -- one row per hit, with gain 1 for the highest relevance
    SELECT
        user_id, CAST(rank AS BIGINT) AS rank,
        COALESCE(
            CAST(relevant.relevance AS DOUBLE PRECISION) / NULLIF(top_relevance.relevance, 0), 0
        ) AS gain
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    CROSS JOIN top_relevance
), gains AS (
    -- one row per hit in the first 1000 ranks
    SELECT user_id, rank, gain FROM scaled_hits WHERE rank <= 1000
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
    SELECT 0 AS rank, 1000 AS last_number
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
    -- one row per rank; no reader looks at more than 1000 items
    SELECT numbers_0.rank FROM numbers_0 WHERE numbers_0.rank > 0
), reader_ranks AS (
    -- one row per rank, with the probability that a reader without a hit above reaches it
    SELECT
        rank,
        EXP(GREATEST((rank - 1) * LN(CAST(0.8 AS DOUBLE PRECISION)), -700)) AS look_probability,
        SUM(EXP(GREATEST((
            rank - 1
        ) * LN(CAST(0.8 AS DOUBLE PRECISION)), -700)))
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS looked_at
    FROM numbers
), reader_hits AS (
    -- one row per user of the audience, with or without hits
    SELECT
        user_id, 0 AS rank, CAST(0.0 AS DOUBLE PRECISION) AS gain,
        CAST(0.0 AS DOUBLE PRECISION) AS look_probability
    FROM relevant_users
    UNION ALL
    -- one row per hit
    SELECT user_id, rank, gain, look_probability
    FROM gains
    INNER JOIN reader_ranks USING (rank)
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        COALESCE(
            CAST(SUM(CASE WHEN reader_hits.rank <= {{ cutoff }} THEN reader_hits.look_probability
                * gain END) AS DOUBLE PRECISION) / NULLIF(COALESCE(MAX(looked_at), 0), 0),
            0
        ) AS cwl_at_{{ cutoff }}
    FROM relevant_users
    LEFT JOIN reader_hits USING (user_id)
    LEFT JOIN reader_ranks ON reader_ranks.rank = 1000
    GROUP BY user_id
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        AVG(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_value, COUNT(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_n,
        STDDEV_SAMP(cwl_at_{{ cutoff }}) AS cwl_at_{{ cutoff }}_std
    FROM per_user
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'cwl' AS metric, {{ cutoff }} AS k, cwl_at_{{ cutoff }}_value AS value, cwl_at_{{ cutoff }}_n AS n_users,
    cwl_at_{{ cutoff }}_std AS std,
    cwl_at_{{ cutoff }}_value - CAST(1.9599639845400536 AS DOUBLE PRECISION) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_low,
    cwl_at_{{ cutoff }}_value + CAST(1.9599639845400536 AS DOUBLE PRECISION) * cwl_at_{{ cutoff }}_std
        / NULLIF(SQRT(cwl_at_{{ cutoff }}_n), 0) AS ci_high
FROM totals
{%- endmacro %}
