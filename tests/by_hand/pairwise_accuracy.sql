/*
metrics = ["pairwise_accuracy@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), judged AS (
    SELECT user_id, score, relevance, rank
    FROM ranked
    JOIN read_parquet('interactions.parquet') AS interactions USING (user_id, item_id)
    WHERE rank <= 10
), pairs AS (
    SELECT
        upper_item.user_id,
        count(
            CASE
                WHEN
                    upper_item.relevance > lower_item.relevance
                    AND upper_item.score > lower_item.score
                    THEN 1
            END
        ) AS n_ordered,
        count(*) AS n_pairs
    FROM judged AS upper_item
    JOIN judged AS lower_item
        ON upper_item.user_id = lower_item.user_id
        AND upper_item.rank < lower_item.rank
        AND upper_item.relevance <> lower_item.relevance
    GROUP BY upper_item.user_id
), per_user AS (
    SELECT user_id, n_ordered / n_pairs AS pairwise_accuracy
    FROM pairs
    WHERE
        user_id IN (SELECT user_id FROM read_parquet('interactions.parquet') WHERE relevance > 0)
), summary AS (
    SELECT
        avg(pairwise_accuracy) AS value,
        count(*) AS n_users,
        stddev_samp(pairwise_accuracy) AS std
    FROM per_user
)
SELECT
    'pairwise_accuracy' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
