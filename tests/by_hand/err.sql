/*
metrics = ["err@10"]
tables = ["recommendations", "interactions"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), grades AS (
    SELECT
        user_id,
        item_id,
        (power(2, relevance) - 1)
            / power(2, (SELECT max(relevance) FROM read_parquet('interactions.parquet'))) AS p
    FROM read_parquet('interactions.parquet')
    WHERE relevance > 0
), cascade AS (
    SELECT
        user_id,
        rank,
        p,
        coalesce(
            product(1 - p) OVER (
                PARTITION BY user_id
                ORDER BY rank
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            1
        ) AS p_reached
    FROM grades
    LEFT JOIN top_10 USING (user_id, item_id)
), per_user AS (
    SELECT user_id, coalesce(sum(p_reached * p / rank), 0) AS err
    FROM cascade
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
