"""Quote names, values and paths for SQL."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z")
# words that DuckDB, or the parser of our queries, does not accept as column names everywhere
_RESERVED_WORDS = """
    all alter analyse analyze and anti any array as asc asof asymmetric at authorization between
    binary both by case cast check collate collation column concurrently constraint create cross
    cube default deferrable desc describe distinct do drop else end except false fetch for force
    foreign freeze from full glob grant group having if ilike in initially inner insert install
    intersect interval into is isnull join lambda lateral leading left like limit map natural
    not notnull null offset on only or order outer overlaps partitioned_by pivot pivot_longer
    pivot_wider placing positional primary qualify references regexp returning revoke right
    rlike rollback rollup select semi show similar some summarize symmetric table tablesample
    then to trailing true uncache union unique unpack unpivot using variadic verbose when where
    window with xor
"""
# words that call a function without parentheses, in DuckDB or elsewhere: in Postgres, `SELECT user`
# returns the current user instead of a column
_FUNCTION_WORDS = """
    current_catalog current_database current_date current_path current_role current_schema
    current_time current_timestamp current_user localtime localtimestamp session_user sysdate
    system_user today user
"""
_RESERVED = frozenset((_RESERVED_WORDS + _FUNCTION_WORDS).split())


def identifier(name: str) -> str:
    """Quote a column or table name if needed."""
    if _PLAIN.match(name) and name not in _RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Write a value as a SQL literal, a sequence as a list literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, bytes):
        return f"unhex('{value.hex()}')"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(literal(entry) for entry in value) + "]"
    text = "'" + str(value).replace("'", "''") + "'"
    # the planner splits queries at NUL, and some engines end a statement there
    return "(" + text.replace("\0", "' || chr(0) || '") + ")" if "\0" in text else text


def path_literal(paths: str | Sequence[str]) -> str:
    """Write the paths of files as a literal that the engine does not read as patterns."""
    return literal(path_pattern(paths) if isinstance(paths, str) else [*map(path_pattern, paths)])


def path_pattern(path: str) -> str:
    """Escape a path so that the engine, which reads patterns, matches only this path.

    A URL (`s3://…`) is unchanged, including its wildcards.
    """
    if "://" in path:
        return path
    if os.sep == "\\":
        path = path.replace("\\", "/")
    # the engine expands ~ to the home folder, and reads file: as a URL
    if re.search(r"(\A|/)~|\Afile:", path):
        path = os.path.abspath(path)
    return re.sub(r"([*?\[])", r"[\1]", path)


def path_of_pattern(pattern: str) -> str:
    """Return the path that `path_pattern` escaped."""
    return pattern if "://" in pattern else re.sub(r"\[([*?\[])\]", r"\1", pattern)
