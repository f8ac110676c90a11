"""Recognise queries and tables of DuckDB files among the sources: `shop.duckdb:recs`."""

from __future__ import annotations

import os
import re

# a query may start with comments
_QUERY = re.compile(r"\s*(--[^\n]*\n\s*)*(SELECT|WITH|FROM)\s", re.IGNORECASE)


def is_query(text: str) -> bool:
    """Return whether a source is a SQL query rather than a path or a name."""
    return bool(_QUERY.match(text)) and not os.path.exists(text)


def has_query(text: str) -> bool:
    """Return whether a source is a query, also a query of a DuckDB file: `FILE:SELECT …`."""
    starts = [0, *(match.end() for match in re.finditer(":", text))]
    return not os.path.exists(text) and any(_QUERY.match(text, start) for start in starts)


def is_database(path: str) -> bool:
    """Return whether a path is a DuckDB file, which has the letters DUCK in its header."""
    try:
        if not os.path.isfile(path):  # reading from a pipe would wait, or take its first bytes
            return False
        with open(path, "rb") as file:
            return file.read(12)[8:] == b"DUCK"
    except (OSError, ValueError):
        return False


def split(text: str) -> tuple[str, str] | None:
    """Split FILE:TABLE into a DuckDB file and a table or query; None for other sources.

    The table is empty if the text is the path of a DuckDB file.
    """
    if is_database(text):
        return text, ""
    for match in re.finditer(":", text):
        if is_database(text[: match.start()]):
            return text[: match.start()], text[match.end() :]
    return None
