"""Drop joins without effect, and print joins on equal names with USING."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.facts import is_lookup
from sqlmetrics.sql.simplify.relations import (
    Relation,
    alias_of,
    columns_in,
    drop_join,
    equal_columns,
    is_correlated,
    is_hidden,
    is_of_result,
    joins_of,
    named,
    relation_name,
    tables_of,
)
from sqlmetrics.sql.simplify.statement import Statement
from sqlmetrics.sql.trees import find_all


def drop_unread(relation: Relation, statement: Statement) -> None:
    """Drop joins that neither filter nor repeat rows and add no column that is read."""
    for select in relation.branches():
        read: Counter[str] | None = None
        for join in joins_of(select):
            if _keeps_rows(select, join, statement):
                read = _n_read(select) if read is None else read
                if not _is_read(alias_of(join.this), join, read):
                    drop_join(select, join)
                    read = None
        _drop_first(select, statement)


def _drop_first(select: exp.Select, statement: Statement) -> None:
    """Drop the first table if it has one row and the SELECT reads no column of it."""
    joins = joins_of(select)
    if not joins or joins[0].kind != "CROSS":
        return
    first = tables_of(select)[0]
    own = statement.facts.get(relation_name(first))
    if own is not None and own.one_row and not _is_read(alias_of(first), first, _n_read(select)):
        select.args["from_"].set("this", joins[0].this)
        select.set("joins", joins[1:])


def _keeps_rows(select: exp.Select, join: exp.Join, statement: Statement) -> bool:
    if not isinstance(join.this, exp.Table):
        return False
    if join.kind == "CROSS":
        table = statement.facts.get(relation_name(join.this))
        return table is not None and table.one_row
    return (
        join.args.get("on") is not None
        and is_lookup(join, statement.facts)
        and (join.side == "LEFT" or statement.origins.is_found(select, join))
    )


def _n_read(select: exp.Select) -> Counter[str]:
    """Count the columns in a SELECT by the aliases of their tables; "" are those without one."""
    columns = columns_in(select)
    return Counter(one.table for one in columns if one.table or not is_of_result(one, select))


def _is_read(alias: str, join: exp.Expr, n_read: Counter[str]) -> bool:
    """Does a SELECT read a column of a joined table, but for the condition of the join?"""
    n_own = sum(column.table in (alias, "") for column in columns_in(join))
    return n_read[alias] + n_read[""] > n_own


def spell_using(relations: Sequence[Relation]) -> None:
    """Spell joins on columns of the same name USING (…), where nothing reads the joined copy."""
    outputs = {relation.name: set(relation.columns) for relation in relations}
    for relation in relations:
        if relation.is_fixed or is_correlated(relation.tree):
            continue
        for select in find_all(relation.tree, exp.Select):
            _spell_using(select, outputs)


def _spell_using(select: exp.Select, outputs: Mapping[str, set[str]]) -> None:
    joins = joins_of(select)
    if not joins or any(join.side in ("RIGHT", "FULL") for join in joins):
        return
    tables = tables_of(select)
    known = [alias_of(tables[0])]
    merged: dict[str, str] = {}  # column -> its table
    spelled: list[tuple[exp.Join, list[str]]] = []
    for join in joins:
        alias = alias_of(join.this)
        names = _same_names(join, merged, known)
        unclear = names is not None and any(
            _is_unclear(name, owner, select, join, spelled, outputs)
            for name, owner in names.items()
        )
        if names is None or unclear or _reads_copy(select, join, set(names)):
            known.append(alias)
            continue
        for name, owner in names.items():
            merged.setdefault(name, owner)
        spelled.append((join, list(names)))
        known.append(alias)
    with_names = {id(join) for join, _ in spelled}
    plain = [join.this for join in joins if id(join) not in with_names]
    for table in plain:
        others = {name for name, owner in merged.items() if owner != alias_of(table)}
        if others & outputs.get(relation_name(table), others):
            return  # the name alone would be ambiguous
    for join, columns in spelled:
        alias = alias_of(join.this)
        join.set("on", None)
        join.set("using", [named(name) for name in columns])
        found = [column for column in columns_in(select) if not is_hidden(column, select)]
        for column in found:
            of = merged.get(column.name)
            if of is not None and column.name in columns and column.table in (of, alias):
                column.set("table", None)


def _is_unclear(
    name: str,
    owner: str,
    select: exp.Select,
    join: exp.Join,
    spelled: Sequence[tuple[exp.Join, list[str]]],
    outputs: Mapping[str, set[str]],
) -> bool:
    """Does another table before a join also have a column of this name?"""
    merged = {alias_of(other.this) for other, names in spelled if name in names}
    for table in tables_of(select):
        if table is join.this:
            return False
        is_other = alias_of(table) not in merged | {owner}
        if is_other and name in outputs.get(relation_name(table), {name}):
            return True
    return False


def _same_names(
    join: exp.Join, merged: Mapping[str, str], known: Sequence[str]
) -> dict[str, str] | None:
    """Return the names that a join sets equal on both sides, and the other side's table of each."""
    names: dict[str, str] = {}
    for own, other in equal_columns(join) or []:
        owner = other.table or merged.get(other.name, "")
        if own.name != other.name or owner not in known or merged.get(own.name, owner) != owner:
            return None
        names[own.name] = owner
    return names or None


def _reads_copy(select: exp.Select, join: exp.Join, names: set[str]) -> bool:
    """Does a SELECT read the joined table's own copy of a column, which may be NULL?"""
    return join.side == "LEFT" and any(
        column.table == alias_of(join.this) and column.name in names
        for column in columns_in(select, without=[join])
    )
