/*
metrics = ["spearman_rho@10"]
tables = ["recommendations", "interactions"]
*/
WITH ranked AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
), relevant_users AS (
    SELECT DISTINCT user_id FROM read_parquet('interactions.parquet') WHERE relevance > 0
), judged AS (
    -- one row per judged item in the top 10; equal values share the mean of their ranks
    SELECT
        user_id,
        rank() OVER (PARTITION BY user_id ORDER BY score)
            + (count(*) OVER (PARTITION BY user_id, score) - 1) / 2 AS score_rank,
        rank() OVER (PARTITION BY user_id ORDER BY relevance)
            + (count(*) OVER (PARTITION BY user_id, relevance) - 1) / 2 AS relevance_rank
    FROM ranked
    JOIN read_parquet('interactions.parquet') USING (user_id, item_id)
    WHERE rank <= 10
), per_user AS (
    -- one row per user with judged items of different scores and of different grades
    SELECT user_id, corr(score_rank, relevance_rank) AS rho
    FROM relevant_users
    JOIN judged USING (user_id)
    GROUP BY user_id
    HAVING min(score_rank) < max(score_rank) AND min(relevance_rank) < max(relevance_rank)
), summary AS (
    SELECT avg(rho) AS value, count(*) AS n_users, stddev_samp(rho) AS std FROM per_user
)
SELECT
    'spearman_rho' AS metric,
    10 AS k,
    value,
    n_users,
    std,
    value - 1.959963984540054 * std / sqrt(n_users) AS ci_low,
    value + 1.959963984540054 * std / sqrt(n_users) AS ci_high
FROM summary
