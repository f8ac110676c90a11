"""Connections with open transactions, and several runs in one database."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.commands import temporary_files
from tests.support.evaluators import Evaluator
from tests.support.processes import PATIENCE


# ---------------------------------------------------------------- a connection of the caller's
def state(connection: duckdb.DuckDBPyConnection) -> list[Any]:
    """List all that a run could leave in a connection, seen from another one and from itself."""
    queries = [
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() ORDER BY ALL",
        "SELECT database_name, schema_name, view_name, sql FROM duckdb_views() ORDER BY ALL",
        "SELECT name, value FROM duckdb_settings() ORDER BY ALL",
        "SELECT function_name FROM duckdb_functions() WHERE NOT internal ORDER BY ALL",
        "SELECT schema_name FROM duckdb_schemas() ORDER BY ALL",
        "SELECT database_name FROM duckdb_databases() ORDER BY ALL",
        "SELECT type_name FROM duckdb_types() WHERE NOT internal ORDER BY ALL",
        "SELECT name FROM duckdb_prepared_statements() ORDER BY ALL",
        "SELECT n FROM of_the_caller ORDER BY ALL",
    ]
    return [connection.execute(query).fetchall() for query in queries]


FAILING = """\
{#---
title = "Fails, or takes hours"
[params.how]
choices = ["fails", "endless"]
default = "fails"
---#}
SELECT {{ keys }}, k,
    {% if how == "fails" %} max(error('no value'))
    {% else %}
    max((SELECT sum(hash(a.range * b.range)) FROM range(100000) AS a, range(100000000) AS b))
    {% endif %} AS value
FROM hits
GROUP BY {{ keys }}, k
"""


def stop_once() -> Callable[..., None]:
    """Raise what Ctrl-C raises, once; for `watch`, which is called while a query runs."""
    interrupts = [KeyboardInterrupt]

    def stop(*_: object) -> None:
        if interrupts:
            raise interrupts.pop()

    return stop


RUNS: dict[str, tuple[str, type[BaseException] | None]] = {
    "ndcg@10": ("evaluate", None),
    "recall@10": ("per_user", None),
    "failing@10": ("evaluate", sm.SqlmetricsError),
    "failing(how=endless)@10": ("evaluate", KeyboardInterrupt),
}


@pytest.mark.parametrize("metric", RUNS)
def test_a_connection_and_its_transaction_stay_as_they_were(
    data: Path,
    place: Path,
    connection: duckdb.DuckDBPyConnection,
    metric: str,
) -> None:
    """A run that ends well leaves the transaction open, an error of the engine aborts it.

    That is the engine's rule for every error. ROLLBACK undoes what the caller did in both cases.
    """
    (place / "failing.sql.j2").write_text(FAILING)
    method, error = RUNS[metric]
    committed = state(connection)
    connection.execute("BEGIN")
    connection.execute("INSERT INTO of_the_caller VALUES (2)")
    connection.execute("CREATE TABLE fresh AS SELECT 1 AS one")
    before = state(connection)
    history = pd.read_parquet(data / "ranks.parquet")
    with Evaluator(
        "lists",
        "truth",
        history=history,
        connection=connection,
        templates=place,
        watch=stop_once() if error is KeyboardInterrupt else None,
    ) as evaluator:
        if error is None:
            getattr(evaluator, method)([metric, "surprisal@10"])
            assert state(connection) == before
        else:
            with pytest.raises(error):
                getattr(evaluator, method)([metric, "surprisal@10"])
            with pytest.raises(sm.UsageError, match="connection cannot be used"):
                Evaluator("lists", "truth", connection=connection)
        connection.execute("ROLLBACK")
        assert state(connection) == committed
        assert len(evaluator.evaluate("precision@10")) == 1  # both can be used again
    assert state(connection) == committed
    assert temporary_files(place) == []


def test_rules_that_rows_break_leave_a_transaction_open(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    connection.execute("BEGIN")
    connection.execute("INSERT INTO lists VALUES (NULL, 1, 1)")
    with (
        Evaluator("lists", "truth", connection=connection) as evaluator,
        pytest.raises(sm.DataError, match="NULL"),
    ):
        evaluator.evaluate("ndcg@10")
    connection.execute("INSERT INTO of_the_caller VALUES (2)")
    connection.execute("COMMIT")
    assert connection.sql("SELECT count(*) FROM of_the_caller").fetchall() == [(2,)]


# ---------------------------------------------------------------- two runs at once
def test_two_runs_at_once_in_one_database(
    connection: duckdb.DuckDBPyConnection, data: Path
) -> None:
    """Each has a cursor of its own; frames of both are registered under the same names."""
    lists = pd.read_parquet(data / "scores.parquet")
    turned = lists.assign(score=-lists["score"])
    before = state(connection)
    found: dict[str, list[Any]] = {"as it is": [], "turned": []}

    def run(name: str, frame: pd.DataFrame) -> None:
        with Evaluator(frame, "truth", connection=connection.cursor()) as evaluator:
            for k in range(1, 4):
                found[name].append(
                    evaluator.per_user(["ndcg", "map"], k, long=True).to_dict("list")
                )

    threads = [
        threading.Thread(target=run, args=pair)
        for pair in (("as it is", lists), ("turned", turned))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, frame in (("as it is", lists), ("turned", turned)):
        with Evaluator(frame, data / "truth.parquet") as evaluator:
            alone = [
                evaluator.per_user(["ndcg", "map"], k, long=True).to_dict("list")
                for k in range(1, 4)
            ]
        assert found[name] == alone
    assert found["as it is"] != found["turned"]
    assert state(connection) == before


AT_ONCE = """
import sys, duckdb, sqlmetrics as sm
with duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read") as connection:
    with sm.Evaluator("lists", "truth", connection=connection, check=False) as evaluator:
        print(evaluator.rows("ndcg@10").values[0][2], flush=True)
        sys.stdin.read(1)
"""


def test_two_processes_with_one_database_file(data: Path, tmp_path: Path) -> None:
    """Readers run side by side. Beside a writer, the engine refuses to open the file."""
    path = str(tmp_path / "a.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE lists AS FROM '{data}/scores.parquet'")
        connection.execute(f"CREATE TABLE truth AS FROM '{data}/truth.parquet'")

    def run(how: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", AT_ONCE, path, how],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    readers = [run("read"), run("read")]
    try:
        values = [one.stdout.readline() for one in readers if one.stdout]  # both have it open
        with pytest.raises(duckdb.IOException, match="lock"):
            duckdb.connect(path)
    finally:
        messages = [one.communicate("x", timeout=PATIENCE)[1] for one in readers]
    assert messages == ["", ""]
    assert float(values[0]) == pytest.approx(float(values[1]), rel=1e-12)
    with duckdb.connect(path) as connection:
        connection.execute("INSERT INTO lists VALUES (1, 1, 1)")
        late = run("read")
        _, message = late.communicate(timeout=PATIENCE)
    assert late.returncode == 1
    assert "lock" in message
    assert [one.name for one in tmp_path.iterdir()] == ["a.duckdb"]
