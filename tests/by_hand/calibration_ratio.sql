/*
metrics = ["calibration_ratio(scores=logit)@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), predictions AS (
    -- one row per judged item in the top 10
    SELECT 1 / (1 + exp(-score)) AS p, CASE WHEN relevance > 0 THEN 1 ELSE 0 END AS y
    FROM ranked
    JOIN read_parquet('interactions.parquet') USING (user_id, item_id)
    WHERE rank <= 10
)
SELECT
    'calibration_ratio(scores=logit)' AS metric,
    10 AS k,
    sum(p) / nullif(sum(y), 0) AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM predictions
