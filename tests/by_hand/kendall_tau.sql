/*
metrics = ["kendall_tau@10"]
tables = ["recommendations", "interactions"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), judged AS (
    SELECT user_id, item_id, score, relevance
    FROM top_10
    JOIN read_parquet('interactions.parquet') USING (user_id, item_id)
), pairs AS (
    SELECT
        user_id,
        sign(one.score - other.score) AS score_order,
        sign(one.relevance - other.relevance) AS relevance_order
    FROM judged AS one
    JOIN judged AS other USING (user_id)
    WHERE one.item_id < other.item_id
), per_user AS (
    -- different grades include one above 0, so these users have a relevant item
    SELECT
        user_id,
        sum(score_order * relevance_order)
            / sqrt(sum(abs(score_order)) * sum(abs(relevance_order))) AS tau
    FROM pairs
    GROUP BY user_id
    HAVING max(abs(score_order)) > 0 AND max(abs(relevance_order)) > 0
), summary AS (
    SELECT avg(tau) AS value, count(*) AS n_users, stddev_samp(tau) AS std FROM per_user
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
