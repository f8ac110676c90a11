"""Remove constant columns from keys of groups, windows and joins.

The name of the only model is such a column in many queries. It stays only in the result.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlglot import exp

from sqlmetrics.sql import transpile
from sqlmetrics.sql.simplify.facts import Facts, Inside
from sqlmetrics.sql.simplify.guards import of_no_rows
from sqlmetrics.sql.simplify.relations import (
    Relation,
    alias_of,
    columns_in,
    is_grouped,
    is_of_result,
    is_outer,
    joins_of,
    named,
    parts_of,
    relation_name,
    select_around,
    tables_of,
    values_of,
)
from sqlmetrics.sql.simplify.statement import Statement
from sqlmetrics.sql.trees import find_all

_Constants = Mapping[str, Mapping[str, exp.Literal]]


def fold(relation: Relation, statement: Statement) -> None:
    """Drop constants from keys of groups, windows and joins."""
    for select in find_all(relation.tree, exp.Select):
        known = _known(select, statement)
        _fold_joins(select, known)
        known = {alias: own for alias, own in known.items() if not is_outer(select, alias)}
        _fold_windows(select, known)
        _fold_group(select, known)
        _fold_order(select, known)
        _compute(select, known)


def _known(select: exp.Select, statement: Statement) -> _Constants:
    """Return the constant columns of the tables that a SELECT reads, by their aliases."""
    facts = statement.facts
    return {
        alias_of(table): facts.get(relation_name(table), Facts()).constants
        for table in tables_of(select)
    }


def _is_constant(node: exp.Expr, known: _Constants) -> bool:
    if isinstance(node, exp.Literal):
        return True
    return isinstance(node, exp.Column) and node.name in known.get(node.table, {})


def _fold_windows(select: exp.Select, known: _Constants) -> None:
    for window in find_all(select, exp.Window):
        keys = window.args.get("partition_by") or []
        if any(_is_constant(key, known) for key in keys):
            window.set("partition_by", [key for key in keys if not _is_constant(key, known)])


def _fold_group(select: exp.Select, known: _Constants) -> None:
    """Drop constants from the keys of groups, but not all: an empty table would get a row."""
    group = select.args.get("group")
    if group is None:
        return
    keys = group.expressions
    constant = [key for key in keys if isinstance(key, exp.Column) and _is_constant(key, known)]
    if len(constant) == len(keys):
        constant = constant[1:]
    if not constant:
        return
    group.set("expressions", [key for key in keys if key not in constant])
    having = select.args.get("having")
    for expression in [*select.expressions, *([] if having is None else [having])]:
        for read in [node for node in columns_in(expression) if node in constant]:
            new = known[read.table][read.name].copy()
            is_result = read.parent is select
            read.replace(exp.alias_(new, named(read.name)) if is_result else new)


def _fold_joins(select: exp.Select, known: _Constants) -> None:
    """Drop conditions that compare a constant with itself."""
    for join in joins_of(select):
        conditions = parts_of(join.args.get("on"))
        there = {
            alias: own
            for alias, own in known.items()
            if alias == alias_of(join.this) or not is_outer(select, alias)
        }
        left = [part for part in conditions if not _is_true(part, there)]
        if len(left) == len(conditions) or (not left and join.side):
            continue
        if left:
            join.set("on", exp.and_(*left, copy=False))
        else:
            join.set("on", None)
            join.set("kind", "CROSS")


def _is_true(part: exp.Expr, known: _Constants) -> bool:
    if not isinstance(part, exp.EQ):
        return False
    values = [
        known.get(side.table, {}).get(side.name) if isinstance(side, exp.Column) else None
        for side in (part.this, part.expression)
    ]
    return values[0] is not None and values[0] == values[1]


def _fold_order(select: exp.Select, known: _Constants) -> None:
    order = select.args.get("order")
    if order is None:
        return
    values = values_of(select)
    left = [
        ordered
        for ordered in order.expressions
        if not _is_constant(ordered.this, known)
        and not (
            isinstance(ordered.this, exp.Column)
            and is_of_result(ordered.this, select)
            and isinstance(values[ordered.this.name], exp.Literal)
        )
    ]
    if left:
        order.set("expressions", left)
    else:
        select.set("order", None)


def _compute(select: exp.Select, known: _Constants) -> None:
    """Replace constant columns by their values in comparisons."""
    for column in columns_in(select) if any(known.values()) else []:
        value = known.get(column.table, {}).get(column.name)
        inside = isinstance(column.parent, exp.EQ | exp.LTE | exp.Least)
        if value is None or not inside:
            continue
        if not isinstance(column.find_ancestor(exp.Join, exp.Select), exp.Join):
            column.replace(value.copy())


def ungroup(statement: Statement) -> None:
    """Remove a GROUP BY with constant keys if the reader has a default for a missing row.

    Such a query has no row if there is nothing to aggregate, and its reader joins it to one row by
    LEFT JOIN. Without the key it has a row in any case.
    """
    facts, readers = statement.facts, statement.readers()
    for relation in statement.relations[:-1]:
        select, places = relation.select, readers[relation.name]
        group = None if select is None else select.args.get("group")
        if select is None or group is None or select.args.get("having") or len(places) != 1:
            continue
        known = _known(select, statement)
        if not all(_is_constant(key, known) for key in group.expressions):
            continue
        ((_, table),) = places
        reader, join = select_around(table), table.parent
        if not isinstance(join, exp.Join) or join.side != "LEFT":
            continue
        base = facts.get(relation_name(tables_of(reader)[0]))
        if base is None or not base.one_row:
            continue
        known = _known(reader, statement)
        if not all(_is_true(part, known) for part in parts_of(join.args.get("on"))):
            continue
        whole = _without_groups(select, statement)
        # without an aggregate, it would have a row for each of its table
        if is_grouped(whole) and _add_missing(
            reader, table, values_of(whole), facts[relation.name].known
        ):
            relation.tree = whole
            join.set("on", None)
            join.set("side", None)
            join.set("kind", "CROSS")
            readers = statement.readers()


def _without_groups(select: exp.Select, statement: Statement) -> exp.Select:
    """Return a SELECT without GROUP BY; guard divisors again that are not 0 only in groups."""
    whole = select.copy()
    whole.set("group", None)
    inside = Inside(whole, statement.facts)
    for division in find_all(whole, exp.Div):
        if transpile.is_safe(division) and not inside.is_positive(division.expression):
            transpile.guard_again(division)
    return whole


def _default_of(node: exp.Expr, alias: str) -> tuple[exp.Column, exp.Expr, list[exp.Expr]] | None:
    """Split a value with a default for a missing row: its column, the default, other columns.

    Such a value is `coalesce(table.column, default)`, or `CASE WHEN table.key IS NULL THEN default
    ELSE table.column END`.
    """
    read: list[exp.Expr] = []
    if isinstance(node, exp.Coalesce):
        column, defaults = node.this, node.expressions
    else:
        column, defaults = node.args.get("default"), [one.args["true"] for one in node.args["ifs"]]
        read = [one.this.this for one in node.args["ifs"] if isinstance(one.this, exp.Is)]
        if len(read) != 1 or not isinstance(read[0], exp.Column) or read[0].table != alias:
            return None
    if len(defaults) != 1 or not isinstance(column, exp.Column) or column.table != alias:
        return None
    return column, defaults[0], read


def _add_missing(
    reader: exp.Select, table: exp.Table, values: Mapping[str, exp.Expr], known: Collection[str]
) -> bool:
    """Simplify the reader's defaults for a missing row; False: it also reads the row otherwise.

    `known`: the columns of the row that are never NULL if it is not missing.
    """
    alias = alias_of(table)
    instead: list[tuple[exp.Expr, exp.Expr]] = []
    seen: set[int] = set()
    for node in find_all(reader, exp.Case, exp.Coalesce):
        parts = _default_of(node, alias)
        if parts is None:
            continue
        column, default, read = parts
        empty = of_no_rows(values[column.name])
        if isinstance(node, exp.Coalesce):  # it is right in any case, if perhaps not needed
            if empty not in (default, exp.null()):
                return False
            if empty == default and column.name in known:
                instead.append((node, column))
        elif empty == default:
            instead.append((node, column))
        elif isinstance(empty, exp.Null) and column.name in known:
            instead.append((node, exp.Coalesce(this=column, expressions=[default])))
        else:
            return False
        seen |= {id(column), *map(id, read)}
    for column in columns_in(reader, without=[table.parent] if table.parent else []):
        is_other = column.table == alias and id(column) not in seen
        if is_other and not isinstance(of_no_rows(values[column.name]), exp.Null):
            return False
    for replaced, new in instead:
        replaced.replace(new.copy())
    return True
