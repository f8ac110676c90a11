/*
metrics = ["bpref@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), truth AS (
    SELECT
        user_id,
        count(CASE WHEN relevance > 0 THEN 1 END) AS n_relevant,
        count(CASE WHEN relevance <= 0 THEN 1 END) AS n_other
    FROM read_parquet('interactions.parquet')
    GROUP BY user_id
), judged AS (
    -- one row per judged item of a list, with the number of those above that are not relevant
    SELECT
        user_id,
        rank,
        relevance > 0 AS is_relevant,
        count(CASE WHEN relevance <= 0 THEN 1 END) OVER (PARTITION BY user_id ORDER BY rank)
            AS n_other_above
    FROM ranked
    JOIN read_parquet('interactions.parquet') AS interactions USING (user_id, item_id)
), per_user AS (
    SELECT
        truth.user_id,
        coalesce(
            sum(
                CASE
                    WHEN n_other_above = 0 THEN 1
                    ELSE 1 - least(n_other_above, n_relevant) / least(n_other, n_relevant)
                END
            ) FILTER (judged.rank <= 10) / max(n_relevant),
            0
        ) AS bpref
    FROM truth
    LEFT JOIN judged
        ON judged.user_id = truth.user_id AND judged.is_relevant
    WHERE truth.n_relevant > 0
    GROUP BY truth.user_id
), summary AS (
    SELECT avg(bpref) AS value, count(*) AS n_users, stddev_samp(bpref) AS std FROM per_user
)
SELECT
    'bpref' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
