/*
metrics = ["item_age@10", "item_age(statistic=within, within=30)@10"]
tables = ["recommendations", "items"]
files = { recommendations = "dated_recommendations", items = "dated_items" }
*/
WITH ages AS (
    SELECT
        lists.user_id,
        epoch(lists.timestamp - items.created_at) / 86400 AS days
    FROM (
        SELECT
            user_id,
            item_id,
            timestamp,
            row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
        FROM read_parquet('dated_recommendations.parquet')
    ) AS lists
    INNER JOIN read_parquet('dated_items.parquet') AS items USING (item_id)
    WHERE lists.rank <= 10
), per_user AS (
    SELECT
        user_id,
        avg(days) AS mean_age,
        avg(CASE WHEN days <= 30 THEN 1 ELSE 0 END) AS share_within
    FROM ages
    GROUP BY user_id
), long AS (
    SELECT 'item_age' AS metric, mean_age AS value_of_user FROM per_user
    UNION ALL
    SELECT 'item_age(statistic=within, within=30)' AS metric, share_within AS value_of_user FROM per_user
), summary AS (
    SELECT
        metric,
        avg(value_of_user) AS value,
        count(value_of_user) AS n_users,
        stddev_samp(value_of_user) AS std
    FROM long
    GROUP BY metric
)
SELECT
    metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
