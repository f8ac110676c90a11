/*
metrics = ["dr"]
tables = ["logs", "policy"]
*/
WITH predictions AS (
    SELECT user_id, sum(probability * predicted) AS of_policy
    FROM read_parquet('policy.parquet') AS policy
    GROUP BY user_id
), rounds AS (
    -- one row per round
    SELECT reward, predicted, of_policy, probability / propensity AS weight
    FROM read_parquet('logs.parquet') AS logs
    LEFT JOIN read_parquet('policy.parquet') AS policy USING (user_id, item_id)
    JOIN predictions USING (user_id)
), terms AS (
    SELECT of_policy + weight * (reward - predicted) AS term FROM rounds
), summary AS (
    SELECT avg(term) AS value, count(*) AS n_users, stddev_samp(term) AS std FROM terms
)
SELECT
    'dr' AS metric,
    CAST(NULL AS BIGINT) AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
