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
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), models AS (
    -- one row per model
    SELECT model FROM recommendations GROUP BY model
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        model, user_id, item_id, score,
        ROW_NUMBER() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id NULLS LAST)
            AS rank
    FROM recommendations
), tied AS (
    -- one row per recommended item, with the number of items with its score
    SELECT
        model, user_id, item_id, rank, score,
        COUNT(*) OVER (PARTITION BY model, user_id, score) AS n_tied
    FROM ranked
), hits AS (
    -- one row per hit and rank that it can have
    SELECT model, user_id, places.rank, CAST(1 AS DOUBLE) / tied.n_tied AS rank_share, n_relevant
    FROM tied
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN tied AS places USING (model, user_id, score)
    INNER JOIN relevant_users USING (user_id)
), numbers AS (
    -- one row per position
    SELECT EXPLODE(SEQUENCE(1, 10)) AS rank
), positions AS (
    -- one row per position, with the ideal gain up to this position
    SELECT
        rank,
        SUM(CAST(1 AS DOUBLE) / LOG(2, rank + 1))
            OVER (ORDER BY rank NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
            AS ideal_gain
    FROM numbers
), hits_values AS (
    -- one row per user with hits
    SELECT
        model, user_id,
        LEAST(
            CAST(SUM(CAST(rank_share AS DOUBLE) / LOG(2, hits.rank + 1)) AS DOUBLE)
                / MAX(ideal_gain),
            1
        ) AS ndcg_ties_average_at_10,
        LEAST(CAST(SUM(rank_share) AS DOUBLE) / MAX(n_relevant), 1) AS recall_ties_average_at_10
    FROM hits
    LEFT JOIN positions ON positions.rank = LEAST(10, n_relevant)
    WHERE hits.rank <= 10
    GROUP BY model, user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        model, COALESCE(ndcg_ties_average_at_10, 0) AS ndcg_ties_average_at_10,
        COALESCE(recall_ties_average_at_10, 0) AS recall_ties_average_at_10
    FROM relevant_users
    CROSS JOIN models
    LEFT JOIN hits_values USING (model, user_id)
), totals AS (
    -- one row per model: mean, number and standard deviation of the per-user values
    SELECT
        model, AVG(ndcg_ties_average_at_10) AS ndcg_ties_average_at_10_value, COUNT(*) AS n,
        STDDEV_SAMP(ndcg_ties_average_at_10) AS ndcg_ties_average_at_10_std,
        AVG(recall_ties_average_at_10) AS recall_ties_average_at_10_value,
        STDDEV_SAMP(recall_ties_average_at_10) AS recall_ties_average_at_10_std
    FROM per_user
    GROUP BY model
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    totals.model, metric, CAST(k AS INT) AS k,
    CASE position
        WHEN 1
        THEN totals.ndcg_ties_average_at_10_value
        WHEN 2
        THEN totals.recall_ties_average_at_10_value
    END AS value,
    CASE position WHEN 1 THEN totals.n WHEN 2 THEN totals.n END AS n_users,
    CASE position
        WHEN 1
        THEN totals.ndcg_ties_average_at_10_std
        WHEN 2
        THEN totals.recall_ties_average_at_10_std
    END AS std,
    CASE position
        WHEN 1
        THEN totals.ndcg_ties_average_at_10_value
            - CAST(1.9599639845400536 AS DOUBLE) * totals.ndcg_ties_average_at_10_std
                / NULLIF(SQRT(totals.n), 0)
        WHEN 2
        THEN totals.recall_ties_average_at_10_value
            - CAST(1.9599639845400536 AS DOUBLE) * totals.recall_ties_average_at_10_std
                / NULLIF(SQRT(totals.n), 0)
    END AS ci_low,
    CASE position
        WHEN 1
        THEN totals.ndcg_ties_average_at_10_value
            + CAST(1.9599639845400536 AS DOUBLE) * totals.ndcg_ties_average_at_10_std
                / NULLIF(SQRT(totals.n), 0)
        WHEN 2
        THEN totals.recall_ties_average_at_10_value
            + CAST(1.9599639845400536 AS DOUBLE) * totals.recall_ties_average_at_10_std
                / NULLIF(SQRT(totals.n), 0)
    END AS ci_high
FROM totals
CROSS JOIN VALUES
    (1, 'ndcg(ties=average)', 10), (2, 'recall(ties=average)', 10) AS labels_1(position, metric, k)
ORDER BY totals.model NULLS LAST, position NULLS LAST;
