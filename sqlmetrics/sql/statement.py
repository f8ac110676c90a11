"""The statement that people read: a plan as relations, simplified, in the words of a dialect.

The trees of a plan are shared and never changed. A statement holds copies of its own, in which
every CTE inside a query is a relation beside the others, and every column says whose it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlmetrics.sql import transpile
from sqlmetrics.sql.layout import laid_out, title_lines
from sqlmetrics.sql.query_graph import DIALECT, Plan, Query, new_name
from sqlmetrics.sql.simplify import simplify
from sqlmetrics.sql.simplify.flat import flat, qualified
from sqlmetrics.sql.simplify.relations import Relation
from sqlmetrics.sql.simplify.spelling import drop_aliases


def statement(plan: Plan, dialect: str = DIALECT) -> str:
    """Print a plan as one statement, simplified.

    Raises:
        UsageError: a query has something that the dialect cannot express.
    """
    return printed(simplify(relations_of(plan, dialect)), dialect)


def printed(relations: Sequence[Relation], dialect: str = DIALECT) -> str:
    """Print relations as one statement; the last is the result.

    Raises:
        UsageError: a query has something that the dialect cannot express.
    """
    *others, result = relations
    ctes = [
        f"{transpile.name(relation.name, dialect)} AS (\n{_text(relation, dialect, '    ')}\n)"
        for relation in others
    ]
    recursive = "RECURSIVE " if any(relation.is_recursive for relation in others) else ""
    start = f"WITH {recursive}{', '.join(ctes)}\n" if ctes else ""
    parts = [start + _text(result, dialect), transpile.settings(dialect)]
    return "\n".join(filter(None, parts))


def _text(relation: Relation, dialect: str, indent: str = "") -> str:
    titles = title_lines(relation.title, len(indent))
    text = laid_out(transpile.printed(relation.tree, dialect, is_input=True), len(indent))
    return "\n".join(indent + line if line else line for line in [*titles, *text])


def query(tree: exp.Expr, dialect: str = DIALECT, is_input: bool = True) -> str:
    """Print one query as it is, but for aliases that repeat a name.

    Raises:
        UsageError: the query has something that the dialect cannot express.
    """
    tree = tree.copy()
    drop_aliases(tree)
    return "\n".join(laid_out(transpile.printed(tree, dialect, is_input=is_input)))


def relations_of(plan: Plan, dialect: str = DIALECT) -> list[Relation]:
    """Take a plan apart into relations, the result last.

    Raises:
        UsageError: a query has something that the dialect cannot express.
    """
    nodes = plan.nodes()
    inputs = [node for node in nodes if isinstance(node, Query) and node.is_input]
    # a CTE that has the name of a user's table would be read in its place
    taken = {name for node in inputs for name in transpile.tables_named(node.tree)}
    names: dict[str, str] = {}
    relations: list[Relation] = []
    for node in nodes:
        names[node.key] = new_name(node.name, taken)
        taken.add(names[node.key])
        tree = node.named(names)
        if dialect != DIALECT and not node.is_input:
            transpile.check(tree, dialect)
            transpile.check_recursion(tree, dialect)
        relations += flat(names[node.key], tree, taken)
    return qualified(relations)
