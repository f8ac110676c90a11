/*
metrics = ["least_item_promoted@10"]
tables = ["recommendations", "baseline"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), baseline_ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS baseline_rank
    FROM read_parquet('baseline.parquet')
), per_user AS (
    SELECT ranked.user_id, greatest(coalesce(max(baseline_rank), 0) - 10, 0) AS value_of_user
    FROM ranked
    LEFT JOIN baseline_ranked USING (user_id, item_id)
    WHERE rank <= 10 AND ranked.user_id IN (SELECT user_id FROM baseline_ranked)
    GROUP BY ranked.user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'least_item_promoted' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
