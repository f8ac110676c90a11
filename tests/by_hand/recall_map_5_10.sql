/*
metrics = ["recall@5", "recall@10", "map@5", "map@10"]
tables = ["recommendations", "interactions"]
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
    SELECT user_id, rank, row_number() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number
    FROM ranked
    JOIN relevant USING (user_id, item_id)
), per_user AS (
    SELECT
        user_id,
        count(CASE WHEN rank <= 5 THEN 1 END) / max(n_relevant) AS recall_5,
        count(CASE WHEN rank <= 10 THEN 1 END) / max(n_relevant) AS recall_10,
        coalesce(sum(CASE WHEN rank <= 5 THEN hit_number / rank END), 0)
            / least(5, max(n_relevant)) AS map_5,
        coalesce(sum(CASE WHEN rank <= 10 THEN hit_number / rank END), 0)
            / least(10, max(n_relevant)) AS map_10
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT
        count(*) AS n_users,
        avg(recall_5) AS recall_5,
        stddev_samp(recall_5) AS recall_5_std,
        avg(recall_10) AS recall_10,
        stddev_samp(recall_10) AS recall_10_std,
        avg(map_5) AS map_5,
        stddev_samp(map_5) AS map_5_std,
        avg(map_10) AS map_10,
        stddev_samp(map_10) AS map_10_std
    FROM per_user
)
SELECT
    'recall' AS metric,
    5 AS k,
    recall_5 AS value,
    n_users,
    recall_5_std AS std,
    recall_5 - 1.959963984540054 * recall_5_std / sqrt(n_users) AS ci_low,
    recall_5 + 1.959963984540054 * recall_5_std / sqrt(n_users) AS ci_high
FROM summary
UNION ALL
SELECT
    'recall' AS metric,
    10 AS k,
    recall_10 AS value,
    n_users,
    recall_10_std AS std,
    recall_10 - 1.959963984540054 * recall_10_std / sqrt(n_users) AS ci_low,
    recall_10 + 1.959963984540054 * recall_10_std / sqrt(n_users) AS ci_high
FROM summary
UNION ALL
SELECT
    'map' AS metric,
    5 AS k,
    map_5 AS value,
    n_users,
    map_5_std AS std,
    map_5 - 1.959963984540054 * map_5_std / sqrt(n_users) AS ci_low,
    map_5 + 1.959963984540054 * map_5_std / sqrt(n_users) AS ci_high
FROM summary
UNION ALL
SELECT
    'map' AS metric,
    10 AS k,
    map_10 AS value,
    n_users,
    map_10_std AS std,
    map_10 - 1.959963984540054 * map_10_std / sqrt(n_users) AS ci_low,
    map_10 + 1.959963984540054 * map_10_std / sqrt(n_users) AS ci_high
FROM summary
