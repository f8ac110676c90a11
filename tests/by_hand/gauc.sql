/*
metrics = ["gauc@10"]
tables = ["recommendations", "interactions", "history"]
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
), catalogue AS (
    SELECT DISTINCT item_id FROM read_parquet('history.parquet')
), others AS (
    -- one row per user with a relevant item, and item that is neither relevant nor in the history
    SELECT user_id, item_id
    FROM relevant_users
    CROSS JOIN catalogue
    WHERE
        (user_id, item_id) NOT IN (SELECT (user_id, item_id) FROM relevant)
        AND (user_id, item_id) NOT IN (
            SELECT (user_id, item_id) FROM read_parquet('history.parquet')
        )
), hits AS (
    -- one row per hit in the top 10, with the number of others above it
    SELECT
        ranked.user_id,
        (
            SELECT count(*)
            FROM ranked AS above
            JOIN others USING (user_id, item_id)
            WHERE above.user_id = ranked.user_id AND above.rank < ranked.rank
        ) AS n_above
    FROM ranked
    JOIN relevant USING (user_id, item_id)
    WHERE ranked.rank <= 10
), sizes AS (
    SELECT user_id, count(*) AS n_others FROM others GROUP BY user_id
), per_user AS (
    SELECT
        user_id,
        coalesce(sum(n_others - n_above), 0) / max(n_others * n_relevant) AS value
    FROM relevant_users
    JOIN sizes USING (user_id)
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(value) AS value, count(value) AS n_users, stddev_samp(value) AS std FROM per_user
)
SELECT
    'gauc' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
