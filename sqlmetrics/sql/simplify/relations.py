"""Relations of a statement, and what passes read of their trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.trees import find_all, walk

# functions that make several rows of one
ROWS = (exp.Unnest, exp.Explode, exp.Inline, exp.GenerateSeries, exp.ExplodingGenerateSeries)


@dataclass(eq=False)
class Relation:
    """A query of a statement; other relations read it by its name.

    Attributes:
        name: its name.
        tree: the query, a copy of its own without CTEs. Change it only with the methods of its
            nodes: they renew the hashes by which passes see changes.
        title: what a row is, for the reader.
        alias_columns: the names of its columns, where the name of the CTE lists them.
        is_recursive: does it read itself?
        is_fixed: does it stay as it is? No pass changes a query with constructs that
            `qualify.is_ordinary` does not know.
        is_input: does it read a table of the user?
    """

    name: str
    tree: exp.Query
    title: str = ""
    alias_columns: Sequence[str] = ()
    is_recursive: bool = False
    is_fixed: bool = False
    is_input: bool = False

    @property
    def columns(self) -> list[str]:
        """Return the names of its columns."""
        if self.alias_columns:
            return list(self.alias_columns)
        branches = self.branches()
        return list((branches[0] if branches else self.tree).named_selects)

    @property
    def select(self) -> exp.Select | None:
        """Return the query if it is a single SELECT that passes may change."""
        fixed = self.is_fixed or self.alias_columns
        return self.tree if isinstance(self.tree, exp.Select) and not fixed else None

    @property
    def is_union(self) -> bool:
        """Is it made of SELECTs whose rows UNION puts together by the places of columns?"""
        if self.is_fixed or self.alias_columns or isinstance(self.tree, exp.Select):
            return False
        return all(
            isinstance(part, exp.Union)
            and not any(part.args.get(other) for other in ("by_name", "limit", "offset"))
            for part in find_all(self.tree, exp.SetOperation, stops=(exp.Select,))
        )

    def branches(self) -> list[exp.Select]:
        """Return the SELECTs that a UNION puts together, or the only one."""
        return branches_of(self.tree)


def is_among(name: str, names: Sequence[str]) -> bool:
    """Is a column with this name one of these? DuckDB ignores case, also of quoted names."""
    return name.lower() in [other.lower() for other in names]


def columns_in(tree: exp.Expr, without: Sequence[exp.Expr] = ()) -> list[exp.Column]:
    """Find the columns in a tree."""
    return find_all(tree, exp.Column, without=without)


def branches_of(tree: exp.Expr) -> list[exp.Select]:
    """Return the SELECTs that UNION puts together, in their order.

    There may be hundreds, too many for recursion.
    """
    branches, left = [], [tree]
    while left:
        part = left.pop()
        if isinstance(part, exp.SetOperation):
            left += [part.expression, part.this]
        elif isinstance(part, exp.Subquery):
            left.append(part.this)
        elif isinstance(part, exp.Select):
            branches.append(part)
    return branches


def tables_of(select: exp.Select) -> list[exp.Expr]:
    """Return the tables and subqueries in FROM and in the joins of a SELECT."""
    origin = select.args.get("from_")
    return [part.this for part in [*([] if origin is None else [origin]), *joins_of(select)]]


def relation_name(table: exp.Expr) -> str:
    """Return the name of the relation that a table may stand for, or the empty text."""
    is_name = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    return str(table.name) if is_name and not table.args.get("db") else ""


def alias_of(table: exp.Expr) -> str:
    """Return the name that qualifies the columns of a table."""
    return str(table.alias_or_name)


def is_inside(node: exp.Expr, tree: exp.Expr) -> bool:
    """Is a node part of a tree?"""
    at: exp.Expr | None = node
    while at is not None and at is not tree:
        at = at.parent
    return at is tree


def select_around(node: exp.Expr) -> exp.Select:
    """Return the innermost SELECT around a node."""
    select = node.find_ancestor(exp.Select)
    assert select is not None
    return select


def own_nodes(select: exp.Select) -> list[exp.Expr]:
    """Return the nodes of a SELECT itself, down to the queries inside of expressions.

    Tables are omitted, but the conditions of joins are not.
    """
    return walk(select, without=tables_of(select), stops=(exp.Query,))[1:]


def is_correlated(tree: exp.Expr) -> bool:
    """Does a subquery read a column of the query around it?"""
    for select in find_all(tree, exp.Select):
        if select.find_ancestor(exp.Select) is None:
            continue
        own = {alias_of(table) for table in tables_of(select)}
        for column in columns_in(select):
            if column.table not in own and column.find_ancestor(exp.Select) is select:
                return True
    return False


def named(name: str) -> exp.Identifier:
    """Spell a name as the templates do: in quotes where it needs them."""
    return exp.Identifier(this=name, quoted=identifier(name) != name)


def parts_of(condition: exp.Expr | None) -> list[exp.Expr]:
    """Return the conditions that AND puts together."""
    if condition is None:
        return []
    condition = condition.unnest()
    return list(condition.flatten()) if isinstance(condition, exp.And) else [condition]


def equal_sides(condition: exp.Expr, alias: str) -> tuple[exp.Column, exp.Expr] | None:
    """Return the column of a table and the value from elsewhere that a condition sets equal."""
    if not isinstance(condition, exp.EQ):
        return None
    for own, other in (
        (condition.this, condition.expression),
        (condition.expression, condition.this),
    ):
        if isinstance(own, exp.Column) and own.table == alias:
            is_apart = all(column.table != alias for column in columns_in(other))
            return (own, other) if is_apart else None
    return None


def equal_columns(join: exp.Join) -> list[tuple[exp.Column, exp.Column]] | None:
    """Return the pairs of columns that a join sets equal, its own first.

    None: the join has other conditions.
    """
    pairs = []
    for part in parts_of(join.args.get("on")):
        sides = equal_sides(part, alias_of(join.this))
        if sides is None or not isinstance(sides[1], exp.Column):
            return None
        pairs.append((sides[0], sides[1]))
    return pairs


def joins_of(select: exp.Select) -> list[exp.Join]:
    """Return the joins of a SELECT."""
    return list(select.args.get("joins") or [])


def drop_join(select: exp.Select, join: exp.Join) -> None:
    """Drop a join."""
    select.set("joins", [other for other in joins_of(select) if other is not join])


def names_in_using(select: exp.Select) -> set[str]:
    """Return the columns that USING of the joins names."""
    return {name.name for join in joins_of(select) for name in join.args.get("using") or []}


def is_in_order(column: exp.Column, select: exp.Select) -> bool:
    """Does a column stand in the ORDER BY of a SELECT, outside of windows?"""
    order = select.args.get("order")
    return order is not None and column.find_ancestor(exp.Order, exp.Window) is order


def is_of_list(column: exp.Column) -> bool:
    """Is a name that of the elements in `[… FOR name IN list]`?"""
    around = column.find_ancestor(exp.Comprehension, exp.Select)
    return isinstance(around, exp.Comprehension) and around.expression.name == column.name


def is_of_result(column: exp.Column, select: exp.Select) -> bool:
    """Does ORDER BY name a column of the result here?"""
    return not column.table and is_in_order(column, select) and column.name in select.named_selects


def is_hidden(column: exp.Column, select: exp.Select) -> bool:
    """Would ORDER BY read another column of the result under this name?"""
    return is_in_order(column, select) and any(
        is_among(column.name, [e.alias_or_name]) and e.unalias() != column
        for e in select.expressions
    )


def sort_keys(select: exp.Select) -> list[exp.Expr]:
    """Return the keys of GROUP BY and ORDER BY."""
    group, order = select.args.get("group"), select.args.get("order")
    keys = [] if group is None else list(group.expressions)
    return keys + ([] if order is None else [ordered.this for ordered in order.expressions])


def values_of(select: exp.Select) -> dict[str, exp.Expr]:
    """Return the expressions of a SELECT by the names of their columns."""
    return {expression.alias_or_name: expression.unalias() for expression in select.expressions}


def is_grouped(select: exp.Select) -> bool:
    """Does a SELECT aggregate its rows?"""
    return select.args.get("group") is not None or any(
        has_aggregate(expression) for expression in select.expressions
    )


def has_aggregate(tree: exp.Expr) -> bool:
    """Does an expression aggregate rows, other than in windows and subqueries?"""
    return not isinstance(tree, exp.Subquery) and any(
        not isinstance(_outside(node).parent, exp.Window)
        for node in find_all(tree, exp.AggFunc, stops=(exp.Subquery,))
        if not isinstance(node, exp.RowNumber | exp.Rank | exp.DenseRank)
    )


def _outside(aggregate: exp.Expr) -> exp.Expr:
    parent = aggregate.parent
    return parent if isinstance(parent, exp.Filter | exp.IgnoreNulls) else aggregate


def is_outer(select: exp.Select, alias: str) -> bool:
    """Return whether an outer join can make the columns of a table NULL."""
    return any(
        join.side in ("RIGHT", "FULL") or (join.side == "LEFT" and alias_of(join.this) == alias)
        for join in joins_of(select)
    )
