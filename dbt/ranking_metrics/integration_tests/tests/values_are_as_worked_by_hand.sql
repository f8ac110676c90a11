-- one row per value that differs from its value by hand, or is missing
WITH found AS (
    SELECT metric, k, value, n_users FROM {{ ref('by_rank') }}
    UNION ALL
    SELECT metric, k, value, n_users FROM {{ ref('by_score') }}
    UNION ALL
    SELECT metric, k, value, n_users FROM {{ ref('ndcg') }}
)

SELECT
    expected.metric,
    expected.k,
    expected.value,
    count(*) AS n_found,
    min(found.value) AS lowest,
    max(found.value) AS highest
FROM {{ ref('expected') }} AS expected
LEFT JOIN found
    ON
        found.metric = expected.metric
        AND found.k = expected.k
        AND found.n_users = expected.n_users
        AND abs(found.value - expected.value) < 1e-12
GROUP BY expected.metric, expected.k, expected.value
HAVING count(found.value) <> CASE WHEN expected.metric = 'ndcg' THEN 3 ELSE 2 END
