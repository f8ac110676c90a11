"""WarpRec: the metrics of its repository, given scores of all items.

An item outside of a list has a score of minus infinity. The result is the mean over the users that
have a value (nanmean), as its writer of results does. The modules around the metrics, which load
models, have stand-ins.
"""

import sys
import types
from pathlib import Path

import torch

from given import main

SOURCE = Path(sys.prefix) / "source"
for name in ("warprec", "warprec.evaluation", "warprec.evaluation.metrics", "warprec.utils"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(SOURCE)]

from warprec.evaluation.metrics import (  # noqa: E402 - after their stand-ins
    f1,
    hit_rate,
    map,
    mar,
    mrr,
    ndcg,
    precision,
    recall,
)

METRICS = [
    precision.Precision,
    recall.Recall,
    f1.F1,
    hit_rate.HitRate,
    map.MAP,
    mar.MAR,
    mrr.MRR,
    ndcg.nDCG,
    ndcg.nDCGRendle2020,
]


def measure(given, model):
    lists, truth = given.lists(model), given.rows("interactions")
    users = {u: n for n, u in enumerate(sorted({row["user_id"] for row in lists}))}
    items = {i: n for n, i in enumerate(sorted({row["item_id"] for row in [*lists, *truth]}))}
    scores = torch.full((len(users), len(items)), -torch.inf)
    for row in lists:
        scores[users[row["user_id"]], items[row["item_id"]]] = row["score"]
    grades = torch.zeros((len(users), len(items)))
    for row in truth:
        if row["user_id"] in users:
            grades[users[row["user_id"]], items[row["item_id"]]] = row["relevance"]

    def value(kind, k):
        metric = kind(k=k, num_users=len(users), num_items=len(items))
        relevance = {
            "binary_relevance": metric.binary_relevance(grades),
            "discounted_relevance": metric.discounted_relevance(grades),
            "valid_users": metric.valid_users(grades),
        }
        metric.update(scores, torch.arange(len(users)), **relevance)
        return metric.compute()[kind.__name__].nanmean()

    for kind in METRICS:
        for k in given.cutoffs:
            yield kind.__name__, k, lambda c=kind, k=k: value(c, k)


main(measure)
