"""Systems without a usable transaction: Snowflake, BigQuery, Databricks, Trino, DataFusion.

Nothing is created there: every statement computes the queries that it reads, so a role that may
only read is enough, and nothing has to be removed after an error or an interrupt.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqlmetrics.engines.database_dialects import Column, Database, FoundTable, Problem
from sqlmetrics.engines.database_drivers import Driver
from sqlmetrics.engines.warehouse_drivers import SourceColumn, WarehouseDriver
from sqlmetrics.engines.warehouse_types import in_lower_case
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.sql import names
from sqlmetrics.sql.dialects import PRINTED_AS
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.transpile import table_of

# codes of the SQL standard, by their beginnings
_SQLSTATES = (
    (Problem.DENIED, ("42501",)),
    (Problem.TABLE, ("42P01", "42S02", "02000", "3F000", "42704")),
    (Problem.STOPPED, ("57", "HY008", "HYT")),
    (Problem.QUERY, ("42", "0A")),
    (Problem.ROWS, ("22",)),
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
Codes = Sequence[tuple[Problem, tuple[str, ...]]]


@dataclass(frozen=True)
class System:
    """The differences between warehouses.

    Args:
        title: the name of the system in messages.
        limits: examples of settings that stop a statement.
        codes: the beginnings of error codes, by their meaning; the first one that fits applies.
        unclear: codes that the system gives to all kinds of errors.
        version: the query of the version, as `v`; empty if the system has no versions.
        upper_case: whether names without quotes are stored in upper case.
        settings: the query of the settings of the session, as rows with `key` and `value`.
        needed: values of settings without which results are incomplete or names differ.
    """

    title: str
    limits: str
    codes: Codes = _SQLSTATES
    unclear: tuple[str, ...] = ()
    version: str = "SELECT version() AS v"
    upper_case: bool = False
    settings: str = ""
    needed: Mapping[str, str] = field(default_factory=dict)


SYSTEMS: Mapping[str, System] = {
    "snowflake": System(
        "Snowflake",
        "STATEMENT_TIMEOUT_IN_SECONDS or a resource monitor",
        version="SELECT CURRENT_VERSION() AS v",
        upper_case=True,
        settings="SHOW PARAMETERS IN SESSION",
        needed={"ROWS_PER_RESULTSET": "0", "QUOTED_IDENTIFIERS_IGNORE_CASE": "false"},
    ),
    "bigquery": System(
        "BigQuery",
        "maximum_bytes_billed or a quota",
        codes=(
            (Problem.TABLE, ("notFound",)),
            (Problem.DENIED, ("accessDenied",)),
            (
                Problem.STOPPED,
                ("stopped", "timeout", "quotaExceeded", "rateLimitExceeded", "resourcesExceeded",
                 "bytesBilledLimitExceeded", "billingTierLimitExceeded", "responseTooLarge"),
            ),
            (Problem.QUERY, ("invalid",)),
        ),
        version="",
    ),
    "databricks": System("Databricks", "STATEMENT_TIMEOUT"),
    "trino": System(
        "Trino",
        "query_max_execution_time or query_max_memory",
        codes=(
            (
                Problem.TABLE,
                ("TABLE_NOT_FOUND", "SCHEMA_NOT_FOUND", "CATALOG_NOT_FOUND",
                 "MISSING_CATALOG_NAME", "MISSING_SCHEMA_NAME"),
            ),
            (Problem.DENIED, ("PERMISSION_DENIED",)),
            (
                Problem.STOPPED,
                ("EXCEEDED", "USER_CANCELED", "ADMINISTRATIVELY_", "QUERY_QUEUE_FULL",
                 "CLUSTER_OUT_OF_MEMORY", "ABANDONED_QUERY"),
            ),
            (
                Problem.ROWS,
                ("DIVISION_BY_ZERO", "INVALID_CAST_ARGUMENT", "NUMERIC_VALUE_OUT_OF_RANGE",
                 "INVALID_FUNCTION_ARGUMENT"),
            ),
            (
                Problem.QUERY,
                ("SYNTAX_ERROR", "COLUMN_NOT_FOUND", "TYPE_MISMATCH", "FUNCTION_NOT_FOUND",
                 "EXPRESSION_NOT_", "MISMATCHED_", "AMBIGUOUS_", "NOT_SUPPORTED", "TYPE_NOT_FOUND"),
            ),
        ),
    ),
    "datafusion": System(
        "DataFusion",
        "a timeout",
        codes=(
            (Problem.TABLE, ("NOT_FOUND",)),
            (Problem.DENIED, ("UNAUTHORIZED", "UNAUTHENTICATED")),
            (Problem.STOPPED, ("TIMEOUT", "CANCELLED")),
            (Problem.QUERY, ("INVALID_ARGUMENT", "NOT_IMPLEMENTED")),
        ),
        unclear=("INTERNAL", "UNKNOWN"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class GivenTable(FoundTable):
    """A table with the name that the user gave.

    Args:
        parsed: the same name in DuckDB's SQL.
    """

    parsed: str = ""

    @property
    def path(self) -> str:
        """Return the placeholder of its name until a statement is printed."""
        return names.found_table(self.parsed)


class Warehouse(Database):
    """A system in which statements only read."""

    def __init__(self, driver: Driver) -> None:
        assert isinstance(driver, WarehouseDriver)
        self.driver = driver
        self.dialect = driver.dialect
        self.system = SYSTEMS[driver.dialect]
        self.title, self.limits = self.system.title, self.system.limits
        self.several_moments = (
            f"{self.title}: each statement of a call reads the rows of its own moment, so the "
            "results of a call can mix old and new rows if a table changes meanwhile"
        )

    def version(self) -> str:
        """Return the version of the system."""
        if not self.system.version:
            return "unknown"
        (row,) = self.driver.fetch(self.system.version).to_pylist()
        return str(row["v"]).partition(",")[0]

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Check the session; nothing is changed in it.

        Raises:
            UsageError: the connection is closed, or a setting of the session changes results.
        """
        if self.driver.is_closed:
            raise UsageError(
                "the connection is closed",
                remedy="open a new connection and create a new Evaluator",
            )
        if self.system.settings:
            rows = self.driver.rows(self.system.settings)
            self._check_settings({str(row["key"]).upper(): str(row["value"]) for row in rows})
        yield

    def _check_settings(self, values: Mapping[str, str]) -> None:
        for name, needed in self.system.needed.items():
            value = values.get(name, needed)
            if value.lower() != needed.lower():
                raise UsageError(
                    f"engine: the session has the setting {name} = {value}, which changes results",
                    remedy=f"reset it (ALTER SESSION SET {name} = {needed})",
                )

    def may_create(self) -> bool:
        """Return False: nothing is created."""
        return False

    def create(self, name: str, statement: str) -> None:  # noqa: ARG002
        """Create no temporary table, because `may_create` is False."""
        raise AssertionError(name)

    def rows_of(self, name: str) -> str:
        """Read no temporary table, because there is none."""
        raise AssertionError(name)

    # ---- catalog ---------------------------------------------------------------------------------

    def find(self, name: str) -> FoundTable | None:
        """Find a table or view by its name, quoted as in the system.

        Raises:
            DataError: two columns have the same name, or a column has a collation.
        """
        return self._found(name, is_new=True)

    def found_again(self, known: FoundTable) -> FoundTable | None:
        """Find a table again that `find` has found."""
        return self._found(known.name, is_new=False)

    def _found(self, name: str, is_new: bool) -> FoundTable | None:
        try:
            table = table_of(name, self.dialect)
        except UsageError:
            return None
        path = table.sql(PRINTED_AS.get(self.dialect, self.dialect))
        try:
            found = self.driver.columns(path)
            if is_new:  # a view may compute many rows for the first one, which shows collations
                found = self.driver.with_collations(path, found)
        except self.driver.errors as error:
            if self._by_code(error) is Problem.TABLE:
                return None
            raise
        columns = [self._column(column) for column in found]
        known: dict[str, str] = {}
        for column, one in zip(columns, found, strict=True):
            if column.name in known:
                raise DataError(
                    f"the table {name} has the columns {known[column.name]} and {one.name}, which "
                    "differ only in upper and lower case",
                    remedy="give a view in which one of them has another name",
                )
            known[column.name] = one.name
            if one.collation:
                raise DataError(
                    f"the column {one.name} of the table {name} has the collation {one.collation}, "
                    "with which different ids can be equal",
                    remedy="give a view in which the column has no collation",
                )
        return GivenTable("", name, tuple(columns), parsed=self._in_duckdb(table))

    def _in_duckdb(self, table: exp.Table) -> str:
        """Return the name of a table in DuckDB's SQL, with quotes where the user or DuckDB needs
        them."""
        parts = []
        for part in filter(None, map(table.args.get, ("catalog", "db", "this"))):
            is_plain = not part.args.get("quoted") and _PLAIN.match(part.name)
            reserved = identifier(part.name.lower()) != part.name.lower()
            text = (
                part.name.upper() if reserved and is_plain and self.system.upper_case else part.name
            )
            parts.append(text if is_plain and not reserved else '"' + text.replace('"', '""') + '"')
        return ".".join(parts)

    def _column(self, found: SourceColumn) -> Column:
        """Return a column with its name in sqlmetrics."""
        if not self.system.upper_case:
            return Column(found.name, found.type, found.cast)
        name = in_lower_case(found.name)
        # a name without quotes means the one in upper case, a name in quotes itself
        unquoted = identifier(name) == name
        is_plain = found.name == (name.upper() if unquoted else name)
        quoted = '"' + found.name.replace('"', '""') + '"'
        return Column(name, found.type, found.cast, spelled="" if is_plain else quoted)

    def tables(self) -> list[str] | None:
        """Return the names of the tables of the current schema; None if none is listed."""
        try:
            return sorted(self.driver.tables()) or None
        except self.driver.errors:
            return None

    def bytes_read(self, statement: str) -> int | None:
        """Return the bytes that a statement would read; None if the system has no estimate."""
        return self.driver.bytes_read(statement)

    # ---- errors ----------------------------------------------------------------------------------

    def problem(self, error: BaseException) -> Problem:
        """Return the subject of an error."""
        found = self._by_code(error)
        if found is Problem.OTHER and self.driver.code(error) in self.system.unclear:
            # the connection works, so the statement does not
            return Problem.QUERY if self._answers() else Problem.OTHER
        return found

    def _by_code(self, error: BaseException) -> Problem:
        code = self.driver.code(error)
        for problem, starts in self.system.codes:
            if code.startswith(starts):
                return problem
        return Problem.OTHER

    def _answers(self) -> bool:
        try:
            self.driver.run("SELECT 1 AS one")
        except self.driver.errors:
            return False
        return True
