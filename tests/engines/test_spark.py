"""Evaluators on Spark: the numbers of DuckDB, from Spark's tables, with nothing left behind."""

from __future__ import annotations

import gc
import logging
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click.testing
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from sqlmetrics.cli.commands import main as cli
from sqlmetrics.engines import spark as spark_engine
from sqlmetrics.files import is_temporary
from sqlmetrics.run import path
from tests.engines.runners import Engine
from tests.engines.spark_process import SparkProcess
from tests.engines.spark_sessions import USUAL
from tests.engines.worlds import TABLES, World, awkward, plain
from tests.support.evaluators import Evaluator
from tests.support.paths import ROOT

DATA = ROOT / "examples" / "data"
DEMO: dict[str, Any] = {
    "recommendations": {
        "als": str(DATA / "recommendations_als.parquet"),
        "popular": DATA / "recommendations_popular.parquet",
    },
    "baseline": str(DATA / "recommendations_item_knn.parquet"),
    **{
        name: str(DATA / f"{name}.parquet")
        for name in ("interactions", "history", "items", "users", "aspects", "logs")
    },
}
LISTS = {"u1": ["a", "b", "c"], "u2": ["b", "d", "a"], "u3": ["c"]}
TRUTH = {"u1": {"a": 1, "c": 2}, "u2": {"a": 1}, "u4": {"a": 3}}


@pytest.fixture(scope="session")
def session(engines: Callable[[str], Engine]) -> Any:
    """Return a classic session."""
    return engines("spark").session  # type: ignore[attr-defined]


@pytest.fixture
def spark(session: Any) -> Iterator[Any]:
    """Return the session, and check that a test leaves it as it was."""

    def state() -> tuple[Any, Any]:
        views = session.sql("SHOW VIEWS").toArrow().to_pylist()
        settings = session.sql("SET").toArrow().to_pylist()
        return views, [one for one in settings if one["key"].startswith("spark.sql.")]

    before = state()
    yield session
    assert state() == before


@pytest.fixture
def setting(session: Any) -> Iterator[Callable[[str, str], None]]:
    """Return what changes a setting of the session for the length of a test."""
    rows = session.sql("SET").toArrow().to_pylist()
    before = {one["key"]: one["value"] for one in rows}
    changed: set[str] = set()

    def change(name: str, value: str) -> None:
        changed.add(name)
        session.conf.set(name, value)

    yield change
    for name in changed:
        # what had its default must not become a setting that says the same
        if name in before:
            session.conf.set(name, before[name])
        else:
            session.conf.unset(name)


def world_of(world: World, **more: Any) -> sm.Evaluator:
    return Evaluator(
        {model: world.tables[model] for model in ("als", "popular")},
        **{name: world.tables[name] for name in TABLES},
        columns={"features": "f1,f2", **world.columns},
        **more,
    )


def assert_same(got: pd.DataFrame, expected: pd.DataFrame) -> None:
    """The same columns, types, texts and counts, and numbers to 1e-9."""
    assert len(expected)
    pd.testing.assert_frame_equal(got, expected, check_exact=False, rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------- the same numbers


@pytest.mark.parametrize("part", range(16))
def test_every_metric_over_the_demo_tables_without_ansi_mode(
    spark: Any, setting: Callable[[str, str], None], tmp_path: Path, part: int
) -> None:
    """A sixteenth of them at once: Spark plans each for seconds."""
    for name, value in USUAL.items():
        setting(name, value)
    # as in Spark 3: division by 0 is NULL, overflows wrap around, sizes of NULL are -1
    setting("spark.sql.ansi.enabled", "false")
    with (
        Evaluator(**DEMO) as duckdb,
        Evaluator(**DEMO, engine=spark, temp_directory=tmp_path) as evaluator,
    ):
        in_all = [name for name, metric in duckdb.catalog.metrics.items() if metric.in_all]
        asked = in_all[part::16]
        expected = duckdb.evaluate(asked, [5, 10])
        assert expected["metric"].nunique() == len(asked)
        assert_same(evaluator.evaluate(asked, [5, 10]), expected)
        # what is kept is used again, and is still there after what was not kept has gone
        assert_same(evaluator.evaluate("recall", 7), duckdb.evaluate("recall", 7))
        assert list(tmp_path.iterdir())  # what several queries read was written there
    assert not list(tmp_path.iterdir())


def test_slices_and_intervals(spark: Any) -> None:
    world = plain()
    options: dict[str, Any] = {
        "k": [5], "by": ["country", "activity"], "ci": "bootstrap", "resamples": 50, "seed": 3,
    }  # fmt: skip
    with world_of(world) as duckdb, world_of(world, engine=spark) as evaluator:
        metrics = ["ndcg", "coverage"]
        assert_same(evaluator.evaluate(metrics, **options), duckdb.evaluate(metrics, **options))


@pytest.mark.parametrize("ties", ["item_asc", "item_desc_text", "worst", "average"])
def test_awkward_names_text_ids_and_conventions(spark: Any, ties: str) -> None:
    world = awkward()
    asked: dict[str, Any] = {"convention": ["standard", "recbole"], "settings": {"ties": ties}}
    with world_of(world, **asked) as duckdb, world_of(world, engine=spark, **asked) as evaluator:
        metrics = ["ndcg", "recall", "precision" if ties == "average" else "map"]
        assert_same(evaluator.evaluate(metrics, [1, 5]), duckdb.evaluate(metrics, [1, 5]))


def test_several_runs_of_a_model(spark: Any, tmp_path: Path) -> None:
    lists = {
        "als": {"seed 1": {1: [10, 11], 2: [20, 21]}, "seed 2": {1: [11, 10], 2: [21, 22]}},
        "popular": {1: [11, 10], 2: [11, 10]},
    }
    tables: dict[str, Any] = {
        "interactions": pa.table({"user_id": [1, 2], "item_id": [10, 20]}),
        "history": pa.table({"user_id": [3, 3, 3], "item_id": [10, 11, 30]}),
    }
    with (
        Evaluator(lists, **tables, check=False) as duckdb,
        Evaluator(lists, **tables, check=False, engine=spark, temp_directory=tmp_path) as evaluator,
    ):
        found = evaluator.evaluate(["mrr", "user_coverage"])
        # als: mean reciprocal ranks of 1 and 1/4
        assert found[found["metric"] == "mrr"]["value"].tolist() == [5 / 8, 1 / 4]
        assert found[found["metric"] == "mrr"]["n_runs"].tolist() == [2, 1]
        assert_same(found, duckdb.evaluate(["mrr", "user_coverage"]))
        with pytest.warns(sm.SqlmetricsWarning, match="Spark has written"):
            compared = evaluator.compare("mrr", baseline="als")
        assert_same(compared, duckdb.compare("mrr", baseline="als"))


def test_months_are_those_of_utc(session: Any, setting: Callable[[str, str], None]) -> None:
    setting("spark.sql.session.timeZone", "America/Los_Angeles")
    setting("spark.sql.timestampType", "TIMESTAMP_LTZ")
    late = datetime(2024, 12, 1, 3, tzinfo=UTC)  # still November in Los Angeles
    early = datetime(2024, 11, 30, 23, tzinfo=UTC)
    lists = {"u1": ["a", "b"], "u2": ["a", "b"]}
    for zone in ("UTC", None):
        times = pa.array([late, early]).cast(pa.timestamp("us", zone))
        truth = pa.table({"user_id": ["u1", "u2"], "item_id": ["a", "b"], "timestamp": times})
        with Evaluator(lists, truth, engine=session) as evaluator:
            found = evaluator.evaluate("mrr", by_item="month")
        assert found["month"].tolist() == ["2024-11", "2024-12"]
        assert found["value"].tolist() == [1 / 2, 1]


def test_several_users_keys_and_lists_as_columns(spark: Any) -> None:
    lists = pa.table({
        "shop": [1, 1, 2], "user": ["x", "y", "x"],
        "items": [["a", "b", "c"], ["c"], ["b", "a"]],
    })  # fmt: skip
    truth = pa.table({"shop": [1, 2], "user": ["x", "x"], "item_id": ["b", "a"]})
    asked: dict[str, Any] = {
        "key": ["shop", "user"], "columns": {"recommendations.item_id": "items"},
    }  # fmt: skip
    with Evaluator(spark.createDataFrame(lists), truth, engine=spark, **asked) as evaluator:
        found = evaluator.evaluate("mrr")
    assert found["value"].tolist() == [1 / 2]  # the second of the list, twice
    assert found["n_users"].tolist() == [2]


# ---------------------------------------------------------------- where rows come from


def _rows(lists: dict[str, list[str]]) -> pa.Table:
    rows = [(u, i, rank) for u, items in lists.items() for rank, i in enumerate(items, start=1)]
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(["user_id", "item_id", "rank"], map(list, columns), strict=True)))


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory, session: Any) -> Iterator[dict[str, Any]]:
    """Return the lists in every way in which Spark can be given them."""
    folder = tmp_path_factory.mktemp("the lists")
    table = _rows(LISTS)
    (folder / "parts").mkdir()
    pq.write_table(table.slice(0, 4), folder / "parts" / "1.parquet")
    pq.write_table(table.slice(4), folder / "parts" / "2.parquet")
    frame = session.createDataFrame(table)
    frame.createOrReplaceTempView("ranked")  # a name that our queries have too
    session.sql("CREATE DATABASE shelf")
    frame.write.saveAsTable("shelf.`order`")
    files = [str(folder / "parts" / name) for name in ("1.parquet", "2.parquet")]
    yield {
        "folder": folder / "parts",
        "glob": str(folder / "parts" / "*.parquet"),
        "deep glob": str(folder / "**" / "*.parquet"),
        "files": files,
        "URI": f"file://{folder}/parts",
        "view": "ranked",
        "table": "shelf.`order`",
        "whole name": "spark_catalog.shelf.`order`",
        "frame": frame,
        "pandas": table.to_pandas(),
        "arrow": table,
        "dict": LISTS,
    }
    session.sql("DROP DATABASE shelf CASCADE")
    session.sql("DROP VIEW ranked")


SOURCES = ["folder", "glob", "deep glob", "files", "URI", "view", "table", "whole name", "frame",
           "pandas", "arrow", "dict"]  # fmt: skip


@pytest.mark.parametrize("kind", SOURCES)
def test_sources(spark: Any, stored: dict[str, Any], kind: str) -> None:
    with Evaluator(stored[kind], TRUTH, engine=spark, trust_input=True) as evaluator:
        found = evaluator.evaluate("mrr", ci="none")
    # u1 has a first, u2 third, and u4 no list
    assert found["value"].tolist() == pytest.approx([(1 + 1 / 3 + 0) / 3])
    assert found["n_users"].tolist() == [3]


GRADED = pa.table(
    {"user_id": ["u1", "u1", "u2"], "item_id": ["a", "c", "d"], "relevance": [1, 3, 2]}
)
UNGRADED = GRADED.drop_columns("relevance")
FOLDERS: dict[str, dict[str, pa.Table]] = {  # the files, and what is in each
    "of the files": {"relevance=9": GRADED[:2], "relevance=8": GRADED[2:]},
    "of the files, in capitals": {"Relevance=9": GRADED[:2], "Relevance=8": GRADED[2:]},
    "of no file": {"relevance=2": UNGRADED[:2], "relevance=3": UNGRADED[2:]},
    "of no file, two": {"a=1/relevance=2": UNGRADED[:2], "a=1/relevance=3": UNGRADED[2:]},
    "not of all files": {"relevance=2": UNGRADED[:2], ".": UNGRADED[2:]},
}
PATHS: dict[str, Callable[[Path], Any]] = {
    "folder": str,
    "glob": lambda folder: f"{folder}/**/*.parquet",
    "files": lambda folder: sorted(map(str, folder.rglob("*.parquet"))),
}


@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("named", FOLDERS)
@pytest.mark.filterwarnings(
    "ignore:interactions. .*The column of the file:sqlmetrics.SqlmetricsWarning"
)
def test_columns_of_folders_are_those_of_duckdb(
    spark: Any, tmp_path: Path, named: str, kind: str
) -> None:
    for number, (folder, table) in enumerate(FOLDERS[named].items()):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        pq.write_table(table, tmp_path / folder / f"{number}.parquet")
    source = PATHS[kind](tmp_path)
    columns, values = [], []
    for engine in ({}, {"engine": spark}):
        with Evaluator(LISTS, source, trust_input=True, **engine) as evaluator:
            columns.append([*evaluator.tables["interactions"].columns])
            gain = "linear" if "relevance" in columns[-1] else "binary"
            values.append(evaluator.evaluate(f"dcg(gain={gain})@3", ci="none"))
    assert columns[1] == columns[0]
    assert_same(values[1], values[0])


def test_a_column_of_the_files_is_read_and_said_to_be(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "relevance=9").mkdir()
    pq.write_table(GRADED, tmp_path / "relevance=9" / "truth.parquet")
    told = (
        r"interactions: the folders of .* are named relevance=…, but the files have a column relev"
    )
    for source in (tmp_path, tmp_path / "relevance=9" / "truth.parquet"):
        with (
            pytest.warns(sm.SqlmetricsWarning, match=told),
            Evaluator(LISTS, source, engine=spark) as evaluator,
        ):
            found = evaluator.evaluate("dcg(gain=linear)@1")
        assert found["value"].item() == pytest.approx(1 / 2)


def test_folders_that_spark_cannot_read_by_our_rule_are_refused(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "country=FR" / "relevance=9").mkdir(parents=True)
    pq.write_table(GRADED, tmp_path / "country=FR" / "relevance=9" / "truth.parquet")
    told = (
        r"columns relevance, which the files also have, and country, which the files lack"
        r".*Export the fil"
    )
    with pytest.raises(sm.DataError, match=told):
        Evaluator(LISTS, tmp_path, engine=spark)


def test_files_called_like_patterns_are_read(spark: Any, tmp_path: Path) -> None:
    names = ("part[1]", "part{1,2}", "part?")
    for name in names:
        pq.write_table(_rows(LISTS), tmp_path / f"{name}.parquet")
    for number in (1, 2):
        pq.write_table(_rows({"u4": ["a"]}), tmp_path / f"part{number}.parquet")
    truth = tmp_path / "truth.parquet"
    pq.write_table(UNGRADED, truth)
    for name in names:
        with Evaluator(str(tmp_path / f"{name}.parquet"), truth, engine=spark) as evaluator:
            assert len(evaluator.stage("ranked")) == sum(map(len, LISTS.values()))
            statement = evaluator.sql("precision", 3)
        (row,) = spark.sql(statement.rstrip(";\n")).toArrow().to_pylist()
        assert row["value"] == pytest.approx((2 / 3 + 1 / 3) / 2)


def test_files_that_a_job_is_writing_are_refused(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "_temporary").mkdir()
    pq.write_table(_rows(LISTS), tmp_path / "part.parquet")
    with pytest.raises(sm.DataError, match="is incomplete"):
        Evaluator(str(tmp_path), UNGRADED, engine=spark)


@pytest.mark.parametrize("kind", ["glob", "files", "table", "view"])
def test_the_statement_runs_without_the_evaluator(
    spark: Any, stored: dict[str, Any], kind: str
) -> None:
    with Evaluator(stored[kind], stored["folder"], engine=spark) as evaluator:
        statement = evaluator.sql("precision", 1)
    rows = spark.sql(statement.rstrip(";\n")).toArrow().to_pylist()
    assert [(row["value"], row["n_users"]) for row in rows] == [(1.0, 3)]


def test_a_statement_for_others_needs_their_names(spark: Any) -> None:
    with (
        Evaluator(LISTS, TRUTH, engine=spark) as evaluator,
        pytest.raises(sm.UsageError, match="snowflake cannot read"),
    ):
        evaluator.sql("mrr", dialect="snowflake")


# ---------------------------------------------------------------- results that Spark writes


def test_values_per_user_are_written_by_spark(spark: Any, tmp_path: Path) -> None:
    world = plain()
    metrics, folder = ["ndcg(gain=exponential)", "map"], tmp_path / "values"
    asked: dict[str, Any] = {"per_user": True, "by": "country"}
    with world_of(world) as duckdb, world_of(world, engine=spark) as evaluator:
        expected = duckdb.per_user(metrics, [1, 5], by="country")
        with pytest.raises(sm.UsageError, match=r"write_parquet\(folder, …, per_user=True\)"):
            evaluator.per_user(metrics)
        evaluator.write_parquet(folder, metrics, [1, 5], **asked)
        got = pq.read_table(folder).to_pandas()
        keys = ["model", "user_id"]
        assert_same(got.sort_values(keys, ignore_index=True),
                    expected.sort_values(keys, ignore_index=True))  # fmt: skip

        with pytest.raises(sm.DataError, match=r"values exists and is not overwritten"):
            evaluator.write_parquet(folder, "mrr", **asked)
        evaluator.write_parquet(f"file://{folder}", "mrr", force=True, **asked)
        assert pq.read_table(folder).column_names == ["model", "user_id", "country", "mrr"]
        with pytest.raises(sm.DataError, match="exists and is not overwritten"):
            evaluator.write_parquet(f"file://{folder}", "mrr", **asked)


def test_what_is_not_of_spark_is_not_replaced(spark: Any, tmp_path: Path) -> None:
    values = tmp_path / "values"
    with Evaluator(LISTS, TRUTH, engine=spark) as evaluator:
        for name in ("notes.txt", "lists.parquet", ".git", "part-1.parquet/mine", "_SUCCESS.txt"):
            folder = tmp_path / name.replace("/", " of ")
            (folder / name).parent.mkdir(parents=True)
            (folder / name).write_bytes(b"mine")
            for target in (folder, f"file://{folder}", f"file:{folder}"):
                with pytest.raises(sm.DataError, match=f"it contains {name.partition('/')[0]}"):
                    evaluator.write_parquet(target, "mrr", force=True)
            with pytest.raises(sm.DataError, match="it is a file"):
                evaluator.write_parquet(folder / name, "mrr", force=True)
            assert (folder / name).read_bytes() == b"mine"

    # what Spark has written, and we read: by its path, over a link, as a DataFrame
    spark.createDataFrame(_rows(LISTS)).write.parquet(str(values / "of one"))
    (tmp_path / "link").symlink_to(values)
    sources = [values / "of one", str(tmp_path / "link" / "*"), f"file://{values}/of one",
               spark.read.parquet(str(values / "of one"))]  # fmt: skip
    before = sorted((values / "of one").iterdir())
    for source in sources:
        with Evaluator(source, TRUTH, engine=spark) as evaluator:
            for target in (values / "of one", f"file://{tmp_path}/link/of one"):
                with pytest.raises(sm.DataError, match="rows are read from"):
                    evaluator.write_parquet(target, "mrr", force=True)
    assert sorted((values / "of one").iterdir()) == before


def test_names_of_tables_are_checked_first(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.createDataFrame(_rows(LISTS)).write.saveAsTable("lists_there")
    spark.sql("CREATE VIEW view_there AS SELECT * FROM lists_there")
    wrong: list[tuple[str, bool, type[Exception], str]] = [
        ("", False, sm.UsageError, "'' is not a table name"),
        ("a b..c", False, sm.UsageError, r"'a b\.\.c' is not a table name"),
        ("nodb.x", False, sm.DataError, r"nodb\.x cannot be written: .* no schema `nodb`$"),
        ("nocat.nodb.x", True, sm.DataError, r"no schema `nocat`\.`nodb`"),
        ("lists_there", False, sm.DataError, "lists_there exists and is not overwritten"),
        ("view_there", True, sm.DataError, "view_there is a view"),
        ("default.LISTS_there", True, sm.DataError, "is not overwritten: rows are read from it"),
    ]
    try:
        for source in ("lists_there", spark.table("view_there")):
            with (
                Evaluator(source, TRUTH, engine=spark) as evaluator,
                monkeypatch.context() as patched,
            ):
                patched.setattr(path, "plan", lambda *_: pytest.fail("it computes"))
                for name, force, kind, message in wrong:
                    with pytest.raises(kind, match=message) as caught:
                        evaluator.write_table(name, "mrr", force=force)
                    assert not isinstance(caught.value, sm.TemplateError)
        # only the catalog knows which names it takes
        with (
            Evaluator(LISTS, TRUTH, engine=spark) as evaluator,
            pytest.raises(sm.DataError, match=r"^`a b` cannot be written"),
        ):
            evaluator.write_table("`a b`", "mrr")
    finally:
        spark.sql("DROP VIEW view_there")
        spark.sql("DROP TABLE lists_there")


def test_tables_of_the_catalog_are_written(spark: Any) -> None:
    with Evaluator(LISTS, TRUTH, engine=spark) as evaluator:
        try:
            evaluator.write_table("my_values", "mrr", per_user=True)
            with pytest.raises(sm.DataError, match="my_values exists and is not overwritten"):
                evaluator.write_table("my_values", "mrr")
            rows = spark.sql("SELECT user_id, mrr FROM my_values ORDER BY 1").toArrow().to_pylist()
            assert [row["mrr"] for row in rows] == [1, pytest.approx(1 / 3), 0]
            evaluator.write_table("my_values", "mrr", force=True)
            assert "n_users" in spark.table("my_values").columns
        finally:
            spark.sql("DROP TABLE IF EXISTS my_values")
    with (
        Evaluator(LISTS, TRUTH) as evaluator,
        pytest.raises(sm.UsageError, match="with other engines, use write_parquet"),
    ):
        evaluator.write_table("my_values", "mrr")


def test_comparisons_are_handed_over(spark: Any, tmp_path: Path) -> None:
    world, asked = plain(), {"baseline": "popular", "by": "country", "test": "wilcoxon"}
    with (
        world_of(world) as duckdb,
        world_of(world, engine=spark, temp_directory=tmp_path) as evaluator,
    ):
        expected = duckdb.compare(["ndcg", "recall"], 5, **asked)
        with pytest.warns(sm.SqlmetricsWarning, match=rf"Spark has written \d+ .* to {tmp_path}"):
            assert_same(evaluator.compare(["ndcg", "recall"], 5, **asked), expected)
        with pytest.warns(sm.SqlmetricsWarning, match="DuckDB computes"):
            assert_same(evaluator.leaderboard("mrr", 3), duckdb.leaderboard("mrr", 3))
    assert not list(tmp_path.iterdir())


def test_rows_are_released_by_close(spark: Any) -> None:
    cached = spark.sparkContext._jsc.getPersistentRDDs
    before = set(cached())
    with Evaluator(LISTS, TRUTH, engine=spark) as evaluator:
        evaluator.evaluate(["ndcg", "recall"], 2)
        assert set(cached()) > before
    assert set(cached()) <= before


def test_files_are_removed_without_close(spark: Any, tmp_path: Path) -> None:
    evaluator = Evaluator(LISTS, TRUTH, engine=spark, temp_directory=tmp_path)
    evaluator.evaluate(["ndcg", "recall"], 2)
    (folder,) = tmp_path.iterdir()
    assert is_temporary(folder)  # a later run removes it if this process is killed
    assert list(folder.rglob("*.parquet"))
    for view in spark.sql("SHOW VIEWS").toArrow().to_pylist():
        if view["viewName"].startswith("sqlmetrics_"):
            spark.catalog.dropTempView(view["viewName"])
    del evaluator
    gc.collect()  # like the end of the process
    assert not list(tmp_path.iterdir())


def test_comparisons_need_a_folder(spark: Any, tmp_path: Path) -> None:
    with world_of(plain(), engine=spark) as evaluator:
        with pytest.raises(sm.UsageError, match="temp_directory='DIR'"):
            evaluator.compare("mrr", baseline="popular")
        with pytest.raises(sm.UsageError, match="temp_directory='DIR'"):
            evaluator.leaderboard("mrr")
    away = tmp_path / "not there"
    with (
        world_of(plain(), engine=spark, temp_directory=away) as evaluator,
        pytest.raises(sm.UsageError, match=r"cannot write to .*: No such file"),
    ):
        evaluator.compare("mrr", baseline="popular")


def test_steps_and_stages_can_be_looked_at(spark: Any) -> None:
    with Evaluator(LISTS, TRUTH) as duckdb, Evaluator(LISTS, TRUTH, engine=spark) as ours:
        steps = {"start": "recbole", "end": "standard"}
        assert_same(ours.explain("ndcg", 2, **steps), duckdb.explain("ndcg", 2, **steps))
        found = ours.stage("hits").sort_values(["user_id", "rank"])
        assert found["item_id"].tolist() == ["a", "c", "a"]
    many = pa.table({"user_id": range(1200), "item_id": [1] * 1200, "rank": [1] * 1200})
    with Evaluator(many, many.drop(["rank"]), engine=spark) as evaluator:
        assert len(evaluator.stage("ranked")) == 1000


# ---------------------------------------------------------------- what is refused

ROWS = _rows(LISTS)
WRONG: list[tuple[Any, Any, str]] = [
    ("/no/such/lists.parquet", TRUTH, r"recommendations: Spark cannot find the file /no/such/"),
    ("lists.parquet", TRUTH, r"recommendations: Spark cannot find the file lists\.parquet"),
    ("no_such.lists", TRUTH, r"recommendations: Spark's catalog has no table no_such\.lists"),
    ("lists.csv", TRUTH, r"lists\.csv is not a Parquet file.*spark\.read\.csv"),
    ("-", TRUTH, r"Spark does not read stdin"),
    (ROWS.drop(["item_id"]), TRUTH, r"has no column 'item_id'"),
    (ROWS.drop(["rank"]), TRUTH, r"neither a column rank nor a column score"),
    (ROWS.slice(0, 0), TRUTH, r"recommendations: the table is empty"),
    (LISTS, {1: ["a"]}, r"column user_id have different types, VARCHAR and BIGINT"),
    (LISTS, {"nobody": ["a"]}, r"no user in common with interactions: recommendations has 'u"),
    ({"u1": ["a", "b", "a"]}, TRUTH, r"1 of 3 rows repeats an item"),
    (pa.table({"user_id": ["u1"], "item_id": ["a"], "score": [float("nan")]}), TRUTH,
     r"1 of 1 scores is NULL, NaN or infinite"),
    (pa.table({"user_id": ["u1", "u1"], "item_id": ["a", None], "rank": [1, 2]}), TRUTH,
     r"1 of 2 rows has a NULL user or item"),
    (pa.table({"user_id": ["u1"], "items": [["a"]], "scores": [[1.0]]}), TRUTH,
     r"only DuckDB supports"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "theirs", "column"),
    [("zoned", "plain", "plain"), ("zoned", "days", "days"), ("zoned", "texts", "zoned"),
     ("days", "plain", "days")],
)  # fmt: skip
def test_remedies_for_types_of_ids_are_spark_sql(
    spark: Any, setting: Any, ours: str, theirs: str, column: str
) -> None:
    """Midnight in UTC is 16:00 in Los Angeles, the zone of the session."""
    setting("spark.sql.session.timeZone", "America/Los_Angeles")
    frame = spark.sql(
        "SELECT 1 AS user_id, 1 AS rank, timestamp_ltz'2024-03-01 00:00:00Z' AS zoned, "
        "date'2024-03-01' AS days, timestamp_ntz'2024-03-01 00:00:00' AS plain, "
        "'2024-03-01 00:00:00' AS texts"
    )
    lists, truth = (
        frame.selectExpr("user_id", f"{name} AS item_id", "rank") for name in (ours, theirs)
    )
    with pytest.raises(sm.DataError, match="have different types") as caught:
        Evaluator(lists, truth.drop("rank"), engine=spark)
    remedy = re.search(r"with (\S.* in pandas or )?(\S.*) in SQL", str(caught.value))
    assert remedy is not None, str(caught.value)
    if column == ours:
        lists = lists.selectExpr("user_id", f"{remedy[2]} AS item_id", "rank")
    else:
        truth = truth.selectExpr("user_id", f"{remedy[2]} AS item_id")
    with Evaluator(lists, truth.select("user_id", "item_id"), engine=spark) as evaluator:
        assert evaluator.evaluate("recall@1")["value"].tolist() == [1]


@pytest.mark.parametrize(("lists", "truth", "message"), WRONG)
def test_wrong_tables_are_refused(spark: Any, lists: Any, truth: Any, message: str) -> None:
    columns = {}
    if isinstance(lists, pa.Table) and "items" in lists.column_names:
        columns = {"recommendations.item_id": "items", "recommendations.score": "scores"}
    with (
        pytest.raises(sm.SqlmetricsError, match=message) as caught,
        Evaluator(lists, truth, engine=spark, columns=columns) as evaluator,
    ):
        evaluator.evaluate("mrr")
    assert "SQLSTATE" not in str(caught.value)
    assert "org.apache" not in str(caught.value)


def test_files_that_differ_are_refused(spark: Any, tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "1.parquet")
    pq.write_table(ROWS.drop(["rank"]), tmp_path / "2.parquet")
    files = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    with pytest.raises(
        sm.DataError, match=r"column rank: .*1\.parquet has the column, but .*2\.parquet does"
    ):
        Evaluator(files, TRUTH, engine=spark)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and no more")
    with pytest.raises(sm.DataError, match=r"broken\.parquet cannot be read") as caught:
        Evaluator(str(broken), TRUTH, engine=spark)
    assert "\n" not in str(caught.value)


def test_rows_that_cannot_be_read_are_said_to_be(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "lists.parquet"
    pq.write_table(ROWS, file)
    with Evaluator(str(file), TRUTH, engine=spark) as evaluator:
        file.unlink()
        with pytest.raises(sm.DataError, match=r"lists\.parquet cannot be read") as caught:
            evaluator.evaluate("mrr")
    assert "\n" not in str(caught.value)


def test_templates_of_ones_own(spark: Any, tmp_path: Path) -> None:
    template = tmp_path / "first_hit.sql.j2"
    head = '{#---\ntitle = "first hit"\nwhen_empty = 0\n---#}\n'
    template.write_text(
        head + "SELECT {{ keys }}, k, max(1.0 / rank) AS value FROM hits GROUP BY {{ keys }}, k",
        encoding="utf-8",
    )
    with Evaluator(LISTS, TRUTH, engine=spark, templates=tmp_path) as evaluator:
        found = evaluator.evaluate(["first_hit", "mrr"])
        assert found["value"][0] == found["value"][1] == pytest.approx((1 + 1 / 3) / 3)


def test_a_view_is_read_without_an_error_of_spark(
    spark: Any, stored: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.logger import PySparkLogger

    logger = PySparkLogger.getLogger("SQLQueryContextLogger")  # pyspark reports errors to it
    said: list[logging.LogRecord] = []
    monkeypatch.setattr(logger, "disabled", False)
    monkeypatch.setattr(logger, "handle", said.append)
    with pytest.raises(sm.DataError):
        Evaluator("no_such_view", TRUTH, engine=spark)
    assert said
    said.clear()
    Evaluator(stored["view"], TRUTH, engine=spark).close()
    assert not said


def test_a_frame_of_another_session_is_refused(spark: Any) -> None:
    other = spark.newSession()
    with pytest.raises(sm.DataError, match="recommendations: the DataFrame belongs to another S"):
        Evaluator(other.createDataFrame(_rows(LISTS)), TRUTH, engine=spark)
    assert [one["viewName"] for one in other.sql("SHOW VIEWS").toArrow().to_pylist()] == []


def test_settings_are_not_put_into_names(session: Any, setting: Callable[[str, str], None]) -> None:
    name = "${spark.app.name}"
    lists, columns = _rows(LISTS).rename_columns({"rank": name}), {"rank": name}
    with (
        pytest.raises(sm.UsageError, match=r"Spark replaces \$\{spark\.app\.name\} in queries by"),
        Evaluator(lists, TRUTH, engine=session, columns=columns) as evaluator,
    ):
        evaluator.evaluate("mrr")
    setting("spark.sql.variable.substitute", "false")
    with Evaluator(lists, TRUTH, engine=session, columns=columns) as evaluator:
        assert evaluator.evaluate("mrr")["value"].tolist() == [pytest.approx(4 / 9)]


def test_options_of_duckdb_are_refused(spark: Any) -> None:
    with pytest.raises(sm.UsageError, match="threads apply only to DuckDB"):
        Evaluator(LISTS, TRUTH, engine=spark, threads=2)
    with pytest.raises(sm.UsageError, match="'spark' is neither a SparkSession"):
        Evaluator(LISTS, TRUTH, engine="spark")
    evaluator = Evaluator(LISTS, TRUTH, engine=spark)
    evaluator.close()
    evaluator.close()
    with pytest.raises(sm.UsageError, match="the evaluator is closed"):
        evaluator.evaluate("mrr")


# ---------------------------------------------------------------- the command line

ASKED = ["-r", f"als={DATA / 'recommendations_als.parquet'}",
         "-r", f"popular={DATA / 'recommendations_popular.parquet'}",
         "-i", str(DATA / "interactions.parquet"), "ndcg@10", "recall@5"]  # fmt: skip


def test_a_command_starts_spark(tmp_path: Path, session: Any) -> None:  # noqa: ARG001
    # the fixture has found a Java for this process and those that it starts
    command = [sys.executable, "-m", "sqlmetrics"]
    run = subprocess.run(
        [*command, "evaluate", "--engine", "spark", "--master", "local[2]", *ASKED],
        capture_output=True, encoding="utf-8", cwd=tmp_path, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    plain = subprocess.run([*command, "evaluate", *ASKED], capture_output=True, check=True)
    got, expected = (pd.read_csv(pd.io.common.StringIO(text)) for text in
                     (run.stdout, plain.stdout.decode()))  # fmt: skip
    assert_same(got, expected)
    for noise in (" ERROR ", "Exception", "\tat "):
        assert noise not in run.stderr


def test_a_command_says_what_is_wrong_in_one_line(tmp_path: Path, session: Any) -> None:  # noqa: ARG001
    command = [sys.executable, "-m", "sqlmetrics", "evaluate", "--engine", "spark", "mrr"]
    run = subprocess.run(
        [*command, "--master", "local[1]", "-r", "no_such_lists", "-i", "no_such_truth"],
        capture_output=True, encoding="utf-8", cwd=tmp_path, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout) == (1, "")
    said = [line for line in run.stderr.splitlines() if "no_such" in line]
    assert said == run.stderr.splitlines()[-1:]
    assert said[0].startswith("sqlmetrics: error: recommendations: Spark's catalog has no")


@pytest.fixture
def given(session: Any, monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Let commands run in our session; return the masters that they ask for."""
    masters: list[str | None] = []

    class Lent:
        def __getattr__(self, name: str) -> Any:
            return getattr(session, name)

        def stop(self) -> None:
            masters.append("stopped")

    def lend(master: str | None) -> Any:
        masters.append(master)
        return Lent()

    monkeypatch.setattr(spark_engine, "open_session", lend)
    return masters


def _run(*arguments: str) -> click.testing.Result:
    return click.testing.CliRunner().invoke(cli, [*arguments], catch_exceptions=False)


def test_commands(given: list[str | None], tmp_path: Path) -> None:
    on_spark = ["--engine", "spark"]
    refused = _run("per-user", *on_spark, *ASKED)
    assert refused.exit_code == 2
    assert "Let Spark write the values with sqlmetrics per-user -o FOLDER" in refused.stderr
    assert given == [None, "stopped"]

    folder = tmp_path / "values"
    done = _run("per-user", *on_spark, "--master", "local[2]", *ASKED, "-o", str(folder))
    assert (done.exit_code, done.stdout) == (0, "")
    assert given[2:] == ["local[2]", "stopped"]
    with Evaluator({"als": DEMO["recommendations"]["als"]}, DEMO["interactions"]) as duckdb:
        users = len(duckdb.per_user("ndcg@10"))
    assert pq.read_table(folder).num_rows == 2 * users  # for each of two models
    assert "exists and is not" in _run("per-user", *on_spark, *ASKED, "-o", str(folder)).stderr

    csv = _run("per-user", *on_spark, *ASKED, "-o", str(tmp_path / "values.csv"))
    assert "Spark writes a folder of Parquet files, not csv" in csv.stderr
    file = tmp_path / "summary.parquet"
    assert _run("evaluate", *on_spark, *ASKED, "-o", str(file)).exit_code == 0
    assert file.is_file()
    printed = _run("sql", *on_spark, *ASKED)
    assert "FROM parquet.`" in printed.stdout
    assert "add --engine spark" in _run("evaluate", "--master", "local", *ASKED).stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--threads", "2"], "--threads: not available"),
        (
            ["--threads", "2", "--memory-limit", "1GB"],
            "--threads and --memory-limit: not available",
        ),
    ],
)
def test_options_of_duckdb_are_refused_before_spark_starts(
    given: list[str | None], options: list[str], said: str
) -> None:
    refused = _run("evaluate", "--engine", "spark", *options, *ASKED)
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert given == []


def test_spark_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    def fail(_: Any) -> None:  # so does pyspark where its settings contradict each other
        raise TypeError("'JavaPackage' object is not callable")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", fail)
    refused = _run("evaluate", "--engine", "spark", "--master", "local[1]", *ASKED)
    assert refused.exit_code == 2
    assert "Spark does not start with the master 'local[1]': 'JavaPackage'" in refused.stderr
    assert "spark.api.mode must be classic" in refused.stderr


def test_spark_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    refused = _run("evaluate", "--engine", "spark", *ASKED)
    assert refused.exit_code == 2
    assert "pip install 'sqlmetrics[spark]'" in refused.stderr

    environment = {**os.environ, "PATH": "/bin:/usr/sbin", "JAVA_HOME": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-m", "sqlmetrics", "evaluate", "--engine", "spark", *ASKED],
        capture_output=True, encoding="utf-8", env=environment, check=False,
    )  # fmt: skip
    assert run.returncode == 2
    assert "Spark 4 needs Java 17 or newer" in run.stderr.splitlines()[-1]
    assert "Traceback" not in run.stderr


# ---------------------------------------------------------------- other kinds of sessions


def _views(session: Any) -> set[str]:
    return {view["viewName"] for view in session.sql("SHOW VIEWS").toArrow().to_pylist()}


def _evaluated(session: Any, tables: dict[str, Any], metrics: list[str], **options: Any) -> Any:
    """Return a frame and the names of the views that are left behind."""
    before = _views(session)
    with Evaluator(**tables, engine=session) as evaluator:
        frame = evaluator.evaluate(metrics, **options)
    return frame, _views(session) - before


def _over_connect(session: Any, folder: str) -> Any:
    """Do over there what uses the session in every way."""
    before = _views(session)
    world = plain()
    lists = session.createDataFrame(world.tables["als"])
    tables = {"recommendations": lists, "interactions": world.tables["interactions"]}
    with Evaluator(**tables, engine=session) as evaluator:
        for force in (False, True):
            evaluator.write_parquet(folder, "ndcg", 5, per_user=True, force=force)
        try:
            evaluator.write_table("no_such_schema.values", "ndcg")
        except sm.DataError as error:
            refused = str(error)
        frame = evaluator.evaluate(["ndcg", "map"], 5, ci="bootstrap", resamples=20)
        try:
            Evaluator("no_such_table", {"u": ["a"]}, engine=session)
        except sm.DataError as error:
            message = str(error)
    return frame, _views(session) - before, refused, message


def test_spark_connect(spark_connect: SparkProcess, tmp_path: Path) -> None:
    frame, views, refused, message = spark_connect.call(_over_connect, str(tmp_path / "values"))
    world = plain()
    with Evaluator(world.tables["als"], world.tables["interactions"]) as duckdb:
        assert_same(frame, duckdb.evaluate(["ndcg", "map"], 5, ci="bootstrap", resamples=20))
        values = pq.read_table(tmp_path / "values").to_pandas().sort_values("user_id")
        expected = duckdb.per_user("ndcg", 5)["ndcg@5"].tolist()
        assert values["ndcg@5"].tolist() == pytest.approx(expected)
    assert views == set()
    assert "catalog has no schema `no_such_schema`" in refused
    assert message.startswith("recommendations: Spark's catalog has no")


def test_a_cluster_shares_the_work(spark_cluster: SparkProcess, tmp_path: Path) -> None:
    tables: dict[str, Any] = {}
    for name in ("recommendations_als", "interactions", "history"):
        table, folder = pq.read_table(DATA / f"{name}.parquet"), tmp_path / name
        folder.mkdir()
        size = -(-table.num_rows // 4)
        for number in range(4):
            pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet")
        tables[name.partition("_")[0]] = str(folder)
    metrics = ["ndcg", "map", "coverage", "surprisal"]
    spark_cluster.work()
    frame, views = spark_cluster.call(_evaluated, tables, metrics)
    work = spark_cluster.work()
    with Evaluator(**tables) as duckdb:
        assert_same(frame, duckdb.evaluate(metrics))
    assert views == set()
    # how evenly is up to the machine, and an executor that it ends is replaced by another one
    assert len(work.tasks) >= 2
    assert work.remote_bytes > 0


# ---------------------------------------------------------------- the page

PAGE = (ROOT / "docs" / "how-to" / "spark.md").read_text(encoding="utf-8")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder that has the examples and takes what is written."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_of_the_page(spark: Any, checkout: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    (tmp_path / "shared").mkdir()
    names: dict[str, Any] = {"spark": spark, "shared_folder": tmp_path / "shared"}
    with (
        pytest.warns(sm.SqlmetricsWarning, match="Spark has written"),
        pytest.warns(sm.SqlmetricsWarning, match="The data was not checked"),
    ):
        exec("".join(blocks), names)
    tables = {name: DEMO[name] for name in ("recommendations", "interactions")}
    with Evaluator(**tables) as duckdb:
        assert_same(names["result"], duckdb.evaluate(["ndcg", "recall"], k=[5, 10]))
        assert_same(names["comparison"], duckdb.compare("ndcg@10", baseline="popular"))
    assert pq.read_table(checkout / "values_per_user").num_rows == 2 * 487


def test_commands_of_the_page(given: list[str | None], checkout: Path) -> None:
    text = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)).replace("\\\n", " ")
    commands = [shlex.split(line) for line in text.splitlines() if line.startswith("sqlmetrics ")]
    assert [words[1] for words in commands] == ["evaluate", "per-user", "sql"]
    for words in commands:
        done = _run(*words[1:])
        assert done.exit_code == 0, done.stderr
    assert pq.read_table(checkout / "ndcg_per_user").num_rows == 487
    assert given.count("local[2]") == 1


def test_numbers_that_no_bigint_holds(spark: Any) -> None:
    """`floor` of a double is a BIGINT in Spark: whole numbers are found without it."""
    lists = pa.table({"user_id": ["u1"] * 3, "item_id": list("abc"), "score": [1e300, 0.5, -1e19]})
    with Evaluator(lists, TRUTH) as duckdb, Evaluator(lists, TRUTH, engine=spark) as evaluator:
        assert [(f.check, f.n) for f in evaluator.findings()] == [
            (f.check, f.n) for f in duckdb.findings()
        ]
    ids = lists.set_column(0, "user_id", pa.array([1e19, 1.0, 2.0]))
    with pytest.raises(sm.DataError, match="1 of 3 ids is 9007199254740992 or more"):
        Evaluator(ids, {1.0: ["b"]}, engine=spark)


def test_findings_are_those_of_duckdb(spark: Any) -> None:
    with Evaluator(**DEMO) as evaluator:
        expected = evaluator.check(k=[5, 10])
    with Evaluator(**DEMO, engine=spark) as evaluator:
        got = evaluator.check(k=[5, 10])
    assert {"recommendations_seen", "recommendations_ties_decide"} <= set(expected["check"])
    assert got.to_dict("records") == expected.to_dict("records")


def test_records_of_spark(spark: Any) -> None:
    with Evaluator(**DEMO, engine=spark, record=True) as evaluator:
        record = evaluator.evaluate("ndcg@10").attrs["sqlmetrics"]
    assert record["versions"]["spark"] == spark.version
    # each needs another pass over the tables
    assert record["unknown"].keys() == {"contents", "findings", "users"}
    assert not {"contents", "findings", "users"} & record.keys()
    assert {one["kind"] for one in record["sources"]} == {"parquet"}
    with Evaluator(**DEMO) as evaluator:
        other = evaluator.evaluate("ndcg@10").attrs["sqlmetrics"]
    for name in ("settings", "metrics", "asked"):
        assert record[name] == other[name]
