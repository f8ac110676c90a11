/*
metrics = ["calibration@10"]
tables = ["recommendations", "history", "items"]
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
), listed AS (
    -- one row per list and category, with its share
    SELECT user_id, category, sum(part) / sum(sum(part)) OVER (PARTITION BY user_id) AS q
    FROM ranked
    JOIN parts USING (item_id)
    WHERE rank <= 10
    GROUP BY user_id, category
), known AS (
    -- one row per user and category of the history, with its share
    SELECT user_id, category, sum(part) / sum(sum(part)) OVER (PARTITION BY user_id) AS p
    FROM (SELECT DISTINCT user_id, item_id FROM read_parquet('history.parquet'))
    JOIN parts USING (item_id)
    GROUP BY user_id, category
), per_user AS (
    -- one row per user with categories in both
    SELECT user_id, sum(p * ln(p / (0.99 * coalesce(q, 0) + 0.01 * p))) AS value_of_user
    FROM known
    LEFT JOIN listed USING (user_id, category)
    WHERE user_id IN (SELECT user_id FROM listed)
    GROUP BY user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'calibration' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
