/*
metrics = ["money_precision@10"]
tables = ["recommendations", "interactions", "items"]
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
    SELECT DISTINCT user_id FROM relevant
), lists AS (
    SELECT
        user_id,
        sum(price) AS price,
        sum(CASE WHEN relevant.item_id IS NOT NULL THEN price ELSE 0 END) AS price_of_hits
    FROM ranked
    JOIN read_parquet('items.parquet') USING (item_id)
    LEFT JOIN relevant USING (user_id, item_id)
    WHERE rank <= 10
    GROUP BY user_id
), per_user AS (
    -- 0 without a list, NULL for a list that is worth nothing
    SELECT
        user_id,
        CASE WHEN lists.user_id IS NULL THEN 0 ELSE price_of_hits / nullif(price, 0) END
            AS money_precision
    FROM relevant_users
    LEFT JOIN lists USING (user_id)
), summary AS (
    SELECT
        avg(money_precision) AS value,
        count(money_precision) AS n_users,
        stddev_samp(money_precision) AS std
    FROM per_user
)
SELECT
    'money_precision' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
