/*
metrics = ["exposure_parity@10"]
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
), sizes AS (
    SELECT item_group, sum(part) AS size FROM parts GROUP BY item_group
), given AS (
    SELECT item_group, sum(part / log2(rank + 1)) AS exposure
    FROM ranked
    JOIN parts USING (item_id)
    WHERE rank <= 10
    GROUP BY item_group
), groups AS (
    -- one row per group, with its exposure per item
    SELECT coalesce(exposure, 0) / size AS of_group
    FROM sizes
    LEFT JOIN given USING (item_group)
)
SELECT
    'exposure_parity' AS metric,
    10 AS k,
    CASE WHEN count(*) > 1 THEN min(of_group) / max(of_group) END AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM groups
