"""Runs plans on DuckDB, embedded in this process."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, TypeVar

import duckdb

from sqlmetrics.engines.base import Watch
from sqlmetrics.engines.duckdb_errors import (
    Shortage,
    execute,
    has_zoned_times,
    may_be_damage,
    not_written,
    reason,
    reason_alone,
    shortage,
)
from sqlmetrics.errors import (
    DataError,
    EngineError,
    QueryError,
    SqlmetricsError,
    UnreadableError,
    UsageError,
)
from sqlmetrics.files import (
    PREFIX,
    OwnFolder,
    check_can_be_made,
    check_not_read,
    existing,
    move,
    whole_file,
)
from sqlmetrics.messages import Argument, Message
from sqlmetrics.rows import COUNT, NUMBER, TEXT, Rows
from sqlmetrics.sql.dialects import NATIVE
from sqlmetrics.sql.query_graph import Node, Plan, barriers
from sqlmetrics.sql.quoting import identifier, literal, path_of_pattern, path_pattern
from sqlmetrics.sql.templates import environment

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from sqlmetrics.engines.relation import Relation


_POLL = 0.2  # seconds
# DuckDB 2.0 splits a window over a Parquet file into ranges of the whole file, each of which scans
# anew what a filter leaves of it: 100 instead of 9 CPU seconds for a 23rd of a billion rows
_WITHOUT = "partitioned_execution"
_UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]
_PARTITIONS = Message(
    "split the users into more partitions with ", Argument("partitions", ...), "; fewer ",
    Argument("threads"), " need less memory too",
)  # fmt: skip
# remedies by the limit that was reached
_MORE = {
    Shortage.TEMPORARY_FILES: Message(
        "raise the limit with ", Argument("temp_limit"), ", name a directory on a larger disk ",
        "with ", Argument("temp_directory"), ", or raise ", Argument("memory_limit"),
    ),
    Shortage.SYSTEM_MEMORY: Message(
        "give the engine less with ", Argument("memory_limit"), ", or ", _PARTITIONS
    ),
    Shortage.MEMORY_LIMIT: Message("raise ", Argument("memory_limit"), ", or ", _PARTITIONS),
}  # fmt: skip
_LARGER_DISK = Message("name a folder on a larger disk with ", Argument("temp_directory"))
_T = TypeVar("_T")
_Stamp: TypeAlias = tuple[int, ...]


class DuckDBEngine:
    """A DuckDB connection that runs plans and keeps the small intermediate relations.

    Without `connection` it opens one of its own, in memory, to which `threads`, `memory_limit`,
    `temp_directory` and `temp_limit` apply; once it is locked, it reaches the files of the tables
    and a folder of our own, nothing else. A connection that is passed in is left as it was found.
    """

    dialect = NATIVE
    fetches_users = True
    catalog = None
    version = duckdb.__version__

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection | None = None,
        *,
        threads: int | None = None,
        memory_limit: str | None = None,
        temp_directory: str | Path | None = None,
        temp_limit: str | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.owned = connection is None
        if connection is not None:
            if not hasattr(connection, "execute"):
                raise UsageError(
                    f"connection is an open DuckDB connection, not {connection!r}; open it with "
                    "duckdb.connect()"
                )
            if threads or memory_limit or temp_directory or temp_limit:
                raise UsageError(
                    "threads, memory_limit, temp_directory and temp_limit belong to a connection "
                    "of our own",
                    remedy="set them on the connection that you pass in",
                )
            self.connection = connection
        self._temp_directory = temp_directory
        # made when something runs
        self._temporary = _own_folder(temp_directory) if self.owned else OwnFolder()
        # also where it is not closed, but for a process that is killed
        self._removed = weakref.finalize(self, self._temporary.remove)
        if connection is None:
            self.connection = _open(threads, memory_limit, self._temporary.path, temp_limit)
        self._limit = memory_limit
        self._watch = watch
        self._part = ""
        if self.owned and watch is not None:
            execute(self.connection, "SET enable_progress_bar = true")
            execute(self.connection, "SET enable_progress_bar_print = false")
        self._bound: dict[str, Any] = {}  # name -> Arrow object, registered while we run
        self._kept: dict[str, str] = {}  # identity of a node -> name of its table
        self._files: list[Path] = []
        self._tables: dict[str, str] = {}  # path -> name of the table
        self._owners: dict[str, str] = {}  # the same, with files that the engine does not read
        self._stamps: dict[str, _Stamp | None] = {}  # path -> what tells a file from a later one
        self._locked = False
        self._closed = False

    @property
    def embedded(self) -> DuckDBEngine:
        """The engine itself."""
        return self

    # ---- memory --------------------------------------------------------------------------------

    def memory_limit(self) -> int:
        """Return how much memory the engine may use, in bytes."""
        query = "SELECT current_setting('memory_limit')"
        ((text,),) = self._fetch(query)
        number, unit = text.split()
        return int(float(number) * 1024 ** _UNITS.index(unit))

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Hand out an empty folder that is removed in the end."""
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=self._folder()) as name:
            yield Path(name)

    def _folder(self) -> Path:
        """Make the folder for temporary files, unless it is made; `close` removes it.

        Raises:
            UsageError: it cannot be made.
        """
        try:
            return self._temporary.make()
        except OSError as error:
            raise _no_folder(self._temp_directory, error) from error

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Run a part of something larger as long as it lasts; progress shows its name."""
        self._part = f", {name}"
        try:
            with contextlib.nullcontext() if self.owned else _simple_plans(self.connection):
                yield
        finally:
            self._part = ""

    # ---- inputs --------------------------------------------------------------------------------

    def relation(self, table: str, label: str, source: Any) -> Relation | None:  # noqa: ARG002
        """Read every source as `sources.py` does."""
        return None

    def lock(self, files: Mapping[str, str], watched: Mapping[str, str] | None = None) -> None:
        """Hold to the files of the tables as they are now: what changes from now on is refused.

        A connection of our own reaches no other files, but for the folder of our own, to which
        results go first. The engine cannot be unlocked, so this comes once all tables have been
        read: what that needs, such as extensions, is loaded by then.

        Args:
            files: the path of each -> the name of its table. Elsewhere (`s3://…`) it may have
                wildcards, which mean the folder before the first of them.
            watched: the same of files that others than the engine read.
        """
        self._tables = dict(files)
        self._owners = {**files, **(watched or {})}
        self._stamps = {path: _stamp(path) for path in self._owners if "://" not in path}
        if not self.owned:
            return
        own = str(self._temporary.path)
        folders = [own, path_pattern(own)]
        folders += filter(None, map(_before_wildcards, files))
        patterns = list(map(path_pattern, files))  # queries have these, the engine opens paths
        allowed = dict.fromkeys([*files, *patterns, *map(path_of_pattern, patterns)])
        execute(self.connection, f"SET allowed_paths = {literal(list(allowed))}")
        execute(self.connection, f"SET allowed_directories = {literal(folders)}")
        execute(self.connection, "SET enable_external_access = false")
        self._locked = True

    def check_files(self) -> None:
        """Check that the files of the tables are those that were there at the beginning.

        Raises:
            DataError: names one that is not; a result must not be of two versions of a table.
        """
        for path, before in self._stamps.items():
            now = _stamp(path)
            if now != before:
                what = "changed" if now else "is gone"
                raise DataError(
                    f"{self._owners[path]}: {self.shown(path)} {what} after it was read first, "
                    "and a result must be of one version of it",
                    table=self._owners[path],
                    remedy="run again, with a new Evaluator, once the file is there and whole",
                )

    def check_columns(
        self, table: str, relation: str, label: str, before: Mapping[str, str]
    ) -> None:
        """Check that a table of the connection still has the columns that queries were made for.

        Its rows may be others than before. `before`: the columns, and the types that they had.

        Raises:
            DataError: it is gone, or has others.
        """
        try:
            types = self.describe(relation, label)
        except DataError as error:
            cause = error.__cause__
            if not isinstance(cause, duckdb.CatalogException | duckdb.BinderException):
                raise
            why = reason_alone(cause)
            raise DataError(
                f"{table}: {label} was there when the Evaluator was made, and cannot be "
                f"read now: {why}",
                table=table,
                remedy="create it again, or make a new Evaluator",
            ) from error
        for column, kind in before.items():
            now = types.get(column)
            if now != kind:
                change = "is gone" if now is None else f"now holds {now}"
                raise DataError(
                    f"{table}: column {column} of {label} {change}. It held {kind} when "
                    "the Evaluator was made",
                    table=table,
                    column=column,
                    remedy="make a new Evaluator to read the table as it is now",
                )

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
        path = self._folder() / f"{PREFIX}stdin"
        self._files.append(path)
        try:
            with path.open("wb") as file:
                file.writelines(_chunks(stream))
        except OSError as error:
            raise DataError(
                f"stdin cannot be read to a temporary file, {path}: {error.strerror}",
                remedy=_LARGER_DISK,
            ) from error
        return path

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
            EngineError: the memory limit is too small for that.
        """
        with self._registered():
            try:
                return self.interruptible(lambda: _records(self.connection, statement))
            except duckdb.OutOfMemoryException as error:
                raise self._out_of_memory(f"reading {label}", error) from error
            except duckdb.Error as error:
                self.check_files()
                why = reason(error)
                raise UnreadableError(f"{label} cannot be read: {why}", reason=why) from error

    def find_table(self, name: str) -> str | None:
        """Find a table or view of a connection that was passed in; returns its full name, quoted.

        `name` may be the bare name, or have a schema or a database and schema before it.
        """
        if self.owned:
            return None
        try:
            rows = self._fetch(
                "SELECT database_name, schema_name, table_name FROM duckdb_tables() UNION ALL "
                "SELECT database_name, schema_name, view_name FROM duckdb_views()"
            )
            (current,) = self._fetch("SELECT current_database(), current_schema()")
        except duckdb.Error as error:
            raise UsageError(f"the connection cannot be used: {reason(error)}") from error
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

    def printed(self, relation: str) -> str:
        """Return the spelling of a relation in a statement that runs without sqlmetrics."""
        return relation

    # ---- running -------------------------------------------------------------------------------

    def records(self, plan: Plan) -> list[dict[str, Any]]:
        """Run a plan with a small result and return its rows."""
        with self._prepared(plan) as statement:
            return self._watched(plan.root.name, lambda: _records(self.connection, statement))

    def rows(self, plan: Plan) -> Rows:
        """Run a plan with a small result and return its rows, with the kinds of its columns."""
        with self._prepared(plan) as statement:
            return self._watched(plan.root.name, lambda: _rows(self.connection.execute(statement)))

    def frame(self, plan: Plan) -> pd.DataFrame:
        """Run a plan and return its rows as a DataFrame."""
        with self._prepared(plan) as statement:
            table = self._arrow(plan.root.name, statement)
        frame: pd.DataFrame = table.to_pandas()
        counts = [name for name in ("k", "n_users") if name in frame.columns]
        return frame.astype(dict.fromkeys(counts, "Int64"))

    def new_file(self, target: Path | str, force: bool) -> AbstractContextManager[Path]:
        """Return a temporary path, whose file takes the place of the target when it is complete.

        Raises:
            DataError: the file exists and `force` is not set, or its folder does not exist.
            UsageError: rows are read from it.
        """
        check_not_read(Path(target), self._tables)
        return whole_file(Path(target), force)

    def write_parquet(
        self,
        plan: Plan,
        target: Path | str,
        force: bool = False,  # noqa: ARG002
    ) -> None:
        """Run a plan and write its rows to the Parquet file that `new_file` handed out."""
        with self._prepared(plan) as statement, self._reachable(Path(target)) as path:
            self._copy(self._without_huge_integers(statement, plan.root.name), path, plan.root.name)

    def write_rows(self, plan: Plan, path: Path, rows_per_group: int | None = None) -> None:
        """Run a plan, whose columns have types of Parquet, and write its rows to a new file."""
        with self._prepared(plan) as statement, self._reachable(path) as reachable:
            self._copy(statement, reachable, plan.root.name, rows_per_group)

    def _copy(
        self, statement: str, path: Path, label: str, rows_per_group: int | None = None
    ) -> None:
        # the engine's own temporary file, beside the target, would stay behind after some errors
        how = "FORMAT parquet, USE_TMP_FILE false"
        how += f", ROW_GROUP_SIZE {rows_per_group}" if rows_per_group else ""
        self._run(label, f"COPY ({statement}) TO {literal(str(path))} ({how})")

    def _without_huge_integers(self, statement: str, label: str) -> str:
        """Return a query with decimals in place of its 128-bit integers.

        Parquet has no such integers: DuckDB would write doubles, and ids would lose digits.
        """
        rows = self._run(label, f"DESCRIBE {statement}").fetchall()
        huge = [str(name) for name, type_name, *_ in rows if type_name in ("HUGEINT", "UHUGEINT")]
        if not huge:
            return statement
        casts = ", ".join(
            f"CAST({identifier(name)} AS DECIMAL(38, 0)) AS {identifier(name)}" for name in huge
        )
        return f"SELECT * REPLACE ({casts}) FROM ({statement}) AS result"

    @contextlib.contextmanager
    def _reachable(self, target: Path) -> Iterator[Path]:
        """Hand out where the engine can write a file that is there: where it is locked, with us."""
        if not self._locked or self._temporary.path in target.parents:
            yield target
            return
        with self.scratch() as folder:
            path = folder / "result.parquet"
            yield path
            move(path, target)

    def check_comparisons(self) -> None:
        """Do nothing: DuckDB needs no further options."""

    def comparison(
        self,
        plan: Plan,
        of_users: Collection[Node],  # noqa: ARG002
        level: int,  # noqa: ARG002
    ) -> pd.DataFrame:
        """Run a plan that compares models."""
        return self.frame(plan)

    def adopt(self, key: str, folder: Path) -> int:
        """Read what a node returns from a folder of Parquet files; returns the number of rows."""
        files = literal(f"{path_pattern(str(folder))}/*.parquet")
        with self._registered():
            parts = f"read_parquet({files}, hive_partitioning = false)"
            execute(self.connection, f"CREATE VIEW {key} AS FROM {parts}")
            ((count,),) = self._fetch(f"SELECT count(*) FROM {key}")
        self._kept[key] = key
        return int(count)

    def kept(self) -> Mapping[str, str]:
        """Return the intermediate relations that are kept: identity -> table."""
        return self._kept

    def forget(self, identities: Iterable[str]) -> None:
        """Drop intermediate relations that are kept."""
        for key in identities:
            self._drop(self._kept.pop(key))

    @contextlib.contextmanager
    def holding(self, nodes: Sequence[Node]) -> Iterator[None]:
        """Compute nodes once for all plans that run as long as it lasts; then they are dropped."""
        before, wanted = set(self._kept), {node.key for node in nodes}
        self.check_files()
        self._folder()
        try:
            with self._registered():
                passing: list[str] = []
                try:
                    self._compute(barriers(nodes, self._kept), passing, wanted)
                finally:
                    for name in passing:
                        self._drop(name)
            yield
        finally:
            self.forget([key for key in wanted - before if key in self._kept])

    @contextlib.contextmanager
    def _prepared(self, plan: Plan) -> Iterator[str]:
        """Compute what the result reads, and hand out the statement of the result itself.

        Raises:
            DataError: a file changed meanwhile.
        """
        self.check_files()
        self._folder()  # the engine spills to it
        with self._registered():
            passing: list[str] = []
            try:
                tables = self._compute(plan.barriers(self._kept), passing)
                yield plan.statement(tables, pretty=False)
                self.check_files()
            finally:
                for name in passing:
                    self._drop(name)

    def _compute(
        self, nodes: Iterable[Node], passing: list[str], wanted: Collection[str] = ()
    ) -> dict[str, str]:
        """Compute nodes one after another; returns the tables that there are then.

        Those that are neither worth keeping nor `wanted` go to `passing`, to be dropped.
        """
        tables = dict(self._kept)
        for node in nodes:
            self._materialise(node.key, node.name, Plan(node).statement(tables, pretty=False))
            tables[node.key] = node.key
            if node.keep or node.key in wanted:
                self._kept[node.key] = node.key
            else:
                passing.append(node.key)
        return tables

    def _materialise(self, name: str, title: str, statement: str) -> None:
        if self.owned:
            self._run(
                title, f"CREATE OR REPLACE TEMP TABLE {name} AS {statement}"
            )  # an interrupt may come late
        else:  # nothing is created in a connection that is not ours
            self._bound[name] = self._arrow(title, statement)
            self.connection.register(name, self._bound[name])

    def _drop(self, name: str) -> None:
        if self.owned:
            with contextlib.suppress(duckdb.Error):
                execute(self.connection, f"DROP TABLE IF EXISTS {name}")
        else:
            with contextlib.suppress(duckdb.Error):  # as when its transaction was aborted
                self.connection.unregister(name)
            self._bound.pop(name, None)

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
                    f"closed?): {reason(error)}"
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
        """Run a query of a plan, and show progress.

        Raises:
            KeyboardInterrupt: after the engine has stopped.
            SqlmetricsError: what the engine raised, in our words.
        """
        started = time.monotonic()

        def show_progress() -> None:
            if self._watch is not None:
                share = self.connection.query_progress() / 100
                self._watch(f"{title}{self._part}", max(share, 0.0), time.monotonic() - started)

        try:
            return self.interruptible(work, show_progress)
        except duckdb.Error as error:
            raise self._explained(f"{title}{self._part}", error) from error

    def _explained(self, title: str, error: duckdb.Error) -> SqlmetricsError:
        """Say in our words why a query of a plan failed, and what to do.

        Raises:
            DataError: a file has changed, or is damaged.
        """
        why = reason(error)
        if isinstance(error, duckdb.PermissionException):
            return QueryError(
                f"the query for {title} may not do this: {why}. Queries read the tables that "
                "were given, and no other files",
                remedy=Message(
                    "give the file as one of them, or run in a DuckDB connection of your own (",
                    Argument("connection", ...), ")",
                ),
            )  # fmt: skip
        if isinstance(error, duckdb.BinderException | duckdb.CatalogException):
            self.check_files()  # its columns may have gone
            return QueryError(f"the query for {title} is wrong: {why}")
        if isinstance(error, duckdb.OutOfMemoryException):
            return self._out_of_memory(f"computing {title}", error)
        if full := not_written(error):
            folder = full.path.parent
            if self.owned and self._temporary.path in (folder, *folder.parents):
                folder = self._temporary.path.parent
            return EngineError(
                f"the engine stopped while computing {title}: what it writes does not fit into "
                f"{folder} ({full.reason})",
                remedy=Message(_LARGER_DISK, ", or make room there"),
            )
        self.check_files()
        unread = isinstance(error, duckdb.InvalidInputException | duckdb.ConversionException)
        if not unread or may_be_damage(error):
            self._check_readable()
        if unread:
            return UnreadableError(why)
        if isinstance(error, duckdb.IOException):
            return EngineError(f"the engine stopped while computing {title}: {why}")
        return EngineError(f"the engine refused the query for {title}: {why}")

    def _check_readable(self) -> None:
        """Look for a damaged file: the engine does not always say which one it could not read.

        Raises:
            DataError: names it.
        """
        template = environment().get_template("inputs/readable.sql.j2")
        connection = self.connection.cursor()  # in a transaction, the other one can do nothing now

        def read(path: str) -> None:
            connection.execute(template.render(files=[path])).fetchall()

        for path, table in self._tables.items():
            if _is_parquet(path):
                try:
                    self.interruptible(functools.partial(read, path), connection=connection)
                except duckdb.Error as error:
                    raise DataError(
                        f"{table}: {self.shown(path)} cannot be read, it is damaged "
                        f"({reason(error)})",
                        table=table,
                        remedy="export or copy it again",
                    ) from error

    def interruptible(
        self,
        work: Callable[[], _T],
        meanwhile: Callable[[], None] = lambda: None,
        connection: duckdb.DuckDBPyConnection | None = None,
    ) -> _T:
        """Run in a second thread, so that this one can take an interrupt; it stops the engine.

        In the main thread, DuckDB turns KeyboardInterrupt into a RuntimeError.
        """
        if self._closed:
            raise UsageError("the evaluator is closed")
        pool = ThreadPoolExecutor(max_workers=1)
        # an interrupt may come before we know the future: what has not begun must not begin then
        gate, stopped, begun, ended = threading.Lock(), *(threading.Event() for _ in range(3))

        def unless_stopped() -> _T:
            with gate:
                if stopped.is_set():
                    raise CancelledError
                begun.set()
            try:
                return work()
            finally:
                ended.set()

        try:
            future = pool.submit(unless_stopped)
            while not wait([future], timeout=_POLL).done:
                meanwhile()
            return future.result()
        finally:
            with gate:
                stopped.set()
            while begun.is_set() and not ended.is_set():
                with contextlib.suppress(KeyboardInterrupt):  # one was enough
                    (connection or self.connection).interrupt()
                    ended.wait(0.05)
            pool.shutdown(wait=False)

    def _fetch(self, statement: str) -> list[tuple[Any, ...]]:
        return self.interruptible(lambda: self.connection.execute(statement).fetchall())

    def _out_of_memory(self, what: str, error: duckdb.OutOfMemoryException) -> EngineError:
        """Say which limit was met, of memory or of the disk, and what to do.

        `what`: was being done.
        """
        limit = "memory limit" + (f" of {self._limit}" if self._limit else "")
        why = reason_alone(error)
        kind = shortage(error)
        reasons = {
            Shortage.TEMPORARY_FILES: f"its temporary files reached their limit ({why})",
            Shortage.SYSTEM_MEMORY: f"the system gave it no more memory, below its {limit} ({why})",
            Shortage.MEMORY_LIMIT: f"its {limit} is too small ({why})",
        }
        return EngineError(f"the engine stopped while {what}: {reasons[kind]}", remedy=_MORE[kind])

    def close(self) -> None:
        """Close our own connection and remove temporary files."""
        self._closed = True
        self._kept.clear()
        self._bound.clear()
        if self.owned:
            self.connection.close()
        self._temporary.remove()
        self._removed.detach()
        self._files.clear()


def _own_folder(temp_directory: str | Path | None) -> OwnFolder:
    """Choose a folder of our own, in the one that was named or in the system's.

    Raises:
        UsageError: it could not be made.
    """
    try:
        folder = OwnFolder(temp_directory)
        check_can_be_made(folder.path.parent)
    except OSError as error:
        raise _no_folder(temp_directory, error) from error
    return folder


def _no_folder(temp_directory: str | Path | None, error: OSError) -> UsageError:
    return UsageError(f"temp_directory {temp_directory}: {error.strerror}")


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """Read a stream to its end.

    Raises:
        DataError: it cannot be read.
    """
    try:
        while chunk := stream.read(1 << 20):
            yield chunk
    except OSError as error:
        raise DataError(
            f"stdin cannot be read: {error.strerror}; - stands for a table that is piped in"
        ) from error


def _open(
    threads: int | None, memory_limit: str | None, temp_directory: Path, temp_limit: str | None
) -> duckdb.DuckDBPyConnection:
    limits: dict[str, Any] = {
        "threads": threads, "memory_limit": memory_limit, "temp_limit": temp_limit
    }  # fmt: skip
    given = {name: value for name, value in limits.items() if value is not None}
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise UsageError(f"threads must be a positive whole number, not {threads!r}")
    for name in ("memory_limit", "temp_limit"):  # to the engine, a negative size is no limit
        if str(given.get(name, "")).lstrip().startswith("-"):
            raise UsageError(f"{name} is a size such as 4GB, not {given[name]!r}")
    # the engine's own default would leave no room for others
    size = given.get("temp_limit", f"{shutil.disk_usage(existing(temp_directory)).free // 2}B")
    of_process = {name: value for name, value in given.items() if name != "temp_limit"}
    try:
        connection = duckdb.connect(config={"temp_directory": str(temp_directory), **of_process})
        # as a setting of `connect`, it would be shown and not be applied
        execute(connection, f"SET max_temp_directory_size = {literal(size)}")
    except duckdb.Error as error:
        shown = ", ".join(f"{name} {value!r}" for name, value in given.items())
        raise UsageError(f"the engine cannot be set up with {shown}: {reason(error)}") from error
    # rows are ordered where a query says so and nowhere else
    execute(connection, "SET preserve_insertion_order = false")
    with contextlib.suppress(duckdb.Error):  # older versions do not know it
        execute(connection, f"SET disabled_optimizers = '{_WITHOUT}'")
    return connection


def _stamp(path: str) -> _Stamp | None:
    """Tell a file from others that may take its place; None: it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _is_parquet(path: str) -> bool:
    if "://" in path:
        return False
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def _before_wildcards(path: str) -> str | None:
    """Return the folder elsewhere in which all files lie that a path with wildcards means."""
    start, *rest = re.split(r"[*?\[]", path, maxsplit=1)
    return start[: start.rindex("/") + 1] if "://" in start and rest else None


@contextlib.contextmanager
def _simple_plans(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Switch off, in a connection of somebody else's, what costs partitions too much."""
    ((before,),) = execute(connection, "SELECT current_setting('disabled_optimizers')").fetchall()
    with contextlib.suppress(duckdb.Error):
        execute(
            connection, f"SET disabled_optimizers = {literal(f'{before},{_WITHOUT}'.strip(','))}"
        )
    try:
        yield
    finally:
        # of all connections to the database; by another one, since a transaction may be aborted
        execute(connection.cursor(), f"SET disabled_optimizers = {literal(before)}")


def _records(connection: duckdb.DuckDBPyConnection, statement: str) -> list[dict[str, Any]]:
    result = execute(connection, statement)  # `sql()` would plan the query twice
    if has_zoned_times(result.description):
        # to fetch them takes the package pytz, which nobody has to have; Arrow does without
        if hasattr(connection, "abort"):  # DuckDB 2.0 requires that before another query
            connection.abort()
        return list(connection.sql(statement).to_arrow_table().to_pylist())
    names = [name for name, *_ in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def _rows(result: duckdb.DuckDBPyConnection) -> Rows:
    names, types = zip(*((column[0], str(column[1])) for column in result.description), strict=True)
    return Rows(names, [_kind(name) for name in types], result.fetchall())


def _kind(type_name: str) -> str:
    if type_name in ("FLOAT", "DOUBLE"):
        return NUMBER
    return COUNT if type_name.endswith(("INT", "INTEGER")) else TEXT
