/*
metrics = ["coverage@10"]
tables = ["recommendations", "history"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), catalogue AS (
    SELECT DISTINCT item_id FROM read_parquet('history.parquet')
)
SELECT
    'coverage' AS metric,
    10 AS k,
    count(DISTINCT ranked.item_id) / (SELECT count(*) FROM catalogue) AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM ranked
JOIN catalogue USING (item_id)
WHERE rank <= 10
