/*
metrics = ["beta_ipw"]
tables = ["logs", "policy"]
*/
WITH rounds AS (
    -- one row per round
    SELECT reward, probability / propensity AS weight
    FROM read_parquet('logs.parquet') AS logs
    LEFT JOIN read_parquet('policy.parquet') AS policy USING (user_id, item_id)
), totals AS (
    -- no baseline minimises the variance if the divisor is not positive
    SELECT
        CASE
            WHEN sum(weight * weight - weight) > 0
                THEN
                    sum((weight * weight - weight) * reward) / sum(weight * weight - weight)
        END AS beta
    FROM rounds
), terms AS (
    SELECT weight * (reward - beta) + beta AS term FROM rounds CROSS JOIN totals
), summary AS (
    SELECT avg(term) AS value, count(term) AS n_users, stddev_samp(term) AS std FROM terms
)
SELECT
    'beta_ipw' AS metric,
    CAST(NULL AS BIGINT) AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
