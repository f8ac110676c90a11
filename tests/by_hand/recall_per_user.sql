/*
metrics = ["recall@10"]
tables = ["recommendations", "interactions"]
per_user = true
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
)
SELECT user_id, 10 AS k, count(rank) / count(*) AS recall
FROM relevant
LEFT JOIN top_10 USING (user_id, item_id)
GROUP BY user_id
