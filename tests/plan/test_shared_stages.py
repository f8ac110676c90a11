"""Tables are read, ranked and checked no more often than needed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.sql.query_graph import Plan
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

    for name in ("_run", "_arrow"):
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


@pytest.mark.parametrize("trust", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
@pytest.mark.thorough
def test_inputs_are_read_a_few_times(
    connection: duckdb.DuckDBPyConnection, scans: dict[str, int], trust: bool
) -> None:
    tables = {name: name for name in TABLES}
    with sm.Evaluator(**tables, connection=connection, trust_input=trust) as evaluator:
        evaluator.evaluate("all", k=CUTOFFS)
    # to look for repeated items, a table is read once more, and lists of a million rows another
    # time; recommendations also to see whether items have the attributes that are asked for
    more = {} if trust else {"recommendations": 3, "interactions": 2}
    assert all(1 <= scans[name] <= 2 + more.get(name, 0) for name in SCANNED), scans


def test_lists_without_ties_are_not_ranked_item_by_item(
    connection: duckdb.DuckDBPyConnection, scans: dict[str, int]
) -> None:
    with sm.Evaluator(
        "recommendations", "interactions", connection=connection, trust_input=True
    ) as evaluator:
        evaluator.evaluate(["ndcg", "map"], k=CUTOFFS)
    # their lengths; hits; scores of lists with hits; ties and long lists, if there are any
    assert scans["recommendations"] == 5
    assert scans["interactions"] == 1


@pytest.mark.thorough
def test_without_attributes_of_items_lists_are_read_twice(
    connection: duckdb.DuckDBPyConnection, scans: dict[str, int]
) -> None:
    tables = {name: name for name in ("recommendations", "interactions", "history", "logs")}
    with (
        sm.Evaluator(**tables, connection=connection) as evaluator,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", sm.SqlmetricsWarning)
        evaluator.evaluate("all", k=CUTOFFS, skip_missing=True)
    more = {"recommendations": 2, "interactions": 2}  # to look for repeated items
    assert all(1 <= scans[name] <= 2 + more.get(name, 0) for name in SCANNED), scans


def test_a_second_call_does_not_rank_or_check_again(
    world_tables: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []
    watched = DuckDBEngine._watched

    def noted(self: DuckDBEngine, title: str, work: Any) -> Any:
        titles.append(title)
        return watched(self, title, work)

    monkeypatch.setattr(DuckDBEngine, "_watched", noted)
    with sm.Evaluator(**world_tables) as evaluator:
        evaluator.evaluate(["ndcg", "coverage"], k=5)
        first = set(titles)
        titles.clear()
        evaluator.evaluate(["map", "precision(divisor=length)", "coverage"], k=[5, 50])
        evaluator.per_user(["recall"])
        evaluator.stage("hits")
    assert {"recommendation_profile", "hits", "common_pairs"} <= first
    assert set(titles) == {"summary", "per_user", "look"}


def test_a_common_pair_spares_the_searches_for_common_users_and_items(
    world_tables: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []
    records = DuckDBEngine.records

    def noted(self: DuckDBEngine, plan: Plan) -> Any:
        titles.append(plan.root.name)
        return records(self, plan)

    monkeypatch.setattr(DuckDBEngine, "records", noted)
    searches = {"common_users", "common_items"}
    with sm.Evaluator(**world_tables) as evaluator:
        evaluator.evaluate("recall", k=5)
    assert "common_pairs" in titles
    assert not searches & set(titles)
    titles.clear()
    lists, truth = {"u1": ["a"], "u2": ["b"]}, {"nobody": ["a"]}
    with (
        sm.Evaluator(lists, truth) as evaluator,
        pytest.raises(sm.DataError, match="no user in common"),
    ):
        evaluator.evaluate("recall", k=5)
    assert "common_users" in titles
