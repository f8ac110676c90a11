"""Differences between databases: transactions, the catalog, types, and codes of errors.

The differences of ClickHouse are in `clickhouse`.
"""

from __future__ import annotations

import contextlib
import enum
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sqlmetrics.engines.database_drivers import Driver, PostgresDriver, State
from sqlmetrics.errors import UsageError
from sqlmetrics.messages import Argument, Command, Message
from sqlmetrics.sql.quoting import identifier, literal
from sqlmetrics.sql.templates import render_file


def print_instead(dialect: str) -> Message:
    """Return the remedy for a system in which no statement runs."""
    return Message(
        "print the statement with ", Argument("dialect", dialect), " of ", Command("sql"),
        " and run it there",
    )  # fmt: skip


class Problem(enum.Enum):
    """The subject of an error of a database."""

    TABLE = enum.auto()  # a table or schema is missing, or may not be read
    DENIED = enum.auto()  # a table or schema may not be read, as far as a system distinguishes it
    QUERY = enum.auto()  # the query is not valid
    ROWS = enum.auto()  # a value of a row cannot be computed with
    STOPPED = enum.auto()  # a time limit, or somebody else, stopped the statement
    OTHER = enum.auto()  # the connection, memory, disk


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Args:
        name: its name.
        type: its type, as DuckDB calls it.
        cast: whether queries read it as a value of this type, because the database compares or
            returns the values of its own type in another way.
        readable: whether the role may read it.
        spelled: its name in the database, quoted, if `name` would mean another column there.
    """

    name: str
    type: str
    cast: bool = False
    readable: bool = True
    spelled: str = ""


@dataclass(frozen=True)
class FoundTable:
    """A table or view.

    Args:
        schema: its schema; empty for a temporary table that has none.
        name: its name.
        columns: its columns.
        collation: the collation in which casts to texts compare bytes; empty if all texts do.
    """

    schema: str
    name: str
    columns: tuple[Column, ...]
    collation: str = ""

    @property
    def path(self) -> str:
        """Return its qualified name, quoted."""
        return ".".join(identifier(name) for name in (self.schema, self.name) if name)

    @property
    def relation(self) -> str:
        """Return the FROM clause that reads its columns, in DuckDB's SQL."""
        if not any(column.cast or column.spelled for column in self.columns):
            return self.path
        columns = ", ".join(map(self._read, self.columns))
        return f"(SELECT {columns} FROM {self.path})"

    def _read(self, column: Column) -> str:
        name = identifier(column.name)
        value = column.spelled or name
        if column.cast:
            collate = f" COLLATE {identifier(self.collation)}" if self.collation else ""
            return f"CAST({value} AS {column.type}){collate} AS {name}"
        return f"{value} AS {name}" if column.spelled else name


class Database(ABC):
    """The dialect of a database, and what a connection to it can do.

    Attributes:
        dialect: the name of the dialect.
        title: the name of the system in messages.
        limits: examples of settings of the database that stop a statement.
        several_moments: why the statements of a call may read rows of several moments; empty if
            they read those of one moment.
    """

    dialect: str
    title: str
    limits: str
    several_moments: str = ""

    @abstractmethod
    def version(self) -> str:
        """Return the version of the server.

        Raises:
            UsageError: statements do not run in this version, or not with this role.
        """

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Run what follows with fixed settings, and leave nothing behind."""

    @abstractmethod
    def may_create(self) -> bool:
        """Return whether temporary tables can be created in the current transaction."""

    @abstractmethod
    def create(self, name: str, statement: str) -> None:
        """Create a temporary table with the rows of a query."""

    @abstractmethod
    def rows_of(self, name: str) -> str:
        """Return the query of all rows of a temporary table."""

    @abstractmethod
    def find(self, name: str) -> FoundTable | None:
        """Find a table or view by its name, as the database reads the name."""

    @abstractmethod
    def found_again(self, known: FoundTable) -> FoundTable | None:
        """Find a table again that `find` has found."""

    @abstractmethod
    def tables(self) -> list[str] | None:
        """Return the names of the tables, without their schema where it is not needed.

        None if they cannot be listed.
        """

    def states(self, tables: Iterable[FoundTable]) -> Mapping[str, object]:  # noqa: ARG002
        """Return values that change when the rows of tables change: path -> value.

        Only for tables whose rows may change between the statements of a call.
        """
        return {}

    def bytes_read(self, statement: str) -> int | None:  # noqa: ARG002
        """Return the bytes that a statement would read; None if the system has no estimate."""
        return None

    @abstractmethod
    def problem(self, error: BaseException) -> Problem:
        """Return the subject of an error."""


# type of Postgres, without its length -> type of DuckDB. Values of other types are read as texts:
# drivers return them in different ways, and texts that are equal can have different letters.
_TYPES = {
    "smallint": "SMALLINT", "integer": "INTEGER", "bigint": "BIGINT", "real": "FLOAT",
    "double precision": "DOUBLE", "numeric": "DECIMAL", "boolean": "BOOLEAN", "text": "VARCHAR",
    "character varying": "VARCHAR", "character": "VARCHAR", "bpchar": "VARCHAR", "name": "VARCHAR",
    "date": "DATE", "timestamp without time zone": "TIMESTAMP",
    "timestamp with time zone": "TIMESTAMP WITH TIME ZONE", "time without time zone": "TIME",
    "uuid": "UUID", "bytea": "BLOB",
}  # fmt: skip
_OLDEST = 12  # version with CTEs that are materialised on request
_OTHERS = ("Redshift", "Greenplum")  # systems whose version starts like that of Postgres
# settings that change texts of numbers and times, or the meaning of a statement
_SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "3",  # doubles without loss, before Postgres 12, too
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "client_encoding": "UTF8",
    "idle_in_transaction_session_timeout": "0",  # DuckDB may compute in the meantime
}
# Statements find functions, operators and types in pg_catalog only. With the search path of the
# session, another role could create an operator that fits the types of a statement better, and the
# statement would run the code of that role as the caller (CVE-2018-1058). SET looks up no names.
_SAFE_PATH = "SET LOCAL search_path = pg_catalog, pg_temp"
# the only statement before it, so all its names have a schema
_SESSION_SCHEMAS = "SELECT pg_catalog.current_schemas(true) AS schemas"
# with the default of 4 MB, 9 metrics of 10 million rows did not end in 30 minutes; with 64 MB, they
# take one
_MORE_MEMORY = (
    "(SELECT set_config('work_mem', greatest(setting::bigint, 65536)::text, true) "
    "FROM pg_catalog.pg_settings WHERE name = 'work_mem')"
)
_CODES = (
    (Problem.TABLE, ("42P01", "42501", "3F000")),
    (Problem.STOPPED, ("57014", "57P01", "57P02", "57P03", "25P03", "25P04")),
    (Problem.QUERY, ("42", "0A")),
    (Problem.ROWS, ("22",)),
)


class Postgres(Database):
    """Postgres.

    Everything runs in a transaction that is rolled back, so that nothing remains: neither temporary
    tables nor settings. In a transaction of the user, a savepoint takes its place.
    """

    dialect = "postgres"
    title = "Postgres"
    limits = "statement_timeout"
    _SAVEPOINT = "sqlmetrics"

    def __init__(self, driver: Driver) -> None:
        assert isinstance(driver, PostgresDriver)
        self.driver = driver
        self._schemas: list[str] = []  # in which the session looks up names, in this order

    def version(self) -> str:
        """Return the version of the server.

        Raises:
            UsageError: the server is too old, or another system that speaks the same protocol.
        """
        (row,) = self.driver.fetch("SELECT version() AS v").to_pylist()
        text = str(row["v"])
        match = re.match(r"PostgreSQL (\d+)\S*", text)
        if match is None or int(match[1]) < _OLDEST or any(name in text for name in _OTHERS):
            shown = " ".join(text.split()[:2])
            raise UsageError(
                f"engine: sqlmetrics runs statements in Postgres {_OLDEST} or newer, and the "
                f"server is {shown}",
                remedy=print_instead("postgres"),
            )
        return match[0].removeprefix("PostgreSQL ")

    # ---- transactions ----------------------------------------------------------------------------

    def check_state(self) -> State:
        """Return the state of a connection that can be used.

        Raises:
            UsageError: the connection cannot be used now.
        """
        state = self.driver.state()
        problems = {
            State.CLOSED: ("is closed", "open a new connection and create a new Evaluator"),
            State.FAILED: (
                "is in a transaction that has failed",
                "end the transaction with connection.rollback()",
            ),
            State.BUSY: (
                "is running another statement",
                "wait for its end, or open a connection for sqlmetrics alone",
            ),
        }
        if problem := problems.get(state):
            raise UsageError(f"the connection {problem[0]}", remedy=problem[1])
        return state

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run what follows in a transaction, or after a savepoint, and undo it.

        The rows of all statements are those of one moment, unless the transaction is the user's.
        Only built-in functions and temporary tables have names without a schema.
        """
        run, within = self.driver.run, self.check_state() is State.OPEN
        if within:
            run(f"SAVEPOINT {self._SAVEPOINT}")
        elif self.driver.autocommit:
            run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        else:  # the driver begins
            run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        try:
            self._schemas = self.driver.fetch(_SESSION_SCHEMAS)["schemas"][0].as_py()
            run(_SAFE_PATH)
            calls = [f"set_config({literal(k)}, {literal(v)}, true)" for k, v in _SETTINGS.items()]
            run(f"SELECT {', '.join([*calls, _MORE_MEMORY])}")
            yield
        finally:
            # after the connection is lost, the server undoes the same
            with contextlib.suppress(*self.driver.errors):
                if within:
                    run(f"ROLLBACK TO SAVEPOINT {self._SAVEPOINT}")
                    run(f"RELEASE SAVEPOINT {self._SAVEPOINT}")
                elif self.driver.autocommit:
                    run("ROLLBACK")
                else:
                    self.driver.connection.rollback()

    def may_create(self) -> bool:
        """Return whether temporary tables can be created in the current transaction."""
        (row,) = self.driver.fetch(
            "SELECT has_database_privilege(current_database(), 'TEMPORARY') "
            "AND NOT current_setting('transaction_read_only')::boolean AS may"
        ).to_pylist()
        return bool(row["may"])

    def create(self, name: str, statement: str) -> None:
        """Create a temporary table with the rows of a query, and let the planner know its rows."""
        self.driver.run(f"CREATE TEMPORARY TABLE pg_temp.{name} AS {statement}")
        self.driver.run(f"ANALYZE pg_temp.{name}")

    def rows_of(self, name: str) -> str:
        """Return the query of all rows of a temporary table."""
        return f"SELECT * FROM pg_temp.{name}"

    # ---- catalog ---------------------------------------------------------------------------------

    def find(self, name: str) -> FoundTable | None:
        """Find a table or view by its name, as the database reads the name."""
        asked = {"name": name, "schemas": self._schemas}
        tables = self.driver.fetch(render_file("databases/postgres/table", asked)).to_pylist()
        if not tables:
            return None
        rows = self.driver.fetch(render_file("databases/postgres/columns", tables[0])).to_pylist()
        if not rows:
            return None
        found = (_column(row) for row in rows if row["column_name"] is not None)
        return FoundTable(
            rows[0]["schema_name"], rows[0]["table_name"], tuple(found), collation="C"
        )

    def found_again(self, known: FoundTable) -> FoundTable | None:
        """Find a table again that `find` has found."""
        return self.find(known.path)

    def tables(self) -> list[str]:
        """Return the names of the tables, without their schema where it is not needed."""
        rows = self.driver.fetch(
            render_file("databases/postgres/tables", {"schemas": self._schemas})
        )
        return [str(row["label"]) for row in rows.to_pylist()]

    # ---- errors ----------------------------------------------------------------------------------

    def problem(self, error: BaseException) -> Problem:
        """Return the subject of an error."""
        state = self.driver.code(error)
        for problem, starts in _CODES:
            if state.startswith(starts):
                return problem
        return Problem.OTHER


def _column(row: Mapping[str, Any]) -> Column:
    """Return a column of the catalog."""
    kind = type_of(row["full_type"])
    cast = not row["is_deterministic"] or kind.removesuffix("[]") not in _TYPES.values()
    text = "VARCHAR[]" if kind.endswith("[]") else "VARCHAR"
    return Column(row["column_name"], text if cast else kind, cast, row["readable"])


def type_of(name: str) -> str:
    """Translate a type of Postgres such as `character varying[]` into a type of DuckDB."""
    if name.endswith("[]"):
        return f"{type_of(name.removesuffix('[]'))}[]"
    return _TYPES.get(re.sub(r"\(.*?\)", "", name), name.upper())
