"""Runs plans on DuckDB, embedded in this process."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import duckdb

from sqlmetrics.errors import (
    DataError,
    EngineError,
    TemplateError,
    UnreadableError,
    UsageError,
)
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
            if not hasattr(connection, "execute"):
                raise UsageError(
                    f"connection is an open DuckDB connection, not {connection!r}; open it with "
                    "duckdb.connect()"
                )
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
        self._closed = False

    # ---- inputs --------------------------------------------------------------------------------

    def bind(self, name: str, table: Any) -> str:
        """Make an Arrow object readable as a table; returns the name to use in SQL."""
        while name in self._bound or self.find_table(name) is not None:
            name += "_"
        self._bound[name] = table
        if self.owned:
            self.connection.register(name, table)
        return name

    def spool(self, stream: IO[bytes]) -> Path:
        """Copy a stream to a temporary file, which `close` removes."""
        if self._files:
            raise UsageError("stdin (-) can be read once only")
        handle, name = tempfile.mkstemp(prefix="sqlmetrics-")
        self._files.append(Path(name))
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(stream, file)
        return Path(name)

    def shown(self, path: str) -> str:
        """Name a file in a message."""
        return "stdin" if Path(path) in self._files else path

    def describe(self, relation: str, label: str) -> dict[str, str]:
        """Return the columns of a relation and their types, without reading its rows.

        Raises:
            DataError: the relation cannot be read.
        """
        rows = self.query(f"DESCRIBE FROM {relation}", label)
        return {row["column_name"]: row["column_type"] for row in rows}

    def query(self, statement: str, label: str) -> list[dict[str, Any]]:
        """Run a query about a source; `label` names the source where it cannot be read.

        Raises:
            DataError: the source cannot be read.
        """
        with self._registered():
            try:
                return _records(self.connection.execute(statement))
            except duckdb.Error as error:
                raise DataError(f"{label} cannot be read: {_reason(error)}") from error

    def find_table(self, name: str) -> str | None:
        """Find a table or view of a connection that was passed in; returns its full name, quoted.

        `name` may be the bare name, or have a schema or a database and schema before it.
        """
        if self.owned:
            return None
        try:
            rows = self.connection.execute(
                "SELECT database_name, schema_name, table_name FROM duckdb_tables() UNION ALL "
                "SELECT database_name, schema_name, view_name FROM duckdb_views()"
            ).fetchall()
            current = self.connection.execute(
                "SELECT current_database(), current_schema()"
            ).fetchall()[0]
        except duckdb.Error as error:
            raise UsageError(f"the connection cannot be used: {_reason(error)}") from error
        quoted = re.findall(r'"((?:[^"]|"")*)"|([^."]+)', name)
        parts = [inner.replace('""', '"') or plain for inner, plain in quoted]
        lowered = [part.lower() for part in parts]

        def likeness(row: tuple[str, str, str]) -> int | None:
            """Rank the ways in which a table can be meant by the name; None if it is not."""
            path = list(row)
            if path[-1] == name:
                return 0
            for rank, wanted in ((1, parts), (2, lowered)):
                have = path if rank == 1 else [part.lower() for part in path]
                short = [have[0], have[2]] if have[1] == "main" else None  # database.table
                if have[-len(wanted) :] == wanted or short == wanted:
                    return rank
            return None

        matches = [(rank, row) for row in rows if (rank := likeness(row)) is not None]
        if not matches:
            return None
        _, best = min(matches, key=lambda m: (m[0], m[1][0] != "temp", m[1][:2] != current))
        return ".".join(identifier(part) for part in best)

    # ---- running -------------------------------------------------------------------------------

    def records(self, plan: Plan) -> list[dict[str, Any]]:
        """Run a plan with a small result and return its rows."""
        with self._prepared(plan) as statement:
            return self._watched(
                plan.root.name, lambda: _records(self.connection.execute(statement))
            )

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
            try:
                for name, table in self._bound.items():
                    self.connection.register(name, table)
                    names.append(name)
            except duckdb.Error as error:
                raise UsageError(
                    f"the connection cannot be used now (is a result of it still open, or is it "
                    f"closed?): {_reason(error)}"
                ) from error
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
        if self._closed:
            raise UsageError("the evaluator is closed")
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
            except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
                raise UnreadableError(_reason(error)) from error
            except (duckdb.BinderException, duckdb.CatalogException) as error:
                raise TemplateError(f"the query for {title} is wrong: {_reason(error)}") from error
            except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
                raise EngineError(
                    f"the engine stopped while computing {title}: {_reason(error)}"
                ) from error
            except duckdb.Error as error:
                raise EngineError(
                    f"the engine refused the query for {title}: {_reason(error)}"
                ) from error

    def close(self) -> None:
        """Close our own connection and remove temporary files."""
        self._closed = True
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
        if not isinstance(threads, int) or threads < 1:
            raise UsageError(f"threads must be a positive whole number, not {threads!r}")
        config["threads"] = threads
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    if temp_directory is not None:
        config["temp_directory"] = str(temp_directory)
    try:
        connection = duckdb.connect(config=config)
    except duckdb.Error as error:
        given = ", ".join(f"{name} {value!r}" for name, value in config.items())
        raise UsageError(f"the engine cannot be set up with {given}: {_reason(error)}") from error
    # rows are ordered where a query says so and nowhere else
    connection.execute("SET preserve_insertion_order = false")
    return connection


def _records(result: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def _reason(error: Exception) -> str:
    """Return the engine's message in one line, without its hints on how to configure it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept: list[str] = []
    for line in lines or [type(error).__name__]:
        if line.startswith(("LINE ", "Possible ", "* ", "Candidate ", "file =", "^")):
            break
        kept.append(line)
    return re.sub(r"^([A-Z][a-z]+ )+Error: ", "", " ".join(kept))[:400]
