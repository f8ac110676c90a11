/*
metrics = ["effective_relevant@10"]
tables = ["recommendations", "interactions", "history"]
*/
WITH popularity AS (
    SELECT item_id, count(DISTINCT user_id) AS n_users
    FROM read_parquet('history.parquet')
    GROUP BY item_id
), weights AS (
    -- one row per relevant item of a user, with its weight
    SELECT
        user_id,
        (SELECT sum(n_users) FROM popularity) / greatest(coalesce(n_users, 0), 1) AS weight
    FROM read_parquet('interactions.parquet')
    LEFT JOIN popularity USING (item_id)
    WHERE relevance > 0
), per_user AS (
    SELECT user_id, sum(weight) ** 2 / sum(weight ** 2) AS value_of_user
    FROM weights
    GROUP BY user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'effective_relevant' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
