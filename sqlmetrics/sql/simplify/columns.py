"""Drop columns that no relation reads, and relations that no relation reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.relations import (
    ROWS,
    Relation,
    alias_of,
    columns_in,
    find_all,
    is_grouped,
    is_inside,
    names_in_using,
    relation_name,
    select_around,
)
from sqlmetrics.sql.simplify.statement import Statement


def drop_unread(statement: Statement) -> None:
    """Drop unread columns and relations, from the result back to the inputs."""
    read: dict[str, set[str]] = {}
    for relation in reversed(statement.relations[:]):
        if relation is not statement.relations[-1]:
            if relation.name not in read:
                statement.remove(relation)
                continue
            if not relation.is_fixed and not relation.alias_columns:
                _keep(relation, read[relation.name])
        for name, columns in _reads(statement.tables(relation)):
            read.setdefault(name, set()).update(columns)


def _reads(tables: Sequence[exp.Table]) -> Iterator[tuple[str, set[str]]]:
    """Return the relations behind tables, with the columns that the SELECT around may read."""
    by_select: dict[int, dict[str, set[str]]] = {}
    for table in tables:
        select = select_around(table)
        columns = by_select.get(id(select))
        if columns is None:
            # those without a table may be of any
            columns = by_select[id(select)] = {"": names_in_using(select)}
            for column in columns_in(select):
                columns.setdefault(column.table, set()).add(column.name)
            if any(expression.is_star for expression in select.expressions):
                columns[""].add("*")
        yield relation_name(table), columns.get(alias_of(table), set()) | columns[""]


def _keep(relation: Relation, read: set[str]) -> None:
    """Keep the columns in `read`, and those without which the rows would change."""
    branches, columns = relation.branches(), relation.columns
    if not branches or "*" in read or _is_distinct(relation):
        return
    without_table = [[c for c in columns_in(branch) if not c.table] for branch in branches]
    kept = [
        place
        for place, column in enumerate(columns)
        if column in read
        or any(
            _is_needed(branch, place) or _is_named(loose, branch.expressions[place], column)
            for branch, loose in zip(branches, without_table, strict=True)
        )
    ]
    if not _still_grouped(branches, kept):
        return
    kept = kept or [0]
    if len(kept) < len(columns):
        for branch in branches:
            branch.set("expressions", [branch.expressions[place] for place in kept])


def _is_distinct(relation: Relation) -> bool:
    """Would fewer columns make fewer rows?"""
    return any(
        operation.args.get("distinct") for operation in find_all(relation.tree, exp.SetOperation)
    ) or any(branch.args.get("distinct") for branch in relation.branches())


def _is_needed(branch: exp.Select, place: int) -> bool:
    """Does a column add rows, or say what a row is?"""
    expression = branch.expressions[place]
    if find_all(expression, *ROWS):
        return True
    group = branch.args.get("group")
    is_column = isinstance(expression, exp.Column)
    return is_column and group is not None and expression in group.expressions


def _is_named(columns: Sequence[exp.Column], expression: exp.Expr, name: str) -> bool:
    """Does one of some columns have a name, other than inside of an expression?"""
    return any(column.name == name and not is_inside(column, expression) for column in columns)


def _still_grouped(branches: Sequence[exp.Select], kept: Sequence[int]) -> bool:
    """Return whether an ungrouped aggregate query keeps at least one aggregate."""
    for branch in branches:
        if branch.args.get("group") is None and is_grouped(branch):
            left = exp.Select(expressions=[branch.expressions[place].copy() for place in kept])
            if not is_grouped(left):
                return False
    return True
