"""Small tables on which engines were seen to fail, or to give other numbers without a word."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from sqlmetrics import TableName, UsageError
from tests.engines.comparing import check, in_order, rows_of
from tests.engines.runners import Engine
from tests.support.evaluators import Evaluator

USERS = [1, 1, 1, 2, 2, 2, 3]
NUMBERS = [Decimal(number) for number in (3, 2, 1, 3, 2, 1, 1)]
BEFORE, AFTER = (datetime(2024, 1, 31, 23, 30, tzinfo=UTC), datetime(2024, 2, 1, 0, 30, tzinfo=UTC))
ITEMS = [10, 20, 30, 10, 20, 40, 20]
LISTS = pa.table({"user_id": USERS, "item_id": ITEMS, "score": [3.0, 2.0, 1.0, 3.0, 2.0, 1.0, 1.0]})
# the first user judges the items in the order of the list turned round
TRUTH = pa.table(
    {"user_id": USERS, "item_id": ITEMS, "relevance": [1.0, 2.0, 3.0, 3.0, 1.0, 2.0, 1.0]}
)


def renamed(table: pa.Table, **names: str) -> pa.Table:
    return table.rename_columns([names.get(name, name) for name in table.column_names])


CASES: dict[str, tuple[dict[str, pa.Table], dict[str, Any], dict[str, Any]]] = {
    # places without a sign wrap round
    "places turned round": ({}, {}, {"metrics": ["spearman_rho@3", "kendall_tau@3", "auc@3"]}),
    # SELECT user is who is logged in
    "a column called user": (
        {"recommendations": renamed(LISTS, user_id="user"),
         "interactions": renamed(TRUTH, user_id="user"),
         "users": pa.table({"user": [1, 2, 3], "current_date": ["a", "b", "a"]})},
        {"columns": {"user_id": "user"}},
        {"metrics": "mrr@3", "by": "users.current_date"},
    ),
    "a key of two columns that need quotes": (
        {"recommendations": LISTS.append_column("Order", [[7] * 7]).rename_columns(
            ["Tenant Id", "item_id", "score", "Order"]),
         "interactions": TRUTH.append_column("Order", [[7] * 7]).rename_columns(
            ["Tenant Id", "item_id", "relevance", "Order"])},
        {"key": ("Tenant Id", "Order")},
        {"metrics": ["ndcg(gain=linear)@2", "kendall_tau@3", "recall"]},
    ),
    "slices by a truth value": (
        {"users": pa.table({"user_id": [1, 2, 3], "is_new": [True, False, None]})},
        {}, {"metrics": "recall@2", "by": "users.is_new"},
    ),
    "slices by a column with a capital letter": (
        {"users": pa.table({"user_id": [1, 2, 3], "Country": ["x", "y", "x"]})},
        {}, {"metrics": "recall@2", "by": "users.Country"},
    ),
    "grades far apart": (
        {"interactions": TRUTH.set_column(2, "relevance", [[1.0, 2001.0, 3.0, 3.0, 1.0, 2.0, 1]])},
        {}, {"metrics": ["err@3", "ndcg(gain=exponential)@3"]},
    ),
    "propensities in single precision": (
        {"logs": pa.table({"user_id": [1, 2], "item_id": [10, 20], "reward": [1, 0],
                           "propensity": pa.array([0.3, 0.7], pa.float32())})},
        {}, {"metrics": ["ips@1", "doubly_robust@2"]},
    ),
    "decimal scores in single precision": (
        {"recommendations": LISTS.set_column(2, "score", [pa.array(NUMBERS, pa.decimal128(9, 2))])},
        {"settings": {"score_type": "float"}}, {"metrics": "recall@2"},
    ),
    # 1e-46 is 0 in single precision, and 8e-46 is the smallest number
    "scores too small for single precision": (
        {"recommendations": LISTS.set_column(
            2, "score", [[1e-46, 0.0, -8e-46, 1e-300, 8e-46, -1e-46, 1.0]])},
        {"settings": {"score_type": "float"}},
        {"metrics": ["ndcg(gain=linear)@2", "recall(ties=average)@1"]},
    ),
    "whole lists before a cutoff": ({}, {}, {"metrics": ["mrr", "map", "ndcg@2"]}),
    # from item 20 to the lists, 1,000 milliseconds begin, and 999 pass
    "times with microseconds": (
        {"recommendations": LISTS.append_column("timestamp", [pa.array(
            [datetime(2024, 1, 31, 23, 30, 1, 100)] * 7, pa.timestamp("us"))]),
         "items": pa.table({"item_id": [10, 20, 30, 40], "created_at": pa.array(
            [datetime(2024, 1, 31, 20, 0, 0, 123456), datetime(2024, 1, 31, 23, 30, 0, 900),
             datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 1, 31)],
            pa.timestamp("us"))})},
        {},
        {"metrics": [f"item_age(unit=hours,aggregate={a})@3" for a in ("min", "median", "max")]},
    ),
    "times with a zone": (
        {"interactions": TRUTH.append_column(
            "timestamp", [pa.array([BEFORE, AFTER] * 3 + [AFTER], pa.timestamp("us", "UTC"))])},
        {}, {"metrics": "recall@2", "by": "month"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_trap(engine: Engine, name: str) -> None:
    changed, arguments, asked = CASES[name]
    tables = {"recommendations": LISTS, "interactions": TRUTH, **changed}
    engine.load({f"trap_{key}": table for key, table in tables.items()})
    named = {key: TableName(f"trap_{key}", like=table) for key, table in tables.items()}
    expected = rows_of(Evaluator(**tables, **arguments).evaluate(**asked))
    found = engine.run(Evaluator(**named, **arguments).sql(dialect=engine.dialect, **asked))
    check(in_order(found), in_order(expected))


@pytest.mark.parametrize("metric", ["kendall_tau@3", "spearman_rho@3"])
def test_resampling_of_what_is_undefined_for_some(engine: Engine, metric: str) -> None:
    """Behind a NULL, ClickHouse has a value that it looks at all the same."""
    tables = {"recommendations": LISTS, "interactions": TRUTH}
    engine.load({f"trap_{key}": table for key, table in tables.items()})
    named = {key: TableName(f"trap_{key}", like=table) for key, table in tables.items()}
    asked: dict[str, Any] = {"metrics": metric, "ci": "bootstrap", "resamples": 20}
    expected = rows_of(Evaluator(**tables).evaluate(**asked))
    if engine.name == "datafusion":
        with pytest.raises(UsageError, match="no exact quantile"):
            Evaluator(**named).sql(dialect=engine.dialect, **asked)
        return
    found = engine.run(Evaluator(**named).sql(dialect=engine.dialect, **asked))
    check(in_order(found), in_order(expected))
