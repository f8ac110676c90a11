"""LensKit: lists in their order; the mean of list_summary(), where missing values count as 0.

Its functions of two lists or of categories are called per list, and averaged over the lists.
"""

import numpy as np
import pandas as pd
from lenskit.data import ItemList, ItemListCollection, from_interactions_df
from lenskit.metrics import DCG, NDCG, Hit, Precision, Recall, RecipRank, RunAnalysis
from lenskit.metrics.ranking._entropy import entropy, rank_biased_entropy
from lenskit.metrics.ranking._gini import ExposureGini, ListGini
from lenskit.metrics.ranking._map import AveragePrecision
from lenskit.metrics.ranking._pop import MeanPopRank
from lenskit.metrics.reranking._rbo import rank_biased_overlap

from given import columns, main

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


def global_value(metric, lists):
    return metric.global_aggregate([metric.compute_list_data(items, None) for items in lists])


def matrix(items, categories, every):
    """Return a row per item; the categories of an item share its weight of 1."""
    rows = [[(one in categories[i]) / len(categories[i]) for one in every] for i in items]
    return np.array(rows)


def of_contents(given, model):
    of_user = given.by_user(given.lists(model))
    lists = {user: ItemList(item_ids=items, ordered=True) for user, items in of_user.items()}
    items = given.rows("items")
    if "category" in items[0]:
        categories = {row["item_id"]: row["category"].split("|") for row in items}
        every = sorted({one for of_item in categories.values() for one in of_item})
        for name, function in (("entropy", entropy), ("rank_biased_entropy", rank_biased_entropy)):
            for k in given.cutoffs:
                yield (
                    name,
                    k,
                    lambda f=function, k=k: np.mean(
                        [
                            f(lists[user], matrix(of_user[user], categories, every), n=k)
                            for user in lists
                        ]
                    ),
                )
        return
    pair = {"user_id": "user_id", "item_id": "item_id"}
    past = pd.DataFrame(columns(given.rows("history"), **pair)).drop_duplicates()
    history = from_interactions_df(past)
    for k in given.cutoffs:
        gini = ListGini(k, items=len(items))
        yield "ListGini", k, lambda m=gini: global_value(m, lists.values())
        popular = MeanPopRank(history, n=k)
        yield (
            "MeanPopRank",
            k,
            lambda m=popular: np.mean([m.measure_list(of, None) for of in lists.values()]),
        )
    if min(map(len, of_user.values())) < max(given.cutoffs):
        return  # the depths below a short list count as well, which the convention names
    baseline = given.by_user(given.rows("baseline"))
    both = [(ItemList(item_ids=baseline[u]), lists[u]) for u in lists if u in baseline]
    for k in given.cutoffs:
        yield (
            "rank_biased_overlap",
            k,
            lambda k=k: np.mean([rank_biased_overlap(*pair, n=k) for pair in both]),
        )


def mean(metric, lists, truth):
    analysis = RunAnalysis()
    analysis.add_metric(metric, label="it")
    return analysis.measure(lists, truth).list_summary().loc["it", "mean"]


def repeats(rows):
    return len({(row["user_id"], row["item_id"]) for row in rows}) < len(rows)


def measure(given, model):
    if len(given.rows("history")) and not repeats(given.lists(model)):
        yield from of_contents(given, model)
    if "category" in given.rows("items")[0]:
        return
    of_user = given.by_user(given.lists(model))
    shown = [ItemList(item_ids=items, ordered=True) for items in of_user.values()]
    for k in given.cutoffs:
        gini = ExposureGini(k, items=len(given.rows("items")))
        yield "ExposureGini", k, lambda m=gini: global_value(m, shown)
    lists = ItemListCollection(["user_id"])
    for user, items in of_user.items():
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
