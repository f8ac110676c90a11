"""Names of tables, CTEs and columns in the text of queries, before and after printing."""

from __future__ import annotations

import re

from sqlglot import exp

from sqlmetrics.sql.dialects import NATIVE, PRINTED_AS
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.trees import find_all

_TABLE = "table of the user: "  # prefix of a user's table name until it is printed
_FOUND = "table of the database: "  # the same for a name in DuckDB's SQL
_REFERENCE = re.compile(r"\{\{(?:(?!\{\{|\}\}).)*\}\}", re.DOTALL)


def name(text: str, dialect: str) -> str:
    """Quote the name of a CTE or column."""
    if dialect == NATIVE:
        return identifier(text)
    quoted = exp.to_identifier(text)
    assert quoted is not None
    return quoted.sql(PRINTED_AS.get(dialect, dialect))


def is_reference(text: str) -> bool:
    """Return whether a text is exactly one reference for dbt."""
    return _REFERENCE.fullmatch(text.strip()) is not None


def table(text: str) -> str:
    """Return a placeholder for a user's table until the query is printed."""
    return identifier(_TABLE + text.strip())


def found_table(text: str) -> str:
    """Return a placeholder for a user's table whose name is in DuckDB's SQL."""
    return identifier(_FOUND + text)


def placed_table(text: str) -> str:
    """Return the name of the user's table for which a text is the placeholder, or an empty text."""
    for prefix in (_TABLE, _FOUND):
        if text.startswith(prefix):
            return text.removeprefix(prefix)
    return ""


def dialect_of_table(text: str, dialect: str) -> str:
    """Return the dialect in which a placeholder has the name of a table."""
    return NATIVE if text.startswith(_FOUND) else dialect


def has_placeholders(text: str) -> bool:
    """Return whether a printed query has names that are replaced later."""
    return _TABLE in text or _FOUND in text or "{{" in text


def tables_named(tree: exp.Expr) -> set[str]:
    """List the user's tables that a query names without a schema, in lower case."""
    given = [placed_table(node.name) for node in find_all(tree, exp.Table)]
    return {text.strip('"`').lower() for text in given if text and not is_reference(text)}
