"""The state of a connection of the caller, in which a run may leave nothing."""

from __future__ import annotations

from typing import Any

import duckdb

QUERIES = [
    "SELECT database_name, schema_name, table_name FROM duckdb_tables()",
    "SELECT database_name, schema_name, view_name, temporary, sql FROM duckdb_views()",
    "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal",
    "SELECT name, value FROM duckdb_settings()",
    "SELECT function_name FROM duckdb_functions() WHERE NOT internal",
    "SELECT schema_name FROM duckdb_schemas()",
    "SELECT database_name FROM duckdb_databases()",
    "SELECT type_name FROM duckdb_types() WHERE NOT internal",
    "SELECT name FROM duckdb_prepared_statements()",
]


def state(connection: duckdb.DuckDBPyConnection, *tables: str) -> list[Any]:
    """List all that a connection has, and the rows of some of its tables."""
    queries = [*QUERIES, *(f"FROM {table}" for table in tables)]
    return [sorted(connection.execute(query).fetchall(), key=repr) for query in queries]
