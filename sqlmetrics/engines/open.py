"""Open the engine of an evaluator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.errors import UsageError

if TYPE_CHECKING:
    import duckdb

    from sqlmetrics.engines.base import EmbeddedEngine, Engine, Watch


def open_engine(
    engine: Any,
    connection: duckdb.DuckDBPyConnection | None,
    threads: int | None,
    memory_limit: str | None,
    temp_directory: str | Path | None,
    temp_limit: str | None,
    watch: Watch | None,
) -> Engine:
    """Open the engine: the given Spark session or, without one, DuckDB.

    Raises:
        UsageError: `engine` is not a Spark session, or options of DuckDB are given for Spark.
    """
    if engine is None:
        return DuckDBEngine(
            connection,
            threads=threads,
            memory_limit=memory_limit,
            temp_directory=temp_directory,
            temp_limit=temp_limit,
            watch=watch,
        )
    from sqlmetrics.engines.spark import SparkEngine, is_session

    if not is_session(engine):
        raise UsageError(f"engine must be a SparkSession, or None for DuckDB, not {engine!r}")
    of_duckdb = {
        "connection": connection,
        "threads": threads,
        "memory_limit": memory_limit,
        "temp_limit": temp_limit,
    }
    if given := [name for name, value in of_duckdb.items() if value is not None]:
        raise UsageError(
            f"{' and '.join(given)} apply only to DuckDB; configure memory and processors of "
            "Spark in its session"
        )
    return SparkEngine(engine, temp_directory)


def open_embedded(**limits: Any) -> EmbeddedEngine:
    """Open a DuckDB engine with its own connection; `limits` are options of `Evaluator`."""
    return DuckDBEngine(**limits)


def open_session(master: str | None) -> Any:
    """Start Spark or connect to a Spark server.

    Raises:
        UsageError: Spark cannot be started.
    """
    from sqlmetrics.engines import spark

    return spark.open_session(master)
