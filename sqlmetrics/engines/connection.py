"""Connections to databases: run a statement, and return its rows as Arrow.

A connection is one of DB-API 2.0 or of ADBC, also inside an object of SQLAlchemy or Ibis, or one of
ClickHouse, whose libraries return Arrow without a cursor. No library of a database is imported here
unless the user has imported it.
"""

from __future__ import annotations

import contextlib
import enum
import inspect
import itertools
import sys
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sqlmetrics.engines.arrow_types import arrow_type, as_duckdb, table_of
from sqlmetrics.engines.database_systems import SYSTEMS
from sqlmetrics.engines.database_urls import connect, no_connection, one_line
from sqlmetrics.errors import EngineError, UsageError

_ROWS = 50_000  # rows that are turned into Arrow at a time
# package of a connection -> dialect
_OF_PACKAGES = {package: name for name, one in SYSTEMS.items() for package in one.packages}
# the libraries of systems whose statements need more than DB-API 2.0: transactions, settings
_LIBRARIES = {
    "postgres": "for Postgres, pass a connection of psycopg 3, such as psycopg.connect(…), or of "
    "the ADBC driver adbc_driver_postgresql; in SQLAlchemy, use postgresql+psycopg://…",
    "clickhouse": "for ClickHouse, pass a client of clickhouse-connect, such as "
    "clickhouse_connect.get_client(…), or a connection of chDB",
}
# package of another library for these systems -> dialect
_OTHER_PACKAGES = {
    "psycopg2": "postgres", "psycopg2cffi": "postgres", "pg8000": "postgres",
    "asyncpg": "postgres", "clickhouse_driver": "clickhouse",
}  # fmt: skip
# methods of cursors that return all rows as Arrow: ADBC, Databricks, Snowflake
_FETCH_ARROW = ("fetch_arrow_table", "fetchall_arrow", "fetch_arrow_all")
# methods of connections: DB-API 2.0 and ADBC, clickhouse-connect, chDB, BigQuery
_RUN_STATEMENTS = ("cursor", "query_arrow", "send_query", "query_and_wait")
# the limits of a statement with all metrics are larger than the defaults of ClickHouse
_LIMITS = dict.fromkeys(
    ("max_query_size", "max_ast_elements", "max_expanded_ast_elements"), "10000000"
)


class FailedStatement(Exception):
    """An error of a library or its database.

    Args:
        error: the error.
        statement: the statement that failed.
    """

    def __init__(self, error: Exception, statement: str) -> None:
        super().__init__(one_line(str(error)))
        self.error = error
        self.statement = statement


@dataclass(eq=False)
class Connection:
    """A connection that runs statements.

    Args:
        raw: the connection of the library.
        dialect: the dialect of the database.
        owner: the object that has the connection, and may close it when it is no longer referred
            to.
        is_ours: whether sqlmetrics opened the connection, so that `close` closes it.
    """

    raw: Any
    dialect: str
    owner: Any
    is_ours: bool

    @property
    def is_closed(self) -> bool:
        """Whether the connection is closed, as far as the library tells."""
        handle = getattr(self.raw, "_conn", self)  # of chDB
        return handle is None or any(
            getattr(self.raw, name, False) is True for name in ("closed", "_closed")
        )

    def fetch(self, statement: str, as_stored: bool = False) -> pa.Table:
        """Run a query and return its rows, in types that DuckDB returns or, on request, as stored.

        Raises:
            FailedStatement: the database or its library reports an error.
        """
        try:
            table = self._table(statement)
            return table if as_stored else as_duckdb(table, self.dialect)
        except Exception as error:  # libraries have classes of their own
            raise FailedStatement(error, statement) from error

    def _table(self, statement: str) -> pa.Table:
        if hasattr(self.raw, "query_arrow"):
            return self._of_clickhouse_connect(statement)
        if hasattr(self.raw, "query_and_wait"):  # BigQuery
            return self.raw.query_and_wait(statement).to_arrow(create_bqstorage_client=False)
        if self.dialect == "clickhouse":  # chDB
            return self.raw.query(statement, "ArrowTable")
        with self._executed(statement) as cursor:
            if name := next((name for name in _FETCH_ARROW if hasattr(cursor, name)), None):
                options = {"force_return_table": True} if name == "fetch_arrow_all" else {}
                table = getattr(cursor, name)(**options)
                # some servers of Flight SQL describe no result without rows
                is_undescribed = not table.column_names and hasattr(cursor, "adbc_execute_schema")
                if is_undescribed:
                    return cursor.adbc_execute_schema(statement).empty_table()
                return table
            return self._rows(cursor)

    def _of_clickhouse_connect(self, statement: str) -> pa.Table:
        """Run a query; an interrupt stops it on the server."""
        mark = f"sqlmetrics-{uuid.uuid4()}"
        try:
            return self.raw.query_arrow(statement, settings={**_LIMITS, "log_comment": mark})
        except KeyboardInterrupt:
            stop = f"KILL QUERY WHERE Settings['log_comment'] = '{mark}' SYNC"
            with contextlib.suppress(Exception):  # in a session that is not locked
                self.raw.command(stop, settings={"session_id": mark})
            raise

    def _rows(self, cursor: Any) -> pa.Table:
        batches = iter(lambda: cursor.fetchmany(_ROWS), [])
        first = list(itertools.islice(batches, 1))  # some libraries describe the columns then
        kinds = [
            arrow_type(getattr(column, "type_display", column[1]), self.dialect)
            for column in cursor.description
        ]
        names = [column[0] for column in cursor.description]
        return table_of(names, kinds, itertools.chain(first, batches))

    def run(self, statement: str) -> None:
        """Run a statement whose rows do not matter.

        Raises:
            FailedStatement: the database or its library reports an error.
        """
        if not hasattr(self.raw, "cursor") or self.dialect == "clickhouse":
            self.fetch(statement)
            return
        try:
            with self._executed(statement):
                pass
        except Exception as error:
            raise FailedStatement(error, statement) from error

    @contextlib.contextmanager
    def _executed(self, statement: str) -> Any:
        """Run a statement, and return its cursor; an interrupt cancels the statement."""
        with contextlib.closing(self._cursor()) as cursor:
            try:
                self._execute(cursor, statement)
                yield cursor
            except KeyboardInterrupt:
                stop = getattr(cursor, "adbc_cancel", getattr(cursor, "cancel", None))
                with contextlib.suppress(Exception):
                    if stop is not None:
                        stop()
                raise

    def _cursor(self) -> Any:
        return self.raw.cursor()

    def _execute(self, cursor: Any, statement: str) -> None:
        cursor.execute(statement)

    def close(self) -> None:
        """Close the connection if sqlmetrics opened it; errors are suppressed."""
        if self.is_ours:
            with contextlib.suppress(Exception):
                self.owner.close()


class Psycopg(Connection):
    """A connection of psycopg, whose user may have changed how values are read."""

    def _cursor(self) -> Any:
        from psycopg import Cursor, adapters
        from psycopg.pq import Format
        from psycopg.rows import tuple_row

        cursor = Cursor(self.raw, row_factory=tuple_row)
        for name in _READ_AS_USUAL:
            code = adapters.types[name].oid
            if loader := adapters.get_loader(code, Format.TEXT):
                cursor.adapters.register_loader(code, loader)
        return cursor

    def _execute(self, cursor: Any, statement: str) -> None:
        cursor.execute(statement, prepare=False)


_READ_AS_USUAL = (
    "bool", "int2", "int4", "int8", "float4", "float8", "numeric", "date", "timestamp",
    "timestamptz", '"char"', "name", "text", "bpchar", "varchar", "uuid",
)  # fmt: skip


# ---- opening -------------------------------------------------------------------------------------


def opened(given: Any, wanted: str | None = None, is_ours: bool = False) -> Connection | None:
    """Return a connection that can run statements; None for objects that are no connections.

    Args:
        given: the connection, or an object of SQLAlchemy or Ibis that has one.
        wanted: the dialect that the user gave, for systems that sqlmetrics does not recognise.
        is_ours: whether sqlmetrics opened the connection.

    Raises:
        UsageError: the connection is closed or asynchronous, its library is not supported, or the
            dialect is not known.
    """
    sqlalchemy = sys.modules.get("sqlalchemy.engine")
    if sqlalchemy is None or not isinstance(given, sqlalchemy.Engine):
        return _connection(given, wanted, is_ours)
    with contextlib.ExitStack() as stack:
        taken = stack.enter_context(contextlib.closing(given.connect()))
        found = _connection(taken, wanted, is_ours=True)
        if found is not None:
            stack.pop_all()  # `close` of the connection gives it back to the pool
    return found


def _connection(given: Any, wanted: str | None, is_ours: bool) -> Connection | None:
    raw = _raw(given)
    package = type(raw).__module__.partition(".")[0]
    is_asynchronous = any(
        inspect.iscoroutinefunction(getattr(type(raw), name, None))
        for name in ("commit", "command")
    )
    if is_asynchronous:
        raise _unsupported(f"an asynchronous connection of {package}", _OF_PACKAGES.get(package))
    if not any(hasattr(raw, name) for name in _RUN_STATEMENTS):
        return None
    if package in ("duckdb", "_duckdb"):
        raise UsageError("engine: pass a DuckDB connection as connection=…")
    dialect = _dialect(raw, wanted)
    if dialect is None or not _is_supported(raw, dialect):
        other = _package_in(raw, _OTHER_PACKAGES) or package
        raise _unsupported(f"a connection of {other}", dialect or _OTHER_PACKAGES.get(other))
    kind = Psycopg if _package_in(raw, ["psycopg"]) else Connection
    return kind(raw, dialect, given, is_ours)


def connected(url: str, wanted: str | None) -> Connection:
    """Connect to the database of a URL, and run a first statement.

    Raises:
        UsageError: a package is not installed, or the URL is not valid.
        EngineError: the connection cannot be made.
    """
    raw, dialect = connect(url, wanted)
    try:
        connection = opened(raw, dialect, is_ours=True)
        assert connection is not None
        connection.run("SELECT 1 AS one")  # some libraries connect then
    except BaseException as error:
        with contextlib.suppress(Exception):
            raw.close()
        if isinstance(error, FailedStatement | EngineError):
            # the message of the cause is not cut, so that its secrets are found
            raise no_connection(url, error.__cause__ or error) from None
        raise
    return connection


def _raw(given: Any) -> Any:
    """Return the connection of a library inside an object of SQLAlchemy or Ibis."""
    sqlalchemy, ibis = map(sys.modules.get, ("sqlalchemy.engine", "ibis.backends"))
    raw = given
    if sqlalchemy is not None and isinstance(given, sqlalchemy.Connection):
        if given.closed:
            raise UsageError("engine: the connection of SQLAlchemy is closed; open a new one")
        raw = given.connection.driver_connection
    elif ibis is not None and isinstance(given, ibis.BaseBackend):
        raw = getattr(given, "con", None) or getattr(given, "client", None)
    if _package_in(raw, ["clickhouse_connect"]):  # its connections of DB-API 2.0 return no Arrow
        return getattr(raw, "client", raw)
    if _package_in(raw, ["google"]):  # its connections of DB-API 2.0 return no Arrow either
        client = getattr(raw, "_client", raw)
        config = getattr(client, "default_query_job_config", None)
        if config is not None and config.destination is not None:
            raise UsageError(
                "engine: the client of BigQuery writes the results of all queries to "
                f"{config.destination.table_id}",
                remedy="remove destination from default_query_job_config, or pass another client",
            )
        return client
    return raw


def _package_in(raw: Any, packages: Iterable[str]) -> str | None:
    """Return the first of some packages that has a class of an object, or one that it extends."""
    found = (kind.__module__.partition(".")[0] for kind in type(raw).__mro__)
    return next((package for package in found if package in packages), None)


class State(enum.Enum):
    """The state of a connection to Postgres."""

    IDLE = "idle"  # no transaction
    OPEN = "intrans"  # in a transaction of the user
    FAILED = "inerror"  # in a transaction that has failed
    BUSY = "active"  # runs a statement, e.g. of another thread
    CLOSED = "unknown"


def state_of(raw: Any) -> State:
    """Return the state that libpq reports of a connection of psycopg or ADBC.

    `opened` rejects connections of other libraries.
    """
    if hasattr(raw, "info"):
        return State.CLOSED if raw.closed else State(raw.info.transaction_status.name.lower())
    try:
        option = raw.adbc_connection.get_option("adbc.postgresql.transaction_status")
    except Exception:  # closed, or of another system
        return State.CLOSED
    return State(option)


def _dialect(raw: Any, wanted: str | None) -> str | None:
    """Return the dialect of a connection, or that of the user if it is not known."""
    if package := _package_in(raw, _OF_PACKAGES):
        return _OF_PACKAGES[package]
    return wanted if not hasattr(raw, "adbc_get_info") else _dialect_of_adbc(raw, wanted)


def _is_supported(raw: Any, dialect: str) -> bool:
    if dialect not in _LIBRARIES or _package_in(raw, _OF_PACKAGES):
        return True
    is_adbc = dialect == "postgres" and hasattr(raw, "adbc_get_info")
    return is_adbc and state_of(raw) is not State.CLOSED  # other drivers report no state


def _dialect_of_adbc(raw: Any, wanted: str | None) -> str:
    if getattr(raw, "_closed", False):
        raise UsageError("the connection is closed", remedy="open a new connection")
    # the driver begins a transaction for its answer, which would be taken for the user's
    is_idle = not raw._autocommit and state_of(raw) is State.IDLE
    try:
        vendor = str(raw.adbc_get_info().get("vendor_name", ""))
        if is_idle:
            raw.rollback()
    except Exception as error:  # e.g. while another thread uses the connection
        raise EngineError(
            f"the connection cannot be used: {one_line(str(error))}",
            remedy="use a connection of ADBC in one thread",
        ) from error
    known = (name for name, one in SYSTEMS.items() if one.title.lower() in vendor.lower())
    if dialect := next(known, wanted):
        return dialect
    others = [name for name in SYSTEMS if name not in _LIBRARIES]
    raise UsageError(
        f"engine: the dialect of {vendor or 'this system'} is not known",
        remedy=f"give dialect=… with one of {', '.join(others)}; in a URL, add ?dialect=…",
    )


def _unsupported(what: str, dialect: str | None = None) -> UsageError:
    return UsageError(
        f"engine: {what} is not supported",
        remedy=_LIBRARIES.get(
            dialect or "",
            "pass a connection of DB-API 2.0 or ADBC, such as psycopg.connect(…), or one of "
            "SQLAlchemy, and dialect=… if the system is not recognised",
        ),
    )
