/*
metrics = ["fallout@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), truth AS (
    SELECT user_id, item_id, relevance FROM read_parquet('interactions.parquet')
), relevant_users AS (
    SELECT DISTINCT user_id FROM truth WHERE relevance > 0
), per_user AS (
    -- the rows of a user are the items that are judged not relevant, in the list or not
    SELECT
        user_id,
        count(CASE WHEN ranked.rank <= 10 THEN 1 END) / nullif(count(truth.item_id), 0) AS fallout
    FROM relevant_users
    LEFT JOIN (SELECT user_id, item_id FROM truth WHERE relevance <= 0) AS truth USING (user_id)
    LEFT JOIN ranked USING (user_id, item_id)
    GROUP BY user_id
), summary AS (
    SELECT
        avg(fallout) AS value,
        count(fallout) AS n_users,
        stddev_samp(fallout) AS std
    FROM per_user
)
SELECT
    'fallout' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
