/*
metrics = ["recall@5", "recall@10", "map@5", "map@10"]
tables = ["recommendations", "interactions"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), found AS (
    SELECT user_id, rank, count(rank) OVER (PARTITION BY user_id ORDER BY rank) AS hits_so_far
    FROM relevant
    LEFT JOIN top_10 USING (user_id, item_id)
), per_user AS (
    SELECT
        k,
        user_id,
        count(*) FILTER (WHERE rank <= k) / count(*) AS recall,
        coalesce(sum(hits_so_far / rank) FILTER (WHERE rank <= k), 0) / least(k, count(*)) AS ap
    FROM found
    CROSS JOIN (VALUES (5), (10)) AS cutoffs (k)
    GROUP BY k, user_id
), user_values AS (
    SELECT 'recall' AS metric, k, recall AS value FROM per_user
    UNION ALL
    SELECT 'map' AS metric, k, ap AS value FROM per_user
), summary AS (
    SELECT metric, k, avg(value) AS value, count(*) AS n_users, stddev_samp(value) AS std
    FROM user_values
    GROUP BY metric, k
)
SELECT
    metric,
    k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
