"""Types of warehouses as DuckDB calls them, and their results as DuckDB returns them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sqlmetrics.engines.database_drivers import numbers

if TYPE_CHECKING:
    import pyarrow as pa

# type of Arrow -> type of DuckDB
_OF_ARROW = {
    "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER",
    "int64": "BIGINT", "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER",
    "uint64": "UBIGINT", "halffloat": "FLOAT", "float": "FLOAT", "double": "DOUBLE",
    "string": "VARCHAR", "large_string": "VARCHAR", "string_view": "VARCHAR", "binary": "BLOB",
    "large_binary": "BLOB", "binary_view": "BLOB", "date32[day]": "DATE", "date64[ms]": "DATE",
}  # fmt: skip
# type of Trino, without its parameters -> type of DuckDB
_OF_TRINO = {
    "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "integer": "INTEGER",
    "bigint": "BIGINT", "real": "FLOAT", "double": "DOUBLE", "decimal": "DECIMAL",
    "varchar": "VARCHAR", "char": "VARCHAR", "uuid": "VARCHAR", "date": "DATE",
    "timestamp": "TIMESTAMP", "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
    "varbinary": "BLOB", "json": "JSON",
}  # fmt: skip
_CAST_IN_TRINO = ("char", "uuid")  # a char ignores spaces at its end
_TRINO_LIST = re.compile(r"\Aarray\((.*)\)\Z", re.DOTALL)
# type of BigQuery -> type of DuckDB
_OF_BIGQUERY = {
    "STRING": "VARCHAR", "INTEGER": "BIGINT", "INT64": "BIGINT", "FLOAT": "DOUBLE",
    "FLOAT64": "DOUBLE", "NUMERIC": "DECIMAL", "BIGNUMERIC": "DECIMAL", "BOOLEAN": "BOOLEAN",
    "BOOL": "BOOLEAN", "TIMESTAMP": "TIMESTAMP WITH TIME ZONE", "DATETIME": "TIMESTAMP",
    "DATE": "DATE", "TIME": "TIME", "BYTES": "BLOB", "JSON": "JSON",
}  # fmt: skip
# codes of types in the connector of Snowflake -> type of DuckDB
_OF_SNOWFLAKE = {
    0: "DECIMAL", 1: "DOUBLE", 2: "VARCHAR", 3: "DATE", 4: "TIMESTAMP", 5: "VARCHAR",
    6: "TIMESTAMP WITH TIME ZONE", 7: "TIMESTAMP WITH TIME ZONE", 8: "TIMESTAMP", 9: "JSON",
    10: "VARCHAR[]", 11: "BLOB", 12: "TIME", 13: "BOOLEAN",
}  # fmt: skip
_FIXED, _VARIANT = 0, 5
_UPPER_CASE = re.compile(r"[A-Z_][A-Z0-9_]*\Z")  # names that Snowflake reads without quotes


def in_lower_case(name: str) -> str:
    """Return a name of Snowflake as it is written without quotes; others as they are."""
    return name.lower() if _UPPER_CASE.match(name) else name


def of_arrow(kind: pa.DataType) -> str:
    """Translate a type of Arrow."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return of_arrow(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"{of_arrow(kind.value_type)}[]"
    if pa.types.is_decimal(kind):
        return "DECIMAL"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz is None else "TIMESTAMP WITH TIME ZONE"
    return _OF_ARROW.get(str(kind), str(kind).upper())


def of_snowflake(code: int, scale: int | None) -> tuple[str, bool]:
    """Translate a type of Snowflake, whose integers are decimals without a fraction.

    Returns:
        the type, and whether columns of it are read by a cast.
    """
    if code == _FIXED and not scale:
        return "BIGINT", False
    return _OF_SNOWFLAKE.get(code, "UNKNOWN"), code == _VARIANT


def of_trino(name: str) -> tuple[str, bool]:
    """Translate a type of Trino, and tell whether columns of it are read by a cast."""
    if elements := _TRINO_LIST.match(name):
        kind, cast = of_trino(elements[1])
        return f"{kind}[]", cast
    plain = re.sub(r"\(.*?\)", "", name)
    return _OF_TRINO.get(plain, plain.upper()), plain in _CAST_IN_TRINO


def of_bigquery(name: str, repeated: bool) -> str:
    """Translate a type of BigQuery."""
    kind = _OF_BIGQUERY.get(name.upper(), name.upper())
    return f"{kind}[]" if repeated else kind


def arrow_of_trino(name: str) -> Any:
    """Return the Arrow type of values of a type of Trino, "numeric" or, for others, None."""
    import pyarrow as pa

    plain = re.sub(r"\(.*?\)", "", name)
    if plain == "decimal":
        return "numeric"
    if plain.startswith("timestamp"):
        return pa.timestamp("us", "UTC" if plain.endswith("zone") else None)
    kinds = {
        "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(),
        "integer": pa.int32(), "bigint": pa.int64(), "real": pa.float32(), "double": pa.float64(),
        "varchar": pa.string(), "char": pa.string(), "uuid": pa.string(), "date": pa.date32(),
    }  # fmt: skip
    return kinds.get(plain)


def as_duckdb_returns(table: pa.Table) -> pa.Table:
    """Return exact numbers as doubles, as far as doubles hold them, and one kind of texts."""
    import pyarrow as pa

    arrays = []
    for column in table.columns:
        kind = column.type
        if pa.types.is_decimal(kind):
            array: Any = numbers(column.to_pylist())
        elif str(kind) in ("string_view", "large_string"):
            array = column.cast(pa.string())
        elif pa.types.is_dictionary(kind):
            array = column.cast(kind.value_type)
        elif pa.types.is_timestamp(kind):
            array = column.cast(pa.timestamp("us", kind.tz), safe=False)  # cuts nanoseconds
        else:
            array = column
        arrays.append(array)
    return pa.Table.from_arrays(arrays, names=table.column_names)
