"""Estimate whether the lists fit into memory, for queries whose data the engine cannot spill."""

from __future__ import annotations

from sqlmetrics.engines.base import EmbeddedEngine, Engine
from sqlmetrics.errors import DataError, EngineError
from sqlmetrics.sql.quoting import identifier, literal, path_literal
from sqlmetrics.tables.schema import Source, Table

_OF_ROW = 40  # bytes of a score in a list, and of the copies that sorting makes
_SHARE = 1 / 2  # of the memory limit; the rest is for joins and aggregates


def lists_fit(engine: Engine, lists: Table | None) -> bool:
    """Return whether the scores of all lists fit into half of the memory limit.

    Sources with an unknown number of rows, such as CSV files, count as empty.
    """
    embedded = engine.embedded
    if embedded is None or lists is None:
        return True
    try:
        rows = sum(_rows_of(embedded, source) or 0 for source in lists.sources)
    except (DataError, EngineError):  # input validation explains the error
        return True
    return not rows or rows * _OF_ROW <= _SHARE * embedded.memory_limit()


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
    """Run a query that counts; its text needs no Jinja, which a run with a kept plan omits."""
    return int(engine.query(query, source.label)[0]["n"] or 0)


def _rows_of_table(engine: EmbeddedEngine, source: Source) -> int | None:
    """Return the engine's estimate for a table; None for views and queries."""
    for row in engine.query("FROM duckdb_tables()", source.label):
        names = (row["database_name"], row["schema_name"], row["table_name"])
        if ".".join(map(identifier, names)) == source.relation:
            return int(row["estimated_size"])
    return None
