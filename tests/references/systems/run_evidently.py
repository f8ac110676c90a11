"""Evidently: its metrics of rankings, given the ranks of lists and the labels of their items.

Tables are in the order of users and ranks, on which MAP depends; it counts the last item of a list
of fewer than k items again. Metrics of labels need a label for every recommended item; the others
need the history.
"""

import pandas as pd
from evidently import DataDefinition, Dataset, Recsys, Report
from evidently.metrics import recsys

from given import columns, main

OF_LABELS = ("PrecisionTopK", "RecallTopK", "HitRate", "MRR", "NDCG", "MAP")
OF_LISTS = {
    "PopularityBiasMetric(metric=arp)": lambda k: recsys.PopularityBiasMetric(k=k, metric="arp"),
    "PopularityBiasMetric(metric=coverage)": lambda k: recsys.PopularityBiasMetric(
        k=k, metric="coverage"
    ),
    "PopularityBiasMetric(metric=gini)": lambda k: recsys.PopularityBiasMetric(k=k, metric="gini"),
    "Novelty": lambda k: recsys.Novelty(k=k),
    "Personalization": lambda k: recsys.Personalization(k=k),
}
DEFINITION = DataDefinition(ranking=[Recsys(recommendations_type="rank")])


def value(metric, lists, history=None):
    """Return the number of a metric."""
    more = {} if history is None else {"additional_data": {"current_train_data": history}}
    current = Dataset.from_pandas(lists, data_definition=DEFINITION)
    (found,) = Report([metric]).run(current, None, **more).dict()["metrics"]
    number = found["value"]
    # one row per cutoff, from 1 on; the ranks beside the numbers of NDCG and MRR are one too high
    return list(number["value"].values())[metric.k - 1] if isinstance(number, dict) else number


def measure(given, model):
    rows = sorted(given.lists(model), key=lambda row: (row["user_id"], row["rank"]))
    lists = pd.DataFrame(columns(rows, user_id="user_id", item_id="item_id", prediction="rank"))
    grades = {(r["user_id"], r["item_id"]): r["relevance"] for r in given.rows("interactions")}
    labels = [grades.get((row["user_id"], row["item_id"])) for row in rows]
    if None not in labels:
        lists["target"] = labels
        long = min(lists.groupby("user_id").size()) >= max(given.cutoffs)
        for name in OF_LABELS if long else OF_LABELS[:-1]:
            for k in given.cutoffs:
                yield name, k, lambda n=name, k=k: value(getattr(recsys, n)(k=k), lists)
        return
    past = pd.DataFrame(columns(given.rows("history"), user_id="user_id", item_id="item_id"))
    if past.shape[0] and not past.duplicated().any():
        features = pd.DataFrame(given.rows("items")).set_index("item_id")
        lists["target"] = [float((r["user_id"], r["item_id"]) in grades) for r in rows]
        described = lists.join(features, on="item_id"), past.join(features, on="item_id")
        for k in given.cutoffs:
            metric = recsys.Serendipity(k=k, item_features=list(features))
            yield "Serendipity", k, lambda m=metric: value(m, *described)
        return
    lists["target"] = 0
    history = pd.DataFrame(columns(given.rows("history"), user_id="user_id", item_id="item_id"))
    known = set(lists["item_id"]) <= set(history["item_id"])
    for name, metric in OF_LISTS.items():
        if known != (name == "Personalization"):  # which needs lists of k items, known or not
            for k in given.cutoffs:
                yield name, k, lambda m=metric, k=k: value(m(k), lists, history)


main(measure)
