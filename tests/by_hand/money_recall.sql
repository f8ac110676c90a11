/*
metrics = ["money_recall@10"]
tables = ["recommendations", "interactions", "items"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id, price
    FROM read_parquet('interactions.parquet') AS interactions
    JOIN read_parquet('items.parquet') AS items USING (item_id)
    WHERE relevance > 0
), relevant_users AS (
    SELECT user_id, sum(price) AS price_of_relevant FROM relevant GROUP BY user_id
), hits AS (
    SELECT user_id, rank, price FROM ranked JOIN relevant USING (user_id, item_id)
), per_user AS (
    -- NULL for relevant items that are worth nothing
    SELECT
        user_id,
        coalesce(sum(CASE WHEN rank <= 10 THEN price END), 0)
            / nullif(max(price_of_relevant), 0) AS money_recall
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT
        avg(money_recall) AS value,
        count(money_recall) AS n_users,
        stddev_samp(money_recall) AS std
    FROM per_user
)
SELECT
    'money_recall' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
