"""Identify requests and data, to tell whether two runs computed the same from the same.

File paths are not part of a request, because the same files may have other paths elsewhere. The
content of a table is identified by the sum of the hashes of its rows, which does not depend on the
order of rows, nor on the files and types that hold them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlmetrics.engines.base import EmbeddedEngine
from sqlmetrics.sql.query_graph import Node, Plan, Query, Rendered, hash_of
from sqlmetrics.tables.schema import ATTRIBUTES

_ORDER = "row_number"  # a column with the position of a row, which is not part of the content

_WHOLE = re.compile(r"(TINYINT|SMALLINT|INTEGER|BIGINT|UTINYINT|USMALLINT|UINTEGER)\Z")
_FRACTIONS = re.compile(r"(FLOAT|DOUBLE|DECIMAL.*)\Z")
_HUGE = re.compile(r"(UBIGINT|HUGEINT|UHUGEINT)\Z")
_TIMES = re.compile(r"(DATE|TIMESTAMP|TIMESTAMP_S|TIMESTAMP_MS|TIMESTAMP WITH TIME ZONE)\Z")


@functools.lru_cache(maxsize=64)
def identity(*roots: Node) -> str:
    """Return a hash of a result's queries, regardless of the files or tables that they read."""
    names: dict[str, str] = {}
    for root in roots:
        for node in Plan(root).nodes():
            text = node.sql({key: names[key] for key in node.parents}, pretty=False)
            if isinstance(node, Query) and node.is_input:
                tree = node.tree.copy()
                for table in list(tree.find_all(exp.Table)):
                    table.replace(exp.table_("source", alias=table.alias or None))
                text = f"{node.table}: {tree.sql('duckdb')}"
            names[node.key] = f"q{hash_of(text)}"
    return hash_of(*(names[root.key] for root in roots)) if len(roots) > 1 else names[roots[0].key]


@dataclass(frozen=True)
class TableContent:
    """The content of a table: number of rows, and sum of row hashes (None without rows).

    `model` is the model of the rows, in tables with a column of models. `columns` are the names of
    the columns in queries.
    """

    table: str
    model: str | None
    columns: tuple[str, ...]
    rows: int
    hashes: int | None = None

    @property
    def fingerprint(self) -> str:
        """Return a hash of the content; it does not depend on order, files or types of rows."""
        return hash_of(json.dumps([self.columns, self.rows, str(self.hashes)]))


def contents(engine: EmbeddedEngine, roots: Iterable[Node]) -> list[TableContent]:
    """Read the content of every table that results read, once per set of columns.

    Returns:
        One entry per table, set of columns and model, sorted by name.

    Raises:
        DataError, EngineError: a table cannot be read.
    """
    distinct: dict[TableContent, None] = {}
    for root in roots:
        for node in Plan(root).nodes():
            if isinstance(node, Query) and node.is_input:
                distinct.update(dict.fromkeys(content_of(engine, node)))
    return sorted(
        distinct, key=lambda content: (content.table, content.columns, content.model or "")
    )


def content_of(engine: EmbeddedEngine, node: Query) -> list[TableContent]:
    """Return the content of a query that reads a table: one entry, or one per model."""
    types = engine.describe(f"({Plan(node).statement(pretty=False)})", node.name)
    # the column of any attribute is called value in its query
    of_attribute = ATTRIBUTES.get(node.name, ("", node.name.removesuffix(f"_of_{node.table}")))[1]
    columns = tuple(of_attribute if name == "value" else name for name in _columns(node))
    return [
        TableContent(
            node.table,
            str(row["model"]) if "model" in row else None,
            columns,
            row["n_rows"],
            None if row["hash_sum"] is None else int(row["hash_sum"]),
        )
        for row in engine.records(Plan(rows_of(node, types)))
    ]


def _columns(node: Query) -> list[str]:
    """Return the columns that are part of the content, in an order independent of the source."""
    return sorted({*node.columns} - {_ORDER, "model"})


def rows_of(node: Query, types: Mapping[str, str]) -> Node:
    """Plan the number of rows that a query returns and the sum of their hashes, per model.

    `types` are the types of its columns; without types, rows are only counted.
    """
    hashed = [{"name": name, **_kind(types[name])} for name in _columns(node) if types]
    return Rendered.of(
        "record/fingerprint",
        {"table_rows": node},
        f"fingerprint_of_{node.name}",
        context={"hashed": hashed, "by_model": "model" in node.columns},
    )


def _kind(type_name: str) -> dict[str, str]:
    """Return the kind of hash for values of a type; see the macro value_hash."""
    if _WHOLE.match(type_name):
        return {"kind": "whole"}
    if _FRACTIONS.match(type_name):
        return {"kind": "number", "otherwise": "DOUBLE"}
    if _HUGE.match(type_name):
        return {"kind": "number", "otherwise": "VARCHAR"}
    if _TIMES.match(type_name):
        return {"kind": "time"}
    return {"kind": "nanoseconds" if type_name == "TIMESTAMP_NS" else "other"}
