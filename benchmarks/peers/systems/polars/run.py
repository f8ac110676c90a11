"""A lazy query in Polars over the files, without checks."""

import itertools
import json
import math
import sys

import polars as pl

recommendations, interactions, kind = sys.argv[1:]
cutoffs = [1, 5, 10, 20, 100]

lists = pl.scan_parquet(recommendations)
truth = pl.scan_parquet(interactions).select("user_id", "item_id")
if kind == "score":
    rank = pl.col("score").rank("ordinal", descending=True).over("user_id")
    lists = lists.select("user_id", "item_id", rank=rank)

relevant = truth.group_by("user_id").agg(n_relevant=pl.len())
ideal = pl.LazyFrame(
    {
        "n": range(1, 101),
        "dcg": itertools.accumulate(1 / math.log2(n + 1) for n in range(1, 101)),
    }
)
hits = (
    lists.join(truth, on=["user_id", "item_id"])
    .join(relevant, on="user_id")
    .with_columns(hit_number=pl.col("rank").rank("ordinal").over("user_id"))
)

k, rank, hit_number = pl.col("k"), pl.col("rank"), pl.col("hit_number")
n_possible = pl.min_horizontal("k", "n_relevant")
# every metric is a sum over the hits in the top k
sums = (
    hits.join(pl.LazyFrame({"k": cutoffs}), how="cross")
    .filter(rank <= k)
    .join(ideal, left_on=n_possible, right_on="n")
    .group_by("k")
    .agg(
        precision=(1 / k).sum(),
        recall=(1 / pl.col("n_relevant")).sum(),
        map=(hit_number / rank / n_possible).sum(),
        ndcg=(1 / (rank + 1).log(2) / pl.col("dcg")).sum(),
        mrr=(1 / rank).filter(hit_number == 1).sum(),
        hit_rate=(hit_number == 1).sum(),
    )
)

sums, n_users = pl.collect_all([sums, relevant.select(pl.len())], engine="streaming")
values = sums.unpivot(index="k", variable_name="metric").select(
    "metric", "k", pl.col("value") / n_users.item()
)
print(json.dumps(values.rows()))
