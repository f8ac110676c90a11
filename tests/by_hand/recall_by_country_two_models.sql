/*
metrics = ["recall@10"]
tables = ["interactions", "users"]
models = ["als", "popular"]
by = "country"
*/
WITH recommendations AS (
    SELECT 'als' AS model, user_id, item_id, score FROM read_parquet('recommendations_als.parquet')
    UNION ALL
    SELECT 'popular', user_id, item_id, score FROM read_parquet('recommendations_popular.parquet')
), ranked AS (
    SELECT
        model,
        user_id,
        item_id,
        row_number() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), relevant_users AS (
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), models AS (
    SELECT DISTINCT model FROM recommendations
), hits AS (
    SELECT model, user_id, rank FROM ranked JOIN relevant USING (user_id, item_id)
), per_user AS (
    SELECT model, user_id, count(CASE WHEN rank <= 10 THEN 1 END) / max(n_relevant) AS recall
    FROM relevant_users
    CROSS JOIN models
    LEFT JOIN hits USING (model, user_id)
    GROUP BY model, user_id
), summary AS (
    SELECT
        model,
        coalesce(country, '(none)') AS country,
        avg(recall) AS value,
        count(*) AS n_users,
        stddev_samp(recall) AS std
    FROM per_user
    LEFT JOIN read_parquet('users.parquet') USING (user_id)
    GROUP BY model, coalesce(country, '(none)')
)
SELECT
    model,
    country,
    'recall' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
