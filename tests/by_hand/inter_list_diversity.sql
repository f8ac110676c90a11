/*
metrics = ["inter_list_diversity@10"]
tables = ["recommendations"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), lists AS (
    SELECT user_id, list(item_id) AS items FROM top_10 GROUP BY user_id
)
SELECT
    'inter_list_diversity' AS metric,
    10 AS k,
    avg(1 - len(list_intersect(one.items, other.items)) / sqrt(len(one.items) * len(other.items)))
        AS value,
    NULL AS n_users,
    NULL AS std,
    NULL AS ci_low,
    NULL AS ci_high
FROM lists AS one
JOIN lists AS other ON one.user_id < other.user_id
