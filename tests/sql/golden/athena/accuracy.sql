WITH recommendations AS (
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
    COUNT(*) AS n_rows
  FROM recommendations
  GROUP BY
    model,
    user_id
), lists AS (
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
), relevant AS (
  /* one row per relevant (user, item) */
  SELECT
    user_id,
    item_id,
    relevance AS relevance
  FROM judged
  WHERE
    relevance > 0
), relevant_users AS (
  /* one row per user with a relevant item */
  SELECT
    user_id,
    COUNT(*) AS n_relevant,
    MAX(relevance) AS best_relevance
  FROM relevant
  GROUP BY
    user_id
), models AS (
  /* one row per model */
  SELECT
    lists.model AS model,
    COUNT(*) AS n_lists
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
    COALESCE(relevant_users.n_relevant, 0) AS n_relevant,
    COALESCE(lists.n_recommended, 0) AS n_recommended
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
    ROW_NUMBER() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id) AS rank
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
    ROW_NUMBER() OVER (PARTITION BY hit_ranks.model, hit_ranks.user_id ORDER BY hit_ranks.rank) AS hit_number,
    relevant_users.n_relevant,
    relevant_users.best_relevance,
    lists.n_recommended
  FROM hit_ranks
  INNER JOIN relevant_users
    ON relevant_users.user_id = hit_ranks.user_id
  INNER JOIN lists
    ON lists.model = hit_ranks.model AND lists.user_id = hit_ranks.user_id
), positions AS (
  /* one row per digit */
  WITH digits AS (
    SELECT
      digits.digit
    FROM (VALUES
      (0),
      (1),
      (2),
      (3),
      (4),
      (5),
      (6),
      (7),
      (8),
      (9)) AS digits(digit)
  ), numbers_7 /* one row: where the numbers end */ AS (
    SELECT
      0 AS rank,
      GREATEST(
        10,
        COALESCE(
          (
            SELECT
              MAX(n_recommended)
            FROM lists
          ),
          10,
          (
            SELECT
              MAX(n_relevant)
            FROM relevant_users
          )
        ),
        COALESCE(
          (
            SELECT
              MAX(n_relevant)
            FROM relevant_users
          ),
          10,
          (
            SELECT
              MAX(n_recommended)
            FROM lists
          )
        )
      ) AS last_number
  ), numbers_6 /* one row per multiple of 1000000 up to there */ AS (
    SELECT
      numbers_7.rank + 1000000 * digits.digit AS rank,
      numbers_7.last_number
    FROM numbers_7
    CROSS JOIN digits
    WHERE
      numbers_7.rank + 1000000 * digits.digit <= numbers_7.last_number
  ), numbers_5 /* one row per multiple of 100000 up to there */ AS (
    SELECT
      numbers_6.rank + 100000 * digits.digit AS rank,
      numbers_6.last_number
    FROM numbers_6
    CROSS JOIN digits
    WHERE
      numbers_6.rank + 100000 * digits.digit <= numbers_6.last_number
  ), numbers_4 /* one row per multiple of 10000 up to there */ AS (
    SELECT
      numbers_5.rank + 10000 * digits.digit AS rank,
      numbers_5.last_number
    FROM numbers_5
    CROSS JOIN digits
    WHERE
      numbers_5.rank + 10000 * digits.digit <= numbers_5.last_number
  ), numbers_3 /* one row per multiple of 1000 up to there */ AS (
    SELECT
      numbers_4.rank + 1000 * digits.digit AS rank,
      numbers_4.last_number
    FROM numbers_4
    CROSS JOIN digits
    WHERE
      numbers_4.rank + 1000 * digits.digit <= numbers_4.last_number
  ), numbers_2 /* one row per multiple of 100 up to there */ AS (
    SELECT
      numbers_3.rank + 100 * digits.digit AS rank,
      numbers_3.last_number
    FROM numbers_3
    CROSS JOIN digits
    WHERE
      numbers_3.rank + 100 * digits.digit <= numbers_3.last_number
  ), numbers_1 /* one row per multiple of 10 up to there */ AS (
    SELECT
      numbers_2.rank + 10 * digits.digit AS rank,
      numbers_2.last_number
    FROM numbers_2
    CROSS JOIN digits
    WHERE
      numbers_2.rank + 10 * digits.digit <= numbers_2.last_number
  ), numbers_0 /* one row per multiple of 1 up to there */ AS (
    SELECT
      numbers_1.rank + 1 * digits.digit AS rank,
      numbers_1.last_number
    FROM numbers_1
    CROSS JOIN digits
    WHERE
      numbers_1.rank + 1 * digits.digit <= numbers_1.last_number
  ), numbers /* one row per number */ AS (
    SELECT
      numbers_0.rank
    FROM numbers_0
    WHERE
      numbers_0.rank > 0
  )
  /* one row per position */
  SELECT
    rank,
    CAST(SUM(
      CAST(ROUND((
        CAST(1 AS DOUBLE) / NULLIF(LOG(2, rank + 1), 0)
      ) * CAST(1e15 AS DOUBLE)) AS DECIMAL(38, 0))
    ) OVER (ORDER BY rank ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS DOUBLE) / CAST(1e15 AS DOUBLE) AS ideal_gain
  FROM numbers
), hits_values AS (
  /* one row per user with a row in hits */
  SELECT
    hits.model,
    hits.user_id,
    CASE
      WHEN MIN(hits.rank) <= 10
      THEN CAST(SUM(
        CASE
          WHEN hits.rank <= 10
          THEN CAST(ROUND(
            (
              CAST(1 AS DOUBLE) / NULLIF(LOG(2, hits.rank + 1), 0)
            ) * CAST(1e15 AS DOUBLE)
          ) AS DECIMAL(38, 0))
        END
      ) AS DOUBLE) / CAST(1e15 AS DOUBLE) / NULLIF(MAX(CASE WHEN hits.rank <= 10 THEN best_at_10.ideal_gain END), 0)
      ELSE 0
    END AS ndcg_at_10,
    CASE
      WHEN MIN(hits.rank) <= 10
      THEN CAST(COUNT(CASE WHEN hits.rank <= 10 THEN 1 END) AS DOUBLE) / NULLIF(MAX(hits.n_relevant), 0)
      ELSE 0
    END AS recall_at_10,
    CASE
      WHEN MIN(hits.rank) <= 5
      THEN CAST(SUM(
        CASE
          WHEN hits.rank <= 5
          THEN CAST(ROUND(
            (
              CAST(hits.hit_number AS DOUBLE) / NULLIF(hits.rank, 0)
            ) * CAST(1e15 AS DOUBLE)
          ) AS DECIMAL(38, 0))
        END
      ) AS DOUBLE) / CAST(1e15 AS DOUBLE) / NULLIF(LEAST(5, COALESCE(MAX(hits.n_relevant), 5)), 0)
      ELSE 0
    END AS map_at_5
  FROM hits
  LEFT JOIN positions AS best_at_10
    ON best_at_10.rank = LEAST(10, COALESCE(hits.n_relevant, 10))
  GROUP BY
    hits.model,
    hits.user_id
), per_user AS (
  /* one row per user, a column per metric and cutoff; */
  /* without a row: the value of an empty list */
  SELECT
    everybody.model,
    everybody.user_id,
    CAST(CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE hits_values.ndcg_at_10 END AS DOUBLE) AS ndcg_at_10,
    CAST(CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE hits_values.recall_at_10 END AS DOUBLE) AS recall_at_10,
    CAST(CASE WHEN hits_values.user_id IS NULL THEN 0 ELSE hits_values.map_at_5 END AS DOUBLE) AS map_at_5
  FROM audience AS everybody
  LEFT JOIN hits_values
    ON hits_values.model = everybody.model AND hits_values.user_id = everybody.user_id
), totals AS (
  /* one row per model: */
  /* what the users' values of every metric and cutoff come to, their number and standard deviation */
  SELECT
    model,
    AVG(ndcg_at_10) AS ndcg_at_10_value,
    COUNT(ndcg_at_10) AS ndcg_at_10_n,
    STDDEV_SAMP(ndcg_at_10) AS ndcg_at_10_std,
    AVG(recall_at_10) AS recall_at_10_value,
    COUNT(recall_at_10) AS recall_at_10_n,
    STDDEV_SAMP(recall_at_10) AS recall_at_10_std,
    AVG(map_at_5) AS map_at_5_value,
    COUNT(map_at_5) AS map_at_5_n,
    STDDEV_SAMP(map_at_5) AS map_at_5_std
  FROM per_user
  GROUP BY
    model
), summary_rows AS (
  /* one row per metric and cutoff */
  WITH labels_1 AS (
    SELECT
      labels.position,
      labels.metric,
      CAST(labels.k AS INTEGER) AS k
    FROM (VALUES
      (1, 'ndcg', 10),
      (2, 'recall', 10),
      (3, 'map', 5)) AS labels(position, metric, k)
  )
  /* one row per metric and cutoff of each model */
  SELECT
    totals.model,
    labels_1.position,
    labels_1.metric,
    labels_1.k,
    CASE labels_1.position
      WHEN 1
      THEN totals.ndcg_at_10_value
      WHEN 2
      THEN totals.recall_at_10_value
      WHEN 3
      THEN totals.map_at_5_value
    END AS value,
    CASE labels_1.position
      WHEN 1
      THEN totals.ndcg_at_10_n
      WHEN 2
      THEN totals.recall_at_10_n
      WHEN 3
      THEN totals.map_at_5_n
    END AS n_users,
    CASE labels_1.position
      WHEN 1
      THEN totals.ndcg_at_10_std
      WHEN 2
      THEN totals.recall_at_10_std
      WHEN 3
      THEN totals.map_at_5_std
    END AS std,
    CASE labels_1.position
      WHEN 1
      THEN totals.ndcg_at_10_value - CAST(CAST(1.9599639845400536 AS DOUBLE) * totals.ndcg_at_10_std AS DOUBLE) / NULLIF(SQRT(NULLIF(totals.ndcg_at_10_n, 0)), 0)
      WHEN 2
      THEN totals.recall_at_10_value - CAST(CAST(1.9599639845400536 AS DOUBLE) * totals.recall_at_10_std AS DOUBLE) / NULLIF(SQRT(NULLIF(totals.recall_at_10_n, 0)), 0)
      WHEN 3
      THEN totals.map_at_5_value - CAST(CAST(1.9599639845400536 AS DOUBLE) * totals.map_at_5_std AS DOUBLE) / NULLIF(SQRT(NULLIF(totals.map_at_5_n, 0)), 0)
    END AS ci_low,
    CASE labels_1.position
      WHEN 1
      THEN totals.ndcg_at_10_value + CAST(CAST(1.9599639845400536 AS DOUBLE) * totals.ndcg_at_10_std AS DOUBLE) / NULLIF(SQRT(NULLIF(totals.ndcg_at_10_n, 0)), 0)
      WHEN 2
      THEN totals.recall_at_10_value + CAST(CAST(1.9599639845400536 AS DOUBLE) * totals.recall_at_10_std AS DOUBLE) / NULLIF(SQRT(NULLIF(totals.recall_at_10_n, 0)), 0)
      WHEN 3
      THEN totals.map_at_5_value + CAST(CAST(1.9599639845400536 AS DOUBLE) * totals.map_at_5_std AS DOUBLE) / NULLIF(SQRT(NULLIF(totals.map_at_5_n, 0)), 0)
    END AS ci_high
  FROM totals
  CROSS JOIN labels_1
)
/* the interval is value ± 1.9599639845400536 standard errors */
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
