WITH recommendations AS NOT MATERIALIZED (
  /* one row per row of the table recommendations, under the names that the queries use */
  SELECT
    'als' AS model,
    user_id AS user_id,
    item_id AS item_id,
    score AS score
  FROM shop.als
  UNION ALL
  SELECT
    'popular' AS model,
    user_id AS user_id,
    item_id AS item_id,
    score AS score
  FROM shop.popular
), recommendation_profile AS (
  /* one row per recommendation list, read in one pass over the table */
  SELECT
    model,
    user_id,
    count(*) AS n_rows
  FROM recommendations
  GROUP BY
    model,
    user_id
), lists AS MATERIALIZED (
  /* one row per recommendation list */
  SELECT
    model,
    user_id,
    n_rows AS n_recommended
  FROM recommendation_profile
), interactions AS (
  /* one row per row of the table interactions, under the names that the queries use */
  SELECT
    user_id AS user_id,
    item_id AS item_id,
    relevance AS relevance
  FROM shop.interactions
), judged AS (
  /* one row per judged (user, item) */
  SELECT
    user_id,
    item_id,
    CAST(relevance AS DOUBLE) AS relevance
  FROM interactions
), relevant AS MATERIALIZED (
  /* one row per relevant (user, item) */
  SELECT
    user_id,
    item_id,
    relevance AS relevance
  FROM judged
  WHERE
    relevance > 0
), relevant_users AS MATERIALIZED (
  /* one row per user with a relevant item */
  SELECT
    user_id,
    count(*) AS n_relevant,
    max(relevance) AS best_relevance
  FROM relevant
  GROUP BY
    user_id
), models AS (
  /* one row per model */
  SELECT
    lists.model AS model,
    count(*) AS n_lists
  FROM lists
  GROUP BY
    lists.model
), audience AS (
  /* one row per user that every model is judged on */
  WITH expected AS (
    SELECT
      models.model,
      users.user_id
    FROM relevant_users AS users
    CROSS JOIN models
  )
  /* one row per user (and model) to average over */
  SELECT
    expected.model,
    expected.user_id,
    coalesce(relevant_users.n_relevant, 0) AS n_relevant,
    coalesce(lists.n_recommended, 0) AS n_recommended
  FROM expected
  LEFT JOIN lists
    ON lists.model = expected.model AND lists.user_id = expected.user_id
  LEFT JOIN relevant_users
    ON relevant_users.user_id = expected.user_id
), ranked AS (
  /* one row per recommended item, ranked inside its list */
  SELECT
    model,
    user_id,
    item_id,
    score,
    row_number() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id) AS rank
  FROM recommendations
), hit_ranks AS (
  /* one row per hit: a recommended item that is relevant to its user */
  SELECT
    ranked.model,
    ranked.user_id,
    ranked.item_id,
    ranked.rank,
    relevant.relevance
  FROM ranked
  INNER JOIN relevant
    ON relevant.user_id = ranked.user_id AND relevant.item_id = ranked.item_id
), hits AS (
  /* one row per hit, counted from the top of its list */
  SELECT
    hit_ranks.model,
    hit_ranks.user_id,
    hit_ranks.item_id,
    hit_ranks.rank,
    hit_ranks.relevance,
    row_number() OVER (PARTITION BY hit_ranks.model, hit_ranks.user_id ORDER BY hit_ranks.rank) AS hit_number,
    relevant_users.n_relevant,
    relevant_users.best_relevance,
    lists.n_recommended
  FROM hit_ranks
  INNER JOIN relevant_users
    ON relevant_users.user_id = hit_ranks.user_id
  INNER JOIN lists
    ON lists.model = hit_ranks.model AND lists.user_id = hit_ranks.user_id
), positions AS (
  /* one row per position */
  WITH numbers AS (
    SELECT
      unnest(
        generate_series(
          1,
          greatest(
            10,
            (
              SELECT
                max(n_recommended)
              FROM lists
            ),
            (
              SELECT
                max(n_relevant)
              FROM relevant_users
            )
          )
        )
      ) AS rank
  )
  /* one row per position */
  SELECT
    rank,
    sum(1 / nullif(log2(rank + 1), 0)) OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS ideal_gain
  FROM numbers
), hits_values AS (
  /* one row per user with a row in hits */
  SELECT
    hits.model,
    hits.user_id,
    CASE
      WHEN min(hits.rank) <= 10
      THEN sum(CASE WHEN hits.rank <= 10 THEN 1 / nullif(log2(hits.rank + 1), 0) END) / nullif(max(CASE WHEN hits.rank <= 10 THEN best_at_10.ideal_gain END), 0)
      ELSE 0
    END AS ndcg_at_10,
    CASE
      WHEN min(hits.rank) <= 10
      THEN count(CASE WHEN hits.rank <= 10 THEN 1 END) / nullif(max(hits.n_relevant), 0)
      ELSE 0
    END AS recall_at_10,
    CASE
      WHEN min(hits.rank) <= 5
      THEN sum(CASE WHEN hits.rank <= 5 THEN hits.hit_number / nullif(hits.rank, 0) END) / nullif(least(5, max(hits.n_relevant)), 0)
      ELSE 0
    END AS map_at_5
  FROM hits
  LEFT JOIN positions AS best_at_10
    ON best_at_10.rank = least(10, hits.n_relevant)
  GROUP BY
    hits.model,
    hits.user_id
), per_user AS (
  -- one row per user, a column per metric and cutoff;
  -- without a row: the value of an empty list
  SELECT
      everybody.model, everybody.user_id,
      CAST(CASE
          WHEN hits_values.user_id IS NULL THEN 0
          ELSE hits_values.ndcg_at_10
      END AS DOUBLE) AS ndcg_at_10,
      CAST(CASE
          WHEN hits_values.user_id IS NULL THEN 0
          ELSE hits_values.recall_at_10
      END AS DOUBLE) AS recall_at_10,
      CAST(CASE
          WHEN hits_values.user_id IS NULL THEN 0
          ELSE hits_values.map_at_5
      END AS DOUBLE) AS map_at_5
  FROM audience AS everybody
  LEFT JOIN hits_values
      ON hits_values.model = everybody.model AND hits_values.user_id = everybody.user_id
), totals AS MATERIALIZED (
  -- one row per model:
  -- what the users' values of every metric and cutoff come to, their number and standard deviation
  SELECT
      model,
      avg(ndcg_at_10) AS ndcg_at_10_value,
      count(ndcg_at_10) AS ndcg_at_10_n,
      stddev_samp(ndcg_at_10) AS ndcg_at_10_std,
      avg(recall_at_10) AS recall_at_10_value,
      count(recall_at_10) AS recall_at_10_n,
      stddev_samp(recall_at_10) AS recall_at_10_std,
      avg(map_at_5) AS map_at_5_value,
      count(map_at_5) AS map_at_5_n,
      stddev_samp(map_at_5) AS map_at_5_std
  FROM per_user
  GROUP BY
      model
), summary_rows AS (
  -- one row per metric and cutoff of each model
  SELECT
      totals.model,
      1 AS position,
      'ndcg' AS metric,
      10 AS k,
      totals.ndcg_at_10_value AS value,
      totals.ndcg_at_10_n AS n_users,
      totals.ndcg_at_10_std AS std,
      totals.ndcg_at_10_value - 1.9599639845400536 * totals.ndcg_at_10_std / sqrt(nullif(totals.ndcg_at_10_n, 0)) AS ci_low,
      totals.ndcg_at_10_value + 1.9599639845400536 * totals.ndcg_at_10_std / sqrt(nullif(totals.ndcg_at_10_n, 0)) AS ci_high
  FROM totals
  UNION ALL
  SELECT
      totals.model,
      2 AS position,
      'recall' AS metric,
      10 AS k,
      totals.recall_at_10_value AS value,
      totals.recall_at_10_n AS n_users,
      totals.recall_at_10_std AS std,
      totals.recall_at_10_value - 1.9599639845400536 * totals.recall_at_10_std / sqrt(nullif(totals.recall_at_10_n, 0)) AS ci_low,
      totals.recall_at_10_value + 1.9599639845400536 * totals.recall_at_10_std / sqrt(nullif(totals.recall_at_10_n, 0)) AS ci_high
  FROM totals
  UNION ALL
  SELECT
      totals.model,
      3 AS position,
      'map' AS metric,
      5 AS k,
      totals.map_at_5_value AS value,
      totals.map_at_5_n AS n_users,
      totals.map_at_5_std AS std,
      totals.map_at_5_value - 1.9599639845400536 * totals.map_at_5_std / sqrt(nullif(totals.map_at_5_n, 0)) AS ci_low,
      totals.map_at_5_value + 1.9599639845400536 * totals.map_at_5_std / sqrt(nullif(totals.map_at_5_n, 0)) AS ci_high
  FROM totals
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    summary_rows.model,
    summary_rows.metric,
    summary_rows.k,
    summary_rows.value,
    summary_rows.n_users,
    summary_rows.std,
    summary_rows.ci_low,
    summary_rows.ci_high
FROM summary_rows
ORDER BY
    summary_rows.model,
    summary_rows.position;
