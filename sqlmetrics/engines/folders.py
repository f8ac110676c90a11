"""Columns that folders are called after, as Hive's partitions are: `country=FR/` tells of all rows.

The engine reads them as columns, also in place of columns that the files have. Here, a column of a
file is never replaced: folders tell of the columns that the files lack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlmetrics.engines.relation import FolderColumn, Folders
from sqlmetrics.sql.templates import environment

if TYPE_CHECKING:
    from sqlmetrics.engines.base import Engine


def columns_of(path: str) -> dict[str, str]:
    """Read the names of the folders in a path: column -> value, by the rules of the engine."""
    columns: dict[str, str] = {}
    for folder in re.split(r"[/\\]", path)[:-1]:
        named = re.fullmatch(r"([^=?\n]+)=([^=?\n]*)", folder)
        if named and named[1].lower() not in {*map(str.lower, columns)}:
            columns[named[1]] = named[2]
    return columns


def to_add_and_to_hide(
    named: Sequence[Mapping[str, str]], in_files: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Decide which columns are read from the names of folders, and which from the files.

    Args:
        named: the columns that the folders of each file are called after.
        in_files: the columns of the files.

    Returns:
        The columns that no file has, if the folders of all files are called after the same ones;
        and those that folders are called after and files have.
    """
    own = {name.lower() for name in in_files}
    everywhere = all(columns.keys() == named[0].keys() for columns in named)
    wanted = [name for name in named[0] if everywhere and name.lower() not in own]
    hidden = {name: None for columns in named for name in columns if name.lower() in own}
    return wanted, [*hidden]


def of_files(
    named: Sequence[Mapping[str, str]],
    own: Sequence[Mapping[str, str]],
    types_with_folders: Callable[[], Mapping[str, str]],
) -> Folders:
    """Decide which columns are read from the names of folders.

    Args:
        named: the columns that the folders of each file are called after.
        own: the columns of the files, and their types.
        types_with_folders: reads the types of all columns, also those of folders.

    Returns:
        The columns that no file has, if the folders of all files are called after the same ones.
    """
    wanted, hidden = to_add_and_to_hide(named, (name for types in own for name in types))
    types = types_with_folders() if wanted else {}
    return Folders(tuple(FolderColumn(name, types[name]) for name in wanted), tuple(hidden))


def contradiction(
    engine: Engine, label: str, shown: str, column: str, types: Mapping[str, str], relation: str
) -> str | None:
    """Say where a column of files holds other values than the folders of these files tell.

    Args:
        engine: reads the files.
        label: names the table.
        shown: names the files.
        column: a column that the files have and folders are called after.
        types: the columns of the files and their types.
        relation: the files, with their paths as a column.
    """
    type_name = next(kind for name, kind in types.items() if name.lower() == column.lower())
    template = environment().get_template("inputs/folder_values.sql.j2")
    query = template.render(column=FolderColumn(column, type_name), relation=relation)
    rows = engine.query(query, f"{label}: {shown}")
    if not rows:
        return None
    first = {name: "NULL" if value is None else value for name, value in rows[0].items()}
    held, folder = first["held_value"], first["folder_value"]
    return (
        f"{label}: {first['file_path']} has a column {column} with other values than the name of "
        f"its folder, e.g. {held} in the folder {column}={folder}. The column of the file is read; "
        "to read the folder's value, export the files without that column"
    )
