"""RecBole: its metrics, given the lists as its collector hands them over, without rounding.

It evaluates the users of its test data, so those without interactions are left out.
"""

from collections import Counter

import torch
from recbole.evaluator import metrics
from recbole.evaluator.collector import DataStruct

from given import main

NAMES = ("Hit", "Precision", "Recall", "MAP", "MRR", "NDCG", "AveragePopularity")
NAMES += ("GiniIndex", "ShannonEntropy", "TailPercentage")


def measure(given, model):
    longest = max(given.cutoffs)
    truth = given.by_user(given.rows("interactions"))
    # its own numbers; the smaller one breaks ties of TailPercentage
    items = sorted(row["item_id"] for row in given.rows("items"))
    number = {item: place for place, item in enumerate(items, start=1)}
    lists = {
        user: items[:longest]
        for user, items in given.by_user(given.lists(model)).items()
        if user in truth
    }
    assert set(lists) == set(truth), "every user has a list"
    assert all(len(items) == longest for items in lists.values()), "all lists are long enough"
    handed_over = DataStruct()
    handed_over.set(
        "rec.topk",
        torch.tensor(
            [
                [i in truth[user] for i in items] + [len(truth[user])]
                for user, items in lists.items()
            ]
        ),
    )
    numbered = [[number[item] for item in items] for items in lists.values()]
    handed_over.set("rec.items", torch.tensor(numbered))
    counts = Counter(number[row["item_id"]] for row in given.rows("history"))
    handed_over.set("data.count_items", counts)
    handed_over.set("data.num_items", len(items) + 1)  # with the padding item
    config = {"topk": given.cutoffs, "metric_decimal_place": 17, "tail_ratio": 0.1}
    for name in NAMES:
        for k in given.cutoffs:
            yield (
                name,
                k,
                lambda n=name, k=k: getattr(metrics, n)(config).calculate_metric(handed_over)[
                    f"{n.lower()}@{k}"
                ],
            )


main(measure)
