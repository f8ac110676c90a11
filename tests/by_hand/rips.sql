/*
metrics = ["rips"]
tables = ["logs"]
files = { logs = "slates" }
*/
WITH items AS (
    -- one row per item of a slate, with the product of the weights down to it
    SELECT
        round_id,
        reward,
        exp(sum(ln(target_propensity / propensity)) OVER (PARTITION BY round_id ORDER BY position))
            AS weight
    FROM read_parquet('slates.parquet')
), slates AS (
    SELECT sum(weight * reward) AS term FROM items GROUP BY round_id
), summary AS (
    SELECT avg(term) AS value, count(*) AS n_users, stddev_samp(term) AS std FROM slates
)
SELECT
    'rips' AS metric,
    CAST(NULL AS BIGINT) AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
