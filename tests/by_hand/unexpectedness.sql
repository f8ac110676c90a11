/*
metrics = ["unexpectedness@10"]
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
    SELECT user_id, 1 - count(CASE WHEN baseline_rank <= 10 THEN 1 END) / count(*) AS unexpectedness
    FROM ranked
    LEFT JOIN baseline_ranked USING (user_id, item_id)
    WHERE rank <= 10
    GROUP BY user_id
), summary AS (
    SELECT avg(unexpectedness) AS value, count(*) AS n_users, stddev_samp(unexpectedness) AS std
    FROM per_user
)
SELECT
    'unexpectedness' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
