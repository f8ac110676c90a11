/*
metrics = ["auc@10"]
tables = ["recommendations", "interactions"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), judged AS (
    -- items with the same score share the mean of their ranks
    SELECT
        relevance > 0 AS is_relevant,
        rank() OVER (ORDER BY score) + (count(*) OVER (PARTITION BY score) - 1) / 2 AS mean_rank
    FROM top_10
    JOIN read_parquet('interactions.parquet') USING (user_id, item_id)
), totals AS (
    SELECT
        sum(mean_rank) FILTER (WHERE is_relevant) AS rank_sum,
        count(*) FILTER (WHERE is_relevant) AS n_relevant,
        count(*) FILTER (WHERE NOT is_relevant) AS n_other
    FROM judged
)
SELECT
    'auc' AS metric,
    10 AS k,
    (rank_sum - n_relevant * (n_relevant + 1) / 2) / nullif(n_relevant * n_other, 0) AS value,
    NULL AS n_users,
    NULL AS std,
    NULL AS ci_low,
    NULL AS ci_high
FROM totals
