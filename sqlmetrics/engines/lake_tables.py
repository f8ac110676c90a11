"""Lake tables as sources: `delta:PATH`, `iceberg:PATH`, `ducklake:…`, and the objects of libraries.

The libraries of the formats read one version of a table, and its rows are copied to a temporary
Parquet file. For Delta and Iceberg, the extensions of DuckDB are not used, because closed networks
cannot download them; DuckLake has no other reader.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.engines.lakes import KINDS
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.sql.quoting import literal
from sqlmetrics.texts.wording import and_more

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = re.compile(rf"({'|'.join(KINDS)}):(?!//)(?=.)")
_VERSION = re.compile(r"(.+)@(\d+)\Z", re.DOTALL)
# the metadata files of Iceberg: 00002-<uuid>.metadata.json, v2.metadata.json, v2.gz.metadata.json
_METADATA = re.compile(r"v?(\d+).*\.metadata\.json\Z")


@dataclass(frozen=True)
class LakeTable:
    """One version of a lake table.

    Args:
        kind: `delta`, `iceberg` or `ducklake`.
        name: how the command line and records name this version: `delta:PATH@3`.
        batches: opens a stream of its rows, which are not kept in memory.
        scan: the call that reads this version in DuckDB with its extension.
    """

    kind: str
    name: str
    batches: Callable[[], pa.RecordBatchReader]
    scan: str


def is_lake_table(source: Any) -> bool:
    """Return whether a source is a lake table: `delta:PATH` and others, or an object."""
    if isinstance(source, str):
        return bool(_NAME.match(source)) and not os.path.exists(source)
    return _kind_of(source) is not None


def path_of(source: str) -> str:
    """Return the location in `delta:LOCATION@VERSION` and others."""
    return _split(source.partition(":")[2])[0]


def open_lake_table(label: str, source: Any) -> LakeTable:
    """Open the version of a lake table that a source names, or its current version.

    Raises:
        DataError: there is no such table or version, or it cannot be read.
        UsageError: the library that reads the format is not installed.
    """
    kind = source.partition(":")[0] if isinstance(source, str) else _kind_of(source)
    assert kind is not None
    opened = {"delta": _delta, "iceberg": _iceberg, "ducklake": _ducklake}[kind]
    if not isinstance(source, str):
        return opened(label, source, "", None)
    location, version = _split(source.partition(":")[2])
    try:
        return opened(label, None, location, version)
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
    import pyarrow.parquet as pq

    try:
        reader = lake.batches()
        with pq.ParquetWriter(path, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    except OSError as error:
        if error.errno is not None and error.filename in (None, str(path)):
            raise
        raise _unread(label, lake.name, error) from error
    except Exception as error:  # each library and storage has errors of its own
        raise _unread(label, lake.name, error) from error


def _kind_of(source: Any) -> str | None:
    """Return the format of a table object of deltalake or pyiceberg; None for other objects."""
    for kind in type(source).__mro__:
        if kind.__module__.startswith("deltalake") and kind.__name__ == "DeltaTable":
            return "delta"
        if kind.__module__.startswith("pyiceberg") and kind.__name__ == "Table":
            return "iceberg"
    return None


def _split(location: str) -> tuple[str, int | None]:
    """Split PATH@VERSION; a path that exists has no version."""
    found = None if os.path.exists(location) else _VERSION.match(location)
    return (location, None) if found is None else (found[1], int(found[2]))


def _unread(label: str, name: str, error: Exception) -> DataError:
    first_line = str(error).strip().partition("\n")[0] or type(error).__name__
    return DataError(f"{label}: {name} cannot be read: {first_line}")


# ---- Delta --------------------------------------------------------------------------------------


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
    return LakeTable(
        "delta",
        f"delta:{location}@{number}",
        lambda: _reader(table.scan()),
        f"delta_scan({literal(_url(location))}, version => {number})",
    )


def _reader(stream: Any) -> pa.RecordBatchReader:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(stream)


# ---- DuckLake -----------------------------------------------------------------------------------


def _ducklake(label: str, table: None, location: str, version: int | None) -> LakeTable:  # noqa: ARG001
    from sqlmetrics.engines.ducklake import DuckLakeTable

    found = DuckLakeTable(label, location, version)
    return LakeTable("ducklake", found.name, found.batches, found.scan)


# ---- Iceberg ------------------------------------------------------------------------------------


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

    Raises:
        DataError: there is none, or two files have the largest number.
    """
    if location.endswith(".json") or "://" in location:
        return location
    folder = Path(location, "metadata")
    with suppress(OSError):
        hint = (folder / "version-hint.text").read_text().strip()
        named = folder / (hint if hint.endswith(".json") else f"v{hint}.metadata.json")
        if named.is_file():
            return str(named)
    numbers: dict[int, list[str]] = {}
    for file in _files(folder):
        if found := _METADATA.match(file.name):
            numbers.setdefault(int(found[1]), []).append(str(file))
    if not numbers:
        raise DataError(f"{label}: there is no Iceberg table at {location}")
    newest = sorted(numbers[max(numbers)])
    if len(newest) > 1:
        raise DataError(
            f"{label}: {location} has two metadata files with the number {max(numbers)}, and only "
            f"its catalog knows which one is current: {' and '.join(newest[:2])}",
            remedy=f"name one: iceberg:{newest[0]}, or the table in the catalog: "
            "iceberg:CATALOG#NAMESPACE.TABLE",
        )
    return newest[0]


def _files(folder: Path) -> Iterable[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _local(url: str) -> str:
    """Return the path of a local URL, and other URLs unchanged."""
    return re.sub(r"\Afile:(//)?(?=/)", "", url).rstrip("/")


def _url(location: str) -> str:
    """Return the URL of a path; DuckDB's extension reads local Delta tables only from URLs."""
    return location if "://" in location else Path(os.path.abspath(location)).as_uri()
