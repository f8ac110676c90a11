{#- Tests of the tables that metrics read. Metrics do not check their tables: a repeated row or a gap
    in the ranks gives a wrong value, without an error. -#}

{% test valid_recommendations(
    model, user_column='user_id', item_column='item_id', rank_column='rank', score_column=none
) -%}
WITH recommendations AS (
    -- one row per recommended item
    SELECT
        {{ ranking_metrics._named(user_column, "user_id") }},
        {{ ranking_metrics._named(item_column, "item_id") }},
        {{ ranking_metrics._named(score_column or rank_column, "position_in_list") }}
    FROM {{ model }}
), repeated_items AS (
    -- one row per item that occurs more than once in the list of a user
    SELECT user_id, item_id FROM recommendations GROUP BY user_id, item_id HAVING count(*) > 1
), {% if not score_column -%}
numbered AS (
    -- one row per list, with its ranks in short
    SELECT
        user_id,
        count(*) AS n_rows,
        count(DISTINCT position_in_list) AS n_ranks,
        min(position_in_list) AS first_rank,
        max(position_in_list) AS last_rank
    FROM recommendations
    GROUP BY user_id
), {% endif -%}
problems AS (
    -- one row per rule
    SELECT 'no rows: export the lists again' AS problem, 1 - least(count(*), 1) AS n
    FROM recommendations
    UNION ALL
    SELECT
        'rows without user or item: remove these rows, or fix the export that lost the ids',
        count(*)
    FROM recommendations
    WHERE user_id IS NULL OR item_id IS NULL
    UNION ALL
    SELECT 'items that are repeated in the list of a user: remove the repeated rows', count(*)
    FROM repeated_items
    UNION ALL
    {% if score_column -%}
    SELECT 'rows without a score: remove or fix these rows', count(*)
    FROM recommendations
    WHERE position_in_list IS NULL
    {%- else -%}
    SELECT 'rows whose rank is not a whole number from 1: remove or fix these rows', count(*)
    FROM recommendations
    WHERE
        position_in_list IS NULL
        OR position_in_list < 1
        OR position_in_list <> floor(position_in_list)
    UNION ALL
    SELECT
        'lists whose ranks are not 1, 2, 3, ...: give each item of a complete list its own rank',
        count(*)
    FROM numbered
    WHERE n_ranks <> n_rows OR first_rank <> 1 OR last_rank <> n_rows
    {%- endif %}
)
-- one row per problem, with the number of rows, items or lists
SELECT problem, n FROM problems WHERE n > 0
{%- endtest %}

{% test valid_interactions(
    model, user_column='user_id', item_column='item_id', relevance_column=none
) -%}
WITH interactions AS (
    -- one row per held-out interaction
    SELECT
        {{ ranking_metrics._named(user_column, "user_id") }},
        {{ ranking_metrics._named(item_column, "item_id") }},
        {{ ranking_metrics._named(relevance_column or "1", "relevance") }}
    FROM {{ model }}
), repeated_items AS (
    -- one row per item that occurs more than once for a user
    SELECT user_id, item_id FROM interactions GROUP BY user_id, item_id HAVING count(*) > 1
), problems AS (
    -- one row per rule
    SELECT 'no rows: export the interactions again' AS problem, 1 - least(count(*), 1) AS n
    FROM interactions
    UNION ALL
    SELECT
        'rows without user or item: remove these rows, or fix the export that lost the ids',
        count(*)
    FROM interactions
    WHERE user_id IS NULL OR item_id IS NULL
    UNION ALL
    SELECT
        'items that are repeated for a user: keep one row per user and item',
        count(*)
    FROM repeated_items
    UNION ALL
    SELECT 'rows without relevance: remove or fix these rows', count(*)
    FROM interactions
    WHERE relevance IS NULL
)
-- one row per problem, with the number of rows or items
SELECT problem, n FROM problems WHERE n > 0
{%- endtest %}
