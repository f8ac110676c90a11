"""RecTools: `calc_metrics` with a dictionary of metrics, which joins the tables once."""

import json
import sys

import pandas as pd
from rectools.metrics import MAP, MRR, NDCG, HitRate, Precision, Recall, calc_metrics

recommendations, interactions = sys.argv[1:]
metrics = {
    (metric.__name__, k): metric(k=k)
    for metric in (Precision, Recall, MAP, NDCG, MRR, HitRate)
    for k in (1, 5, 10, 20, 100)
}

reco = pd.read_parquet(recommendations, columns=["user_id", "item_id", "rank"])
truth = pd.read_parquet(interactions, columns=["user_id", "item_id"])
values = calc_metrics(metrics, reco, truth)

print(json.dumps([(name, k, float(value)) for (name, k), value in values.items()]))
