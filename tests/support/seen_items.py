"""Lists with seen items and masked scores."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from tests.support.evaluators import Evaluator

LISTS = {"u1": "abcd", "u2": "cab", "u3": "dcb"}
SEEN = {("u1", "a"), ("u1", "c"), ("u2", "a"), ("u9", "b")}
# what is left of the lists without what was seen, by hand
LEFT = {"u1": "bd", "u2": "cb", "u3": "dcb"}


def ranked(lists: Mapping[str, str]) -> pd.DataFrame:
    rows = [(user, item, rank) for user, of in lists.items() for rank, item in enumerate(of, 1)]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def scored(lists: Mapping[str, str]) -> pd.DataFrame:
    """Give items scores that fall with their places; the first two of a list have the same."""
    frame = ranked(lists)
    frame["score"] = -frame.pop("rank").clip(lower=2).astype(float)
    return frame


def pairs(rows: Any) -> pd.DataFrame:
    return pd.DataFrame(sorted(rows), columns=["user_id", "item_id"])


HISTORY = pairs([*SEEN, ("u2", "d")])
TRUTH = pd.DataFrame(
    [("u1", "d", 5.0), ("u1", "a", 2.0), ("u2", "b", 4.0), ("u3", "b", 3.0), ("u3", "d", None)],
    columns=["user_id", "item_id", "rating"],
)
RELEVANT = TRUTH[["user_id", "item_id"]]
ITEMS = pd.DataFrame(
    {
        "item_id": list("abcd"),
        "price": [1.0, 2.0, 3.0, 4.0],
        "category": ["x", "y", "x", "z"],
        "item_group": ["m", "n", "n", "m"],
        "features": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]],
    }
)
DROP = {"drop_seen": True}


def refused(kind: type[Exception], *words: str, **given: Any) -> str:
    """Check that an evaluation is refused, with these words in its message."""
    metrics = given.pop("metrics", "ndcg@2")
    with pytest.raises(kind) as caught, Evaluator(**given) as evaluator:
        evaluator.evaluate(metrics)
    for word in words:
        assert word in str(caught.value)
    return str(caught.value)
