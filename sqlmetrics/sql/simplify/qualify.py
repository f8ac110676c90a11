"""Qualify columns with their tables, and find constructs that the passes do not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.relations import (
    alias_of,
    branches_of,
    is_among,
    is_of_list,
    is_of_result,
    joins_of,
    named,
    names_in_using,
    own_nodes,
    relation_name,
    sort_keys,
    tables_of,
)
from sqlmetrics.sql.trees import find_all

Sources = dict[str, Sequence[str] | None]


def qualify(tree: exp.Expr, outputs: Mapping[str, Sequence[str]]) -> None:
    """Qualify every column of a query with its table, in place.

    `outputs`: the columns of the relations that the query may read.
    """
    _qualify(tree, outputs, [])


def _qualify(
    tree: exp.Expr, outputs: Mapping[str, Sequence[str]], outer: Sequence[Sources]
) -> None:
    for select in branches_of(tree):
        _qualify_select(select, outputs, outer)


def _qualify_select(
    tree: exp.Select, outputs: Mapping[str, Sequence[str]], outer: Sequence[Sources]
) -> None:
    tables = tables_of(tree)
    sources: Sources = {alias_of(table): _known(table, outputs) for table in tables}
    for table in tables:
        if isinstance(table, exp.Subquery):
            _qualify(table, outputs, outer)
    shared = names_in_using(tree)
    for node in own_nodes(tree):
        if isinstance(node, exp.Query):
            _qualify(node, outputs, [sources, *outer])
        elif isinstance(node, exp.Column):
            if not node.table:
                if node.name in shared or is_of_result(node, tree) or is_of_list(node):
                    continue
                owner = _owner(node.name, [sources, *outer])
                if owner:
                    node.set("table", exp.to_identifier(owner))
            _spell(node, [sources, *outer])


_UNKNOWN_PARTS = ("qualify", "limit", "offset", "sample", "windows", "laterals", "pivots")
# the place of a column, and groups of all rows, which may be none
_UNKNOWN_KEYS = (exp.Literal, exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)


def is_ordinary(tree: exp.Expr, outputs: Mapping[str, Sequence[str]]) -> bool:
    """Is a qualified query made of constructs that the passes know?"""
    if find_all(tree, exp.Except, exp.Intersect, exp.Lateral, exp.Pivot):
        return False
    return all(_is_ordinary(select, outputs) for select in find_all(tree, exp.Select))


def _is_ordinary(select: exp.Select, outputs: Mapping[str, Sequence[str]]) -> bool:
    if any(select.args.get(part) for part in _UNKNOWN_PARTS):
        return False
    distinct, group = select.args.get("distinct"), select.args.get("group")
    if distinct is not None and distinct.args.get("on") is not None:
        return False
    if group is not None and any(
        part for name, part in group.args.items() if name != "expressions"
    ):
        return False
    if any(isinstance(key, _UNKNOWN_KEYS) for key in sort_keys(select)):
        return False
    if any(expression.is_star for expression in select.expressions):
        return False
    for join in joins_of(select):
        if join.kind not in ("", "INNER", "CROSS", "OUTER") or join.args.get("method"):
            return False
    return not _reads_its_aliases(select, outputs)


def _reads_its_aliases(select: exp.Select, outputs: Mapping[str, Sequence[str]]) -> bool:
    """Does a SELECT read columns of its own result, other than in ORDER BY?"""
    if any(_known(table, outputs) is None for table in tables_of(select)):
        return False  # the columns of a user's table are not known: a query reads it by name
    shared = names_in_using(select)
    return any(
        not node.table
        and node.name not in shared
        and not is_of_result(node, select)
        and not is_of_list(node)
        for node in own_nodes(select)
        if isinstance(node, exp.Column)
    )


def _known(table: exp.Expr, outputs: Mapping[str, Sequence[str]]) -> Sequence[str] | None:
    """Return the columns of a table or subquery; None: they are not known."""
    alias = table.args.get("alias")
    if alias is not None and alias.columns:
        return [column.name for column in alias.columns]
    if isinstance(table, exp.Subquery):
        return list(table.this.named_selects)
    return outputs.get(relation_name(table))


def _spell(column: exp.Column, levels: Sequence[Sources]) -> None:
    """Spell a column as its table does: passes compare names, and DuckDB ignores their case."""
    names = next((sources[column.table] for sources in levels if column.table in sources), None)
    if names and column.name not in names:
        same = [name for name in names if name.lower() == column.name.lower()]
        if len(same) == 1:
            column.set("this", named(same[0]))


def _owner(column: str, levels: Sequence[Sources]) -> str:
    for sources in levels:
        owners = [
            alias for alias, columns in sources.items() if columns and is_among(column, columns)
        ]
        if len(owners) == 1:
            return owners[0]
        unknown = [alias for alias, columns in sources.items() if columns is None]
        if owners:
            return ""
        if len(unknown) == 1:
            return unknown[0]
    return ""
