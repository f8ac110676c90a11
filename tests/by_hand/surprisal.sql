/*
metrics = ["surprisal@10"]
tables = ["recommendations", "history"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), item_users AS (
    -- one row per item of the history: how many users have it
    SELECT item_id, count(DISTINCT user_id) AS n_users
    FROM read_parquet('history.parquet')
    GROUP BY item_id
), per_user AS (
    SELECT
        user_id,
        avg(
            log2(
                (SELECT count(DISTINCT user_id) FROM read_parquet('history.parquet'))
                / coalesce(n_users, 1)
            )
        ) AS surprisal
    FROM ranked
    LEFT JOIN item_users USING (item_id)
    WHERE rank <= 10
    GROUP BY user_id
), summary AS (
    SELECT avg(surprisal) AS value, count(*) AS n_users, stddev_samp(surprisal) AS std FROM per_user
)
SELECT
    'surprisal' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
