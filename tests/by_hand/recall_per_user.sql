/*
metrics = ["recall@10"]
tables = ["recommendations", "interactions"]
per_user = true
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
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    SELECT user_id, rank FROM ranked JOIN relevant USING (user_id, item_id)
)
SELECT user_id, count(CASE WHEN rank <= 10 THEN 1 END) / max(n_relevant) AS "recall@10"
FROM relevant_users
LEFT JOIN hits USING (user_id)
GROUP BY user_id
