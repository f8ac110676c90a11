/*
metrics = ["pfound@10"]
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
        relevance / (SELECT max(relevance) FROM read_parquet('interactions.parquet')) AS p
    FROM read_parquet('interactions.parquet')
    WHERE relevance > 0
), relevant_users AS (
    SELECT DISTINCT user_id FROM relevant
), hits AS (
    -- one row per hit: p_reached of the readers come so far, of whom p stop: with p = 1, all
    SELECT
        user_id,
        rank,
        p,
        coalesce(
            exp(
                sum(ln(greatest(1 - p, 1e-100))) OVER (
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
    SELECT
        user_id,
        coalesce(
            sum(CASE WHEN rank <= 10 THEN p_reached * p * power(0.85, rank - 1) END),
            0
        ) AS pfound
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(pfound) AS value, count(*) AS n_users, stddev_samp(pfound) AS std FROM per_user
)
SELECT
    'pfound' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
