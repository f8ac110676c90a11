"""ClickHouse: the catalog, types, and codes of errors."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from sqlmetrics.engines.connection import Connection
from sqlmetrics.engines.database_dialects import Column, Dialect, FoundTable
from sqlmetrics.errors import UsageError
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.transpile import table_of

# settings that change results without an error, in a view or in a printed statement, too
_CHANGING = (
    "limit", "offset", "additional_table_filters", "additional_result_filter",
    "transform_null_in", "cast_keep_nullable", "data_type_default_nullable",
    "empty_result_for_aggregation_by_empty_set", "count_distinct_implementation",
    "apply_deleted_mask", "skip_unavailable_shards", "use_query_cache",
    # limits that return the rows so far
    "read_overflow_mode", "group_by_overflow_mode", "sort_overflow_mode", "result_overflow_mode",
    "timeout_overflow_mode", "set_overflow_mode", "join_overflow_mode", "transfer_overflow_mode",
    "distinct_overflow_mode", "read_overflow_mode_leaf", "timeout_overflow_mode_leaf",
)  # fmt: skip
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
# the class of the SQL standard -> codes of ClickHouse; an invalid query is found by EXPLAIN
_SQLSTATES = {
    # values that cannot be converted, divided, or held
    "22000": ("6", "27", "38", "41", "70", "72", "153", "321", "349", "395", "407"),
    # limits of time, rows, bytes, memory and statements, quotas, and cancelled statements
    "57014": ("158", "159", "160", "191", "201", "202", "241", "307", "394", "396"),
}
_BEFORE = re.compile(r"\A.*?DB::Exception: ", re.DOTALL)
# the statement, hints, the name and the version at the end of a message
_AFTER = re.compile(
    r"(\. |: )?(Maybe you meant|In scope |While processing|: while executing).*|"
    r"\s*\(([A-Z][A-Z0-9_]+)\)(\s*\(.*)?\s*\Z",
    re.DOTALL,
)


class ClickHouse(Dialect):
    """ClickHouse; the settings that change numbers are in the SETTINGS of each statement."""

    limits = "max_execution_time, max_memory_usage or a quota"
    number = re.compile(r"(\d+)\.(\d+)\S*")
    oldest = (24, 12)  # has all settings that printed statements need

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.several_moments = f"ClickHouse has no transactions: {self.several_moments}"

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Check the session, and run what follows.

        Raises:
            UsageError: the connection is closed, or a setting of the session changes results.
        """
        with super().transaction():
            rows = self.rows("settings", {"asked": _CHANGING})
            changed = rows[0]["setting_names"] if rows else ["offset", "additional_result_filter"]
            if changed:
                raise UsageError(
                    f"engine: the session has the setting {' or '.join(changed)}, which changes "
                    "results",
                    remedy=f"reset it (SET {changed[0]} = DEFAULT)",
                )
            yield

    # ---- catalog ---------------------------------------------------------------------------------

    def find(self, name: str) -> FoundTable | None:
        """Find a table or view by its name: `recs`, `shop.recs`, with quotes where needed."""
        try:
            named = table_of(name, self.name)
        except UsageError:
            return None
        if named.catalog:
            return None
        asked = {"database_name": _escaped(named.db), "table_name": _escaped(named.name)}
        rows = self.rows("columns", asked)
        if not rows:
            return None
        schema, table = rows[0]["schema_name"], rows[0]["table_name"]
        # the catalog hides columns that the role may not read; reading all of them fails
        path = ".".join(map(_backquoted, filter(None, (schema, table))))
        self.connection.run(f"SELECT * FROM {path} LIMIT 0")
        columns = tuple(
            Column(row["column_name"], *type_of(row["type_name"]))
            for row in rows
            if row["schema_name"] == schema
        )
        in_duckdb = ".".join(map(identifier, filter(None, (schema, table))))
        return FoundTable(in_duckdb, path, columns)

    def tables(self) -> list[str]:
        """Return the names of the tables, without their database where it is not needed."""
        return [str(row["label"]) for row in self.rows("tables", {})]

    # ---- errors ----------------------------------------------------------------------------------

    def reason(self, error: Exception) -> str:
        """Return the message of ClickHouse, without the statement."""
        return _AFTER.sub("", _BEFORE.sub("", str(error)))

    def sqlstate(self, error: Exception) -> str:
        """Return the class of the SQL standard that a code of ClickHouse belongs to."""
        code = re.search(r"Code: (\d+)\.", str(error))
        return next((state for state, codes in _SQLSTATES.items() if code and code[1] in codes), "")


def _escaped(text: str) -> str:
    """Escape the backslashes of a text, which ClickHouse reads in literals."""
    return text.replace("\\", "\\\\")


def _backquoted(name: str) -> str:
    return "`" + _escaped(name).replace("`", "\\`") + "`"


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
