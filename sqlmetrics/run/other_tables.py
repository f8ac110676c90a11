"""Evaluators of other tables that share the connection, the other tables and what was checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlmetrics.engines.base import EmbeddedEngine
from sqlmetrics.errors import UsageError, suggestion
from sqlmetrics.plan.planner import Planner
from sqlmetrics.sql.query_graph import Plan, Query
from sqlmetrics.tables.models import is_models
from sqlmetrics.tables.schema import Table
from sqlmetrics.texts.messages import TABLES


def check_replaceable(
    engine: EmbeddedEngine | None, tables: Mapping[str, Table], others: Mapping[str, Any]
) -> None:
    """Check that some tables can be replaced.

    Raises:
        UsageError: the engine cannot be shared, or a new table is not in memory.
    """
    for name, source in others.items():
        if name not in TABLES:
            raise UsageError(f"unknown table {name!r}{suggestion(name, TABLES)}")
        if not _is_in_memory(source):
            raise UsageError(
                f"{name}: with_tables replaces tables by data frames, Arrow tables or dicts, not "
                f"by {type(source).__name__}; create a new Evaluator"
            )
    kept = [source for name, table in tables.items() if name not in others
            for source in table.sources]  # fmt: skip
    if engine is None or not engine.can_be_shared or not all(source.is_held for source in kept):
        raise UsageError(
            "with_tables needs DuckDB without a connection of your own, and tables in files or in "
            "memory; create a new Evaluator"
        )


def _is_in_memory(source: Any) -> bool:
    if is_models(source):
        return all(map(_is_in_memory, source.values()))
    is_series = type(source).__name__ == "Series"  # of pandas, with a list per user
    has_columns = hasattr(source, "columns") or hasattr(source, "column_names")
    return isinstance(source, dict) or is_series or has_columns


def of_tables(planner: Planner, identities: Collection[str], tables: Collection[str]) -> set[str]:
    """Return the identities of queries that read only some of the tables."""
    read: dict[str, set[str]] = {}
    for plan in list(planner._memo.values()):
        plan = Plan(plan) if isinstance(plan, Query) else plan
        if isinstance(plan, Plan) and plan.root.key in identities:
            nodes = (node for node in plan.nodes() if node.is_input)
            read[plan.root.key] = {node.table if isinstance(node, Query) else "" for node in nodes}
    return {key for key, names in read.items() if names <= set(tables)}
