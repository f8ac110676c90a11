"""Estimate whether the lists fit into memory, for queries whose data the engine cannot spill."""

from __future__ import annotations

from typing import Any

from sqlmetrics.engines.base import EmbeddedEngine, Engine
from sqlmetrics.errors import DataError, EngineError
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.templates import environment
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
        return _counted(engine, source, "parquet_rows", files=source.files, item=item.source)
    if engine.is_in_memory(source.relation):
        column = item.source if item.is_list else None
        return _counted(engine, source, "row_count", relation=source.relation, list_column=column)
    return None if source.files or item.is_list else _rows_of_table(engine, source)


def _counted(engine: EmbeddedEngine, source: Source, template: str, **context: Any) -> int:
    """Run a query of `sql_templates/inputs` that counts the rows of a source."""
    text = environment().get_template(f"inputs/{template}.sql.j2")
    statement = text.render(table="recommendations", **context)
    return int(engine.query(statement, source.label)[0]["n_rows"] or 0)


def _rows_of_table(engine: EmbeddedEngine, source: Source) -> int | None:
    """Return the engine's estimate for a table; None for views and queries."""
    for row in engine.query("FROM duckdb_tables()", source.label):
        names = (row["database_name"], row["schema_name"], row["table_name"])
        if ".".join(map(identifier, names)) == source.relation:
            return int(row["estimated_size"])
    return None
