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
    truth_table,
    users_table,
    values,
)

NAMES = [name for name in HOSTILE if name.strip() and "\ud800" not in name and "\x00" not in name]
# columns of results: slices cannot be called so
OF_RESULTS = {"user_id", "k", "model", "metric", "value", "position"}


def test_columns_with_hostile_names(expected: list[float]) -> None:
    """The columns of lists are called so, and mapped; the truth has further ones of the name."""
    wrong = {}
    for place in range(0, len(NAMES), 3):
        names = ([*NAMES, "x", "y"])[place : place + 3]
        lists = lists_table().rename_columns([*names, "points"])
        truth = truth_table()
        for name in names:
            if name.lower() not in ("user_id", "item_id", "relevance"):
                truth = truth.append_column(name, pa.array(["x"] * len(truth)))
        mapped = zip(("user_id", "item_id", "rank"), names, strict=True)
        columns = {f"recommendations.{ours}": name for ours, name in mapped}
        tables = {"history": history_table(), "users": users_table(), "columns": columns}
        with Evaluator(lists, truth, **tables) as evaluator:
            found = values(evaluator.evaluate(METRICS))
        if found != expected:
            wrong[*names] = found
    assert wrong == {}


def test_tables_with_hostile_names(expected: list[float], tmp_path: Path) -> None:
    """Tables of a connection are called so; each is a model."""
    with duckdb.connect() as connection, contextlib.chdir(tmp_path):
        connection.register("just_now", lists_table())
        for name in NAMES:
            quoted = '"' + name.replace('"', '""') + '"'
            connection.execute(f"CREATE TABLE {quoted} AS FROM just_now")
        connection.unregister("just_now")
        connection.execute("CREATE TABLE recs AS SELECT 42 AS answer")
        models = {f"model_{place}": name for place, name in enumerate(NAMES)}
        tables = {"history": history_table(), "connection": connection}
        with Evaluator(models, truth_table(), **tables) as evaluator:
            found = evaluator.evaluate(METRICS)
        assert connection.sql("FROM recs").fetchall() == [(42,)]
    of_models = {models[str(model)]: values(rows) for model, rows in found.groupby("model")}
    assert of_models == dict.fromkeys(NAMES, expected)


def test_slices_with_hostile_names() -> None:
    """Columns to slice by are called so."""
    users = pa.table({"user_id": [1, 2, 3]})
    for name in NAMES:
        if name != "user_id":
            users = users.append_column(name, users_table()["country"])
    with Evaluator(lists_table(), truth_table(), users=users) as evaluator:
        sliced = [name for name in NAMES if name.lower() not in OF_RESULTS]
        found = evaluator.evaluate("recall@2", by=[f"users.{name}" for name in sliced])
        assert list(found.columns)[: len(sliced)] == sliced
        for name in sliced:  # a user has the same value in all columns
            assert dict(zip(found[name], values(found), strict=True)) == {
                "it's": 0.5, 'a"b': 0.0, "(none)": 0.5
            }, name  # fmt: skip
        for name in OF_RESULTS & set(NAMES):
            with pytest.raises(SqlmetricsError, match=f"by: {name} is also "):
                evaluator.evaluate("recall@2", by=f"users.{name}")


def test_models_with_hostile_names(expected: list[float]) -> None:
    """Every name is a model of its own, with the same lists."""
    names = [name for name in HOSTILE if "\ud800" not in name]
    lists = pa.concat_tables(
        [lists_table().append_column("model", pa.array([n] * 10, pa.string())) for n in names]
    )
    with Evaluator(lists, truth_table(), history=history_table()) as evaluator:
        found = evaluator.evaluate(METRICS)
        users = evaluator.per_user(METRICS[:1], long=True)
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
        group = texts[start : start + 20]

        def named(table: pa.Table, group: list[str] = group) -> pa.Table:
            for place, column in enumerate(("user_id", "item_id")):
                if column in table.column_names:
                    of_row = [group[number] for number in table[column].to_pylist()]
                    table = table.set_column(place, column, pa.array(of_row))
            return table

        tables = {"history": named(history_table()), "users": named(users_table())}
        with Evaluator(named(lists_table()), named(truth_table()), **tables) as evaluator:
            assert values(evaluator.evaluate(METRICS)) == expected
            users = evaluator.per_user(METRICS[:1], long=True)
            assert sorted(users["user_id"]) == sorted(group[1:4])
            sliced = evaluator.evaluate("recall@2", by="country")
            assert sorted(sliced["country"]) == ["(none)", 'a"b', "it's"]
