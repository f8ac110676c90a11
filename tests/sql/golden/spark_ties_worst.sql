WITH recommendations AS (
    -- one row per row of the table recommendations, with canonical column names
    SELECT 'als' AS model, user_id, item_id, score
    FROM shop.als
    UNION ALL
    SELECT 'popular' AS model, user_id, item_id, score
    FROM shop.popular
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM shop.interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, COUNT(*) AS n_relevant FROM relevant GROUP BY user_id
), models AS (
    -- one row per model
    SELECT model FROM recommendations GROUP BY model
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        model, user_id, item_id,
        ROW_NUMBER() OVER (
            PARTITION BY model, user_id
            ORDER BY score DESC, CASE WHEN relevance IS NULL THEN 0 ELSE 1 END NULLS LAST,
                relevance NULLS LAST, item_id NULLS LAST
        ) AS rank
    FROM recommendations
    LEFT JOIN relevant USING (user_id, item_id)
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT
        model, user_id, rank,
        ROW_NUMBER() OVER (PARTITION BY model, user_id ORDER BY rank NULLS LAST) AS hit_number,
        n_relevant
    FROM ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
    WHERE rank <= 10
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
        CAST(SUM(CAST(1 AS DOUBLE) / LOG(2, hits.rank + 1)) AS DOUBLE) / MAX(ideal_gain)
            AS ndcg_ties_worst_at_10,
        CAST(
            SUM(CASE WHEN hits.rank <= 5 THEN CAST(hit_number AS DOUBLE) / hits.rank END) AS DOUBLE
        ) / LEAST(5, MAX(n_relevant)) AS map_ties_worst_at_5
    FROM hits
    LEFT JOIN positions ON positions.rank = LEAST(10, n_relevant)
    GROUP BY model, user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        model, COALESCE(ndcg_ties_worst_at_10, 0) AS ndcg_ties_worst_at_10,
        COALESCE(map_ties_worst_at_5, 0) AS map_ties_worst_at_5
    FROM relevant_users
    CROSS JOIN models
    LEFT JOIN hits_values USING (model, user_id)
), totals AS (
    -- one row per model: mean, number and standard deviation of the per-user values
    SELECT
        model, AVG(ndcg_ties_worst_at_10) AS ndcg_ties_worst_at_10_value, COUNT(*) AS n,
        STDDEV_SAMP(ndcg_ties_worst_at_10) AS ndcg_ties_worst_at_10_std,
        AVG(map_ties_worst_at_5) AS map_ties_worst_at_5_value,
        STDDEV_SAMP(map_ties_worst_at_5) AS map_ties_worst_at_5_std
    FROM per_user
    GROUP BY model
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    totals.model, metric, CAST(k AS INT) AS k,
    CASE position
        WHEN 1 THEN totals.ndcg_ties_worst_at_10_value WHEN 2 THEN totals.map_ties_worst_at_5_value
    END AS value,
    CASE position WHEN 1 THEN totals.n WHEN 2 THEN totals.n END AS n_users,
    CASE position
        WHEN 1 THEN totals.ndcg_ties_worst_at_10_std WHEN 2 THEN totals.map_ties_worst_at_5_std
    END AS std,
    CASE position
        WHEN 1
        THEN totals.ndcg_ties_worst_at_10_value
            - CAST(1.9599639845400536 AS DOUBLE) * totals.ndcg_ties_worst_at_10_std
                / NULLIF(SQRT(totals.n), 0)
        WHEN 2
        THEN totals.map_ties_worst_at_5_value
            - CAST(1.9599639845400536 AS DOUBLE) * totals.map_ties_worst_at_5_std
                / NULLIF(SQRT(totals.n), 0)
    END AS ci_low,
    CASE position
        WHEN 1
        THEN totals.ndcg_ties_worst_at_10_value
            + CAST(1.9599639845400536 AS DOUBLE) * totals.ndcg_ties_worst_at_10_std
                / NULLIF(SQRT(totals.n), 0)
        WHEN 2
        THEN totals.map_ties_worst_at_5_value
            + CAST(1.9599639845400536 AS DOUBLE) * totals.map_ties_worst_at_5_std
                / NULLIF(SQRT(totals.n), 0)
    END AS ci_high
FROM totals
CROSS JOIN VALUES
    (1, 'ndcg(ties=worst)', 10), (2, 'map(ties=worst)', 5) AS labels_1(position, metric, k)
ORDER BY totals.model NULLS LAST, position NULLS LAST;
