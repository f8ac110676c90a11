"""Handwritten queries for DuckDB: all metrics, and a search for duplicate rows in lists."""

import json
import sys

import duckdb

recommendations, interactions, kind = sys.argv[1:]

RANK = {
    "rank": "rank",
    "score": "row_number() OVER (PARTITION BY user_id ORDER BY score DESC, item_id) AS rank",
}
DUPLICATES = f"""
SELECT user_id, item_id
FROM '{recommendations}'
GROUP BY user_id, item_id
HAVING count(*) > 1
LIMIT 1
"""
METRICS = f"""
WITH ranked AS (
    SELECT user_id, item_id, {RANK[kind]}
    FROM '{recommendations}'
),
relevant AS (
    SELECT user_id, count(*) AS n_relevant
    FROM '{interactions}'
    GROUP BY user_id
),
hits AS (
    SELECT
        rank,
        n_relevant,
        row_number() OVER (PARTITION BY user_id ORDER BY rank) AS hit_number
    FROM ranked
    JOIN '{interactions}' USING (user_id, item_id)
    JOIN relevant USING (user_id)
),
cutoffs AS (
    SELECT unnest([1, 5, 10, 20, 100]) AS k
),
ideal AS (
    SELECT n, sum(1 / log2(n + 1)) OVER (ORDER BY n) AS dcg
    FROM range(1, 101) AS positions (n)
),
-- every metric is a sum over the hits in the top k
sums AS (
    SELECT
        k,
        sum(1 / k) AS precision,
        sum(1 / n_relevant) AS recall,
        sum(hit_number / rank / least(k, n_relevant)) AS map,
        sum(1 / log2(rank + 1) / dcg) AS ndcg,
        sum(1 / rank) FILTER (hit_number = 1) AS mrr,
        count(*) FILTER (hit_number = 1) AS hit_rate
    FROM hits
    JOIN cutoffs ON rank <= k
    JOIN ideal ON n = least(k, n_relevant)
    GROUP BY k
)
SELECT metric, k, value / (SELECT count(*) FROM relevant)
FROM (UNPIVOT sums ON precision, recall, map, ndcg, mrr, hit_rate INTO NAME metric VALUE value)
"""

assert not duckdb.sql(DUPLICATES).fetchall()
print(json.dumps(duckdb.sql(METRICS).fetchall()))
