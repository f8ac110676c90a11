"""Connections with open transactions, and several runs in one database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.commands import temporary_files
from tests.support.connections import state
from tests.support.evaluators import Evaluator

# ---------------------------------------------------------------- a connection of the caller's
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
    committed = state(connection, "of_the_caller")
    connection.execute("BEGIN")
    connection.execute("INSERT INTO of_the_caller VALUES (2)")
    connection.execute("CREATE TABLE fresh AS SELECT 1 AS one")
    before = state(connection, "of_the_caller")
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
            assert state(connection, "of_the_caller") == before
        else:
            with pytest.raises(error):
                getattr(evaluator, method)([metric, "surprisal@10"])
            with pytest.raises(sm.UsageError, match="connection cannot be used"):
                Evaluator("lists", "truth", connection=connection)
        connection.execute("ROLLBACK")
        assert state(connection, "of_the_caller") == committed
        assert len(evaluator.evaluate("precision@10")) == 1  # both can be used again
    assert state(connection, "of_the_caller") == committed
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
    before = state(connection, "of_the_caller")
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
    assert state(connection, "of_the_caller") == before
