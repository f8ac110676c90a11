"""ranx: `evaluate` with a run and qrels from data frames, with ids as text.

It compiles its metrics on the first run and caches most of them on disk.
"""

import json
import sys

import pandas as pd
from ranx import Qrels, Run, evaluate

recommendations, interactions = sys.argv[1:]
metrics = [
    f"{name}@{k}"
    for name in ("precision", "recall", "map", "ndcg", "mrr", "hit_rate")
    for k in (1, 5, 10, 20, 100)
]


def table(path, column, kind):
    """Read a file with the column types that ranx accepts."""
    frame = pd.read_parquet(path, columns=["user_id", "item_id", column])
    return frame.astype({"user_id": str, "item_id": str, column: kind})


ids = {"q_id_col": "user_id", "doc_id_col": "item_id"}
qrels = Qrels.from_df(table(interactions, "relevance", int), **ids, score_col="relevance")
run = Run.from_df(table(recommendations, "score", float), **ids, score_col="score")
values = evaluate(qrels, run, metrics, make_comparable=True)

found = [(*name.split("@"), value) for name, value in values.items()]
print(json.dumps([(name, int(k), float(value)) for name, k, value in found]))
