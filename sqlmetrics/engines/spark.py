"""Run plans on Spark, in a session of the user, local or on a cluster.

The engine uses only features that classic sessions and Spark Connect share: SQL, the Parquet
reader, views, Arrow tables as input and output, and the writers. Per-user rows are not fetched into
this process.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import shutil
import uuid
import warnings
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from sqlmetrics.engines import lakes, spark_folders
from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.engines.lakes import is_lake_table
from sqlmetrics.engines.per_user_values import nodes_below
from sqlmetrics.engines.relation import Relation
from sqlmetrics.engines.spark_errors import (
    MISSING_PATH,
    TAKEN,
    UNKNOWN_TABLE,
    UNREADABLE,
    condition,
    is_of_spark,
    reason,
)
from sqlmetrics.engines.unfinished import check_finished
from sqlmetrics.errors import (
    DataError,
    EngineError,
    QueryError,
    SqlmetricsError,
    SqlmetricsWarning,
    UnreadableError,
    UsageError,
    imported,
)
from sqlmetrics.files import OwnFolder, already_there
from sqlmetrics.sql import transpile
from sqlmetrics.sql.query_graph import Node, Plan, parse
from sqlmetrics.texts.messages import Argument, Message
from sqlmetrics.texts.wording import and_more, listed

if TYPE_CHECKING:
    import pandas as pd

# Spark type -> DuckDB type, as used in the package
_TYPES = {
    "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER", "bigint": "BIGINT",
    "float": "FLOAT", "double": "DOUBLE", "boolean": "BOOLEAN", "string": "VARCHAR",
    "date": "DATE", "timestamp": "TIMESTAMP WITH TIME ZONE", "timestamp_ntz": "TIMESTAMP",
    "binary": "BLOB",
}  # fmt: skip
_PARQUET = (".parquet", ".pq")
_OTHER_FORMATS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".txt", ".run", ".qrels")
_PACKED = (".gz", ".zst")
# maximum number of queries in a statement; Spark's planning time grows faster than their number
_MOST_QUERIES = 4
# files that Spark leaves in a folder of Parquet files
_WRITTEN = re.compile(r"part-.*\.parquet|\.part-.*\.crc|_SUCCESS|\._SUCCESS\.crc")


def is_session(value: Any) -> bool:
    """Return whether a value is a Spark session, classic or Connect."""
    return all(hasattr(value, name) for name in ("sql", "read", "createDataFrame"))


def _is_same_session(session: Any, other: Any) -> bool:
    """Return whether two objects are the same session, with the same views."""
    for name in ("_jsparkSession", "session_id"):  # classic; Connect
        ids = getattr(session, name, None), getattr(other, name, None)
        if None not in ids:
            return bool(ids[0] == ids[1])
    return session is other


def open_session(master: str | None) -> Any:
    """Start a Spark session or get the active one; without a master, use Spark's configuration.

    Raises:
        UsageError: pyspark or Java is not installed, or Spark does not start.
    """
    spark = imported("pyspark.sql", "the engine spark needs pyspark", "spark")
    builder = spark.SparkSession.builder.appName("sqlmetrics")
    if master is not None and master.startswith("sc://"):
        builder = builder.remote(master)
    else:
        # a command needs neither Spark's web page nor its progress bar; our messages report errors
        quiet = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
        if master is not None:
            builder = builder.master(master)
            if master.startswith("local"):
                quiet["spark.ui.enabled"] = "false"
        builder = builder.config(map=quiet)
    with contextlib.suppress(ImportError):
        from pyspark.logger import PySparkLogger

        PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True  # prints errors
    try:
        session = builder.getOrCreate()
    except Exception as error:  # pyspark does not wrap all errors, e.g. a TypeError
        where = "" if master is None else f" with the master {master!r}"
        hint: Message | str = ""
        if "JAVA_GATEWAY_EXITED" in str(error):
            hint = (
                "Java did not start: Spark 4 needs Java 17 or newer, on PATH or in JAVA_HOME "
                "(see Java's message above)"
            )
        elif not is_of_spark(error):
            hint = Message(
                "check the settings in spark-defaults.conf: spark.api.mode must be classic, and "
                "a Spark Connect server is given by ", Argument("master", "sc://HOST:PORT"),
            )  # fmt: skip
        raise UsageError(f"Spark does not start{where}: {reason(error)}", remedy=hint) from error
    if master is not None and master.startswith("local"):
        _suit_one_machine(session)
    return session


def _suit_one_machine(session: Any) -> None:
    """Use as many shuffle partitions as threads, unless the user has configured a number.

    Spark's default of 200 is meant for clusters.
    """
    context = getattr(session, "sparkContext", None)
    if context is None:  # a Connect session has no context
        return
    name = "spark.sql.shuffle.partitions"
    if not context.getConf().contains(name):
        session.conf.set(name, str(context.defaultParallelism))


class SparkEngine(Engine):
    """A Spark session that runs plans; intermediate relations are kept in it until `close`.

    The names of its views start with `sqlmetrics_` and the number of the engine. The engine changes
    nothing else in the session, its catalog or its settings. Relations that several queries read
    are computed once. Their rows stay in the executors, where they are lost with an executor, or in
    `temp_directory`, a folder shared by Spark and this process.
    """

    dialect = "spark"
    fetches_users = False

    def __init__(self, session: Any, temp_directory: str | Path | None = None) -> None:
        self.session = session
        self.temp_directory = temp_directory
        self._prefix = f"sqlmetrics_{uuid.uuid4().hex[:8]}"
        self._temporary = OwnFolder(temp_directory, shared=True)  # Spark's executors write to it
        self._removed = weakref.finalize(self, self._temporary.remove)
        self._views: dict[str, str] = {}  # view -> its relation in a printed statement
        self._kept: dict[str, str] = {}  # identity of a node -> view
        self._checkpoints: dict[str, Any] = {}  # view -> computed DataFrame
        self._frames: list[Any] = []  # sources that Spark reads natively
        self._tables: list[str] = []  # names of sources that are tables, as given
        self._closed = False

    @property
    def version(self) -> str:
        """Return the version of Spark."""
        return str(self.session.version)

    # ---- inputs --------------------------------------------------------------------------------

    def relation(self, table: str, label: str, source: Any) -> Relation | None:
        """Read Parquet, a table of the catalog or a Spark DataFrame; None for other sources."""
        if hasattr(source, "createOrReplaceTempView"):
            if not _is_same_session(source.sparkSession, self.session):
                raise DataError(
                    f"{label}: the DataFrame belongs to another Spark session than engine; pass "
                    "the session of the DataFrame as engine, or save the DataFrame as a table"
                )
            return self._relation(label, source, f"the DataFrame given as {label}")
        if is_lake_table(source):
            shown = source if isinstance(source, str) else "this table"
            raise UsageError(
                f"{label}: Spark reads {shown} through its own catalog or readers; pass the name "
                "of the table, or a Spark DataFrame"
            )
        if isinstance(source, str | Path):
            if isinstance(source, Path) or _is_path(source):
                return self._files(table, label, [str(source)])
            return self._table(label, source)
        if isinstance(source, list | tuple) and source:
            if all(isinstance(entry, Path) or _is_text_path(entry) for entry in source):
                return self._files(table, label, [str(entry) for entry in source])
            if table != "items" and all(isinstance(entry, str | Path) for entry in source):
                raise DataError(f"{label}: a list must contain Parquet files, not {source[0]!r}")
        return None

    def _files(self, table: str, label: str, given: list[str]) -> Relation:
        paths = [path for entry in given for path in _expanded(table, label, entry)]
        local = [path for path in map(_local, paths) if path is not None]
        lakes.check_paths(label, [*local, *(file for path in local for file in glob.glob(path))])
        shown = and_more(given)
        check_finished(label, shown, local)
        plain = self._parquet(label, shown, paths)
        frame, folders, warned = spark_folders.read(
            plain,
            lambda options: self._parquet(label, shown, paths, options),
            _types,
            label,
            shown,
            "" if any(_absolute(entry) == entry for entry in given) else f"{os.getcwd()}/",
        )
        parts = []
        if len(given) > 1:  # given several files, Spark reads the columns of one of them
            options = {} if folders is None else spark_folders.AS_FILES
            columns = () if folders is None else folders.columns
            added = {column.name: column.type for column in columns}
            for entry in given:
                files = self._parquet(label, entry, _expanded(table, label, entry), options)
                parts.append((entry, {**_types(files), **added}))
        # a statement cannot state the reader options of a path
        relation = self._relation(
            label, frame, shown, _as_relation(paths) if frame is plain else ""
        )
        return replace(relation, parts=parts, folders=folders, warnings=warned)

    def _parquet(
        self, label: str, shown: str, paths: list[str], options: Mapping[str, str] | None = None
    ) -> Any:
        reader = self.session.read.options(**(options or {}))
        return self._read(label, shown, lambda: reader.parquet(*map(_exact, paths)))

    def _table(self, label: str, name: str) -> Relation:
        if not name.strip():
            raise DataError(f"{label}: the name is empty")
        spelled = _spelled(name)
        frame = self._read(
            label, f"the table {name}", lambda: self._sql(f"SELECT * FROM {spelled}")
        )
        self._tables.append(name)
        parts = _parts(name)
        if len(parts) == 1:  # in a statement, a query of the same name would hide the table
            parts = self._in_current_schema(parts[0]) or parts
        printed = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
        return self._relation(label, frame, f"the table {name}", printed)

    def _in_current_schema(self, name: str) -> list[str] | None:
        """Return the name of a table with its schema; None for a view of the session."""
        try:
            # ask the catalog, because a failing query makes Spark print a stack trace
            table = self.session.catalog.getTable(_quoted(name))
        except Exception as error:
            if not is_of_spark(error):
                raise
            return None
        if table.isTemporary:
            return None
        return [*filter(None, (table.catalog, *(table.namespace or ()))), name]

    def _read(self, label: str, shown: str, read: Callable[[], Any]) -> Any:
        """Open a source, and request its columns, because Connect sessions read them lazily."""
        self._check_open()
        try:
            frame = read()
            _types(frame)
            return frame
        except Exception as error:
            if not is_of_spark(error):
                raise
            if condition(error) == MISSING_PATH:
                raise DataError(f"{label}: Spark cannot find the file {shown}") from error
            if condition(error) in UNKNOWN_TABLE:
                raise DataError(
                    f"{label}: Spark's catalog has no {shown.removeprefix('the ')}; to read a "
                    "file, pass a path that contains / or ends in .parquet"
                ) from error
            raise DataError(f"{label}: {shown} cannot be read: {reason(error)}") from error

    def _relation(self, label: str, frame: Any, shown: str, printed: str = "") -> Relation:
        """Register a DataFrame as a view for our queries."""
        types = _types(frame)
        lowered = [name.lower() for name in frame.columns]
        if twice := [name for name in frame.columns if lowered.count(name.lower()) > 1]:
            raise DataError(f"{label}: columns with equal names: {listed(twice)}; rename one")
        view = self._view(label, frame)
        self._frames.append(frame)
        self._views[view] = printed or view
        return Relation(view, types, shown)

    def _view(self, label: str, frame: Any) -> str:
        wanted = f"{self._prefix}_{re.sub(r'[^a-z0-9]+', '_', label.lower())}"
        name = wanted
        while name in self._views:
            name += "_"
        frame.createOrReplaceTempView(name)
        return name

    def bind(self, name: str, table: Any) -> str:
        """Pass an Arrow table to Spark, and return the name of the view."""
        from pyspark.sql.pandas.types import from_arrow_schema

        self._check_open()
        data = _plain(table.to_table() if hasattr(table, "scanner") else table)
        # keep times without a zone as they are, whatever the session's default
        schema = from_arrow_schema(data.schema, prefer_timestamp_ntz=True)
        with self._translated(f"reading {name}"):
            view = self._view(name.removeprefix("sqlmetrics_"),
                              self.session.createDataFrame(data, schema=schema))  # fmt: skip
        self._views[view] = name
        return view

    def spool(self, stream: IO[bytes]) -> Path:  # noqa: ARG002
        """Reject a stream, which the cluster cannot read."""
        raise UsageError("Spark does not read stdin (-); write a Parquet file instead")

    def describe(self, relation: str, label: str) -> dict[str, str]:
        """Return the columns of a relation with their DuckDB types."""
        statement = f"SELECT * FROM {_spelled_relation(relation)}"
        return _types(self._read(label, relation, lambda: self._sql(statement)))

    def query(self, statement: str, label: str) -> list[dict[str, Any]]:
        """Run a query about a source, written in DuckDB's SQL."""
        self._check_open()
        text = transpile.printed(parse(statement, label), self.dialect, pretty=False, is_input=True)
        try:
            return list(self._sql(text).toArrow().to_pylist())
        except Exception as error:
            if not is_of_spark(error):
                raise
            why = reason(error)
            raise UnreadableError(f"{label} cannot be read: {why}", reason=why) from error

    def printed(self, relation: str) -> str:
        """Return a view as it is written in a statement that runs without sqlmetrics."""
        return self._views.get(relation, relation)

    # ---- running -------------------------------------------------------------------------------

    def _sql(self, statement: str) -> Any:
        match = re.search(r"\$\{[^}]*\}?", statement)
        substitute = "spark.sql.variable.substitute"
        if match and str(self.session.conf.get(substitute, "true")).lower() == "true":
            raise UsageError(
                f"Spark replaces {match[0]} in queries by a setting, also in names; rename "
                f"the column or table that contains it, or set {substitute} to false in the "
                "session"
            )
        return self.session.sql(statement)

    @contextlib.contextmanager
    def new_file(self, target: Path | str, force: bool) -> Iterator[str]:
        """Yield the folder that Spark writes to, after checking it; nothing is created here.

        Raises:
            DataError: the folder exists and `force` is not set; or it is a file, contains files
                that Spark has not written, or is read by the run. In remote stores, only reads by
                the run are detected.
        """
        path = _absolute(str(target))
        local = _local(path)
        if local is not None and os.path.lexists(local):
            if not force:
                raise already_there(str(target))
            _check_overwritten(Path(local))
        if force:
            self._check_no_source(path)
        yield path

    def _check_no_source(self, target: str) -> None:
        """Check that no source is read from a folder that is to be replaced."""
        folder = _comparable(target).rstrip("/") + "/"
        for file in self._files_read():
            path = _comparable(file)
            if path.startswith(folder) or path + "/" == folder:
                raise DataError(f"{target} is not overwritten: rows are read from {file}")

    def _files_read(self) -> list[str]:
        """Return the files of the sources as Spark reports them; some catalogs report none."""
        with self._translated("the files of the sources"):
            return [unquote(file) for frame in self._frames for file in frame.inputFiles()]

    def write_parquet(self, plan: Plan, target: Path | str, force: bool) -> None:
        """Write the rows of a plan to a folder of Parquet files.

        If the write fails, the former content of the folder is lost.

        Raises:
            DataError: the folder exists and `force` is not set, or it cannot be written.
        """
        self._write(plan, lambda writer: writer.parquet(str(target)), str(target), force)

    def check_table(self, name: str, force: bool) -> None:
        """Check that a table, which is no view, can be written, before computing anything."""
        self._check_open()
        part = r"(?:`(?:[^`]|``)+`|[^.`\s](?:[^.`]*[^.`\s])?)"
        if not re.fullmatch(rf"{part}(?:\.{part})*", name):
            raise UsageError(
                f"{name!r} is not a table name; write table, schema.table or "
                "catalog.schema.table, with other characters than letters in backticks"
            )
        catalog, spelled = self.session.catalog, _spelled(name)
        schema = ".".join(map(_quoted, _parts(name)[:-1]))
        with self._translated(f"the table {name}", f"the table {name}"):
            if schema and not catalog.databaseExists(schema):
                raise DataError(
                    f"the table {name} cannot be written: Spark's catalog has no schema {schema}"
                )
            if not catalog.tableExists(spelled):
                return
            table = catalog.getTable(spelled)
            view = table.isTemporary or table.tableType == "VIEW"
            files = [] if view else self.session.table(spelled).inputFiles()
            sources = [_path_of(catalog.getTable(_spelled(source))) for source in self._tables]
        if view:
            raise DataError(f"{name} is a view and is not overwritten; choose another name")
        if not force:
            raise already_there(name)
        if _path_of(table) in sources or {unquote(file) for file in files} & {*self._files_read()}:
            raise DataError(f"{name} is not overwritten: rows are read from it")

    def write_table(self, plan: Plan, name: str, force: bool) -> None:
        """Write the rows of a plan to a table of Spark's catalog.

        If the write fails, an existing table may be lost.

        Raises:
            DataError: the table exists and `force` is not set, or it cannot be written.
        """
        self._write(plan, lambda writer: writer.saveAsTable(_spelled(name)), name, force)

    def _write(self, plan: Plan, write: Callable[[Any], None], target: str, force: bool) -> None:
        with self._prepared(plan) as (statement,):
            with self._translated(plan.root.name):
                frame = self._sql(statement)
                _types(frame)  # raises errors in the query here, also over Connect
            with self._translated(plan.root.name, target):
                write(frame.write.mode("overwrite" if force else "error"))

    def check_comparisons(self) -> None:
        """Check that a shared folder for per-user values is configured."""
        if self.temp_directory is None:
            raise UsageError(
                "comparisons on Spark need a folder for per-user values, which Spark writes and "
                "DuckDB reads",
                remedy=Message(
                    "set a folder shared by Spark and this process with ",
                    Argument("temp_directory", "DIR"),
                    "; temporary files in it are removed",
                ),
            )

    def comparison(self, plan: Plan, of_users: Collection[Node], level: int) -> pd.DataFrame:
        """Run a plan that compares models: Spark computes per-user values, DuckDB the rest.

        A comparison aggregates the per-user differences in many ways, also over resamples. One
        machine can do that for all users, and Spark's SQL lacks some of the required functions.

        Raises:
            DataError: this process cannot see the files that Spark has written.
        """
        self.check_comparisons()
        nodes = nodes_below(plan.root, of_users)
        folders = {node.key: self.folder() / f"{node.name}_{node.key[-8:]}" for node in nodes}
        with self._prepared(*map(Plan, nodes)) as statements:
            for node, statement in zip(nodes, statements, strict=True):
                with self._translated(node.name):
                    self._sql(statement).write.parquet(str(folders[node.key]))
        with contextlib.ExitStack() as after:
            for written in folders.values():
                after.callback(shutil.rmtree, written, ignore_errors=True)
            for written in folders.values():
                if not list(written.glob("*.parquet")):
                    raise DataError(
                        f"Spark has written per-user values to {written}, but this process finds "
                        "no file there",
                        remedy=Message(
                            Argument("temp_directory"),
                            " must be a folder that Spark's executors and this process share",
                        ),
                    )
            local = DuckDBEngine(temp_directory=self.folder() / "duckdb")
            after.callback(local.close)
            n_rows = sum(local.adopt(key, folder) for key, folder in folders.items())
            warnings.warn(
                f"Spark has written {n_rows:,} rows of per-user values to {self.folder()}; "
                "DuckDB computes the comparison from these values in this process",
                SqlmetricsWarning,
                stacklevel=level + 1,
            )
            return local.frame(plan)

    def arrow(self, plan: Plan) -> pa.Table:
        """Run a plan and return its rows as an Arrow table."""
        with self._prepared(plan) as (statement,), self._translated(plan.root.name):
            return _without_decimals(self._sql(statement).toArrow())

    @contextlib.contextmanager
    def _prepared(self, *plans: Plan) -> Iterator[list[str]]:
        """Compute relations that results read repeatedly, and yield the statements of the results.

        Spark computes a CTE again for every query that reads it, and expands views and cached
        tables during planning, so a plan with many references would contain thousands of copies.
        Spark does not expand checkpoints.
        """
        self._check_open()
        passing: list[str] = []
        tables = dict(self._kept)
        try:
            for node in _to_compute_first([plan.root for plan in plans], tables):
                name = f"{self._prefix}_{node.key.removeprefix('sqlmetrics_')}"
                statement = Plan(node).statement(tables, pretty=False, dialect=self.dialect)
                with self._translated(node.name):
                    self._checkpoint(name, statement)
                tables[node.key] = name
                if node.keep:
                    self._kept[node.key] = name
                else:
                    passing.append(name)
            yield [
                f"SELECT * FROM {tables[plan.root.key]}"
                if plan.root.key in tables
                else plan.statement(tables, pretty=False, dialect=self.dialect)
                for plan in plans
            ]
        finally:
            for name in reversed(passing):
                self._drop(name)

    def _checkpoint(self, name: str, statement: str) -> None:
        """Compute a query and register its rows as a view, kept in the executors or a folder."""
        frame = self._sql(statement)
        if self.temp_directory is None:
            frame = frame.localCheckpoint()
        else:
            folder = str(self.folder() / name)
            frame.write.parquet(folder)
            frame = self.session.read.parquet(folder)
        frame.createOrReplaceTempView(name)
        self._checkpoints[name] = frame  # Spark keeps the rows while this object exists

    def folder(self) -> Path:
        """Create a folder for intermediate files in temp_directory; `close` removes it.

        Raises:
            UsageError: temp_directory does not exist or is not writable.
        """
        parent = self._temporary.path.parent
        try:
            os.scandir(parent).close()  # a new folder would be one of this machine alone
            return self._temporary.make()
        except OSError as error:
            raise UsageError(
                f"temp_directory: cannot write to {parent}: {error.strerror}; with Spark, it must "
                "be an existing folder"
            ) from error

    def _drop(self, name: str) -> None:
        """Forget a view and its rows, even if Spark is no longer reachable."""
        with contextlib.suppress(Exception):
            self.session.sql(f"DROP VIEW IF EXISTS {name}")
        frame = self._checkpoints.pop(name, None)
        if frame is None:
            return
        if self.temp_directory is not None:
            shutil.rmtree(self._temporary.path / name, ignore_errors=True)
            return
        with contextlib.suppress(Exception):  # Connect has no Java object, and its server decides
            frame._jdf.queryExecution().logical().rdd().unpersist(False)

    @contextlib.contextmanager
    def _translated(self, title: str, target: str = "") -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not is_of_spark(error):
                raise
            raise _our_error(error, title, target) from error

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError("the evaluator is closed")

    def close(self) -> None:
        """Drop the views and rows of the engine; the session stays open."""
        self._closed = True
        for name in [*self._checkpoints, *self._views]:
            self._drop(name)
        self._removed()
        self._kept.clear()
        self._views.clear()
        self._frames.clear()


def _to_compute_first(roots: Sequence[Node], have: Mapping[str, str]) -> list[Node]:
    """Return the nodes to compute before the results, each in a separate statement, in order.

    These are nodes that are kept, nodes that are read repeatedly, and nodes at which large
    statements are split.
    """
    by_key = {node.key: node for root in roots for node in Plan(root).nodes(have)}
    nodes = [node for node in by_key.values() if node.key not in have]
    uses = {root.key: 1 for root in roots}
    for node in nodes:
        for key in node.reads():
            uses[key] = uses.get(key, 0) + 1
    ends = {root.key for root in roots}
    sizes: dict[str, int] = {}  # number of queries in the statement of the node that reads it
    first = []
    for node in nodes:
        sizes[node.key] = 1 + sum(sizes.get(key, 0) for key in node.parents)
        constant = not any(
            ancestor.is_input or ancestor.key in have for ancestor in Plan(node).nodes(have)
        )
        if node.is_input or constant:
            continue
        large = sizes[node.key] >= _MOST_QUERIES and node.key not in ends
        if large or uses[node.key] > 1 or (node.keep and node.key not in ends):
            first.append(node)
            sizes[node.key] = 0
    return first


# ---- names and paths -----------------------------------------------------------------------------


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _parts(name: str) -> list[str]:
    """Split `cat.schema.table`; dots inside backticks belong to a name."""
    matches = re.findall(r"`((?:[^`]|``)*)`|([^.`]+)", name)
    return [quoted.replace("``", "`") or plain for quoted, plain in matches]


def _spelled(name: str) -> str:
    return ".".join(map(_quoted, _parts(name)))


def _path_of(table: Any) -> list[str]:
    """Return the qualified name of a catalog table, in one spelling per table."""
    path = (table.catalog, *(table.namespace or ()), table.name)
    return [part.lower() for part in path if part]


def _spelled_relation(relation: str) -> str:
    return transpile.printed(parse(f"SELECT 1 AS one FROM {relation}", relation), "spark", False
                            ).partition(" FROM ")[2]  # fmt: skip


def _is_path(text: str) -> bool:
    """Return whether a text is a path or URI rather than a table name."""
    if text == "-" or "/" in text or os.sep in text or text.startswith("~"):
        return True
    if text.startswith("`"):
        return False
    return text.lower().endswith((*_PARQUET, *_OTHER_FORMATS, *_PACKED)) or os.path.exists(text)


def _is_text_path(value: Any) -> bool:
    return isinstance(value, str) and _is_path(value)


def _expanded(table: str, label: str, path: str) -> list[str]:
    """Return the paths for Spark: URIs unchanged, local paths absolute."""
    if path == "-":
        raise UsageError(f"{label}: Spark does not read stdin (-); write a Parquet file instead")
    name = path.lower().rstrip("/")
    for packed in _PACKED:
        name = name.removesuffix(packed)
    if name.endswith(_OTHER_FORMATS):
        kind = name.rpartition(".")[2]
        raise DataError(
            f"{label}: {path} is not a Parquet file; with Spark, paths must be Parquet files",
            table=table,
            remedy=f"read it with Spark and pass the DataFrame (spark.read.{kind}(…)), save it as "
            "a table, or evaluate it without Spark",
        )
    if "://" not in path and "**" in path:  # a recursive glob, which Spark does not support
        matches = sorted(glob.glob(path, recursive=True))
        files = [_absolute(match) for match in matches if os.path.isfile(match)]
        if not files:
            raise DataError(f"{label}: no file matches {path}")
        return files
    return [_absolute(path)]


def _exact(path: str) -> str:
    """Escape an existing local path so that Spark does not read it as a pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path) if os.path.exists(path) else path


def _absolute(path: str) -> str:
    return path if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", path) else os.path.abspath(path)


def _local(path: str) -> str | None:
    """Return the local path of a path or URI of Spark; None for remote ones."""
    if match := re.match(r"(?i)file:(?://[^/]*)?(/.*)", path):
        return match[1]
    return None if _absolute(path) != os.path.abspath(path) else path


def _comparable(path: str) -> str:
    """Normalise a path for comparison: resolve links, replace s3a by s3."""
    local = _local(path)
    return path.partition(":")[2] if local is None else os.path.realpath(local)


def _as_relation(paths: Sequence[str]) -> str:
    """Return SQL that reads files without a view, several as a Hadoop glob; empty if impossible."""
    paths = [_exact(path) for path in paths]
    path = paths[0]
    if len(paths) > 1:
        folder = os.path.commonprefix(list(paths)).rpartition("/")[0]  # noqa: RUF071 - also of URIs
        if not folder.strip(":/") and "://" in path:
            return ""  # in several stores
        path = folder + "/{" + ",".join(file[len(folder) + 1 :] for file in paths) + "}"
    return 'parquet."' + path.replace('"', '""') + '"'


def _check_overwritten(path: Path) -> None:
    """Check that a path is not a file, nor a folder with files that Spark does not write."""
    if not path.is_dir():
        raise DataError(f"{path} is not overwritten: it is a file, but Spark writes a folder")
    for entry in sorted(path.iterdir()):
        if not _WRITTEN.fullmatch(entry.name) or not entry.is_file():
            raise DataError(
                f"{path} is not overwritten: it contains {entry.name}, which is not one of the "
                "Parquet files that Spark writes"
            )


# ---- types ---------------------------------------------------------------------------------------


def _types(frame: Any) -> dict[str, str]:
    return {field.name: _type(field.dataType.simpleString()) for field in frame.schema.fields}


def _type(name: str) -> str:
    """Translate a Spark type such as `array<bigint>` into a DuckDB type."""
    if inner := re.fullmatch(r"array<(.*)>", name):
        return f"{_type(inner[1])}[]"
    if name.startswith(("varchar(", "char(", "string ")):
        return "VARCHAR"
    if name.startswith(("struct<", "map<")):
        return name.partition("<")[0].upper()
    return _TYPES.get(name, name.upper())


def _plain(table: pa.Table) -> pa.Table:
    """Cast the Arrow types of tables that Spark does not accept."""

    def plain(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_dictionary(kind):
            return plain(kind.value_type)
        is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        if is_list or pa.types.is_fixed_size_list(kind):
            return pa.list_(plain(kind.value_type))
        if pa.types.is_unsigned_integer(kind):
            return pa.int64() if kind.bit_width < 64 else pa.decimal128(20, 0)
        if pa.types.is_date64(kind):
            return pa.date32()
        if pa.types.is_null(kind):
            return pa.string()
        return pa.string() if str(kind) == "string_view" else kind

    fields = [field.with_type(plain(field.type)) for field in table.schema]
    return table.cast(pa.schema(fields))


def _without_decimals(table: pa.Table) -> pa.Table:
    """Cast decimals to doubles, as other engines return them."""
    fields = [
        field.with_type(pa.float64()) if pa.types.is_decimal(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


# ---- errors --------------------------------------------------------------------------------------


def _our_error(error: Exception, title: str, target: str) -> SqlmetricsError:
    if condition(error) in TAKEN:
        return already_there(target or title)
    if condition(error).startswith(UNREADABLE):
        return UnreadableError(reason(error))
    if type(error).__name__ in ("AnalysisException", "ParseException"):  # before it ran
        if target:  # the query itself has been checked before
            return DataError(f"{target} cannot be written: {reason(error)}")
        return QueryError(f"the query for {title} is invalid: {reason(error)}")
    return EngineError(f"Spark stopped while computing {title}: {reason(error)}")
