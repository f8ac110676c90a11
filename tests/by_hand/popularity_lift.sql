/*
metrics = ["popularity_lift@10"]
tables = ["recommendations", "history"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), seen AS (
    SELECT DISTINCT user_id, item_id FROM read_parquet('history.parquet')
), item_popularity AS (
    SELECT item_id, count(*) AS n_users FROM seen GROUP BY item_id
), profiles AS (
    SELECT user_id, avg(n_users) AS usual
    FROM seen
    JOIN item_popularity USING (item_id)
    GROUP BY user_id
), per_user AS (
    -- one row per user with a list and a history
    SELECT user_id, avg(coalesce(n_users, 0)) / any_value(usual) - 1 AS value_of_user
    FROM ranked
    JOIN profiles USING (user_id)
    LEFT JOIN item_popularity USING (item_id)
    WHERE rank <= 10
    GROUP BY user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'popularity_lift' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
