"""MLflow: its metrics of retrievers, with a row for each user of the interactions."""

import pandas as pd
from mlflow.metrics import ndcg_at_k, precision_at_k, recall_at_k

from given import main

METRICS = {"precision_at_k": precision_at_k, "recall_at_k": recall_at_k, "ndcg_at_k": ndcg_at_k}


def measure(given, model):
    truth = {}
    for row in given.rows("interactions"):
        items = truth.setdefault(row["user_id"], [])
        if row["relevance"] > 0:
            items.append(row["item_id"])
    lists = given.by_user(given.lists(model))
    retrieved = pd.Series([lists.get(user, []) for user in truth])
    targets = pd.Series(list(truth.values()))
    for name, metric in METRICS.items():
        for k in given.cutoffs:

            def mean(metric=metric, k=k):
                return metric(k).eval_fn(retrieved, targets).aggregate_results["mean"]

            yield name, k, mean


main(measure)
