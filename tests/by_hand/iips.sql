/*
metrics = ["iips"]
tables = ["logs"]
files = { logs = "slates" }
*/
WITH slates AS (
    -- one row per slate
    SELECT sum(target_propensity / propensity * reward) AS term
    FROM read_parquet('slates.parquet')
    GROUP BY round_id
), summary AS (
    SELECT avg(term) AS value, count(*) AS n_users, stddev_samp(term) AS std FROM slates
)
SELECT
    'iips' AS metric,
    CAST(NULL AS BIGINT) AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
