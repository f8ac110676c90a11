/*
metrics = ["inter_list_diversity@10"]
tables = ["recommendations"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), listed AS (
    -- one row per item of a list in its top 10, with the length of the list
    SELECT user_id, item_id, count(*) OVER (PARTITION BY user_id) AS length
    FROM ranked
    WHERE rank <= 10
), pairs AS (
    -- one row per pair of lists with a common item; all other pairs have a cosine of 0
    SELECT
        one.user_id AS user_id,
        other.user_id AS other_user_id,
        count(*) / sqrt(max(one.length) * max(other.length)) AS cosine
    FROM listed AS one
    JOIN listed AS other USING (item_id)
    WHERE one.user_id < other.user_id
    GROUP BY one.user_id, other.user_id
), summary AS (
    SELECT count(DISTINCT user_id) AS n_lists FROM listed
)
SELECT
    'inter_list_diversity' AS metric,
    10 AS k,
    1 - (SELECT coalesce(sum(cosine), 0) FROM pairs) / nullif(n_lists * (n_lists - 1) / 2, 0)
        AS value,
    CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std,
    CAST(NULL AS DOUBLE) AS ci_low,
    CAST(NULL AS DOUBLE) AS ci_high
FROM summary
