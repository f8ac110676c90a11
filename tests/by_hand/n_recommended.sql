/*
metrics = ["n_recommended@10"]
tables = ["recommendations"]
*/
WITH per_user AS (
    SELECT user_id, least(count(*), 10) AS n_recommended
    FROM read_parquet('recommendations.parquet')
    GROUP BY user_id
), summary AS (
    SELECT
        avg(n_recommended) AS value,
        count(*) AS n_users,
        stddev_samp(n_recommended) AS std
    FROM per_user
)
SELECT
    'n_recommended' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
