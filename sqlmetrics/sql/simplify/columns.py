"""Drop columns that no relation reads, and relations that no relation reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.relations import (
    ROWS,
    Relation,
    alias_of,
    columns_in,
    is_grouped,
    is_inside,
    names_in_using,
    relation_name,
    select_around,
)
from sqlmetrics.sql.simplify.statement import Statement
from sqlmetrics.sql.trees import find_all


def drop_unread(statement: Statement) -> None:
    """Drop unread columns and relations, from the result back to the inputs."""
    read: dict[str, set[str]] = {}
    for relation in reversed(statement.relations[:]):
        if relation is not statement.relations[-1]:
            if relation.name not in read:
                statement.relations.remove(relation)
                continue
            if not relation.is_fixed and not relation.alias_columns:
                _keep(relation, read[relation.name])
        for name, columns in _reads(statement.tables(relation)):
            read.setdefault(name, set()).update(columns)


def _reads(tables: Sequence[exp.Table]) -> Iterator[tuple[str, set[str]]]:
    """Find the columns that a query may read of each of its tables, by the names of relations."""
    by_select: dict[int, dict[str, set[str]]] = {}
    for table in tables:
        select = select_around(table)
        columns = by_select.get(id(select))
        if columns is None:
            # columns without a table may belong to any table
            columns = by_select[id(select)] = {"": names_in_using(select)}
            for column in columns_in(select):
                columns.setdefault(column.table, set()).add(column.name)
            if any(expression.is_star for expression in select.expressions):
                columns[""].add("*")
        yield relation_name(table), columns.get(alias_of(table), set()) | columns[""]


def _keep(relation: Relation, read: set[str]) -> None:
    """Keep the columns in `read`, and those without which the rows would change."""
    branches, columns = relation.branches(), relation.columns
    if "*" in read or read.issuperset(columns) or _is_distinct(relation):
        return
    needed = set().union(*(_needed(branch, columns) for branch in branches))
    kept = [place for place, name in enumerate(columns) if name in read or place in needed]
    if len(kept) < len(columns) and _still_grouped(branches, kept):
        for branch in branches:
            branch.set("expressions", [branch.expressions[place] for place in kept or [0]])


def _is_distinct(relation: Relation) -> bool:
    """Would fewer columns make fewer rows?"""
    parts = [*find_all(relation.tree, exp.SetOperation), *relation.branches()]
    return any(part.args.get("distinct") for part in parts)


def _needed(branch: exp.Select, names: Sequence[str]) -> set[int]:
    """Return the places of columns that add rows, that say what a row is, or that ORDER BY names.

    `names`: the names of the columns.
    """
    group = branch.args.get("group")
    keys = [] if group is None else group.expressions
    without_table = [column for column in columns_in(branch) if not column.table]
    return {
        place
        for place, (expression, name) in enumerate(zip(branch.expressions, names, strict=True))
        if find_all(expression, *ROWS)
        or (isinstance(expression, exp.Column) and expression in keys)
        or any(c.name == name and not is_inside(c, expression) for c in without_table)
    }


def _still_grouped(branches: Sequence[exp.Select], kept: Sequence[int]) -> bool:
    """Return whether an ungrouped aggregate query keeps at least one aggregate."""
    for branch in branches:
        if branch.args.get("group") is None and is_grouped(branch):
            left = exp.Select(expressions=[branch.expressions[place].copy() for place in kept])
            if not is_grouped(left):
                return False
    return True
