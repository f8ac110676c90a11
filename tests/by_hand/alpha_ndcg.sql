/*
metrics = ["alpha_ndcg@10"]
tables = ["recommendations", "interactions", "aspects"]
*/
WITH RECURSIVE ranked AS (
    SELECT
        user_id,
        item_id,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant AS (
    SELECT user_id, item_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), relevant_aspects AS (
    SELECT user_id, item_id, aspect
    FROM relevant
    JOIN read_parquet('aspects.parquet') USING (item_id)
), remaining AS (
    -- one row per place of the ideal list, relevant item left for it, and aspect of the item
    SELECT user_id, 1 AS place, item_id, aspect, 0 AS n_above FROM relevant_aspects
    UNION ALL
    SELECT user_id, place + 1, item_id, aspect, n_above + in_best
    FROM (
        SELECT
            *,
            max(CASE WHEN item_id = best_item THEN 1 ELSE 0 END)
                OVER (PARTITION BY user_id, aspect) AS in_best
        FROM (
            SELECT
                *,
                first_value(item_id) OVER (PARTITION BY user_id ORDER BY gain DESC, item_id)
                    AS best_item
            FROM (
                SELECT *, sum(power(0.5, n_above)) OVER (PARTITION BY user_id, item_id) AS gain
                FROM remaining
            ) AS valued
        ) AS compared
    ) AS chosen
    WHERE place < 10 AND item_id <> best_item
), gains AS (
    SELECT user_id, place, item_id, sum(power(0.5, n_above)) AS gain
    FROM remaining
    GROUP BY user_id, place, item_id
), ideal_lists AS (
    -- one row per place of the ideal list, where the best item left stands
    SELECT user_id, place, max(gain) AS gain FROM gains GROUP BY user_id, place
), relevant_users AS (
    -- one row per user with a relevant item that has an aspect
    SELECT user_id, sum(gain / log2(place + 1)) AS ideal_dcg FROM ideal_lists GROUP BY user_id
), hits AS (
    -- one row per hit and aspect: how many hits above it have the aspect
    SELECT
        user_id,
        rank,
        row_number() OVER (PARTITION BY user_id, aspect ORDER BY rank) - 1 AS n_above
    FROM ranked
    JOIN relevant_aspects USING (user_id, item_id)
), per_user AS (
    SELECT
        user_id,
        coalesce(sum(CASE WHEN rank <= 10 THEN power(0.5, n_above) / log2(rank + 1) END), 0)
            / max(ideal_dcg) AS alpha_ndcg
    FROM relevant_users
    LEFT JOIN hits USING (user_id)
    GROUP BY user_id
), summary AS (
    SELECT avg(alpha_ndcg) AS value, count(*) AS n_users, stddev_samp(alpha_ndcg) AS std
    FROM per_user
)
SELECT
    'alpha_ndcg' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
