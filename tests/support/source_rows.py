"""A few lists and their truth, in the forms that sources have, and the values that they give."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.evaluators import Evaluator

Values = dict[Any, float]
Rows = list[tuple[Any, Any, int]]
METRIC = "mrr@3"
# No list is in the order of its items, so that an order lost on the way changes the values.
LISTS = {1: [14, 11, 12], 2: [12, 14], 3: [13, 11, 15, 12], 4: [15]}
TRUTH = {1: [12], 2: [11, 13], 3: [12, 13], 5: [11]}
EXPECTED: Values = {1: 1 / 3, 2: 0, 3: 1, 5: 0}


def ranked(convert: Callable[[int], Any] = int) -> Rows:
    return [
        (convert(user), convert(item), rank)
        for user, items in LISTS.items()
        for rank, item in enumerate(items, start=1)
    ]


def relevant(convert: Callable[[int], Any] = int) -> list[tuple[Any, Any]]:
    return [(convert(user), convert(item)) for user, items in TRUTH.items() for item in items]


def columns_of(rows: Rows, order: str) -> dict[str, list[Any]]:
    """Return the columns of the lists, with `order` (rank, score or row) telling the order."""
    columns = {"user_id": [row[0] for row in rows], "item_id": [row[1] for row in rows]}
    if order == "rank":
        columns["rank"] = [row[2] for row in rows]
    elif order == "score":
        columns["score"] = [10.0 - row[2] for row in rows]
    return columns


def lists_table(order: str = "rank", convert: Callable[[int], Any] = int) -> pa.Table:
    return pa.table(columns_of(ranked(convert), order))


def truth_table(convert: Callable[[int], Any] = int) -> pa.Table:
    rows = relevant(convert)
    return pa.table({"user_id": [row[0] for row in rows], "item_id": [row[1] for row in rows]})


def values(
    recommendations: Any,
    interactions: Any = None,
    keys: tuple[str, ...] = ("user_id",),
    **options: Any,
) -> Values:
    """Evaluate and return {user: value of METRIC}, the user by the columns `keys`.

    Rows are checked only where a test asks for it: it takes half of the time.
    """
    options = {"trust_input": True, **options}
    if interactions is None:
        interactions = truth_table()
    with Evaluator(recommendations, interactions, **options) as evaluator:
        frame = evaluator.per_user(METRIC)
    assert len(frame.columns) == len(keys) + 1  # users have the names of the table's columns
    assert list(frame.columns)[-1] == METRIC
    users = [tuple(row) for row in frame.iloc[:, :-1].itertuples(index=False, name=None)]
    assert len(set(users)) == len(users)
    return {
        user[0] if len(keys) == 1 else user: float(value)
        for user, value in zip(users, frame[METRIC], strict=True)
    }


CHECKED = {"trust_input": False}


def check(actual: Values, convert: Callable[[int], Any] = int) -> None:
    expected = {convert(user): value for user, value in EXPECTED.items()}
    assert set(actual) == set(expected)
    assert actual == pytest.approx(expected, abs=1e-12)


def write_csv(path: Path, table: pa.Table, delimiter: str = ",") -> Path:
    rows = [table.column_names, *zip(*table.to_pydict().values(), strict=True)]
    text = "".join(delimiter.join(map(str, row)) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def write_jsonl(path: Path, table: pa.Table) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    path.write_text(text, encoding="utf-8")
    return path


def write_parquet(path: Path, table: pa.Table, **options: Any) -> Path:
    pq.write_table(table, path, **options)
    return path


WRITERS: dict[str, Callable[[Path, pa.Table], Path]] = {
    "parquet": write_parquet,
    "csv": write_csv,
    "jsonl": write_jsonl,
}


def packed(content: bytes) -> bytes:
    """Compress without the time, so that tests have the same names in every process."""
    return gzip.compress(content, mtime=0)


def trec_run(rows: Rows, delimiter: str = " ") -> str:
    lines = ([user, "Q0", item, rank, 10 - rank, "tag"] for user, item, rank in rows)
    return "".join(delimiter.join(map(str, line)) + "\n" for line in lines)


def connection_with_tables(path: str | Path = ":memory:") -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(path)
    for name, table in (("lists", lists_table()), ("truth", truth_table())):
        connection.register("given", table)
        connection.execute(f"CREATE TABLE {name} AS FROM given")
        connection.unregister("given")
    return connection


def both(found: Mapping[tuple[str, Any], float]) -> None:
    """Model `a` is the usual one; model `b` has the same lists upside down."""
    check({user: value for (model, user), value in found.items() if model == "a"})
    b = {user: value for (model, user), value in found.items() if model == "b"}
    assert b[1] == pytest.approx(1)
    assert b[3] == pytest.approx(1)
    assert set(b) == set(EXPECTED)
    assert len(found) == 2 * len(EXPECTED)


def upside_down() -> pa.Table:
    lists = {user: items[::-1] for user, items in LISTS.items()}
    rows = [(u, i, r) for u, items in lists.items() for r, i in enumerate(items, start=1)]
    return pa.table(columns_of(rows, "rank"))
