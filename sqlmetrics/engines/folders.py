"""Columns from folder names, as in Hive partitioning: `country=FR/` gives a value for all rows.

The engine reads such columns and lets them replace columns of the files. Here, folder names never
replace a column of a file; they only add columns that the files lack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.relation import FolderColumn
from sqlmetrics.sql.templates import render_file


def columns_of(path: str) -> dict[str, str]:
    """Return the columns in the folder names of a path as the engine reads them, with values."""
    columns: dict[str, str] = {}
    for folder in re.split(r"[/\\]", path)[:-1]:
        named = re.fullmatch(r"([^=?\n]+)=([^=?\n]*)", folder)
        if named and named[1].lower() not in {*map(str.lower, columns)}:
            columns[named[1]] = named[2]
    return columns


def to_add_and_to_hide(
    named: Sequence[Mapping[str, str]], in_files: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Decide which columns are read from folder names and which from files.

    Args:
        named: the columns in the folder names of each file.
        in_files: the columns of the files.

    Returns:
        The columns that no file has, if the folder names of all files have the same columns; and
        the columns that both folder names and files have.
    """
    own = {name.lower() for name in in_files}
    everywhere = all(columns.keys() == named[0].keys() for columns in named)
    wanted = [name for name in named[0] if everywhere and name.lower() not in own]
    hidden = {name: None for columns in named for name in columns if name.lower() in own}
    return wanted, [*hidden]


def contradiction(
    engine: Engine, label: str, shown: str, column: str, types: Mapping[str, str], relation: str
) -> str | None:
    """Return a warning if a column of files has other values than the folder names.

    Args:
        engine: the engine that reads the files.
        label: the name of the table, for messages.
        shown: the name of the files, for messages.
        column: a column that both files and folder names have.
        types: the columns of the files and their types.
        relation: the files, with their paths as a column.
    """
    type_name = next(kind for name, kind in types.items() if name.lower() == column.lower())
    context = {"column": FolderColumn(column, type_name), "relation": relation}
    query = render_file("inputs/folder_values", context)
    rows = engine.query(query, f"{label}: {shown}")
    if not rows:
        return None
    first = {name: "NULL" if value is None else value for name, value in rows[0].items()}
    held, folder = first["held_value"], first["folder_value"]
    return (
        f"{label}: the column {column} of {first['file_path']} has values that differ from its "
        f"folder name, e.g. {held} in the folder {column}={folder}. The column of the file is "
        "used; to use the folder's value, export the files without this column"
    )
