/*
metrics = ["recall_at_precision@10"]
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
    -- the recall of the ranks where half of the items or more are relevant
    SELECT
        user_id,
        coalesce(max(CASE WHEN 2 * hit_number >= rank THEN hit_number END) / max(n_relevant), 0)
            AS value
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(value) AS value, count(value) AS n_users, stddev_samp(value) AS std FROM per_user
)
SELECT
    'recall_at_precision' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
