/*
metrics = ["judged@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), judged AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet')
), shares AS (
    -- one row per list: how much of its top 10 is judged
    SELECT
        ranked.user_id,
        count(CASE WHEN judged.item_id IS NOT NULL THEN 1 END) / count(*) AS judged
    FROM ranked
    LEFT JOIN judged ON judged.user_id = ranked.user_id AND judged.item_id = ranked.item_id
    WHERE ranked.rank <= 10
    GROUP BY ranked.user_id
), per_user AS (
    SELECT users.user_id, coalesce(judged, 0) AS judged
    FROM (SELECT DISTINCT user_id FROM judged) AS users
    LEFT JOIN shares ON shares.user_id = users.user_id
), summary AS (
    SELECT avg(judged) AS value, count(*) AS n_users, stddev_samp(judged) AS std FROM per_user
)
SELECT
    'judged' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
