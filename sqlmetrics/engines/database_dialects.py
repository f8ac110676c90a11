"""Differences between databases: the catalog, names, collations, and the meaning of errors.

`Dialect` is what systems without transactions have in common. Nothing is created there: every
statement computes the queries that it reads, so a role that may only read is enough.
"""

from __future__ import annotations

import contextlib
import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sqlmetrics.engines.arrow_types import types_of
from sqlmetrics.engines.connection import Connection, FailedStatement
from sqlmetrics.engines.database_systems import SYSTEMS
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.sql import names
from sqlmetrics.sql.dialects import PRINTED_AS
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.templates import render_file
from sqlmetrics.sql.transpile import table_of
from sqlmetrics.texts.messages import Argument, Command, Message

_BY_BYTES = ("", "utf8", "utf8_binary", "bin")  # collations that compare bytes


class Problem(enum.Enum):
    """The subject of an error of a database."""

    TABLE = enum.auto()  # a table or schema is missing, or may not be read
    QUERY = enum.auto()  # the query is not valid
    ROWS = enum.auto()  # a value of a row cannot be computed with
    STOPPED = enum.auto()  # a time limit, or somebody else, stopped the statement
    OTHER = enum.auto()  # the connection, memory, disk


# codes of the SQL standard, by their beginnings
_SQLSTATES = (
    (Problem.TABLE, ("42P01", "42S02", "42501", "3F000")),
    (Problem.STOPPED, ("57014", "57P01", "57P02", "57P03", "25P03", "25P04", "HYT")),
    (Problem.QUERY, ("42", "0A")),
    (Problem.ROWS, ("22",)),
)


def print_instead(dialect: str) -> Message:
    """Return the remedy for a system in which no statement runs."""
    return Message(
        "print the statement with ", Argument("dialect", dialect), " of ", Command("sql"),
        " and run it there",
    )  # fmt: skip


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
        path: its name in DuckDB's SQL, quoted, or a placeholder for it.
        name: its name in the database, which finds it again.
        columns: its columns.
        collation: the collation in which casts to texts compare bytes; empty if all texts do.
    """

    path: str
    name: str
    columns: tuple[Column, ...]
    collation: str = ""

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


class Dialect:
    """A database without transactions.

    Attributes:
        title: the name of the system in messages.
        limits: examples of settings of the database that stop a statement.
        number, oldest: the version in the answer of the database, and the oldest that is enough.
        several_moments: why the statements of a call may read rows of several moments; empty if
            they read those of one moment.
    """

    limits = "a timeout or a quota"
    number = re.compile(r"[^,]*")  # of the version; its groups are compared with `oldest`
    oldest: tuple[int, ...] = ()

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.name = connection.dialect
        self.title = SYSTEMS[self.name].title
        self.several_moments = (
            f"{self.title}: each statement of a call reads the rows of its own moment, so the "
            "results of a call can mix old and new rows if a table changes meanwhile"
        )

    def version(self) -> str:
        """Return the version of the database.

        Raises:
            UsageError: statements do not run in this version.
        """
        text = str(self.connection.fetch(SYSTEMS[self.name].version)["v"][0])
        match = self.number.match(text)
        if match is None or tuple(map(int, match.groups())) < self.oldest:
            raise UsageError(
                f"engine: sqlmetrics runs statements in {self.title} "
                f"{'.'.join(map(str, self.oldest))} or newer, and the server is "
                f"{' '.join(text.split()[:2])}",
                remedy=print_instead(self.name),
            )
        return match[0].removeprefix("PostgreSQL ")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run what follows, and leave nothing behind.

        Raises:
            UsageError: the connection cannot be used now.
        """
        if self.connection.is_closed:
            raise UsageError(
                "the connection is closed",
                remedy="open a new connection and create a new Evaluator",
            )
        yield

    def find(self, name: str) -> FoundTable | None:
        """Find a table or view by its name, quoted as in the database; None if there is none.

        Raises:
            DataError: two columns have the same name, or a column has a collation.
        """
        try:
            path = table_of(name, self.name).sql(PRINTED_AS.get(self.name, self.name))
        except UsageError:
            return None
        rows = self.connection.fetch(f"SELECT * FROM {path} WHERE 1 = 0", as_stored=True)
        kinds = types_of(rows, self.name)
        columns = tuple(map(self._column, rows.column_names, kinds))
        known: dict[str, str] = {}
        for column, stored in zip(columns, rows.column_names, strict=True):
            if column.name in known:
                raise DataError(
                    f"the table {name} has the columns {known[column.name]} and {stored}, which "
                    "differ only in upper and lower case",
                    remedy="give a view in which one of them has another name",
                )
            known[column.name] = stored
        if SYSTEMS[self.name].quote:
            self._check_collations(
                name, path, [known[one.name] for one in columns if one.type == "VARCHAR"]
            )
        return FoundTable(names.table(name), name, columns)

    def _column(self, stored: str, kind: str) -> Column:
        if self.name != "snowflake":
            return Column(stored, kind)
        name = _without_quotes(stored)
        # a name without quotes means the one in upper case, a name in quotes itself
        meant = name.upper() if identifier(name) == name else name
        return Column(name, kind, spelled="" if stored == meant else _quoted(stored))

    def _check_collations(self, name: str, path: str, columns: list[str]) -> None:
        """Check that texts are compared by their bytes, which the first row shows."""
        mark = SYSTEMS[self.name].quote
        for column in columns:
            query = f"SELECT COLLATION({_quoted(column, mark)}) AS found FROM {path} LIMIT 1"
            for (collation,) in self.connection.fetch(query).to_pandas().itertuples(index=False):
                if str(collation or "").rpartition(".")[2].lower() not in _BY_BYTES:
                    raise DataError(
                        f"the column {column} of the table {name} has the collation {collation}, "
                        "with which different ids can be equal",
                        remedy="give a view in which the column has no collation",
                    )

    def fetch(self, statement: str) -> pa.Table:
        """Run a query and return its rows; a column without quotes is in lower case."""
        table = self.connection.fetch(statement)
        if self.name != "snowflake":
            return table
        return table.rename_columns(list(map(_without_quotes, table.column_names)))

    def rows(self, template: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Run one of the queries of the catalog in `sql_templates/databases`."""
        statement = render_file(f"databases/{self.name}/{template}", given)
        return list(self.connection.fetch(statement).to_pylist())

    def tables(self) -> list[str] | None:
        """Return the names of the tables, without their schema where it is not needed.

        None if they cannot be listed.
        """
        return None

    # ---- errors ----------------------------------------------------------------------------------

    def reason(self, error: Exception) -> str:
        """Return the message of the database, without the statement."""
        return str(error).partition("\nLINE ")[0].partition("Query was:")[0]

    def sqlstate(self, error: Exception) -> str:
        """Return the code of the SQL standard of an error; empty if it has none."""
        found = re.search(r"\bSQLSTATE: (\w{5})\b", str(error))  # Databricks
        return str(getattr(error, "sqlstate", None) or (found[1] if found else ""))

    def problem(self, failed: FailedStatement) -> Problem:
        """Return the subject of an error."""
        if isinstance(failed.error, pa.ArrowException):  # e.g. a text that is not UTF-8
            return Problem.ROWS
        if state := self.sqlstate(failed.error):
            found = (problem for problem, starts in _SQLSTATES if state.startswith(starts))
            return next(found, Problem.OTHER)
        if self._runs("SELECT 1 AS one") and not self._runs(f"EXPLAIN {failed.statement}"):
            return Problem.QUERY
        return Problem.OTHER

    def _runs(self, statement: str) -> bool:
        try:
            self.connection.run(statement)
        except FailedStatement:
            return False
        return True


def _without_quotes(name: str) -> str:
    """Return a name of Snowflake as it is written without quotes; others as they are."""
    return name.lower() if re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) else name


def _quoted(name: str, mark: str = '"') -> str:
    return mark + name.replace(mark, 2 * mark) + mark
