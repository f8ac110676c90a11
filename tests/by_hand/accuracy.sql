/*
metrics = ["accuracy@10"]
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
), confusion AS (
    SELECT
        user_id,
        coalesce(tp, 0) AS tp,
        10 - coalesce(tp, 0) AS fp,
        n_relevant - coalesce(tp, 0) AS fn,
        greatest(
            (SELECT count(DISTINCT item_id) FROM read_parquet('history.parquet'))
            - 10 - n_relevant + coalesce(tp, 0),
            0
        ) AS tn
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
), per_user AS (
    SELECT
        (tp + tn) / (tp + fp + fn + tn) AS accuracy
    FROM confusion
), summary AS (
    SELECT avg(accuracy) AS value, count(*) AS n_users, stddev_samp(accuracy) AS std FROM per_user
)
SELECT
    'accuracy' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
