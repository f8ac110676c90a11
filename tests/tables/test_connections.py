"""Relations, tables and views of a DuckDB connection."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.connections import state
from tests.support.evaluators import Evaluator
from tests.support.source_rows import (
    CHECKED,
    check,
    connection_with_tables,
    lists_table,
    truth_table,
    values,
)


def test_duckdb_relation() -> None:
    connection = connection_with_tables()
    check(values(connection.table("lists"), connection.sql("FROM truth")))
    check(values(connection.sql("FROM lists"), connection.table("truth"), connection=connection))


NAMED = [
    ("SELECT 1", "lists"),
    ("CREATE VIEW best AS FROM lists", "best"),
    ("CREATE TEMP TABLE best AS FROM lists", "best"),
    ("CREATE TEMP VIEW best AS FROM lists", "best"),
    ("CREATE SCHEMA s; CREATE TABLE s.best AS FROM lists", "s.best"),
    ("CREATE SCHEMA s; CREATE TABLE s.best AS FROM lists; DROP TABLE lists", "memory.s.best"),
    ("ATTACH ':memory:' AS other; CREATE TABLE other.best AS FROM lists", "other.main.best"),
    ("ATTACH ':memory:' AS other; CREATE TABLE other.best AS FROM lists", "other.best"),
    ('CREATE TABLE "My Lists" AS FROM lists', "My Lists"),
    ('CREATE TABLE "My Lists" AS FROM lists', '"My Lists"'),
    ('CREATE TABLE "a""b" AS FROM lists', 'a"b'),
    ('CREATE TABLE "a.b" AS FROM lists', "a.b"),
    ('CREATE TABLE "select" AS FROM lists', "select"),
    ('CREATE TABLE "hits" AS FROM lists', "hits"),
    ('CREATE TABLE "recommendations" AS FROM lists', "recommendations"),
    ("CREATE TABLE MixedCase AS FROM lists", "MixedCase"),
    ("CREATE TABLE MixedCase AS FROM lists", "mixedcase"),
]


def test_table_of_a_connection() -> None:
    for statement, name in NAMED:
        with connection_with_tables() as connection:
            connection.execute(statement)
            check(values(name, "truth", connection=connection))


def test_temporary_table_hides_a_table_of_the_same_name() -> None:
    connection = connection_with_tables()
    connection.execute("CREATE TEMP TABLE lists AS SELECT 9 AS user_id, 9 AS item_id, 1 AS rank")
    with pytest.raises(sm.DataError, match=r"no user in common.* 9,"):
        values("lists", "truth", connection=connection, **CHECKED)


def test_tables_called_as_our_stages(order: str) -> None:
    """Both tables have the names that the statement uses itself, for other things."""
    connection = duckdb.connect()
    lists, truth = lists_table(order), truth_table()
    connection.execute("CREATE TABLE interactions AS FROM lists")
    connection.execute("CREATE TABLE recommendations AS FROM truth")
    del lists, truth
    check(values("interactions", "recommendations", connection=connection))


@pytest.mark.parametrize("record", [False, True])
def test_a_connection_stays_as_it_was(record: bool) -> None:
    connection = connection_with_tables()
    before = state(connection, "lists")
    evaluator = Evaluator(
        "lists",
        "truth",
        history=pd.DataFrame({"user_id": [1], "item_id": [7]}),
        connection=connection,
        record=record,
    )
    assert state(connection, "lists") == before
    evaluator.evaluate(["mrr@3", "ndcg", "coverage"])
    assert state(connection, "lists") == before
    evaluator.per_user(["mrr@3"], long=True)
    evaluator.stage("hits")
    evaluator.sql("mrr@3")
    assert state(connection, "lists") == before
    with pytest.raises(sm.UsageError):
        evaluator.evaluate("mrrr")
    evaluator.close()
    assert state(connection, "lists") == before


def test_a_connection_stays_as_it_was_after_an_error() -> None:
    connection = connection_with_tables()
    before = state(connection)
    with pytest.raises(sm.DataError):
        Evaluator(pd.DataFrame({"user_id": [1]}), "truth", connection=connection)
    broken = lists_table().to_pandas()
    broken.loc[0, "rank"] = 3
    with (
        Evaluator(broken, "truth", connection=connection) as evaluator,
        pytest.raises(sm.DataError),
    ):
        evaluator.evaluate("mrr@3")
    assert state(connection) == before


def test_frames_and_tables_of_a_connection_go_together() -> None:
    connection = connection_with_tables()
    check(values(lists_table().to_pandas(), "truth", connection=connection))
    check(values("lists", truth_table(), connection=connection))


def test_a_view_of_the_caller_with_our_name_survives() -> None:
    connection = connection_with_tables()
    connection.execute("CREATE TABLE sqlmetrics_recommendations AS SELECT 'mine' AS note")
    connection.execute("CREATE TEMP VIEW sqlmetrics_interactions AS SELECT 'mine' AS note")
    before = state(connection)
    check(values(lists_table(), truth_table(), connection=connection))
    assert state(connection) == before
    assert connection.sql("FROM sqlmetrics_recommendations").fetchall() == [("mine",)]
    assert connection.sql("FROM sqlmetrics_interactions").fetchall() == [("mine",)]


def test_inside_an_open_transaction() -> None:
    connection = connection_with_tables()
    before = state(connection, "lists")
    connection.begin()
    connection.execute("DELETE FROM lists WHERE user_id = 4")
    connection.execute("CREATE TABLE fresh AS FROM truth")
    check(values("lists", "fresh", connection=connection))
    check(values(lists_table(), "fresh", connection=connection))
    connection.rollback()
    assert state(connection, "lists") == before
    with pytest.raises(sm.DataError, match="fresh"):
        Evaluator("lists", "fresh", connection=connection)


def test_a_cursor_of_a_connection() -> None:
    check(values("lists", "truth", connection=connection_with_tables().cursor()))


def test_a_read_only_database(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    connection_with_tables(path).close()
    with duckdb.connect(path, read_only=True) as connection:
        check(values("lists", "truth", connection=connection))


def test_a_relation_that_cannot_be_read() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE lists AS SELECT 'u' AS user_id, 'a' AS item_id, 1 AS rank")
    relation = connection.table("lists")
    connection.execute("ALTER TABLE lists RENAME TO others")
    with pytest.raises(sm.DataError, match="relation cannot be read: Table with name lists"):
        Evaluator(relation, {"u": ["a"]})
    connection.close()
    told = "been closed. Keep its connection open until the evaluator was created"
    with pytest.raises(sm.DataError, match=told):
        Evaluator(relation, {"u": ["a"]})
