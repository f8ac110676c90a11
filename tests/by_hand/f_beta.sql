/*
metrics = ["f_beta@10"]
tables = ["recommendations", "interactions"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), per_user AS (
    SELECT user_id, 2 * count(rank) / (count(*) + 10) AS f1
    FROM relevant
    LEFT JOIN top_10 USING (user_id, item_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(f1) AS value, count(*) AS n_users, stddev_samp(f1) AS std FROM per_user
)
SELECT
    'f_beta' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
