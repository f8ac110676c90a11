"""Alternatives that keep lists in memory are used only if the lists fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from sqlmetrics.plan.memory import lists_fit
from tests.support.evaluators import Evaluator

N_ROWS = 600_000  # at 40 bytes each, 24 MB
SMALL, LARGE = "40MB", "1GB"
METRIC = "ndcg@10"
LOOKED_UP = "list_position"  # in the statement of the alternative


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    draw = np.random.default_rng(0)
    users, items = np.divmod(np.arange(N_ROWS), 50)
    lists = pd.DataFrame({"user_id": users, "item_id": items, "score": draw.random(N_ROWS)})
    truth = lists[["user_id", "item_id"]].sample(N_ROWS // 10, random_state=1)
    return {"recommendations": lists, "interactions": truth}


@pytest.fixture(scope="module")
def files(tables: dict[str, pd.DataFrame], tmp_path_factory: Any) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    for name, rows in tables.items():
        rows.to_parquet(folder / f"{name}.parquet", index=False)
    return {name: folder / f"{name}.parquet" for name in tables}


def test_large_lists_are_not_kept_in_memory(files: dict[str, Path]) -> None:
    results = []
    for limits, is_looked_up in (({}, True), ({"memory_limit": SMALL, "threads": 1}, False)):
        given: dict[str, Any] = {**files, **limits, "check": False}
        with Evaluator(**given) as evaluator:
            assert (LOOKED_UP in evaluator.sql(METRIC, physical=True)) == is_looked_up
            assert (LOOKED_UP in evaluator.sql(METRIC, physical=True, dialect="duckdb")) == (
                is_looked_up
            )
            results.append(evaluator.evaluate(METRIC))
    pd.testing.assert_frame_equal(*results)


def fit(limit: str = SMALL, **given: Any) -> bool:
    options = {} if "connection" in given else {"memory_limit": limit}
    with Evaluator(**given, **options) as evaluator:
        session = evaluator._session
        return lists_fit(session.engine, [session.tables["recommendations"]])


def test_rows_of_all_kinds_of_tables(
    tables: dict[str, pd.DataFrame], files: dict[str, Path], tmp_path: Path
) -> None:
    lists = tables["recommendations"]
    assert not fit(**tables)
    assert fit(LARGE, **tables)
    assert fit(**{**tables, "recommendations": lists.head(1000)})
    as_lists = lists.groupby("user_id")[["item_id", "score"]].agg(list).reset_index()
    assert not fit(**{**tables, "recommendations": as_lists})
    as_lists.to_parquet(tmp_path / "lists.parquet")
    assert not fit(**{**tables, "recommendations": tmp_path / "lists.parquet"})
    halves = {"a": files["recommendations"], "b": lists.head(1000)}
    assert not fit(**{**tables, "recommendations": halves})


def test_an_unknown_number_of_rows_fits(
    tables: dict[str, pd.DataFrame], files: dict[str, Path], tmp_path: Path
) -> None:
    tables["recommendations"].to_csv(tmp_path / "lists.csv", index=False)
    assert fit(**{**files, "recommendations": tmp_path / "lists.csv"})


def test_tables_of_a_connection(tables: dict[str, pd.DataFrame]) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{SMALL}'")
        connection.register("frame", tables["recommendations"])
        connection.execute("CREATE TABLE lists AS FROM frame")
        connection.execute("CREATE VIEW seen AS FROM lists")
        interactions = tables["interactions"].head(10)
        for name, does_fit in (("lists", False), ("seen", True)):
            assert (
                fit(recommendations=name, interactions=interactions, connection=connection)
                == does_fit
            )
