"""Merge queries that only pass rows on into the queries that read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlglot import exp

from sqlmetrics.sql.query_graph import new_name
from sqlmetrics.sql.simplify.guards import in_brackets
from sqlmetrics.sql.simplify.relations import (
    ROWS,
    Relation,
    alias_of,
    columns_in,
    drop_join,
    has_aggregate,
    is_correlated,
    is_grouped,
    is_of_list,
    is_of_result,
    joins_of,
    named,
    names_in_using,
    parts_of,
    relation_name,
    select_around,
    sort_keys,
    tables_of,
    values_of,
)
from sqlmetrics.sql.simplify.statement import Readers, Statement
from sqlmetrics.sql.trees import find_all

_PLAIN = ("expressions", "from_", "kind", "hint")
_FILTERED = (*_PLAIN, "where")
_JOINED = (*_FILTERED, "joins")


def merge(statement: Statement) -> None:
    """Put queries into their readers; if none fits, let a reader take over a whole query."""
    n_relations, readers = len(statement.relations), statement.readers()
    for relation in statement.relations[:-1]:
        places = readers[relation.name]
        if (
            relation.select is not None
            and places
            and all(_may_take(relation.select, table, len(places)) for _, table in places)
            and not any(reader.is_fixed or is_correlated(reader.tree) for reader, _ in places)
        ):
            for _, table in places:
                _take(relation, table)
            statement.relations.remove(relation)
            _read_anew(readers, relation, [reader for reader, _ in places], statement)
    if len(statement.relations) == n_relations:
        for relation in statement.relations[:]:
            if _take_over(relation, statement, readers):
                readers = statement.readers()


def _read_anew(
    readers: Readers, gone: Relation, changed: Sequence[Relation], statement: Statement
) -> None:
    """Renew the places where relations are read, after some have taken a relation in."""
    of_changed = {reader.name: reader for reader in changed}
    tables = [
        (reader, table) for reader in of_changed.values() for table in statement.tables(reader)
    ]
    for name in {relation_name(table) for _, table in tables} & readers.keys():
        others = [place for place in readers[name] if place[0].name not in {gone.name, *of_changed}]
        new = [(reader, table) for reader, table in tables if relation_name(table) == name]
        readers[name] = others + new


def share_aggregates(statement: Statement) -> None:
    """Compute equal aggregates of a query once, under the word with which all their names end."""
    places = statement.readers()
    for relation in statement.relations[:-1]:
        select, readers = relation.select, places[relation.name]
        if select is None or any(
            reader.is_fixed or any(e.is_star for e in select_around(table).expressions)
            for reader, table in readers
        ):
            continue
        names: dict[exp.Expr, list[str]] = {}
        for name, value in values_of(select).items():
            if isinstance(value, exp.AggFunc):
                names.setdefault(value, []).append(name)
        for value, same in names.items():
            if len(same) > 1:
                _share(select, value, same, [table for _, table in readers])


def _share(
    select: exp.Select, value: exp.Expr, names: Sequence[str], tables: Sequence[exp.Table]
) -> None:
    ends = {name.rpartition("_")[2] for name in names}
    others = [e for e in select.expressions if e.alias_or_name not in names]
    name = new_name(ends.pop() if len(ends) == 1 else names[0], {e.alias_or_name for e in others})
    shared = exp.alias_(value.copy(), named(name))
    kept = [shared if e.alias_or_name == names[0] else e for e in select.expressions]
    select.set("expressions", [e for e in kept if e is shared or e.alias_or_name not in names])
    for table in tables:
        alias = alias_of(table)
        for column in columns_in(select_around(table)):
            if column.table == alias and column.name in names:
                _replace(column, exp.column(named(name), table=alias))


def drop_constant_rows(statement: Statement) -> None:
    """Replace the columns of a relation of one row by their constants."""
    places = statement.readers()
    for relation in statement.relations[:-1]:
        select = relation.select
        if select is None or not _has_only(select, ("expressions",)):
            continue
        values = values_of(select)
        if not all(isinstance(value, exp.Literal) for value in values.values()):
            continue
        for _, table in places[relation.name]:
            outer, join = select_around(table), table.parent
            if not isinstance(join, exp.Join) or join.kind != "CROSS":
                break
            if _is_place(select, outer, table):
                break
            for column in columns_in(outer):
                if column.table == alias_of(table):
                    _replace(column, values[column.name])
            drop_join(outer, join)


def _has_only(select: exp.Select, parts: Sequence[str]) -> bool:
    return all(not value for name, value in select.args.items() if name not in parts)


def _may_take(inner: exp.Select, table: exp.Table, n_readers: int) -> bool:
    outer = select_around(table)
    once = _only_keys(inner) and _only_keys(outer) and len(tables_of(outer)) == n_readers == 1
    if inner.args.get("from_") is None or (is_grouped(inner) and not once):
        return False
    if any(find_all(e, exp.Window, exp.Subquery, *ROWS) for e in inner.expressions):
        return False
    is_only, using = len(tables_of(outer)) == 1, names_in_using(outer)
    if using and any(
        name in using and not has_name(value, name) for name, value in values_of(inner).items()
    ):
        return False
    plain = all(isinstance(e.unalias(), exp.Column | exp.Literal) for e in inner.expressions)
    if n_readers > 1 and not (plain and _has_only(inner, _PLAIN) and _reads_relation(inner)):
        return False
    if not (once or _may_stand_in(inner, outer, table)) or _is_place(inner, outer, table):
        return False
    if not plain and not _reads_once(inner, outer, table):
        return False
    are_columns = all(isinstance(e.unalias(), exp.Column) for e in inner.expressions)
    if _is_outer_joined(outer, table) and not are_columns:
        return False  # the columns are NULL where the join finds nothing
    return is_only or all(column.table for column in columns_in(outer))


def _only_keys(select: exp.Select) -> bool:
    """Does a SELECT have no more than the keys of its groups, once each?"""
    group = select.args.get("group")
    if group is None or not _has_only(select, (*_JOINED, "group")):
        return False
    keys = [key for key in group.expressions if not isinstance(key, exp.Literal)]
    is_plain = not any(part for name, part in group.args.items() if name != "expressions")
    return is_plain and all(one.unalias() in keys for one in select.expressions)


def _is_place(inner: exp.Select, outer: exp.Select, table: exp.Table) -> bool:
    """Would a number move into GROUP BY or ORDER BY, where numbers are places of columns?"""
    numbers = {name for name, value in values_of(inner).items() if isinstance(value, exp.Literal)}
    return any(
        isinstance(key, exp.Column) and key.table in (alias_of(table), "") and key.name in numbers
        for key in sort_keys(outer)
    )


def _may_stand_in(inner: exp.Select, outer: exp.Select, table: exp.Table) -> bool:
    """May the FROM clause of a query move into that of its reader?

    Joins do not move into a query with groups: the joined query keeps its name there.
    """
    joins = joins_of(inner)
    if joins and (is_grouped(outer) or any(join.side for join in joins)):
        return len(tables_of(outer)) == 1 and not is_grouped(outer) and _has_only(inner, _JOINED)
    if len(tables_of(outer)) == 1:
        return _has_only(inner, _JOINED)
    first = outer.args["from_"].this is table
    has_query = len(find_all(inner, exp.Select)) > 1  # its tables may have the same alias
    kept = _PLAIN if has_query or _is_outer_joined(outer, table) else _FILTERED
    return _has_only(inner, (*kept, "joins") if first else kept)


def _reads_relation(select: exp.Select) -> bool:
    """Does a SELECT read its table by name, not through a function such as read_parquet?"""
    (table,) = tables_of(select)
    return isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)


def _is_outer_joined(outer: exp.Select, table: exp.Table) -> bool:
    join = table.parent
    return (isinstance(join, exp.Join) and bool(join.side)) or any(
        other.side in ("RIGHT", "FULL") for other in joins_of(outer)
    )


def _reads_once(inner: exp.Select, outer: exp.Select, table: exp.Table) -> bool:
    """Does the outer SELECT read what the inner one computes no more than once?"""
    read = Counter(c.name for c in columns_in(outer) if c.table in (alias_of(table), ""))
    return all(
        read[name] <= 1
        for name, value in values_of(inner).items()
        if not isinstance(value, exp.Column | exp.Literal)
    )


def _take(relation: Relation, table: exp.Table) -> None:
    outer, inner = select_around(table), relation.tree.copy()
    assert isinstance(inner, exp.Select)
    alias, several = alias_of(table), len(tables_of(outer)) > 1
    sources = tables_of(inner)
    renamed: dict[str, str] = {}
    taken = {alias_of(other) for other in tables_of(outer) if other is not table}
    for source in sources:
        name = alias_of(source)
        if name in taken or (several and not name) or (several and len(sources) == 1):
            new = alias if len(sources) == 1 else new_name(f"{alias}_{name}", taken)
            taken.add(new)
            columns = source.args["alias"].columns if source.args.get("alias") else []
            source.set("alias", exp.TableAlias(this=exp.to_identifier(new), columns=columns))
            renamed[name] = new
    for column in _columns_of(inner):
        if column.table in renamed or (not column.table and several):
            column.set("table", exp.to_identifier(renamed.get(column.table, alias)))
    values = values_of(inner)
    for column in _columns_of(outer):
        own = column.table == alias or (not column.table and not several)
        if own and column.name in values and not is_of_result(column, outer):
            _replace(column, values[column.name])
    table.replace(sources[0])
    outer.set("joins", joins_of(inner) + joins_of(outer))
    where = inner.args.get("where")
    if where is not None:
        conditions = parts_of(where.this)
        rest = outer.args.get("where")
        conditions += [] if rest is None else parts_of(rest.this)
        different = dict.fromkeys(conditions)  # the reader may repeat one
        outer.set("where", exp.Where(this=exp.and_(*different, copy=False)))


def _columns_of(select: exp.Select) -> list[exp.Column]:
    """Find the columns of a SELECT.

    Names of options of functions that read files, and of elements of lists, are no columns.
    """
    columns = find_all(select, exp.Column, stops=(exp.Table,))
    return [column for column in columns if not is_of_list(column)]


def _replace(column: exp.Column, value: exp.Expr) -> None:
    """Replace a column by a value. A column of the result keeps its name."""
    new = value.copy()
    is_result = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
    if is_result and not has_name(new, column.name):
        new = exp.alias_(new, column.name, quoted=bool(column.this.args.get("quoted")))
    column.replace(in_brackets(new, column.parent))


def has_name(value: exp.Expr, name: str) -> bool:
    """Does the result of an expression have this name without an alias?"""
    return isinstance(value, exp.Column) and value.name == name


def _take_over(reader: Relation, statement: Statement, readers: Readers) -> bool:
    """Replace a query that passes rows on, perhaps sorted, by the query that it alone reads.

    Return whether it was replaced.
    """
    outer = reader.select
    if outer is None or not _has_only(outer, (*_PLAIN, "order")) or len(tables_of(outer)) != 1:
        return False
    name = relation_name(tables_of(outer)[0])
    inner = next((r for r in statement.relations if r.name == name and r is not reader), None)
    if inner is None or inner.select is None or len(readers[name]) != 1:
        return False
    values, columns = values_of(inner.select), [e.unalias() for e in outer.expressions]
    if not all(isinstance(column, exp.Column | exp.Literal) for column in columns):
        return False
    names = [column.name for column in columns if isinstance(column, exp.Column)]
    if len(set(names)) != len(names) or any(name not in values for name in names):
        return False
    keys = sort_keys(outer)
    if not all(isinstance(key, exp.Column) and key.table for key in keys) or not all(
        isinstance(values.get(key.name), exp.Column) for key in keys
    ):
        return False  # a column that the result computes may have the name of a key
    if any(find_all(value, *ROWS) for name, value in values.items() if name not in names):
        return False
    if any(inner.select.args.get(part) for part in ("distinct", "order", "having")):
        return False
    is_total = inner.select.args.get("group") is None and is_grouped(inner.select)
    if is_total and not any(has_aggregate(values[name]) for name in names):
        return False
    body = inner.select.copy()
    values = values_of(body)
    order = outer.args.get("order")
    for key in keys:
        key.replace(values[key.name].copy())
    body.set("order", order)
    result = [
        values[column.name] if isinstance(column, exp.Column) else column for column in columns
    ]
    body.set(
        "expressions",
        [
            value if has_name(value, e.alias_or_name) else exp.alias_(value, named(e.alias_or_name))
            for e, value in zip(outer.expressions, result, strict=True)
        ],
    )
    reader.tree = body
    statement.relations.remove(inner)
    return True
