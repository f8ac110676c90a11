"""Hostile texts and values, and calls that may end with a result or with an error of ours."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sqlmetrics.errors import SqlmetricsError, SqlmetricsWarning

FEW = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=3,
    suppress_health_check=list(HealthCheck),
)
SEARCH = settings(
    FEW,
    derandomize=False,
    max_examples=10,
    print_blob=True,
)
# names and values that mean something to somebody on the way
HOSTILE = [
    "select", "from", "order", "group", "all", "user", "k", "rank", "model", "metric", "value",
    "slice", "label", "position", "row_number", "user_id", "item_id", "score", "hits", "ranked",
    "relevant", "audience", "count", "sum", "null", "true", "none", "nan", "inf", "-inf", "1e400",
    "0", "-1", "007", "1.5", "a b", "a.b", "a,b", "a=b", "a@5", "(a)", "(none)", "(all)", "*", "%",
    'a"b', '"a""b"', "it's", "''", '"', "'", "x'; DROP TABLE recs; --", '"; DROP TABLE recs; --',
    "1); DROP TABLE recs; --", "/* */", "--", ";", "\\", "\\n", "a\nb", "a\tb", "\x00", "\x7f",
    "{{ 7 * 7 }}", "{% raw %}", "{#", "#}", "${x}", "$1", "?", ":x", "%s", "{}", "{0}", "{n}",
    "é", "ö", "İ", "ß", "日本語", "🙂", "\u200b", "\u202e", "\ud800", "ﬀ", "A", "ａ", " ", "",
    "sqlmetrics_row", "sqlmetrics_recommendations", "component_1", "label_1", "main", "temp",
]  # fmt: skip


PIECES = [
    *HOSTILE, "ndcg", "recall", "map", "err", "ips", "coverage", "@", "@5", "@0", "@-1", "@1e3",
    "@99999999999", "(", ")", "=", ",", "gain", "exponential", "divisor", "max_grade", "quantile",
    "aggregate", "relevant_from", "audience=all", "(gain=linear)", "ties=row", "beta=1e308",
    "max_grade=5e-324", "break_probability=1", "alpha=nan", "seed=1e15", "activity", "month",
    "popularity(groups=3)", "activity_group(groups=0)", "items.", "users.country", "all", "5,10",
    "1:20", "9:1", "1:", "٣", "１", "0x10", "1_000", "+3", "  ",
]  # fmt: skip
hostile_text = st.one_of(
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), st.text(max_size=12)
)
# three users, lists with ranks 1 to 4, and what they like
LISTS = [(1, [11, 12, 13, 14]), (2, [12, 14, 15, 11]), (3, [15, 13])]
TRUTH = [(1, [12, 14]), (2, [11]), (3, [13, 12])]
METRICS = ["ndcg@3", "recall@2", "map", "mrr", "coverage"]


def list_rows() -> list[tuple[int, int, int]]:
    return [(u, i, rank) for u, items in LISTS for rank, i in enumerate(items, start=1)]


def lists_table() -> pa.Table:
    users, items, ranks = zip(*list_rows(), strict=True)
    scores = [10.0 - rank for rank in ranks]
    return pa.table({"user_id": users, "item_id": items, "rank": ranks, "score": scores})


def truth_table() -> pa.Table:
    users, items = zip(*((u, i) for u, items in TRUTH for i in items), strict=True)
    return pa.table({"user_id": users, "item_id": items, "relevance": [1.0, 2.0, 1.0, 3.0, 1.0]})


def history_table() -> pa.Table:
    return pa.table({"user_id": [1, 2, 2], "item_id": [11, 12, 15]})


def users_table() -> pa.Table:
    return pa.table({"user_id": [1, 2, 3], "country": ["it's", 'a"b', None]})


def values(frame: pd.DataFrame) -> list[float]:
    return [float(value) for value in frame["value"]]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let our own warnings pass: they are not what is asked here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SqlmetricsWarning)
        yield


def own_error_or(call: Callable[[], Any]) -> Any:
    """Return what a call returns, None where it refuses; anything else that is raised is a bug."""
    refused: list[str] = []
    with quiet():
        try:
            return call()
        except SqlmetricsError as error:
            refused.append(str(error))
    assert all(message.strip() for message in refused)
    return None
