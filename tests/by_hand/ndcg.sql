/*
metrics = ["ndcg@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
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
    SELECT user_id, rank FROM ranked JOIN relevant USING (user_id, item_id)
), per_user AS (
    SELECT
        user_id,
        coalesce(sum(CASE WHEN rank <= 10 THEN 1 / log2(rank + 1) END), 0)
            / max(ideal_dcg) AS ndcg
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(ndcg) AS value, count(*) AS n_users, stddev_samp(ndcg) AS std FROM per_user
)
SELECT
    'ndcg' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
