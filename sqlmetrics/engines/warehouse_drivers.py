"""Run statements through the drivers of warehouses.

A driver runs queries only, and cancels the running query when Ctrl-C interrupts it. Nothing here
imports a library unless a connection of it is given.
"""

from __future__ import annotations

import contextlib
import re
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlmetrics import interrupts
from sqlmetrics.engines.database_drivers import Driver, one_line, table_of
from sqlmetrics.engines.database_urls import WAREHOUSES
from sqlmetrics.engines.warehouse_types import (
    arrow_of_trino,
    as_duckdb_returns,
    in_lower_case,
    of_arrow,
    of_bigquery,
    of_snowflake,
    of_trino,
)
from sqlmetrics.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 50_000  # rows that are fetched at a time
_PAUSE = 0.1
_LOST = ""  # the code of a lost connection and of other errors without one
_PREFIX_OF_SNOWFLAKE = re.compile(r"\A\d+ \(\w+\): ([0-9a-f-]{36}: )?")
_SQLSTATE = re.compile(r"\bSQLSTATE: (\w{5})\b")
_OF_ADBC = re.compile(r"\A[A-Z_]+: (?:\[[^\]]*\] )?|\s*\(\w+; \w+\)\.?(?: Vendor code: \d+)?\s*\Z")


@dataclass(frozen=True)
class SourceColumn:
    """A column of a table as the system describes it.

    Args:
        name: its exact name.
        type: its type, as DuckDB calls it.
        cast: whether it is read by a cast to this type.
        collation: its collation; empty if texts are compared by their bytes.
    """

    name: str
    type: str
    cast: bool = False
    collation: str = ""


class WarehouseDriver(Driver):
    """A connection to a warehouse."""

    @property
    def is_closed(self) -> bool:
        """Whether the connection is closed; False if the library has no such state."""
        return False

    @abstractmethod
    def columns(self, path: str) -> list[SourceColumn]:
        """Return the columns of a table, without reading its rows."""

    def with_collations(self, path: str, columns: list[SourceColumn]) -> list[SourceColumn]:  # noqa: ARG002
        """Return columns with their collations, as far as `columns` does not have them."""
        return columns

    @abstractmethod
    def tables(self) -> list[str]:
        """Return the names of the tables of the current schema."""

    def bytes_read(self, statement: str) -> int | None:  # noqa: ARG002
        """Return the bytes that a query would read; None if the system does not bill them."""
        return None

    def run(self, statement: str) -> None:
        """Run a query whose rows do not matter."""
        self.fetch(statement)

    def rows(self, statement: str) -> list[dict[str, Any]]:
        """Run a statement that is not a query, such as SHOW, and return its rows."""
        return list(self.fetch(statement).to_pylist())

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


@contextlib.contextmanager
def _stopping(stop: Callable[[], object]) -> Iterator[None]:
    """Stop the statement inside in the system if it is interrupted."""

    def stop_quietly() -> None:
        with contextlib.suppress(Exception):
            stop()

    interrupts.add(stop_quietly)
    try:
        yield
    except KeyboardInterrupt:
        stop_quietly()
        raise
    finally:
        interrupts.drop(stop_quietly)


# ---- connections with cursors --------------------------------------------------------------------


class CursorDriver(WarehouseDriver):
    """A connection of the DBAPI, whose cursors run statements."""

    @abstractmethod
    def _table(self, cursor: Any) -> pa.Table:
        """Return the rows of the statement that a cursor has run."""

    @abstractmethod
    def _columns(self, cursor: Any) -> list[SourceColumn]:
        """Return the columns of the query without rows that a cursor has run."""

    def _cancel(self, cursor: Any) -> object:
        """Cancel the statement that a cursor runs."""
        return cursor.cancel()

    def _execute(self, cursor: Any, statement: str) -> None:
        cursor.execute(statement)

    @contextlib.contextmanager
    def _ran(self, statement: str) -> Iterator[Any]:
        """Run a statement, and return its cursor."""
        with (
            contextlib.closing(self.connection.cursor()) as cursor,
            _stopping(lambda: self._cancel(cursor)),
        ):
            self._execute(cursor, statement)
            yield cursor

    def fetch(self, statement: str) -> pa.Table:
        """Run a query and return its rows."""
        with self._ran(statement) as cursor:
            return self._table(cursor)

    def rows(self, statement: str) -> list[dict[str, Any]]:
        """Run a statement and return its rows."""
        with self._ran(statement) as cursor:
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def columns(self, path: str) -> list[SourceColumn]:
        """Return the columns of a table, which a query without rows describes."""
        with self._ran(_no_rows(path)) as cursor:
            return self._columns(cursor)

    def _names(self, statement: str, column: str) -> list[str]:
        return [str(row[column]) for row in self.rows(statement)]

    def _collations(self, path: str, columns: list[SourceColumn]) -> list[SourceColumn]:
        """Add the collations of the columns of texts, which the first row shows."""
        texts = [column for column in columns if column.type == "VARCHAR" and not column.cast]
        if not texts:
            return columns
        asked = ", ".join(
            f"COLLATION({self._quoted(column.name)}) AS c{place}"
            for place, column in enumerate(texts)
        )
        found = [*self.rows(f"SELECT {asked} FROM {path} LIMIT 1"), {}][0]
        named = dict(zip((column.name for column in texts), found.values(), strict=False))
        return [
            SourceColumn(one.name, one.type, one.cast, _of_bytes(named.get(one.name)))
            for one in columns
        ]

    def _quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'


def _no_rows(path: str) -> str:
    """Return a query that describes a table without reading its rows."""
    return f"SELECT * FROM {path} WHERE FALSE LIMIT 0"


def _of_bytes(collation: object) -> str:
    """Return a collation, or an empty text if it compares bytes."""
    text = str(collation or "")
    return "" if text.rpartition(".")[2].lower() in ("utf8", "utf8_binary", "bin") else text


class Snowflake(CursorDriver):
    """A connection of snowflake-connector-python."""

    dialect = "snowflake"

    @property
    def is_closed(self) -> bool:
        """Whether the connection is closed."""
        return bool(self.connection.is_closed())

    def _execute(self, cursor: Any, statement: str) -> None:
        """Run a statement in a thread of its own, because the connector blocks interrupts."""
        failures: list[BaseException] = []

        def work() -> None:
            try:
                cursor.execute(statement)
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=work, name="sqlmetrics-snowflake", daemon=True)
        thread.start()
        while thread.is_alive():
            thread.join(_PAUSE)  # other libraries, such as ADBC's, let a longer wait go on
        if failures:
            raise failures[0]

    def _table(self, cursor: Any) -> pa.Table:
        table = as_duckdb_returns(cursor.fetch_arrow_all(force_return_table=True))
        return table.rename_columns([in_lower_case(name) for name in table.column_names])

    def _columns(self, cursor: Any) -> list[SourceColumn]:
        return [
            SourceColumn(name, *of_snowflake(code, scale))
            for name, code, _, _, _, scale, *_ in cursor.description
        ]

    def with_collations(self, path: str, columns: list[SourceColumn]) -> list[SourceColumn]:
        """Return columns with their collations."""
        return self._collations(path, columns)

    def rows(self, statement: str) -> list[dict[str, Any]]:
        """Run a statement and return its rows, with names in lower case."""
        return [
            {in_lower_case(name): value for name, value in row.items()}
            for row in super().rows(statement)
        ]

    def tables(self) -> list[str]:
        """Return the names of the tables of the current schema."""
        return [
            in_lower_case(name)
            for kind in ("TABLES", "VIEWS")
            for name in self._names(f"SHOW {kind}", "name")
        ]

    def _cancel(self, cursor: Any) -> object:  # noqa: ARG002
        """Cancel the statements of the session; the library names a statement after its end."""
        with contextlib.closing(self.connection.cursor()) as other:
            return other.execute("SELECT SYSTEM$CANCEL_ALL_QUERIES(CURRENT_SESSION())")

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The class of all errors of the connector."""
        from snowflake.connector.errors import Error

        return (Error,)

    def code(self, error: BaseException) -> str:
        """Return the code of the SQL standard, such as 42S02."""
        return str(getattr(error, "sqlstate", None) or _LOST)

    def reason(self, error: BaseException) -> str:
        """Return the message of Snowflake in one line, without numbers."""
        text = str(getattr(error, "msg", None) or error)
        return one_line(_PREFIX_OF_SNOWFLAKE.sub("", text)) or type(error).__name__


class Databricks(CursorDriver):
    """A connection of databricks-sql-connector."""

    dialect = "databricks"

    @property
    def is_closed(self) -> bool:
        """Whether the connection is closed."""
        return not self.connection.open

    def _table(self, cursor: Any) -> pa.Table:
        return as_duckdb_returns(cursor.fetchall_arrow())

    def _columns(self, cursor: Any) -> list[SourceColumn]:
        schema = cursor.fetchall_arrow().schema
        return [SourceColumn(field.name, of_arrow(field.type)) for field in schema]

    def with_collations(self, path: str, columns: list[SourceColumn]) -> list[SourceColumn]:
        """Return columns with their collations, where the system has them."""
        try:
            return self._collations(path, columns)
        except self.errors:  # a system without collations does not know the function
            return columns

    def _quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def tables(self) -> list[str]:
        """Return the names of the tables of the current schema."""
        return self._names("SHOW TABLES", "tableName")

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The class of all errors of the connector."""
        from databricks.sql.exc import Error

        return (Error,)

    def code(self, error: BaseException) -> str:
        """Return the code of the SQL standard, such as 42P01, which ends the message."""
        found = _SQLSTATE.search(str(error))
        return found[1] if found else _LOST

    def reason(self, error: BaseException) -> str:
        """Return the message of Databricks in one line, without the statement."""
        return one_line(str(error).partition(" SQLSTATE:")[0]) or type(error).__name__


class Trino(CursorDriver):
    """A connection of the trino client."""

    dialect = "trino"

    def _table(self, cursor: Any) -> pa.Table:
        batches = list(iter(lambda: cursor.fetchmany(_ROWS), []))
        names = [column[0] for column in cursor.description]
        kinds = [arrow_of_trino(column[1]) for column in cursor.description]
        return table_of(names, kinds, batches)

    def _columns(self, cursor: Any) -> list[SourceColumn]:
        cursor.fetchall()  # the description is complete at the end
        return [SourceColumn(name, *of_trino(kind)) for name, kind, *_ in cursor.description]

    def tables(self) -> list[str]:
        """Return the names of the tables of the current schema."""
        return self._names("SHOW TABLES", "Table")

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The classes of errors of the client, and of its connections."""
        from requests import RequestException
        from trino.exceptions import Error, HttpError

        return Error, HttpError, RequestException

    def code(self, error: BaseException) -> str:
        """Return the name of the error, such as TABLE_NOT_FOUND."""
        return str(getattr(error, "error_name", None) or _LOST)

    def reason(self, error: BaseException) -> str:
        """Return the message of Trino in one line, without its place in the statement."""
        text = str(getattr(error, "message", None) or error)
        return one_line(re.sub(r"\Aline \d+:\d+: ", "", text)) or type(error).__name__


# ---- BigQuery ------------------------------------------------------------------------------------


class BigQuery(WarehouseDriver):
    """A client of google-cloud-bigquery."""

    dialect = "bigquery"

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        default = connection.default_query_job_config
        if default is not None and default.destination is not None:
            raise UsageError(
                "engine: the client of BigQuery writes the results of all queries to "
                f"{default.destination.table_id}",
                remedy="remove destination from default_query_job_config, or pass another client",
            )

    def _job(self, statement: str, dry_run: bool) -> Any:
        from google.cloud.bigquery import QueryJobConfig

        config = QueryJobConfig(use_legacy_sql=False, dry_run=dry_run)
        return self.connection.query(statement, job_config=config)

    def fetch(self, statement: str) -> pa.Table:
        """Run a query and return its rows."""
        job = self._job(statement, dry_run=False)
        with _stopping(job.cancel):
            table = job.result().to_arrow(create_bqstorage_client=False)
        return as_duckdb_returns(table)

    def columns(self, path: str) -> list[SourceColumn]:
        """Return the columns of a table from a dry run, which reads and costs nothing."""
        job = self._job(f"SELECT * FROM {path}", dry_run=True)
        return [
            SourceColumn(
                field.name,
                of_bigquery(field.field_type, field.mode == "REPEATED"),
                collation=str(field.to_api_repr().get("collation") or ""),
            )
            for field in job.schema
        ]

    def bytes_read(self, statement: str) -> int | None:
        """Return the bytes that a query would read, from a dry run."""
        return int(self._job(statement, dry_run=True).total_bytes_processed)

    def tables(self) -> list[str]:
        """Return the names of the tables of the default dataset."""
        default = self.connection.default_query_job_config
        dataset = None if default is None else default.default_dataset
        if dataset is None:
            return []
        # the names are only for a message, so one try is enough
        return [table.table_id for table in self.connection.list_tables(dataset, retry=None)]

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The classes of errors of the client, of its credentials and of its connections."""
        from google.api_core.exceptions import GoogleAPIError
        from google.auth.exceptions import GoogleAuthError
        from requests import RequestException

        return GoogleAPIError, GoogleAuthError, RequestException

    def code(self, error: BaseException) -> str:
        """Return the reason that BigQuery names, such as notFound."""
        return str(_detail(error).get("reason") or _LOST)

    def reason(self, error: BaseException) -> str:
        """Return the message of BigQuery in one line, without the address of the request."""
        text = str(_detail(error).get("message") or getattr(error, "message", None) or error)
        return one_line(text.partition("\n\n")[0]) or type(error).__name__


def _detail(error: BaseException) -> dict[str, Any]:
    """Return what BigQuery says about an error; empty for other errors."""
    first = (getattr(error, "errors", None) or [{}])[0]
    return first if isinstance(first, dict) else {}


# ---- ADBC ----------------------------------------------------------------------------------------


class AdbcWarehouse(WarehouseDriver):
    """A connection of an ADBC driver for Snowflake, BigQuery or Flight SQL.

    Args:
        connection: the connection.
        dialect: the dialect of the system.
    """

    def __init__(self, connection: Any, dialect: str) -> None:
        super().__init__(connection)
        self._dialect = dialect

    @property
    def dialect(self) -> str:
        """The dialect of the system."""
        return self._dialect

    @property
    def is_closed(self) -> bool:
        """Whether the connection is closed."""
        return bool(getattr(self.connection, "_closed", False))

    def fetch(self, statement: str) -> pa.Table:
        """Run a query and return its rows."""
        with self.connection.cursor() as cursor, _stopping(cursor.adbc_cancel):
            cursor.execute(statement)
            table = cursor.fetch_arrow_table()
        if not table.column_names:  # some servers describe no result without rows
            table = self._schema(statement).empty_table()
        table = as_duckdb_returns(table)
        return table.rename_columns(list(map(self._name, table.column_names)))

    def _name(self, name: str) -> str:
        return in_lower_case(name) if self.dialect == "snowflake" else name

    def _schema(self, statement: str) -> pa.Schema:
        """Return the schema of a query, without running it if the driver can."""
        with self.connection.cursor() as cursor:
            try:
                return cursor.adbc_execute_schema(statement)
            except self.connection.NotSupportedError:
                cursor.execute(statement)
                return cursor.fetch_arrow_table().schema

    def columns(self, path: str) -> list[SourceColumn]:
        """Return the columns of a table, from the schema of a query without rows."""
        schema = self._schema(_no_rows(path))
        return [SourceColumn(field.name, self._type(field.type)) for field in schema]

    def _type(self, kind: pa.DataType) -> str:
        import pyarrow as pa

        if self.dialect == "snowflake" and pa.types.is_decimal(kind) and kind.scale == 0:
            return "BIGINT"  # an integer of Snowflake
        return of_arrow(kind)

    def tables(self) -> list[str]:
        """Return the names of the tables, if the driver can list them."""
        catalogs = self.connection.adbc_get_objects(depth="tables").read_all().to_pylist()
        return [
            table["table_name"]
            for catalog in catalogs
            for schema in catalog["catalog_db_schemas"] or ()
            for table in schema["db_schema_tables"] or ()
        ]

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The class of all errors of ADBC."""
        from adbc_driver_manager import Error

        return (Error,)

    def code(self, error: BaseException) -> str:
        """Return the code of the SQL standard, or the name of the state of ADBC."""
        status = getattr(getattr(error, "status_code", None), "name", "")
        return str(getattr(error, "sqlstate", None) or status or _LOST)

    def reason(self, error: BaseException) -> str:
        """Return the message of the system in one line."""
        return one_line(_OF_ADBC.sub("", str(error))) or type(error).__name__


_VENDORS = {"Snowflake": "snowflake", "BigQuery": "bigquery"}


def dialect_of_vendor(vendor: str, wanted: str | None) -> str | None:
    """Return the dialect of a system that an ADBC driver connects to; None if it is not known.

    Args:
        vendor: the name that the driver reports.
        wanted: the dialect that the user gave.
    """
    if known := _VENDORS.get(vendor):
        return known
    if "datafusion" in vendor.lower():
        return "datafusion"
    return wanted if wanted in WAREHOUSES else None
