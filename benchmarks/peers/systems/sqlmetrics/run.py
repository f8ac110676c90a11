"""sqlmetrics, with all checks or (`trusted`) without checks that need a pass over the rows."""

import json
import sys

import sqlmetrics as sm

recommendations, interactions, *variant = sys.argv[1:]
metrics = ["precision", "recall", "map", "ndcg", "mrr", "hit_rate"]

with sm.Evaluator(recommendations, interactions, trust_input=variant == ["trusted"]) as evaluator:
    result = evaluator.rows(metrics, k=[1, 5, 10, 20, 100])

print(json.dumps(list(zip(result["metric"], result["k"], result["value"], strict=True))))
