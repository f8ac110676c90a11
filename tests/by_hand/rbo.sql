/*
metrics = ["rbo@10"]
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
    SELECT user_id, count(*) AS n_baseline FROM baseline_ranked GROUP BY user_id
), lists AS (
    SELECT user_id, least(10, greatest(count(*), any_value(n_baseline))) AS n_depths
    FROM ranked
    JOIN baseline_lists USING (user_id)
    GROUP BY user_id
), agreement AS (
    -- one row per user and depth, with the number of items that both lists have down to there
    SELECT user_id, depth, count(baseline_rank) AS n_common
    FROM lists
    CROSS JOIN range(1, 11) AS depths (depth)
    LEFT JOIN (SELECT * FROM ranked JOIN baseline_ranked USING (user_id, item_id)) AS common
        USING (user_id)
    WHERE depth <= n_depths AND (common.rank IS NULL OR greatest(common.rank, baseline_rank) <= depth)
    GROUP BY user_id, depth
), per_user AS (
    SELECT
        lists.user_id,
        coalesce(sum(pow(0.9, depth - 1) * n_common / depth), 0)
        / ((1 - pow(0.9, any_value(n_depths))) / (1 - 0.9)) AS value_of_user
    FROM lists
    LEFT JOIN agreement USING (user_id)
    GROUP BY lists.user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'rbo' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
