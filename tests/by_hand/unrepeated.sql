/*
metrics = ["unrepeated@10"]
tables = ["recommendations"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), per_user AS (
    SELECT
        user_id,
        CASE WHEN count(DISTINCT item_id) = count(*) THEN 1 ELSE 0 END AS value
    FROM ranked
    WHERE rank <= 10
    GROUP BY user_id
)
SELECT
    'unrepeated' AS metric,
    10 AS k,
    avg(value) AS value,
    count(value) AS n_users,
    stddev_samp(value) AS std,
    avg(value) - 1.959963984540054 * stddev_samp(value) / sqrt(count(value)) AS ci_low,
    avg(value) + 1.959963984540054 * stddev_samp(value) / sqrt(count(value)) AS ci_high
FROM per_user
