/*
metrics = ["ndcg@10"]
tables = ["recommendations", "interactions"]
models = ["als", "popular"]
*/
WITH recommendations AS (
    SELECT 'als' AS model, * FROM read_parquet('recommendations_als.parquet')
    UNION ALL
    SELECT 'popular' AS model, * FROM read_parquet('recommendations_popular.parquet')
), top_10 AS (
    SELECT
        model,
        user_id,
        item_id,
        row_number() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
    QUALIFY rank <= 10
), relevant AS (
    SELECT user_id, item_id, row_number() OVER (PARTITION BY user_id) AS ideal_rank
    FROM read_parquet('interactions.parquet')
    WHERE relevance > 0
), per_user AS (
    SELECT
        model,
        user_id,
        coalesce(sum(1 / log2(rank + 1)), 0)
            / sum(1 / log2(ideal_rank + 1)) FILTER (WHERE ideal_rank <= 10) AS ndcg
    FROM relevant
    CROSS JOIN (VALUES ('als'), ('popular')) AS models (model)
    LEFT JOIN top_10 USING (model, user_id, item_id)
    GROUP BY model, user_id
), summary AS (
    SELECT model, avg(ndcg) AS value, count(*) AS n_users, stddev_samp(ndcg) AS std
    FROM per_user
    GROUP BY model
)
SELECT
    model,
    'ndcg' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
