/*
metrics = ["pairwise_parity@10"]
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
    SELECT user_id, item_id, rank
    FROM ranked
    WHERE rank <= 10 AND item_id IN (SELECT item_id FROM parts)
), sides AS (
    -- one row per pair of items of a list and group of either, with the parts of both in the group
    SELECT
        part.item_group,
        sum(part.part) FILTER (part.item_id = high.item_id) AS of_high,
        sum(part.part) FILTER (part.item_id = low.item_id) AS of_low
    FROM listed AS high
    JOIN listed AS low ON high.user_id = low.user_id AND high.rank < low.rank
    JOIN parts AS part ON part.item_id IN (high.item_id, low.item_id)
    GROUP BY high.user_id, high.item_id, low.item_id, part.item_group
), groups AS (
    -- one row per group, with the share of the pairs with other groups in which it is above
    SELECT
        sum(coalesce(of_high, 0) * (1 - coalesce(of_low, 0))) AS n_above,
        sum(coalesce(of_low, 0) * (1 - coalesce(of_high, 0))) AS n_below
    FROM sides
    GROUP BY item_group
)
SELECT
    'pairwise_parity' AS metric,
    10 AS k,
    CASE
        WHEN count(*) > 1
            THEN max(n_above / (n_above + n_below)) - min(n_above / (n_above + n_below))
    END AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM groups
WHERE n_above + n_below > 0
