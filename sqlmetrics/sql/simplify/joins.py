"""Drop joins without effect, and print joins on equal names with USING."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.columns import all_selects
from sqlmetrics.sql.simplify.facts import AllFacts, facts_of, is_lookup
from sqlmetrics.sql.simplify.origins import Origins
from sqlmetrics.sql.simplify.relations import (
    Relation,
    alias_of,
    is_correlated,
    named,
    parts_of,
    relation_name,
    tables_of,
)


def drop_unread(relations: Sequence[Relation]) -> bool:
    """Drop joins that neither filter nor repeat rows and add no column that is read."""
    facts, origins, changed = facts_of(relations), Origins(relations), False
    for relation in relations:
        if relation.is_fixed:
            continue
        for select in relation.branches():
            for join in list(select.args.get("joins") or []):
                if _changes_nothing(select, join, facts, origins):
                    select.args["joins"].remove(join)
                    changed = True
            changed |= _drop_first(select, facts)
    return changed


def _drop_first(select: exp.Select, facts: AllFacts) -> bool:
    """Drop a first table of one row of which nothing is read."""
    joins = select.args.get("joins") or []
    if not joins or joins[0].kind != "CROSS":
        return False
    first = tables_of(select)[0]
    own = facts.get(relation_name(first))
    if own is None or not own.one_row or _is_read(select, alias_of(first), first):
        return False
    select.args["from_"].set("this", joins[0].this)
    select.set("joins", joins[1:])
    return True


def merge_copies(relations: Sequence[Relation]) -> bool:
    """Read a relation once where a query joins each of its rows to itself."""
    facts, changed = facts_of(relations), False
    for relation in relations:
        for select in relation.branches() if not relation.is_fixed else []:
            for join in list(select.args.get("joins") or []):
                other = _same_row(select, join, facts)
                if other is None:
                    continue
                alias = alias_of(join.this)
                select.args["joins"].remove(join)
                for column in select.find_all(exp.Column):
                    if column.table == alias:
                        column.set("table", exp.to_identifier(other))
                changed = True
    return changed


def _same_row(select: exp.Select, join: exp.Join, facts: AllFacts) -> str | None:
    """Find the table of a SELECT whose row a join finds again."""
    name = relation_name(join.this)
    if not name or join.side not in ("", "LEFT") or not is_lookup(join, facts):
        return None
    alias = alias_of(join.this)
    base = tables_of(select)[0]
    if relation_name(base) != name or alias_of(base) == alias:
        return None
    for part in parts_of(join.args.get("on")):
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        if len(sides) != 2 or not all(isinstance(side, exp.Column) for side in sides):
            return None
        if {side.table for side in sides} != {alias, alias_of(base)}:
            return None
        if sides[0].name != sides[1].name:
            return None
    return alias_of(base)


def _changes_nothing(select: exp.Select, join: exp.Join, facts: AllFacts, origins: Origins) -> bool:
    alias = alias_of(join.this)
    if not isinstance(join.this, exp.Table) or _is_read(select, alias, join):
        return False
    if join.kind == "CROSS":
        table = facts.get(join.this.name)
        return table is not None and table.one_row
    if not is_lookup(join, facts) or join.args.get("on") is None:
        return False
    return join.side == "LEFT" or (not join.side and origins.is_found(select, join))


def _is_read(select: exp.Select, alias: str, join: exp.Expr) -> bool:
    """Does a SELECT read a column of a joined table, but for the condition of the join?"""
    own = {id(column) for column in join.find_all(exp.Column)}
    several_unknown = any(
        not column.table and id(column) not in own and not _is_of_order(column, select)
        for column in select.find_all(exp.Column)
    )
    return several_unknown or any(
        column.table == alias and id(column) not in own for column in select.find_all(exp.Column)
    )


def _is_of_order(column: exp.Column, select: exp.Select) -> bool:
    return column.find_ancestor(exp.Order) is select.args.get("order")


def spell_using(relations: Sequence[Relation]) -> None:
    """Spell joins on columns of the same name USING (…), where nothing reads the joined copy."""
    outputs = {relation.name: set(relation.columns) for relation in relations}
    for relation in relations:
        if relation.is_fixed or is_correlated(relation.tree):
            continue
        for select in all_selects(relation.tree):
            _spell_using(select, outputs)


def _spell_using(select: exp.Select, outputs: Mapping[str, set[str]]) -> None:
    joins = select.args.get("joins") or []
    if not joins or any(join.side in ("RIGHT", "FULL") for join in joins):
        return
    tables = tables_of(select)
    known = [alias_of(tables[0])]
    merged: dict[str, str] = {}  # column -> the table whose it is
    spelled: list[tuple[exp.Join, list[str]]] = []
    for join in joins:
        alias = alias_of(join.this)
        names = _same_names(join, alias, merged, known)
        unclear = names is not None and any(
            _is_unclear(name, owner, select, join, spelled, outputs)
            for name, owner in names.items()
        )
        if names is None or unclear or _reads_copy(select, join, alias, set(names)):
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
            return  # a name alone would not say whose the column is
    for join, columns in spelled:
        alias = alias_of(join.this)
        join.set("on", None)
        join.set("using", [named(name) for name in columns])
        for column in list(select.find_all(exp.Column)):
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
    join: exp.Join, alias: str, merged: dict[str, str], known: Sequence[str]
) -> dict[str, str] | None:
    """Return the columns that a join sets equal to those of the same name, and whose they are."""
    names: dict[str, str] = {}
    for part in parts_of(join.args.get("on")):
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        own = [s for s in sides if isinstance(s, exp.Column) and s.table == alias]
        others = [s for s in sides if isinstance(s, exp.Column) and s.table != alias]
        if len(own) != 1 or len(others) != 1 or own[0].name != others[0].name:
            return None
        owner = others[0].table or merged.get(others[0].name, "")
        if merged.get(own[0].name, owner) != owner or owner not in known:
            return None
        names[own[0].name] = owner
    return names or None


def _reads_copy(select: exp.Select, join: exp.Join, alias: str, names: set[str]) -> bool:
    """Does a SELECT read the joined table's own copy of a column, which may be NULL?"""
    own = {id(column) for column in join.find_all(exp.Column)}
    return any(
        column.table == alias and column.name in names and id(column) not in own
        for column in select.find_all(exp.Column)
        if join.side == "LEFT"
    )
