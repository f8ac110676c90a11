/*
metrics = ["lrap@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), relevant_users AS (
    SELECT DISTINCT user_id FROM relevant
), placed AS (
    -- without ROWS, the window of a row ends with the last row of the same score
    SELECT
        ranked.user_id,
        relevant.item_id AS hit,
        count(*) OVER (PARTITION BY ranked.user_id ORDER BY score DESC) AS depth,
        count(relevant.item_id) OVER (PARTITION BY ranked.user_id ORDER BY score DESC) AS n_hits
    FROM ranked
    LEFT JOIN relevant ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
    WHERE ranked.rank <= 10
), hits AS (
    SELECT user_id, avg(n_hits / depth) AS lrap
    FROM placed
    WHERE hit IS NOT NULL
    GROUP BY user_id
), per_user AS (
    SELECT coalesce(lrap, 0) AS lrap
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
), summary AS (
    SELECT
        avg(lrap) AS value,
        count(lrap) AS n_users,
        stddev_samp(lrap) AS std
    FROM per_user
)
SELECT
    'lrap' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
