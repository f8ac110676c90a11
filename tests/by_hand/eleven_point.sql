/*
metrics = ["eleven_point@10"]
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
), levels AS (
    SELECT unnest(generate_series(0, 10)) AS tenths
), points AS (
    SELECT user_id, tenths, max(hit_number / rank) AS precision
    FROM hits
    JOIN levels ON 10 * hit_number >= tenths * n_relevant
    GROUP BY user_id, tenths
), per_user AS (
    SELECT user_id, coalesce(sum(precision), 0) / 11 AS eleven_point
    FROM relevant_users
    LEFT JOIN points USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT
        avg(eleven_point) AS value,
        count(*) AS n_users,
        stddev_samp(eleven_point) AS std
    FROM per_user
)
SELECT
    'eleven_point' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
