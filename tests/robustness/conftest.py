"""Fixtures of several files: large files with many row groups, a folder for results, databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import sqlmetrics as sm
from tests.support.commands import GROUP
from tests.support.evaluators import Evaluator
from tests.support.hostile import (
    METRICS,
    history_table,
    lists_table,
    truth_table,
    users_table,
    values,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write lists of 20 items for 600 users, with ranks and with scores, and a hit for each."""
    folder = tmp_path_factory.mktemp("data")
    lists = "range(600) AS users (u), range(1, 21) AS places (p)"
    with duckdb.connect() as connection:
        for name, column in (("ranks", "p AS rank"), ("scores", "hash(u, p) % 97 AS score")):
            connection.execute(
                f"COPY (SELECT u AS user_id, (7 * u + 13 * p) % 997 AS item_id, {column} "
                f"FROM {lists} ORDER BY u, p) TO '{folder}/{name}.parquet' (ROW_GROUP_SIZE {GROUP})"
            )
        connection.execute(
            "COPY (SELECT u AS user_id, (7 * u + 13 * (1 + u % 20)) % 997 AS item_id "
            f"FROM range(600) AS users (u)) TO '{folder}/truth.parquet'"
        )
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder for results; temporary files of this and of other processes go beside it."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


@pytest.fixture
def connection(data: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(f"CREATE TABLE lists AS FROM '{data}/scores.parquet'")
        opened.execute(f"CREATE VIEW truth AS FROM '{data}/truth.parquet'")
        opened.execute("CREATE MACRO gain(x) AS 2 * x")
        opened.execute("SET default_null_order = 'nulls_first'")
        opened.execute("CREATE TABLE of_the_caller AS SELECT 1 AS n")
        yield opened


@pytest.fixture(scope="module")
def expected() -> list[float]:
    tables = {"history": history_table(), "users": users_table()}
    with Evaluator(lists_table(), truth_table(), **tables) as evaluator:
        return values(evaluator.evaluate(METRICS))


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of the user's, with the tables and one that nobody may touch."""
    connection = duckdb.connect()
    for name, table in (
        ("recs", lists_table()), ("truth", truth_table()), ("history", history_table()),
        ("users", users_table()),
    ):  # fmt: skip
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS FROM given")
        connection.unregister("given")
    connection.execute("CREATE TABLE precious AS SELECT 42 AS answer")
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def evaluator(database: duckdb.DuckDBPyConnection) -> Iterator[sm.Evaluator]:
    tables = {"history": "history", "users": "users"}
    with Evaluator("recs", "truth", **tables, connection=database) as opened:
        yield opened
