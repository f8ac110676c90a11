/*
metrics = ["valid_items@10"]
tables = ["recommendations", "history"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), catalogue AS (
    SELECT DISTINCT item_id FROM read_parquet('history.parquet')
), per_user AS (
    SELECT user_id, count(catalogue.item_id) / count(*) AS value_of_user
    FROM ranked
    LEFT JOIN catalogue USING (item_id)
    WHERE rank <= 10
    GROUP BY user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'valid_items' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
