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
    SELECT user_id, COUNT(*) AS n_relevant, MAX(relevance) AS best_relevance
    FROM relevant
    GROUP BY user_id
), models AS (
    -- one row per model
    SELECT model FROM recommendations GROUP BY model
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        model, user_id, item_id,
        ROW_NUMBER() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id NULLS LAST)
            AS rank
    FROM recommendations
), hits AS (
    -- one row per hit, numbered from the top of the list
    SELECT model, user_id, rank, relevance, n_relevant, best_relevance
    FROM ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN relevant_users USING (user_id)
), best_first AS (
    -- one row per user and relevant item, in the order of the best possible list
    SELECT
        user_id, POWER(2, relevance - best_relevance) - POWER(2, -best_relevance) AS gain,
        ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY relevance DESC) AS rank
    FROM relevant
    INNER JOIN relevant_users USING (user_id)
), ideal_lists AS (
    SELECT
        user_id, rank,
        SUM(gain * (CAST(1 AS DOUBLE) / LOG(2, rank + 1))) OVER (
            PARTITION BY user_id
            ORDER BY rank NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS ideal_gain
    FROM best_first
), hits_values AS (
    -- one row per user with hits
    SELECT
        model, hits.user_id,
        CAST(
            SUM(
                (POWER(2, relevance - best_relevance) - POWER(2, -best_relevance))
                    * (CAST(1 AS DOUBLE) / LOG(2, hits.rank + 1))
            ) AS DOUBLE
        ) / NULLIF(MAX(ideal_gain), 0) AS ndcg_gain_exponential_at_10
    FROM hits
    LEFT JOIN ideal_lists
        ON ideal_lists.rank = LEAST(10, n_relevant) AND ideal_lists.user_id = hits.user_id
    WHERE hits.rank <= 10
    GROUP BY model, hits.user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT
        models.model, relevant_users.user_id,
        CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE ndcg_gain_exponential_at_10 END
            AS ndcg_gain_exponential_at_10
    FROM relevant_users
    CROSS JOIN models
    LEFT JOIN hits_values
        ON hits_values.model = models.model AND hits_values.user_id = relevant_users.user_id
), values_of_country AS (
    -- one row per user, with the values to slice by
    SELECT user_id, MIN(country) AS country FROM shop.users GROUP BY user_id
), per_user_and_slice AS (
    -- one row per user and slice that contains the user
    SELECT
        model, ndcg_gain_exponential_at_10, COALESCE(CAST(country AS STRING), '(none)') AS slice,
        country AS position_1
    FROM per_user
    LEFT JOIN values_of_country USING (user_id)
), totals AS (
    -- one row per model and slice: mean, number and standard deviation of the per-user values
    SELECT
        model, slice, AVG(ndcg_gain_exponential_at_10) AS ndcg_gain_exponential_at_10_value,
        COUNT(ndcg_gain_exponential_at_10) AS ndcg_gain_exponential_at_10_n,
        STDDEV_SAMP(ndcg_gain_exponential_at_10) AS ndcg_gain_exponential_at_10_std
    FROM per_user_and_slice
    GROUP BY model, slice
), slice_names AS (
    -- one row per slice
    SELECT MIN(position_1) AS position_1, slice FROM per_user_and_slice GROUP BY slice
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    model, slice AS country, 'ndcg(gain=exponential)' AS metric, 10 AS k,
    ndcg_gain_exponential_at_10_value AS value, ndcg_gain_exponential_at_10_n AS n_users,
    ndcg_gain_exponential_at_10_std AS std,
    ndcg_gain_exponential_at_10_value
        - CAST(1.9599639845400536 AS DOUBLE) * ndcg_gain_exponential_at_10_std
            / NULLIF(SQRT(ndcg_gain_exponential_at_10_n), 0) AS ci_low,
    ndcg_gain_exponential_at_10_value
        + CAST(1.9599639845400536 AS DOUBLE) * ndcg_gain_exponential_at_10_std
            / NULLIF(SQRT(ndcg_gain_exponential_at_10_n), 0) AS ci_high
FROM totals
LEFT JOIN slice_names USING (slice)
ORDER BY model NULLS LAST, position_1 NULLS LAST, slice NULLS LAST;
