/*
metrics = ["ess"]
tables = ["logs", "policy"]
*/
WITH rounds AS (
    -- one row per round
    SELECT reward, probability / propensity AS weight
    FROM read_parquet('logs.parquet') AS logs
    LEFT JOIN read_parquet('policy.parquet') AS policy USING (user_id, item_id)
)
SELECT
    'ess' AS metric,
    CAST(NULL AS BIGINT) AS k,
    sum(weight) * sum(weight) / sum(weight * weight) AS value,
    count(*) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM rounds
