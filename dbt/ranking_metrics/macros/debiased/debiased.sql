{#-
  Written by dbt/generate.py of sqlmetrics: change the template of the metric instead.

  Accuracy after debiasing of the interactions
  Formula: expected value of a metric if interactions of popular items are removed at random,
    until no item has more users than the border; a mean over the users with a relevant item that
    is left, with or without a list. The border and the numbers of users of the items come from
    all interactions, in a slice of users too; quartiles are interpolated linearly between two
    numbers.
  Undefined: no user of the audience has a relevant item.
  Source: DebiasConfig in RecTools, which draws the rows to remove.
-#}

{% macro debiased(
    recommendations=none, interactions=none, cutoff=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- do ranking_metrics._check_cutoff('debiased', cutoff) -%}
{%- set recommendations = ranking_metrics._ranked_lists(
    'debiased', recommendations, user_column, item_column, rank_column, score_column
) -%}
{%- set interactions = ranking_metrics._held_out(
    'debiased', interactions, user_column, item_column, relevance_column, needs_relevance=False
) -%}
{{ adapter.dispatch('debiased', 'ranking_metrics')(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% test debiased_at_least(
    model, interactions=none, cutoff=none, threshold=none, user_column='user_id',
    item_column='item_id', rank_column='rank', score_column=none, relevance_column=none
) -%}
{%- set result = ranking_metrics.debiased(model, interactions, cutoff, user_column=user_column,
    item_column=item_column, rank_column=rank_column, score_column=score_column,
    relevance_column=relevance_column) -%}
{{ ranking_metrics._at_least('debiased', result, cutoff, threshold) }}
{%- endtest %}

{% macro default__debiased(recommendations, interactions, cutoff) -%}
{{ ranking_metrics._no_sql('debiased') }}
{%- endmacro %}

{% macro duckdb__debiased(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, count(*) AS n_lists FROM recommendation_profile
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), placed AS (
    -- one row per relevant item, with its number of users and its place by that number, from 0
    SELECT
        item_id, count(*) AS n_users, row_number() OVER (ORDER BY count(*), item_id) - 1 AS place,
        count(*) OVER () - 1 AS last_place
    FROM relevant
    GROUP BY item_id
), quartiles AS (
    -- one row: the quartiles; between two places, linear
    SELECT
        sum(n_users * greatest(1 - abs(place - last_place / 4), 0)) AS first_quartile,
        sum(n_users * greatest(1 - abs(place - last_place * 3 / 4), 0)) AS third_quartile
    FROM placed
), item_users AS (
    -- one row per relevant item, with its number of users
    SELECT item_id, count(*) AS n_users FROM relevant GROUP BY item_id
), shares AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id,
        least(
            (
                SELECT
                    floor(third_quartile + CAST(1.5 AS DOUBLE) * (
                        third_quartile - first_quartile
                    )) AS border
                FROM quartiles
            ) / n_users,
            1
        ) AS kept
    FROM relevant
    INNER JOIN item_users USING (item_id)
), sums AS (
    -- one row per user with a relevant item
    SELECT
        user_id, count(*) AS n_relevant, sum(kept) AS kept_sum,
        sum(kept * (1 - kept)) AS kept_variance
    FROM shares
    GROUP BY user_id
), nodes AS (
    -- one row per node of a rule that integrates polynomials of degree 63 from 0 to 1 exactly
    SELECT
        CAST(0.001368069075259215 AS DOUBLE) AS node, CAST(0.003509305004734649 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.001368069075259215 AS DOUBLE) AS node,
        CAST(0.003509305004734649 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.007194244227365809 AS DOUBLE) AS node, CAST(0.008137197365452983 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.007194244227365809 AS DOUBLE) AS node,
        CAST(0.008137197365452983 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.017618872206246805 AS DOUBLE) AS node, CAST(0.012696032654631213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.017618872206246805 AS DOUBLE) AS node,
        CAST(0.012696032654631213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.03254696203113017 AS DOUBLE) AS node, CAST(0.017136931456510813 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.03254696203113017 AS DOUBLE) AS node,
        CAST(0.017136931456510813 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.0518394221169739 AS DOUBLE) AS node, CAST(0.021417949011113213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.0518394221169739 AS DOUBLE) AS node,
        CAST(0.021417949011113213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.07531619313371501 AS DOUBLE) AS node, CAST(0.025499029631188122 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.07531619313371501 AS DOUBLE) AS node,
        CAST(0.025499029631188122 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.10275810201602881 AS DOUBLE) AS node, CAST(0.029342046739267852 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.10275810201602881 AS DOUBLE) AS node,
        CAST(0.029342046739267852 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.13390894062985514 AS DOUBLE) AS node, CAST(0.032911111388180876 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.13390894062985514 AS DOUBLE) AS node,
        CAST(0.032911111388180876 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.16847786653489238 AS DOUBLE) AS node, CAST(0.036172897054424225 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.16847786653489238 AS DOUBLE) AS node,
        CAST(0.036172897054424225 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.20614212137961885 AS DOUBLE) AS node, CAST(0.039096947893535156 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.20614212137961885 AS DOUBLE) AS node,
        CAST(0.039096947893535156 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.24655004553388532 AS DOUBLE) AS node, CAST(0.04165596211347342 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.24655004553388532 AS DOUBLE) AS node,
        CAST(0.04165596211347342 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.28932436193468236 AS DOUBLE) AS node, CAST(0.043826046502201954 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.28932436193468236 AS DOUBLE) AS node,
        CAST(0.043826046502201954 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.33406569885893617 AS DOUBLE) AS node, CAST(0.04558693934788193 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.33406569885893617 AS DOUBLE) AS node,
        CAST(0.04558693934788193 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.38035631887393145 AS DOUBLE) AS node, CAST(0.04692219954040228 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.38035631887393145 AS DOUBLE) AS node,
        CAST(0.04692219954040228 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.42776401920860174 AS DOUBLE) AS node, CAST(0.04781936003963742 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.42776401920860174 AS DOUBLE) AS node,
        CAST(0.04781936003963742 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.4758461671561308 AS DOUBLE) AS node, CAST(0.048270044257363906 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.4758461671561308 AS DOUBLE) AS node,
        CAST(0.048270044257363906 AS DOUBLE) AS weight
), products AS (
    -- one row per user and node; with n other kept items, 1/(n + 1) is the integral of x^n, and the
    -- mean of x^n is this product over the items
    SELECT user_id, node, weight, sum(ln(1 - kept + kept * node)) AS log_product
    FROM shares
    CROSS JOIN nodes
    GROUP BY user_id, node, weight
), parts AS (
    -- one row per relevant (user, item), with the mean of 1/(n + 1)
    SELECT
        user_id, item_id,
        sum(weight * exp(log_product) / nullif(1 - kept + kept * node, 0)) AS mean_part
    FROM shares
    INNER JOIN products USING (user_id)
    GROUP BY user_id, item_id
), kept_relevant AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id, kept,
        kept /* of more than 100 relevant items, the mean from two moments */ * CASE
            WHEN n_relevant <= 100
            THEN mean_part
            ELSE 1 / nullif(1 + kept_sum - kept, 0) + (
                kept_variance - kept * (1 - kept)
            ) / nullif(power(1 + kept_sum - kept, 3), 0)
        END AS recall_part
    FROM shares
    INNER JOIN sums USING (user_id)
    INNER JOIN parts USING (user_id, item_id)
), losses AS (
    -- one row per user with a relevant item, with the probability that all these items are removed
    SELECT
        user_id, max(kept) AS most, sum(ln(CASE WHEN kept < 1 THEN 1 - kept ELSE 1 END)) AS log_lost
    FROM kept_relevant
    GROUP BY user_id
), kept_hits AS (
    -- one row per hit of the audience
    SELECT
        'recommendations' AS model, CAST(rank AS BIGINT) AS rank, kept_relevant.recall_part,
        CAST(NULL AS DOUBLE) AS left_over
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN kept_relevant USING (user_id, item_id)
    UNION ALL
    -- one row per user of the audience with a relevant item
    SELECT
        'recommendations' AS model, 0 AS rank, CAST(NULL AS DOUBLE) AS recall_part,
        CASE WHEN most < 1 THEN 1 - exp(log_lost) ELSE 1 END AS left_over
    FROM relevant_users
    INNER JOIN losses USING (user_id)
), kept_hits_values AS (
    -- one row per run with kept_hits
    SELECT
        model,
        coalesce(sum(CASE WHEN rank <= {{ cutoff }} THEN recall_part END), 0)
            / nullif(sum(CASE WHEN rank <= {{ cutoff }} THEN left_over END), 0) AS debiased_at_{{ cutoff }}
    FROM kept_hits
    GROUP BY model
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'debiased' AS metric, {{ cutoff }} AS k, debiased_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM models
LEFT JOIN kept_hits_values USING (model)
{%- endmacro %}

{% macro spark__debiased(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, COUNT(*) AS n_lists FROM recommendation_profile
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), placed AS (
    -- one row per relevant item, with its number of users and its place by that number, from 0
    SELECT
        item_id, COUNT(*) AS n_users,
        ROW_NUMBER() OVER (ORDER BY COUNT(*) NULLS LAST, item_id NULLS LAST) - 1 AS place,
        COUNT(*) OVER () - 1 AS last_place
    FROM relevant
    GROUP BY item_id
), quartiles AS (
    -- one row: the quartiles; between two places, linear
    SELECT
        SUM(n_users * GREATEST(1 - ABS(place - CAST(last_place AS DOUBLE) / 4), 0))
            AS first_quartile,
        SUM(n_users * GREATEST(1 - ABS(place - CAST(last_place * 3 AS DOUBLE) / 4), 0))
            AS third_quartile
    FROM placed
), item_users AS (
    -- one row per relevant item, with its number of users
    SELECT item_id, COUNT(*) AS n_users FROM relevant GROUP BY item_id
), shares AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id,
        LEAST(
            CAST((
                SELECT
                    FLOOR(third_quartile + CAST(1.5 AS DOUBLE) * (
                        third_quartile - first_quartile
                    )) AS border
                FROM quartiles
            ) AS DOUBLE) / n_users,
            1
        ) AS kept
    FROM relevant
    INNER JOIN item_users USING (item_id)
), sums AS (
    -- one row per user with a relevant item
    SELECT
        user_id, COUNT(*) AS n_relevant, SUM(kept) AS kept_sum,
        SUM(kept * (1 - kept)) AS kept_variance
    FROM shares
    GROUP BY user_id
), nodes AS (
    -- one row per node of a rule that integrates polynomials of degree 63 from 0 to 1 exactly
    SELECT
        CAST(0.001368069075259215 AS DOUBLE) AS node, CAST(0.003509305004734649 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.001368069075259215 AS DOUBLE) AS node,
        CAST(0.003509305004734649 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.007194244227365809 AS DOUBLE) AS node, CAST(0.008137197365452983 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.007194244227365809 AS DOUBLE) AS node,
        CAST(0.008137197365452983 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.017618872206246805 AS DOUBLE) AS node, CAST(0.012696032654631213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.017618872206246805 AS DOUBLE) AS node,
        CAST(0.012696032654631213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.03254696203113017 AS DOUBLE) AS node, CAST(0.017136931456510813 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.03254696203113017 AS DOUBLE) AS node,
        CAST(0.017136931456510813 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.0518394221169739 AS DOUBLE) AS node, CAST(0.021417949011113213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.0518394221169739 AS DOUBLE) AS node,
        CAST(0.021417949011113213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.07531619313371501 AS DOUBLE) AS node, CAST(0.025499029631188122 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.07531619313371501 AS DOUBLE) AS node,
        CAST(0.025499029631188122 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.10275810201602881 AS DOUBLE) AS node, CAST(0.029342046739267852 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.10275810201602881 AS DOUBLE) AS node,
        CAST(0.029342046739267852 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.13390894062985514 AS DOUBLE) AS node, CAST(0.032911111388180876 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.13390894062985514 AS DOUBLE) AS node,
        CAST(0.032911111388180876 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.16847786653489238 AS DOUBLE) AS node, CAST(0.036172897054424225 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.16847786653489238 AS DOUBLE) AS node,
        CAST(0.036172897054424225 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.20614212137961885 AS DOUBLE) AS node, CAST(0.039096947893535156 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.20614212137961885 AS DOUBLE) AS node,
        CAST(0.039096947893535156 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.24655004553388532 AS DOUBLE) AS node, CAST(0.04165596211347342 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.24655004553388532 AS DOUBLE) AS node,
        CAST(0.04165596211347342 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.28932436193468236 AS DOUBLE) AS node, CAST(0.043826046502201954 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.28932436193468236 AS DOUBLE) AS node,
        CAST(0.043826046502201954 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.33406569885893617 AS DOUBLE) AS node, CAST(0.04558693934788193 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.33406569885893617 AS DOUBLE) AS node,
        CAST(0.04558693934788193 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.38035631887393145 AS DOUBLE) AS node, CAST(0.04692219954040228 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.38035631887393145 AS DOUBLE) AS node,
        CAST(0.04692219954040228 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.42776401920860174 AS DOUBLE) AS node, CAST(0.04781936003963742 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.42776401920860174 AS DOUBLE) AS node,
        CAST(0.04781936003963742 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.4758461671561308 AS DOUBLE) AS node, CAST(0.048270044257363906 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.4758461671561308 AS DOUBLE) AS node,
        CAST(0.048270044257363906 AS DOUBLE) AS weight
), products AS (
    -- one row per user and node; with n other kept items, 1/(n + 1) is the integral of x^n, and the
    -- mean of x^n is this product over the items
    SELECT user_id, node, weight, SUM(LN(1 - kept + kept * node)) AS log_product
    FROM shares
    CROSS JOIN nodes
    GROUP BY user_id, node, weight
), parts AS (
    -- one row per relevant (user, item), with the mean of 1/(n + 1)
    SELECT
        user_id, item_id,
        SUM(weight * EXP(log_product) / NULLIF(1 - kept + kept * node, 0)) AS mean_part
    FROM shares
    INNER JOIN products USING (user_id)
    GROUP BY user_id, item_id
), kept_relevant AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id, kept,
        kept /* of more than 100 relevant items, the mean from two moments */ * CASE
            WHEN n_relevant <= 100
            THEN mean_part
            ELSE CAST(1 AS DOUBLE) / NULLIF(1 + kept_sum - kept, 0) + CAST(kept_variance - kept * (
                1 - kept
            ) AS DOUBLE) / NULLIF(POWER(1 + kept_sum - kept, 3), 0)
        END AS recall_part
    FROM shares
    INNER JOIN sums USING (user_id)
    INNER JOIN parts USING (user_id, item_id)
), losses AS (
    -- one row per user with a relevant item, with the probability that all these items are removed
    SELECT
        user_id, MAX(kept) AS most, SUM(LN(CASE WHEN kept < 1 THEN 1 - kept ELSE 1 END)) AS log_lost
    FROM kept_relevant
    GROUP BY user_id
), kept_hits AS (
    -- one row per hit of the audience
    SELECT
        'recommendations' AS model, CAST(rank AS BIGINT) AS rank, kept_relevant.recall_part,
        CAST(NULL AS DOUBLE) AS left_over
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN kept_relevant USING (user_id, item_id)
    UNION ALL
    -- one row per user of the audience with a relevant item
    SELECT
        'recommendations' AS model, 0 AS rank, CAST(NULL AS DOUBLE) AS recall_part,
        CASE WHEN most < 1 THEN 1 - EXP(log_lost) ELSE 1 END AS left_over
    FROM relevant_users
    INNER JOIN losses USING (user_id)
), kept_hits_values AS (
    -- one row per run with kept_hits
    SELECT
        model,
        CAST(COALESCE(SUM(CASE WHEN rank <= {{ cutoff }} THEN recall_part END), 0) AS DOUBLE)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN left_over END), 0) AS debiased_at_{{ cutoff }}
    FROM kept_hits
    GROUP BY model
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'debiased' AS metric, {{ cutoff }} AS k, debiased_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM models
LEFT JOIN kept_hits_values USING (model)
{%- endmacro %}

{% macro snowflake__debiased(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, COUNT(*) AS n_lists FROM recommendation_profile
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), placed AS (
    -- one row per relevant item, with its number of users and its place by that number, from 0
    SELECT
        item_id, COUNT(*) AS n_users, ROW_NUMBER() OVER (ORDER BY COUNT(*), item_id) - 1 AS place,
        COUNT(*) OVER () - 1 AS last_place
    FROM relevant
    GROUP BY item_id
), quartiles AS (
    -- one row: the quartiles; between two places, linear
    SELECT
        SUM(
            n_users * GREATEST_IGNORE_NULLS(1 - ABS(place - CAST(last_place AS DOUBLE) / 4), 0)
        ) AS first_quartile,
        SUM(
            n_users * GREATEST_IGNORE_NULLS(1 - ABS(place - CAST(last_place * 3 AS DOUBLE) / 4), 0)
        ) AS third_quartile
    FROM placed
), item_users AS (
    -- one row per relevant item, with its number of users
    SELECT item_id, COUNT(*) AS n_users FROM relevant GROUP BY item_id
), shares AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id,
        LEAST_IGNORE_NULLS(
            CAST((
                SELECT
                    FLOOR(third_quartile + CAST(1.5 AS DOUBLE) * (
                        third_quartile - first_quartile
                    )) AS border
                FROM quartiles
            ) AS DOUBLE) / n_users,
            1
        ) AS kept
    FROM relevant
    INNER JOIN item_users USING (item_id)
), sums AS (
    -- one row per user with a relevant item
    SELECT
        user_id, COUNT(*) AS n_relevant, SUM(kept) AS kept_sum,
        SUM(kept * (1 - kept)) AS kept_variance
    FROM shares
    GROUP BY user_id
), nodes AS (
    -- one row per node of a rule that integrates polynomials of degree 63 from 0 to 1 exactly
    SELECT
        CAST(0.001368069075259215 AS DOUBLE) AS node, CAST(0.003509305004734649 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.001368069075259215 AS DOUBLE) AS node,
        CAST(0.003509305004734649 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.007194244227365809 AS DOUBLE) AS node, CAST(0.008137197365452983 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.007194244227365809 AS DOUBLE) AS node,
        CAST(0.008137197365452983 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.017618872206246805 AS DOUBLE) AS node, CAST(0.012696032654631213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.017618872206246805 AS DOUBLE) AS node,
        CAST(0.012696032654631213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.03254696203113017 AS DOUBLE) AS node, CAST(0.017136931456510813 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.03254696203113017 AS DOUBLE) AS node,
        CAST(0.017136931456510813 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.0518394221169739 AS DOUBLE) AS node, CAST(0.021417949011113213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.0518394221169739 AS DOUBLE) AS node,
        CAST(0.021417949011113213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.07531619313371501 AS DOUBLE) AS node, CAST(0.025499029631188122 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.07531619313371501 AS DOUBLE) AS node,
        CAST(0.025499029631188122 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.10275810201602881 AS DOUBLE) AS node, CAST(0.029342046739267852 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.10275810201602881 AS DOUBLE) AS node,
        CAST(0.029342046739267852 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.13390894062985514 AS DOUBLE) AS node, CAST(0.032911111388180876 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.13390894062985514 AS DOUBLE) AS node,
        CAST(0.032911111388180876 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.16847786653489238 AS DOUBLE) AS node, CAST(0.036172897054424225 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.16847786653489238 AS DOUBLE) AS node,
        CAST(0.036172897054424225 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.20614212137961885 AS DOUBLE) AS node, CAST(0.039096947893535156 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.20614212137961885 AS DOUBLE) AS node,
        CAST(0.039096947893535156 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.24655004553388532 AS DOUBLE) AS node, CAST(0.04165596211347342 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.24655004553388532 AS DOUBLE) AS node,
        CAST(0.04165596211347342 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.28932436193468236 AS DOUBLE) AS node, CAST(0.043826046502201954 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.28932436193468236 AS DOUBLE) AS node,
        CAST(0.043826046502201954 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.33406569885893617 AS DOUBLE) AS node, CAST(0.04558693934788193 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.33406569885893617 AS DOUBLE) AS node,
        CAST(0.04558693934788193 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.38035631887393145 AS DOUBLE) AS node, CAST(0.04692219954040228 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.38035631887393145 AS DOUBLE) AS node,
        CAST(0.04692219954040228 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.42776401920860174 AS DOUBLE) AS node, CAST(0.04781936003963742 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.42776401920860174 AS DOUBLE) AS node,
        CAST(0.04781936003963742 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.4758461671561308 AS DOUBLE) AS node, CAST(0.048270044257363906 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.4758461671561308 AS DOUBLE) AS node,
        CAST(0.048270044257363906 AS DOUBLE) AS weight
), products AS (
    -- one row per user and node; with n other kept items, 1/(n + 1) is the integral of x^n, and the
    -- mean of x^n is this product over the items
    SELECT user_id, node, weight, SUM(LN(1 - kept + kept * node)) AS log_product
    FROM shares
    CROSS JOIN nodes
    GROUP BY user_id, node, weight
), parts AS (
    -- one row per relevant (user, item), with the mean of 1/(n + 1)
    SELECT
        user_id, item_id,
        SUM(weight * EXP(log_product) / NULLIF(1 - kept + kept * node, 0)) AS mean_part
    FROM shares
    INNER JOIN products USING (user_id)
    GROUP BY user_id, item_id
), kept_relevant AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id, kept,
        kept /* of more than 100 relevant items, the mean from two moments */ * CASE
            WHEN n_relevant <= 100
            THEN mean_part
            ELSE CAST(1 AS DOUBLE) / NULLIF(1 + kept_sum - kept, 0) + CAST(kept_variance - kept * (
                1 - kept
            ) AS DOUBLE) / NULLIF(POWER(1 + kept_sum - kept, 3), 0)
        END AS recall_part
    FROM shares
    INNER JOIN sums USING (user_id)
    INNER JOIN parts USING (user_id, item_id)
), losses AS (
    -- one row per user with a relevant item, with the probability that all these items are removed
    SELECT
        user_id, MAX(kept) AS most, SUM(LN(CASE WHEN kept < 1 THEN 1 - kept ELSE 1 END)) AS log_lost
    FROM kept_relevant
    GROUP BY user_id
), kept_hits AS (
    -- one row per hit of the audience
    SELECT
        'recommendations' AS model, CAST(rank AS BIGINT) AS rank, kept_relevant.recall_part,
        CAST(NULL AS DOUBLE) AS left_over
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN kept_relevant USING (user_id, item_id)
    UNION ALL
    -- one row per user of the audience with a relevant item
    SELECT
        'recommendations' AS model, 0 AS rank, CAST(NULL AS DOUBLE) AS recall_part,
        CASE WHEN most < 1 THEN 1 - EXP(log_lost) ELSE 1 END AS left_over
    FROM relevant_users
    INNER JOIN losses USING (user_id)
), kept_hits_values AS (
    -- one row per run with kept_hits
    SELECT
        model,
        CAST(COALESCE(SUM(CASE WHEN rank <= {{ cutoff }} THEN recall_part END), 0) AS DOUBLE)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN left_over END), 0) AS debiased_at_{{ cutoff }}
    FROM kept_hits
    GROUP BY model
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'debiased' AS metric, {{ cutoff }} AS k, debiased_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM models
LEFT JOIN kept_hits_values USING (model)
{%- endmacro %}

{% macro bigquery__debiased(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, COUNT(*) AS n_lists FROM recommendation_profile
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS FLOAT64) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), placed AS (
    -- one row per relevant item, with its number of users and its place by that number, from 0
    SELECT
        item_id, COUNT(*) AS n_users, ROW_NUMBER() OVER (ORDER BY COUNT(*), item_id) - 1 AS place,
        COUNT(*) OVER () - 1 AS last_place
    FROM relevant
    GROUP BY item_id
), quartiles AS (
    -- one row: the quartiles; between two places, linear
    SELECT
        SUM(
            n_users * GREATEST(COALESCE(1 - ABS(place - CAST(last_place AS FLOAT64) / 4), 0), 0)
        ) AS first_quartile,
        SUM(
            n_users * GREATEST(COALESCE(1 - ABS(place - CAST(last_place * 3 AS FLOAT64) / 4), 0), 0)
        ) AS third_quartile
    FROM placed
), item_users AS (
    -- one row per relevant item, with its number of users
    SELECT item_id, COUNT(*) AS n_users FROM relevant GROUP BY item_id
), shares AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id,
        LEAST(
            COALESCE(
                CAST((
                    SELECT
                        FLOOR(third_quartile + CAST(1.5 AS FLOAT64) * (
                            third_quartile - first_quartile
                        )) AS border
                    FROM quartiles
                ) AS FLOAT64) / n_users,
                1
            ),
            1
        ) AS kept
    FROM relevant
    INNER JOIN item_users USING (item_id)
), sums AS (
    -- one row per user with a relevant item
    SELECT
        user_id, COUNT(*) AS n_relevant, SUM(kept) AS kept_sum,
        SUM(kept * (1 - kept)) AS kept_variance
    FROM shares
    GROUP BY user_id
), nodes AS (
    -- one row per node of a rule that integrates polynomials of degree 63 from 0 to 1 exactly
    SELECT
        CAST(0.001368069075259215 AS FLOAT64) AS node,
        CAST(0.003509305004734649 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.001368069075259215 AS FLOAT64) AS node,
        CAST(0.003509305004734649 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.007194244227365809 AS FLOAT64) AS node,
        CAST(0.008137197365452983 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.007194244227365809 AS FLOAT64) AS node,
        CAST(0.008137197365452983 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.017618872206246805 AS FLOAT64) AS node,
        CAST(0.012696032654631213 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.017618872206246805 AS FLOAT64) AS node,
        CAST(0.012696032654631213 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.03254696203113017 AS FLOAT64) AS node,
        CAST(0.017136931456510813 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.03254696203113017 AS FLOAT64) AS node,
        CAST(0.017136931456510813 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.0518394221169739 AS FLOAT64) AS node, CAST(0.021417949011113213 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.0518394221169739 AS FLOAT64) AS node,
        CAST(0.021417949011113213 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.07531619313371501 AS FLOAT64) AS node,
        CAST(0.025499029631188122 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.07531619313371501 AS FLOAT64) AS node,
        CAST(0.025499029631188122 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.10275810201602881 AS FLOAT64) AS node,
        CAST(0.029342046739267852 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.10275810201602881 AS FLOAT64) AS node,
        CAST(0.029342046739267852 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.13390894062985514 AS FLOAT64) AS node,
        CAST(0.032911111388180876 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.13390894062985514 AS FLOAT64) AS node,
        CAST(0.032911111388180876 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.16847786653489238 AS FLOAT64) AS node,
        CAST(0.036172897054424225 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.16847786653489238 AS FLOAT64) AS node,
        CAST(0.036172897054424225 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.20614212137961885 AS FLOAT64) AS node,
        CAST(0.039096947893535156 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.20614212137961885 AS FLOAT64) AS node,
        CAST(0.039096947893535156 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.24655004553388532 AS FLOAT64) AS node, CAST(0.04165596211347342 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.24655004553388532 AS FLOAT64) AS node,
        CAST(0.04165596211347342 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.28932436193468236 AS FLOAT64) AS node,
        CAST(0.043826046502201954 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.28932436193468236 AS FLOAT64) AS node,
        CAST(0.043826046502201954 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.33406569885893617 AS FLOAT64) AS node, CAST(0.04558693934788193 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.33406569885893617 AS FLOAT64) AS node,
        CAST(0.04558693934788193 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.38035631887393145 AS FLOAT64) AS node, CAST(0.04692219954040228 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.38035631887393145 AS FLOAT64) AS node,
        CAST(0.04692219954040228 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.42776401920860174 AS FLOAT64) AS node, CAST(0.04781936003963742 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.42776401920860174 AS FLOAT64) AS node,
        CAST(0.04781936003963742 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        CAST(0.4758461671561308 AS FLOAT64) AS node, CAST(0.048270044257363906 AS FLOAT64) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.4758461671561308 AS FLOAT64) AS node,
        CAST(0.048270044257363906 AS FLOAT64) AS weight
), products AS (
    -- one row per user and node; with n other kept items, 1/(n + 1) is the integral of x^n, and the
    -- mean of x^n is this product over the items
    SELECT user_id, node, weight, SUM(LN(1 - kept + kept * node)) AS log_product
    FROM shares
    CROSS JOIN nodes
    GROUP BY user_id, node, weight
), parts AS (
    -- one row per relevant (user, item), with the mean of 1/(n + 1)
    SELECT
        user_id, item_id,
        SUM(weight * EXP(log_product) / NULLIF(1 - kept + kept * node, 0)) AS mean_part
    FROM shares
    INNER JOIN products USING (user_id)
    GROUP BY user_id, item_id
), kept_relevant AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id, kept,
        kept /* of more than 100 relevant items, the mean from two moments */ * CASE
            WHEN n_relevant <= 100
            THEN mean_part
            ELSE CAST(1 AS FLOAT64) / NULLIF(1 + kept_sum - kept, 0) + CAST(kept_variance - kept * (
                1 - kept
            ) AS FLOAT64) / NULLIF(POWER(1 + kept_sum - kept, 3), 0)
        END AS recall_part
    FROM shares
    INNER JOIN sums USING (user_id)
    INNER JOIN parts USING (user_id, item_id)
), losses AS (
    -- one row per user with a relevant item, with the probability that all these items are removed
    SELECT
        user_id, MAX(kept) AS most, SUM(LN(CASE WHEN kept < 1 THEN 1 - kept ELSE 1 END)) AS log_lost
    FROM kept_relevant
    GROUP BY user_id
), kept_hits AS (
    -- one row per hit of the audience
    SELECT
        'recommendations' AS model, CAST(rank AS INT64) AS rank, kept_relevant.recall_part,
        CAST(NULL AS FLOAT64) AS left_over
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN kept_relevant USING (user_id, item_id)
    UNION ALL
    -- one row per user of the audience with a relevant item
    SELECT
        'recommendations' AS model, 0 AS rank, CAST(NULL AS FLOAT64) AS recall_part,
        CASE WHEN most < 1 THEN 1 - EXP(log_lost) ELSE 1 END AS left_over
    FROM relevant_users
    INNER JOIN losses USING (user_id)
), kept_hits_values AS (
    -- one row per run with kept_hits
    SELECT
        model,
        CAST(COALESCE(SUM(CASE WHEN rank <= {{ cutoff }} THEN recall_part END), 0) AS FLOAT64)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN left_over END), 0) AS debiased_at_{{ cutoff }}
    FROM kept_hits
    GROUP BY model
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'debiased' AS metric, {{ cutoff }} AS k, debiased_at_{{ cutoff }} AS value, CAST(NULL AS INT64) AS n_users,
    CAST(NULL AS FLOAT64) AS std, CAST(NULL AS FLOAT64) AS ci_low, CAST(NULL AS FLOAT64) AS ci_high
FROM models
LEFT JOIN kept_hits_values USING (model)
{%- endmacro %}

{% macro trino__debiased(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, COUNT(*) AS n_lists FROM recommendation_profile
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), placed AS (
    -- one row per relevant item, with its number of users and its place by that number, from 0
    SELECT
        item_id, COUNT(*) AS n_users, ROW_NUMBER() OVER (ORDER BY COUNT(*), item_id) - 1 AS place,
        COUNT(*) OVER () - 1 AS last_place
    FROM relevant
    GROUP BY item_id
), quartiles AS (
    -- one row: the quartiles; between two places, linear
    SELECT
        SUM(
            n_users * GREATEST(COALESCE(1 - ABS(place - CAST(last_place AS DOUBLE) / 4), 0), 0)
        ) AS first_quartile,
        SUM(
            n_users * GREATEST(COALESCE(1 - ABS(place - CAST(last_place * 3 AS DOUBLE) / 4), 0), 0)
        ) AS third_quartile
    FROM placed
), item_users AS (
    -- one row per relevant item, with its number of users
    SELECT item_id, COUNT(*) AS n_users FROM relevant GROUP BY item_id
), shares AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id,
        LEAST(
            COALESCE(
                CAST((
                    SELECT
                        FLOOR(third_quartile + CAST(1.5 AS DOUBLE) * (
                            third_quartile - first_quartile
                        )) AS border
                    FROM quartiles
                ) AS DOUBLE) / n_users,
                1
            ),
            1
        ) AS kept
    FROM relevant
    INNER JOIN item_users USING (item_id)
), sums AS (
    -- one row per user with a relevant item
    SELECT
        user_id, COUNT(*) AS n_relevant, SUM(kept) AS kept_sum,
        SUM(kept * (1 - kept)) AS kept_variance
    FROM shares
    GROUP BY user_id
), nodes AS (
    -- one row per node of a rule that integrates polynomials of degree 63 from 0 to 1 exactly
    SELECT
        CAST(0.001368069075259215 AS DOUBLE) AS node, CAST(0.003509305004734649 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.001368069075259215 AS DOUBLE) AS node,
        CAST(0.003509305004734649 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.007194244227365809 AS DOUBLE) AS node, CAST(0.008137197365452983 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.007194244227365809 AS DOUBLE) AS node,
        CAST(0.008137197365452983 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.017618872206246805 AS DOUBLE) AS node, CAST(0.012696032654631213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.017618872206246805 AS DOUBLE) AS node,
        CAST(0.012696032654631213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.03254696203113017 AS DOUBLE) AS node, CAST(0.017136931456510813 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.03254696203113017 AS DOUBLE) AS node,
        CAST(0.017136931456510813 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.0518394221169739 AS DOUBLE) AS node, CAST(0.021417949011113213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.0518394221169739 AS DOUBLE) AS node,
        CAST(0.021417949011113213 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.07531619313371501 AS DOUBLE) AS node, CAST(0.025499029631188122 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.07531619313371501 AS DOUBLE) AS node,
        CAST(0.025499029631188122 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.10275810201602881 AS DOUBLE) AS node, CAST(0.029342046739267852 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.10275810201602881 AS DOUBLE) AS node,
        CAST(0.029342046739267852 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.13390894062985514 AS DOUBLE) AS node, CAST(0.032911111388180876 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.13390894062985514 AS DOUBLE) AS node,
        CAST(0.032911111388180876 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.16847786653489238 AS DOUBLE) AS node, CAST(0.036172897054424225 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.16847786653489238 AS DOUBLE) AS node,
        CAST(0.036172897054424225 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.20614212137961885 AS DOUBLE) AS node, CAST(0.039096947893535156 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.20614212137961885 AS DOUBLE) AS node,
        CAST(0.039096947893535156 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.24655004553388532 AS DOUBLE) AS node, CAST(0.04165596211347342 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.24655004553388532 AS DOUBLE) AS node,
        CAST(0.04165596211347342 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.28932436193468236 AS DOUBLE) AS node, CAST(0.043826046502201954 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.28932436193468236 AS DOUBLE) AS node,
        CAST(0.043826046502201954 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.33406569885893617 AS DOUBLE) AS node, CAST(0.04558693934788193 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.33406569885893617 AS DOUBLE) AS node,
        CAST(0.04558693934788193 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.38035631887393145 AS DOUBLE) AS node, CAST(0.04692219954040228 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.38035631887393145 AS DOUBLE) AS node,
        CAST(0.04692219954040228 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.42776401920860174 AS DOUBLE) AS node, CAST(0.04781936003963742 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.42776401920860174 AS DOUBLE) AS node,
        CAST(0.04781936003963742 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        CAST(0.4758461671561308 AS DOUBLE) AS node, CAST(0.048270044257363906 AS DOUBLE) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.4758461671561308 AS DOUBLE) AS node,
        CAST(0.048270044257363906 AS DOUBLE) AS weight
), products AS (
    -- one row per user and node; with n other kept items, 1/(n + 1) is the integral of x^n, and the
    -- mean of x^n is this product over the items
    SELECT user_id, node, weight, SUM(LN(1 - kept + kept * node)) AS log_product
    FROM shares
    CROSS JOIN nodes
    GROUP BY user_id, node, weight
), parts AS (
    -- one row per relevant (user, item), with the mean of 1/(n + 1)
    SELECT
        user_id, item_id,
        SUM(weight * EXP(log_product) / NULLIF(1 - kept + kept * node, 0)) AS mean_part
    FROM shares
    INNER JOIN products USING (user_id)
    GROUP BY user_id, item_id
), kept_relevant AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id, kept,
        kept /* of more than 100 relevant items, the mean from two moments */ * CASE
            WHEN n_relevant <= 100
            THEN mean_part
            ELSE CAST(1 AS DOUBLE) / NULLIF(1 + kept_sum - kept, 0) + CAST(kept_variance - kept * (
                1 - kept
            ) AS DOUBLE) / NULLIF(POWER(1 + kept_sum - kept, 3), 0)
        END AS recall_part
    FROM shares
    INNER JOIN sums USING (user_id)
    INNER JOIN parts USING (user_id, item_id)
), losses AS (
    -- one row per user with a relevant item, with the probability that all these items are removed
    SELECT
        user_id, MAX(kept) AS most, SUM(LN(CASE WHEN kept < 1 THEN 1 - kept ELSE 1 END)) AS log_lost
    FROM kept_relevant
    GROUP BY user_id
), kept_hits AS (
    -- one row per hit of the audience
    SELECT
        'recommendations' AS model, CAST(rank AS BIGINT) AS rank, kept_relevant.recall_part,
        CAST(NULL AS DOUBLE) AS left_over
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN kept_relevant USING (user_id, item_id)
    UNION ALL
    -- one row per user of the audience with a relevant item
    SELECT
        'recommendations' AS model, 0 AS rank, CAST(NULL AS DOUBLE) AS recall_part,
        CASE WHEN most < 1 THEN 1 - EXP(log_lost) ELSE 1 END AS left_over
    FROM relevant_users
    INNER JOIN losses USING (user_id)
), kept_hits_values AS (
    -- one row per run with kept_hits
    SELECT
        model,
        CAST(COALESCE(SUM(CASE WHEN rank <= {{ cutoff }} THEN recall_part END), 0) AS DOUBLE)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN left_over END), 0) AS debiased_at_{{ cutoff }}
    FROM kept_hits
    GROUP BY model
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'debiased' AS metric, {{ cutoff }} AS k, debiased_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE) AS std, CAST(NULL AS DOUBLE) AS ci_low, CAST(NULL AS DOUBLE) AS ci_high
FROM models
LEFT JOIN kept_hits_values USING (model)
{%- endmacro %}

{% macro athena__debiased(recommendations, interactions, cutoff) -%}
{{ ranking_metrics.trino__debiased(recommendations, interactions, cutoff) }}
{%- endmacro %}

{% macro clickhouse__debiased(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, CAST(COUNT(*) AS Nullable(Int64)) AS n_lists
    FROM recommendation_profile
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS Nullable(Float64)) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), placed AS (
    -- one row per relevant item, with its number of users and its place by that number, from 0
    SELECT
        item_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_users,
        CAST(ROW_NUMBER() OVER (ORDER BY CAST(COUNT(*) AS Nullable(Int64)), item_id)
            AS Nullable(Int64)) - 1 AS place,
        CAST(COUNT(*) OVER () AS Nullable(Int64)) - 1 AS last_place
    FROM relevant
    GROUP BY item_id
), quartiles AS (
    -- one row: the quartiles; between two places, linear
    SELECT
        SUM(
            n_users * GREATEST(1 - ABS(place - CAST(last_place AS Nullable(Float64)) / 4), 0)
        ) AS first_quartile,
        SUM(
            n_users * GREATEST(1 - ABS(place - CAST(last_place * 3 AS Nullable(Float64)) / 4), 0)
        ) AS third_quartile
    FROM placed
), item_users AS (
    -- one row per relevant item, with its number of users
    SELECT item_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_users FROM relevant GROUP BY item_id
), shares AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id,
        LEAST(
            CAST((
                SELECT
                    FLOOR(
                        third_quartile + CAST(1.5 AS Nullable(Float64)) * (
                            third_quartile - first_quartile
                        )
                    ) AS border
                FROM quartiles
            ) AS Nullable(Float64)) / n_users,
            1
        ) AS kept
    FROM relevant
    INNER JOIN item_users USING (item_id)
), sums AS (
    -- one row per user with a relevant item
    SELECT
        user_id, CAST(COUNT(*) AS Nullable(Int64)) AS n_relevant, SUM(kept) AS kept_sum,
        SUM(kept * (1 - kept)) AS kept_variance
    FROM shares
    GROUP BY user_id
), nodes AS (
    -- one row per node of a rule that integrates polynomials of degree 63 from 0 to 1 exactly
    SELECT
        CAST(0.001368069075259215 AS Nullable(Float64)) AS node,
        CAST(0.003509305004734649 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.001368069075259215 AS Nullable(Float64)) AS node,
        CAST(0.003509305004734649 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.007194244227365809 AS Nullable(Float64)) AS node,
        CAST(0.008137197365452983 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.007194244227365809 AS Nullable(Float64)) AS node,
        CAST(0.008137197365452983 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.017618872206246805 AS Nullable(Float64)) AS node,
        CAST(0.012696032654631213 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.017618872206246805 AS Nullable(Float64)) AS node,
        CAST(0.012696032654631213 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.03254696203113017 AS Nullable(Float64)) AS node,
        CAST(0.017136931456510813 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.03254696203113017 AS Nullable(Float64)) AS node,
        CAST(0.017136931456510813 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.0518394221169739 AS Nullable(Float64)) AS node,
        CAST(0.021417949011113213 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.0518394221169739 AS Nullable(Float64)) AS node,
        CAST(0.021417949011113213 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.07531619313371501 AS Nullable(Float64)) AS node,
        CAST(0.025499029631188122 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.07531619313371501 AS Nullable(Float64)) AS node,
        CAST(0.025499029631188122 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.10275810201602881 AS Nullable(Float64)) AS node,
        CAST(0.029342046739267852 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.10275810201602881 AS Nullable(Float64)) AS node,
        CAST(0.029342046739267852 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.13390894062985514 AS Nullable(Float64)) AS node,
        CAST(0.032911111388180876 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.13390894062985514 AS Nullable(Float64)) AS node,
        CAST(0.032911111388180876 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.16847786653489238 AS Nullable(Float64)) AS node,
        CAST(0.036172897054424225 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.16847786653489238 AS Nullable(Float64)) AS node,
        CAST(0.036172897054424225 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.20614212137961885 AS Nullable(Float64)) AS node,
        CAST(0.039096947893535156 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.20614212137961885 AS Nullable(Float64)) AS node,
        CAST(0.039096947893535156 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.24655004553388532 AS Nullable(Float64)) AS node,
        CAST(0.04165596211347342 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.24655004553388532 AS Nullable(Float64)) AS node,
        CAST(0.04165596211347342 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.28932436193468236 AS Nullable(Float64)) AS node,
        CAST(0.043826046502201954 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.28932436193468236 AS Nullable(Float64)) AS node,
        CAST(0.043826046502201954 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.33406569885893617 AS Nullable(Float64)) AS node,
        CAST(0.04558693934788193 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.33406569885893617 AS Nullable(Float64)) AS node,
        CAST(0.04558693934788193 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.38035631887393145 AS Nullable(Float64)) AS node,
        CAST(0.04692219954040228 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.38035631887393145 AS Nullable(Float64)) AS node,
        CAST(0.04692219954040228 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.42776401920860174 AS Nullable(Float64)) AS node,
        CAST(0.04781936003963742 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.42776401920860174 AS Nullable(Float64)) AS node,
        CAST(0.04781936003963742 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        CAST(0.4758461671561308 AS Nullable(Float64)) AS node,
        CAST(0.048270044257363906 AS Nullable(Float64)) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.4758461671561308 AS Nullable(Float64)) AS node,
        CAST(0.048270044257363906 AS Nullable(Float64)) AS weight
), products AS (
    -- one row per user and node; with n other kept items, 1/(n + 1) is the integral of x^n, and the
    -- mean of x^n is this product over the items
    SELECT user_id, node, weight, SUM(LN(1 - kept + kept * node)) AS log_product
    FROM shares
    CROSS JOIN nodes
    GROUP BY user_id, node, weight
), parts AS (
    -- one row per relevant (user, item), with the mean of 1/(n + 1)
    SELECT
        user_id, item_id,
        SUM(weight * EXP(log_product) / nullIf(1 - kept + kept * node, 0)) AS mean_part
    FROM shares
    INNER JOIN products USING (user_id)
    GROUP BY user_id, item_id
), kept_relevant AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id, kept,
        kept /* of more than 100 relevant items, the mean from two moments */ * CASE
            WHEN n_relevant <= 100
            THEN mean_part
            ELSE CAST(1 AS Nullable(Float64)) / nullIf(1 + kept_sum - kept, 0)
                + CAST(kept_variance - kept * (
                1 - kept
            ) AS Nullable(Float64)) / nullIf(POWER(1 + kept_sum - kept, 3), 0)
        END AS recall_part
    FROM shares
    INNER JOIN sums USING (user_id)
    INNER JOIN parts USING (user_id, item_id)
), losses AS (
    -- one row per user with a relevant item, with the probability that all these items are removed
    SELECT
        user_id, MAX(kept) AS most, SUM(LN(CASE WHEN kept < 1 THEN 1 - kept ELSE 1 END)) AS log_lost
    FROM kept_relevant
    GROUP BY user_id
), kept_hits AS (
    -- one row per hit of the audience
    SELECT
        'recommendations' AS model, CAST(rank AS Nullable(Int64)) AS rank,
        kept_relevant.recall_part AS recall_part, CAST(NULL AS Nullable(Float64)) AS left_over
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN kept_relevant USING (user_id, item_id)
    UNION ALL
    -- one row per user of the audience with a relevant item
    SELECT
        'recommendations' AS model, 0 AS rank, CAST(NULL AS Nullable(Float64)) AS recall_part,
        CASE WHEN most < 1 THEN 1 - EXP(log_lost) ELSE 1 END AS left_over
    FROM relevant_users
    INNER JOIN losses USING (user_id)
), kept_hits_values AS (
    -- one row per run with kept_hits
    SELECT
        model,
        CAST(COALESCE(SUM(CASE WHEN rank <= {{ cutoff }} THEN recall_part END), 0) AS Nullable(Float64))
            / nullIf(SUM(CASE WHEN rank <= {{ cutoff }} THEN left_over END), 0) AS debiased_at_{{ cutoff }}
    FROM kept_hits
    GROUP BY model
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'debiased' AS metric, {{ cutoff }} AS k, debiased_at_{{ cutoff }} AS value,
    CAST(NULL AS Nullable(Int64)) AS n_users, CAST(NULL AS Nullable(Float64)) AS std,
    CAST(NULL AS Nullable(Float64)) AS ci_low, CAST(NULL AS Nullable(Float64)) AS ci_high
FROM models
LEFT JOIN kept_hits_values USING (model)
SETTINGS join_use_nulls = 1, group_by_use_nulls = 1, aggregate_functions_null_for_empty = 1, least_greatest_legacy_null_behavior = 0, prefer_column_name_to_alias = 1, query_plan_max_optimizations_to_apply = 1000000
{%- endmacro %}

{% macro postgres__debiased(recommendations, interactions, cutoff) -%}
WITH recommendations AS (
    {{ recommendations | indent(4) }}
), interactions AS (
    {{ interactions | indent(4) }}
), recommendation_profile AS (
    -- one row per recommendation list
    SELECT user_id FROM recommendations GROUP BY user_id
), models AS (
    -- one row per model
    SELECT 'recommendations' AS model, COUNT(*) AS n_lists FROM recommendation_profile
), relevant AS (
    -- one row per relevant (user, item)
    SELECT user_id, item_id FROM interactions WHERE CAST(relevance AS DOUBLE PRECISION) > 0
), relevant_users AS (
    -- one row per user with a relevant item
    SELECT user_id FROM relevant GROUP BY user_id
), placed AS (
    -- one row per relevant item, with its number of users and its place by that number, from 0
    SELECT
        item_id, COUNT(*) AS n_users, ROW_NUMBER() OVER (ORDER BY COUNT(*), item_id) - 1 AS place,
        COUNT(*) OVER () - 1 AS last_place
    FROM relevant
    GROUP BY item_id
), quartiles AS (
    -- one row: the quartiles; between two places, linear
    SELECT
        SUM(n_users * GREATEST(1 - ABS(place - CAST(last_place AS DOUBLE PRECISION) / 4), 0))
            AS first_quartile,
        SUM(
            n_users * GREATEST(1 - ABS(place - CAST(last_place * 3 AS DOUBLE PRECISION) / 4), 0)
        ) AS third_quartile
    FROM placed
), item_users AS (
    -- one row per relevant item, with its number of users
    SELECT item_id, COUNT(*) AS n_users FROM relevant GROUP BY item_id
), shares AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id,
        LEAST(
            CAST((
                SELECT
                    FLOOR(
                        third_quartile + CAST(1.5 AS DOUBLE PRECISION) * (
                            third_quartile - first_quartile
                        )
                    ) AS border
                FROM quartiles
            ) AS DOUBLE PRECISION) / n_users,
            1
        ) AS kept
    FROM relevant
    INNER JOIN item_users USING (item_id)
), sums AS (
    -- one row per user with a relevant item
    SELECT
        user_id, COUNT(*) AS n_relevant, SUM(kept) AS kept_sum,
        SUM(kept * (1 - kept)) AS kept_variance
    FROM shares
    GROUP BY user_id
), nodes AS (
    -- one row per node of a rule that integrates polynomials of degree 63 from 0 to 1 exactly
    SELECT
        CAST(0.001368069075259215 AS DOUBLE PRECISION) AS node,
        CAST(0.003509305004734649 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.001368069075259215 AS DOUBLE PRECISION) AS node,
        CAST(0.003509305004734649 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.007194244227365809 AS DOUBLE PRECISION) AS node,
        CAST(0.008137197365452983 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.007194244227365809 AS DOUBLE PRECISION) AS node,
        CAST(0.008137197365452983 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.017618872206246805 AS DOUBLE PRECISION) AS node,
        CAST(0.012696032654631213 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.017618872206246805 AS DOUBLE PRECISION) AS node,
        CAST(0.012696032654631213 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.03254696203113017 AS DOUBLE PRECISION) AS node,
        CAST(0.017136931456510813 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.03254696203113017 AS DOUBLE PRECISION) AS node,
        CAST(0.017136931456510813 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.0518394221169739 AS DOUBLE PRECISION) AS node,
        CAST(0.021417949011113213 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.0518394221169739 AS DOUBLE PRECISION) AS node,
        CAST(0.021417949011113213 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.07531619313371501 AS DOUBLE PRECISION) AS node,
        CAST(0.025499029631188122 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.07531619313371501 AS DOUBLE PRECISION) AS node,
        CAST(0.025499029631188122 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.10275810201602881 AS DOUBLE PRECISION) AS node,
        CAST(0.029342046739267852 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.10275810201602881 AS DOUBLE PRECISION) AS node,
        CAST(0.029342046739267852 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.13390894062985514 AS DOUBLE PRECISION) AS node,
        CAST(0.032911111388180876 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.13390894062985514 AS DOUBLE PRECISION) AS node,
        CAST(0.032911111388180876 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.16847786653489238 AS DOUBLE PRECISION) AS node,
        CAST(0.036172897054424225 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.16847786653489238 AS DOUBLE PRECISION) AS node,
        CAST(0.036172897054424225 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.20614212137961885 AS DOUBLE PRECISION) AS node,
        CAST(0.039096947893535156 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.20614212137961885 AS DOUBLE PRECISION) AS node,
        CAST(0.039096947893535156 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.24655004553388532 AS DOUBLE PRECISION) AS node,
        CAST(0.04165596211347342 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.24655004553388532 AS DOUBLE PRECISION) AS node,
        CAST(0.04165596211347342 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.28932436193468236 AS DOUBLE PRECISION) AS node,
        CAST(0.043826046502201954 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.28932436193468236 AS DOUBLE PRECISION) AS node,
        CAST(0.043826046502201954 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.33406569885893617 AS DOUBLE PRECISION) AS node,
        CAST(0.04558693934788193 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.33406569885893617 AS DOUBLE PRECISION) AS node,
        CAST(0.04558693934788193 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.38035631887393145 AS DOUBLE PRECISION) AS node,
        CAST(0.04692219954040228 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.38035631887393145 AS DOUBLE PRECISION) AS node,
        CAST(0.04692219954040228 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.42776401920860174 AS DOUBLE PRECISION) AS node,
        CAST(0.04781936003963742 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.42776401920860174 AS DOUBLE PRECISION) AS node,
        CAST(0.04781936003963742 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        CAST(0.4758461671561308 AS DOUBLE PRECISION) AS node,
        CAST(0.048270044257363906 AS DOUBLE PRECISION) AS weight
    UNION ALL
    SELECT
        1 - CAST(0.4758461671561308 AS DOUBLE PRECISION) AS node,
        CAST(0.048270044257363906 AS DOUBLE PRECISION) AS weight
), products AS (
    -- one row per user and node; with n other kept items, 1/(n + 1) is the integral of x^n, and the
    -- mean of x^n is this product over the items
    SELECT user_id, node, weight, SUM(LN(1 - kept + kept * node)) AS log_product
    FROM shares
    CROSS JOIN nodes
    GROUP BY user_id, node, weight
), parts AS (
    -- one row per relevant (user, item), with the mean of 1/(n + 1)
    SELECT
        user_id, item_id,
        SUM(
            weight * CASE
                WHEN log_product < -600 THEN CAST(0 AS DOUBLE PRECISION) ELSE EXP(log_product)
            END / NULLIF(1 - kept + kept * node, 0)
        ) AS mean_part
    FROM shares
    INNER JOIN products USING (user_id)
    GROUP BY user_id, item_id
), kept_relevant AS (
    -- one row per relevant (user, item)
    SELECT
        user_id, item_id, kept,
        kept /* of more than 100 relevant items, the mean from two moments */ * CASE
            WHEN n_relevant <= 100
            THEN mean_part
            ELSE CAST(1 AS DOUBLE PRECISION) / NULLIF(1 + kept_sum - kept, 0)
                + CAST(kept_variance - kept * (
                1 - kept
            ) AS DOUBLE PRECISION) / NULLIF(POWER(1 + kept_sum - kept, 3), 0)
        END AS recall_part
    FROM shares
    INNER JOIN sums USING (user_id)
    INNER JOIN parts USING (user_id, item_id)
), losses AS (
    -- one row per user with a relevant item, with the probability that all these items are removed
    SELECT
        user_id, MAX(kept) AS most, SUM(LN(CASE WHEN kept < 1 THEN 1 - kept ELSE 1 END)) AS log_lost
    FROM kept_relevant
    GROUP BY user_id
), kept_hits AS (
    -- one row per hit of the audience
    SELECT
        'recommendations' AS model, CAST(rank AS BIGINT) AS rank, kept_relevant.recall_part,
        CAST(NULL AS DOUBLE PRECISION) AS left_over
    FROM recommendations AS ranked
    INNER JOIN relevant USING (user_id, item_id)
    INNER JOIN kept_relevant USING (user_id, item_id)
    UNION ALL
    -- one row per user of the audience with a relevant item
    SELECT
        'recommendations' AS model, 0 AS rank, CAST(NULL AS DOUBLE PRECISION) AS recall_part,
        CASE
            WHEN most < 1
            THEN 1
                - CASE WHEN log_lost < -600 THEN CAST(0 AS DOUBLE PRECISION) ELSE EXP(log_lost) END
            ELSE 1
        END AS left_over
    FROM relevant_users
    INNER JOIN losses USING (user_id)
), kept_hits_values AS (
    -- one row per run with kept_hits
    SELECT
        model,
        CAST(COALESCE(SUM(CASE WHEN rank <= {{ cutoff }} THEN recall_part END), 0) AS DOUBLE PRECISION)
            / NULLIF(SUM(CASE WHEN rank <= {{ cutoff }} THEN left_over END), 0) AS debiased_at_{{ cutoff }}
    FROM kept_hits
    GROUP BY model
)
-- the interval is value ± 1.9599639845400536 standard errors
SELECT
    'debiased' AS metric, {{ cutoff }} AS k, debiased_at_{{ cutoff }} AS value, CAST(NULL AS BIGINT) AS n_users,
    CAST(NULL AS DOUBLE PRECISION) AS std, CAST(NULL AS DOUBLE PRECISION) AS ci_low,
    CAST(NULL AS DOUBLE PRECISION) AS ci_high
FROM models
LEFT JOIN kept_hits_values USING (model)
{%- endmacro %}
