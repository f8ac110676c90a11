/*
metrics = ["spearman_rho@10"]
tables = ["recommendations", "interactions"]
*/
WITH top_10 AS (
    SELECT
        user_id,
        item_id,
        score,
        row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank
    FROM read_parquet('recommendations.parquet')
    QUALIFY rank <= 10
), judged AS (
    -- equal values share the mean of their ranks
    SELECT
        user_id,
        rank() OVER (PARTITION BY user_id ORDER BY score)
            + count(*) OVER (PARTITION BY user_id, score) / 2 AS score_rank,
        rank() OVER (PARTITION BY user_id ORDER BY relevance)
            + count(*) OVER (PARTITION BY user_id, relevance) / 2 AS relevance_rank
    FROM top_10
    JOIN read_parquet('interactions.parquet') USING (user_id, item_id)
), per_user AS (
    -- different grades include one above 0, so these users have a relevant item
    SELECT user_id, corr(score_rank, relevance_rank) AS rho
    FROM judged
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
