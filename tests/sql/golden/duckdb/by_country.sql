WITH recommendations AS (
    -- one row per row of the table recommendations, with canonical column names
    SELECT 'als' AS model, user_id, item_id, score
    FROM shop.als
    UNION ALL
    SELECT 'popular' AS model, user_id, item_id, score
    FROM shop.popular
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT model, user_id FROM recommendations GROUP BY model, user_id
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM shop.interactions
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id, relevance FROM judged WHERE relevance > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id, count(*) AS n_relevant, max(relevance) AS best_relevance
    FROM relevant
    GROUP BY user_id
), models AS (
    -- one row per model
    SELECT model FROM recommendation_profile GROUP BY model
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        model, user_id, item_id,
        row_number() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id) AS rank
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
        user_id, power(2, relevance - best_relevance) - power(2, -best_relevance) AS gain,
        row_number() OVER (PARTITION BY user_id ORDER BY relevance DESC) AS rank
    FROM relevant
    INNER JOIN relevant_users USING (user_id)
), ideal_lists AS (
    SELECT
        user_id, rank,
        sum(gain * (1 / log2(rank + 1))) OVER (
            PARTITION BY user_id ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS ideal_gain
    FROM best_first
), hits_values AS (
    -- one row per user with hits
    SELECT
        model, hits.user_id,
        sum(
            (power(2, relevance - best_relevance) - power(2, -best_relevance))
                * (1 / log2(hits.rank + 1))
        ) / nullif(max(ideal_gain), 0) AS ndcg_gain_exponential_at_10
    FROM hits
    LEFT JOIN ideal_lists
        ON ideal_lists.rank = least(10, n_relevant) AND ideal_lists.user_id = hits.user_id
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
    SELECT user_id, min(country) AS country FROM shop.users GROUP BY user_id
), per_user_and_slice AS (
    -- one row per user and slice that contains the user
    SELECT model, ndcg_gain_exponential_at_10, coalesce(CAST(country AS TEXT), '(none)') AS slice
    FROM per_user
    LEFT JOIN values_of_country USING (user_id)
), members AS (
    -- one row per user and table
    SELECT user_id
    FROM per_user
    UNION ALL
    SELECT user_id
    FROM recommendation_profile
), sliced_users AS (
    -- one row per user
    SELECT DISTINCT user_id FROM members
), slice_positions AS (
    -- one row per user and slice that contains the user
    SELECT coalesce(CAST(country AS TEXT), '(none)') AS slice, country AS position_1
    FROM sliced_users
    LEFT JOIN values_of_country USING (user_id)
), slice_names AS (
    -- one row per slice
    SELECT min(position_1) AS position_1, slice FROM slice_positions GROUP BY slice
), totals AS (
    -- one row per model and slice: mean, number and standard deviation of the per-user values
    SELECT
        model, slice, avg(ndcg_gain_exponential_at_10) AS ndcg_gain_exponential_at_10_value,
        count(ndcg_gain_exponential_at_10) AS ndcg_gain_exponential_at_10_n,
        stddev_samp(ndcg_gain_exponential_at_10) AS ndcg_gain_exponential_at_10_std
    FROM models
    CROSS JOIN slice_names
    LEFT JOIN per_user_and_slice USING (model, slice)
    GROUP BY model, slice
), populations_by_user AS (
    -- one row per population: the lists that get one value
    SELECT row_number() OVER (ORDER BY slice, model) AS population, slice, model
    FROM models
    CROSS JOIN slice_names
), catalogue AS (
    -- one row per item of the catalogue
    SELECT DISTINCT item_id FROM shop.history
), slices AS (
    -- one row per user and slice that contains the user
    SELECT user_id, coalesce(CAST(country AS TEXT), '(none)') AS slice
    FROM sliced_users
    LEFT JOIN values_of_country USING (user_id)
), ranked_by_user AS (
    -- one row per row of ranked and population of its user; populations replace models
    SELECT item_id, rank, population AS model
    FROM ranked
    INNER JOIN slices USING (user_id)
    INNER JOIN populations_by_user USING (model, slice)
), exposure AS (
    -- one row per model and recommended item, with its best rank in any list
    SELECT model, item_id, min(rank) AS best_rank FROM ranked_by_user GROUP BY model, item_id
), exposure_values AS (
    -- one row per model with exposure
    SELECT model, count(*) / (SELECT count(*) FROM catalogue) AS coverage_at_10
    FROM exposure
    INNER JOIN catalogue USING (item_id)
    WHERE best_rank <= 10
    GROUP BY model
), per_model AS (
    -- one row per model, one column per metric and cutoff
    SELECT population AS model, coalesce(coverage_at_10, 0) AS coverage_at_10
    FROM populations_by_user
    LEFT JOIN exposure_values ON exposure_values.model = population
), summary_rows AS (
    -- one row per metric and cutoff of each model and slice
    SELECT
        model, slice, 1 AS position, 'ndcg(gain=exponential)' AS metric, 10 AS k,
        ndcg_gain_exponential_at_10_value AS value, ndcg_gain_exponential_at_10_n AS n_users,
        ndcg_gain_exponential_at_10_std AS std,
        ndcg_gain_exponential_at_10_value
            - 1.9599639845400536 * ndcg_gain_exponential_at_10_std
                / sqrt(ndcg_gain_exponential_at_10_n) AS ci_low,
        ndcg_gain_exponential_at_10_value
            + 1.9599639845400536 * ndcg_gain_exponential_at_10_std
                / sqrt(ndcg_gain_exponential_at_10_n) AS ci_high
    FROM totals
    UNION ALL
    SELECT
        populations_by_user.model, slice, 2 AS position, 'coverage' AS metric, 10 AS k,
        coverage_at_10 AS value, CAST(NULL AS BIGINT) AS n_users, CAST(NULL AS DOUBLE) AS std,
        CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
    FROM per_model
    INNER JOIN populations_by_user ON per_model.model = population
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT model, slice AS country, metric, k, value, n_users, std, ci_low, ci_high
FROM summary_rows
LEFT JOIN slice_names USING (slice)
ORDER BY model, position_1, slice, position;
