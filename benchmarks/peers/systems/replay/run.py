"""RePlay: `OfflineMetrics`, which ranks the lists once, on data frames of Polars or pandas."""

import json
import sys

from replay.metrics import MAP, MRR, NDCG, HitRate, OfflineMetrics, Precision, Recall

recommendations, interactions, frames = sys.argv[1:]
if frames == "polars":
    from polars import read_parquet
else:
    from pandas import read_parquet

cutoffs = [1, 5, 10, 20, 100]
metrics = [metric(cutoffs) for metric in (Precision, Recall, MAP, NDCG, MRR, HitRate)]
offline = OfflineMetrics(metrics, query_column="user_id", rating_column="score")
values = offline(
    read_parquet(recommendations, columns=["user_id", "item_id", "score"]),
    read_parquet(interactions, columns=["user_id", "item_id"]),
)

found = [(*name.split("@"), value) for name, value in values.items()]
print(json.dumps([(name, int(k), float(value)) for name, k, value in found]))
