/*
metrics = ["map@10"]
tables = ["recommendations", "interactions"]
convention = "jurity"
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item and a list
    SELECT user_id, count(*) AS n_relevant
    FROM relevant
    WHERE user_id IN (SELECT user_id FROM ranked)
    GROUP BY user_id
), hits AS (
    SELECT user_id, rank, row_number() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number
    FROM ranked
    JOIN relevant USING (user_id, item_id)
), per_user AS (
    SELECT
        user_id,
        coalesce(sum(CASE WHEN rank <= 10 THEN hit_number / rank END), 0)
            / least(10, max(n_relevant)) AS average_precision
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT
        avg(average_precision) AS value,
        count(*) AS n_users,
        stddev_samp(average_precision) AS std
    FROM per_user
)
SELECT
    'map' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
