/*
metrics = ["ndcg@10"]
tables = ["recommendations", "interactions"]
models = ["als", "popular"]
*/
WITH recommendations AS (
    SELECT 'als' AS model, user_id, item_id, score
    FROM read_parquet('recommendations_als.parquet')
    UNION ALL
    SELECT 'popular' AS model, user_id, item_id, score
    FROM read_parquet('recommendations_popular.parquet')
), ranked AS (
    SELECT
        model,
        user_id,
        item_id,
        row_number() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), models AS (
    SELECT DISTINCT model FROM ranked
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), ideal_lists AS (
    -- one row per relevant item, with its rank in the best possible list
    SELECT user_id, row_number() OVER (PARTITION BY user_id ORDER BY item_id) AS rank FROM relevant
), relevant_users AS (
    SELECT user_id, sum(CASE WHEN rank <= 10 THEN 1 / log2(rank + 1) END) AS ideal_dcg
    FROM ideal_lists
    GROUP BY user_id
), hits AS (
    SELECT model, user_id, rank FROM ranked JOIN relevant USING (user_id, item_id)
), per_user AS (
    SELECT
        model,
        user_id,
        coalesce(sum(CASE WHEN rank <= 10 THEN 1 / log2(rank + 1) END), 0)
            / max(ideal_dcg) AS ndcg
    FROM relevant_users
    CROSS JOIN models
    LEFT JOIN hits USING (model, user_id)
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
