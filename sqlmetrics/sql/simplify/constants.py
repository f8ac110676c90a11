"""Remove constant columns from keys of groups, windows and joins.

The name of the only model is such a column in many queries. It stays only in the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.columns import all_selects, readers
from sqlmetrics.sql.simplify.facts import facts_of
from sqlmetrics.sql.simplify.guards import of_no_rows
from sqlmetrics.sql.simplify.relations import (
    Relation,
    alias_of,
    is_outer,
    named,
    parts_of,
    relation_name,
    tables_of,
)

_Constants = dict[str, dict[str, exp.Literal]]


def fold(relations: Sequence[Relation]) -> bool:
    """Drop constants from keys of groups, windows and joins, in place."""
    constants = _constants(relations)
    changed = False
    for relation in relations:
        for select in all_selects(relation.tree) if not relation.is_fixed else []:
            known = {
                alias_of(table): constants.get(relation_name(table), {})
                for table in tables_of(select)
            }
            changed |= _fold_joins(select, known)
            known = {alias: own for alias, own in known.items() if not is_outer(select, alias)}
            changed |= _fold_windows(select, known)
            changed |= _fold_group(select, known)
            changed |= _fold_order(select, known)
            changed |= _compute(select, known)
    return changed | _ungroup(relations, constants)


def _constants(relations: Sequence[Relation]) -> _Constants:
    """Find the columns that are the same constant in all rows, by relation."""
    constants: _Constants = {}
    for relation in relations:
        select = relation.select
        own: dict[str, exp.Literal] = {}
        for expression in select.expressions if select is not None else []:
            value = expression.unalias()
            if isinstance(value, exp.Column) and select is not None:
                value = _of_column(value, select, constants)
            if isinstance(value, exp.Literal):
                own[expression.alias_or_name] = value
        constants[relation.name] = own
    return constants


def _of_column(column: exp.Column, select: exp.Select, constants: _Constants) -> exp.Literal | None:
    outer = any(join.side for join in select.args.get("joins") or [])
    for table in tables_of(select):
        if alias_of(table) == column.table and not outer:
            return constants.get(relation_name(table), {}).get(column.name)
    return None


def _is_constant(node: exp.Expr, known: Mapping[str, Mapping[str, exp.Literal]]) -> bool:
    if isinstance(node, exp.Literal):
        return True
    return isinstance(node, exp.Column) and node.name in known.get(node.table, {})


def _fold_windows(select: exp.Select, known: Mapping[str, Mapping[str, exp.Literal]]) -> bool:
    changed = False
    for window in select.find_all(exp.Window):
        keys = window.args.get("partition_by") or []
        left = [key for key in keys if not _is_constant(key, known)]
        if len(left) < len(keys):
            window.set("partition_by", left)
            changed = True
    return changed


def _fold_group(select: exp.Select, known: Mapping[str, Mapping[str, exp.Literal]]) -> bool:
    """Drop constants from the keys of groups; one key stays, or an empty table had a row."""
    group = select.args.get("group")
    if group is None:
        return False
    constant = [
        key for key in group.expressions if isinstance(key, exp.Column) and _is_constant(key, known)
    ]
    if len(constant) == len(group.expressions):
        constant = constant[1:]
    if not constant:
        return False
    group.set("expressions", [key for key in group.expressions if key not in constant])
    for expression in select.expressions:
        for column in [c for c in constant if isinstance(c, exp.Column)]:
            value = known[column.table][column.name]
            for read in [node for node in expression.find_all(exp.Column) if node == column]:
                is_result = read.parent is select
                new = value.copy()
                read.replace(exp.alias_(new, named(column.name)) if is_result else new)
    return True


def _fold_joins(select: exp.Select, known: Mapping[str, Mapping[str, exp.Literal]]) -> bool:
    """Drop conditions that compare a constant with itself."""
    changed = False
    for join in select.args.get("joins") or []:
        conditions = parts_of(join.args.get("on"))
        there = {
            alias: own
            for alias, own in known.items()
            if alias == alias_of(join.this) or not is_outer(select, alias)
        }
        left = [part for part in conditions if not _is_true(part, there)]
        if len(left) == len(conditions) or (not left and join.side):
            continue
        changed = True
        if left:
            join.set("on", exp.and_(*left, copy=False))
        else:
            join.set("on", None)
            join.set("kind", "CROSS")
    return changed


def _is_true(part: exp.Expr, known: Mapping[str, Mapping[str, exp.Literal]]) -> bool:
    if not isinstance(part, exp.EQ):
        return False
    values = [
        known.get(side.table, {}).get(side.name) if isinstance(side, exp.Column) else None
        for side in (part.this, part.expression)
    ]
    return values[0] is not None and values[0] == values[1]


def _fold_order(select: exp.Select, known: Mapping[str, Mapping[str, exp.Literal]]) -> bool:
    order = select.args.get("order")
    if order is None:
        return False
    named = {e.alias_or_name: e.unalias() for e in select.expressions}
    left = [
        ordered
        for ordered in order.expressions
        if isinstance(ordered.this, exp.Literal)
        or (
            not _is_constant(ordered.this, known)
            and not isinstance(named.get(ordered.this.name), exp.Literal)
        )
    ]
    if len(left) == len(order.expressions):
        return False
    if left:
        order.set("expressions", left)
    else:
        select.set("order", None)
    return True


def _compute(select: exp.Select, known: Mapping[str, Mapping[str, exp.Literal]]) -> bool:
    """Put constants in the place of columns that are compared with something."""
    changed = False
    for column in list(select.find_all(exp.Column)):
        value = known.get(column.table, {}).get(column.name)
        inside = isinstance(column.parent, exp.EQ | exp.LTE | exp.Least)
        in_join = column.find_ancestor(exp.Join, exp.Select)
        if value is not None and inside and not isinstance(in_join, exp.Join):
            column.replace(value.copy())
            changed = True
    return changed


def _ungroup(relations: Sequence[Relation], constants: _Constants) -> bool:
    """Remove a GROUP BY with constant keys if the reader has a default for a missing row.

    Such a query has no row if there is nothing to aggregate, and its reader joins it to one row by
    LEFT JOIN. Without the key it has a row in any case.
    """
    facts, places = facts_of(relations), readers(relations)
    for relation in relations[:-1]:
        select = relation.select
        group = None if select is None else select.args.get("group")
        if select is None or group is None or len(places[relation.name]) != 1:
            continue
        if any(select.args.get(name) for name in ("having", "qualify", "limit", "offset")):
            continue
        known = {
            alias_of(table): constants.get(relation_name(table), {}) for table in tables_of(select)
        }
        if not all(_is_constant(key, known) for key in group.expressions):
            continue
        ((_, table),) = places[relation.name]
        reader, join = table.find_ancestor(exp.Select), table.parent
        if reader is None or not isinstance(join, exp.Join) or join.side != "LEFT":
            continue
        base = relation_name(tables_of(reader)[0])
        if base not in facts or not facts[base].one_row:
            continue
        if not all(_is_same(part, table, constants) for part in parts_of(join.args.get("on"))):
            continue
        if not _add_missing(reader, table, select):
            continue
        select.set("group", None)
        join.set("on", None)
        join.set("side", None)
        join.set("kind", "CROSS")
        return True
    return False


def _is_same(part: exp.Expr, table: exp.Table, constants: _Constants) -> bool:
    """Does a condition compare a constant of a joined table with the same of another?"""
    select = table.find_ancestor(exp.Select)
    assert select is not None
    known = {
        alias_of(other): constants.get(relation_name(other), {}) for other in tables_of(select)
    }
    return _is_true(part, known)


def _add_missing(reader: exp.Select, table: exp.Table, select: exp.Select) -> bool:
    """Simplify what a reader says of a missing row; False: it is read in other ways too."""
    alias = alias_of(table)
    values = {e.alias_or_name: e.unalias() for e in select.expressions}
    instead: list[tuple[exp.Expr, exp.Expr]] = []
    seen: set[int] = set()
    for case in reader.find_all(exp.Case):
        column, ifs = case.args.get("default"), case.args["ifs"]
        if len(ifs) != 1 or not isinstance(column, exp.Column) or column.table != alias:
            continue
        condition, default = ifs[0].this, ifs[0].args["true"]
        if not isinstance(condition, exp.Is) or condition.this.table != alias:
            continue
        empty = of_no_rows(values[column.name])
        if empty == default:
            instead.append((case, column))
        elif isinstance(empty, exp.Null):
            instead.append((case, exp.Coalesce(this=column, expressions=[default])))
        else:
            return False
        seen |= {id(column), id(condition.this)}
    join = {id(column) for column in _join_of(table).find_all(exp.Column)}
    for column in reader.find_all(exp.Column):
        is_other = column.table == alias and id(column) not in seen | join
        if is_other and not isinstance(of_no_rows(values[column.name]), exp.Null):
            return False
    for replaced, new in instead:
        replaced.replace(new.copy())
    return True


def _join_of(table: exp.Table) -> exp.Expr:
    assert table.parent is not None
    return table.parent
