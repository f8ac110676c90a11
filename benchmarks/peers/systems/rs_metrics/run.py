"""rs_metrics: functions on {user: [items]} dictionaries, which are created once from data frames.

Precision is omitted, because it is NaN if any user has no list.
"""

import json
import sys

import pandas as pd
import rs_metrics

recommendations, interactions = sys.argv[1:]


def by_user(table):
    return table.groupby("user_id")["item_id"].agg(list).to_dict()


truth = by_user(pd.read_parquet(interactions, columns=["user_id", "item_id"]))
lists = pd.read_parquet(recommendations, columns=["user_id", "item_id", "rank"])
lists = by_user(lists.sort_values(["user_id", "rank"]))
values = [
    (name, k, getattr(rs_metrics, name)(truth, lists, k=k))
    for name in ("recall", "mapr", "ndcg", "mrr", "hitrate")
    for k in (1, 5, 10, 20, 100)
]

print(json.dumps([(name, k, float(value)) for name, k, value in values]))
