/*
metrics = ["interpolated_precision@10"]
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
        rank,
        row_number() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number,
        n_relevant
    FROM ranked
    JOIN relevant USING (user_id, item_id)
    JOIN relevant_users USING (user_id)
    WHERE rank <= 10
), per_user AS (
    -- half of the relevant items are found
    SELECT user_id, coalesce(max(hit_number / rank), 0) AS interpolated_precision
    FROM relevant_users
    LEFT JOIN (SELECT user_id, hit_number, rank FROM hits WHERE 2 * hit_number >= n_relevant)
        USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT
        avg(interpolated_precision) AS value,
        count(*) AS n_users,
        stddev_samp(interpolated_precision) AS std
    FROM per_user
)
SELECT
    'interpolated_precision' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
