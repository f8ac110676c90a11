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
PRINTED_AS = {"datafusion": "postgres"}  # name of the dialect in sqlglot
# \ escapes the next character of a text literal
_ESCAPES = ("spark", "databricks", "snowflake", "bigquery", "clickhouse", "redshift")
# ORDER BY (DataFusion, Trino) or GROUP BY (ClickHouse) tell -0.0 from 0.0
SIGNED_ZEROS = ("trino", "athena", "clickhouse", "datafusion")
# without these settings, ClickHouse fills unmatched rows of a LEFT JOIN with 0 instead of NULL,
# returns 0 for sums without rows, lets an alias hide a column, and stops optimising long plans
_SETTINGS = {
    "clickhouse": {
        "join_use_nulls": 1,
        "group_by_use_nulls": 1,
        "aggregate_functions_null_for_empty": 1,
        "least_greatest_legacy_null_behavior": 0,
        "prefer_column_name_to_alias": 1,
        "query_plan_max_optimizations_to_apply": 1000000,
    }
}


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


def settings(dialect: str) -> str:
    """Return the SETTINGS clause that a dialect needs for correct results."""
    chosen = ", ".join(f"{name} = {value}" for name, value in _SETTINGS.get(dialect, {}).items())
    return f"SETTINGS {chosen}" if chosen else ""


def keeps_materialized(dialect: str) -> bool:
    """Return whether the dialect supports `WITH x AS MATERIALIZED`."""
    return dialect in (NATIVE, "postgres")


def has_escapes(dialect: str) -> bool:
    """Return whether a backslash in a text literal escapes the next character."""
    return dialect in _ESCAPES
