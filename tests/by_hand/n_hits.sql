/*
metrics = ["n_hits@10"]
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
    SELECT user_id, count(CASE WHEN rank <= 10 THEN 1 END) AS n_hits
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(n_hits) AS value, count(*) AS n_users, stddev_samp(n_hits) AS std FROM per_user
)
SELECT
    'n_hits' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
