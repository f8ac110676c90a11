/*
metrics = ["serendipity@10"]
tables = ["recommendations", "interactions", "history"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), seen AS (
    SELECT DISTINCT user_id, item_id FROM read_parquet('history.parquet')
), places AS (
    SELECT item_id, dense_rank() OVER (ORDER BY count(*) DESC) AS place, count(*) OVER () AS n_items
    FROM seen
    GROUP BY item_id
), lists AS (
    SELECT user_id, least(10, count(*)) AS n_recommended FROM ranked GROUP BY user_id
), per_user AS (
    -- one row per user with a relevant item
    SELECT
        truth.user_id,
        coalesce(
            sum(greatest(coalesce(place, all_items.n_items + 1) - rank, 0))
            / any_value(all_items.n_items * n_recommended),
            0
        ) AS value_of_user
    FROM (SELECT DISTINCT user_id FROM relevant) AS truth
    CROSS JOIN (SELECT max(n_items) AS n_items FROM places) AS all_items
    LEFT JOIN lists USING (user_id)
    LEFT JOIN (SELECT * FROM ranked SEMI JOIN relevant USING (user_id, item_id) WHERE rank <= 10) AS hits
        USING (user_id)
    LEFT JOIN places USING (item_id)
    GROUP BY truth.user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'serendipity' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
