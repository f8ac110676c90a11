/*
metrics = ["relevance_position@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id, relevance FROM read_parquet('interactions.parquet') WHERE relevance > 0
), relevant_users AS (
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    -- one row per hit in the top 10
    SELECT
        user_id,
        rank,
        relevance,
        row_number() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number
    FROM ranked
    JOIN relevant USING (user_id, item_id)
    WHERE rank <= 10
), per_user AS (
    SELECT user_id, sum(rank * relevance) / sum(relevance) AS value FROM hits GROUP BY user_id
), summary AS (
    SELECT avg(value) AS value, count(value) AS n_users, stddev_samp(value) AS std FROM per_user
)
SELECT
    'relevance_position' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
