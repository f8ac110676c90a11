/*
metrics = ["auc@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), judged AS (
    -- one row per judged item in the top 10; equal scores share the mean of their ranks
    SELECT
        relevance,
        rank() OVER (ORDER BY score) + (count(*) OVER (PARTITION BY score) - 1) / 2 AS mean_rank
    FROM ranked
    JOIN read_parquet('interactions.parquet') USING (user_id, item_id)
    WHERE rank <= 10
), summary AS (
    SELECT
        sum(CASE WHEN relevance > 0 THEN mean_rank END) AS rank_sum,
        count(CASE WHEN relevance > 0 THEN 1 END) AS n_relevant,
        count(CASE WHEN relevance <= 0 THEN 1 END) AS n_other
    FROM judged
)
SELECT
    'auc' AS metric,
    10 AS k,
    (rank_sum - n_relevant * (n_relevant + 1) / 2) / nullif(n_relevant * n_other, 0) AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM summary
