/*
metrics = ["nerr10@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT
        user_id,
        item_id,
        relevance / (SELECT max(relevance) FROM read_parquet('interactions.parquet')) AS gain
    FROM read_parquet('interactions.parquet')
    WHERE relevance > 0
), relevant_users AS (
    SELECT DISTINCT user_id FROM relevant
), hits AS (
    SELECT user_id, rank, gain FROM ranked JOIN relevant USING (user_id, item_id) WHERE rank <= 10
), ranks AS (
    SELECT unnest(range(1, 1001)) AS rank
), continuing AS (
    -- one row per user and rank, with the logarithm of the probability of going on
    SELECT
        user_id,
        rank,
        coalesce(gain, 0) AS gain,
        ln(0.8) + ln(greatest(1 - coalesce(gain, 0), 1e-300)) AS ln_continuing
    FROM relevant_users
    CROSS JOIN ranks
    LEFT JOIN hits USING (user_id, rank)
), looking AS (
    -- one row per user and rank, with the probability that the reader looks at it
    SELECT
        user_id,
        gain,
        exp(
            coalesce(
                sum(ln_continuing) OVER (
                    PARTITION BY user_id
                    ORDER BY rank
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ),
                0
            )
        ) AS looking
    FROM continuing
), per_user AS (
    SELECT user_id, sum(looking * gain) / sum(looking) AS value
    FROM looking
    GROUP BY user_id
), summary AS (
    SELECT avg(value) AS value, count(value) AS n_users, stddev_samp(value) AS std FROM per_user
)
SELECT
    'cwl(browsing=nerr10)' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
