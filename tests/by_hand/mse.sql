/*
metrics = ["mse@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
)
SELECT
    'mse' AS metric,
    10 AS k,
    avg(power(score - relevance, 2)) AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM ranked
JOIN read_parquet('interactions.parquet') USING (user_id, item_id)
WHERE rank <= 10
