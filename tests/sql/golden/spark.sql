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
    ROW_NUMBER() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id NULLS LAST) AS rank
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
    ROW_NUMBER() OVER (
      PARTITION BY hit_ranks.model, hit_ranks.user_id
      ORDER BY hit_ranks.rank NULLS LAST
    ) AS hit_number,
    relevant_users.n_relevant,
    relevant_users.best_relevance,
    lists.n_recommended
  FROM hit_ranks
  INNER JOIN relevant_users
    ON relevant_users.user_id = hit_ranks.user_id
  INNER JOIN lists
    ON lists.model = hit_ranks.model AND lists.user_id = hit_ranks.user_id
), ideal_lists AS (
  /* one row per relevant item in the order of the best possible list */
  WITH best_first AS (
    SELECT
      relevant.user_id,
      POWER(2, relevant.relevance - relevant_users.best_relevance) - POWER(2, -relevant_users.best_relevance) AS gain,
      ROW_NUMBER() OVER (PARTITION BY relevant.user_id ORDER BY relevant.relevance DESC) AS rank
    FROM relevant
    INNER JOIN relevant_users
      ON relevant_users.user_id = relevant.user_id
  )
  SELECT
    user_id,
    rank,
    SUM(gain * (
      CAST(1 AS DOUBLE) / NULLIF(LOG(2, rank + 1), 0)
    )) OVER (
      PARTITION BY user_id
      ORDER BY rank NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS ideal_gain
  FROM best_first
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
          THEN (
            POWER(2, hits.relevance - hits.best_relevance) - POWER(2, -hits.best_relevance)
          ) * (
            CAST(1 AS DOUBLE) / NULLIF(LOG(2, hits.rank + 1), 0)
          )
        END
      ) AS DOUBLE) / NULLIF(MAX(CASE WHEN hits.rank <= 10 THEN best_at_10.ideal_gain END), 0)
      ELSE 0
    END AS ndcg_gain_exponential_at_10
  FROM hits
  LEFT JOIN ideal_lists AS best_at_10
    ON best_at_10.rank = LEAST(10, hits.n_relevant)
    AND best_at_10.user_id = hits.user_id
  GROUP BY
    hits.model,
    hits.user_id
), per_user AS (
  /* one row per user, a column per metric and cutoff; */
  /* without a row: the value of an empty list */
  SELECT
    everybody.model,
    everybody.user_id,
    CAST(CASE
      WHEN hits_values.user_id IS NULL
      THEN 0
      ELSE hits_values.ndcg_gain_exponential_at_10
    END AS DOUBLE) AS ndcg_gain_exponential_at_10
  FROM audience AS everybody
  LEFT JOIN hits_values
    ON hits_values.model = everybody.model AND hits_values.user_id = everybody.user_id
), sliced_users AS (
  /* one row per user */
  SELECT DISTINCT
    user_id
  FROM per_user AS members_1
), country_of_users AS (
  /* one row per row of the table users: a column to slice by */
  SELECT
    user_id AS user_id,
    country AS value
  FROM shop.users
), values_of_country AS (
  /* one row per user: the value as text, and to sort by it */
  SELECT
    user_id,
    CASE
      WHEN CAST(MIN(value) AS STRING) IN ('(none)', '(all)')
      THEN '"' || CAST(MIN(value) AS STRING) || '"'
      ELSE CAST(MIN(value) AS STRING)
    END AS label,
    MIN(value) AS position
  FROM country_of_users AS attribute
  GROUP BY
    user_id
), slice_values AS (
  /* one row per user */
  SELECT
    members.user_id,
    COALESCE(attribute_1.label, '(none)') AS label_1,
    attribute_1.position AS position_1
  FROM sliced_users AS members
  LEFT JOIN values_of_country AS attribute_1
    ON attribute_1.user_id = members.user_id
), slice_names AS (
  /* one row per slice, numbered in the order of its values */
  SELECT
    label_1,
    ROW_NUMBER() OVER (ORDER BY MIN(position_1) NULLS LAST, label_1 NULLS LAST) AS slice
  FROM slice_values
  GROUP BY
    label_1
), slices AS (
  /* one row per user and slice that it is in */
  SELECT
    slice_values.user_id,
    slice_names.slice
  FROM slice_values
  INNER JOIN slice_names
    ON slice_names.label_1 = slice_values.label_1
), per_user_and_slice AS (
  /* one row per row of the values and slice that the user is in */
  SELECT
    slices.slice,
    per_user.model,
    per_user.user_id,
    per_user.ndcg_gain_exponential_at_10
  FROM per_user
  INNER JOIN slices
    ON slices.user_id = per_user.user_id
), row_groups AS (
  /* one row per model and slice that gets values, also where there is no user */
  SELECT
    models.model,
    slice_names.slice
  FROM models
  CROSS JOIN slice_names
), totals AS (
  /* one row per model and slice: */
  /* what the users' values of every metric and cutoff come to, their number and standard deviation */
  SELECT
    row_groups.model,
    row_groups.slice,
    AVG(ndcg_gain_exponential_at_10) AS ndcg_gain_exponential_at_10_value,
    COUNT(ndcg_gain_exponential_at_10) AS ndcg_gain_exponential_at_10_n,
    STDDEV_SAMP(ndcg_gain_exponential_at_10) AS ndcg_gain_exponential_at_10_std
  FROM row_groups
  LEFT JOIN per_user_and_slice AS per_user
    ON per_user.model = row_groups.model AND per_user.slice = row_groups.slice
  GROUP BY
    row_groups.model,
    row_groups.slice
), summary_rows AS (
  /* one row per metric and cutoff of each model and slice */
  SELECT
    totals.model,
    totals.slice,
    1 AS position,
    'ndcg(gain=exponential)' AS metric,
    10 AS k,
    totals.ndcg_gain_exponential_at_10_value AS value,
    totals.ndcg_gain_exponential_at_10_n AS n_users,
    totals.ndcg_gain_exponential_at_10_std AS std,
    totals.ndcg_gain_exponential_at_10_value - CAST(CAST(1.9599639845400536 AS DOUBLE) * totals.ndcg_gain_exponential_at_10_std AS DOUBLE) / NULLIF(SQRT(NULLIF(totals.ndcg_gain_exponential_at_10_n, 0)), 0) AS ci_low,
    totals.ndcg_gain_exponential_at_10_value + CAST(CAST(1.9599639845400536 AS DOUBLE) * totals.ndcg_gain_exponential_at_10_std AS DOUBLE) / NULLIF(SQRT(NULLIF(totals.ndcg_gain_exponential_at_10_n, 0)), 0) AS ci_high
  FROM totals
)
/* the interval is value ± 1.9599639845400536 standard errors */
SELECT
  summary_rows.model,
  slice_names.label_1 AS country,
  summary_rows.metric,
  summary_rows.k,
  summary_rows.value,
  summary_rows.n_users,
  summary_rows.std,
  summary_rows.ci_low,
  summary_rows.ci_high
FROM summary_rows
INNER JOIN slice_names
  ON slice_names.slice = summary_rows.slice
ORDER BY
  summary_rows.model NULLS LAST,
  summary_rows.slice NULLS LAST,
  summary_rows.position NULLS LAST;
