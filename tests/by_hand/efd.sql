/*
metrics = ["efd@10"]
tables = ["recommendations", "interactions", "history"]
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
), relevant AS (
    SELECT DISTINCT user_id, item_id, 1 AS hit
    FROM read_parquet('interactions.parquet')
    WHERE relevance > 0
), of_lists AS (
    SELECT
        user_id,
        sum(coalesce(hit, 0) * log2(
            (SELECT sum(n_users) FROM item_users) / coalesce(n_users, 1)
        ) / log2(rank + 1)) / sum(1 / log2(rank + 1)) AS value_of_list
    FROM ranked
    LEFT JOIN item_users USING (item_id)
    LEFT JOIN relevant USING (user_id, item_id)
    WHERE rank <= 10
    GROUP BY user_id
), per_user AS (
    -- one row per user with a relevant item; 0 without a list
    SELECT user_id, coalesce(value_of_list, 0) AS value_of_user
    FROM (SELECT DISTINCT user_id FROM relevant)
    LEFT JOIN of_lists USING (user_id)
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'efd' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
