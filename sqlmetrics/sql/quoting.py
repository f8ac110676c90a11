"""Quoting of names, values and paths in SQL."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z")
# words that DuckDB does not take as the name of a column
_RESERVED_WORDS = """
    all analyse analyze and any array as asc asymmetric both case cast check collate column
    constraint create default deferrable desc describe distinct do else end except false fetch
    for foreign from grant group having in initially intersect into lambda lateral leading limit
    not null offset on only or order pivot pivot_longer pivot_wider placing primary qualify
    references returning select show some summarize symmetric table then to trailing true union
    unique unpivot using variadic when where window with
"""
# words that stand for a function without parentheses, in DuckDB or elsewhere: in Postgres,
# `SELECT user` is not a column, but who is logged in
_FUNCTION_WORDS = """
    current_catalog current_database current_date current_path current_role current_schema
    current_time current_timestamp current_user localtime localtimestamp session_user sysdate
    system_user today user
"""
_RESERVED = frozenset((_RESERVED_WORDS + _FUNCTION_WORDS).split())


def identifier(name: str) -> str:
    """Spell a column or table name so that SQL reads it as that name and nothing else."""
    if _PLAIN.match(name) and name not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Spell a value as a SQL literal; a sequence becomes a list literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(literal(entry) for entry in value) + "]"
    return "'" + str(value).replace("'", "''") + "'"


def path_literal(paths: str | Sequence[str]) -> str:
    """Spell the path of a file, or several, so that the engine reads these files and no others."""
    return literal(path_pattern(paths) if isinstance(paths, str) else [*map(path_pattern, paths)])


def path_pattern(path: str) -> str:
    """Spell a path as a pattern that matches this path only, since the engine reads patterns.

    A URL (`s3://…`) stays as it is, with its wildcards.
    """
    if "://" in path:
        return path
    if os.sep == "\\":
        path = path.replace("\\", "/")
    # the engine takes ~ for the home folder, and file: for a URL
    if re.search(r"(\A|/)~|\Afile:", path):
        path = os.path.abspath(path)
    return re.sub(r"([*?\[])", r"[\1]", path)


def path_of_pattern(pattern: str) -> str:
    """Return the path that `path_pattern` spelled."""
    return pattern if "://" in pattern else re.sub(r"\[([*?\[])\]", r"\1", pattern)
