/*
metrics = ["inf_ap@10"]
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
    SELECT user_id, item_id, relevance FROM read_parquet('interactions.parquet') WHERE relevance > 0
), relevant_users AS (
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), pool AS (
    -- one row per judged item of a list, with the numbers of judged items above
    SELECT
        user_id,
        rank,
        relevance,
        count(*) OVER above AS n_above,
        count(CASE WHEN relevance > 0 THEN 1 END) OVER above AS n_good,
        count(CASE WHEN relevance <= 0 THEN 1 END) OVER above AS n_bad
    FROM ranked
    JOIN read_parquet('interactions.parquet') AS interactions USING (user_id, item_id)
    WINDOW above AS (
        PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
), per_user AS (
    SELECT
        user_id,
        coalesce(
            sum((1 + n_above * (n_good + 0.00001) / (n_good + n_bad + 0.00002)) / rank)
                / max(n_relevant),
            0
        ) AS value
    FROM relevant_users
    LEFT JOIN (SELECT * FROM pool WHERE relevance > 0 AND rank <= 10) AS hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(value) AS value, count(value) AS n_users, stddev_samp(value) AS std FROM per_user
)
SELECT
    'inf_ap' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
