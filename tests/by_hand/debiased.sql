/*
metrics = ["debiased(of=precision)@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), popularity AS (
    SELECT item_id, count(*) AS n_users FROM relevant GROUP BY item_id
), border AS (
    SELECT
        floor(
            quantile_cont(n_users, 0.75)
            + 1.5 * (quantile_cont(n_users, 0.75) - quantile_cont(n_users, 0.25))
        ) AS border
    FROM popularity
), kept AS (
    -- one row per relevant item of a user, with the probability that it is kept
    SELECT user_id, item_id, least((SELECT border FROM border) / n_users, 1) AS kept
    FROM relevant
    JOIN popularity USING (item_id)
)
SELECT
    'debiased(of=precision)' AS metric,
    10 AS k,
    (SELECT sum(kept) / 10 FROM ranked JOIN kept USING (user_id, item_id) WHERE rank <= 10)
    / (
        SELECT sum(left_over)
        FROM (SELECT 1 - product(1 - kept) AS left_over FROM kept GROUP BY user_id)
    ) AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
