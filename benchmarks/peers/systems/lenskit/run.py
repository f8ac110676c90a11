"""LensKit: `RunAnalysis` over collections of item lists, for users in both tables.

It cannot compute the average precision of users with a list but without interactions.
"""

import json
import sys

import pandas as pd
from lenskit.data import ItemListCollection
from lenskit.metrics import NDCG, Hit, Precision, Recall, RecipRank, RunAnalysis
from lenskit.metrics.ranking._map import AveragePrecision

recommendations, interactions = sys.argv[1:]

truth = pd.read_parquet(interactions, columns=["user_id", "item_id"])
lists = pd.read_parquet(recommendations, columns=["user_id", "item_id", "rank"])
lists = lists[lists["user_id"].isin(truth["user_id"])].sort_values(["user_id", "rank"])

analysis = RunAnalysis()
asked = {}
for metric in (Precision, Recall, AveragePrecision, NDCG, RecipRank, Hit):
    for k in (1, 5, 10, 20, 100):
        label = f"{metric.__name__}@{k}"
        asked[label] = (metric.__name__, k)
        analysis.add_metric(metric(k), label=label)
result = analysis.measure(
    ItemListCollection.from_df(lists, "user_id"), ItemListCollection.from_df(truth, "user_id")
)
means = result.list_summary()["mean"]

print(json.dumps([(*asked[label], value) for label, value in means.items()]))
