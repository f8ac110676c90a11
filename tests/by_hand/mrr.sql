/*
metrics = ["mrr@10"]
tables = ["recommendations", "interactions"]
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
    SELECT DISTINCT user_id FROM relevant
), hits AS (
    SELECT user_id, rank FROM ranked JOIN relevant USING (user_id, item_id)
), per_user AS (
    SELECT user_id, coalesce(max(CASE WHEN rank <= 10 THEN 1 / rank END), 0) AS reciprocal_rank
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(reciprocal_rank) AS value, count(*) AS n_users, stddev_samp(reciprocal_rank) AS std
    FROM per_user
)
SELECT
    'mrr' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
