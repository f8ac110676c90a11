/*
metrics = ["pr_auc@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), scores AS (
    -- one row per score: its judged items in the top 10
    SELECT score, count(*) AS n, count(CASE WHEN relevance > 0 THEN 1 END) AS n_relevant
    FROM ranked
    JOIN read_parquet('interactions.parquet') USING (user_id, item_id)
    WHERE rank <= 10
    GROUP BY score
), thresholds AS (
    SELECT
        n_relevant,
        sum(n_relevant) OVER (ORDER BY score DESC) AS found,
        sum(n) OVER (ORDER BY score DESC) AS above
    FROM scores
)
SELECT
    'pr_auc' AS metric,
    10 AS k,
    sum(n_relevant * found / above) / nullif(sum(n_relevant), 0) AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM thresholds
