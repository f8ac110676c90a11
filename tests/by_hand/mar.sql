/*
metrics = ["mar@10"]
tables = ["recommendations", "interactions"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), found AS (
    SELECT user_id, rank, count(rank) OVER (PARTITION BY user_id ORDER BY rank) AS hits_so_far
    FROM relevant
    LEFT JOIN top_10 USING (user_id, item_id)
), per_user AS (
    SELECT
        user_id,
        coalesce(sum(hits_so_far) FILTER (WHERE rank IS NOT NULL), 0) / count(*) / 10 AS ar
    FROM found
    GROUP BY user_id
), summary AS (
    SELECT avg(ar) AS value, count(*) AS n_users, stddev_samp(ar) AS std FROM per_user
)
SELECT
    'mar' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
