/*
metrics = ["mcc@10"]
tables = ["recommendations", "interactions", "history"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), relevant_users AS (
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), hits AS (
    SELECT user_id, count(*) AS tp
    FROM ranked
    JOIN relevant USING (user_id, item_id)
    WHERE rank <= 10
    GROUP BY user_id
), catalogue AS (
    SELECT DISTINCT item_id FROM read_parquet('history.parquet')
), others AS (
    -- one row per user with a relevant item, and item of the catalogue that is not relevant
    SELECT user_id, item_id
    FROM relevant_users
    CROSS JOIN catalogue
    WHERE (user_id, item_id) NOT IN (SELECT (user_id, item_id) FROM relevant)
), other_counts AS (
    SELECT
        user_id,
        count(*) AS n_others,
        count(CASE WHEN ranked.rank <= 10 THEN 1 END) AS n_listed
    FROM others
    LEFT JOIN ranked USING (user_id, item_id)
    GROUP BY user_id
), lengths AS (
    SELECT user_id, count(*) AS n_recommended FROM ranked WHERE rank <= 10 GROUP BY user_id
), counts AS (
    -- places that a list lacks count as items that are not relevant
    SELECT
        user_id,
        coalesce(tp, 0) AS tp,
        n_relevant - coalesce(tp, 0) AS fn,
        coalesce(n_listed, 0) + 10 - coalesce(n_recommended, 0) AS fp,
        coalesce(n_others, 0) AS n_others
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    LEFT JOIN other_counts USING (user_id)
    LEFT JOIN lengths USING (user_id)
), confusion AS (
    SELECT user_id, tp, fn, fp, greatest(n_others - fp, 0) AS tn FROM counts
), per_user AS (
    SELECT
        coalesce(
            (tp * tn - fp * fn) / sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)), 0
        ) AS mcc
    FROM confusion
), summary AS (
    SELECT avg(mcc) AS value, count(*) AS n_users, stddev_samp(mcc) AS std FROM per_user
)
SELECT
    'mcc' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
