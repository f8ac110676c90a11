"""Merge queries that only pass rows on into the queries that read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.columns import ROWS, columns_in, readers
from sqlmetrics.sql.simplify.guards import in_brackets
from sqlmetrics.sql.simplify.relations import (
    Relation,
    alias_of,
    has_aggregate,
    is_correlated,
    is_grouped,
    named,
    parts_of,
    tables_of,
)

_PLAIN = ("expressions", "from_", "kind", "hint")
_FILTERED = (*_PLAIN, "where")
_JOINED = (*_FILTERED, "joins")


def merge(relations: list[Relation]) -> bool:
    """Put one query into the one that reads it; False: there is nothing left to merge."""
    places = readers(relations)
    for relation in relations[:-1]:
        own = places[relation.name]
        if relation.select is None or not own:
            continue
        if all(_may_take(relation.select, table, len(own)) for _, table in own) and not any(
            reader.is_fixed or is_correlated(reader.tree) for reader, _ in own
        ):
            for _, table in own:
                _take(relation, table)
            relations.remove(relation)
            return True
    return any(_take_over(reader, relations, places) for reader in relations)


def drop_constant_rows(relations: list[Relation]) -> bool:
    """Put the constants of a relation of one row in the place of its columns."""
    places, changed = readers(relations), False
    for relation in list(relations[:-1]):
        select = relation.select
        if select is None or not _has_only(select, ("expressions",)):
            continue
        values = {e.alias_or_name: e.unalias() for e in select.expressions}
        if not all(isinstance(value, exp.Literal) for value in values.values()):
            continue
        for _, table in places[relation.name]:
            outer, join = table.find_ancestor(exp.Select), table.parent
            if outer is None or not isinstance(join, exp.Join) or join.kind != "CROSS":
                break
            for column in list(outer.find_all(exp.Column)):
                if column.table == alias_of(table):
                    _replace(column, values[column.name])
            outer.args["joins"].remove(join)
            changed = True
    return changed


def _has_only(select: exp.Select, parts: Sequence[str]) -> bool:
    return all(not value for name, value in select.args.items() if name not in parts)


def _may_take(inner: exp.Select, table: exp.Table, n_readers: int) -> bool:
    """May a SELECT take in a query that it reads?"""
    outer = table.find_ancestor(exp.Select)
    if outer is None or inner.args.get("from_") is None or is_grouped(inner):
        return False
    if table.args.get("db") or any(e.find(exp.Window, exp.Subquery, *ROWS) is not None
                                   for e in inner.expressions):  # fmt: skip
        return False
    is_only = len(tables_of(outer)) == 1
    plain = all(isinstance(e.unalias(), exp.Column | exp.Literal) for e in inner.expressions)
    if n_readers > 1 and not (plain and _has_only(inner, _PLAIN) and _reads_relation(inner)):
        return False
    if not _may_stand_in(inner, outer, table) or _is_place(inner, outer, table):
        return False
    if not plain and not _reads_once(inner, outer, table):
        return False
    if _is_outer_joined(outer, table) and not _are_columns(inner):
        return False  # where the join finds nothing, they are NULL
    return all(column.table or is_only for column in outer.find_all(exp.Column)) or is_only


def _is_place(inner: exp.Select, outer: exp.Select, table: exp.Table) -> bool:
    """Would a number stand in GROUP BY or ORDER BY, where it is the place of a column?"""
    numbers = {e.alias_or_name for e in inner.expressions if isinstance(e.unalias(), exp.Literal)}
    group, order = outer.args.get("group"), outer.args.get("order")
    keys = list(group.expressions) if group is not None else []
    keys += [ordered.this for ordered in order.expressions] if order is not None else []
    return any(
        isinstance(key, exp.Column) and key.table in (alias_of(table), "") and key.name in numbers
        for key in keys
    )


def _may_stand_in(inner: exp.Select, outer: exp.Select, table: exp.Table) -> bool:
    """May what stands behind FROM of a query stand in that of its reader?

    Joins are not moved into a query with groups: what is joined has a name of its own there.
    """
    joined = bool(inner.args.get("joins"))
    if joined and (is_grouped(outer) or any(j.side for j in inner.args.get("joins") or [])):
        return len(tables_of(outer)) == 1 and not is_grouped(outer) and _has_only(inner, _JOINED)
    if len(tables_of(outer)) == 1:
        return _has_only(inner, _JOINED)
    first = outer.args["from_"].this is table
    return _has_only(inner, (*_PLAIN, "joins") if first else _PLAIN)


def _are_columns(select: exp.Select) -> bool:
    return all(isinstance(e.unalias(), exp.Column) for e in select.expressions)


def _reads_relation(select: exp.Select) -> bool:
    """Does it read another relation, and not a table of the user?"""
    (table,) = tables_of(select)
    return isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)


def _is_outer_joined(outer: exp.Select, table: exp.Table) -> bool:
    join = table.parent
    return (isinstance(join, exp.Join) and bool(join.side)) or any(
        other.side in ("RIGHT", "FULL") for other in outer.args.get("joins") or []
    )


def _reads_once(inner: exp.Select, outer: exp.Select, table: exp.Table) -> bool:
    """Does the outer SELECT read what the inner one computes no more than once?"""
    alias = alias_of(table)
    read = [c.name for c in outer.find_all(exp.Column) if c.table in (alias, "")]
    return all(
        read.count(expression.alias_or_name) <= 1
        for expression in inner.expressions
        if not isinstance(expression.unalias(), exp.Column | exp.Literal)
    )


def _take(relation: Relation, table: exp.Table) -> None:
    """Put a query in the place of the table that stands for it."""
    outer, inner = table.find_ancestor(exp.Select), relation.tree.copy()
    assert outer is not None
    assert isinstance(inner, exp.Select)
    alias, several = alias_of(table), len(tables_of(outer)) > 1
    sources = tables_of(inner)
    renamed: dict[str, str] = {}
    taken = {alias_of(other) for other in tables_of(outer) if other is not table}
    for source in sources:
        name = alias_of(source)
        if name in taken or (several and not name) or (several and len(sources) == 1):
            new = alias if len(sources) == 1 else f"{alias}_{name}"
            columns = source.args["alias"].columns if source.args.get("alias") else []
            source.set("alias", exp.TableAlias(this=exp.to_identifier(new), columns=columns))
            renamed[name] = new
    for column in columns_in(inner):
        if column.table in renamed or (not column.table and several):
            column.set("table", exp.to_identifier(renamed.get(column.table, alias)))
    values = {e.alias_or_name: e.unalias() for e in inner.expressions}
    for column in list(columns_in(outer)):
        own = column.table == alias or (not column.table and not several)
        if own and column.name in values and not _is_of_result(column, outer):
            _replace(column, values[column.name])
    table.replace(sources[0])
    joins = list(inner.args.get("joins") or [])
    outer.set("joins", joins + list(outer.args.get("joins") or []))
    where = inner.args.get("where")
    if where is not None:
        conditions = parts_of(where.this)
        rest = outer.args.get("where")
        conditions += [] if rest is None else parts_of(rest.this)
        outer.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))


def _is_of_result(column: exp.Column, outer: exp.Select) -> bool:
    """Is it the name of a column of the result, as ORDER BY reads it?"""
    order = outer.args.get("order")
    return (
        order is not None
        and not column.table
        and column.find_ancestor(exp.Order, exp.Window) is order
        and column.name in outer.named_selects
    )


def _replace(column: exp.Column, value: exp.Expr) -> None:
    """Put a value in the place of a column, which keeps its name if it is one of the result."""
    new = value.copy()
    is_result = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
    if is_result and not has_name(new, column.name):
        new = exp.alias_(new, column.name, quoted=bool(column.this.args.get("quoted")))
    column.replace(in_brackets(new, column.parent))


def has_name(value: exp.Expr, name: str) -> bool:
    """Has the result of an expression this name, without an alias?"""
    return isinstance(value, exp.Column) and value.name == name


def _take_over(
    reader: Relation, relations: list[Relation], places: Mapping[str, Sequence[object]]
) -> bool:
    """Give a query that only passes rows on the body of the one it reads, if nobody else does."""
    outer = reader.select
    if outer is None or not _has_only(outer, _PLAIN) or len(tables_of(outer)) != 1:
        return False
    (table,) = tables_of(outer)
    inner = next((r for r in relations if r.name == table.name and r is not reader), None)
    if inner is None or inner.select is None or len(places[inner.name]) != 1:
        return False
    if not isinstance(table, exp.Table) or table.args.get("db"):
        return False
    body = inner.select
    values = {e.alias_or_name: e.unalias() for e in body.expressions}
    columns = [e.unalias() for e in outer.expressions]
    names = [column.name for column in columns]
    if not all(isinstance(column, exp.Column) for column in columns):
        return False
    if any(value.find(*ROWS) is not None for name, value in values.items() if name not in names):
        return False
    if body.args.get("distinct") is not None or len(set(names)) != len(names):
        return False
    if body.args.get("group") is None and is_grouped(body):
        kept = [values[name] for name in names]
        if not any(map(has_aggregate, kept)):
            return False
    ordered = body.args.get("order") or body.args.get("having") or body.args.get("qualify")
    if ordered is not None or any(name not in values for name in names):
        return False
    body = body.copy()
    values = {e.alias_or_name: e.unalias() for e in body.expressions}
    body.set(
        "expressions",
        [
            values[column.name]
            if has_name(values[column.name], e.alias_or_name)
            else exp.alias_(values[column.name], named(e.alias_or_name))
            for e, column in zip(outer.expressions, columns, strict=True)
        ],
    )
    reader.tree = body
    relations.remove(inner)
    return True
