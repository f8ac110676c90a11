"""Compute aggregates after a lookup instead of before it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.facts import AllFacts, Facts, Inside
from sqlmetrics.sql.simplify.guards import in_brackets, of_no_rows
from sqlmetrics.sql.simplify.relations import (
    ROWS,
    Relation,
    alias_of,
    columns_in,
    equal_columns,
    find_all,
    is_grouped,
    joins_of,
    named,
    relation_name,
    tables_of,
    values_of,
)
from sqlmetrics.sql.simplify.statement import Statement

_OUTER_PARTS = ("expressions", "from_", "joins", "order", "kind", "hint")
_PARTS = ("expressions", "from_", "joins", "group", "kind", "hint")
# columns of a joined table, and those of the first table that they equal
_Pairs = Sequence[tuple[str, str]]


def group_after_join(statement: Statement) -> bool:
    """Move an aggregation behind the LEFT JOIN that looks up its rows by their key.

        SELECT user_id, coalesce(n, 0) FROM users LEFT JOIN (
            SELECT user_id, count(rank) AS n FROM hits GROUP BY user_id
        ) USING (user_id)

    becomes

        SELECT user_id, count(rank) FROM users LEFT JOIN hits USING (user_id) GROUP BY user_id
    """
    statement.look()
    n_relations, places = len(statement.relations), statement.readers()
    for reader in statement.relations[:]:
        outer = reader.select
        joins = [] if outer is None else joins_of(outer)
        if outer is None or is_grouped(outer) or len(joins) != 1 or joins[0].side != "LEFT":
            continue
        name = relation_name(joins[0].this)
        inner = next((r for r in statement.relations if r.name == name), None)
        if inner is None or inner.select is None or len(places[name]) != 1:
            continue
        if _put_together(outer, joins[0], inner.select, statement.facts):
            statement.relations.remove(inner)
    return len(statement.relations) < n_relations


def ungroup_single_rows(relation: Relation, statement: Statement) -> None:
    """Drop DISTINCT and GROUP BY of a key that no two rows share.

    An aggregate of one value is the value.
    """
    select = relation.select
    if select is None or len(tables_of(select)) != 1:
        return
    own = statement.facts.get(relation_name(tables_of(select)[0]), Facts())
    values = [e.unalias() for e in select.expressions]
    read = {value.name for value in values if isinstance(value, exp.Column)}
    if select.args.get("distinct") and own.is_unique(read) and not find_all(select, *ROWS):
        select.set("distinct", None)
    group = select.args.get("group")
    if group is None or any(select.args.get(part) for part in ("distinct", "having")):
        return
    if not own.is_unique({key.name for key in group.expressions if isinstance(key, exp.Column)}):
        return
    aggregates = find_all(select, exp.AggFunc)
    if all(
        isinstance(aggregate, exp.Max | exp.Min)
        and not isinstance(aggregate.parent, exp.Window | exp.Filter)
        for aggregate in aggregates
    ):
        select.set("group", None)
        for aggregate in aggregates:
            aggregate.replace(aggregate.this)


def _put_together(outer: exp.Select, join: exp.Join, inner: exp.Select, facts: AllFacts) -> bool:
    keys = _keys(outer, join, inner, facts)
    if keys is None or not all(other.side == "LEFT" for other in joins_of(inner)):
        return False
    base, alias = tables_of(outer)[0], alias_of(tables_of(outer)[0])
    body = inner.copy()
    source = tables_of(body)[0]
    if alias in {alias_of(table) for table in tables_of(body)}:
        return False
    inside = Inside(inner, facts)
    inside.facts[alias] = facts[relation_name(base)]
    new = _values(outer, join, values_of(body), inside, alias)
    if new is None:
        return False
    condition = [
        exp.EQ(this=key.copy(), expression=exp.column(named(column), table=alias))
        for key, column in keys
    ]
    outer.set("expressions", new)
    outer.set("joins", [
        exp.Join(this=source, side="LEFT", on=exp.and_(*condition, copy=False)),
        *joins_of(body),
    ])  # fmt: skip
    group = [exp.column(named(column), table=alias) for _, column in keys]
    read = {
        column.name: column.copy()
        for expression in new
        for column in columns_in(expression)
        if column.table == alias and column.find_ancestor(exp.AggFunc) is None
    }
    extra = [column for name, column in read.items() if name not in {key.name for key in group}]
    outer.set("group", exp.Group(expressions=[*group, *extra]))
    return True


def read_from_base(relation: Relation, statement: Statement) -> None:
    """Read a column from the first table if a joined table copies it from the same row.

    In `users LEFT JOIN hits USING (user_id)`, the number of a user's relevant items that stands in
    `hits` is that of `users`, if `hits` has it from there.
    """
    select = relation.select
    joins = [] if select is None else joins_of(select)
    if select is None or select.args.get("group") is None or not joins:
        return
    keys, base = equal_columns(joins[0]), alias_of(tables_of(select)[0])
    if not keys or any(other.table != base for _, other in keys):
        return
    if joins[0].side == "LEFT" and relation_name(joins[0].this):
        names = [(own.name, other.name) for own, other in keys]
        for expression in select.expressions:
            _read_from_base(expression, select, names, statement)


def _read_from_base(
    expression: exp.Expr, select: exp.Select, keys: _Pairs, statement: Statement
) -> None:
    base, source = tables_of(select)[:2]
    others: dict[str, str] = {}  # column of the joined table -> the same of the base
    for aggregate in find_all(expression, exp.Max):
        column = aggregate.this
        if isinstance(column, exp.Column) and column.table == alias_of(source):
            for other in statement.origins.columns_of(relation_name(base)):
                if _is_same_value(source, column.name, relation_name(base), other, keys, statement):
                    others[column.name] = other
                    break
    if not others:
        return
    new = exp.Paren(this=expression.copy())
    for aggregate in find_all(new, exp.Max):
        column = aggregate.this
        is_own = isinstance(column, exp.Column) and column.table == alias_of(source)
        if is_own and column.name in others:
            column.replace(exp.column(named(others[column.name]), table=alias_of(base)))
    value = new.this.unalias()
    default: exp.Expr = exp.null()
    if isinstance(value, exp.Coalesce):
        value, default = value.this, value.expressions[0]
    empty = _of_null_row(value, alias_of(base))
    if isinstance(empty, exp.Null) or empty == default:  # the same value without a match
        expression.replace(new.this)


def _is_same_value(
    source: exp.Expr, column: str, base: str, other: str, keys: _Pairs, statement: Statement
) -> bool:
    """Do a column of a query and one of the base come from the row that some keys identify?"""
    origins, facts = statement.origins, statement.facts
    for size in range(len(keys), 0, -1):
        for some in itertools.combinations(keys, size):
            own = relation_name(source), (*(key for key, _ in some), column)
            theirs = base, (*(key for _, key in some), other)
            rows = {own, *origins.of_relation(own)} & {theirs, *origins.of_relation(theirs)}
            if any(
                name in facts and facts[name].is_unique(set(columns[:-1])) for name, columns in rows
            ):
                return True
    return False


def _keys(
    outer: exp.Select, join: exp.Join, inner: exp.Select, facts: AllFacts
) -> list[tuple[exp.Column, str]] | None:
    """Return the columns that the inner query groups by, and those of the base that they equal."""
    group = inner.args.get("group")
    if group is None or any(value for name, value in inner.args.items() if name not in _PARTS):
        return None
    if any(value for name, value in outer.args.items() if name not in _OUTER_PARTS):
        return None
    base, values = tables_of(outer)[0], values_of(inner)
    keys = []
    for own, other in equal_columns(join) or []:
        key = values.get(own.name)
        if other.table != alias_of(base) or not isinstance(key, exp.Column):
            return None
        if key.table != alias_of(tables_of(inner)[0]):
            return None
        keys.append((key, other.name))
    base_facts = facts.get(relation_name(base))
    if base_facts is None or base_facts.one_row:
        return None
    if not base_facts.is_unique({column for _, column in keys}):
        return None
    return keys if {key for key, _ in keys} == set(group.expressions) else None


def _values(
    outer: exp.Select,
    join: exp.Join,
    values: Mapping[str, exp.Expr],
    inside: Inside,
    base: str,
) -> list[exp.Expr] | None:
    """Return the columns of the result after the join; None: their values would differ."""
    alias = alias_of(join.this)
    order = outer.args.get("order")
    if order is not None and any(c.table == alias for c in columns_in(order)):
        return None
    result = []
    for expression in outer.expressions:
        whole = exp.Paren(this=expression.copy())
        for column in [c for c in columns_in(whole) if c.table == alias]:
            seen = _seen(values[column.name], inside)
            if seen is None or not _is_right_where_missing(column, values[column.name], base):
                return None
            if column.parent is whole:
                column.replace(exp.alias_(seen, named(column.name)))
            else:
                column.replace(in_brackets(seen, column.parent))
        result.append(whole.this)
    return result


def _is_right_where_missing(column: exp.Column, value: exp.Expr, base: str) -> bool:
    """Return whether a moved aggregate has the value of the lookup for an unmatched row.

    That is NULL, or what a coalesce around the column gives.
    """
    empty, around = _of_null_row(value, base), column.parent
    if isinstance(around, exp.Coalesce) and around.this is column:
        return isinstance(empty, exp.Null) or empty == around.expressions[0]
    return isinstance(empty, exp.Null)


def _of_null_row(value: exp.Expr, base: str) -> exp.Expr | None:
    """Compute aggregates over a row that has no match; None: the value is not known.

    Every column is NULL, but for those of `base`.
    """
    value = exp.Paren(this=value.copy())
    for aggregate in find_all(value, exp.AggFunc, stops=(exp.Subquery,)):
        argument = aggregate.this
        columns = columns_in(aggregate)
        if columns and all(column.table == base for column in columns):
            aggregate.replace(exp.Placeholder(this="known"))  # some value
            continue
        if isinstance(argument, exp.Star) or argument is None:
            continue  # `_seen` replaces count(*) by count(column)
        if not _is_null_of_nulls(argument):
            return None
    return of_no_rows(value)


def _is_null_of_nulls(value: exp.Expr) -> bool:
    """Is an expression NULL where all of its columns are?"""
    value = value.unnest()
    if isinstance(value, exp.Distinct):
        return all(map(_is_null_of_nulls, value.expressions))
    if isinstance(value, exp.Case):
        return value.args.get("default") is None and all(
            _is_null_of_nulls(branch.this) for branch in value.args["ifs"]
        )
    if isinstance(value, exp.Column):
        return True
    if isinstance(value, exp.And):
        return any(map(_is_null_of_nulls, [value.this, value.expression]))
    if isinstance(value, exp.Binary) and not isinstance(
        value, exp.Or | exp.Is | exp.NullSafeEQ | exp.NullSafeNEQ
    ):
        return any(map(_is_null_of_nulls, [value.this, value.expression]))
    if isinstance(value, exp.Cast | exp.Neg | exp.Nullif | exp.Round):
        return _is_null_of_nulls(value.this)
    if isinstance(value, exp.Anonymous) and value.name.lower() == "log2":
        return _is_null_of_nulls(value.expressions[0])
    return False


def _seen(value: exp.Expr, inside: Inside) -> exp.Expr | None:
    """Count rows by a column that is never NULL, where `count(*)` would see the missing row."""
    result = exp.Paren(this=value.copy())
    for count in find_all(result, exp.Count, stops=(exp.Subquery,)):
        if isinstance(count.this, exp.Star) or count.this is None:
            alias = next(iter(inside.facts))
            known = sorted(inside.facts[alias].known)
            if not known:
                return None
            count.set("this", exp.column(named(known[0]), table=alias))
    inner: exp.Expr = result.this
    return inner
