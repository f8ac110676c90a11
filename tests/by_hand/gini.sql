/*
metrics = ["gini@10"]
tables = ["recommendations", "history"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), catalogue AS (
    SELECT DISTINCT item_id FROM read_parquet('history.parquet')
), exposures AS (
    -- one row per item of the catalogue: in how many lists it is
    SELECT catalogue.item_id, count(ranked.item_id) AS exposure
    FROM catalogue
    LEFT JOIN ranked ON catalogue.item_id = ranked.item_id AND ranked.rank <= 10
    GROUP BY catalogue.item_id
), sorted AS (
    SELECT
        exposure,
        row_number() OVER (ORDER BY exposure) AS j,
        count(*) OVER () AS n
    FROM exposures
)
SELECT
    'gini' AS metric,
    10 AS k,
    sum((2 * j - n - 1) * exposure) / (max(n) * nullif(sum(exposure), 0)) AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM sorted
