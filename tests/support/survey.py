"""Good and broken tables for `check`, and its findings."""

from typing import Any

import pandas as pd

import sqlmetrics as sm
from tests.support.calls import findings_of


def lists(*rows: tuple[int, int, float], **columns: Any) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["user_id", "item_id", "score"]).assign(**columns)


def pairs(*rows: tuple[int, int], **columns: Any) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["user_id", "item_id"]).assign(**columns)


# Two users, two places each, nothing wrong but what a case changes. User 1 has items 11 and 12 on
# the list and 11 in the truth, user 2 has 12 and 13, and 14 in the truth.
LISTS = lists((1, 11, 0.9), (1, 12, 0.8), (2, 12, 0.7), (2, 13, 0.6))
TRUTH = pairs((1, 11), (2, 14))
HISTORY = pairs((1, 13), (1, 14), (2, 11), (3, 12))
GOOD = {"recommendations": LISTS, "interactions": TRUTH, "history": HISTORY}
EVERYBODY = pd.DataFrame({"user_id": [1, 2], "country": ["A", "B"]})


def found(tables: dict[str, Any]) -> dict[str, Any]:
    """Find what there is in the good tables with some of them changed: check -> finding."""
    given = {"users": EVERYBODY, **GOOD, **tables}
    k, settings = given.pop("k", 2), given.pop("settings", None)
    with sm.Evaluator(**given, settings=settings, threads=1) as evaluator:  # the tables are tiny
        return {finding.check: finding for finding in findings_of(evaluator, "mrr", k)}


BROKEN = {
    "recommendations": lists((1, 11, 0.9), (1, 11, 0.8), (2, 12, float("nan"))),
    "interactions": pairs((1, 11), (1, 11), (2, 12)),
}
