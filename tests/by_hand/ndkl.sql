/*
metrics = ["ndkl@10"]
tables = ["recommendations", "history", "items"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), parts AS (
    -- one row per item of the history and group; groups of an item share a weight of 1
    SELECT item_id, item_group, 1 / count(*) OVER (PARTITION BY item_id) AS part
    FROM (
        SELECT DISTINCT item_id, unnest([item_group], recursive := true) AS item_group
        FROM read_parquet('items.parquet')
    )
    WHERE item_group IS NOT NULL AND item_id IN (SELECT item_id FROM read_parquet('history.parquet'))
), targets AS (
    SELECT item_group, sum(part) / sum(sum(part)) OVER () AS target FROM parts GROUP BY item_group
), depths AS (
    -- one row per list, rank of an item with a group, and group down to this rank
    SELECT
        below.user_id,
        below.rank,
        item_group,
        sum(part) / sum(sum(part)) OVER (PARTITION BY below.user_id, below.rank) AS share
    FROM ranked AS below
    JOIN ranked AS above ON above.user_id = below.user_id AND above.rank <= below.rank
    JOIN parts ON parts.item_id = above.item_id
    WHERE below.rank <= 10 AND below.item_id IN (SELECT item_id FROM parts)
    GROUP BY below.user_id, below.rank, item_group
), divergences AS (
    SELECT user_id, rank, sum(share * ln(share / target)) AS divergence
    FROM depths
    JOIN targets USING (item_group)
    GROUP BY user_id, rank
), per_user AS (
    SELECT user_id, sum(divergence / log2(rank + 1)) / sum(1 / log2(rank + 1)) AS value_of_user
    FROM divergences
    GROUP BY user_id
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'ndkl' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
