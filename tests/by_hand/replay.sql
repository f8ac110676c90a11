/*
metrics = ["replay"]
tables = ["logs", "policy"]
*/
WITH rounds AS (
    -- one row per round
    SELECT reward, probability AS weight
    FROM read_parquet('logs.parquet') AS logs
    LEFT JOIN read_parquet('policy.parquet') AS policy USING (user_id, item_id)
), mean AS (
    SELECT sum(weight * reward) / sum(weight) AS value FROM rounds
), summary AS (
    SELECT
        any_value(value) AS value,
        count(*) AS n_users,
        sqrt(sum(weight * power(reward - value, 2)) / sum(weight) * count(*) / (count(*) - 1)) AS std,
        sqrt(sum(power(weight * (reward - value), 2))) / sum(weight) AS standard_error
    FROM rounds
    CROSS JOIN mean
)
SELECT
    'replay' AS metric,
    CAST(NULL AS BIGINT) AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * standard_error AS ci_low,
    value + 1.959963984540054 * standard_error AS ci_high
FROM summary
