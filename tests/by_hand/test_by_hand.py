"""Queries that a person writes by hand give the rows of the package."""

import json
import math
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from tests.support.by_hand import QUERIES, evaluator
from tests.support.paths import DATA
from tests.support.worlds import CATALOG, world

# of random tables: how many users and items; the fewer items, the more hits and the higher coverage
RANDOM = {"sparse": (40, 150), "dense": (120, 30)}
WORLDS = ("examples", *RANDOM)
Row = tuple[Any, ...]
# by the first query of a group, and whether it is of the examples: a statement, and its folder
PRINTED: dict[tuple[str, bool], tuple[str, Path]] = {}
VALUES = {"value", "n_users", "std", "ci_low", "ci_high"}


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
    # of four months, and some without
    days = pd.Series(range(len(tables["interactions"]))).mul(37).mod(120)
    times = (pd.Timestamp("2026-01-01") + pd.to_timedelta(days, unit="D")).mask(days % 10 == 0)
    tables["interactions"]["timestamp"] = times.to_numpy()
    # users without a country, and the last ones without a row
    rows = [(user, ["FR", "US", None, "JP"][user % 4]) for user in range(users - 10)]
    tables["users"] = pd.DataFrame(rows, columns=["user_id", "country"])
    for name, frame in tables.items():
        frame.to_parquet(folder / f"{name}.parquet", index=False)


def write_policies(folder: Path) -> None:
    """Write a policy that may show every logged item, and the logs as slates, one per user."""
    connection = duckdb.connect()
    connection.execute(f"""
        COPY (
            WITH offered AS (SELECT DISTINCT user_id, item_id FROM '{folder}/logs.parquet')
            SELECT
                user_id,
                item_id,
                (1 + item_id % 5) / sum(1 + item_id % 5) OVER (PARTITION BY user_id) AS probability,
                item_id % 7 / 7 AS predicted
            FROM offered
        ) TO '{folder}/policy.parquet'
    """)
    connection.execute(f"""
        COPY (
            SELECT
                user_id AS round_id, user_id, item_id, reward, propensity,
                row_number() OVER (PARTITION BY user_id ORDER BY item_id) AS position,
                propensity * (0.6 + item_id % 5 / 10) AS target_propensity
            FROM '{folder}/logs.parquet'
        ) TO '{folder}/slates.parquet'
    """)
    connection.close()


def write_times(folder: Path) -> None:
    """Write lists with a time for each user, and their items with a time before all lists."""
    connection = duckdb.connect()
    connection.execute(f"""
        COPY (
            SELECT
                user_id, item_id, score,
                TIMESTAMP '2026-11-28' + INTERVAL (user_id % 50) HOUR AS timestamp
            FROM '{folder}/recommendations.parquet'
        ) TO '{folder}/dated_recommendations.parquet'
    """)
    connection.execute(f"""
        COPY (
            SELECT item_id, TIMESTAMP '2026-11-28' - INTERVAL (item_id % 61) DAY AS created_at
            FROM '{folder}/recommendations.parquet'
            GROUP BY item_id
        ) TO '{folder}/dated_items.parquet'
    """)
    connection.close()


@pytest.fixture(scope="module", params=WORLDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = tmp_path_factory.mktemp(request.param)
    if request.param == "examples":
        write_examples(found)
    else:
        write_random(found, *RANDOM[request.param])
    write_policies(found)
    write_times(found)
    return found


@pytest.fixture
def connection(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"SET file_search_path = '{folder}'")
        yield connection


def fetched(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[list[str], list[Row]]:
    result = connection.execute(sql)
    return [column[0] for column in result.description], result.fetchall()


def groups() -> list[list[str]]:
    """Return the names of queries that differ in their metrics only: one call asks for them all."""
    by_call: dict[str, list[str]] = {}
    for name, query in QUERIES.items():
        others = {key: value for key, value in query.asked.items() if key != "metrics"}
        by_call.setdefault(json.dumps(others, sort_keys=True), []).append(name)
    return list(by_call.values())


def by_package(names: list[str], folder: Path) -> tuple[list[str], list[Row], str]:
    """Return the columns and rows of the package, and the statement that it prints.

    The tables of all random worlds have the same columns, so their statements differ in paths only.
    """
    asked = QUERIES[names[0]].asked
    metrics = list(dict.fromkeys(one for name in names for one in QUERIES[name].asked["metrics"]))
    options = {name: asked[name] for name in ("by", "ci") if name in asked}
    with evaluator(asked, lambda table: str(folder / f"{table}.parquet")) as one:
        if asked.get("per_user"):
            frame = one.per_user(metrics, **options)
            columns, values = frame.columns, frame.itertuples(index=False, name=None)
            options["per_user"] = True
        else:
            rows = one.rows(metrics, **options)
            columns, values = rows.names, rows.values
        key = names[0], folder.name.startswith("examples")
        if (known := PRINTED.get(key)) is None:
            known = PRINTED[key] = one.sql(metrics, **options), folder
        printed, place = known
        return list(columns), list(values), printed.replace(str(place), str(folder))


def in_order(names: Sequence[str], rows: Iterable[Row]) -> list[Row]:
    """Return rows by their keys, each once, with None for every missing value."""
    keys = [place for place, name in enumerate(names) if name not in VALUES]
    found = [tuple(None if pd.isna(value) else value for value in row) for row in rows]
    by_key = {tuple(str(row[place]) for place in keys): row for row in found}
    return [by_key[key] for key in sorted(by_key)]


def differences(names: Sequence[str], rows: Iterable[Row], others: Iterable[Row]) -> list[str]:
    """Compare rows: numbers to 1e-9."""
    ours, theirs = in_order(names, rows), in_order(names, others)
    if len(ours) != len(theirs) or not ours:
        return [f"{len(ours)} and {len(theirs)} rows"]
    return [
        f"{row} and {other}"
        for row, other in zip(ours, theirs, strict=True)
        if not all(map(is_same, row, other))
    ]


def is_same(value: Any, other: Any) -> bool:
    if isinstance(value, int | float) and isinstance(other, int | float):
        return math.isclose(value, other, rel_tol=0, abs_tol=1e-9)
    return bool(value == other)


@pytest.mark.parametrize("names", groups(), ids=lambda names: f"{names[0]} and {len(names) - 1}")
def test_queries_by_hand_return_the_rows_of_the_package(
    names: list[str], folder: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    """So does the statement that the package prints for all of them."""
    columns, rows, printed = by_package(names, folder)
    wrong, by_hand = {}, []
    for name in names:
        found_columns, found = fetched(connection, QUERIES[name].sql)
        assert found_columns == columns, name
        by_hand += found
        if "metric" in columns:
            places = [columns.index("metric"), columns.index("k")]
            keys = {tuple(row[place] for place in places) for row in found}
            own = [row for row in rows if tuple(row[place] for place in places) in keys]
            assert len(keys) == len(QUERIES[name].asked["metrics"]), name
        else:
            own = rows
        if found := differences(columns, found, own):
            wrong[name] = found[:3]
    assert wrong == {}
    assert len(in_order(columns, by_hand)) == len(rows)  # no row of the package is left
    printed_columns, of_printed = fetched(connection, printed)
    assert printed_columns == columns
    assert differences(columns, of_printed, rows) == []


def test_every_metric_has_a_query() -> None:
    assert CATALOG.metrics.keys() <= QUERIES.keys()
