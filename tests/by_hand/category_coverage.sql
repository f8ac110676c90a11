/*
metrics = ["category_coverage@10"]
tables = ["recommendations", "items"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), parts AS (
    -- one row per item and category, which share a weight of 1
    SELECT item_id, category, 1 / count(*) OVER (PARTITION BY item_id) AS part
    FROM (
        SELECT DISTINCT item_id, unnest(category) AS category FROM read_parquet('items.parquet')
    )
    WHERE category IS NOT NULL
), per_user AS (
    SELECT user_id, count(DISTINCT category) / 10 AS value_of_user
    FROM ranked
    JOIN parts USING (item_id)
    WHERE rank <= 10
    GROUP BY user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'category_coverage' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
