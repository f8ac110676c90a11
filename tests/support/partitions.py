"""Jobs that compute one partition each, and their tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.paths import DATA

MODELS = {name: DATA / f"recommendations_{name}.parquet" for name in ("als", "popular")}


def frame(rows: Iterable[tuple[Any, ...]], *names: str) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(names))


def world() -> dict[str, pd.DataFrame]:
    """Return lists of two models: tied scores, short lists, users without a list or an item."""
    lists = [
        (model, user, item, (7 * user + 3 * item + len(model)) % 4)
        for model, user, item in itertools.product(("one", "other"), range(12), range(9))
        if (user + item) % 3 and not (model == "other" and user in (3, 8)) and user != 5
    ]
    truth = [(user, item, 1 + (user * item) % 3) for user in range(14) for item in range(user % 5)]
    return {
        "recommendations": frame(lists, "model", "user_id", "item_id", "score"),
        "interactions": frame(truth, "user_id", "item_id", "relevance"),
        "history": frame([(u, i) for u in range(20) for i in range(u % 6)], "user_id", "item_id"),
        "users": frame([(u, "ab"[u % 2]) for u in range(10)], "user_id", "kind"),
    }


def in_parts(
    evaluator: sm.Evaluator, folder: Path, of: int, *asked: Any, **options: Any
) -> pd.DataFrame:
    """Let every partition hand over its part, and put them together."""
    for number in range(1, of + 1):
        evaluator.write_partition(folder, f"{number}/{of}", *asked, **options)
    return sm.reduce(folder)


def assert_same(found: pd.DataFrame, wanted: pd.DataFrame) -> None:
    """The same rows in the same order, with the same types; values up to the last digits."""
    assert len(wanted)
    # sums of a run are of doubles, whose last digit depends on the order of rows
    pd.testing.assert_frame_equal(found, wanted, rtol=1e-12, atol=1e-12)


def written(folder: Path, *partitions: str, metrics: Any = "recall", **options: Any) -> Path:
    with Evaluator(**world()) as evaluator:
        for partition in partitions:
            evaluator.write_partition(folder, partition, metrics, 3, **options)
    return folder
