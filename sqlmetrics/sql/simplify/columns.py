"""Qualify columns with their tables, and drop unread columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from sqlmetrics.sql.simplify.relations import (
    Relation,
    alias_of,
    branches_of,
    is_grouped,
    tables_of,
)

ROWS = (exp.Unnest, exp.Explode, exp.Inline, exp.GenerateSeries, exp.ExplodingGenerateSeries)
Sources = dict[str, Sequence[str] | None]


def qualify(tree: exp.Expr, outputs: Mapping[str, Sequence[str]]) -> None:
    """Put the name of its table before every column of a query, in place.

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
    named = set(tree.named_selects)
    joins = tree.args.get("joins") or []
    shared = {name.name for join in joins for name in join.args.get("using") or []}
    for node in list(own_nodes(tree)):
        if isinstance(node, exp.Query):
            _qualify(node, outputs, [sources, *outer])
        elif isinstance(node, exp.Column) and not node.table:
            if node.name in shared or _is_alias(node, tree, named):
                continue
            owner = _owner(node.name, [sources, *outer])
            if owner:
                node.set("table", exp.to_identifier(owner))


_UNKNOWN_PARTS = ("qualify", "limit", "offset", "sample", "windows", "laterals", "pivots")


def is_ordinary(tree: exp.Expr, outputs: Mapping[str, Sequence[str]]) -> bool:
    """Is a qualified query made of constructs that the passes know?"""
    if tree.find(exp.Except, exp.Intersect, exp.Lateral, exp.Pivot) is not None:
        return False
    return all(_is_ordinary(select, outputs) for select in tree.find_all(exp.Select))


def _is_ordinary(select: exp.Select, outputs: Mapping[str, Sequence[str]]) -> bool:
    if any(select.args.get(part) for part in _UNKNOWN_PARTS):
        return False
    distinct, group = select.args.get("distinct"), select.args.get("group")
    if distinct is not None and distinct.args.get("on") is not None:
        return False
    if group is not None:
        if any(value for name, value in group.args.items() if name != "expressions"):
            return False
        if any(isinstance(key, exp.Literal) for key in group.expressions):
            return False
    if any(expression.is_star for expression in select.expressions):
        return False
    for join in select.args.get("joins") or []:
        if join.kind not in ("", "INNER", "CROSS", "OUTER") or join.args.get("method"):
            return False
    return not _reads_its_aliases(select, outputs)


def _reads_its_aliases(select: exp.Select, outputs: Mapping[str, Sequence[str]]) -> bool:
    """Does a SELECT read columns of its own result, other than in ORDER BY?"""
    if any(_known(table, outputs) is None for table in tables_of(select)):
        return False  # the columns of a user's table are not known: a query reads it by name
    joins = select.args.get("joins") or []
    shared = {name.name for join in joins for name in join.args.get("using") or []}
    named = set(select.named_selects)
    return any(
        not node.table and node.name not in shared and not _is_alias(node, select, named)
        for node in own_nodes(select)
        if isinstance(node, exp.Column)
    )


def _known(table: exp.Expr, outputs: Mapping[str, Sequence[str]]) -> Sequence[str] | None:
    """Return the names of the columns of what a SELECT reads; None: they are not known."""
    alias = table.args.get("alias")
    if alias is not None and alias.columns:
        return [column.name for column in alias.columns]
    if isinstance(table, exp.Subquery):
        return list(table.this.named_selects)
    is_name = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    return outputs.get(table.name) if is_name and not table.args.get("db") else None


def _owner(column: str, levels: Sequence[Sources]) -> str:
    for sources in levels:
        owners = [alias for alias, columns in sources.items() if columns and column in columns]
        if len(owners) == 1:
            return owners[0]
        unknown = [alias for alias, columns in sources.items() if columns is None]
        if owners:
            return ""
        if len(unknown) == 1:
            return unknown[0]
    return ""


def _is_alias(column: exp.Column, select: exp.Select, named: set[str]) -> bool:
    """Is it the name of a column of the result, as ORDER BY reads it?"""
    order = select.args.get("order")
    if order is None or column.name not in named:
        return False
    ancestor = column.find_ancestor(exp.Order, exp.Window)
    return ancestor is order


def own_nodes(select: exp.Select) -> Iterator[exp.Expr]:
    """Walk what a SELECT says itself, up to the queries inside of expressions.

    What stands in FROM and in joins is left out, but for the conditions of joins.
    """
    tables = {id(table) for table in tables_of(select)}

    def stops(node: exp.Expr) -> bool:
        return id(node) in tables or (node is not select and isinstance(node, exp.Query))

    for node in select.walk(prune=stops):
        if node is not select and id(node) not in tables:
            yield node


def columns_in(tree: exp.Expr) -> Iterator[exp.Column]:
    """Find the columns of a query, without the names of options of a function that reads files."""
    for node in tree.walk(prune=lambda node: isinstance(node, exp.Table)):
        if isinstance(node, exp.Column):
            yield node


def all_selects(tree: exp.Expr) -> list[exp.Select]:
    """Return every SELECT of a query, also those inside of expressions and in FROM."""
    return list(tree.find_all(exp.Select))


def readers(relations: Sequence[Relation]) -> dict[str, list[tuple[Relation, exp.Table]]]:
    """Find the places where relations are read, by name."""
    places: dict[str, list[tuple[Relation, exp.Table]]] = {
        relation.name: [] for relation in relations
    }
    for relation in relations:
        for table in relation.tree.find_all(exp.Table):
            if table.name in places and not table.args.get("db"):
                places[table.name].append((relation, table))
    return places


def columns_of(table: exp.Table) -> set[str]:
    """Return the columns of a table that the SELECT around it reads."""
    select = table.find_ancestor(exp.Select)
    assert select is not None
    alias = alias_of(table)
    names: set[str] = set()
    several = len(tables_of(select)) > 1
    for column in select.find_all(exp.Column):
        if column.table == alias or (not column.table and not several):
            names.add(column.name)
        elif not column.table:
            names.add(column.name)  # perhaps a column of this table
    for join in select.args.get("joins") or []:
        names |= {name.name for name in join.args.get("using") or []}
    if any(expression.is_star for expression in select.expressions):
        names.add("*")
    return names


def drop_unread(relations: list[Relation]) -> bool:
    """Drop the columns that no other relation reads, and the relations that nobody reads."""
    changed = False
    places = readers(relations)
    for relation in reversed(relations[:-1]):
        if relation.is_fixed or relation.alias_columns:
            continue
        read: set[str] = set()
        for _, table in places[relation.name]:
            read |= columns_of(table)
        changed |= _keep(relation, read)
        places = readers(relations) if changed else places
    unread = [relation for relation in relations[:-1] if not _others(places, relation)]
    for relation in unread:
        relations.remove(relation)
        changed = True
    return changed


def _others(
    places: Mapping[str, list[tuple[Relation, exp.Table]]], relation: Relation
) -> list[exp.Table]:
    """Return the places where other relations read it."""
    return [table for reader, table in places[relation.name] if reader is not relation]


def _keep(relation: Relation, read: set[str]) -> bool:
    """Keep the columns in `read`, and those without which the rows would change."""
    branches = relation.branches()
    if not branches or not _may_drop(relation):
        return False
    columns = relation.columns
    if "*" in read:
        return False
    kept = [
        place
        for place, column in enumerate(columns)
        if column in read or any(_is_needed(branch, place, column) for branch in branches)
    ]
    if not _still_grouped(branches, kept):
        return False
    kept = kept or [0]
    if len(kept) == len(columns):
        return False
    for branch in branches:
        branch.set("expressions", [branch.expressions[place] for place in kept])
    return True


def _may_drop(relation: Relation) -> bool:
    """Return whether dropping a column keeps the rows."""
    operations = list(relation.tree.find_all(exp.SetOperation))
    distinct = any(operation.args.get("distinct") for operation in operations)
    by_place = any(isinstance(operation, exp.Except | exp.Intersect) for operation in operations)
    return not (distinct or by_place) and not any(
        branch.args.get("distinct") or _names_places(branch) for branch in relation.branches()
    )


def _names_places(select: exp.Select) -> bool:
    """Does GROUP BY or ORDER BY name columns by their places, or all of them?"""
    group, order = select.args.get("group"), select.args.get("order")
    keys = list(group.expressions) if group is not None else []
    keys += [ordered.this for ordered in order.expressions] if order is not None else []
    is_all = group is not None and bool(group.args.get("all"))
    return is_all or any(isinstance(key, exp.Literal) for key in keys)


def _is_needed(branch: exp.Select, place: int, column: str) -> bool:
    """Return whether the query needs a column itself, or the column adds rows."""
    expression = branch.expressions[place]
    if expression.find(*ROWS) is not None:
        return True
    group = branch.args.get("group")
    if isinstance(expression, exp.Column) and group is not None and expression in group.expressions:
        return True  # what a row is, for the reader
    own = {id(node) for node in expression.walk()}
    return any(
        not other.table and other.name == column and id(other) not in own
        for other in branch.find_all(exp.Column)
    )


def _still_grouped(branches: Sequence[exp.Select], kept: Sequence[int]) -> bool:
    """Return whether an ungrouped aggregate query keeps at least one aggregate."""
    for branch in branches:
        if branch.args.get("group") is None and is_grouped(branch):
            left = exp.Select(expressions=[branch.expressions[place].copy() for place in kept])
            if not is_grouped(left):
                return False
    return True
