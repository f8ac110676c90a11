/*
metrics = ["n_relevant@10"]
tables = ["recommendations", "interactions"]
*/
WITH per_user AS (
    SELECT user_id, count(*) AS n_relevant
    FROM read_parquet('interactions.parquet')
    WHERE relevance > 0
    GROUP BY user_id
), summary AS (
    SELECT avg(n_relevant) AS value, count(*) AS n_users, stddev_samp(n_relevant) AS std
    FROM per_user
)
SELECT
    'n_relevant' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
