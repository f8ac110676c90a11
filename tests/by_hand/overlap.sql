/*
metrics = ["overlap@10"]
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
), baseline_lists AS (
    SELECT user_id, count(*) AS n_baseline FROM baseline_ranked WHERE baseline_rank <= 10 GROUP BY user_id
), per_user AS (
    -- one row per user with both lists
    SELECT user_id, count(CASE WHEN baseline_rank <= 10 THEN 1 END) / any_value(n_baseline) AS value_of_user
    FROM ranked
    JOIN baseline_lists USING (user_id)
    LEFT JOIN baseline_ranked USING (user_id, item_id)
    WHERE rank <= 10
    GROUP BY user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'overlap' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
