/*
metrics = ["user_coverage(at_least=3)@10"]
tables = ["recommendations", "interactions"]
*/
WITH lists AS (
    SELECT user_id, count(*) AS n_recommended
    FROM read_parquet('recommendations.parquet')
    GROUP BY user_id
), users AS (
    SELECT DISTINCT user_id FROM read_parquet('interactions.parquet')
), per_user AS (
    SELECT CASE WHEN lists.n_recommended >= 3 THEN 1 ELSE 0 END AS value
    FROM users
    LEFT JOIN lists USING (user_id)
)
SELECT
    'user_coverage(at_least=3)' AS metric,
    10 AS k,
    avg(value) AS value,
    count(value) AS n_users,
    stddev_samp(value) AS std,
    avg(value) - 1.959963984540054 * stddev_samp(value) / sqrt(count(value)) AS ci_low,
    avg(value) + 1.959963984540054 * stddev_samp(value) / sqrt(count(value)) AS ci_high
FROM per_user
