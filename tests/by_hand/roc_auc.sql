/*
metrics = ["roc_auc@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        count(*) OVER (PARTITION BY user_id) AS n_recommended,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), relevant_users AS (
    SELECT DISTINCT user_id FROM relevant
), hits AS (
    -- one row per hit in the top 10: rank - hit_number misses stand above it
    SELECT
        user_id,
        rank,
        least(10, n_recommended) AS length,
        row_number() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number
    FROM ranked
    JOIN relevant USING (user_id, item_id)
    WHERE rank <= 10
), per_user AS (
    SELECT
        user_id,
        CASE
            WHEN count(rank) = 0 THEN 0
            WHEN count(rank) = max(length) THEN 1
            ELSE 1 - sum(rank - hit_number) / (count(rank) * (max(length) - count(rank)))
        END AS roc_auc
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(roc_auc) AS value, count(*) AS n_users, stddev_samp(roc_auc) AS std FROM per_user
)
SELECT
    'roc_auc' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
