"""Lake tables as sources: `delta:PATH`, `iceberg:PATH`, `ducklake:…`, and the objects of libraries.

The libraries of the formats read one version of a table, and its rows are copied to a temporary
Parquet file. For Delta and Iceberg, the extensions of DuckDB are not used, because closed networks
cannot download them; DuckLake has no other reader.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from sqlmetrics.engines.databases import find_table
from sqlmetrics.engines.lakes import EXPORT_OF_DUCKLAKE, kind_of, parts_of
from sqlmetrics.engines.remote_files import has_extension
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.sql.quoting import identifier, literal
from sqlmetrics.texts.wording import and_more

# the metadata files of Iceberg: 00002-<uuid>.metadata.json, v2.metadata.json, v2.gz.metadata.json
_METADATA = re.compile(r"v?(\d+).*\.metadata\.json\Z")


@dataclass(frozen=True)
class LakeTable:
    """One version of a lake table.

    Args:
        kind: `delta`, `iceberg` or `ducklake`.
        name: how the command line and records name this version: `delta:PATH@3`.
        rows: returns its rows as an object with the Arrow C stream, which reads them by batches.
        scan: the call that reads this version in DuckDB with its extension.
    """

    kind: str
    name: str
    rows: Callable[[], Any]
    scan: str


def open_lake_table(label: str, source: Any) -> LakeTable:
    """Open the version of a lake table that a source names, or its current version.

    Raises:
        DataError: there is no such table or version, or it cannot be read.
        UsageError: the library that reads the format is not installed.
    """
    if not isinstance(source, str):
        return (_delta if kind_of(source) == "delta" else _iceberg)(label, source, "", None)
    kind, location, version = parts_of(source)
    try:
        if kind == "ducklake":
            return _ducklake(label, location, version)
        return (_delta if kind == "delta" else _iceberg)(label, None, location, version)
    except ImportError as error:
        raise UsageError(
            f"{label}: {source} needs the package {error.name}",
            remedy=f"run pip install 'sqlmetrics[{kind}]'",
        ) from error
    except (DataError, UsageError):
        raise
    except Exception as error:  # each library and storage has errors of its own
        raise _unread(label, source, error) from error


def copy_rows(label: str, lake: LakeTable, path: Path) -> None:
    """Copy the rows of a lake table to a Parquet file, a batch at a time.

    Raises:
        DataError: the rows cannot be read.
        OSError: the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        reader = pa.RecordBatchReader.from_stream(lake.rows())
        with pq.ParquetWriter(path, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    except Exception as error:  # each library and storage has errors of its own
        if isinstance(error, OSError) and error.errno and error.filename in (None, str(path)):
            raise
        raise _unread(label, lake.name, error) from error


def _unread(label: str, name: str, error: Exception) -> DataError:
    first_line = str(error).strip().partition("\n")[0] or type(error).__name__
    return DataError(f"{label}: {name} cannot be read: {first_line}")


def _delta(label: str, table: Any, location: str, version: int | None) -> LakeTable:
    if table is None:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        try:
            table = DeltaTable(location)
        except TableNotFoundError as error:
            raise DataError(f"{label}: there is no Delta table at {location}") from error
        if version is not None and not 0 <= version <= table.version():
            raise DataError(
                f"{label}: the Delta table {location} has no version {version}; its last version "
                f"is {table.version()}"
            )
        if version is not None:
            table.load_as_version(version)
    else:
        location = _local(table.table_uri)
    number = table.version()
    # DuckDB's extension reads local Delta tables only from URLs
    url = location if "://" in location else Path(os.path.abspath(location)).as_uri()
    scan = f"delta_scan({literal(url)}, version => {number})"
    return LakeTable("delta", f"delta:{location}@{number}", table.scan, scan)


def _iceberg(label: str, table: Any, location: str, version: int | None) -> LakeTable:
    if table is not None:
        catalog = getattr(getattr(table, "catalog", None), "name", None)
        location = _local(table.metadata_location)
        if catalog is not None:
            location = f"{catalog}#{'.'.join(table.name())}"
    elif "#" in location and not os.path.exists(location):
        from pyiceberg.catalog import load_catalog

        catalog, _, name = location.partition("#")
        table = load_catalog(catalog).load_table(name)
    else:
        from pyiceberg.table import StaticTable

        table = StaticTable.from_metadata(_metadata(label, location))
    if version is not None and table.snapshot_by_id(version) is None:
        known = [str(snapshot.snapshot_id) for snapshot in reversed(table.snapshots())]
        there = f"it has {and_more(known, 5)}, the last one first" if known else "it has none"
        raise DataError(f"{label}: the Iceberg table {location} has no snapshot {version}; {there}")
    current = table.current_snapshot()
    current_id = None if current is None else current.snapshot_id
    snapshot = current_id if version is None else version
    scanned = None if snapshot == current_id else snapshot  # None: with the current schema
    which = "" if snapshot is None else f", snapshot_from_id => {snapshot}"
    return LakeTable(
        "iceberg",
        f"iceberg:{location}" + ("" if snapshot is None else f"@{snapshot}"),
        lambda: table.scan(snapshot_id=scanned).to_arrow_batch_reader(),
        f"iceberg_scan({literal(_local(table.metadata_location))}{which})",
    )


def _metadata(label: str, location: str) -> str:
    """Return the current metadata file of a table that is read without a catalog.

    That is the file that `version-hint.text` names, or else the one with the largest number.
    """
    if location.endswith(".json") or "://" in location:
        return location
    folder = Path(location, "metadata")
    with contextlib.suppress(OSError):
        hint = (folder / "version-hint.text").read_text(encoding="utf-8").strip()
        named = folder / (hint if hint.endswith(".json") else f"v{hint}.metadata.json")
        if named.is_file():
            return str(named)
    matches = (_METADATA.match(file.name) for file in folder.glob("*.metadata.json"))
    numbered = sorted((int(match[1]), match[0]) for match in matches if match)
    if not numbered:
        raise DataError(f"{label}: there is no Iceberg table at {location}")
    newest = [str(folder / name) for number, name in numbered if number == numbered[-1][0]]
    if len(newest) > 1:
        raise DataError(
            f"{label}: {location} has two metadata files with the number {numbered[-1][0]}, and "
            f"only its catalog knows which one is current: {' and '.join(newest[:2])}",
            remedy=f"name one: iceberg:{newest[0]}, or the table in the catalog: "
            "iceberg:CATALOG#NAMESPACE.TABLE",
        )
    return newest[0]


def _local(url: str) -> str:
    """Return the path of a local URL, and other URLs unchanged."""
    return re.sub(r"\Afile:(//)?(?=/)", "", url).rstrip("/")


def _ducklake(label: str, location: str, version: int | None) -> LakeTable:
    """Open a table of DuckLake, whose catalog is a DuckDB file: other names contain passwords."""
    catalog, _, name = location.rpartition("#")
    if not catalog or not name:
        raise UsageError(
            f"{label}: ducklake:{location} does not name a table",
            remedy="write ducklake:CATALOG#TABLE or ducklake:CATALOG#SCHEMA.TABLE",
        )
    if not os.path.isfile(catalog):
        raise DataError(
            f"{label}: there is no DuckLake catalog at {catalog}; catalogs must be DuckDB files",
            remedy=EXPORT_OF_DUCKLAKE,
        )
    with contextlib.ExitStack() as after_errors:
        connection = after_errors.enter_context(duckdb.connect())
        _load_ducklake(connection, label)
        attach = f"ATTACH {literal(f'ducklake:{catalog}')} AS lake (READ_ONLY"
        connection.execute(f"{attach})")
        rows = connection.execute("SELECT snapshot_id FROM ducklake_snapshots('lake')").fetchall()
        known = {number for (number,) in rows}
        snapshot = max(known) if version is None else version
        if snapshot not in known:
            raise DataError(
                f"{label}: the DuckLake {catalog} has no snapshot {version}; its last snapshot is "
                f"{max(known)}"
            )
        connection.execute("DETACH lake")
        connection.execute(f"{attach}, SNAPSHOT_VERSION {snapshot})")
        schema, table = find_table(connection, "lake", name, f"the DuckLake {catalog}", label)
        after_errors.pop_all()  # it is closed when its rows have been read
    path = f"lake.{identifier(schema)}.{identifier(table)}"
    return LakeTable(
        "ducklake",
        f"ducklake:{catalog}#{schema}.{table}@{snapshot}",
        lambda: connection.sql(f"FROM {path}"),
        f"{path} AT (VERSION => {snapshot})",
    )


def _load_ducklake(connection: duckdb.DuckDBPyConnection, label: str) -> None:
    """Load DuckDB's extension, which a package can bring."""
    with contextlib.suppress(ImportError, RuntimeError, duckdb.Error):
        from duckdb_extensions import import_extension

        import_extension("ducklake", con=connection)
    if not has_extension(connection, "ducklake", download=True):
        raise UsageError(
            f"{label}: tables of DuckLake need DuckDB's extension ducklake, which is not installed "
            f"and cannot be downloaded for DuckDB {duckdb.__version__}",
            remedy="run pip install duckdb-extensions "
            f"duckdb-extension-ducklake=={duckdb.__version__}; if PyPI has no such version, "
            "install an older DuckDB, or " + EXPORT_OF_DUCKLAKE,
        )
