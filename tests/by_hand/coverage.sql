/*
metrics = ["coverage@10"]
tables = ["recommendations", "history"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), catalogue AS (
    SELECT DISTINCT item_id FROM read_parquet('history.parquet')
)
SELECT
    'coverage' AS metric,
    10 AS k,
    count(DISTINCT top_10.item_id) / count(DISTINCT catalogue.item_id) AS value,
    NULL AS n_users,
    NULL AS std,
    NULL AS ci_low,
    NULL AS ci_high
FROM catalogue
LEFT JOIN top_10 USING (item_id)
