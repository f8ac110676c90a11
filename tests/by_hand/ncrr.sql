/*
metrics = ["ncrr@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), harmonics AS (
    SELECT rank, sum(1 / rank) OVER (ORDER BY rank) AS harmonic
    FROM (SELECT unnest(generate_series(1, 10)) AS rank)
), best AS (
    SELECT user_id, harmonic
    FROM (SELECT user_id, least(10, count(*)) AS rank FROM relevant GROUP BY user_id)
    JOIN harmonics USING (rank)
), hits AS (
    SELECT user_id, rank FROM ranked JOIN relevant USING (user_id, item_id) WHERE rank <= 10
), per_user AS (
    SELECT user_id, coalesce(sum(1 / rank), 0) / max(harmonic) AS ncrr
    FROM best
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(ncrr) AS value, count(*) AS n_users, stddev_samp(ncrr) AS std FROM per_user
)
SELECT
    'ncrr' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
