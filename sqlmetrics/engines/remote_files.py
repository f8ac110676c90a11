"""Remote files (`s3://…`, `gs://…`, `az://…`, `https://…`) for a DuckDB connection of sqlmetrics.

DuckDB reads them with its extension httpfs. Where that is not installed, a Python package reads
them: closed networks have packages, but no extensions.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import duckdb

from sqlmetrics.errors import UsageError

# protocol -> the name in fsspec, the package that implements it, the extension of DuckDB
_READERS = {
    **dict.fromkeys(("s3", "s3a", "s3n"), ("s3", "s3fs", "httpfs")),
    **dict.fromkeys(("gs", "gcs"), ("gs", "gcsfs", "httpfs")),
    **dict.fromkeys(("az", "abfs", "abfss"), ("abfs", "adlfs", "azure")),
    **dict.fromkeys(("http", "https"), ("http", "aiohttp", "httpfs")),
}


def open_remote(connection: duckdb.DuckDBPyConnection, label: str, paths: Iterable[Any]) -> None:
    """Make the connection able to read remote paths; other sources are ignored.

    Raises:
        UsageError: neither the extension nor the package is installed, and the extension cannot be
            downloaded.
    """
    texts = [str(path) for path in paths if isinstance(path, str) and "://" in path]
    for protocol in dict.fromkeys(text.partition("://")[0].lower() for text in texts):
        if protocol in _READERS:
            _open(connection, label, protocol)


def _open(connection: duckdb.DuckDBPyConnection, label: str, protocol: str) -> None:
    name, package, extension = _READERS[protocol]
    if has_extension(connection, extension):
        return
    try:
        import fsspec

        files = fsspec.filesystem(name, skip_instance_cache=name == "http")  # changed below
    except ImportError as missing:
        if not has_extension(connection, extension, download=True):
            raise UsageError(
                f"{label}: {protocol}:// needs DuckDB's extension {extension}, which is not "
                f"installed and cannot be downloaded, or the Python package {package}",
                remedy=f"run pip install fsspec {package}",
            ) from missing
        return
    if name == "http":  # fsspec does not know the times of these files, which DuckDB asks for
        files.modified = lambda _: datetime.fromtimestamp(0, UTC)
    if not connection.filesystem_is_registered(name):
        connection.register_filesystem(files)


def has_extension(
    connection: duckdb.DuckDBPyConnection, extension: str, download: bool = False
) -> bool:
    """Load an extension of DuckDB, and return whether it could be loaded."""
    try:
        if download:
            connection.install_extension(extension)
        connection.load_extension(extension)
    except (duckdb.Error, OSError):
        return False
    return True
