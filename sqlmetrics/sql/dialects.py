"""The dialects for which sqlmetrics prints statements."""

from __future__ import annotations

from typing import Literal, get_args

from sqlmetrics.errors import UsageError, suggestion

NATIVE = "duckdb"
Dialect = Literal[
    "duckdb", "spark", "databricks", "snowflake", "bigquery", "trino", "athena", "clickhouse",
    "postgres", "redshift", "datafusion",
]  # fmt: skip
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)


def checked(dialect: str) -> str:
    """Return the canonical name of a dialect.

    Raises:
        UsageError: the dialect is unknown.
    """
    known = str(dialect).strip().lower()
    if known not in DIALECTS:
        raise UsageError(
            f"unknown dialect {dialect!r}{suggestion(known, DIALECTS)}; "
            f"choose one of {', '.join(DIALECTS)}"
        )
    return known
