"""MTEB: the functions behind its retrieval tasks, for the queries of the run and the qrels.

The module is read from its file: importing the package needs PyTorch and models. The means are made
from the values of queries, since those of the package are rounded.
"""

import importlib.metadata
import importlib.util
import sys
import types

from given import main

sys.modules["mteb.types"] = types.SimpleNamespace(RetrievalEvaluationResult=dict)
spec = importlib.util.spec_from_file_location(
    "retrieval_metrics",
    importlib.metadata.distribution("mteb").locate_file("mteb/_evaluators/retrieval_metrics.py"),
)
metrics = importlib.util.module_from_spec(spec)
spec.loader.exec_module(metrics)

OF_TREC_EVAL = {
    "NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P", "HitRate": "success",
}  # fmt: skip


def nested(rows, column, kind):
    found = {}
    for row in rows:
        found.setdefault(row["user_id"], {})[row["item_id"]] = kind(row[column])
    return found


def measure(given, model):
    qrels = nested(given.rows("interactions"), "relevance", int)
    lists = nested(given.lists(model), "score", float)
    lists = {user: items for user, items in lists.items() if user in qrels}
    result = metrics.calculate_retrieval_scores(lists, qrels, given.cutoffs)
    hole = metrics.hole(qrels, lists, given.cutoffs)
    users = result["all_scores"].values()
    for k in given.cutoffs:
        for name, of_user in OF_TREC_EVAL.items():
            yield name, k, lambda c=f"{of_user}_{k}": sum(u[c] for u in users) / len(users)
        yield "MRR", k, lambda k=k: result["mrr"][f"MRR@{k}"]
        yield "Hole", k, lambda k=k: sum(hole[f"Hole_at_{k}"]) / len(lists)


main(measure)
