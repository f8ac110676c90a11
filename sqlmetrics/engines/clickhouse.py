"""The dialect of ClickHouse: settings, the catalog, types, and codes of errors."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sqlglot
from sqlglot import errors, exp

from sqlmetrics.engines.clickhouse_drivers import MARK, ClickHouseDriver, escaped, removes_rows
from sqlmetrics.engines.database_dialects import (
    Column,
    Database,
    FoundTable,
    Problem,
    print_instead,
)
from sqlmetrics.engines.database_drivers import Driver
from sqlmetrics.errors import UsageError
from sqlmetrics.sql.dialects import setting_values
from sqlmetrics.sql.templates import render_file
from sqlmetrics.wording import and_more

_OLDEST = (24, 12)  # the version with all settings that printed statements need
_MOST_NAMES = 5
# values of settings that could change a number without an error; a role that may not set them to
# these values is rejected
_FIXED = {
    **setting_values("clickhouse"),
    "session_timezone": "UTC",
    # limits fail instead of returning the rows so far
    **{
        f"{limit}_overflow_mode": "throw"
        for limit in (
            *("read", "group_by", "sort", "result", "timeout", "set", "join", "transfer"),
            "distinct",
        )
    },
    "read_overflow_mode_leaf": "throw",
    "timeout_overflow_mode_leaf": "throw",
    "apply_deleted_mask": "1",  # deleted rows are not read
    "count_distinct_implementation": "uniqExact",
    "transform_null_in": "0",
    "cast_keep_nullable": "0",
    "data_type_default_nullable": "0",
    "empty_result_for_aggregation_by_empty_set": "0",
    "short_circuit_function_evaluation": "enable",
    "enable_analyzer": "1",
    "use_query_cache": "0",  # rows of another moment
    # distributed tables: all shards, and rows of all shards in a join
    "skip_unavailable_shards": "0",
    "distributed_product_mode": "global",
}
# remove rows from tables, or from the results of all statements
_REMOVING = ("limit", "offset", "additional_table_filters", "additional_result_filter")
# set where the server has them and the role may
_WANTED = {
    "enable_shared_storage_snapshot_in_query": "1",  # a statement reads a table at one moment
    # the limits of a statement with all metrics are larger than the defaults
    "max_query_size": "10000000",
    "max_ast_elements": "10000000",
    "max_expanded_ast_elements": "10000000",
    # texts as Arrow has them
    "output_format_arrow_string_as_string": "1",
    "output_format_arrow_low_cardinality_as_dictionary": "0",
}
_SEVERAL_MOMENTS = (
    "ClickHouse has no transactions: each statement reads the rows of its own moment. A call fails "
    "if a MergeTree table changes between its first and its last statement; changes behind views "
    "and in distributed tables are not noticed"
)
# type of ClickHouse, without its parameters -> type of DuckDB
_TYPES = {
    "String": "VARCHAR", "Bool": "BOOLEAN", "Date": "DATE", "Date32": "DATE",
    "Float32": "FLOAT", "Float64": "DOUBLE", "Decimal": "DECIMAL",
    "Int8": "TINYINT", "Int16": "SMALLINT", "Int32": "INTEGER", "Int64": "BIGINT",
    "Int128": "HUGEINT", "UInt8": "UTINYINT", "UInt16": "USMALLINT", "UInt32": "UINTEGER",
    "UInt64": "UBIGINT",
}  # fmt: skip
# read as another type: enumerations and addresses are compared as numbers, a UUID by its second
# half first; a fixed text ends in zero bytes; Arrow has no times of whole seconds from ClickHouse,
# and no larger integers
_CAST = {
    "Enum8": "VARCHAR", "Enum16": "VARCHAR", "UUID": "VARCHAR", "IPv4": "VARCHAR",
    "IPv6": "VARCHAR", "FixedString": "VARCHAR", "DateTime": "TIMESTAMP", "DateTime64": "TIMESTAMP",
    "BFloat16": "FLOAT", "UInt128": "VARCHAR", "Int256": "VARCHAR", "UInt256": "VARCHAR",
}  # fmt: skip
_WRAPPED = re.compile(
    r"\A(?:(?:Nullable|LowCardinality)\(|SimpleAggregateFunction\(\w+, )(.*)\)\Z", re.DOTALL
)
_LIST = re.compile(r"\AArray\((.*)\)\Z", re.DOTALL)
_DENIED = "497"  # ACCESS_DENIED
_CODES = {
    Problem.TABLE: (
        "60",  # UNKNOWN_TABLE
        "81",  # UNKNOWN_DATABASE
        "218",  # TABLE_IS_DROPPED
        _DENIED,
    ),
    Problem.STOPPED: (
        "158",  # TOO_MANY_ROWS
        "159",  # TIMEOUT_EXCEEDED
        "160",  # TOO_SLOW
        "191",  # SET_SIZE_LIMIT_EXCEEDED
        "201",  # QUOTA_EXCEEDED
        "202",  # TOO_MANY_SIMULTANEOUS_QUERIES
        "241",  # MEMORY_LIMIT_EXCEEDED
        "307",  # TOO_MANY_BYTES
        "394",  # QUERY_WAS_CANCELLED
        "396",  # TOO_MANY_ROWS_OR_BYTES
    ),
    Problem.ROWS: (
        "6",  # CANNOT_PARSE_TEXT
        "27",  # CANNOT_PARSE_INPUT_ASSERTION_FAILED
        "38",  # CANNOT_PARSE_DATE
        "41",  # CANNOT_PARSE_DATETIME
        "70",  # CANNOT_CONVERT_TYPE
        "72",  # CANNOT_PARSE_NUMBER
        "153",  # ILLEGAL_DIVISION
        "321",  # VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
        "349",  # CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
        "395",  # FUNCTION_THROW_IF_VALUE_IS_NON_ZERO
        "407",  # DECIMAL_OVERFLOW
    ),
    Problem.QUERY: (
        "36",  # BAD_ARGUMENTS
        "42",  # NUMBER_OF_ARGUMENTS_DOESNT_MATCH
        "43",  # ILLEGAL_TYPE_OF_ARGUMENT
        "44",  # ILLEGAL_COLUMN
        "46",  # UNKNOWN_FUNCTION
        "47",  # UNKNOWN_IDENTIFIER
        "48",  # NOT_IMPLEMENTED
        "50",  # UNKNOWN_TYPE
        "53",  # TYPE_MISMATCH
        "62",  # SYNTAX_ERROR
        "179",  # MULTIPLE_EXPRESSIONS_FOR_ALIAS
        "184",  # ILLEGAL_AGGREGATION
        "207",  # AMBIGUOUS_IDENTIFIER
        "215",  # NOT_AN_AGGREGATE
        "386",  # NO_COMMON_TYPE
    ),
}


_OF_SETTINGS = ("115", "72", "27", "36")  # UNKNOWN_SETTING, and values that cannot be read
_NO_PARTS = (
    "; the role may not read system.parts, so only a change of the number of rows is noticed"
)


class ClickHouse(Database):
    """ClickHouse.

    There are no transactions: each statement reads the rows of its own moment. Settings are sent
    with each statement, or restored afterwards; temporary tables are dropped at the end of a call,
    and otherwise with the session.
    """

    dialect = "clickhouse"
    title = "ClickHouse"
    limits = "max_execution_time, max_memory_usage or a quota"
    several_moments = _SEVERAL_MOMENTS

    def __init__(self, driver: Driver) -> None:
        assert isinstance(driver, ClickHouseDriver)
        self.driver = driver
        self._is_checked = False  # whether the version is known
        self._may_create: bool | None = None
        self._may_read_parts = True

    def version(self) -> str:
        """Return the version of the server.

        Raises:
            UsageError: the server is too old.
        """
        try:
            text = str(self.driver.one_row("SELECT version() AS v")["v"])
        except self.driver.errors as error:
            if self.driver.code(error) not in _OF_SETTINGS:
                raise
            raise UsageError(
                f"engine: ClickHouse rejects a setting: {self.driver.reason(error)}",
                remedy="correct the parameter of the URL, or the setting of the client",
            ) from None
        match = re.match(r"(\d+)\.(\d+)", text)
        if match is None or (int(match[1]), int(match[2])) < _OLDEST:
            oldest = ".".join(map(str, _OLDEST))
            raise UsageError(
                f"engine: sqlmetrics runs statements in ClickHouse {oldest} or newer, and the "
                f"server is {text}",
                remedy=print_instead("clickhouse"),
            )
        return text

    # ---- settings --------------------------------------------------------------------------------

    def _known_settings(self) -> dict[str, str]:
        """Return the settings of all statements.

        Raises:
            UsageError: the role may not set one of those that change numbers.
        """
        known = self.driver.values_of([*_FIXED, *_WANTED, *_REMOVING])
        for name in _REMOVING:
            if name in known and known[name]["changed"]:
                raise removes_rows(name)
        denied = [
            name
            for name, value in _FIXED.items()
            if name in known and known[name]["readonly"] and known[name]["value"] != value
        ]
        if denied:
            raise UsageError(
                f"engine: the role of the connection may not change {and_more(denied, _MOST_NAMES)}"
                ", and with other values of these settings, ClickHouse returns other numbers",
                remedy="use a role with readonly = 0 or readonly = 2",
            )
        return {
            name: value
            for name, value in {**_FIXED, **_WANTED}.items()
            if name in known and known[name]["value"] != value and not known[name]["readonly"]
        }

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Run what follows with fixed settings, and drop the temporary tables that it creates."""
        if not self._is_checked:
            self.version()  # an old server does not have all settings
            self._is_checked = True
        settings = self._known_settings()  # anew, since the session may have changed
        with self.driver.using({**settings, MARK: f"sqlmetrics-{uuid.uuid4()}"}):
            try:
                yield
            finally:
                self.driver.drop_created()

    def may_create(self) -> bool:
        """Return whether temporary tables can be created, which a first one shows."""
        if self._may_create is None:
            name = f"sqlmetrics_{uuid.uuid4().hex}"
            try:
                self.create(name, "SELECT 1 AS one")
            except self.driver.errors:
                self._may_create = False
            else:
                self._may_create = True
        return self._may_create

    def create(self, name: str, statement: str) -> None:
        """Create a temporary table with the rows of a query."""
        self.driver.created.append(name)
        self.driver.run(f"CREATE TEMPORARY TABLE {name} ENGINE = Memory AS {statement}")

    def rows_of(self, name: str) -> str:
        """Return the query of all rows of a temporary table."""
        return f"SELECT * FROM {name}"

    # ---- catalog ---------------------------------------------------------------------------------

    def find(self, name: str) -> FoundTable | None:
        """Find a table or view by its name: `recs`, `shop.recs`, with quotes where needed."""
        parts = _parts(name)
        return None if parts is None else self._found(*parts)

    def found_again(self, known: FoundTable) -> FoundTable | None:
        """Find a table again that `find` has found."""
        return self._found(known.schema, known.name)

    def _found(self, schema: str, name: str) -> FoundTable | None:
        asked = {"database_name": escaped(schema), "table_name": escaped(name)}
        rows = self.driver.fetch(render_file("databases/clickhouse/columns", asked)).to_pylist()
        if not rows:
            return None
        where = rows[0]["schema_name"]
        columns = (_column(row) for row in rows if row["schema_name"] == where)
        found = FoundTable(where, rows[0]["table_name"], tuple(columns))
        # the catalog hides columns that the role may not read; reading all of them fails
        path = ".".join(map(_backquoted, filter(None, (found.schema, found.name))))
        self.driver.run(f"SELECT * FROM {path} LIMIT 0")
        return found

    def tables(self) -> list[str]:
        """Return the names of the tables, without their database where it is not needed."""
        rows = self.driver.fetch(render_file("databases/clickhouse/tables", {}))
        return [str(row["label"]) for row in rows.to_pylist()]

    def states(self, tables: Iterable[FoundTable]) -> Mapping[str, object]:
        """Return values that change when the rows of tables change: path -> value."""
        states: dict[str, object] = {}
        for table in tables:
            if not table.schema:  # a temporary table, of this session alone
                continue
            if found := self._state(table):
                states[table.path] = found[0]
        return states

    def _state(self, table: FoundTable) -> list[dict[str, object]]:
        asked = {"database_name": escaped(table.schema), "table_name": escaped(table.name)}

        def rows() -> list[dict[str, object]]:
            name = "states" if self._may_read_parts else "sizes"
            text = render_file(f"databases/clickhouse/{name}", asked)
            found: list[dict[str, object]] = self.driver.fetch(text).to_pylist()
            return found

        try:
            return rows()
        except self.driver.errors as error:
            if self.driver.code(error) != _DENIED or not self._may_read_parts:
                raise
        self._may_read_parts = False
        self.several_moments = _SEVERAL_MOMENTS + _NO_PARTS
        return rows()

    # ---- errors ----------------------------------------------------------------------------------

    def problem(self, error: BaseException) -> Problem:
        """Return the subject of an error."""
        import pyarrow as pa

        if isinstance(error, pa.ArrowException):  # e.g. a text that is not UTF-8
            return Problem.ROWS
        code = self.driver.code(error)
        for problem, codes in _CODES.items():
            if code in codes:
                return problem
        return Problem.OTHER


def _parts(name: str) -> tuple[str, str] | None:
    """Return the database, or an empty text, and the name of a table; None for other texts."""
    try:
        table = sqlglot.parse_one(name, into=exp.Table, dialect="clickhouse")
    except errors.SqlglotError:
        return None
    catalog, schema, this = (table.args.get(part) for part in ("catalog", "db", "this"))
    if catalog is not None or not isinstance(this, exp.Identifier):
        return None
    if table.alias or table.args.get("final"):
        return None
    return (schema.name if isinstance(schema, exp.Identifier) else ""), this.name


def _backquoted(name: str) -> str:
    return "`" + escaped(name).replace("`", "\\`") + "`"


def _column(row: Mapping[str, Any]) -> Column:
    """Return a column of the catalog."""
    kind, cast = type_of(row["type_name"])
    return Column(row["column_name"], kind, cast)


def type_of(name: str) -> tuple[str, bool]:
    """Translate a type of ClickHouse into a type of DuckDB, and whether it is read by a cast."""
    name = name.strip()
    while wrapped := _WRAPPED.match(name):
        name = wrapped[1]
    if elements := _LIST.match(name):
        kind, cast = type_of(elements[1])
        return f"{kind}[]", cast
    plain = name.partition("(")[0]
    if plain in _CAST:
        return _CAST[plain], True
    return _TYPES.get(plain, plain.upper()), False
