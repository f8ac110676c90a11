-- Each macro is the statement of `sqlmetrics sql`, over the tables that a call names: tables, views
-- or files ('recs.parquet'). In the DuckDB shell (1.4 or later), `.read` this file. Then call a
-- macro for a cutoff or for whole lists:
--     FROM sm_METRIC('recs', 'truth', k := 10);
--     FROM sm_METRIC('recs', 'truth');
--
-- Columns of the tables; those in brackets are optional:
--     recommendations  user_id, item_id, rank (1 is the top) or score (higher is better), [model]
--     interactions     user_id, item_id, [relevance]: 1 if there is no such column
--     history          user_id, item_id
--     items            item_id, and those that metrics read: price, category, item_group, features
--     aspects          item_id, aspect, [user_id]: NULL for aspects of all users
--     baseline         user_id, item_id, rank or score
--     logs             user_id, item_id, reward, [propensity]: all items are equally likely
--
-- Macros do not validate their tables. A repeated row or a gap in the ranks gives a wrong value
-- without an error: run `sqlmetrics check`.

-- The cutoff k, which must be a positive whole number.
CREATE OR REPLACE MACRO sm_cutoff(k) AS
CASE
    WHEN k >= 1 AND k = floor(k) THEN CAST(k AS INTEGER)
    ELSE error(concat('k must be a positive whole number, not ', k, '; omit k for whole lists'))
END;

-- A list of categories or groups, from a list or a single value.
CREATE OR REPLACE MACRO sm_list(given) AS (
    SELECT list(value)
    FROM (SELECT unnest([given], recursive := TRUE) AS value)
);

-- Ranked lists, ordered by minus the rank or, without ranks, by the score. Here and below, `missing`
-- has the values of columns that the table lacks.
CREATE OR REPLACE MACRO sm_read_lists(lists) AS TABLE
SELECT
    given.model,
    given.user_id,
    given.item_id,
    coalesce(
        -CAST(given.rank AS DOUBLE),
        CAST(given.score AS DOUBLE),
        error('ranked lists need a column rank or score that is never NULL')
    ) AS ordered_by
FROM (SELECT 'recommendations' AS model, NULL AS rank, NULL AS score) AS missing
CROSS JOIN LATERAL (SELECT model, user_id, item_id, rank, score FROM query_table(lists)) AS given;

-- Ranked lists with scores, whether or not they have ranks.
CREATE OR REPLACE MACRO sm_read_scores(lists) AS TABLE
SELECT given.model, given.user_id, given.item_id, given.score
FROM (SELECT 'recommendations' AS model) AS missing
CROSS JOIN LATERAL (SELECT model, user_id, item_id, score FROM query_table(lists)) AS given;

-- Ranked lists with ranks.
CREATE OR REPLACE MACRO sm_read_ranks(lists) AS TABLE
SELECT given.model, given.user_id, given.item_id, given.rank
FROM (SELECT 'recommendations' AS model) AS missing
CROSS JOIN LATERAL (SELECT model, user_id, item_id, rank FROM query_table(lists)) AS given;

-- Held-out interactions; the relevance is 1 if the table has no such column.
CREATE OR REPLACE MACRO sm_read_interactions(interactions) AS TABLE
SELECT given.user_id, given.item_id, given.relevance
FROM (SELECT 1 AS relevance) AS missing
CROSS JOIN LATERAL (SELECT user_id, item_id, relevance FROM query_table(interactions)) AS given;

-- Held-out interactions with their relevance.
CREATE OR REPLACE MACRO sm_read_grades(interactions) AS TABLE
SELECT user_id, item_id, relevance
FROM query_table(interactions);

-- Aspects of items for users; without a user, an aspect applies to all users with an interaction
-- with the item.
CREATE OR REPLACE MACRO sm_read_aspects(aspects, interactions) AS TABLE
SELECT coalesce(given.user_id, users.user_id) AS user_id, given.item_id, given.aspect
FROM (SELECT NULL AS user_id) AS missing
CROSS JOIN LATERAL (SELECT user_id, item_id, aspect FROM query_table(aspects)) AS given
LEFT JOIN query_table(interactions) AS users
    ON given.user_id IS NULL AND given.item_id = users.item_id;

-- Logged decisions; without propensities, all items of the table are equally likely.
CREATE OR REPLACE MACRO sm_read_logs(logs) AS TABLE
SELECT given.user_id, given.item_id, given.reward, given.propensity
FROM (SELECT 1 / count(DISTINCT item_id) AS propensity FROM query_table(logs)) AS missing
CROSS JOIN LATERAL (SELECT user_id, item_id, reward, propensity FROM query_table(logs)) AS given;
