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
), judged AS MATERIALIZED (
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
), ranked AS MATERIALIZED (
  /* one row per recommended item, ranked inside its list */
  SELECT
    model,
    user_id,
    item_id,
    score,
    row_number() OVER (PARTITION BY model, user_id ORDER BY score DESC, item_id) AS rank
  FROM recommendations
), matched AS MATERIALIZED (
  /* one row per recommended item that is judged, relevant or not */
  SELECT
    ranked.model,
    ranked.user_id,
    ranked.item_id,
    ranked.rank,
    ranked.score AS predicted,
    judged.relevance,
    CASE WHEN judged.relevance > 0 THEN 1 ELSE 0 END AS is_relevant
  FROM ranked
  INNER JOIN judged
    ON judged.user_id = ranked.user_id AND judged.item_id = ranked.item_id
), matched_pairs AS (
  /* one row per judged item of a list, compared with every judged item above it */
  SELECT
    lower_item.model,
    lower_item.user_id,
    lower_item.rank,
    sum(
      CASE
        WHEN (
          upper_item.predicted > lower_item.predicted
        ) = (
          upper_item.relevance > lower_item.relevance
        )
        THEN 1
        ELSE -1
      END * CASE
        WHEN upper_item.predicted <> lower_item.predicted
        AND upper_item.relevance <> lower_item.relevance
        THEN 1
        ELSE 0
      END
    ) AS agreement,
    count(CASE WHEN upper_item.predicted <> lower_item.predicted THEN 1 END) AS n_predicted_differ,
    count(CASE WHEN upper_item.relevance <> lower_item.relevance THEN 1 END) AS n_relevance_differ
  FROM matched AS lower_item
  LEFT JOIN matched AS upper_item
    ON upper_item.model = lower_item.model
    AND upper_item.user_id = lower_item.user_id
    AND upper_item.rank < lower_item.rank
  WHERE
    lower_item.rank <= 10
  GROUP BY
    lower_item.model,
    lower_item.user_id,
    lower_item.rank
), matched_pairs_values AS (
  /* one row per user with a row in matched_pairs */
  SELECT
    matched_pairs.model,
    matched_pairs.user_id,
    CASE
      WHEN min(matched_pairs.rank) <= 10
      THEN sum(CASE WHEN matched_pairs.rank <= 10 THEN matched_pairs.agreement END) / nullif(
        sqrt(
          CAST(sum(CASE WHEN matched_pairs.rank <= 10 THEN matched_pairs.n_predicted_differ END) AS DOUBLE) * CAST(sum(CASE WHEN matched_pairs.rank <= 10 THEN matched_pairs.n_relevance_differ END) AS DOUBLE)
        ),
        0
      )
    END AS kendall_tau_at_10
  FROM matched_pairs
  GROUP BY
    matched_pairs.model,
    matched_pairs.user_id
), per_user AS MATERIALIZED (
  -- one row per user, a column per metric and cutoff;
  -- without a row: the value of an empty list
  SELECT
      everybody.model, everybody.user_id,
      CAST(matched_pairs_values.kendall_tau_at_10 AS DOUBLE) AS kendall_tau_at_10
  FROM audience AS everybody
  LEFT JOIN matched_pairs_values
      ON matched_pairs_values.model = everybody.model AND matched_pairs_values.user_id = everybody.user_id
), audience_2 AS (
  /* one row per user (and model) to average over */
  SELECT
    lists.model,
    lists.user_id,
    coalesce(lists.n_recommended, 0) AS n_recommended
  FROM lists
), history AS (
  /* one row per row of the table history, under the names that the queries use */
  SELECT
    user_id AS user_id,
    item_id AS item_id
  FROM shop.history
), seen AS MATERIALIZED (
  /* one row per user and item that the user has in the history */
  SELECT DISTINCT
    user_id,
    item_id
  FROM history
), item_popularity AS (
  /* one row per item of the history */
  SELECT
    item_id,
    log2(count(*)) AS log2_users,
    count(*) AS n_users
  FROM seen
  GROUP BY
    item_id
), list_popularity AS (
  /* one row per list and smallest cutoff; an item that nobody has only adds to n_listed */
  WITH listed_popularity AS (
    SELECT
      ranked.model,
      ranked.user_id,
      CASE WHEN ranked.rank <= 10 THEN 10 END AS first_k,
      count(*) AS n_listed,
      sum(coalesce(item_popularity.n_users, 0)) AS n_seen,
      sum(coalesce(item_popularity.log2_users, 0)) AS log2_users
    FROM ranked
    LEFT JOIN item_popularity
      ON ranked.item_id = item_popularity.item_id
    WHERE
      ranked.rank <= 10
    GROUP BY
      ranked.model,
      ranked.user_id,
      CASE WHEN ranked.rank <= 10 THEN 10 END
  )
  /* one row per list and smallest cutoff, with the length of the list */
  SELECT
    listed_popularity.model,
    listed_popularity.user_id,
    listed_popularity.first_k,
    listed_popularity.n_listed,
    listed_popularity.n_seen,
    listed_popularity.log2_users,
    lists.n_recommended
  FROM listed_popularity
  INNER JOIN lists
    ON lists.model = listed_popularity.model
    AND lists.user_id = listed_popularity.user_id
), history_users AS (
  /* one row: how many users the history has */
  SELECT
    count(*) AS n_users
  FROM (
    SELECT DISTINCT
      user_id
    FROM seen
  ) AS users
), list_popularity_values AS (
  /* one row per user with a row in list_popularity */
  SELECT
    list_popularity.model,
    list_popularity.user_id,
    CASE
      WHEN min(list_popularity.first_k) <= 10
      THEN (
        sum(CASE WHEN list_popularity.first_k <= 10 THEN list_popularity.n_listed END) * log2((
          SELECT
            history_users.n_users
          FROM history_users
        )) - sum(CASE WHEN list_popularity.first_k <= 10 THEN list_popularity.log2_users END)
      ) / nullif(least(10, max(list_popularity.n_recommended)), 0)
      ELSE 0
    END AS surprisal_at_10
  FROM list_popularity
  GROUP BY
    list_popularity.model,
    list_popularity.user_id
), per_user_2 AS MATERIALIZED (
  -- one row per user, a column per metric and cutoff;
  -- without a row: the value of an empty list
  SELECT
      everybody.model, everybody.user_id,
      CAST(CASE
          WHEN list_popularity_values.user_id IS NULL THEN 0
          ELSE list_popularity_values.surprisal_at_10
      END AS DOUBLE) AS surprisal_at_10
  FROM audience_2 AS everybody
  LEFT JOIN list_popularity_values
      ON list_popularity_values.model = everybody.model AND list_popularity_values.user_id = everybody.user_id
), everyone AS (
  -- one row per user that any of the metrics is averaged over
  SELECT model, user_id
  FROM per_user
  UNION
  SELECT model, user_id
  FROM per_user_2
)
-- one row per user (and model, convention or slice, where there are several) and cutoff,
-- a column per metric
SELECT
    values_per_user.model,
    values_per_user.user_id,
    values_per_user.k,
    values_per_user.kendall_tau,
    values_per_user.surprisal
FROM (
    SELECT
        everyone.model,
        everyone.user_id,
        CAST(10 AS INTEGER) AS k,
        per_user.kendall_tau_at_10 AS kendall_tau,
        per_user_2.surprisal_at_10 AS surprisal
    FROM everyone
    LEFT JOIN per_user ON per_user.model = everyone.model AND per_user.user_id = everyone.user_id
    LEFT JOIN per_user_2 ON per_user_2.model = everyone.model AND per_user_2.user_id = everyone.user_id
    ) AS values_per_user
ORDER BY
    values_per_user.model,
    values_per_user.user_id,
    values_per_user.k;
