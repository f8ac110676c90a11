WITH recommendations AS (
    -- one row per row of the table recommendations, with canonical column names
    SELECT 'als' AS model, user_id, item_id, score
    FROM shop.als
    UNION ALL
    SELECT 'popular' AS model, user_id, item_id, score
    FROM shop.popular
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM shop.interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, count(*) AS n_relevant FROM relevant GROUP BY user_id
), models AS (
    -- one row per model
    SELECT model FROM recommendations GROUP BY model
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        model, user_id, item_id, score,
        row_number() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), tied AS (
    -- one row per recommended item, with the number of items with its score
    SELECT
        model, user_id, item_id, rank, score,
        count(*) OVER (PARTITION BY model, user_id, score) AS n_tied
    FROM ranked
), hits AS (
    -- one row per hit and rank that it can have
    SELECT model, user_id, places.rank, 1 / tied.n_tied AS rank_share, n_relevant
    FROM tied
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN tied AS places USING (model, user_id, score)
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
        model, user_id,
        least(sum(rank_share / log2(hits.rank + 1)) / max(ideal_gain), 1)
            AS ndcg_ties_average_at_10,
        least(sum(rank_share) / max(n_relevant), 1) AS recall_ties_average_at_10
    FROM hits
    LEFT JOIN positions ON positions.rank = least(10, n_relevant)
    WHERE hits.rank <= 10
    GROUP BY model, user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        model, coalesce(ndcg_ties_average_at_10, 0) AS ndcg_ties_average_at_10,
        coalesce(recall_ties_average_at_10, 0) AS recall_ties_average_at_10
    FROM relevant_users
    CROSS JOIN models
    LEFT JOIN hits_values USING (model, user_id)
), totals AS (
    -- one row per model: mean, number and standard deviation of the per-user values
    SELECT
        model, avg(ndcg_ties_average_at_10) AS ndcg_ties_average_at_10_value, count(*) AS n,
        stddev_samp(ndcg_ties_average_at_10) AS ndcg_ties_average_at_10_std,
        avg(recall_ties_average_at_10) AS recall_ties_average_at_10_value,
        stddev_samp(recall_ties_average_at_10) AS recall_ties_average_at_10_std
    FROM per_user
    GROUP BY model
), summary_rows AS (
    -- one row per metric and cutoff of each model
    SELECT
        model, 1 AS position, 'ndcg(ties=average)' AS metric, 10 AS k,
        ndcg_ties_average_at_10_value AS value, n AS n_users, ndcg_ties_average_at_10_std AS std,
        ndcg_ties_average_at_10_value - 1.9599639845400536 * ndcg_ties_average_at_10_std / sqrt(n)
            AS ci_low,
        ndcg_ties_average_at_10_value + 1.9599639845400536 * ndcg_ties_average_at_10_std / sqrt(n)
            AS ci_high
    FROM totals
    UNION ALL
    SELECT
        model, 2 AS position, 'recall(ties=average)' AS metric, 10 AS k,
        recall_ties_average_at_10_value AS value, n AS n_users,
        recall_ties_average_at_10_std AS std,
        recall_ties_average_at_10_value
            - 1.9599639845400536 * recall_ties_average_at_10_std / sqrt(n) AS ci_low,
        recall_ties_average_at_10_value
            + 1.9599639845400536 * recall_ties_average_at_10_std / sqrt(n) AS ci_high
    FROM totals
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT model, metric, k, value, n_users, std, ci_low, ci_high
FROM summary_rows
ORDER BY model, position;
