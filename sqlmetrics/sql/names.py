"""Names of tables, CTEs and columns in the text of queries, before and after printing."""

from __future__ import annotations

import re

from sqlglot import exp

from sqlmetrics.sql.dialects import NATIVE, PRINTED_AS
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.trees import find_all

_TABLE = "table of the user: "  # prefix of a user's table name until it is printed
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


def placed_table(text: str) -> str:
    """Return the name of the user's table for which a text is the placeholder, or an empty text."""
    return text.removeprefix(_TABLE) if text.startswith(_TABLE) else ""


def has_placeholders(text: str) -> bool:
    """Return whether a printed query has names that are replaced later."""
    return _TABLE in text or "{{" in text


def tables_named(tree: exp.Expr) -> set[str]:
    """List the user's tables that a query names without a schema, in lower case."""
    given = [placed_table(node.name) for node in find_all(tree, exp.Table)]
    return {text.strip('"`').lower() for text in given if text and not is_reference(text)}
