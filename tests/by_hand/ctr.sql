/*
metrics = ["ctr@10"]
tables = ["recommendations", "logs"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), terms AS (
    -- one row per recommended item in the top 10 that is in the logs
    SELECT reward AS term
    FROM ranked
    JOIN read_parquet('logs.parquet') USING (user_id, item_id)
    WHERE rank <= 10
), summary AS (
    SELECT avg(term) AS value, stddev_samp(term) / sqrt(count(*)) AS standard_error FROM terms
)
SELECT
    'ctr' AS metric,
    10 AS k,
    value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    value - 1.959963984540054 * standard_error AS ci_low,
    value + 1.959963984540054 * standard_error AS ci_high
FROM summary
