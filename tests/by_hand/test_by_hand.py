"""Queries that a person writes by hand give the rows of the package."""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.by_hand import QUERIES
from tests.support.paths import DATA
from tests.support.worlds import CATALOG, world

# of random tables: how many users and items; the fewer items, the more hits and the higher coverage
RANDOM = {"sparse": (40, 150), "dense": (120, 30)}
WORLDS = ("examples", *RANDOM)
Row = tuple[Any, ...]


def write_examples(folder: Path) -> None:
    for path in DATA.glob("*.parquet"):
        shutil.copy(path, folder)
    shutil.copy(DATA / "recommendations_als.parquet", folder / "recommendations.parquet")
    shutil.copy(DATA / "recommendations_popular.parquet", folder / "baseline.parquet")


def write_random(folder: Path, users: int, n_items: int) -> None:
    """Write lists with ties and of every length, and users and items that some tables lack."""
    tables = world(1, users, n_items)
    tables["recommendations_als"] = tables["recommendations"]
    tables["recommendations_popular"] = world(2, users, n_items)["recommendations"]
    baseline = tables["baseline"]
    tables["baseline"] = baseline.assign(score=(-baseline["rank"] // 2)).drop(columns="rank")
    history = tables["history"]
    tables["history"] = pd.concat([history, history.head(40)])
    # users without a country, and the last ones without a row
    rows = [(user, ["FR", "US", None, "JP"][user % 4]) for user in range(users - 10)]
    tables["users"] = pd.DataFrame(rows, columns=["user_id", "country"])
    for name, frame in tables.items():
        frame.to_parquet(folder / f"{name}.parquet", index=False)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {name: tmp_path_factory.mktemp(name) for name in WORLDS}
    write_examples(found["examples"])
    for name, size in RANDOM.items():
        write_random(found[name], *size)
    return found


def by_hand(sql: str, folder: Path) -> tuple[Sequence[str], list[Row]]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"SET file_search_path = '{folder}'")
        result = connection.execute(sql)
        assert result.description is not None
        return [column[0] for column in result.description], result.fetchall()


def by_package(asked: dict[str, Any], folder: Path) -> tuple[Sequence[str], list[Row], str]:
    """Return the columns and rows of the package, and the statement that it prints."""
    tables: dict[str, Any] = {name: str(folder / f"{name}.parquet") for name in asked["tables"]}
    if "models" in asked:
        tables["recommendations"] = {
            model: str(folder / f"recommendations_{model}.parquet") for model in asked["models"]
        }
    choices = {name: asked[name] for name in ("settings", "convention") if name in asked}
    options = {name: asked[name] for name in ("by", "ci") if name in asked}
    with sm.Evaluator(**tables, **choices, threads=1) as evaluator:
        if asked.get("per_user"):
            frame = evaluator.per_user(asked["metrics"], **options)
            printed = evaluator.sql(asked["metrics"], per_user=True, **options)
            return list(frame.columns), list(frame.itertuples(index=False, name=None)), printed
        rows = evaluator.rows(asked["metrics"], **options)
        return rows.names, list(rows.values), evaluator.sql(asked["metrics"], **options)


def in_order(names: Sequence[str], rows: Sequence[Row]) -> list[Row]:
    """Return rows by their keys, with None for every missing value."""
    values = {"value", "n_users", "std", "ci_low", "ci_high"}
    keys = [place for place, name in enumerate(names) if name not in values]
    found = [tuple(None if pd.isna(value) else value for value in row) for row in rows]
    return sorted(found, key=lambda row: [str(row[place]) for place in keys])


def assert_same(
    names: Sequence[str], rows: list[Row], other_names: Sequence[str], others: list[Row]
) -> None:
    assert list(names) == list(other_names)
    assert len(rows) == len(others) > 0
    for row, other in zip(in_order(names, rows), in_order(names, others), strict=True):
        for value, wanted in zip(row, other, strict=True):
            if isinstance(value, int | float) and isinstance(wanted, int | float):
                assert math.isclose(value, wanted, rel_tol=0, abs_tol=1e-9), (row, other)
            else:
                assert value == wanted, (row, other)


@pytest.mark.parametrize("place", WORLDS)
@pytest.mark.parametrize("name", QUERIES)
def test_query_by_hand_returns_the_rows_of_the_package(
    name: str, place: str, folders: dict[str, Path]
) -> None:
    query = QUERIES[name]
    names, rows = by_hand(query.sql, folders[place])
    expected_names, expected, _ = by_package(query.asked, folders[place])
    assert_same(names, rows, expected_names, expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize("place", ["dense", "sparse"])
def test_every_printed_statement_returns_the_rows_of_the_package(
    place: str, folders: dict[str, Path]
) -> None:
    for query in QUERIES.values():
        names, rows, printed = by_package(query.asked, folders[place])
        assert_same(*by_hand(printed, folders[place]), names, rows)


def test_every_metric_has_a_query() -> None:
    assert CATALOG.metrics.keys() <= QUERIES.keys()
