/*
metrics = ["ece(scores=logit)@10"]
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
), bins AS (
    -- one row per tenth of the probabilities
    SELECT avg(p) AS confidence, avg(y) AS accuracy, count(*) AS n
    FROM predictions
    GROUP BY least(floor(10 * p), 9)
)
SELECT
    'ece(scores=logit)' AS metric,
    10 AS k,
    sum(n * abs(confidence - accuracy)) / sum(n) AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM bins
