"""Recognise lake tables by their names, and reject their files, whose current rows others define.

The logs of a Delta, Iceberg or Hudi table, or the catalog of a DuckLake, say which files and rows
are current. Such a table keeps Parquet files that deletes, updates and compactions have replaced.
Reading the files directly would count the rows of all of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlmetrics.errors import DataError

# kind of table -> what its root folder has, and how to read its current rows
_LAKES = {
    "a Delta": ("_delta_log/", "Give delta:{0}, which reads the current version"),
    "a Hudi": (
        ".hoodie/",
        "Export the current version and pass the export: in Spark, "
        "spark.read.format('hudi').load('{0}').write.parquet('export')",
    ),
    "an Iceberg": (
        "metadata/*.metadata.json",
        "Give iceberg:{0}, which reads the current snapshot",
    ),
}
KINDS = ("delta", "iceberg", "ducklake")  # formats of tables that are read by name
_NAME = re.compile(rf"({'|'.join(KINDS)}):(?!//)(?=.)")
_VERSION = re.compile(r"(.+)@(\d+)\Z", re.DOTALL)
_OF_DUCKLAKE = re.compile(r"ducklake-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-delete)?\.parquet")
EXPORT_OF_DUCKLAKE = (
    "export the current rows with DuckDB (ATTACH 'ducklake:…' AS lake; COPY lake.recs TO "
    "'recs.parquet') and pass the file; in Python, connection=… can also be a connection with the "
    "attached catalog"
)
_EXTRA = "also contain deleted and rewritten rows, which would be counted"


def is_lake_table(source: Any) -> bool:
    """Return whether a source is a lake table: `delta:PATH` and others, or an object."""
    if isinstance(source, str):
        return bool(_NAME.match(source)) and not os.path.exists(source)
    return kind_of(source) is not None


def kind_of(source: Any) -> str | None:
    """Return the format of a table object of deltalake or pyiceberg; None for other objects."""
    for kind in type(source).__mro__:
        if kind.__module__.startswith("deltalake") and kind.__name__ == "DeltaTable":
            return "delta"
        if kind.__module__.startswith("pyiceberg") and kind.__name__ == "Table":
            return "iceberg"
    return None


def parts_of(source: str) -> tuple[str, str, int | None]:
    """Split KIND:LOCATION@VERSION; a location that exists has no version."""
    kind, _, location = source.partition(":")
    found = None if os.path.exists(location) else _VERSION.match(location)
    return (kind, location, None) if found is None else (kind, found[1], int(found[2]))


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
                f"{label}: {path} belongs to a DuckLake table. The files of such a table {_EXTRA}",
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
                _check_root(label, path, folder)


def _check_root(label: str, path: str, folder: Path) -> None:
    for kind, (mark, remedy) in _LAKES.items():
        try:
            is_marked = next(folder.glob(mark), None) is not None
        except OSError:  # the folder cannot be listed
            is_marked = False
        if is_marked:
            here = Path.cwd()
            shown = os.path.relpath(folder, here) if folder.is_relative_to(here) else str(folder)
            raise DataError(
                f"{label}: {path} belongs to {kind} table ({shown} has {mark}). The Parquet files "
                f"of such a table {_EXTRA}. {remedy.format(shown)}"
            )
