"""Tables of DuckDB files and queries as sources: `shop.duckdb:recs`, `SELECT …`."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import replace

import duckdb
import sqlglot
from sqlglot import errors, exp

from sqlmetrics.engines.base import EmbeddedEngine
from sqlmetrics.engines.database_files import is_query, split
from sqlmetrics.engines.duckdb_errors import reason
from sqlmetrics.engines.relation import Relation
from sqlmetrics.errors import DataError, UnreadableError, UsageError, suggestion
from sqlmetrics.sql.quoting import identifier, literal
from sqlmetrics.texts.wording import and_more

_RESERVED = {"memory", "temp", "system", "main"}  # names of databases and schemas in DuckDB


def relation(engine: EmbeddedEngine, label: str, text: str) -> Relation | None:
    """Read a table of a DuckDB file or a query; None for other sources.

    Raises:
        DataError: the file cannot be opened, has no such table, or the query fails.
        UsageError: the engine has a connection of the user, or the query is not one SELECT.
    """
    parts = split(text)
    if parts is None:
        return _query(engine, label, text, None) if is_query(text) else None
    path, name = parts
    if not engine.owned:
        raise UsageError(
            f"{label}: {path} cannot be opened in your connection",
            remedy="attach the file to the connection, and give the name of the table",
        )
    database = _attached(engine, label, path)
    if is_query(name):
        return _query(engine, label, name, database)
    return _table(engine, label, path, database, name)


def _attached(engine: EmbeddedEngine, label: str, path: str) -> str:
    """Attach a DuckDB file once, for reading only, and return the name of the database."""
    real = os.path.realpath(path)
    if real not in engine.databases:
        stem = re.sub(r"[^a-z0-9_]+", "_", os.path.basename(path).partition(".")[0].lower())
        name = stem or "database"
        while name in _RESERVED | {*engine.databases.values()}:
            name += "_"
        try:
            engine.connection.execute(f"ATTACH {literal(real)} AS {identifier(name)} (READ_ONLY)")
        except duckdb.Error as error:
            raise DataError(f"{label}: {path} cannot be opened: {reason(error)}") from error
        engine.databases[real] = name
    return engine.databases[real]


def _tables(connection: duckdb.DuckDBPyConnection, database: str) -> dict[str, tuple[str, str]]:
    """Return the tables and views of a database: the name to type -> schema and name."""
    rows = connection.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $name "
        "UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
        "WHERE database_name = $name AND NOT internal ORDER BY ALL",
        {"name": database},
    ).fetchall()
    return {
        (table if schema == "main" else f"{schema}.{table}"): (schema, table)
        for schema, table in rows
    }


def _table(engine: EmbeddedEngine, label: str, path: str, database: str, name: str) -> Relation:
    if not name:
        known = _tables(engine.connection, database)
        raise DataError(
            f"{label}: {path} is a DuckDB database. {_there(known)}",
            remedy=f"name one of its tables: {path}:TABLE",
        )
    found = find_table(engine.connection, database, name, path, label)
    full = ".".join(map(identifier, (database, *found)))
    shown, watched = f"{path}:{name}", [os.path.abspath(path)]
    try:
        types = engine.describe(full, label)
    except UnreadableError as error:
        if "does not exist" not in error.reason:
            raise
        # a view of another schema than main that names tables without their schema
        rows = _query(engine, label, f"FROM {'.'.join(map(identifier, found))}", database)
        return replace(rows, label=shown, watched=watched, format="duckdb")
    return Relation(full, types, shown, watched=watched, format="duckdb")


def find_table(
    connection: duckdb.DuckDBPyConnection, database: str, name: str, where: str, label: str
) -> tuple[str, str]:
    """Return the schema and the name of a table or view, by its name or by schema and name.

    Args:
        connection: the connection that the database is attached to.
        database: its name there.
        name: the name that the user gave.
        where, label: the database and the table, for messages.

    Raises:
        DataError: there is no such table.
    """
    known = _tables(connection, database)
    names = {**{".".join(parts): parts for parts in known.values()}, **known}
    found = next((names[n] for n in names if n.lower() == name.lower()), None)
    if found is None:
        close = suggestion(name, known) or "."
        raise DataError(f"{label}: {where} has no table {name!r}{close} {_there(known)}")
    return found


def _there(known: Collection[str]) -> str:
    return f"It has {and_more(list(known), 10)}" if known else "It has no tables"


def _query(engine: EmbeddedEngine, label: str, query: str, database: str | None) -> Relation:
    """Run a query once and keep its rows."""
    text = query.strip().rstrip(";").rstrip()
    shown = "the query " + (text if len(text) <= 60 else text[:60] + "…")
    if not engine.owned:
        raise UsageError(
            f"{label}: {shown} cannot run in your connection",
            remedy="pass the relation: connection.sql(query)",
        )
    try:
        statements = engine.connection.extract_statements(text)
    except duckdb.Error as error:
        raise DataError(f"{label}: {shown}: {reason(error)}") from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError(f"{label}: {shown} is not one SELECT; write a single query")
    name = "sqlmetrics_query_of_" + re.sub(r"[^a-z0-9]+", "_", label.lower())
    while name in engine.queries:
        name += "_"
    if database is not None:
        engine.connection.execute(f"USE {identifier(database)}")
    try:
        engine.query(f"CREATE TEMP TABLE {name} AS {text}", shown)
    except DataError as error:
        raise DataError(f"{label}: ", error) from error
    finally:
        engine.connection.execute("USE memory")
    printed = (
        text
        if database is None
        else _qualified(text, database, _tables(engine.connection, database))
    )
    engine.queries[name] = f"({printed}\n)"  # the query may end in a comment
    return Relation(name, engine.describe(name, shown), shown, format="query")


def _qualified(query: str, database: str, known: Mapping[str, tuple[str, str]]) -> str:
    """Return a query whose tables have the name of their database, as far as it can be parsed.

    In a printed statement, a table name alone could mean a relation of the statement.
    """
    try:
        tree = sqlglot.parse_one(query, dialect="duckdb")
    except errors.SqlglotError:
        return query
    names = {name.lower(): where for name, where in known.items()}
    within = {cte.alias_or_name.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        where = names.get(table.name.lower())
        if where is not None and not table.db and table.name.lower() not in within:
            for part, value in zip(("catalog", "db"), (database, where[0]), strict=True):
                table.set(part, exp.to_identifier(value, quoted=identifier(value) != value))
    return tree.sql("duckdb")
