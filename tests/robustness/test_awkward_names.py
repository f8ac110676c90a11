"""Columns, tables, models and ids with hostile names."""

from __future__ import annotations

import contextlib
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sqlmetrics.errors import SqlmetricsError
from tests.support.evaluators import Evaluator
from tests.support.hostile import (
    HOSTILE,
    METRICS,
    history_table,
    lists_table,
    some,
    truth_table,
    users_table,
    values,
)

NAMES = [name for name in HOSTILE if name.strip() and "\ud800" not in name and "\x00" not in name]
OFTEN = [
    "select",
    '"a""b"',
    "x'; DROP TABLE recs; --",
]


@pytest.mark.parametrize("name", some(NAMES, OFTEN))
def test_columns_with_hostile_names(name: str, expected: list[float]) -> None:
    """The item's column is called so, and mapped; the truth has a further column of that name."""
    lists = lists_table().rename_columns(["user_id", name, "rank", "points"])
    truth = truth_table()
    if name.lower() not in ("user_id", "item_id", "relevance"):
        truth = truth.append_column(name, pa.array(["x"] * len(truth)))
    columns = {"recommendations.item_id": name}
    if name.lower() in ("user_id", "rank"):
        lists = lists_table().rename_columns(["u", name, "r", "points"])
        columns |= {"recommendations.user_id": "u", "recommendations.rank": "r"}
    tables = {"history": history_table(), "users": users_table(), "columns": columns}
    with Evaluator(lists, truth, **tables) as evaluator:
        assert values(evaluator.evaluate(METRICS)) == expected


# columns of results: slices cannot be called so
OF_RESULTS = {"user_id", "k", "model", "metric", "value", "position"}


@pytest.mark.parametrize("name", some(NAMES, OFTEN))
def test_tables_and_slices_with_hostile_names(
    name: str, expected: list[float], tmp_path: Path
) -> None:
    """A table of a connection is called so, and a column to slice by."""
    quoted = '"' + name.replace('"', '""') + '"'
    users = pa.table({"user_id": [1, 2, 3]})
    if name != "user_id":
        users = users.append_column(name, users_table()["country"])
    with duckdb.connect() as connection, contextlib.chdir(tmp_path):
        connection.register("just_now", lists_table())
        connection.execute(f"CREATE TABLE {quoted} AS FROM just_now")
        connection.unregister("just_now")
        connection.execute("CREATE TABLE recs AS SELECT 42 AS answer")
        tables = {"history": history_table(), "users": users, "connection": connection}
        with Evaluator(name, truth_table(), **tables) as evaluator:
            assert values(evaluator.evaluate(METRICS)) == expected
            if name.lower() in OF_RESULTS:
                with pytest.raises(SqlmetricsError, match=f"by: {name} is also "):
                    evaluator.evaluate("recall@2", by=f"users.{name}")
            else:
                found = evaluator.evaluate("recall@2", by=f"users.{name}")
                assert next(iter(found.columns)) == name
                assert dict(zip(found[name], values(found), strict=True)) == {
                    "it's": 0.5, 'a"b': 0.0, "(none)": 0.5
                }  # fmt: skip
        assert connection.sql("FROM recs").fetchall() == [(42,)]


def test_models_with_hostile_names(expected: list[float]) -> None:
    """Every name is a model of its own, with the same lists."""
    names = [name for name in HOSTILE if "\ud800" not in name]
    lists = pa.concat_tables(
        [lists_table().append_column("model", pa.array([n] * 10, pa.string())) for n in names]
    )
    with Evaluator(lists, truth_table(), history=history_table()) as evaluator:
        found = evaluator.evaluate(METRICS)
        users = evaluator.per_user(METRICS[:1])
        assert sorted(evaluator.models) == sorted(names)
    assert sorted(set(found["model"])) == sorted(names)
    for _, of_model in found.groupby("model"):
        assert values(of_model) == expected
    assert len(users) == 3 * len(names)


def test_ids_with_hostile_texts(expected: list[float]) -> None:
    """Users and items are texts that mean something to somebody; ranks give the order."""
    texts = [name for name in dict.fromkeys(HOSTILE) if "\ud800" not in name]
    assert len(texts) > 80
    for start in range(0, len(texts) - 20, 20):
        some = texts[start : start + 20]

        def named(table: pa.Table, some: list[str] = some) -> pa.Table:
            for place, column in enumerate(("user_id", "item_id")):
                if column in table.column_names:
                    of_row = [some[number] for number in table[column].to_pylist()]
                    table = table.set_column(place, column, pa.array(of_row))
            return table

        tables = {"history": named(history_table()), "users": named(users_table())}
        with Evaluator(named(lists_table()), named(truth_table()), **tables) as evaluator:
            assert values(evaluator.evaluate(METRICS)) == expected
            users = evaluator.per_user(METRICS[:1])
            assert sorted(users["user_id"]) == sorted(some[1:4])
            sliced = evaluator.evaluate("recall@2", by="country")
            assert sorted(sliced["country"]) == ["(none)", 'a"b', "it's"]
