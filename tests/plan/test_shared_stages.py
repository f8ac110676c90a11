"""Tables are read, ranked and checked no more often than needed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pandas as pd
import pytest

from sqlmetrics.engines.duckdb import DuckDBEngine
from tests.support.evaluators import Evaluator
from tests.support.worlds import CUTOFFS

TABLES = ["recommendations", "interactions", "history", "items", "aspects", "baseline", "logs"]
SCANNED = TABLES[:3]  # the large ones


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Count, in the engine's own plans, how often each table is scanned."""
    counts: dict[str, int] = {}

    def counted(method: Any) -> Any:
        def run(self: DuckDBEngine, title: str, statement: str) -> Any:
            rows = self.connection.execute(f"EXPLAIN (FORMAT json) {statement}").fetchall()
            for name in SCANNED:
                found = re.findall(rf'"Table": "[^"]*\b{name}"', rows[0][1])
                counts[name] = counts.get(name, 0) + len(found)
            return method(self, title, statement)

        return run

    for name in ("_run", "_arrow", "_from_values"):
        monkeypatch.setattr(DuckDBEngine, name, counted(getattr(DuckDBEngine, name)))
    return counts


@pytest.fixture
def connection(world_tables: dict[str, pd.DataFrame]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name, frame in world_tables.items():
            connection.register("frame", frame)
            connection.execute(f"CREATE TABLE {name} AS FROM frame")
        connection.unregister("frame")
        yield connection


def test_inputs_are_read_a_few_times(
    connection: duckdb.DuckDBPyConnection, scans: dict[str, int]
) -> None:
    tables = {name: name for name in TABLES}
    with Evaluator(**tables, connection=connection) as evaluator:
        evaluator.evaluate("all", k=CUTOFFS)
    # to look for repeated items, a table is read once more; recommendations also to see whether
    # items have the attributes that are asked for
    most = {"recommendations": 4, "interactions": 4, "history": 3}
    assert all(1 <= scans[name] <= most[name] for name in SCANNED), scans


def test_lists_without_ties_are_not_ranked_item_by_item(
    connection: duckdb.DuckDBPyConnection, scans: dict[str, int]
) -> None:
    with Evaluator(
        "recommendations", "interactions", connection=connection, trust_input=True
    ) as evaluator:
        evaluator.evaluate(["ndcg", "map"], k=CUTOFFS)
    # hits; scores of lists with hits; ties and long lists, if there are any
    assert scans["recommendations"] == 4
    assert scans["interactions"] == 1
