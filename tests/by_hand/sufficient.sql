/*
metrics = ["sufficient@10"]
tables = ["recommendations"]
*/
WITH per_user AS (
    SELECT user_id, CASE WHEN count(*) >= 10 THEN 1 ELSE 0 END AS value
    FROM read_parquet('recommendations.parquet')
    GROUP BY user_id
)
SELECT
    'sufficient' AS metric,
    10 AS k,
    avg(value) AS value,
    count(value) AS n_users,
    stddev_samp(value) AS std,
    avg(value) - 1.959963984540054 * stddev_samp(value) / sqrt(count(value)) AS ci_low,
    avg(value) + 1.959963984540054 * stddev_samp(value) / sqrt(count(value)) AS ci_high
FROM per_user
