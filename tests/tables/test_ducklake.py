"""Tables of DuckLake: `ducklake:CATALOG#TABLE@SNAPSHOT`.

They run where the package duckdb-extension-ducklake has an extension for the version of DuckDB, as
in the step of `.ci/run` with the oldest versions.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import sqlmetrics as sm
from sqlmetrics.engines import lake_tables
from tests.support.command_line import run
from tests.support.evaluators import Evaluator

TRUTH = {"u1": ["a"], "u2": ["b"]}
# the changes of a table, one snapshot each, and the recall at 1 after each of them
CHANGES = [
    ("INSERT INTO lake.recs VALUES ('u1', 'a', 0.9), ('u1', 'b', 0.5), ('u2', 'a', 0.9)", 0.5),
    ("DELETE FROM lake.recs WHERE user_id = 'u1' AND item_id = 'a'", 0.0),
    ("UPDATE lake.recs SET item_id = 'b' WHERE user_id = 'u2'", 0.5),
    ("ALTER TABLE lake.recs ADD COLUMN model_version INTEGER", 0.5),
    ("INSERT INTO lake.recs VALUES ('u1', 'a', 0.7, 2)", 1.0),
]


def connected(catalog: Path) -> duckdb.DuckDBPyConnection:
    importer = pytest.importorskip("duckdb_extensions", reason="the extension is not installed")
    pytest.importorskip("duckdb_extension_ducklake", reason="the extension is not installed")
    connection = duckdb.connect()
    importer.import_extension("ducklake", con=connection)
    connection.execute("LOAD ducklake")
    connection.execute(f"ATTACH 'ducklake:{catalog}' AS lake (DATA_PATH '{catalog.parent}/data/')")
    return connection


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    path = tmp_path / "shop.ducklake"
    with connected(path) as connection:
        connection.execute("CREATE TABLE lake.recs (user_id TEXT, item_id TEXT, score DOUBLE)")
        for change, _ in CHANGES:
            connection.execute(change)
    return path


def recall(source: str) -> float:
    with Evaluator(source, TRUTH, trust_input=True) as evaluator:
        return float(evaluator.evaluate("recall@1")["value"][0])


def test_every_snapshot_has_its_own_rows(catalog: Path) -> None:
    first = 2  # the snapshots before it create the schema and the table
    for number, (_, value) in enumerate(CHANGES):
        assert recall(f"ducklake:{catalog}#main.recs@{first + number}") == value
    assert recall(f"ducklake:{catalog}#recs") == CHANGES[-1][1]


def test_a_record_names_the_snapshot_that_was_read(catalog: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    truth = tmp_path / "truth.csv"
    truth.write_text("user_id,item_id\nu1,a\nu2,b\n")
    asked = ["evaluate", "recall@1", "-i", str(truth), "--format", "csv", "--trust-input"]
    first = run(*asked, "-r", f"ducklake:{catalog}#recs", "--record", record)
    assert f"ducklake:{catalog}#main.recs@6" in record.read_text()
    with connected(catalog) as connection:
        connection.execute("DELETE FROM lake.recs WHERE user_id = 'u1'")
    assert recall(f"ducklake:{catalog}#recs") == 0.5
    again = run("evaluate", "--from-record", record, "--trust-record", "--format", "csv")
    assert again.stdout == first.stdout


def test_the_printed_statement_reads_the_snapshot(catalog: Path) -> None:
    with Evaluator(f"ducklake:{catalog}#recs@3", sm.TableName("truth")) as evaluator:
        statement = evaluator.sql("recall@1")
    with connected(catalog) as connection:
        connection.execute("CREATE TABLE truth AS SELECT 'u1' AS user_id, 'a' AS item_id")
        assert connection.execute(statement).fetchall()[0][2] == 0.0


def test_what_does_not_exist(catalog: Path) -> None:
    for location, error, message in (
        ("#rec", sm.DataError, "has no table 'rec'; did you mean 'recs'"),
        ("#recs@99", sm.DataError, "has no snapshot 99; its last snapshot is 6"),
        ("", sm.UsageError, "does not name a table. Write ducklake:CATALOG#TABLE"),
    ):
        with pytest.raises(error, match=message):
            Evaluator(f"ducklake:{catalog}{location}", TRUTH)


@pytest.mark.usefixtures("catalog")
def test_a_file_that_is_no_catalog(tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    duckdb.connect(other).close()
    with pytest.raises(sm.DataError, match=r"other\.duckdb#recs cannot be read"):
        Evaluator(f"ducklake:{other}#recs", TRUTH)


def test_a_catalog_that_does_not_exist() -> None:
    with pytest.raises(sm.DataError, match="no DuckLake catalog at missing; catalogs must be Duck"):
        Evaluator("ducklake:missing#recs", TRUTH)


def test_a_missing_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lake_tables, "has_extension", lambda *_, **__: False)
    catalog = tmp_path / "shop.ducklake"
    catalog.touch()
    with pytest.raises(sm.UsageError, match=rf"duckdb-extension-ducklake=={duckdb.__version__}"):
        Evaluator(f"ducklake:{catalog}#recs", TRUTH)
