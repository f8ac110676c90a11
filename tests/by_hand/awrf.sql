/*
metrics = ["awrf@10"]
tables = ["recommendations", "history", "items"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), parts AS (
    -- one row per item of the history and group; groups of an item share a weight of 1
    SELECT item_id, item_group, 1 / count(*) OVER (PARTITION BY item_id) AS part
    FROM (
        SELECT DISTINCT item_id, unnest([item_group], recursive := true) AS item_group
        FROM read_parquet('items.parquet')
    )
    WHERE item_group IS NOT NULL AND item_id IN (SELECT item_id FROM read_parquet('history.parquet'))
), targets AS (
    SELECT item_group, sum(part) / sum(sum(part)) OVER () AS target FROM parts GROUP BY item_group
), listed AS (
    -- one row per list and group in it, with the share of the attention
    SELECT
        user_id,
        item_group,
        sum(part * 0.5 ** (rank - 1)) / sum(sum(part * 0.5 ** (rank - 1))) OVER (PARTITION BY user_id)
            AS attention
    FROM ranked
    JOIN parts USING (item_id)
    WHERE rank <= 10
    GROUP BY user_id, item_group
), per_user AS (
    -- one row per list: half the differences, those of groups that are not in the list included
    SELECT user_id, (sum(abs(attention - target)) + 1 - sum(target)) / 2 AS value_of_user
    FROM listed
    JOIN targets USING (item_group)
    GROUP BY user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'awrf' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
