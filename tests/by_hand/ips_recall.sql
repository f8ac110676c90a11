/*
metrics = ["ips_recall@10"]
tables = ["recommendations", "interactions", "history"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), popularity AS (
    SELECT item_id, count(DISTINCT user_id) AS n_users
    FROM read_parquet('history.parquet')
    GROUP BY item_id
), weights AS (
    -- one row per relevant item of a user, with its weight
    SELECT
        user_id,
        item_id,
        (SELECT sum(n_users) FROM popularity) / greatest(coalesce(n_users, 0), 1) AS weight
    FROM relevant
    LEFT JOIN popularity USING (item_id)
), hits AS (
    SELECT user_id, rank, weight
    FROM ranked
    JOIN weights USING (user_id, item_id)
    WHERE rank <= 10
), found AS (
    SELECT user_id, sum(weight) AS found_weight FROM hits GROUP BY user_id
), per_user AS (
    SELECT user_id, coalesce(any_value(found_weight), 0) / sum(weight) AS value_of_user
    FROM weights
    LEFT JOIN found USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'ips_recall' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
