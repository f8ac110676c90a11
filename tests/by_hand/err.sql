/*
metrics = ["err@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT
        user_id,
        item_id,
        (power(2, relevance) - 1)
            / power(2, (SELECT max(relevance) FROM read_parquet('interactions.parquet'))) AS p
    FROM read_parquet('interactions.parquet')
    WHERE relevance > 0
), relevant_users AS (
    SELECT DISTINCT user_id FROM relevant
), hits AS (
    -- one row per hit: p_reached of the readers come so far, of whom p stop
    SELECT
        user_id,
        rank,
        p,
        coalesce(
            exp(
                sum(ln(1 - p)) OVER (
                    PARTITION BY user_id
                    ORDER BY rank
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                )
            ),
            1
        ) AS p_reached
    FROM ranked
    JOIN relevant USING (user_id, item_id)
), per_user AS (
    SELECT user_id, coalesce(sum(CASE WHEN rank <= 10 THEN p_reached * p / rank END), 0) AS err
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(err) AS value, count(*) AS n_users, stddev_samp(err) AS std FROM per_user
)
SELECT
    'err' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
