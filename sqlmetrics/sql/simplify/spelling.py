"""Print names as an analyst does: without redundant aliases and table prefixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.relations import (
    Relation,
    alias_of,
    columns_in,
    is_among,
    is_correlated,
    is_hidden,
    names_in_using,
    own_nodes,
    relation_name,
    select_around,
    tables_of,
)
from sqlmetrics.sql.trees import find_all


def spell(relations: Sequence[Relation]) -> None:
    """Spell the names of all relations, in place."""
    outputs = {relation.name: relation.columns for relation in relations}
    for relation in relations:
        if relation.is_fixed or is_correlated(relation.tree):
            continue
        for select in find_all(relation.tree, exp.Select):
            _drop_aliases_of_tables(select, outputs)
            _drop_tables(select, outputs)
        drop_aliases(relation.tree)


def _drop_aliases_of_tables(select: exp.Select, outputs: Mapping[str, Sequence[str]]) -> None:
    """Drop the aliases of tables that a SELECT reads once."""
    tables = tables_of(select)
    names = [table.name for table in tables]
    outer = select.find_ancestor(exp.Select)
    around = [] if outer is None else [alias_of(table) for table in tables_of(outer)]
    for table in tables:
        alias = table.args.get("alias")
        if not isinstance(table, exp.Table) or alias is None or alias.columns:
            continue
        is_name = relation_name(table) in outputs
        if not is_name and len(tables) > 1:
            continue
        others = [alias_of(other) for other in tables if other is not table]
        if is_name and (names.count(table.name) > 1 or table.name in [*around, *others]):
            continue
        for column in columns_in(select):
            # a query inside this one may call a table of its own by the same alias
            if column.table == alias.name and select_around(column) is select:
                column.set("table", exp.to_identifier(table.name) if is_name else None)
        table.set("alias", None)


def _drop_tables(select: exp.Select, outputs: Mapping[str, Sequence[str]]) -> None:
    """Omit the table prefix of a column that only one table has."""
    tables = tables_of(select)
    if select.find_ancestor(exp.Select) is not None and len(tables) != 1:
        return
    known = {alias_of(table): outputs.get(table.name) for table in tables}
    merged = names_in_using(select)
    columns = [node for node in own_nodes(select) if isinstance(node, exp.Column) and node.table]
    for column in [column for column in columns if not is_hidden(column, select)]:
        owners = [
            alias for alias, names in known.items() if names is None or is_among(column.name, names)
        ]
        if (len(owners) == 1 and owners[0] == column.table) or (
            column.name in merged and column.table in known and len(owners) == 0
        ):
            column.set("table", None)


def drop_aliases(tree: exp.Expr) -> None:
    """Write `x`, not `x AS x`, in every SELECT of a query, in place."""
    for select in find_all(tree, exp.Select):
        for expression in select.expressions:
            column = expression.unalias()
            if isinstance(column, exp.Column) and column.name == expression.alias:
                expression.replace(column)
