"""Recommenders: functions of `python_evaluation`, which has no reciprocal rank and no hit rate.

Consecutive calls with the same cutoff share the ranking of the lists.
"""

import json
import sys

import pandas as pd
from recommenders.evaluation.python_evaluation import (
    map_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
)

recommendations, interactions = sys.argv[1:]
ids = {"col_user": "user_id", "col_item": "item_id"}

truth = pd.read_parquet(interactions, columns=["user_id", "item_id", "relevance"])
lists = pd.read_parquet(recommendations, columns=["user_id", "item_id", "score"])
values = [
    (
        function.__name__,
        k,
        function(truth, lists, **ids, col_rating="relevance", col_prediction="score", k=k),
    )
    for k in (1, 5, 10, 20, 100)
    for function in (precision_at_k, recall_at_k, map_at_k, ndcg_at_k)
]

print(json.dumps([(name, k, float(value)) for name, k, value in values]))
