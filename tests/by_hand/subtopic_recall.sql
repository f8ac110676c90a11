/*
metrics = ["subtopic_recall@10"]
tables = ["recommendations", "interactions", "aspects"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), relevant_aspects AS (
    SELECT DISTINCT user_id, item_id, aspect
    FROM relevant
    JOIN read_parquet('aspects.parquet') USING (item_id)
), wanted AS (
    SELECT user_id, count(DISTINCT aspect) AS n_aspects FROM relevant_aspects GROUP BY user_id
), hits AS (
    -- one row per hit and aspect
    SELECT
        user_id,
        aspect,
        rank,
        row_number() OVER (PARTITION BY user_id, aspect ORDER BY rank) - 1 AS n_above
    FROM ranked
    JOIN relevant_aspects USING (user_id, item_id)
    WHERE rank <= 10
), per_user AS (
    SELECT user_id, count(DISTINCT aspect) / any_value(n_aspects) AS value_of_user
    FROM wanted
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'subtopic_recall' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
