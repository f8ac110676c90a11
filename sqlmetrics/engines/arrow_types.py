"""Types of databases as DuckDB calls them, and rows of databases as DuckDB returns them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlmetrics.sql.dialects import PRINTED_AS

_EXACT = 2**53  # doubles have all whole numbers up to here
_BYTES_OF_INT128 = 16
_KIND = exp.DataType.Type
_DUCKDB = {
    _KIND.BOOLEAN: "BOOLEAN", _KIND.TINYINT: "TINYINT", _KIND.SMALLINT: "SMALLINT",
    _KIND.INT: "INTEGER", _KIND.BIGINT: "BIGINT", _KIND.FLOAT: "FLOAT", _KIND.DOUBLE: "DOUBLE",
    _KIND.DECIMAL: "DECIMAL", _KIND.TEXT: "VARCHAR", _KIND.VARCHAR: "VARCHAR",
    _KIND.CHAR: "VARCHAR", _KIND.BPCHAR: "VARCHAR", _KIND.NAME: "VARCHAR", _KIND.DATE: "DATE",
    _KIND.TIMESTAMP: "TIMESTAMP", _KIND.TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE",
    _KIND.TIME: "TIME", _KIND.UUID: "UUID", _KIND.VARBINARY: "BLOB",
}  # fmt: skip
# type of DuckDB -> name of its type in Arrow
_ARROW = {
    "BOOLEAN": "bool", "TINYINT": "int8", "SMALLINT": "int16", "INTEGER": "int32",
    "BIGINT": "int64", "FLOAT": "float32", "DOUBLE": "float64", "VARCHAR": "string",
    "UUID": "string", "DATE": "date32",
}  # fmt: skip
_NUMERIC = "numeric"  # the kind of a column of exact numbers


def duckdb_type(name: str, dialect: str) -> str | None:
    """Translate the name of a type; None if DuckDB has no type with the same values."""
    try:
        kind = exp.DataType.build(name, dialect=PRINTED_AS.get(dialect, dialect))
    except (SqlglotError, ValueError):
        return None
    if kind.this is _KIND.ARRAY and kind.expressions:
        element = duckdb_type(kind.expressions[0].sql(dialect), dialect)
        return element and f"{element}[]"
    return _DUCKDB.get(kind.this)


def arrow_type(described: object, dialect: str) -> Any:
    """Return the Arrow type of a column as its cursor describes it, "numeric" or, for others, None.

    `described`: the name of the type; libraries that give a number have no Arrow type here.
    """
    kind = duckdb_type(described, dialect) if isinstance(described, str) else None
    if kind == "DECIMAL":
        return _NUMERIC
    if kind is not None and kind.startswith("TIMESTAMP"):
        return pa.timestamp("us", "UTC" if kind.endswith("ZONE") else None)
    return pa.type_for_alias(_ARROW[kind]) if kind in _ARROW else None


def types_of(table: pa.Table, dialect: str) -> list[str]:
    """Return the types of columns as DuckDB calls them; whole numbers of Snowflake are integers."""
    import duckdb

    if not table.column_names:
        return []
    with duckdb.connect() as connection:
        kinds = list(map(str, connection.from_arrow(table.slice(0, 0)).types))
    if dialect == "snowflake":
        kinds = [re.sub(r"\ADECIMAL\(\d+,0\)", "BIGINT", kind) for kind in kinds]
    return list(map(_without_precision, kinds))


def _without_precision(kind: str) -> str:
    kind = re.sub(r"\(.*\)|_(NS|MS|S)\b", "", kind)
    return {"TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE", "UUID": "VARCHAR"}.get(kind, kind)


# ---- rows ----------------------------------------------------------------------------------------


def table_of(
    names: list[str], kinds: list[Any], batches: Iterable[list[tuple[Any, ...]]]
) -> pa.Table:
    """Return rows as an Arrow table.

    Args:
        names: the names of the columns.
        kinds: the Arrow type of each column, "numeric" or, for other types, None.
        batches: lists of rows.
    """
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
        if kind == _NUMERIC:
            arrays.append(numbers(parts) if parts else pa.array([], pa.decimal128(38, 9)))
        elif kind is None:
            arrays.append(_of_other_type(parts))
        else:
            arrays.append(pa.chunked_array(parts, kind))
    return pa.Table.from_arrays(arrays, names=names)


def numbers(values: Iterable[Decimal | None]) -> pa.Array:
    """Return exact numbers as doubles; ids that no double holds as decimals or, if long, texts."""
    values = list(values)
    known = [value for value in values if value is not None]
    if all(value.is_finite() for value in known) and any(
        abs(value) > _EXACT and value == value.to_integral_value() for value in known
    ):
        return _of_other_type(values)
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _of_other_type(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def as_duckdb(table: pa.Table, dialect: str) -> pa.Table:
    """Return exact numbers as doubles, as far as they hold them, and one kind of texts and times.

    Raises:
        ArrowInvalid: a text is not UTF-8.
    """
    arrays = [_column(column, dialect) for column in table.columns]
    return pa.Table.from_arrays(arrays, names=table.column_names)


def _column(column: pa.ChunkedArray, dialect: str) -> Any:
    kind = column.type
    extension = getattr(kind, "extension_name", "")
    if extension == "arrow.opaque":  # a type of Postgres that Arrow does not have
        held = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        if kind.type_name != "numeric":
            return held
        return numbers(None if text is None else Decimal(text) for text in held.to_pylist())
    if extension == "arrow.uuid":
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        return pa.array(texts, pa.string())
    if pa.types.is_decimal(kind):
        return numbers(column.to_pylist())
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    if str(kind) in ("string_view", "large_string"):
        return column.cast(pa.string())
    if pa.types.is_timestamp(kind):  # cuts nanoseconds
        zone = None if dialect == "clickhouse" else kind.tz  # times of ClickHouse are in UTC
        return column.cast(pa.timestamp("us", zone), safe=False)
    if dialect != "clickhouse":
        return column
    if pa.types.is_fixed_size_binary(kind) and kind.byte_width == _BYTES_OF_INT128:
        return numbers(map(_whole, column.to_pylist()))
    if pa.types.is_binary(kind):  # a text, with old settings of the session
        return column.cast(pa.string())
    if pa.types.is_list(kind) and pa.types.is_binary(kind.value_type):
        return column.cast(pa.list_(pa.string()))
    if pa.types.is_string(kind):
        column.validate(full=True)
    return column


def _whole(value: bytes | None) -> Decimal | None:
    return None if value is None else Decimal(int.from_bytes(value, "little", signed=True))
