/*
metrics = ["pearson@10"]
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
), judged AS (
    -- one row per judged item in the top 10
    SELECT user_id, rank, score, relevance
    FROM ranked
    JOIN read_parquet('interactions.parquet') AS interactions USING (user_id, item_id)
    WHERE rank <= 10
), per_user AS (
    SELECT user_id, CASE WHEN min(score) < max(score) AND min(relevance) < max(relevance) THEN corr(score, relevance) END AS value
    FROM judged
    JOIN relevant_users USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(value) AS value, count(value) AS n_users, stddev_samp(value) AS std FROM per_user
)
SELECT
    'pearson' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
