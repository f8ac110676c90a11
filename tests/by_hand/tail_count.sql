/*
metrics = ["tail_count@10"]
tables = ["recommendations", "history"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), item_users AS (
    -- one row per item of the history: how many users have it
    SELECT item_id, count(DISTINCT user_id) AS n_users
    FROM read_parquet('history.parquet')
    GROUP BY item_id
), head AS (
    -- the most popular items, up to and including the one that reaches 80 % of the pairs
    SELECT item_id
    FROM item_users
    QUALIFY sum(n_users) OVER (ORDER BY n_users DESC, item_id ROWS UNBOUNDED PRECEDING) - n_users
        < 0.8 * sum(n_users) OVER ()
), per_user AS (
    SELECT user_id, count(*) FILTER (head.item_id IS NULL) AS value_of_user
    FROM ranked
    LEFT JOIN head USING (item_id)
    WHERE rank <= 10
    GROUP BY user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'tail_count' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
