"""Run plans on DuckDB, embedded in this process."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import os
import re
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, TypeVar

import duckdb

from sqlmetrics.engines import databases
from sqlmetrics.engines.base import HUGE_INTEGERS, EmbeddedEngine, Watch
from sqlmetrics.engines.duckdb_errors import (
    execute,
    has_zoned_times,
    may_be_damage,
    not_written,
    reason,
    reason_alone,
    remedy_of,
)
from sqlmetrics.engines.lake_tables import copy_rows, open_lake_table
from sqlmetrics.engines.lakes import is_lake_table
from sqlmetrics.engines.relation import Relation, check_type
from sqlmetrics.engines.remote_files import open_remote
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
from sqlmetrics.rows import COUNT, NUMBER, TEXT, Rows
from sqlmetrics.sql.dialects import NATIVE
from sqlmetrics.sql.query_graph import SUMMARY, Node, Plan, Same
from sqlmetrics.sql.quoting import identifier, literal, path_of_pattern, path_pattern
from sqlmetrics.sql.statement import to_run
from sqlmetrics.sql.templates import render_file
from sqlmetrics.texts.messages import Argument, Message

if TYPE_CHECKING:
    import pyarrow as pa


_POLL = 0.2  # seconds
# of a statement; DuckDB nests CTEs, at most 1,000 levels deep, and plans deep ones slowly
_MOST_QUERIES = 250
_FEW_ROWS = 10_000  # of a result
# types of columns that Arrow makes from Python values without loss -> names in DuckDB
_PLAIN = {
    "string": "VARCHAR", "double": "DOUBLE", "float": "FLOAT", "bool": "BOOLEAN",
    "int64": "BIGINT", "int32": "INTEGER", "int16": "SMALLINT", "int8": "TINYINT",
}  # fmt: skip
_ARROW_OF = {name: kind for kind, name in _PLAIN.items()}
_SETTINGS = [
    # only ORDER BY in queries orders rows
    "preserve_insertion_order = false",
    # DuckDB 2.0 splits a window over a Parquet file into ranges, and filters the whole file for
    # each range: 100 instead of 9 CPU seconds for 41 million of a billion rows. It also groups all
    # rows before a join that keeps few of them: 5 instead of 2 CPU seconds for ten million rows
    "disabled_optimizers = 'partitioned_execution,partial_aggregate_pushdown'",
    # the statistics of Parquet files omit NaN, which conditions on rows must find
    "parquet_can_have_nan = true",
]
_UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]
_FEWER_ROWS = Message(
    "use fewer ", Argument("threads"), ", or evaluate a share of the users with ",
    Argument("where"),
)  # fmt: skip
_LARGER_DISK = Message("name a folder on a larger disk with ", Argument("temp_directory"))
_T = TypeVar("_T")
_Stamp: TypeAlias = tuple[int, ...]


class DuckDBEngine(EmbeddedEngine):
    """A DuckDB connection that runs plans and keeps small intermediate relations.

    Without `connection`, the engine opens its own in-memory connection with the options `threads`,
    `memory_limit`, `temp_directory` and `temp_limit`. Once locked, its own connection can access
    only the files of the tables and a temporary folder. A connection that is passed in is left
    unchanged.
    """

    dialect = NATIVE
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
                    f"connection must be an open DuckDB connection, not {connection!r}; open it "
                    "with duckdb.connect()"
                )
            if threads or memory_limit or temp_directory or temp_limit:
                raise UsageError(
                    "threads, memory_limit, temp_directory and temp_limit apply only to a "
                    "connection opened by sqlmetrics",
                    remedy="set them on the connection that you pass in",
                )
            self.connection = connection
        self._temp_directory = temp_directory
        # created when the first query runs
        self._temporary = _own_folder(temp_directory) if self.owned else OwnFolder()
        # also clean up if `close` is not called, unless the process is killed
        self._removed = weakref.finalize(self, self._temporary.remove)
        if connection is None:
            self.connection = _open(threads, memory_limit, self._temporary.path, temp_limit)
        self._limit = memory_limit
        self._watch = watch
        if self.owned and watch is not None:
            execute(self.connection, "SET enable_progress_bar = true")
            execute(self.connection, "SET enable_progress_bar_print = false")
        self._bound: dict[str, Any] = {}  # name -> Arrow object, registered while queries run
        self._kept: dict[str, str] = {}  # identity of a node -> name of its table
        self._held: set[str] = set()  # those of them that results read
        self._read: set[str] = set()  # nodes of earlier results
        self._are_few: dict[str, bool] = {}  # key of a plan -> whether its result has few rows
        self._shared: set[str] = set()  # names of kept tables that other engines read, too
        self.databases, self.queries = {}, {}
        self._files: list[Path] = []
        self._tables: dict[str, str] = {}  # path -> name of the table
        self._owners: dict[str, str] = {}  # path -> table, also files of other readers
        self._stamps: dict[str, _Stamp | None] = {}  # path -> fingerprint of the file's state
        self._locked = False
        self._closed = False
        self._first: DuckDBEngine | None = None  # whose database this engine shares

    @property
    def embedded(self) -> DuckDBEngine:
        """Return the engine itself."""
        return self

    @property
    def changing(self) -> DuckDBEngine:
        """Return the engine itself; tables of a connection of the user may change."""
        return self

    @property
    def can_be_shared(self) -> bool:
        """Return whether `sharing` can return an engine for further tables."""
        return self.owned and not self.queries

    @property
    def _is_closed(self) -> bool:
        return self._closed or (self._first is not None and self._first._closed)

    def sharing(self, relations: Set[str], identities: Set[str]) -> DuckDBEngine:
        """Return an engine with a second connection to the same database."""
        if self._is_closed:
            raise UsageError("the evaluator is closed")
        for key in identities:
            if (table := self._kept[key]) not in self._shared:  # temporary: of this connection
                # equal identities of other evaluators may be queries of other rows
                name = f"{key}_{next(_numbers)}"
                execute(self.connection, f"CREATE TABLE {name} AS FROM {table}")
                self._drop(table)
                self._kept[key] = name
                self._shared.add(name)
        other = copy.copy(self)
        # the first removes temporary files, and closes the connections that were made from its own
        other._first = self._first or self
        other.connection = other._first.connection.cursor()
        other._bound, other._files = {}, []
        other._kept = {key: name for key, name in self._kept.items() if key in identities}
        other._shared = set(other._kept.values())
        other._held, other._read = self._held & identities, set(self._read)
        for name in relations & self._bound.keys():
            other._bound[name] = self._bound[name]
            other.connection.register(name, self._bound[name])
        return other

    # ---- memory --------------------------------------------------------------------------------

    def memory_limit(self) -> int:
        """Return the memory limit of the engine in bytes."""
        query = "SELECT current_setting('memory_limit')"
        ((text,),) = self._fetch(query)
        number, unit = text.split()
        return int(float(number) * 1024 ** _UNITS.index(unit))

    def _folder(self) -> Path:
        """Return the folder for temporary files, creating it if needed; `close` removes it."""
        try:
            return self._temporary.make()
        except OSError as error:
            raise _no_folder(self._temp_directory, error) from error

    # ---- inputs --------------------------------------------------------------------------------

    def relation(self, table: str, label: str, source: Any) -> Relation | None:  # noqa: ARG002
        """Read a lake table, a table of a DuckDB file or a query; None for other sources."""
        if is_lake_table(source):
            return self._lake_table(label, source)
        if self.owned:
            sources = source if isinstance(source, list | tuple) else [source]
            open_remote(self.connection, label, sources)
        return databases.relation(self, label, source) if isinstance(source, str) else None

    def _lake_table(self, label: str, source: Any) -> Relation:
        """Copy one version of a lake table to a temporary Parquet file."""
        lake = open_lake_table(label, source)
        if not self.owned:
            raise UsageError(
                f"{label}: {lake.name} cannot be opened in your connection",
                remedy=f'pass connection.sql("FROM {lake.scan}"), or an Arrow table',
            )
        name = f"sqlmetrics_lake_table_{len(self.queries)}"
        path = self._folder() / f"{name}.parquet"
        try:
            copy_rows(label, lake, path)
        except OSError as error:
            raise DataError(
                f"{label}: {lake.name} cannot be copied to a temporary file, {path}: "
                f"{error.strerror or error}",
                remedy=_LARGER_DISK,
            ) from error
        execute(
            self.connection,
            f"CREATE TEMP VIEW {name} AS FROM read_parquet({literal(str(path))})",
        )
        self.queries[name] = lake.scan
        types = self.describe(name, lake.name)
        return Relation(name, types, lake.name, format=lake.kind)

    def lock(self, files: Mapping[str, str], watched: Mapping[str, str] | None = None) -> None:
        """Fix the state of the tables' files; later changes are errors.

        The engine's own connection can then access no other files, except those in its temporary
        folder, to which results are written first. An engine cannot be unlocked. It is therefore
        locked after all sources have been described, when extensions are loaded.

        Args:
            files: path -> name of the table. Remote paths (`s3://…`) may have wildcards,
                which allow access to the folder before the first wildcard.
            watched: the same for files that only other readers read.
        """
        self._tables = dict(files)
        self._owners = {**files, **(watched or {})}
        if self._locked:  # shared: the files were read before
            self._stamps = {path: self._stamps[path] for path in self._owners.keys() & self._stamps}
            return
        self._stamps = {path: _stamp(path) for path in self._owners if "://" not in path}
        if not self.owned:
            return
        own = str(self._temporary.path)
        folders = [own, path_pattern(own)]
        folders += filter(None, map(_before_wildcards, files))
        patterns = list(map(path_pattern, files))  # queries have patterns, the engine opens paths
        allowed = dict.fromkeys([*files, *patterns, *map(path_of_pattern, patterns)])
        execute(self.connection, f"SET allowed_paths = {literal(list(allowed))}")
        execute(self.connection, f"SET allowed_directories = {literal(folders)}")
        execute(self.connection, "SET enable_external_access = false")
        self._locked = True

    def check_files(self) -> None:
        """Check that the files of the tables have not changed since `lock`."""
        for path, before in self._stamps.items():
            now = _stamp(path)
            if now != before:
                what = "changed" if now else "is gone"
                raise DataError(
                    f"{self._owners[path]}: {self.shown(path)} {what} after the first read, and "
                    "results must come from one version of the file",
                    table=self._owners[path],
                    remedy="run again with a new Evaluator once the file is complete",
                )

    def check_columns(
        self, table: str, relation: str, label: str, before: Mapping[str, str]
    ) -> None:
        """Check that a table of the connection still has the columns that queries were planned for.

        Its rows may have changed. `before` holds the columns and their former types.
        """
        try:
            types = self.describe(relation, label)
        except DataError as error:
            cause = error.__cause__
            if not isinstance(cause, duckdb.CatalogException | duckdb.BinderException):
                raise
            why = reason_alone(cause)
            raise DataError(
                f"{table}: {label} existed when the Evaluator was created, but cannot be "
                f"read now: {why}",
                table=table,
                remedy="create the table again, or create a new Evaluator",
            ) from error
        for column, kind in before.items():
            check_type(table, column, label, kind, types.get(column))

    def bind(self, name: str, table: Any) -> str:
        """Make an Arrow object readable as a table, and return its name in SQL."""
        while name in self._bound or self.find_table(name) is not None:
            name += "_"
        self._bound[name] = table
        if self.owned:
            self.connection.register(name, table)
        return name

    def is_in_memory(self, relation: str) -> bool:
        """Return whether `bind` made a relation readable from a table in memory."""
        return hasattr(self._bound.get(relation), "nbytes")  # unlike an Arrow dataset

    def spool(self, stream: IO[bytes]) -> Path:
        """Copy a stream to a temporary file, which `close` removes."""
        if self._files:
            raise UsageError("stdin (-) can be read only once")
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
        """Return the name of a file for messages."""
        return "stdin" if Path(path) in self._files else path

    def describe(self, relation: str, label: str) -> dict[str, str]:
        """Return the columns of a relation and their types, without reading its rows."""
        rows = self.query(f"DESCRIBE FROM {relation}", label)
        return {row["column_name"]: row["column_type"] for row in rows}

    def query(self, statement: str, label: str) -> list[dict[str, Any]]:
        """Run a query about a source."""
        with self._registered():
            try:
                return self.interruptible(lambda: _records(self.connection, statement))
            except duckdb.OutOfMemoryException as error:
                raise self._out_of_memory(f"reading {label}", error) from error
            except duckdb.Error as error:
                self.check_files()
                why = reason(error)
                raise UnreadableError(
                    f"{label} cannot be read: {why}", reason=why, remedy=remedy_of(why)
                ) from error

    def find_table(self, name: str) -> str | None:
        """Find a table or view of a connection that was passed in; return its full name, quoted.

        `name` may be the table name alone, or qualified by schema, or by database and schema.
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
            """Return the rank of a table among those that the name may mean; None: no match."""
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
        """Return a relation as it is written in a statement that runs without sqlmetrics."""
        return self.queries.get(relation, relation)

    # ---- running -------------------------------------------------------------------------------

    def records(self, plan: Plan) -> list[dict[str, Any]]:
        """Run a plan with a small result and return its rows."""
        with self._prepared(plan) as statement:
            return self._watched(plan.root.name, lambda: _records(self.connection, statement))

    def rows(self, plan: Plan) -> Rows:
        """Run a plan with a small result and return its rows, with the kinds of columns."""
        with self._of_result(plan) as statement:
            return self._watched(plan.root.name, lambda: _rows(self.connection.execute(statement)))

    def arrow(self, plan: Plan) -> pa.Table:
        """Run a plan and return its rows as an Arrow table."""
        root = plan.root
        with self._of_result(plan) as statement:
            # DuckDB plans a query twice for an Arrow table, and once for Python values; for a few
            # rows, planning takes longer than anything else
            few = self._are_few.get(root.key, root.name == SUMMARY)
            table = self._from_values(root.name, statement) if few else None
            if table is None:
                table = self._arrow(root.name, statement)
        is_plain = all(str(kind) in _PLAIN for kind in table.schema.types)
        self._are_few[root.key] = len(table) <= _FEW_ROWS and is_plain
        return table

    def _from_values(self, title: str, statement: str) -> pa.Table | None:
        """Run a query and convert its Python values; None if a type needs Arrow."""

        def fetched() -> pa.Table | None:
            import pyarrow as pa

            result = self.connection.execute(statement)
            types = [(name, str(kind)) for name, kind, *_ in result.description]
            if any(kind not in _ARROW_OF for _, kind in types):
                _end(self.connection)
                return None
            schema = pa.schema([(name, _ARROW_OF[kind]) for name, kind in types])
            batches = []
            while rows := result.fetchmany(_FEW_ROWS):
                columns = map(pa.array, zip(*rows, strict=True), schema.types)
                batches.append(pa.RecordBatch.from_arrays([*columns], schema=schema))
            return pa.Table.from_batches(batches, schema)

        return self._watched(title, fetched)

    def new_file(self, target: Path | str, force: bool) -> AbstractContextManager[Path]:
        """Return a temporary path, whose file replaces the target when it is complete.

        Raises:
            DataError: the target exists and `force` is not set, or its folder does not exist.
            UsageError: rows of a table are read from the target.
        """
        check_not_read(Path(target), self._tables)
        return whole_file(Path(target), force)

    def write_parquet(self, plan: Plan, target: Path | str, force: bool) -> None:  # noqa: ARG002
        """Run a plan and write its rows to the Parquet file from `new_file`."""
        label = plan.root.name
        with self._of_result(plan) as statement, self._reachable(Path(target)) as path:
            query = self._without_huge_integers(statement, label)
            # the engine's own temporary file would remain beside the target after some errors
            how = "FORMAT parquet, USE_TMP_FILE false"
            self._run(label, f"COPY ({query}) TO {literal(str(path))} ({how})")

    def _without_huge_integers(self, statement: str, label: str) -> str:
        """Return the query with its 128-bit integers cast to decimals.

        Parquet has no such integers. DuckDB would write doubles, in which ids lose digits.
        """
        rows = self._run(label, f"DESCRIBE {statement}").fetchall()
        huge = [str(name) for name, type_name, *_ in rows if type_name in HUGE_INTEGERS]
        if not huge:
            return statement
        casts = ", ".join(
            f"CAST({identifier(name)} AS DECIMAL(38, 0)) AS {identifier(name)}" for name in huge
        )
        return f"SELECT * REPLACE ({casts}) FROM ({statement}) AS result"

    @contextlib.contextmanager
    def _reachable(self, target: Path) -> Iterator[Path]:
        """Provide a path that the engine can write to; if locked, in the temporary folder."""
        if not self._locked:
            yield target
            return
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=self._folder()) as folder:
            path = Path(folder) / "result.parquet"
            yield path
            move(path, target)

    def adopt(self, key: str, rows: Path | pa.Table) -> int:
        """Use a folder of Parquet files, or a table, as the rows of a node; return their number."""
        if isinstance(rows, Path):
            files = literal(f"{path_pattern(str(rows))}/*.parquet")
            parts = f"read_parquet({files}, hive_partitioning = false)"
            execute(self.connection, f"CREATE VIEW {key} AS FROM {parts}")
        else:
            self.bind(key, rows)
        self._kept[key] = key
        self._held.add(key)
        ((count,),) = self._fetch(f"SELECT count(*) FROM {key}")
        return int(count)

    def kept(self) -> Mapping[str, str]:
        """Return the kept intermediate relations: identity -> table."""
        return self._kept

    def forget(self, identities: Iterable[str]) -> None:
        """Drop kept intermediate relations."""
        self._read.clear()
        for key in identities:
            self._held.discard(key)
            self._drop(self._kept.pop(key))

    @contextlib.contextmanager
    def holding(self, nodes: Sequence[Node]) -> Iterator[None]:
        """Compute nodes once for all plans in this context, and drop them afterwards."""
        before, wanted = set(self._kept), {node.key for node in nodes}
        try:
            with self._running() as passing:
                read = [node for root in nodes for node in Plan(root).nodes()]
                tables = self._compute_first(read, passing)
                for node in nodes:
                    if node.key not in self._kept:
                        text = self._text(node, {**tables, **self._kept})
                        self._materialise(node.key, node.name, text)
                        self._kept[node.key] = node.key
            self._held |= wanted
            yield
        finally:
            self.forget([key for key in self._kept if key not in before])

    def expect(self, identities: Iterable[str]) -> None:
        """Note that later statements read these nodes, too, so that a result holds them."""
        self._read.update(identities)

    @contextlib.contextmanager
    def _of_result(self, plan: Plan) -> Iterator[str]:
        """Yield the statement of a result: the one that is printed, over tables that are held.

        Stages that other statements read, too, are computed once and held, as are those of plans
        with many queries.
        """
        with self._running() as passing:
            nodes = plan.nodes(self._held)
            stages = [node for node in nodes if node.keep and node.key != plan.root.key]
            if len(nodes) <= _MOST_QUERIES:
                stages = [node for node in stages if node.key in self._read]
            self._compute_first(stages, passing)
            self._held.update(node.key for node in stages)
            tables = {key: self._kept[key] for key in self._held if key != plan.root.key}
            for node in plan.nodes(tables):
                if node.apart:
                    self._materialise(node.key, node.name, self._text(node, tables))
                    passing.append(node.key)
                    tables[node.key] = node.key
            yield self._text(plan.root, tables)
            self._read.update(node.key for node in plan.nodes() if node.keep)

    @contextlib.contextmanager
    def _prepared(self, plan: Plan) -> Iterator[str]:
        """Yield the statement of a check, over stages that are kept for other checks."""
        with self._running() as passing:
            first = [node for node in plan.nodes(self._kept) if node is not plan.root]
            tables = self._compute_first(first, passing)
            yield plan.statement(tables, pretty=False)

    @contextlib.contextmanager
    def _running(self) -> Iterator[list[str]]:
        """Yield a list of tables that are dropped after the statements that run in this context."""
        self.check_files()
        self._folder()  # the engine spills data to this folder
        with self._registered():
            passing: list[str] = []
            try:
                yield passing
                self.check_files()
            finally:
                for name in passing:
                    self._drop(name)

    def _compute_first(self, nodes: Iterable[Node], passing: list[str]) -> dict[str, str]:
        """Compute the nodes of separate statements, and return the tables that exist then.

        Tables that are not kept are added to `passing`.
        """
        tables = dict(self._kept)
        for node in nodes:
            if (node.keep or node.apart) and node.key not in tables:
                text = Plan(node).statement(tables, pretty=False)
                self._materialise(node.key, node.name, text)
                tables[node.key] = node.key
                if node.keep:
                    self._kept[node.key] = node.key
                else:
                    passing.append(node.key)
        return tables

    def _text(self, node: Node, tables: Mapping[str, str]) -> str:
        """Print the statement of a result; evaluators that share its plan share the text."""
        return _text_of(Same(node), frozenset(tables.items()))

    def _materialise(self, name: str, title: str, statement: str) -> None:
        if self.owned:
            self._run(
                title, f"CREATE OR REPLACE TEMP TABLE {name} AS {statement}"
            )  # an interrupt may arrive after the table was created
        else:  # create nothing in a connection of the user
            self._bound[name] = self._arrow(title, statement)
            self.connection.register(name, self._bound[name])

    def _drop(self, name: str) -> None:
        if name in self._shared:
            return
        if self.owned:
            with contextlib.suppress(duckdb.Error):
                execute(self.connection, f"DROP TABLE IF EXISTS {name}")
        else:
            with contextlib.suppress(duckdb.Error):  # for example after an aborted transaction
                self.connection.unregister(name)
            self._bound.pop(name, None)

    @contextlib.contextmanager
    def _registered(self) -> Iterator[None]:
        """Register Arrow tables in a connection of the user only while queries run."""
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
                    f"the connection cannot be used now (a result may still be open, or the "
                    f"connection closed): {reason(error)}"
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
        """Run a query of a plan and show progress.

        Raises:
            KeyboardInterrupt: after the engine has stopped.
            SqlmetricsError: an error of the engine, translated.
        """
        started = time.monotonic()

        def show_progress() -> None:
            if self._watch is not None:
                share = self.connection.query_progress() / 100
                self._watch(title, max(share, 0.0), time.monotonic() - started)

        try:
            return self.interruptible(work, show_progress)
        except duckdb.Error as error:
            raise self._explained(title, error) from error

    def _explained(self, title: str, error: duckdb.Error) -> SqlmetricsError:
        """Translate an error of the engine, with the query's title, the reason and a remedy."""
        why = reason(error)
        if isinstance(error, duckdb.PermissionException):
            return QueryError(
                f"the query for {title} is not allowed: {why}. Queries can read only the given "
                "tables, and no other files",
                remedy=Message(
                    "pass the file as a table, or pass your own DuckDB connection (",
                    Argument("connection", ...), ")", "; " if remedy_of(why) else "",
                    remedy_of(why),
                ),
            )  # fmt: skip
        if isinstance(error, duckdb.BinderException | duckdb.CatalogException):
            self.check_files()  # columns may be missing because the file changed
            return QueryError(f"the query for {title} is invalid: {why}")
        if isinstance(error, duckdb.OutOfMemoryException):
            return self._out_of_memory(f"computing {title}", error)
        if full := not_written(error):
            path, problem = full
            folder = path.parent
            if self.owned and self._temporary.path in (folder, *folder.parents):
                folder = self._temporary.path.parent
            return EngineError(
                f"the engine stopped while computing {title}: its output does not fit into "
                f"{folder} ({problem})",
                remedy=Message(_LARGER_DISK, ", or free disk space"),
            )
        self.check_files()
        unread = isinstance(error, duckdb.InvalidInputException | duckdb.ConversionException)
        if not unread or may_be_damage(error):
            self._check_readable()
        if unread:
            return UnreadableError(why, remedy=remedy_of(why))
        if isinstance(error, duckdb.IOException):
            return EngineError(f"the engine stopped while computing {title}: {why}")
        return EngineError(f"the engine rejected the query for {title}: {why}")

    def _check_readable(self) -> None:
        """Look for a damaged file, because the engine's message does not always name the file."""
        connection = self.connection.cursor()  # the other may be in an aborted transaction

        def read(path: str) -> None:
            connection.execute(render_file("inputs/readable", {"files": [path]})).fetchall()

        for path, table in self._tables.items():
            if _is_parquet(path):
                try:
                    self.interruptible(functools.partial(read, path), connection=connection)
                except duckdb.Error as error:
                    raise DataError(
                        f"{table}: {self.shown(path)} cannot be read because it is damaged "
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
        """Run a function in a second thread, so that an interrupt in this thread stops the engine.

        In the main thread, DuckDB turns KeyboardInterrupt into a RuntimeError.
        """
        if self._is_closed:
            raise UsageError("the evaluator is closed")
        pool = ThreadPoolExecutor(max_workers=1)
        # an interrupt may arrive before the future exists; work must then not start
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
                with contextlib.suppress(KeyboardInterrupt):  # ignore further interrupts
                    (connection or self.connection).interrupt()
                    ended.wait(0.05)
            pool.shutdown(wait=False)

    def _fetch(self, statement: str) -> list[tuple[Any, ...]]:
        return self.interruptible(lambda: self.connection.execute(statement).fetchall())

    def _out_of_memory(self, what: str, error: duckdb.OutOfMemoryException) -> EngineError:
        """Return an error that names the limit that was reached, for memory or disk, and remedies.

        `what` is the operation that failed.
        """
        limit = "memory limit" + (f" of {self._limit}" if self._limit else "")
        why = reason_alone(error)
        if "max_temp_directory_size" in str(error):
            problem = f"its temporary files reached the limit ({why})"
            remedy = Message(
                "increase the limit with ", Argument("temp_limit"), ", name a directory on a "
                "larger disk with ", Argument("temp_directory"), ", or increase ",
                Argument("memory_limit"),
            )  # fmt: skip
        elif "bad allocation" in str(error):
            problem = f"the system has no more memory, below the {limit} ({why})"
            remedy = Message("decrease ", Argument("memory_limit"), ", ", _FEWER_ROWS)
        else:
            problem = f"its {limit} is too small ({why})"
            remedy = Message("increase ", Argument("memory_limit"), ", ", _FEWER_ROWS)
        return EngineError(f"the engine stopped while {what}: {problem}", remedy=remedy)

    def close(self) -> None:
        """Close the engine's own connection and remove temporary files."""
        self._closed = True
        self._kept.clear()
        self._bound.clear()
        if self.owned:
            self.connection.close()
        if self._first is None:
            self._temporary.remove()
            self._removed.detach()
        self._files.clear()


_numbers = itertools.count(1)  # of tables that several engines read


@functools.lru_cache(maxsize=64)
def _text_of(root: Same[Node], tables: frozenset[tuple[str, str]]) -> str:
    return to_run(Plan(root.value), tables=dict(tables))


def _own_folder(temp_directory: str | Path | None) -> OwnFolder:
    try:
        folder = OwnFolder(temp_directory)
        check_can_be_made(folder.path.parent)
    except OSError as error:
        raise _no_folder(temp_directory, error) from error
    return folder


def _no_folder(temp_directory: str | Path | None, error: OSError) -> UsageError:
    return UsageError(f"temp_directory {temp_directory}: {error.strerror}")


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    try:
        while chunk := stream.read(1 << 20):
            yield chunk
    except OSError as error:
        raise DataError(
            f"stdin cannot be read: {error.strerror}; - means a table from standard input"
        ) from error


def _open(
    threads: int | None, memory_limit: str | None, temp_directory: Path, temp_limit: str | None
) -> duckdb.DuckDBPyConnection:
    limits: dict[str, Any] = {
        "threads": threads, "memory_limit": memory_limit, "temp_limit": temp_limit
    }  # fmt: skip
    given = {name: value for name, value in limits.items() if value is not None}
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise UsageError(f"threads must be a positive integer, not {threads!r}")
    for name in ("memory_limit", "temp_limit"):  # the engine takes a negative size for no limit
        size = str(given.get(name, ""))
        if size.lstrip().startswith("-") or not size.isascii():
            raise UsageError(f"{name} must be a size such as 4GB, not {given[name]!r}")
    # the engine's default limit would allow it to fill the disk
    size = given.get("temp_limit", f"{shutil.disk_usage(existing(temp_directory)).free // 2}B")
    of_process = {name: value for name, value in given.items() if name != "temp_limit"}
    try:
        connection = duckdb.connect(config={"temp_directory": str(temp_directory), **of_process})
        # as a config option of `connect`, the limit would be shown but not applied
        execute(connection, f"SET max_temp_directory_size = {literal(size)}")
    except duckdb.Error as error:
        shown = ", ".join(f"{name} {value!r}" for name, value in given.items())
        raise UsageError(f"the engine cannot be set up with {shown}: {reason(error)}") from error
    for setting in _SETTINGS:
        with contextlib.suppress(duckdb.Error):  # unknown to older versions
            execute(connection, f"SET {setting}")
    return connection


def _stamp(path: str) -> _Stamp | None:
    """Return the state of a file, to detect later changes; None if the file is missing."""
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
    """Return the folder before the first wildcard of a remote path; None for other paths."""
    start, *rest = re.split(r"[*?\[]", path, maxsplit=1)
    return start[: start.rindex("/") + 1] if "://" in start and rest else None


def _records(connection: duckdb.DuckDBPyConnection, statement: str) -> list[dict[str, Any]]:
    result = execute(connection, statement)  # `sql()` would plan the query twice
    if has_zoned_times(result.description):
        # fetching zoned times needs the optional package pytz; Arrow does not
        _end(connection)
        return list(connection.sql(statement).to_arrow_table().to_pylist())
    names = [name for name, *_ in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def _end(connection: duckdb.DuckDBPyConnection) -> None:
    """End the last query, whose rows are not wanted."""
    if hasattr(connection, "abort"):  # DuckDB 2.0 requires it before another query
        connection.abort()


def _rows(result: duckdb.DuckDBPyConnection) -> Rows:
    names, types = zip(*((column[0], str(column[1])) for column in result.description), strict=True)
    return Rows(names, [_kind(name) for name in types], result.fetchall())


def _kind(type_name: str) -> str:
    if type_name in ("FLOAT", "DOUBLE"):
        return NUMBER
    return COUNT if type_name.endswith(("INT", "INTEGER")) else TEXT
