"""A relation of a statement: a name, a query, and what a row of it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlmetrics.sql.quoting import identifier


@dataclass
class Relation:
    """A query of a statement; other relations read it by its name.

    Attributes:
        name: its name.
        tree: the query, a copy of its own without CTEs.
        title: what a row is, for the reader.
        alias_columns: the names of its columns, where the name of the CTE lists them.
        is_recursive: does it read itself?
        is_fixed: does it stay as it is? Passes leave constructs alone that they do not know.
    """

    name: str
    tree: exp.Query
    title: str = ""
    alias_columns: Sequence[str] = ()
    is_recursive: bool = False
    is_fixed: bool = False

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        if self.alias_columns:
            return list(self.alias_columns)
        branches = self.branches()
        return list((branches[0] if branches else self.tree).named_selects)

    @property
    def select(self) -> exp.Select | None:
        """The query, if it is one SELECT that may be changed."""
        fixed = self.is_fixed or self.alias_columns
        return self.tree if isinstance(self.tree, exp.Select) and not fixed else None

    def branches(self) -> list[exp.Select]:
        """Return the SELECTs that a UNION puts together, or the only one."""
        return branches_of(self.tree)


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
    """Return what stands in FROM and in the joins of a SELECT."""
    origin = select.args.get("from_")
    joins = select.args.get("joins") or []
    return [part.this for part in ([origin] if origin is not None else []) + joins]


def relation_name(table: exp.Expr) -> str:
    """Return the name of the relation that a table may stand for, or the empty text."""
    is_name = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    return str(table.name) if is_name and not table.args.get("db") else ""


def alias_of(table: exp.Expr) -> str:
    """Return the name that columns of a table have in front."""
    return str(table.alias_or_name)


def is_correlated(tree: exp.Expr) -> bool:
    """Does a query inside of an expression read a column of the query around it?"""
    for select in tree.find_all(exp.Select):
        if select.find_ancestor(exp.Select) is None:
            continue
        own = {alias_of(table) for table in tables_of(select)}
        for column in select.find_all(exp.Column):
            if column.find_ancestor(exp.Select) is select and column.table not in own:
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


def is_grouped(select: exp.Select) -> bool:
    """Has a SELECT a row per group, or one row for all?"""
    return select.args.get("group") is not None or any(
        has_aggregate(expression) for expression in select.expressions
    )


def has_aggregate(tree: exp.Expr) -> bool:
    """Has an expression an aggregate that is no window, outside of subqueries?"""
    return any(
        not isinstance(_outside(node).parent, exp.Window)
        for node in tree.walk(prune=lambda node: isinstance(node, exp.Subquery))
        if isinstance(node, exp.AggFunc)
        and not isinstance(node, exp.RowNumber | exp.Rank | exp.DenseRank)
    )


def _outside(aggregate: exp.Expr) -> exp.Expr:
    """Return an aggregate with its FILTER."""
    parent = aggregate.parent
    return parent if isinstance(parent, exp.Filter | exp.IgnoreNulls) else aggregate


def is_outer(select: exp.Select, alias: str) -> bool:
    """Return whether an outer join can make the columns of a table NULL."""
    joins = select.args.get("joins") or []
    if any(join.side in ("RIGHT", "FULL") for join in joins):
        return True
    return any(join.side == "LEFT" and alias_of(join.this) == alias for join in joins)
