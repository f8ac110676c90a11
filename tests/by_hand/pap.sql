/*
metrics = ["pap@10"]
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
), relevant_users AS (
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    SELECT
        user_id,
        row_number() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number,
        rank - row_number() OVER (PARTITION BY user_id ORDER BY rank) AS n_misses_above
    FROM ranked
    JOIN relevant USING (user_id, item_id)
), per_user AS (
    SELECT
        user_id,
        coalesce(sum(CASE WHEN hit_number <= 10 THEN greatest(10 - n_misses_above, 0) END), 0)
        / (10 * least(max(n_relevant), 10)) AS pap
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(pap) AS value, count(*) AS n_users, stddev_samp(pap) AS std FROM per_user
)
SELECT
    'pap' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
