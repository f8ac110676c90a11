/*
metrics = ["item_entropy@10"]
tables = ["recommendations"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), shares AS (
    -- one row per item: its share of all places
    SELECT item_id, count(*) / sum(count(*)) OVER () AS p
    FROM ranked
    WHERE rank <= 10
    GROUP BY item_id
)
SELECT
    'item_entropy' AS metric,
    10 AS k,
    -sum(p * log2(p)) AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM shares
