"""Runs plans on DuckDB, embedded in this process."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import duckdb

from sqlmetrics.errors import DataError, EngineError, UsageError
from sqlmetrics.graph import Plan
from sqlmetrics.render import identifier, literal

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# shows progress: called several times a second with what is being computed, the share of it that
# is done (0 to 1), and the seconds it has taken so far
Watch = Callable[[str, float, float], None]

_POLL = 0.2  # seconds
_T = TypeVar("_T")


class DuckDBEngine:
    """A DuckDB connection that runs plans and keeps the small intermediate relations.

    Without `connection` it opens one of its own, in memory, to which `threads`, `memory_limit`
    and `temp_directory` apply. A connection that is passed in is left as it was found.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection | None = None,
        *,
        threads: int | None = None,
        memory_limit: str | None = None,
        temp_directory: str | Path | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.owned = connection is None
        if connection is not None:
            if threads or memory_limit or temp_directory:
                raise UsageError(
                    "threads, memory_limit and temp_directory belong to a connection of our own; "
                    "set them on the connection that you pass in"
                )
            self.connection = connection
        else:
            self.connection = _open(threads, memory_limit, temp_directory)
        self._watch = watch
        if self.owned and watch is not None:
            self.connection.execute("SET enable_progress_bar = true")
            self.connection.execute("SET enable_progress_bar_print = false")
        self._bound: dict[str, Any] = {}  # name -> Arrow object, registered while we run
        self._kept: dict[str, str] = {}  # identity of a node -> name of its table
        self._files: list[Path] = []

    # ---- inputs --------------------------------------------------------------------------------

    def bind(self, name: str, table: Any) -> str:
        """Make an Arrow object readable as a table; returns the name to use in SQL."""
        while name in self._bound:
            name += "_"
        self._bound[name] = table
        if self.owned:
            self.connection.register(name, table)
        return name

    def spool(self, stream: IO[bytes]) -> Path:
        """Copy a stream to a temporary file, which `close` removes."""
        handle, name = tempfile.mkstemp(prefix="sqlmetrics-")
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(stream, file)
        self._files.append(Path(name))
        return Path(name)

    def describe(self, relation: str, label: str) -> dict[str, str]:
        """Return the columns of a relation and their types, without reading its rows.

        Raises:
            DataError: the relation cannot be read.
        """
        with self._registered():
            try:
                rows = self.connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
            except duckdb.Error as error:
                raise DataError(f"{label} cannot be read: {_first_line(error)}") from error
        return {row[0]: row[1] for row in rows}

    def find_table(self, name: str) -> str | None:
        """Find a table or view of the connection; returns its full name, quoted."""
        if self.owned:
            return None
        parts = name.replace('"', "").split(".")
        rows = self.connection.execute(
            "SELECT database_name, schema_name, table_name FROM duckdb_tables() UNION ALL "
            "SELECT database_name, schema_name, view_name FROM duckdb_views()"
        ).fetchall()
        matches = [row for row in rows if list(row)[-len(parts) :] == parts]
        current = self.connection.execute("SELECT current_database(), current_schema()").fetchone()
        matches.sort(key=lambda row: (row[0] != "temp", row[:2] != current))
        return ".".join(identifier(part) for part in matches[0]) if matches else None

    # ---- running -------------------------------------------------------------------------------

    def records(self, plan: Plan) -> list[dict[str, Any]]:
        """Run a plan with a small result and return its rows."""
        with self._prepared(plan) as statement:
            result = self._run(plan.root.name, statement)
            names = [column[0] for column in result.description or ()]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def frame(self, plan: Plan) -> pd.DataFrame:
        """Run a plan and return its rows as a DataFrame."""
        with self._prepared(plan) as statement:
            table = self._arrow(plan.root.name, statement)
        frame: pd.DataFrame = table.to_pandas()
        counts = [name for name in ("k", "n_users") if name in frame.columns]
        return frame.astype(dict.fromkeys(counts, "Int64"))

    def write_parquet(self, plan: Plan, path: Path) -> None:
        """Run a plan and write its rows to a new Parquet file."""
        with self._prepared(plan) as statement:
            target = literal(str(path))
            self._run(plan.root.name, f"COPY ({statement}) TO {target} (FORMAT parquet)")

    def kept(self) -> Mapping[str, str]:
        """Return the intermediate relations that are kept: identity -> table."""
        return self._kept

    @contextlib.contextmanager
    def _prepared(self, plan: Plan) -> Iterator[str]:
        """Compute what the result reads, and hand out the statement of the result itself."""
        with self._registered():
            passing: list[str] = []
            tables = dict(self._kept)
            try:
                for node in plan.barriers(tables):
                    statement = Plan(node).statement(tables, pretty=False)
                    self._materialise(node.key, node.name, statement)
                    tables[node.key] = node.key
                    if node.keep:
                        self._kept[node.key] = node.key
                    else:
                        passing.append(node.key)
                yield plan.statement(tables, pretty=False)
            finally:
                for name in passing:
                    self._drop(name)

    def _materialise(self, name: str, title: str, statement: str) -> None:
        if self.owned:
            self._run(title, f"CREATE TEMP TABLE {name} AS {statement}")
        else:  # nothing is created in a connection that is not ours
            self._bound[name] = self._arrow(title, statement)
            self.connection.register(name, self._bound[name])

    def _drop(self, name: str) -> None:
        if self.owned:
            with contextlib.suppress(duckdb.Error):
                self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        else:
            self.connection.unregister(name)
            del self._bound[name]

    @contextlib.contextmanager
    def _registered(self) -> Iterator[None]:
        """Show our Arrow tables to a connection that is not ours, only while we run."""
        if self.owned:
            yield
            return
        names: list[str] = []
        try:
            for name, table in self._bound.items():
                self.connection.register(name, table)
                names.append(name)
            yield
        finally:
            for name in {*names, *self._bound}:
                with contextlib.suppress(duckdb.Error):
                    self.connection.unregister(name)

    def _run(self, title: str, statement: str) -> duckdb.DuckDBPyConnection:
        return self._watched(title, lambda: self.connection.execute(statement))

    def _arrow(self, title: str, statement: str) -> pa.Table:
        return self._watched(title, lambda: self.connection.sql(statement).to_arrow_table())

    def _watched(self, title: str, work: Callable[[], _T]) -> _T:
        """Run in a second thread, so that this one can show progress and take an interrupt.

        Raises:
            KeyboardInterrupt: after the engine has stopped.
            EngineError: what the engine raised, in our words.
        """
        started = time.monotonic()
        with ThreadPoolExecutor(max_workers=1) as pool:
            future = pool.submit(work)
            try:
                while True:
                    try:
                        return future.result(timeout=_POLL)
                    except TimeoutError:
                        if future.done():
                            raise
                        if self._watch is not None:
                            share = self.connection.query_progress() / 100
                            self._watch(title, max(share, 0.0), time.monotonic() - started)
            except KeyboardInterrupt:
                while not future.done():
                    self.connection.interrupt()
                    time.sleep(0.05)
                raise
            except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
                raise EngineError(
                    f"the engine stopped while computing {title}: {_first_line(error)}"
                ) from error
            except duckdb.Error as error:
                raise EngineError(
                    f"the engine refused the query for {title}: {_first_line(error)}"
                ) from error

    def close(self) -> None:
        """Close our own connection and remove temporary files."""
        self._kept.clear()
        self._bound.clear()
        if self.owned:
            self.connection.close()
        for path in self._files:
            path.unlink(missing_ok=True)
        self._files.clear()


def _open(
    threads: int | None, memory_limit: str | None, temp_directory: str | Path | None
) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {}
    if threads is not None:
        if threads < 1:
            raise UsageError(f"threads must be a positive whole number, not {threads}")
        config["threads"] = threads
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    if temp_directory is not None:
        config["temp_directory"] = str(temp_directory)
    try:
        connection = duckdb.connect(config=config)
    except duckdb.Error as error:
        raise UsageError(f"the engine cannot be set up so: {_first_line(error)}") from error
    # rows are ordered where a query says so and nowhere else
    connection.execute("SET preserve_insertion_order = false")
    return connection


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
