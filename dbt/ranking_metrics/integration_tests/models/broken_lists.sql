-- one row per recommended item: an item twice for u1, an item without id, and ranks with gaps
SELECT
    user_id,
    CASE WHEN user_id = 'u1' AND item_id = 'b' THEN 'a' WHEN user_id <> 'u2' THEN item_id END
        AS item_id,
    CASE WHEN user_id = 'u3' THEN rank + 1 ELSE rank END AS rank
FROM {{ ref('recommendations') }}
WHERE user_id IN ('u1', 'u2', 'u3') AND item_id <> 'c'
