/*
metrics = ["first_rank@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), per_user AS (
    -- users without a hit have no rank
    SELECT user_id, min(rank) AS first_rank
    FROM ranked
    JOIN relevant USING (user_id, item_id)
    WHERE rank <= 10
    GROUP BY user_id
), summary AS (
    SELECT avg(first_rank) AS value, count(*) AS n_users, stddev_samp(first_rank) AS std FROM per_user
)
SELECT
    'first_rank' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
