/*
metrics = ["intra_list_diversity@10"]
tables = ["recommendations", "items"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), listed AS (
    SELECT
        user_id,
        item_id,
        CAST(features AS DOUBLE[]) AS vector,
        sqrt(list_inner_product(vector, vector)) AS norm
    FROM top_10
    JOIN read_parquet('items.parquet') USING (item_id)
), pairs AS (
    SELECT
        user_id,
        list_inner_product(one.vector, other.vector) / nullif(one.norm * other.norm, 0) AS cosine
    FROM listed AS one
    JOIN listed AS other USING (user_id)
    WHERE one.item_id < other.item_id
), per_user AS (
    -- a vector of zeros has distance 1 from every other
    SELECT user_id, avg(1 - coalesce(cosine, 0)) AS diversity FROM pairs GROUP BY user_id
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
