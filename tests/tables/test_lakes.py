"""Files of lake tables are refused: their logs or catalogs define the current rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from sqlmetrics.engines.lakes import check_paths
from tests.support.evaluators import Evaluator

LISTS = pa.table({"user_id": [1, 1], "item_id": [11, 12], "rank": [1, 2]})
TRUTH = pa.table({"user_id": [1, 1], "item_id": [11, 13]})
# kind of table -> a file that its root has, and how to read it
LAYOUTS = {
    "Delta": ("_delta_log/00000000000000000000.json", "Give delta:lake,"),
    "Iceberg": ("metadata/00000-5a68bd5c.metadata.json", "Give iceberg:lake,"),
    "Hudi": (".hoodie/hoodie.properties", "format('hudi').load('lake')"),
}


def make_lake(root: Path, kind: str) -> list[Path]:
    """Write the least that makes a lake table; returns its files of rows."""
    log = root / LAYOUTS[kind][0]
    log.parent.mkdir(parents=True)
    log.write_text("{}\n")
    files = [root / f"data/day={day}/part-{day}.parquet" for day in (1, 2)]
    for number, file in enumerate(files):
        file.parent.mkdir(parents=True)
        pq.write_table(LISTS.slice(number, 1), file)
    return files


@pytest.fixture(params=LAYOUTS)
def kind(request: pytest.FixtureRequest, here: Path) -> str:
    name: str = request.param
    make_lake(here / "lake", name)
    return name


SOURCES: dict[str, Callable[[], Any]] = {
    "folder": lambda: "lake",
    "Path": lambda: Path("lake"),
    "folder inside": lambda: "lake/data/day=1",
    "folder above": lambda: ".",
    "glob": lambda: "lake/**/*.parquet",
    "glob above": lambda: "*/data/*/*.parquet",
    "file": lambda: "lake/data/day=1/part-1.parquet",
    "list": lambda: ["lake/data/day=1/part-1.parquet", "lake/data/day=2/part-2.parquet"],
    "URL": lambda: Path("lake/data/day=1/part-1.parquet").absolute().as_uri(),
    "dataset": lambda: ds.dataset("lake/data", format="parquet"),
    "dataset of a file": lambda: ds.dataset("lake/data/day=1/part-1.parquet"),
    "datasets": lambda: ds.dataset([ds.dataset("lake/data/day=1"), ds.dataset("lake/data/day=2")]),
    "dataset of a folder's own file system": lambda: ds.dataset(
        "data", filesystem=pa.fs.SubTreeFileSystem("lake", pa.fs.LocalFileSystem())
    ),
    "models": lambda: {"als": "lake/data/day=1", "knn": LISTS},
}


def test_files_of_lake_tables_are_refused(kind: str) -> None:
    for source in SOURCES.values():
        with pytest.raises(sm.DataError) as caught:
            Evaluator(source(), TRUTH)
        message = str(caught.value)
        assert message.startswith("recommendations")
        assert f"{kind} table (lake has {LAYOUTS[kind][0].partition('/')[0]}/" in message
        assert "deleted and rewritten rows" in message
        assert LAYOUTS[kind][1] in message


def test_every_table_is_checked() -> None:
    for name in ("interactions", "history", "items", "users", "baseline", "logs"):
        tables = {"recommendations": LISTS, "interactions": TRUTH, name: "lake"}
        with pytest.raises(sm.DataError, match=rf"{name}: lake belongs to a Delta table"):
            Evaluator(**tables)


@pytest.fixture(autouse=True)
def lake_beside(request: pytest.FixtureRequest, here: Path) -> None:
    if "kind" not in request.fixturenames:
        make_lake(here / "lake", "Delta")


def test_a_link_into_a_lake_table_is_refused() -> None:
    os.symlink("lake/data", "elsewhere")
    os.symlink("lake/data/day=1/part-1.parquet", "one.parquet")
    for source in ("elsewhere", "elsewhere/*/*.parquet", "one.parquet"):
        with pytest.raises(sm.DataError, match="Delta table"):
            Evaluator(source, TRUTH)


def test_a_file_of_parquet_without_an_ending_is_refused() -> None:
    Path("lake/data/day=1/part-1.parquet").rename("lake/data/rows")
    with pytest.raises(sm.DataError, match="Delta table"):
        Evaluator("lake/data/rows", TRUTH)


def test_what_only_looks_like_a_lake_table_is_read() -> None:
    """A log that is a file, other metadata, and text files in the folder of a lake table."""
    folder = Path("plain")
    (folder / "metadata").mkdir(parents=True)
    (folder / "metadata" / "notes.json").write_text("{}")
    (folder / "x.metadata.json").mkdir()
    (folder / "lists").mkdir()
    (folder / "lists" / "_delta_log").write_text("a file")
    pq.write_table(LISTS, folder / "lists" / "a.parquet")
    Path("lake/notes.csv").write_text("user_id,item_id\n1,11\n1,13\n")
    with Evaluator("plain/lists/*.parquet", "lake/notes.csv") as evaluator:
        assert evaluator.evaluate("recall@10")["value"].tolist() == [0.5]


def test_current_rows_of_a_lake_table_are_read() -> None:
    """As an Arrow table, or a dataset that lists current files in a file system of its own."""

    local = pa.fs.SubTreeFileSystem("lake", pa.fs.LocalFileSystem())

    def passed_on(name: str) -> Callable[..., Any]:
        method = getattr(local, name.removesuffix("_selector"), None)
        return lambda _, *args: method(*args)

    methods = {name: passed_on(name) for name in pa.fs.FileSystemHandler.__abstractmethods__}
    methods["get_type_name"] = lambda _: "delta"
    # as `DeltaTable.to_pyarrow_dataset` has
    system = pa.fs.PyFileSystem(type("Current", (pa.fs.FileSystemHandler,), methods)())
    current = ds.dataset("data/day=1/part-1.parquet", filesystem=system, format="parquet")
    for source in (current, ds.dataset("lake/data/day=1").to_table()):
        with Evaluator(source, TRUTH) as evaluator:
            assert evaluator.evaluate("recall@10")["value"].tolist() == [0.5]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("source", ["ducks", "ducks/main/recs/*.parquet"])
def test_files_of_ducklake(source: str) -> None:
    """Its files have names of their own; the catalog lies elsewhere."""
    name = "ducklake-019aa1b2-7c3d-7e4f-8a5b-0123456789ab.parquet"
    folder = Path("ducks/main/recs")
    folder.mkdir(parents=True)
    pq.write_table(LISTS, folder / name)
    told = "belongs to a DuckLake table.*Give ducklake:CATALOG#TABLE, or export the current rows"
    with pytest.raises(sm.DataError, match=told):
        Evaluator(source, TRUTH)
    with pytest.raises(sm.DataError, match=told):
        check_paths("recommendations", [f"s3://shop/main/{name}"])
    pq.write_table(LISTS, folder.parent / "ducklake-export.parquet")
    Evaluator(str(folder.parent / "ducklake-export.parquet"), TRUTH).close()
