"""TorchMetrics: its classes on lists that hold all labelled items.

All scores are raised above 0, since items with a lower score never count as relevant. An unstable
sort leaves the order of equal scores open, so that all metrics but nDCG get 1 / rank.
"""

import torch
from torchmetrics import retrieval

from given import main

NAMES = (
    "RetrievalHitRate", "RetrievalPrecision", "RetrievalRecall", "RetrievalMAP", "RetrievalMRR",
    "RetrievalNormalizedDCG", "RetrievalRPrecision", "RetrievalFallOut",
)  # fmt: skip
GRADED = "RetrievalNormalizedDCG"
WHOLE = "RetrievalRPrecision"


def measure(given, model):
    lists = given.lists(model)
    grades = {(r["user_id"], r["item_id"]): r["relevance"] for r in given.rows("interactions")}
    users = {user: number for number, user in enumerate({row["user_id"]: 0 for row in lists})}
    indexes = torch.tensor([users[row["user_id"]] for row in lists])
    labels = torch.tensor([grades[row["user_id"], row["item_id"]] for row in lists])
    scores = torch.tensor([1 + row["score"] for row in lists])
    places = torch.tensor([1 / row["rank"] for row in lists])

    def value(name, **options):
        metric = getattr(retrieval, name)(**options)
        graded = name == GRADED
        metric.update(scores if graded else places, labels if graded else labels > 0, indexes)
        return metric.compute()

    for name in NAMES:
        if name == WHOLE:
            yield name, None, lambda n=name: value(n)
            continue
        for k in given.cutoffs:
            yield name, k, lambda n=name, k=k: value(n, top_k=k)


main(measure)
