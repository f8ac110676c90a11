"""Tables of DuckLake, read by the extension of DuckDB in a connection of its own.

The catalog must be a DuckDB file: the names of catalogs in servers contain passwords.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import duckdb

from sqlmetrics.engines.databases import find_table
from sqlmetrics.engines.lakes import EXPORT_OF_DUCKLAKE
from sqlmetrics.engines.remote_files import has_extension
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.sql.quoting import identifier, literal

if TYPE_CHECKING:
    import pyarrow as pa

_LAKE = "lake"  # the name of the attached catalog, also in printed statements


class DuckLakeTable:
    """One snapshot of a table.

    Args:
        label: the table, for messages.
        location: `CATALOG#TABLE` or `CATALOG#SCHEMA.TABLE`.
        snapshot: the number of the snapshot; None for the current one.

    Raises:
        DataError: there is no such catalog, table or snapshot.
        UsageError: the location names no table, or the extension is not installed.
    """

    def __init__(self, label: str, location: str, snapshot: int | None) -> None:
        self._label = label
        self._catalog, _, name = location.rpartition("#")
        if not self._catalog or not name:
            raise UsageError(
                f"{label}: ducklake:{location} does not name a table",
                remedy="write ducklake:CATALOG#TABLE or ducklake:CATALOG#SCHEMA.TABLE",
            )
        if not os.path.isfile(self._catalog):
            raise DataError(
                f"{label}: there is no DuckLake catalog at {self._catalog}; catalogs must be "
                "DuckDB files",
                remedy=EXPORT_OF_DUCKLAKE,
            )
        self.snapshot = self._known_snapshot(snapshot)
        with contextlib.closing(self._attached()) as connection:
            where = f"the DuckLake {self._catalog}"
            schema, table = find_table(connection, _LAKE, name, where, label)
        self._path = ".".join(map(identifier, (_LAKE, schema, table)))
        self.name = f"ducklake:{self._catalog}#{schema}.{table}@{self.snapshot}"

    @property
    def scan(self) -> str:
        """Return what reads the rows in DuckDB, with the catalog attached as `lake`."""
        return f"{self._path} AT (VERSION => {self.snapshot})"

    def batches(self) -> pa.RecordBatchReader:
        """Open a stream of the rows."""
        import pyarrow as pa

        connection = self._attached()
        rows = pa.RecordBatchReader.from_stream(connection.sql(f"FROM {self._path}"))

        def until_closed() -> Iterator[pa.RecordBatch]:
            with contextlib.closing(connection):
                yield from rows

        return pa.RecordBatchReader.from_batches(rows.schema, until_closed())

    def _known_snapshot(self, wanted: int | None) -> int:
        with contextlib.closing(self._attached(at="")) as connection:
            rows = connection.execute(f"SELECT snapshot_id FROM ducklake_snapshots('{_LAKE}')")
            known = sorted(number for (number,) in rows.fetchall())
        if wanted is not None and wanted not in known:
            raise DataError(
                f"{self._label}: the DuckLake {self._catalog} has no snapshot {wanted}; its last "
                f"snapshot is {known[-1]}"
            )
        return known[-1] if wanted is None else wanted

    def _attached(self, at: str | None = None) -> duckdb.DuckDBPyConnection:
        """Open a connection with the catalog as of the snapshot."""
        at = f", SNAPSHOT_VERSION {self.snapshot}" if at is None else at
        connection = duckdb.connect()
        try:
            _load(connection, self._label)
            source = literal(f"ducklake:{self._catalog}")
            connection.execute(f"ATTACH {source} AS {_LAKE} (READ_ONLY{at})")
        except BaseException:
            connection.close()
            raise
        return connection


def _load(connection: duckdb.DuckDBPyConnection, label: str) -> None:
    """Load the extension, which a package can bring.

    Raises:
        UsageError: it is not installed, and cannot be downloaded.
    """
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
