"""Lists of three models for reports, and the values that pandas gives."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sqlmetrics.report import build
from sqlmetrics.report.analysis import Study
from sqlmetrics.report.content import Content

USERS, ITEMS = list(range(30)), list(range(100, 124))
METRICS, K = ["ndcg", "precision", "popularity", "coverage"], [2, 4]
MODELS = ["good", "fair", "poor"]


def pairs(n: int, seed: int, users: list[int] | None = None) -> pd.DataFrame:
    """Give every user n items."""
    random = np.random.default_rng(seed)
    rows = [(u, i) for u in users or USERS for i in random.permutation(ITEMS)[:n].tolist()]
    return pd.DataFrame(rows, columns=["user_id", "item_id"])


def ranked(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(rank=rows.groupby("user_id").cumcount() + 1)


def lists(n_good: int, seed: int, n: int = 6) -> pd.DataFrame:
    """Give every user a list that starts with up to `n_good` relevant items."""
    first = TRUTH.groupby("user_id").head(n_good)
    first = first[first["user_id"] % 4 > 0]
    rows = pd.concat([first, pairs(n, seed)]).drop_duplicates(["user_id", "item_id"])
    rows = rows.sort_values("user_id", kind="stable").groupby("user_id").head(n)
    return ranked(rows.reset_index(drop=True))


TRUTH = pairs(5, 1)
HISTORY = pd.concat([pairs(6, 2), pairs(9, 5, USERS[:10])]).drop_duplicates(ignore_index=True)
GOOD, POOR = lists(2, 3), lists(0, 4).query("user_id < 25")
FAIR = pd.concat([GOOD[GOOD["user_id"] % 2 == 0], lists(1, 6).query("user_id % 2 == 1")])
RECOMMENDED = {"poor": POOR, "good": GOOD, "fair": FAIR}
ITEM_TABLE = pd.DataFrame({"item_id": ITEMS, "title": [f"Title {item}" for item in ITEMS]})
# every item has a group, and up to three categories
GROUPED_ITEMS = ITEM_TABLE.assign(
    item_group=[f"group {item % 5}" for item in ITEMS],
    category=[["red", "blue", "green"][: item % 4] or None for item in ITEMS],
)
USER_TABLE = pd.DataFrame(
    {
        "user_id": USERS,
        "country": ["NO" if user % 3 else "SE" for user in USERS],
        "age": USERS,  # too many values
        "planet": "Earth",  # too few
    }
)
TABLES = {"history": HISTORY, "items": ITEM_TABLE, "users": USER_TABLE}


TWO = {"good": GOOD, "fair": FAIR}


def content_of(study: Study) -> Content:
    """Build the content of a study that `Evaluator.report` did not make: it prints no statement."""
    return build.content(
        study,
        title=None,
        conventions=[],
        settings={"relevant_from": 2, "recall.divisor": None},
        sources={},
        conditions={},
        findings=[],
        unchecked="",
        statement="SELECT 1",
        with_examples=True,
    )
