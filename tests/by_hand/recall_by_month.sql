/*
metrics = ["recall@10"]
tables = ["recommendations", "interactions"]
by = "month"
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), first_times AS (
    SELECT user_id, item_id, min(timestamp) AS first_time
    FROM read_parquet('interactions.parquet')
    GROUP BY user_id, item_id
), relevant AS (
    SELECT user_id, item_id, coalesce(strftime(first_time, '%Y-%m'), '(none)') AS month
    FROM read_parquet('interactions.parquet')
    JOIN first_times USING (user_id, item_id)
    WHERE relevance > 0
), hits AS (
    SELECT user_id, month, rank FROM relevant JOIN ranked USING (user_id, item_id) WHERE rank <= 10
), relevant_users AS (
    SELECT user_id, month, count(*) AS n_relevant FROM relevant GROUP BY user_id, month
), per_user AS (
    SELECT user_id, month, count(rank) / max(n_relevant) AS recall
    FROM relevant_users
    LEFT JOIN hits USING (user_id, month)
    GROUP BY user_id, month
), summary AS (
    SELECT month, avg(recall) AS value, count(*) AS n_users, stddev_samp(recall) AS std
    FROM per_user
    GROUP BY month
)
SELECT
    month,
    'recall' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
