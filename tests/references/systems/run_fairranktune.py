"""FairRankTune: one ranking per user, cut at k; click rates are relevance / log2(rank + 1)."""

import math

import pandas as pd
from FairRankTune import Metrics

from given import main

COMBOS = {
    "EXP": ("MinMaxRatio", "MaxMinRatio", "MaxMinDiff", "MeanAbsDev", "Variance"),
    "EXPU": ("MinMaxRatio", "MaxMinDiff", "Variance"),
    "EXPRU": ("MinMaxRatio", "MeanAbsDev"),
    "AWRF": ("MinMaxRatio", "MaxMinRatio"),
}


def frame(lists):
    """Return one column per user; shorter lists end with missing values."""
    return pd.DataFrame({user: pd.Series(values) for user, values in lists.items()})


def measure(given, model):
    groups = {row["item_id"]: row["item_group"] for row in given.rows("items")}
    lists = given.by_user(given.lists(model))
    for k in given.cutoffs:
        ranking = frame({user: items[:k] for user, items in lists.items()})
        for combo in COMBOS["EXP"]:
            yield (
                f'EXP(combo="{combo}")',
                k,
                lambda r=ranking, c=combo: Metrics.EXP(r, groups, c)[0],
            )
        for combo in COMBOS["AWRF"]:
            yield (
                f'AWRF(p=0.3, combo="{combo}")',
                k,
                lambda r=ranking, c=combo: Metrics.AWRF(r, groups, 0.3, c)[0],
            )
    liked = {(r["user_id"], r["item_id"]) for r in given.rows("interactions") if r["relevance"]}
    listed = {(user, item) for user, items in lists.items() for item in items}
    if not liked <= listed:
        return
    ranking = frame(lists)
    relevance = frame(
        {user: [float((user, item) in liked) for item in items] for user, items in lists.items()}
    )
    clicks = frame(
        {
            user: [
                ((user, item) in liked) / math.log2(rank + 1)
                for rank, item in enumerate(items, start=1)
            ]
            for user, items in lists.items()
        }
    )
    for combo in COMBOS["EXPU"]:
        yield (
            f'EXPU(combo="{combo}")',
            None,
            lambda c=combo: Metrics.EXPU(ranking, groups, relevance, c)[0],
        )
    for combo in COMBOS["EXPRU"]:
        yield (
            f'EXPRU(combo="{combo}")',
            None,
            lambda c=combo: Metrics.EXPRU(ranking, groups, relevance, clicks, c)[0],
        )


main(measure)
