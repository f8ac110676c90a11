"""Cornac: its metrics of a user, averaged as its evaluation does: over users with a positive item.

Its rankings have all items that a user could be recommended. The package imports its models: only
its metrics are loaded here.
"""

import importlib.util
import sys
import types

import numpy

from given import main

package = types.ModuleType("cornac")
package.__path__ = importlib.util.find_spec("cornac").submodule_search_locations
sys.modules["cornac"] = package

from cornac import metrics  # noqa: E402 - after its stand-in

AT = ["NDCG", "NCRR", "HitRatio", "Precision", "Recall", "FMeasure"]


def mean(values):
    return sum(values) / len(values)


def measure(given, model):
    numbers = {row["item_id"]: n for n, row in enumerate(given.rows("items"))}
    for row in given.rows("interactions"):
        numbers.setdefault(row["item_id"], len(numbers))
    for row in given.lists(model):
        numbers.setdefault(row["item_id"], len(numbers))
    grades, lists = {}, {}
    for row in given.rows("interactions"):
        grades.setdefault(row["user_id"], {})[numbers[row["item_id"]]] = row["relevance"]
    for row in sorted(given.lists(model), key=lambda row: (-row["score"], row["item_id"])):
        lists.setdefault(row["user_id"], []).append((numbers[row["item_id"]], row["score"]))
    positives = {user: numpy.array([i for i in of if of[i] >= 1.0]) for user, of in grades.items()}
    users = [user for user in grades if len(positives[user])]
    candidates = {user: numpy.array([item for item, _ in lists[user]]) for user in lists}
    scores = {user: numpy.array([score for _, score in lists[user]]) for user in lists}

    def ranking(metric):
        return mean(
            [
                metric.compute(
                    gt_pos=positives[user],
                    pd_rank=candidates[user],
                    pd_scores=scores[user],
                    item_indices=candidates[user],
                )
                for user in users
            ]
        )

    def rating(metric):
        return mean(
            [
                metric.compute(
                    gt_ratings=numpy.array([of[item] for item in candidates[user]], dtype=float),
                    pd_ratings=scores[user],
                )
                for user, of in grades.items()
            ]
        )

    for name in AT:
        for k in given.cutoffs:
            yield name, k, lambda n=name, k=k: ranking(getattr(metrics, n)(k=k))
    if all(set(of) == set(candidates[user]) for user, of in grades.items()):
        for name in ("MRR", "MAP"):
            yield name, None, lambda n=name: ranking(getattr(metrics, n)())
        for name in ("MAE", "MSE", "RMSE"):
            yield name, None, lambda n=name: rating(getattr(metrics, n)())


main(measure)
