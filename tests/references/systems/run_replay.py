"""RePlay 0.13 and newer, on pandas and on Polars: both must say the same."""

import pandas as pd
import polars as pl
from replay import metrics

from given import columns, main

PAIR = {"query_id": "user_id", "item_id": "item_id"}
SECOND_TABLE = {
    **dict.fromkeys(("HitRate", "Precision", "Recall", "MAP", "MRR", "NDCG", "RocAuc"), "truth"),
    **dict.fromkeys(("Surprisal", "Coverage"), "history"),
    "Unexpectedness": "baseline",
}


def value(name, k, lists, second):
    said = []
    for frame in (pd.DataFrame, pl.DataFrame):
        (of_backend,) = getattr(metrics, name)(k)(frame(lists), frame(second)).values()
        said.append(of_backend)
    if abs(said[0] - said[1]) > 1e-12:
        raise ValueError(f"pandas {said[0]}, Polars {said[1]}")
    return said[0]


def measure(given, model):
    lists = columns(given.lists(model), **PAIR, rating="score")
    tables = {
        "truth": columns(given.rows("interactions"), **PAIR),
        "history": columns(given.rows("history"), **PAIR),
        "baseline": columns(given.rows("baseline"), **PAIR, rating="score"),
    }
    for name, table in SECOND_TABLE.items():
        for k in given.cutoffs:
            yield name, k, lambda n=name, k=k, t=tables[table]: value(n, k, lists, t)


main(measure)
