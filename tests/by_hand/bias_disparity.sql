/*
metrics = ["bias_disparity@10"]
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
), known AS (
    -- one row per group in the history of the users with a list
    SELECT item_group, sum(part) / sum(sum(part)) OVER () AS share
    FROM (SELECT DISTINCT user_id, item_id FROM read_parquet('history.parquet'))
    JOIN parts USING (item_id)
    WHERE user_id IN (SELECT user_id FROM ranked)
    GROUP BY item_group
), listed AS (
    SELECT item_group, sum(part) / sum(sum(part)) OVER () AS share
    FROM ranked
    JOIN parts USING (item_id)
    WHERE rank <= 10
    GROUP BY item_group
)
SELECT
    'bias_disparity' AS metric,
    10 AS k,
    avg(abs(coalesce(listed.share, 0) / known.share - 1)) AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM known
LEFT JOIN listed USING (item_group)
