/*
metrics = ["attribute_shift@10"]
tables = ["recommendations", "history", "items"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), item_categories AS (
    -- one row per item and category, which share a weight of 1
    SELECT item_id, category, 1 / count(*) OVER (PARTITION BY item_id) AS share
    FROM (
        SELECT DISTINCT item_id, unnest(category) AS category FROM read_parquet('items.parquet')
    )
    WHERE category IS NOT NULL
), listed AS (
    SELECT category, sum(share) AS weight
    FROM ranked
    JOIN item_categories USING (item_id)
    WHERE rank <= 10
    GROUP BY category
), known AS (
    SELECT category, sum(share) AS weight
    FROM (SELECT DISTINCT user_id, item_id FROM read_parquet('history.parquet')) AS seen
    JOIN item_categories USING (item_id)
    WHERE user_id IN (SELECT user_id FROM ranked)
    GROUP BY category
)
SELECT
    'attribute_shift' AS metric,
    10 AS k,
    sum(abs(
        coalesce(listed.weight / (SELECT sum(weight) FROM listed), 0)
        - coalesce(known.weight / (SELECT sum(weight) FROM known), 0)
    )) / 2 AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM listed
FULL JOIN known USING (category)
