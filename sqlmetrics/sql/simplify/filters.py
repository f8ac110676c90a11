"""Conditions on ranks: each once, and before the windows that count up to the rank."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sqlglot import exp

from sqlmetrics.sql.simplify.facts import Facts, limit_of
from sqlmetrics.sql.simplify.relations import (
    Relation,
    alias_of,
    is_grouped,
    is_outer,
    parts_of,
    relation_name,
    select_around,
    tables_of,
    values_of,
)
from sqlmetrics.sql.simplify.statement import Statement
from sqlmetrics.sql.trees import find_all

# functions that look only at rows up to their own, if their window has an order and no frame
_UP_TO_A_ROW = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Sum, exp.Count, exp.Min, exp.Max)
_OF_ALL_ROWS = ("group", "distinct", "having", "qualify", "order", "limit", "offset")


def drop_held(relation: Relation, statement: Statement) -> None:
    """Drop `rank <= k` where no row that is read has a higher rank.

    The rows must meet the same limit, or be at the first rank: `rank <= 1000` meets some cutoffs
    only, and macros have the cutoff as a parameter.
    """
    for select in find_all(relation.tree, exp.Select):
        where = select.args.get("where")
        if where is None:
            continue
        most = {
            alias_of(table): statement.facts.get(relation_name(table), Facts()).at_most
            for table in tables_of(select)
            if not is_outer(select, alias_of(table))
        }
        parts = parts_of(where.this)
        left = [part for part in parts if not _is_held(part, most)]
        if len(left) < len(parts):
            select.set("where", exp.Where(this=exp.and_(*left, copy=False)) if left else None)


def _is_held(part: exp.Expr, most: Mapping[str, Mapping[str, float]]) -> bool:
    limit = limit_of(part)
    if limit is None:
        return False
    highest = most.get(part.this.table, {}).get(part.this.name, math.inf)
    return highest == limit or highest <= min(limit, 1)


def move_before_windows(statement: Statement) -> None:
    """Move `rank <= k` from the only reader of a query before its windows.

    Engines do not: rows beyond rank k would be joined and sorted for nothing. The windows must
    begin at the lowest rank, so that later rows do not change the value of a row.
    """
    readers = statement.readers()
    for relation in reversed(statement.relations[:-1]):
        select, places = relation.select, readers[relation.name]
        if select is None or len(places) != 1 or places[0][0].select is None:
            continue
        table = places[0][1]
        reader, alias = select_around(table), alias_of(table)
        if table not in tables_of(reader) or is_outer(reader, alias):
            continue
        values, where = values_of(select), reader.args.get("where")
        parts = parts_of(where.this) if where is not None else []
        moved = [
            part
            for part in parts
            if isinstance(part, exp.LTE)
            and isinstance(part.this, exp.Column)
            and isinstance(part.expression, exp.Literal)
            and part.this.table == alias
            and _only_counts_up_to(select, values.get(part.this.name))
        ]
        if not moved:
            continue
        left = [part for part in parts if part not in moved]
        reader.set("where", exp.Where(this=exp.and_(*left, copy=False)) if left else None)
        for part in moved:
            value = values[part.this.name].copy()
            select.where(exp.LTE(this=value, expression=part.expression.copy()), copy=False)


def _only_counts_up_to(select: exp.Select, value: exp.Expr | None) -> bool:
    """Do all windows of a SELECT, at least one, look at rows with lower values only?"""
    windows = find_all(select, exp.Window)
    return (
        isinstance(value, exp.Column)
        and not any(select.args.get(part) for part in _OF_ALL_ROWS)
        and not is_grouped(select)
        and bool(windows)
        and all(
            isinstance(window.this, _UP_TO_A_ROW)
            and window.args.get("spec") is None
            and _begins_with(window.args.get("order"), value)
            for window in windows
        )
    )


def _begins_with(order: exp.Order | None, value: exp.Expr) -> bool:
    """Does an order begin with a value, lowest first and NULL last?"""
    if order is None:
        return False
    first = order.expressions[0]
    return first.this == value and not first.args.get("desc") and not first.args.get("nulls_first")
