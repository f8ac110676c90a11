WITH recommendations AS (
    -- one row per row of the table recommendations, with canonical column names
    SELECT 'als' AS model, user_id, item_id, score
    FROM shop.als
    UNION ALL
    SELECT 'popular' AS model, user_id, item_id, score
    FROM shop.popular
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT model, user_id, count(*) AS n_rows FROM recommendations GROUP BY model, user_id
), judged AS (
    -- one row per judged (user, item)
    SELECT user_id, item_id, CAST(relevance AS DOUBLE) AS relevance FROM shop.interactions
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM judged WHERE relevance > 0 GROUP BY user_id
), models AS (
    -- one row per model
    SELECT model FROM recommendation_profile GROUP BY model
), ranked AS (
    -- one row per recommended item, with its rank in the list
    SELECT
        model, user_id, item_id, score,
        row_number() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id) AS rank
    FROM recommendations
), matched AS (
    -- one row per recommended item that is judged, relevant or not
    SELECT model, user_id, rank, score AS predicted, relevance
    FROM ranked
    INNER JOIN judged USING (user_id, item_id)
), matched_pairs AS (
    -- one row per judged item of a list, compared with all judged items above it
    SELECT
        lower_item.model, lower_item.user_id, lower_item.rank,
        sum(
            CASE
                WHEN (upper_item.predicted > lower_item.predicted)
                    = (upper_item.relevance > lower_item.relevance)
                THEN 1
                ELSE -1
            END * CASE
                WHEN upper_item.predicted <> lower_item.predicted
                    AND upper_item.relevance <> lower_item.relevance
                THEN 1
                ELSE 0
            END
        ) AS agreement,
        count(CASE WHEN upper_item.predicted <> lower_item.predicted THEN 1 END)
            AS n_predicted_differ,
        count(CASE WHEN upper_item.relevance <> lower_item.relevance THEN 1 END)
            AS n_relevance_differ
    FROM matched AS lower_item
    LEFT JOIN matched AS upper_item
        ON upper_item.model = lower_item.model
        AND upper_item.user_id = lower_item.user_id
        AND upper_item.rank < lower_item.rank
    WHERE lower_item.rank <= 10
    GROUP BY lower_item.model, lower_item.user_id, lower_item.rank
), matched_pairs_values AS (
    -- one row per user with matched_pairs
    SELECT
        model, user_id,
        sum(agreement) / nullif(
            sqrt(CAST(sum(n_predicted_differ) AS DOUBLE) * CAST(sum(n_relevance_differ) AS DOUBLE)),
            0
        ) AS kendall_tau_at_10
    FROM matched_pairs
    GROUP BY model, user_id
), per_user AS (
    -- one row per user, one column per metric and cutoff
    SELECT model, user_id, kendall_tau_at_10
    FROM relevant_users
    CROSS JOIN models
    LEFT JOIN matched_pairs_values USING (model, user_id)
), seen AS (
    -- one row per user and item of the history
    SELECT DISTINCT user_id, item_id FROM shop.history
), users AS (
    -- one row per user of the history
    SELECT DISTINCT user_id FROM seen
), history_users AS (
    -- one row: the number of users in the history
    SELECT count(*) AS n_users FROM users
), item_popularity AS (
    -- one row per item of the history
    SELECT item_id, count(*) AS n_users FROM seen GROUP BY item_id
), listed_popularity AS (
    -- one row per recommended item, with the number of users in the history who have it
    SELECT model, user_id, coalesce(n_users, 0) AS n_users, n_rows AS n_recommended
    FROM ranked
    INNER JOIN recommendation_profile USING (model, user_id)
    LEFT JOIN item_popularity USING (item_id)
    WHERE rank <= 10
), listed_popularity_values AS (
    -- one row per user with listed_popularity
    SELECT
        model, user_id,
        (count(*) * log2((SELECT n_users FROM history_users)) - sum(log2(greatest(n_users, 1))))
            / least(10, max(n_recommended)) AS surprisal_at_10
    FROM listed_popularity
    GROUP BY model, user_id
), per_user_2 AS (
    -- one row per user, one column per metric and cutoff
    SELECT model, user_id, coalesce(surprisal_at_10, 0) AS surprisal_at_10
    FROM recommendation_profile
    LEFT JOIN listed_popularity_values USING (model, user_id)
), audiences AS (
    -- one row per user and audience
    SELECT model, user_id
    FROM per_user
    UNION ALL
    SELECT model, user_id
    FROM per_user_2
), everyone AS (
    -- one row per user in the audience of any metric
    SELECT DISTINCT model, user_id FROM audiences
)
-- one row per user (and model, convention or slice, if there are several), one column per metric
-- and cutoff
SELECT model, user_id, kendall_tau_at_10 AS "kendall_tau@10", surprisal_at_10 AS "surprisal@10"
FROM everyone
LEFT JOIN per_user USING (model, user_id)
LEFT JOIN per_user_2 USING (model, user_id)
ORDER BY model, user_id;
