"""Compute aggregates after a lookup instead of before it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.columns import readers
from sqlmetrics.sql.simplify.facts import AllFacts, Inside, facts_of
from sqlmetrics.sql.simplify.guards import in_brackets, of_no_rows
from sqlmetrics.sql.simplify.origins import Origins
from sqlmetrics.sql.simplify.relations import (
    Relation,
    alias_of,
    is_grouped,
    named,
    parts_of,
    relation_name,
    tables_of,
)

_GROUPED = ("expressions", "from_", "joins", "group", "where", "order", "kind", "hint")
_OUTER_PARTS = ("expressions", "from_", "joins", "order", "kind", "hint")
_PARTS = ("expressions", "from_", "joins", "group", "kind", "hint")


def group_after_join(relations: list[Relation]) -> bool:
    """Aggregate after a LEFT JOIN what was aggregated before it and looked up by its key.

        SELECT user_id, coalesce(n, 0) FROM users LEFT JOIN (
            SELECT user_id, count(rank) AS n FROM hits GROUP BY user_id
        ) USING (user_id)

    becomes

        SELECT user_id, count(rank) FROM users LEFT JOIN hits USING (user_id) GROUP BY user_id
    """
    facts, places = facts_of(relations), readers(relations)
    for reader in relations:
        outer = reader.select
        if outer is None or is_grouped(outer):
            continue
        joins = outer.args.get("joins") or []
        if len(joins) != 1 or joins[0].side != "LEFT" or outer.args.get("where") is not None:
            continue
        (join,) = joins
        inner = next((r for r in relations if r.name == relation_name(join.this)), None)
        if inner is None or inner.select is None or len(places[inner.name]) != 1:
            continue
        if _put_together(outer, join, inner.select, facts):
            relations.remove(inner)
            return True
    return False


def ungroup_single_rows(relations: Sequence[Relation]) -> bool:
    """Drop DISTINCT and GROUP BY of a key that no two rows share.

    An aggregate of one value is the value.
    """
    facts, changed = facts_of(relations), False
    for relation in relations:
        select = relation.select
        if select is not None and select.args.get("distinct") and _is_distinct(select, facts):
            select.set("distinct", None)
            changed = True
        group = None if select is None else select.args.get("group")
        if select is None or group is None or len(tables_of(select)) != 1:
            continue
        own = facts.get(relation_name(tables_of(select)[0]))
        keys = {key.name for key in group.expressions if isinstance(key, exp.Column)}
        aggregates = list(select.find_all(exp.AggFunc))
        plain = all(isinstance(aggregate, exp.Max | exp.Min) for aggregate in aggregates)
        if own is None or not own.is_unique(keys) or not plain:
            continue
        rest = any(
            value for name, value in select.args.items() if name not in (*_PARTS, "where", "order")
        )
        if rest or any(isinstance(a.parent, exp.Window | exp.Filter) for a in aggregates):
            continue
        select.set("group", None)
        for aggregate in aggregates:
            aggregate.replace(aggregate.this)
        changed = True
    return changed


def _is_distinct(select: exp.Select, facts: AllFacts) -> bool:
    """Does no row come twice, as the table has a row for each value of these columns?"""
    if select.args["distinct"].args.get("on") is not None:
        return False
    tables = tables_of(select)
    own = facts.get(relation_name(tables[0])) if len(tables) == 1 else None
    columns = [e.unalias() for e in select.expressions]
    names = {column.name for column in columns if isinstance(column, exp.Column)}
    return own is not None and own.is_unique(names)


def _put_together(outer: exp.Select, join: exp.Join, inner: exp.Select, facts: AllFacts) -> bool:
    keys = _keys(outer, join, inner, facts)
    if keys is None or not all(other.side == "LEFT" for other in inner.args.get("joins") or []):
        return False
    base, alias = tables_of(outer)[0], alias_of(tables_of(outer)[0])
    body = inner.copy()
    source = tables_of(body)[0]
    if alias in {alias_of(table) for table in tables_of(body)}:
        return False
    inside = Inside(inner, facts)
    inside.facts[alias] = facts[relation_name(base)]
    values = {e.alias_or_name: e.unalias() for e in body.expressions}
    new = _values(outer, join, values, inside, alias)
    if new is None:
        return False
    condition = [
        exp.EQ(this=key.copy(), expression=exp.column(named(column), table=alias))
        for key, column in keys
    ]
    outer.set("expressions", new)
    outer.set("joins", [
        exp.Join(this=source, side="LEFT", on=exp.and_(*condition, copy=False)),
        *(body.args.get("joins") or []),
    ])  # fmt: skip
    group = [exp.column(named(column), table=alias) for _, column in keys]
    read = {
        column.name: column.copy()
        for expression in new
        for column in expression.find_all(exp.Column)
        if column.table == alias and column.find_ancestor(exp.AggFunc) is None
    }
    extra = [column for name, column in read.items() if name not in {key.name for key in group}]
    outer.set("group", exp.Group(expressions=[*group, *extra]))
    return True


def read_from_base(relations: Sequence[Relation]) -> bool:
    """Read columns from the first table where a joined one has them from the same row.

    In `users LEFT JOIN hits USING (user_id)`, the number of a user's relevant items that stands in
    `hits` is that of `users`, if `hits` has it from there.
    """
    facts, origins, changed = facts_of(relations), Origins(relations), False
    for relation in relations:
        select = relation.select
        joins = [] if select is None else select.args.get("joins") or []
        if select is None or select.args.get("group") is None or not joins:
            continue
        keys = _equal_keys(select, joins[0])
        if not keys or joins[0].side != "LEFT" or not relation_name(joins[0].this):
            continue
        for expression in select.expressions:
            changed |= _read_from_base(expression, select, keys, origins, facts)
    return changed


def _equal_keys(select: exp.Select, join: exp.Join) -> list[tuple[str, str]]:
    """Return the columns of a joined table, and those of the first table that they equal."""
    base, alias = alias_of(tables_of(select)[0]), alias_of(join.this)
    keys = []
    for part in parts_of(join.args.get("on")):
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        names = {side.table: side.name for side in sides if isinstance(side, exp.Column)}
        if names.keys() != {base, alias}:
            return []
        keys.append((names[alias], names[base]))
    return keys


def _read_from_base(
    expression: exp.Expr,
    select: exp.Select,
    keys: Sequence[tuple[str, str]],
    origins: Origins,
    facts: AllFacts,
) -> bool:
    base, source = tables_of(select)[:2]
    new = exp.Paren(this=expression.copy())
    moved = False
    for aggregate in list(new.find_all(exp.Max)):
        column = aggregate.this
        if not isinstance(column, exp.Column) or column.table != alias_of(source):
            continue
        for other in origins.columns_of(relation_name(base)):
            if _is_same_value(
                source, column.name, relation_name(base), other, keys, origins, facts
            ):
                column.replace(exp.column(named(other), table=alias_of(base)))
                moved = True
                break
    if not moved:
        return False
    value = new.this.unalias()
    default: exp.Expr = exp.null()
    if isinstance(value, exp.Coalesce):
        value, default = value.this, value.expressions[0]
    empty = _of_null_row(value, alias_of(base))
    if not isinstance(empty, exp.Null) and empty != default:
        return False  # without a match, the value would be another one
    expression.replace(new.this)
    return True


def _is_same_value(
    source: exp.Expr,
    column: str,
    base: str,
    other: str,
    keys: Sequence[tuple[str, str]],
    origins: Origins,
    facts: AllFacts,
) -> bool:
    """Do a column of a query and one of the base come from one row that some of the keys name?"""
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
    base, alias = tables_of(outer)[0], alias_of(join.this)
    named = {e.alias_or_name: e.unalias() for e in inner.expressions}
    keys = []
    for part in parts_of(join.args.get("on")):
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        own = [side for side in sides if isinstance(side, exp.Column) and side.table == alias]
        others = [
            side for side in sides if isinstance(side, exp.Column) and side.table == alias_of(base)
        ]
        if len(own) != 1 or len(others) != 1:
            return None
        key = named.get(own[0].name)
        if not isinstance(key, exp.Column) or key.table != alias_of(tables_of(inner)[0]):
            return None
        keys.append((key, str(others[0].name)))
    base_facts = facts.get(relation_name(base))
    if base_facts is None or base_facts.one_row:
        return None
    if not base_facts.is_unique({column for _, column in keys}):
        return None
    grouped = {key.sql() for key in group.expressions}
    return keys if {key.sql() for key, _ in keys} == grouped else None


def _values(
    outer: exp.Select,
    join: exp.Join,
    values: Mapping[str, exp.Expr],
    inside: Inside,
    base: str,
) -> list[exp.Expr] | None:
    """Return the columns of the result, computed after the join; None: they would be others."""
    alias = alias_of(join.this)
    order = outer.args.get("order")
    if order is not None and any(c.table == alias for c in order.find_all(exp.Column)):
        return None
    result = []
    for expression in outer.expressions:
        whole = exp.Paren(this=expression.copy())
        for column in [c for c in whole.find_all(exp.Column) if c.table == alias]:
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
    for aggregate in list(value.find_all(exp.AggFunc)):
        argument = aggregate.this
        columns = list(aggregate.find_all(exp.Column))
        if columns and all(column.table == base for column in columns):
            aggregate.replace(exp.Placeholder(this="known"))  # some value
            continue
        if isinstance(argument, exp.Star) or argument is None:
            continue  # count(*), which is spelled count(column)
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
    for count in list(result.find_all(exp.Count)):
        if isinstance(count.this, exp.Star) or count.this is None:
            alias = next(iter(inside.facts))
            known = sorted(inside.facts[alias].known)
            if not known:
                return None
            count.set("this", exp.column(named(known[0]), table=alias))
    inner: exp.Expr = result.this
    return inner
