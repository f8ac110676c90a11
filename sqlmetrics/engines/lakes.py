"""Reject files of Delta, Iceberg, Hudi and DuckLake tables, whose current rows others define.

The logs of a table, or the catalog of a DuckLake, say which files and rows are current.

Such a table keeps Parquet files that deletes, updates and compactions have replaced. Reading the
files directly would count the rows of all of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sqlmetrics.errors import DataError
from sqlmetrics.sql.quoting import literal

# kind of table -> how to read its current rows, given the folder
_REMEDIES: Mapping[str, Callable[[str], str]] = {
    "Delta": lambda folder: f"Give delta:{folder}, which reads the current version",
    "Iceberg": lambda folder: f"Give iceberg:{folder}, which reads the current snapshot",
    "Hudi": lambda folder: (
        "Export the current version and pass the export: in Spark, "
        f"spark.read.format('hudi').load({literal(folder)}).write.parquet('export')"
    ),
}
KINDS = ("delta", "iceberg", "ducklake")  # formats of tables that are read by name
_OF_DUCKLAKE = re.compile(r"ducklake-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-delete)?\.parquet")
EXPORT_OF_DUCKLAKE = (
    "export the current rows with DuckDB (ATTACH 'ducklake:…' AS lake; COPY lake.recs TO "
    "'recs.parquet') and pass the file; in Python, connection=… can also be a connection with the "
    "attached catalog"
)


def check_paths(label: str, paths: Iterable[str]) -> None:
    """Check that files or folders do not belong to a lake table.

    Every folder at or above the paths is examined once. Remote paths (`s3://…`) are checked only
    by the names of the files.

    Args:
        label: the name of the table, for messages.
        paths: local paths, or `file://…`.

    Raises:
        DataError: a file belongs to a lake table; the message shows how to read its current rows.
    """
    seen: set[Path] = set()
    for path in paths:
        if _OF_DUCKLAKE.fullmatch(path.rpartition("/")[2]):
            raise DataError(
                f"{label}: {path} belongs to a DuckLake table. The files of such a table also "
                "contain deleted and rewritten rows, which would be counted",
                remedy=f"give ducklake:CATALOG#TABLE, or {EXPORT_OF_DUCKLAKE}",
            )
        local = re.sub(r"\Afile:(//[^/]*)?(?=/)", "", path)
        if "://" in local:
            continue
        # a link belongs to the folders of both paths
        for start in (Path(os.path.abspath(local)), Path(os.path.realpath(local))):
            for folder in (*([start] if start.is_dir() else []), *start.parents):
                if folder in seen:  # so its parents have been examined too
                    break
                seen.add(folder)
                if lake := _lake_of(folder):
                    raise DataError(_message(label, path, folder, *lake))


def check_dataset(label: str, dataset: Any) -> None:
    """Check that the files of a pyarrow dataset do not belong to a lake table.

    Raises:
        DataError: as for `check_paths`.
    """
    check_paths(label, _files_of(dataset))


def _files_of(dataset: Any) -> Iterator[str]:
    """Find the local Parquet files of a dataset.

    A dataset from `DeltaTable.to_pyarrow_dataset()` lists only current files, in its own file
    system, so no local files are found.
    """
    import pyarrow.dataset as ds
    import pyarrow.fs as fs

    for child in getattr(dataset, "children", ()):
        yield from _files_of(child)
    if not isinstance(dataset, ds.FileSystemDataset):
        return
    system, base = dataset.filesystem, ""
    while isinstance(system, fs.SubTreeFileSystem):
        system, base = system.base_fs, f"{system.base_path.rstrip('/')}/{base}"
    if isinstance(system, fs.LocalFileSystem) and isinstance(dataset.format, ds.ParquetFileFormat):
        yield from (base + file for file in dataset.files)


def _lake_of(folder: Path) -> tuple[str, str] | None:
    """Return the kind of lake table with this root folder and the entry that shows it, or None."""
    for kind, mark in (("Delta", "_delta_log"), ("Hudi", ".hoodie")):
        if os.path.isdir(folder / mark):
            return kind, f"{mark}/"
    try:
        described = next((folder / "metadata").glob("*.metadata.json"), None)
    except OSError:  # the folder cannot be listed
        described = None
    return None if described is None else ("Iceberg", "metadata/*.metadata.json")


def _message(label: str, path: str, folder: Path, kind: str, mark: str) -> str:
    here = Path.cwd()
    shown = os.path.relpath(folder, here) if folder.is_relative_to(here) else str(folder)
    article = "an" if kind == "Iceberg" else "a"
    return (
        f"{label}: {path} belongs to {article} {kind} table ({shown} has {mark}). The Parquet "
        "files of such a table also contain deleted and rewritten rows, which would be counted. "
        f"{_REMEDIES[kind](shown)}"
    )
