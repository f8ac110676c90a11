/*
metrics = ["compat@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id, relevance FROM read_parquet('interactions.parquet') WHERE relevance > 0
), ideal AS (
    -- items of equal relevance are in the order of the list, those without a rank last
    SELECT
        user_id,
        item_id,
        rank,
        row_number() OVER (PARTITION BY user_id ORDER BY relevance DESC, rank NULLS LAST) AS ideal_rank
    FROM relevant
    LEFT JOIN ranked USING (user_id, item_id)
), sizes AS (
    SELECT user_id, count(*) AS n_relevant, any_value(n_listed) AS n_listed
    FROM ideal
    JOIN (SELECT user_id, count(*) AS n_listed FROM ranked GROUP BY user_id) AS lists USING (user_id)
    GROUP BY user_id
), shares AS (
    -- one row per user and depth, with the items that both lists have down to there
    SELECT
        sizes.user_id,
        depth,
        count(CASE WHEN greatest(rank, ideal_rank) <= depth THEN rank END) / depth AS share,
        least(depth, any_value(n_relevant)) / depth AS ideal_share
    FROM sizes
    CROSS JOIN range(1, 11) AS depths (depth)
    JOIN ideal USING (user_id)
    WHERE depth <= greatest(n_listed, n_relevant)
    GROUP BY sizes.user_id, depth
), found AS (
    SELECT
        user_id,
        sum(pow(0.95, depth - 1) * share) / sum(pow(0.95, depth - 1) * ideal_share) AS overlap
    FROM shares
    GROUP BY user_id
), per_user AS (
    SELECT user_id, coalesce(overlap, 0) AS value_of_user
    FROM (SELECT DISTINCT user_id FROM relevant) AS users
    LEFT JOIN found USING (user_id)
), summary AS (
    SELECT avg(value_of_user) AS value, count(value_of_user) AS n_users, stddev_samp(value_of_user) AS std
    FROM per_user
)
SELECT
    'compat' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
