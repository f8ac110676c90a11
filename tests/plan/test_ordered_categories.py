"""Slices of ordered categories keep the order of the categories."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.support.evaluators import Evaluator

SIZES = ["small", "medium", "large", "extra 'large'", None]
ORDER = ["small", "medium", "extra 'large'", "large", "huge"]  # nobody has the last size
IN_ORDER, BY_LETTERS = ORDER[:4], sorted(ORDER[:4])
LISTS: dict[int, list[str]] = {user: ["a", "b"] for user in range(5)}
TRUTH = {user: ["a"] for user in range(5)}


def frame(categories: Iterable[str], ordered: bool = True) -> pd.DataFrame:
    return pd.DataFrame({"user_id": range(5), "size": pd.Categorical(SIZES, categories, ordered)})


def arrow(ordered: bool) -> pa.Table:
    """Return chunks whose dictionaries differ, as in a table of several record batches."""
    first = pa.DictionaryArray.from_arrays(
        pa.array([0, 1], "int8"), ["small", "medium"], ordered=ordered
    )
    second = pa.DictionaryArray.from_arrays(pa.array([3, 2, None], "int8"), ORDER, ordered=ordered)
    return pa.table({"user_id": range(5), "size": pa.chunked_array([first, second])})


ENUM = "ENUM('small', 'medium', 'extra ''large''', 'large', 'huge')"
ROWS = f"""
SELECT user_id, CAST(size AS {ENUM}) AS size
FROM (VALUES (0, 'small'), (1, 'medium'), (2, 'large'), (3, 'extra ''large'''))
    AS users(user_id, size)
"""


def of_duckdb(folder: Path) -> duckdb.DuckDBPyRelation:  # noqa: ARG001
    return duckdb.sql(ROWS)


def in_a_file(folder: Path) -> str:
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(f"CREATE TABLE users AS {ROWS}")
    return f"{folder / 'shop.duckdb'}:users"


def slices_of(users: Any) -> list[str]:
    with Evaluator(LISTS, TRUTH, users=users) as evaluator:
        return list(evaluator.evaluate("recall@1", by="size")["size"])


@pytest.mark.parametrize(
    ("users", "wanted"),
    [
        pytest.param(frame(ORDER), IN_ORDER, id="pandas"),
        pytest.param(frame(ORDER[::-1]), IN_ORDER[::-1], id="another order, the same columns"),
        pytest.param(frame(ORDER, ordered=False), BY_LETTERS, id="pandas without an order"),
        pytest.param(arrow(True), IN_ORDER, id="Arrow"),
        pytest.param(arrow(False), BY_LETTERS, id="Arrow without an order"),
        pytest.param(
            pl.DataFrame({"user_id": range(5), "size": pl.Series(SIZES, dtype=pl.Enum(ORDER))}),
            IN_ORDER,
            id="Polars",
        ),
        pytest.param(of_duckdb, IN_ORDER, id="relation of DuckDB"),
        pytest.param(in_a_file, IN_ORDER, id="file of DuckDB"),
    ],
)
def test_slices_keep_the_order_of_categories(users: Any, wanted: list[str], tmp_path: Path) -> None:
    assert slices_of(users(tmp_path) if callable(users) else users) == [*wanted, "(none)"]


def test_slices_of_items_keep_it_too() -> None:
    items = pd.DataFrame(
        {"item_id": ["a", "b"], "size": pd.Categorical(["small", "large"], ORDER, ordered=True)}
    )
    truth = {user: ["a", "b"] for user in range(5)}
    with Evaluator(LISTS, truth, items=items) as evaluator:
        assert list(evaluator.evaluate("recall@2", by="items.size")["size"]) == ["small", "large"]
