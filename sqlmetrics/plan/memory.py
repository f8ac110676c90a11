"""Estimate whether the lists fit into memory, for queries whose data the engine cannot spill."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from sqlmetrics.engines.base import EmbeddedEngine, Engine
from sqlmetrics.errors import DataError, EngineError
from sqlmetrics.sql.quoting import identifier, literal, path_literal
from sqlmetrics.tables.schema import Source, Table

_OF_ROW = 40  # bytes of a score in a list, and of the copies that sorting makes
_SHARE = 1 / 2  # of the memory limit; the rest is for joins and aggregates
_fitting: WeakKeyDictionary[Engine, dict[str, bool]] = WeakKeyDictionary()  # by relations


def lists_fit(engine: Engine, tables: Iterable[Table]) -> bool:
    """Return whether the items of each of these tables fit into half of the memory limit.

    Sources with an unknown number of rows, such as CSV files, count as empty.
    """
    embedded = engine.embedded
    sources = [table.sources for table in tables]
    if embedded is None or not sources:
        return True
    fitting = _fitting.setdefault(engine, {})
    key = repr([[source.relation for source in of_table] for of_table in sources])
    if key not in fitting:
        try:
            rows = max(
                sum(_rows_of(embedded, source) or 0 for source in of_table) for of_table in sources
            )
            fits = not rows or rows * _OF_ROW <= _SHARE * embedded.memory_limit()
        except (DataError, EngineError):  # input validation explains the error
            return True
        if not all(source.is_held for of_table in sources for source in of_table):
            return fits  # the rows may change
        fitting[key] = fits
    return fitting[key]


def _rows_of(engine: EmbeddedEngine, source: Source) -> int | None:
    """Return the number of items of a source, without reading its rows; None if unknown."""
    item = source.find("item_id")
    if source.only_named or item is None:
        return None
    if source.format == "parquet" and source.files:
        return _number(
            engine,
            source,
            f"SELECT sum(num_values) AS n FROM parquet_metadata({path_literal(source.files)}) "
            f"WHERE split_part(path_in_schema, ', ', 1) = {literal(item.source)}",
        )
    if engine.is_in_memory(source.relation):
        counted = f"sum(len({identifier(item.source)}))" if item.is_list else "count(*)"
        return _number(engine, source, f"SELECT {counted} AS n FROM {source.relation}")
    return None if source.files or item.is_list else _rows_of_table(engine, source)


def _number(engine: EmbeddedEngine, source: Source, query: str) -> int:
    return int(engine.query(query, source.label)[0]["n"] or 0)


def _rows_of_table(engine: EmbeddedEngine, source: Source) -> int | None:
    """Return the engine's estimate for a table; None for views and queries."""
    for row in engine.query("FROM duckdb_tables()", source.label):
        names = (row["database_name"], row["schema_name"], row["table_name"])
        if ".".join(map(identifier, names)) == source.relation:
            return int(row["estimated_size"])
    return None
