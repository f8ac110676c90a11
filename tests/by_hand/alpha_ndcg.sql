/*
metrics = ["alpha_ndcg@10"]
tables = ["recommendations", "interactions", "aspects"]
*/
WITH RECURSIVE top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), hit_aspects AS (
    SELECT
        user_id,
        rank,
        row_number() OVER (PARTITION BY user_id, aspect ORDER BY rank) - 1 AS hits_above
    FROM top_10
    JOIN relevant USING (user_id, item_id)
    JOIN read_parquet('aspects.parquet') USING (item_id)
), lists AS (
    SELECT user_id, sum(power(0.5, hits_above) / log2(rank + 1)) AS dcg
    FROM hit_aspects
    GROUP BY user_id
), candidates AS (
    SELECT user_id, item_id, list(aspect) AS aspects
    FROM relevant
    JOIN read_parquet('aspects.parquet') USING (item_id)
    GROUP BY user_id, item_id
), ideal AS (
    -- greedy order: the candidate with the largest gain, of equal ones the smaller id
    SELECT DISTINCT
        user_id,
        0 AS rank,
        CAST([] AS BIGINT[]) AS items,
        CAST([] AS VARCHAR[]) AS seen_aspects,
        CAST(0 AS DOUBLE) AS gain
    FROM candidates
    UNION ALL
    SELECT
        user_id,
        rank + 1,
        list_append(items, item_id),
        list_concat(seen_aspects, aspects),
        list_sum([power(0.5, len([s for s in seen_aspects if s = a])) for a in aspects])
            AS next_gain
    FROM ideal
    JOIN candidates USING (user_id)
    WHERE rank < 10 AND NOT list_contains(items, item_id)
    QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY next_gain DESC, item_id) = 1
), ideal_lists AS (
    SELECT user_id, sum(gain / log2(rank + 1)) AS dcg FROM ideal WHERE rank > 0 GROUP BY user_id
), per_user AS (
    SELECT user_id, coalesce(lists.dcg, 0) / ideal_lists.dcg AS alpha_ndcg
    FROM ideal_lists
    LEFT JOIN lists USING (user_id)
), summary AS (
    SELECT avg(alpha_ndcg) AS value, count(*) AS n_users, stddev_samp(alpha_ndcg) AS std
    FROM per_user
)
SELECT
    'alpha_ndcg' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
