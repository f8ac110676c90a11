/*
metrics = ["unexpectedness@10"]
tables = ["recommendations", "baseline"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), baseline_top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS baseline_rank
    FROM read_parquet('baseline.parquet')
    QUALIFY baseline_rank <= 10
), per_user AS (
    SELECT user_id, 1 - count(baseline_rank) / count(*) AS unexpectedness
    FROM top_10
    LEFT JOIN baseline_top_10 USING (user_id, item_id)
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
