/*
metrics = ["kendall_tau@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant_users AS (
    SELECT DISTINCT user_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), judged AS (
    SELECT user_id, item_id, score, relevance
    FROM ranked
    JOIN read_parquet('interactions.parquet') USING (user_id, item_id)
    WHERE rank <= 10
), pairs AS (
    -- one row per pair of judged items of a list; an order of 0 is a tie
    SELECT
        user_id,
        sign(one.score - other.score) AS score_order,
        sign(one.relevance - other.relevance) AS relevance_order
    FROM judged AS one
    JOIN judged AS other USING (user_id)
    WHERE one.item_id < other.item_id
), per_user AS (
    SELECT
        user_id,
        sum(score_order * relevance_order)
            / nullif(sqrt(sum(abs(score_order)) * sum(abs(relevance_order))), 0) AS tau
    FROM relevant_users
    JOIN pairs USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(tau) AS value, count(tau) AS n_users, stddev_samp(tau) AS std FROM per_user
)
SELECT
    'kendall_tau' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
