/*
metrics = ["group_popularity_lift@10"]
tables = ["recommendations", "history"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), seen AS (
    SELECT DISTINCT user_id, item_id FROM read_parquet('history.parquet')
), item_popularity AS (
    SELECT item_id, count(*) AS n_users FROM seen GROUP BY item_id
), profiles AS (
    SELECT user_id, avg(n_users) AS usual
    FROM seen
    JOIN item_popularity USING (item_id)
    GROUP BY user_id
), per_user AS (
    -- one row per user with a list and a history
    SELECT user_id, avg(coalesce(n_users, 0)) AS listed, any_value(usual) AS usual
    FROM ranked
    JOIN profiles USING (user_id)
    LEFT JOIN item_popularity USING (item_id)
    WHERE rank <= 10
    GROUP BY user_id
)
SELECT
    'group_popularity_lift' AS metric,
    10 AS k,
    avg(listed) / avg(usual) - 1 AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM per_user
