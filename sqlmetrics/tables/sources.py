"""Turn the source of a table into a relation of an engine: files, objects, or a named table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.relation import Relation, TableName, Unread
from sqlmetrics.errors import DataError, UsageError, suggestion
from sqlmetrics.sql import names
from sqlmetrics.tables.files import Expanded, expand, read_files
from sqlmetrics.tables.formats import format_by_name
from sqlmetrics.tables.objects import (
    from_aspects,
    from_columns,
    from_dict,
    ids_of,
    register,
    to_arrow,
)
from sqlmetrics.texts.messages import Argument, Command, Message

_TABLE_NAME = re.compile(r"[a-z_]\w*(\.[a-z_]\w*){1,2}", re.IGNORECASE)


def read_source(engine: Engine, table: str, label: str, source: Any) -> Relation:
    """Turn one source of a table into a relation; `label` names it in messages.

    Raises:
        DataError: the source cannot be read.
        UsageError: the object is not a valid source.
    """
    if isinstance(source, TableName):
        types = {} if source.like is None else read_source(engine, table, label, source.like).types
        named = f"the table {source.name}"
        return Relation(names.table(source.name), types, named, only_named=True)
    own = engine.relation(table, label, source)
    if own is not None:
        return own
    if isinstance(source, str | Path):
        files = expand(engine, label, source)
        if files is None:
            return _table_of_connection(engine, table, label, str(source))
        _check_name(engine, label, source)
        return read_files(engine, table, label, [files])
    if isinstance(source, list | tuple) and not source:
        raise UsageError(f"{label}: the list of files is empty; give at least one file")
    if isinstance(source, list | tuple) and all(isinstance(one, str | Path) for one in source):
        listed: list[Expanded] = []
        for entry in source:
            files = expand(engine, label, entry)
            if files is None:
                hint = "; to give ids, pass a set" if table == "items" else ""
                raise DataError(f"{label}: there is no file {entry}{hint}")
            listed.append(files)
        return read_files(engine, table, label, listed)
    ids = ids_of(source) if table == "items" else None
    if ids == []:
        raise DataError(f"{label}: the table is empty; give at least one item")
    if ids is not None and any(isinstance(item, list | tuple | dict | set) for item in ids):
        raise DataError(
            f"{label}: {ids[0]!r} is a list, not an item id; give a flat collection of ids"
        )
    if ids is not None:
        data = from_columns(label, {"item_id": ids})
    elif table == "aspects" and isinstance(source, Mapping):
        data = from_aspects(label, source)
    elif isinstance(source, Mapping):
        data = from_dict(table, label, source)
    else:
        unread: dict[str, Unread] = {}
        data = to_arrow(label, source, unread)
        return register(engine, table, label, data, unread)
    return replace(register(engine, table, label, data), has_own_names=False)


def _check_name(engine: Engine, label: str, source: str | Path) -> None:
    """Check that the name of a file or folder is not also that of a table of the connection."""
    found = engine.find_table(source) if isinstance(source, str) and "/" not in source else None
    if found is not None:
        kind = "folder" if Path(source).is_dir() else "file"
        raise UsageError(
            f"{label}: {source} is a table of the connection, but there is also a {kind} {source}",
            remedy=f"write {found} for the table, or ./{source} for the {kind}",
        )


def _table_of_connection(engine: Engine, table: str, label: str, name: str) -> Relation:
    full_name = engine.find_table(name)
    if full_name is None:
        folder = Path(name).parent
        try:
            suffix = Path(name).suffix
            nearby = [
                str(path)
                for path in (folder.glob("*") if folder.is_dir() else ())
                if path.suffix == suffix or format_by_name(str(path))
            ]
        except OSError:
            nearby = []
        hint = suggestion(name, nearby)
        elsewhere = "" if engine.owned else ", and the connection has no such table"
        remedy: str | Message = ""
        if _TABLE_NAME.fullmatch(name) and format_by_name(name) is None and engine.owned:
            of_statement = Argument(f"{table}_table", name)
            remedy = Message(
                "to print a statement over a table of a warehouse, use ",
                Command("sql"), " with ", of_statement,
            )  # fmt: skip
        raise DataError(f"{label}: there is no file {name}{elsewhere}{hint}", remedy=remedy)
    types = engine.describe(full_name, label)
    return Relation(full_name, types, f"the table {name}", is_held=False)
