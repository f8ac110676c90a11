/*
metrics = ["iaa@10"]
tables = ["recommendations", "interactions", "history"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), catalogue AS (
    SELECT DISTINCT item_id FROM read_parquet('history.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), attention AS (
    SELECT item_id, sum(1 / log2(rank + 1)) / sum(sum(1 / log2(rank + 1))) OVER () AS share
    FROM ranked
    WHERE rank <= 10
        AND item_id IN (FROM catalogue)
        AND user_id IN (SELECT user_id FROM relevant)
    GROUP BY item_id
), wanted AS (
    SELECT item_id, count(*) / sum(count(*)) OVER () AS share
    FROM relevant
    WHERE item_id IN (FROM catalogue)
    GROUP BY item_id
)
SELECT
    'iaa' AS metric,
    10 AS k,
    sum(abs(coalesce(attention.share, 0) - coalesce(wanted.share, 0))) AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM attention
FULL JOIN wanted USING (item_id)
