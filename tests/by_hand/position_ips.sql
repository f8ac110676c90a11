/*
metrics = ["position_ips@10"]
tables = ["recommendations", "logs"]
files = { logs = "slates" }
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), clicks AS (
    -- one row per user with a shown item in the top 10
    SELECT user_id, sum(reward * log2(position + 1) / log2(rank + 1)) AS clicks
    FROM ranked
    JOIN read_parquet('slates.parquet') AS slates USING (user_id, item_id)
    WHERE rank <= 10
    GROUP BY user_id
), per_user AS (
    SELECT coalesce(clicks, 0) AS clicks
    FROM (SELECT DISTINCT user_id FROM read_parquet('slates.parquet') AS slates) AS logged
    LEFT JOIN clicks USING (user_id)
), summary AS (
    SELECT avg(clicks) AS value, count(*) AS n_users, stddev_samp(clicks) AS std FROM per_user
)
SELECT
    'position_ips' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
