"""Run statements through the drivers of databases: psycopg, and ADBC for Postgres.

A driver returns Arrow tables, and hides how libraries tell the state of a transaction and name
their errors. Nothing here imports a library unless a connection of it is given. The drivers of
ClickHouse are in `clickhouse_drivers`, those of Snowflake and others in `warehouse_drivers`.
"""

from __future__ import annotations

import enum
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sqlmetrics.engines.database_urls import (
    FORMS,
    WAREHOUSES,
    dialect_of,
    is_clear,
)
from sqlmetrics.errors import EngineError, UsageError
from sqlmetrics.masking import masked, masked_url, without_secrets

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 50_000  # rows that are turned into Arrow at a time
_MOST = 400  # characters of a message
_EXACT = 2**53  # doubles have all whole numbers up to here


class State(enum.Enum):
    """The state of a connection."""

    IDLE = "idle"  # no transaction
    OPEN = "intrans"  # in a transaction of the user
    FAILED = "inerror"  # in a transaction that has failed
    BUSY = "active"  # runs a statement, e.g. of another thread
    CLOSED = "unknown"


class Driver(ABC):
    """A connection of a library.

    Args:
        connection: the connection, which stays open.
    """

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        # the object of the user, which may close the connection when it is no longer referred to
        self.owner: Any = None

    @property
    @abstractmethod
    def dialect(self) -> str:
        """The dialect of the database that the connection leads to."""

    @abstractmethod
    def run(self, statement: str) -> None:
        """Run a statement whose rows do not matter."""

    @abstractmethod
    def fetch(self, statement: str) -> pa.Table:
        """Run a query and return its rows; a NUMERIC is a double, as far as a double holds it."""

    @property
    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]:
        """The classes of errors of the library and the database."""

    @abstractmethod
    def code(self, error: BaseException) -> str:
        """Return the code that the database gives an error; empty if it has none."""

    @abstractmethod
    def reason(self, error: BaseException) -> str:
        """Return the message of the database in one line."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""


class PostgresDriver(Driver):
    """A connection with transactions, and errors with the codes of the SQL standard."""

    @abstractmethod
    def state(self) -> State:
        """Return the state of the connection."""

    @property
    @abstractmethod
    def autocommit(self) -> bool:
        """Whether the driver starts no transaction by itself."""

    def code(self, error: BaseException) -> str:
        """Return the code of an error, such as 42P01; empty if it has none."""
        return str(getattr(error, "sqlstate", None) or "")


def one_line(text: str) -> str:
    """Return a message in one line, without a full stop at its end."""
    return masked(" ".join(text.split())).rstrip(" .;:")[:_MOST]


# ---- psycopg -------------------------------------------------------------------------------------


class Psycopg(PostgresDriver):
    """A connection of psycopg 3."""

    dialect = "postgres"

    def state(self) -> State:
        """Return the state that libpq reports."""
        if self.connection.closed:
            return State.CLOSED
        return State(self.connection.info.transaction_status.name.lower())

    @property
    def autocommit(self) -> bool:
        """Whether the connection starts no transaction by itself."""
        return bool(self.connection.autocommit)

    def _cursor(self) -> Any:
        from psycopg import Cursor, adapters
        from psycopg.pq import Format
        from psycopg.rows import tuple_row

        # cursors of the connection may be of another class, and read values in another way
        cursor = Cursor(self.connection, row_factory=tuple_row)
        for code in (*_OF_POSTGRES, *_TIMES, *_TEXTS):
            if loader := adapters.get_loader(code, Format.TEXT):
                cursor.adapters.register_loader(code, loader)
        return cursor

    def run(self, statement: str) -> None:
        """Run a statement whose rows do not matter."""
        with self._cursor() as cursor:
            cursor.execute(statement, prepare=False)

    def fetch(self, statement: str) -> pa.Table:
        """Run a query and return its rows."""
        with self._cursor() as cursor:
            cursor.execute(statement, prepare=False)
            names = [column.name for column in cursor.description]
            kinds = [_kind(column.type_code) for column in cursor.description]
            return table_of(names, kinds, iter(lambda: cursor.fetchmany(_ROWS), []))

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The class of all errors of psycopg, and that of texts in no known encoding."""
        import psycopg

        return psycopg.Error, UnicodeDecodeError

    def reason(self, error: BaseException) -> str:
        """Return the primary message of the server, or else that of the library."""
        diagnosis = getattr(error, "diag", None)
        primary = None if diagnosis is None else diagnosis.message_primary
        return one_line(str(primary or error).partition("\nLINE ")[0]) or type(error).__name__

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


# OIDs of the types of Postgres, which never change -> Arrow
_OF_POSTGRES = {
    16: "bool_", 20: "int64", 21: "int16", 23: "int32", 700: "float32", 701: "float64",
    1082: "date32", 1700: "numeric",
}  # fmt: skip
_TIMES = {1114: None, 1184: "UTC"}
_TEXTS = (18, 19, 25, 1042, 1043, 2950)


def _kind(code: int) -> Any:
    """Return the Arrow type of an OID, "numeric" or, for other types, None."""
    import pyarrow as pa

    if code in _TIMES:
        return pa.timestamp("us", _TIMES[code])
    if code in _TEXTS:
        return pa.string()
    name = _OF_POSTGRES.get(code)
    return name if name in (None, "numeric") else getattr(pa, name)()


def table_of(
    names: list[str], kinds: list[Any], batches: Iterable[list[tuple[Any, ...]]]
) -> pa.Table:
    """Return rows as an Arrow table.

    Args:
        names: the names of the columns.
        kinds: the Arrow type of each column, "numeric" or, for other types, None.
        batches: lists of rows.
    """
    import pyarrow as pa

    columns: list[list[Any]] = [[] for _ in names]
    for rows in batches:
        for number, values in enumerate(zip(*rows, strict=True)):
            kind = kinds[number]
            if not isinstance(kind, pa.DataType):
                columns[number].extend(values)
            elif pa.types.is_string(kind):
                texts = [None if value is None else str(value) for value in values]
                columns[number].append(pa.array(texts, kind))
            else:
                columns[number].append(pa.array(values, kind))
    arrays = []
    for kind, parts in zip(kinds, columns, strict=True):
        if kind == "numeric":
            arrays.append(numbers(parts))
        elif kind is None:
            arrays.append(_of_other_type(parts))
        else:
            arrays.append(pa.chunked_array(parts, kind))
    return pa.Table.from_arrays(arrays, names=names)


def numbers(values: Iterable[Decimal | None]) -> pa.Array:
    """Return exact numbers as doubles; ids that no double holds as decimals or, if long, texts."""
    import pyarrow as pa

    values = list(values)
    known = [value for value in values if value is not None]
    if all(value.is_finite() for value in known) and any(
        abs(value) > _EXACT and value == value.to_integral_value() for value in known
    ):
        return _of_other_type(values)
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _of_other_type(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in values], pa.string())


# ---- ADBC ----------------------------------------------------------------------------------------


class Adbc(PostgresDriver):
    """A connection of an ADBC driver, in the form of its module `dbapi`.

    Args:
        connection: the connection.
        vendor: the name of the system that the driver reports.
    """

    def __init__(self, connection: Any, vendor: str = "") -> None:
        super().__init__(connection)
        self._vendor = vendor

    @property
    def dialect(self) -> str:
        """The dialect of the system that the driver connects to."""
        return {"PostgreSQL": "postgres"}.get(self._vendor, self._vendor.lower())

    def state(self) -> State:
        """Return the state that libpq reports."""
        from adbc_driver_manager import Error

        try:
            text = self.connection.adbc_connection.get_option("adbc.postgresql.transaction_status")
        except (Error, ValueError):  # closed
            return State.CLOSED
        return State(text)

    @property
    def autocommit(self) -> bool:
        """Whether the connection starts no transaction by itself."""
        return bool(self.connection._autocommit)

    def run(self, statement: str) -> None:
        """Run a statement whose rows do not matter."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement)

    def fetch(self, statement: str) -> pa.Table:
        """Run a query and return its rows."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            table = cursor.fetch_arrow_table()
        return _plain(table)

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The class of all errors of ADBC."""
        from adbc_driver_manager import Error

        return (Error,)

    def reason(self, error: BaseException) -> str:
        """Return the message of the server, without the statement."""
        text = str(error).partition("\nLINE ")[0].partition("Query was:")[0]
        text = text.rpartition("ERROR:")[2].partition(" SQLSTATE")[0]
        return one_line(text) or type(error).__name__

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def _plain(table: pa.Table) -> pa.Table:
    """Return exact numbers, which the driver returns as texts, as numbers, and UUIDs as texts."""
    import pyarrow as pa

    fields, arrays = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        kind, array = field.type, column
        if getattr(kind, "extension_name", "") == "arrow.opaque":
            array = pa.chunked_array(
                [chunk.storage for chunk in column.chunks], type=kind.storage_type
            )
            if kind.type_name == "numeric":
                values = [None if text is None else Decimal(text) for text in array.to_pylist()]
                array = numbers(values)
        elif getattr(kind, "extension_name", "") == "arrow.uuid":
            texts = [None if value is None else str(value) for value in column.to_pylist()]
            array = pa.chunked_array([texts], pa.string())
        fields.append(pa.field(field.name, array.type))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


# ---- opening -------------------------------------------------------------------------------------


def driver_of(given: Any, wanted: str | None = None) -> Driver | None:
    """Return the driver of a connection; None if the object is not a connection of a known one.

    The connection may be inside a connection of SQLAlchemy or a backend of Ibis.

    Args:
        given: the connection.
        wanted: the dialect that the user gave, for connections that can lead to any system.

    Raises:
        UsageError: the connection is closed, asynchronous, or of a library that is not supported.
    """
    from sqlmetrics.engines import clickhouse_drivers as clickhouse
    from sqlmetrics.engines import warehouse_drivers as warehouse
    from sqlmetrics.engines.database_wrappers import connection_in

    connection = connection_in(given)

    kinds: dict[tuple[str, str], Callable[[Any], Driver]] = {
        ("psycopg", "Connection"): Psycopg,
        ("adbc_driver_manager.dbapi", "Connection"): lambda one: _of_adbc(one, wanted),
        ("clickhouse_connect.driver.client", "Client"): clickhouse.ClickHouseConnect,
        ("chdb.session.state", "Session"): clickhouse.Chdb,
        ("chdb.state.sqlitelike", "Connection"): clickhouse.Chdb,
        ("chdb.dbapi.connections", "Connection"): clickhouse.Chdb,
        ("snowflake.connector", "SnowflakeConnection"): warehouse.Snowflake,
        ("google.cloud.bigquery", "Client"): warehouse.BigQuery,
        ("databricks.sql.client", "Connection"): warehouse.Databricks,
        ("trino.dbapi", "Connection"): warehouse.Trino,
    }
    module = type(connection).__module__.partition(".")[0]
    is_asynchronous = _is_asynchronous(connection)
    for (of_class, name), driver in kinds.items():
        found = getattr(sys.modules.get(of_class), name, None)
        if found is not None and isinstance(connection, found) and not is_asynchronous:
            opened = driver(connection)
            opened.owner = given
            return opened
    has_cursors = all(hasattr(connection, name) for name in ("cursor", "commit", "rollback"))
    if not has_cursors and not is_asynchronous:
        return None
    if module in ("duckdb", "_duckdb"):
        raise UsageError("engine: pass a DuckDB connection as connection=…")
    what = "an asynchronous connection" if is_asynchronous else "a connection"
    raise UsageError(
        f"engine: {what} of {module} is not supported",
        remedy="open the connection with psycopg.connect(…), "
        "adbc_driver_postgresql.dbapi.connect(…), clickhouse_connect.get_client(…), "
        "chdb.connect(…), snowflake.connector.connect(…), google.cloud.bigquery.Client(…), "
        "databricks.sql.connect(…) or trino.dbapi.connect(…)",
    )


def _of_adbc(connection: Any, wanted: str | None) -> Driver:
    """Return the driver of a connection of ADBC, by the system that it leads to.

    Raises:
        UsageError: the dialect of the system is not known.
    """
    from sqlmetrics.engines import warehouse_drivers as warehouse

    if getattr(connection, "_closed", False):
        raise UsageError("the connection is closed", remedy="open a new connection")
    driver = Adbc(connection)
    is_idle = driver.state() is State.IDLE and not driver.autocommit
    try:
        about = connection.adbc_get_info()
        if is_idle:  # the driver has begun a transaction, which would be taken for the user's
            connection.rollback()
    except Exception as error:  # of the driver, e.g. while another thread uses the connection
        raise EngineError(
            f"the connection cannot be used: {one_line(str(error))}",
            remedy="use a connection of ADBC in one thread",
        ) from error
    vendor = str(about.get("vendor_name", ""))
    is_flight_sql = "Flight SQL" in str(about.get("driver_name", ""))
    dialect = warehouse.dialect_of_vendor(vendor, wanted if is_flight_sql else None)
    if dialect is not None:
        return warehouse.AdbcWarehouse(connection, dialect)
    if is_flight_sql:
        raise no_dialect(vendor)
    return Adbc(connection, vendor)


def no_dialect(vendor: str) -> UsageError:
    """Return the error about a system of Flight SQL whose dialect is not known."""
    return UsageError(
        f"engine: the dialect of {vendor or 'this system'} is not known",
        remedy=f"give dialect=… with one of {', '.join(WAREHOUSES)}; in a URL, add ?dialect=…",
    )


def _is_asynchronous(connection: Any) -> bool:
    import inspect

    # the method that commits or, in ClickHouse, runs a statement
    methods = (getattr(type(connection), name, None) for name in ("commit", "command"))
    return any(inspect.iscoroutinefunction(method) for method in methods)


def connect(url: str, wanted: str | None = None) -> Driver:
    """Connect to the database of a URL.

    Args:
        url: the URL.
        wanted: the dialect that the user gave, for protocols of several systems.

    Raises:
        UsageError: the driver is not installed, or the URL is not valid.
        EngineError: the connection cannot be made.
    """
    scheme, separator, rest = url.partition("://")
    url = scheme.lower() + separator + rest  # libraries read POSTGRES:// as something else
    if dialect_of(url) == "clickhouse":
        from sqlmetrics.engines import clickhouse_drivers

        return clickhouse_drivers.connect(url)
    if dialect_of(url) == "postgres":
        return _connect_to_postgres(url)
    from sqlmetrics.engines import warehouse_urls

    return warehouse_urls.connect(url, wanted)


def without_driver(url: str, error: ImportError, module: str, extra: str) -> UsageError:
    """Return the error about a driver that is not installed."""
    return UsageError(
        f"{masked_url(url)} needs {module}, which cannot be imported ({error}); run "
        f"pip install 'sqlmetrics[{extra}]'"
    )


def unread(url: str) -> UsageError:
    """Return the error about a URL that has no single meaning; it quotes nothing of the URL."""
    return UsageError(
        "the URL of the database cannot be read",
        remedy=f"write {FORMS[dialect_of(url)]}, with special characters in percent notation "
        "(%40 for @)",
    )


def no_connection(url: str, why: str, remedy: str) -> EngineError:
    """Return the error about a connection that could not be made, without passwords."""
    return EngineError(
        f"no connection to {masked_url(url)}: {without_secrets(why, url)}", remedy=remedy
    )


def _connect_to_postgres(url: str) -> Driver:
    try:
        import psycopg
    except ImportError as error:
        raise without_driver(url, error, "psycopg", "postgres") from error
    if not is_clear(url):
        raise unread(url)
    try:
        return Psycopg(psycopg.connect(url, autocommit=True, application_name="sqlmetrics"))
    except psycopg.ProgrammingError:
        # the message of a parser, and the error with it, may quote any part of the URL
        raise unread(url) from None
    except psycopg.Error as error:
        raise no_connection(
            url,
            one_line(str(error)),
            "check the host, the port, the user and the password, which libpq also reads from "
            "PGPASSWORD or ~/.pgpass",
        ) from None
