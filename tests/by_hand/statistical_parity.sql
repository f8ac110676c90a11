/*
metrics = ["statistical_parity@10"]
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
), listed AS (
    SELECT DISTINCT user_id FROM ranked
), unseen AS (
    -- one row per group, with the pairs of a user with a list and an item not in the history
    SELECT item_group, sum(part) AS n_unseen
    FROM listed
    CROSS JOIN parts
    ANTI JOIN read_parquet('history.parquet') AS seen USING (user_id, item_id)
    GROUP BY item_group
), given AS (
    SELECT item_group, sum(part) AS n_listed
    FROM ranked
    JOIN parts USING (item_id)
    WHERE rank <= 10
    GROUP BY item_group
), groups AS (
    -- one row per group, with the share of these pairs that are recommended
    SELECT coalesce(n_listed, 0) / n_unseen AS of_group
    FROM unseen
    LEFT JOIN given USING (item_group)
)
SELECT
    'statistical_parity' AS metric,
    10 AS k,
    CASE WHEN count(*) > 1 THEN stddev_pop(of_group) / avg(of_group) END AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM groups
