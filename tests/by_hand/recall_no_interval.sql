/*
metrics = ["recall@10"]
tables = ["recommendations", "interactions"]
ci = "none"
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
), per_user AS (
    SELECT user_id, count(rank) / count(*) AS recall
    FROM relevant
    LEFT JOIN top_10 USING (user_id, item_id)
    GROUP BY user_id
)
SELECT
    'recall' AS metric,
    10 AS k,
    avg(recall) AS value,
    count(*) AS n_users,
    stddev_samp(recall) AS std,
    NULL AS ci_low,
    NULL AS ci_high
FROM per_user
