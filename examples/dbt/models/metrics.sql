WITH relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM {{ ref('held_out') }} WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        user_id, item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM {{ ref('recs') }}
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT user_id, rank, n_relevant
    FROM ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), numbers AS (
    -- one row per position
    SELECT unnest(generate_series(1, 10)) AS rank
), positions AS (
    -- one row per position, with the ideal gain up to this position
    SELECT
        rank,
        sum(1 / log2(rank + 1))
            OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS ideal_gain
    FROM numbers
), hits_values AS (
    -- one row per user with hits
    SELECT
        user_id, sum(1 / log2(hits.rank + 1)) / max(ideal_gain) AS ndcg_at_10,
        count(*) / max(n_relevant) AS recall_at_10
    FROM hits
    LEFT JOIN positions ON positions.rank = least(10, n_relevant)
    WHERE hits.rank <= 10
    GROUP BY user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT coalesce(ndcg_at_10, 0) AS ndcg_at_10, coalesce(recall_at_10, 0) AS recall_at_10
    FROM relevant_users
    LEFT JOIN hits_values USING (user_id)
), totals AS (
    -- one row: mean, number and standard deviation of the per-user values
    SELECT
        avg(ndcg_at_10) AS ndcg_at_10_value, count(*) AS n,
        stddev_samp(ndcg_at_10) AS ndcg_at_10_std, avg(recall_at_10) AS recall_at_10_value,
        stddev_samp(recall_at_10) AS recall_at_10_std
    FROM per_user
), summary_rows AS (
    -- one row per metric and cutoff
    SELECT
        1 AS position, 'ndcg' AS metric, 10 AS k, ndcg_at_10_value AS value, n AS n_users,
        ndcg_at_10_std AS std,
        ndcg_at_10_value - 1.9599639845400536 * ndcg_at_10_std / sqrt(n) AS ci_low,
        ndcg_at_10_value + 1.9599639845400536 * ndcg_at_10_std / sqrt(n) AS ci_high
    FROM totals
    UNION ALL
    SELECT
        2 AS position, 'recall' AS metric, 10 AS k, recall_at_10_value AS value, n AS n_users,
        recall_at_10_std AS std,
        recall_at_10_value - 1.9599639845400536 * recall_at_10_std / sqrt(n) AS ci_low,
        recall_at_10_value + 1.9599639845400536 * recall_at_10_std / sqrt(n) AS ci_high
    FROM totals
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT metric, k, value, n_users, std, ci_low, ci_high FROM summary_rows ORDER BY position
