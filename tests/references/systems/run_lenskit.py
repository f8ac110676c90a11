"""LensKit: lists in their order; the mean of list_summary(), where missing values count as 0."""

from lenskit.data import ItemList, ItemListCollection
from lenskit.metrics import DCG, NDCG, Hit, Precision, Recall, RecipRank, RunAnalysis
from lenskit.metrics.ranking._map import AveragePrecision

from given import main

METRICS = {
    "Hit": (Hit, {}),
    "Precision": (Precision, {}),
    "Recall": (Recall, {}),
    "RecipRank": (RecipRank, {}),
    "AveragePrecision": (AveragePrecision, {}),
    "NDCG": (NDCG, {}),
    'NDCG(gain="rating")': (NDCG, {"gain": "rating"}),
    "DCG": (DCG, {}),
    'DCG(gain="rating")': (DCG, {"gain": "rating"}),
}


def mean(metric, lists, truth):
    analysis = RunAnalysis()
    analysis.add_metric(metric, label="it")
    return analysis.measure(lists, truth).list_summary().loc["it", "mean"]


def measure(given, model):
    lists = ItemListCollection(["user_id"])
    for user, items in given.by_user(given.lists(model)).items():
        lists.add(ItemList(item_ids=items, ordered=True), user_id=user)
    truth = ItemListCollection(["user_id"])
    grades = {}
    for row in given.rows("interactions"):
        grades.setdefault(row["user_id"], {})[row["item_id"]] = float(row["relevance"])
    for user, of_user in grades.items():
        truth.add(ItemList(item_ids=list(of_user), rating=list(of_user.values())), user_id=user)
    for name, (metric, options) in METRICS.items():
        for k in given.cutoffs:
            yield name, k, lambda m=metric, o=options, k=k: mean(m(k, **o), lists, truth)


main(measure)
