"""Jurity: `CombinedMetrics`, which has no reciprocal rank and no hit rate."""

import json
import sys

import pandas as pd
from jurity.recommenders import CombinedMetrics, RankingRecoMetrics

recommendations, interactions = sys.argv[1:]
names = {"click_column": "click", "user_id_column": "user_id", "item_id_column": "item_id"}
metrics = [
    getattr(RankingRecoMetrics, name)(**names, k=k)
    for name in ("Precision", "Recall", "MAP", "NDCG")
    for k in (1, 5, 10, 20, 100)
]

actual = pd.read_parquet(interactions, columns=["user_id", "item_id", "relevance"])
predicted = pd.read_parquet(recommendations, columns=["user_id", "item_id", "score"])
values = CombinedMetrics(*metrics).get_score(
    actual.rename(columns={"relevance": "click"}), predicted.rename(columns={"score": "click"})
)

found = [(*name.split("@"), value) for name, value in values.items()]
print(json.dumps([(f"RankingRecoMetrics.{name}", int(k), float(v)) for name, k, v in found]))
