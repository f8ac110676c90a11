"""Delta and Iceberg tables, written by deltalake and pyiceberg, give the numbers of their rows.

Every expected number follows from the rows that are written here, and the rows of each table are
compared with those of the library's own reader.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from tests.support.evaluators import Evaluator

LISTS = pa.table({"user_id": [1, 1, 2], "item_id": [11, 12, 13], "rank": [1, 2, 1]})
TRUTH = {1: [11, 12], 2: [13]}  # recall of user 1 is 1/2 without the row of item 12


def recall(source: Any) -> float:
    with Evaluator(source, TRUTH) as evaluator:
        value: float = evaluator.evaluate("recall@2")["value"][0]
    return value


# ---- Delta --------------------------------------------------------------------------------------


@pytest.fixture
def delta(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a table with a deleted row: version 0 has the lists, version 1 lacks item 12."""
    import deltalake

    monkeypatch.chdir(tmp_path)
    deltalake.write_deltalake("recs", LISTS)
    deltalake.DeltaTable("recs").delete("item_id = 12")
    return Path("recs")


def test_deleted_rows_of_delta_do_not_count(delta: Path) -> None:
    import deltalake

    assert recall("delta:recs") == recall(deltalake.DeltaTable(delta)) == 3 / 4
    assert recall("delta:recs@0") == recall(deltalake.DeltaTable(delta, version=0)) == 1
    with pytest.raises(sm.DataError, match=r"Give delta:recs, which reads the current version"):
        recall("recs/*.parquet")


def test_updates_and_new_columns_of_delta(delta: Path) -> None:
    import deltalake

    deltalake.DeltaTable(delta).update({"item_id": "99"}, predicate="user_id = 2")
    assert recall("delta:recs") == 1 / 4
    more = pa.table({"user_id": [2], "item_id": [13], "rank": [2], "score": [0.5]})
    deltalake.write_deltalake(delta, more, mode="append", schema_mode="merge")
    assert recall("delta:recs") == 3 / 4
    assert [recall(f"delta:recs@{version}") for version in range(4)] == [1, 3 / 4, 1 / 4, 3 / 4]


def test_partition_columns_of_delta(tmp_path: Path) -> None:
    import deltalake

    table = LISTS.append_column("country", pa.array(["DE", "FR", "DE"]))
    deltalake.write_deltalake(tmp_path / "recs", table, partition_by=["country"])
    with Evaluator(
        f"delta:{tmp_path}/recs", TRUTH, where={"recommendations": "country = 'DE'"}
    ) as evaluator:
        assert evaluator.evaluate("recall@2")["value"][0] == 3 / 4


def test_deletion_vectors_of_delta(tmp_path: Path) -> None:
    """deltalake reads deletion vectors, but writes none: one is added to the log by hand."""
    import deltalake
    from pyroaring import BitMap64

    root = tmp_path / "recs"
    deltalake.write_deltalake(root, LISTS, configuration={"delta.enableDeletionVectors": "true"})
    log = root / "_delta_log"
    entries = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    added = next(entry["add"] for entry in entries if "add" in entry)
    vector = struct.pack("<I", 1681511377) + BitMap64([1]).serialize()  # the second row
    removed = {
        "path": added["path"], "deletionTimestamp": 0, "dataChange": True, "size": added["size"],
        "extendedFileMetadata": True, "partitionValues": {},
    }  # fmt: skip
    stats = {**json.loads(added["stats"]), "tightBounds": False}
    added |= {
        "stats": json.dumps(stats),
        "deletionVector": {
            "storageType": "i", "pathOrInlineDv": z85(vector), "sizeInBytes": len(vector),
            "cardinality": 1,
        },
    }  # fmt: skip
    actions = [{"commitInfo": {"operation": "DELETE"}}, {"remove": removed}, {"add": added}]
    (log / f"{1:020}.json").write_text("\n".join(map(json.dumps, actions)) + "\n")
    assert recall(f"delta:{root}") == 3 / 4
    assert recall(f"delta:{root}@0") == 1


def z85(data: bytes) -> str:
    """Return bytes in the encoding of inline deletion vectors: five characters per four bytes."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    text = ""
    padded = data + b"\0" * (-len(data) % 4)
    for (number,) in struct.iter_unpack(">I", padded):
        text += "".join(digits[number // 85**power % 85] for power in range(4, -1, -1))
    return text


# ---- Iceberg ------------------------------------------------------------------------------------


@pytest.fixture
def iceberg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a table with two snapshots: the lists, and the lists without item 12."""
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.utils.config import Config

    monkeypatch.chdir(tmp_path)
    where = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
    for name, value in {**where, "type": "sql"}.items():  # as users configure a catalog
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name.upper()}", value)
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # it is read at the import
    catalog = SqlCatalog("lake", **where)
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.recs", schema=LISTS.schema)
    table.append(LISTS)
    table.delete("item_id = 12")
    yield table
    catalog.close()


NAMES: dict[str, Callable[[Any], Any]] = {
    "folder": lambda _: "iceberg:shop/recs",
    "metadata file": lambda table: f"iceberg:{table.metadata_location}",
    "catalog": lambda _: "iceberg:lake#shop.recs",
    "object": lambda table: table,
}


@pytest.mark.parametrize("name", NAMES)
def test_deleted_rows_of_iceberg_do_not_count(iceberg: Any, name: str) -> None:
    source = NAMES[name](iceberg)
    assert recall(source) == 3 / 4
    if isinstance(source, str):
        first = iceberg.snapshots()[0].snapshot_id
        assert recall(f"{source}@{first}") == 1
        with pytest.raises(sm.DataError, match=r"has no snapshot 7; it has \d+, \d+, the last one"):
            recall(f"{source}@7")


def test_renamed_columns_of_iceberg(iceberg: Any) -> None:
    with iceberg.update_schema() as change:
        change.rename_column("item_id", "product")
    with Evaluator("iceberg:shop/recs", TRUTH, columns={"item_id": "product"}) as evaluator:
        assert evaluator.evaluate("recall@2")["value"][0] == 3 / 4


def test_two_newest_metadata_files_of_iceberg_are_refused(iceberg: Any) -> None:  # noqa: ARG001
    newest = max(Path("shop/recs/metadata").glob("*.metadata.json"))
    newest.with_name(newest.name[:6] + "0.metadata.json").write_bytes(newest.read_bytes())
    with pytest.raises(sm.DataError, match="two metadata files with the number 2") as error:
        recall("iceberg:shop/recs")
    assert "iceberg:CATALOG#NAMESPACE.TABLE" in str(error.value)


# ---- both ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_missing_table_and_damaged_files_are_named(kind: str, tmp_path: Path) -> None:
    with pytest.raises(sm.DataError, match=rf"recommendations: there is no .* table at {tmp_path}"):
        recall(f"{kind}:{tmp_path}")


def test_lost_files_are_named(delta: Path) -> None:
    for file in delta.glob("*.parquet"):
        file.unlink()
    with pytest.raises(sm.DataError, match=r"^recommendations: delta:recs@1 cannot be read: "):
        recall("delta:recs")


def test_statements_read_the_version(delta: Path) -> None:
    with Evaluator("delta:recs", "delta:recs@0") as evaluator:
        sql = evaluator.sql("recall@2")
    url = delta.absolute().as_uri()
    joined = re.sub(r"\(\s+|\s+\)|\s+", lambda blank: blank[0].strip() or " ", sql)
    assert f"delta_scan('{url}', version => 1)" in joined
    assert f"delta_scan('{url}', version => 0)" in joined


def test_a_connection_of_the_user_is_not_changed(delta: Path) -> None:  # noqa: ARG001
    import duckdb

    with pytest.raises(sm.UsageError, match=r"delta:recs@1 cannot be opened in your connection"):
        Evaluator("delta:recs", TRUTH, connection=duckdb.connect())


def test_a_record_reads_the_same_version_again(delta: Path) -> None:
    import deltalake

    command = ["evaluate", "recall@2", "-r", "delta:recs", "-i", "delta:recs@0"]
    first = CliRunner().invoke(main, [*command, "--record", "r.json", "--format", "csv"])
    assert first.exit_code == 0, first.output
    assert ",0.75," in first.stdout
    sources = {entry["table"]: entry for entry in json.loads(Path("r.json").read_text())["sources"]}
    assert sources["recommendations"]["source"] == "delta:recs@1"
    deltalake.DeltaTable(delta).delete("user_id = 2")
    assert recall("delta:recs") == 1 / 4
    again = CliRunner().invoke(
        main, ["evaluate", "--from-record", "r.json", "--trust-record", "--format", "csv"]
    )
    assert again.stdout == first.stdout, again.output


def test_models_over_lake_tables(delta: Path) -> None:  # noqa: ARG001
    command = ["evaluate", "recall@2", "-r", "new=delta:recs", "-r", "old=delta:recs@0"]
    command += ["-i", "delta:recs@0", "--format", "csv"]
    whole = CliRunner().invoke(main, command)
    assert [line.split(",")[3] for line in whole.stdout.splitlines()[1:]] == ["0.75", "1.0"]
