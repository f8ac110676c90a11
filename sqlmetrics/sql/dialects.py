"""Systems for which sqlmetrics prints statements."""

from __future__ import annotations

from sqlmetrics.errors import UsageError, suggestion

NATIVE = "duckdb"
DIALECTS = (
    "duckdb", "spark", "databricks", "snowflake", "bigquery", "trino", "athena", "clickhouse",
    "postgres", "redshift", "datafusion",
)  # fmt: skip


def checked(dialect: str) -> str:
    """Return the name of a dialect as it is known here.

    Raises:
        UsageError: there is no such dialect.
    """
    known = str(dialect).strip().lower()
    if known not in DIALECTS:
        raise UsageError(
            f"unknown dialect {dialect!r}{suggestion(known, DIALECTS)}; "
            f"there are {', '.join(DIALECTS)}"
        )
    return known
