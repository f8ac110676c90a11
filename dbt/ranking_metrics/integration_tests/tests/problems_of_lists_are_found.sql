-- one row if the test finds other problems
WITH found AS (
    {{ ranking_metrics.test_valid_recommendations(ref('broken_lists')) | indent(4) }}
)

-- u1 has a, a, d, e at ranks 1, 2, 4, 5; u2 has no id at rank 1; u3 has a and b at ranks 2 and 3
SELECT count(*) AS n_problems
FROM found
WHERE
    (problem LIKE 'rows without user or item%' AND n = 1)
    OR (problem LIKE 'items that are repeated%' AND n = 1)
    OR (problem LIKE 'lists whose ranks%' AND n = 2)
HAVING count(*) <> 3 OR count(*) <> (SELECT count(*) FROM found)
