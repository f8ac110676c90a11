/*
metrics = ["roc_auc@10"]
tables = ["recommendations", "interactions"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank,
        least(10, count(*) OVER (PARTITION BY user_id)) AS length
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), found AS (
    SELECT
        user_id,
        rank,
        length,
        count(rank) OVER (PARTITION BY user_id ORDER BY rank) AS hits_so_far
    FROM relevant
    LEFT JOIN top_10 USING (user_id, item_id)
), per_user AS (
    -- of the pairs of a hit and a miss, those where the miss stands above count against the list
    SELECT
        user_id,
        CASE
            WHEN count(rank) = 0 THEN 0
            WHEN count(rank) = max(length) THEN 1
            ELSE 1 - sum(rank - hits_so_far) / (count(rank) * (max(length) - count(rank)))
        END AS roc_auc
    FROM found
    GROUP BY user_id
), summary AS (
    SELECT avg(roc_auc) AS value, count(*) AS n_users, stddev_samp(roc_auc) AS std FROM per_user
)
SELECT
    'roc_auc' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
