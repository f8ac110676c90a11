/*
metrics = ["expected_exposure@10"]
tables = ["recommendations", "interactions", "history", "items"]
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
), relevant AS (
    SELECT user_id, item_id, count(*) OVER (PARTITION BY user_id) AS n_relevant
    FROM read_parquet('interactions.parquet')
    WHERE relevance > 0
), given AS (
    SELECT item_group, sum(part * 0.5 ^ rank) AS exposure
    FROM ranked
    JOIN parts USING (item_id)
    WHERE rank <= 10 AND user_id IN (SELECT user_id FROM relevant)
    GROUP BY item_group
), wanted AS (
    -- relevant items share the first weights, 1/2 + 1/4 + ... = 1 - 0.5^n
    SELECT item_group, sum(part * (1 - 0.5 ^ least(n_relevant, 10)) / n_relevant) AS exposure
    FROM relevant
    JOIN parts USING (item_id)
    GROUP BY item_group
)
SELECT
    'expected_exposure' AS metric,
    10 AS k,
    sum((coalesce(given.exposure, 0) - coalesce(wanted.exposure, 0)) ^ 2)
        / (SELECT count(DISTINCT user_id) FROM relevant) ^ 2 AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM given
FULL JOIN wanted USING (item_group)
