/*
metrics = ["intra_list_diversity@10"]
tables = ["recommendations", "items"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), components AS (
    -- one row per component of the vector of an item
    SELECT item_id, place, CAST(feature AS DOUBLE) AS feature
    FROM read_parquet('items.parquet')
    CROSS JOIN unnest(features) WITH ORDINALITY AS unnested (feature, place)
), norms AS (
    SELECT item_id, sqrt(sum(feature * feature)) AS norm FROM components GROUP BY item_id
), listed AS (
    -- one row per item of a list in its top 10 and component, of a vector of length 1 or NULLs
    SELECT user_id, item_id, place, feature / nullif(norm, 0) AS feature
    FROM ranked
    JOIN components USING (item_id)
    JOIN norms USING (item_id)
    WHERE rank <= 10
), pairs AS (
    -- one row per pair of items of a list; a vector of zeros has distance 1 from every other
    SELECT user_id, 1 - coalesce(sum(one.feature * other.feature), 0) AS distance
    FROM listed AS one
    JOIN listed AS other USING (user_id, place)
    WHERE one.item_id < other.item_id
    GROUP BY user_id, one.item_id, other.item_id
), per_user AS (
    SELECT user_id, avg(distance) AS diversity FROM pairs GROUP BY user_id
), summary AS (
    SELECT avg(diversity) AS value, count(*) AS n_users, stddev_samp(diversity) AS std FROM per_user
)
SELECT
    'intra_list_diversity' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
