"""Open the engine of an evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.errors import UsageError
from sqlmetrics.texts.messages import Argument

_OF_DUCKDB = ("connection", "threads", "memory_limit", "temp_limit")


def open_engine(given: Mapping[str, Any]) -> Engine:
    """Open the engine: the given Spark session or database or, without one, DuckDB.

    Args:
        given: the arguments of `Evaluator`, by name.

    Raises:
        UsageError: `engine` is neither a Spark session nor a database, `dialect` is not that of the
            database, or options of DuckDB are given for another engine.
        EngineError: the connection to the database cannot be made.
    """
    engine, dialect, temp_directory = given["engine"], given["dialect"], given["temp_directory"]
    of_duckdb = {name: given[name] for name in _OF_DUCKDB}
    if engine is None:
        if dialect is not None:
            raise UsageError(
                "dialect applies only to a connection given as engine; remove it. To print a "
                "statement in another dialect, use sql(…, dialect=…)"
            )
        return DuckDBEngine(**of_duckdb, temp_directory=temp_directory, watch=given["watch"])
    from sqlmetrics.engines import spark

    is_session = spark.is_session(engine)
    where = "in its session" if is_session else "on its server"
    name = "Spark" if is_session else "a database"
    if refused := [name for name, value in of_duckdb.items() if value is not None]:
        raise UsageError(
            f"{' and '.join(refused)} apply only to DuckDB; configure memory and processors of "
            f"{name} {where}"
        )
    if not is_session:
        return _database(engine, dialect, temp_directory)
    if dialect not in (None, "spark"):
        raise UsageError(f"dialect: the SQL of a Spark session is spark, not {dialect!r}")
    return spark.SparkEngine(engine, temp_directory)


def _database(engine: Any, dialect: str | None, temp_directory: str | Path | None) -> Engine:
    from sqlmetrics.engines.connection import connected, opened
    from sqlmetrics.engines.database_systems import SYSTEMS
    from sqlmetrics.engines.database_urls import BEGINNINGS, EXPORT, is_url, shown
    from sqlmetrics.sql.dialects import checked

    wanted = None if dialect is None else checked(dialect)
    if wanted is not None and wanted not in SYSTEMS:
        raise _untested(wanted)
    engine = engine.strip() if isinstance(engine, str) else engine
    if isinstance(engine, str) and not is_url(engine):
        raise UsageError(
            f"engine: {shown(engine)} is neither a SparkSession nor a connection to a database or "
            f"its URL, which begins with {BEGINNINGS}",
            remedy=EXPORT,
        )
    if temp_directory is not None:
        raise UsageError(Argument("temp_directory"), " applies only to DuckDB and Spark; remove it")
    is_text = isinstance(engine, str)
    connection = connected(engine, wanted) if is_text else opened(engine, wanted)
    if connection is None:
        raise UsageError(
            "engine must be a SparkSession, a connection to a database or its URL, or None for "
            f"DuckDB, not {engine!r}"
        )
    from sqlmetrics.engines.database import DatabaseEngine

    try:
        if connection.dialect not in SYSTEMS:
            raise _untested(connection.dialect)
        if wanted not in (None, connection.dialect):
            raise UsageError(
                f"dialect: the SQL of this connection is {connection.dialect}, not {wanted!r}; "
                "remove dialect"
            )
        return DatabaseEngine(connection)
    except BaseException:
        connection.close()
        raise


def _untested(dialect: str) -> UsageError:
    from sqlmetrics.engines.database_dialects import print_instead
    from sqlmetrics.engines.database_urls import EXPORT
    from sqlmetrics.sql.dialects import DIALECTS

    return UsageError(
        f"engine: sqlmetrics does not run statements in {dialect or 'this system'}, because no "
        "test runs statements there",
        remedy=print_instead(dialect) if dialect in DIALECTS else EXPORT,
    )


def open_session(master: str | None) -> Any:
    """Start Spark or connect to a Spark server.

    Raises:
        UsageError: Spark cannot be started.
    """
    from sqlmetrics.engines import spark

    return spark.open_session(master)
