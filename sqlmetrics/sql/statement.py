"""The statement that people read: a plan as relations, simplified, in the words of a dialect.

The trees of a plan are shared and never changed; a statement holds copies of its own, in which every
CTE inside a query is a relation beside the others, and every column says whose it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from sqlmetrics.sql import transpile
from sqlmetrics.sql.layout import laid_out, title_lines
from sqlmetrics.sql.query_graph import DIALECT, Plan, Query, new_name
from sqlmetrics.sql.simplify import simplify
from sqlmetrics.sql.simplify.columns import qualify
from sqlmetrics.sql.simplify.relations import Relation


def statement(plan: Plan, dialect: str = DIALECT) -> str:
    """Print a plan as one statement, simplified.

    Raises:
        UsageError: a query has something that the dialect cannot express.
    """
    relations = simplify(relations_of(plan, dialect))
    *others, result = relations
    ctes = [
        f"{transpile.name(relation.name, dialect)} AS (\n{_text(relation, dialect, '    ')}\n)"
        for relation in others
    ]
    start = f"WITH {', '.join(ctes)}\n" if ctes else ""
    parts = [start + _text(result, dialect), transpile.settings(dialect)]
    return "\n".join(filter(None, parts))


def _text(relation: Relation, dialect: str, indent: str = "") -> str:
    titles = title_lines(relation.title, len(indent))
    text = laid_out(transpile.printed(relation.tree, dialect, is_input=True), len(indent))
    return "\n".join(indent + line if line else line for line in [*titles, *text])


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
        relations += _flat(names[node.key], tree, taken)
    outputs: dict[str, Sequence[str]] = {}
    for relation in relations:
        if not relation.is_recursive:
            qualify(relation.tree, outputs)
        outputs[relation.name] = relation.columns
    return relations


def _flat(name: str, tree: exp.Expr, taken: set[str]) -> Iterator[Relation]:
    """Make relations of a query and of the CTEs inside of it."""
    assert isinstance(tree, exp.Query)
    title = " ".join(_comments(tree))
    yield from _derived(tree, taken)
    inner = tree.args.get("with_")
    if inner is None:
        yield Relation(name, tree, title)
        return
    if inner.args.get("recursive"):
        yield Relation(name, tree, title, is_recursive=True)
        return
    tree.set("with_", None)
    renamed: dict[str, str] = {}
    first = " ".join(_comments(inner))
    for cte in inner.expressions:
        own_title = " ".join(_comments(cte.args["alias"])) or first
        first = ""
        new = new_name(cte.alias, taken)
        taken.add(new)
        _rename(cte.this, renamed)
        columns = [column.name for column in cte.args["alias"].columns]
        for relation in _flat(new, cte.this, taken):
            if relation.name == new:
                relation.title, relation.alias_columns = own_title or relation.title, columns
            yield relation
        renamed[cte.alias] = new
    _rename(tree, renamed)
    yield Relation(name, tree, title)


def _derived(tree: exp.Query, taken: set[str]) -> Iterator[Relation]:
    """Make relations of the queries that stand in FROM."""
    with_ = tree.args.get("with_")
    if with_ is not None and with_.args.get("recursive"):
        return
    for subquery in list(tree.find_all(exp.Subquery)):
        if not isinstance(subquery.parent, exp.From | exp.Join) or not subquery.alias:
            continue
        if subquery.args["alias"].columns or not isinstance(subquery.this, exp.Query):
            continue
        new = new_name(subquery.alias, taken)
        taken.add(new)
        alias = exp.TableAlias(this=exp.to_identifier(subquery.alias))
        subquery.replace(exp.Table(this=exp.to_identifier(new), alias=alias))
        yield from _flat(new, subquery.this, taken)


def _rename(tree: exp.Expr, names: Mapping[str, str]) -> None:
    """Read relations by their names in the statement."""
    for table in tree.find_all(exp.Table):
        new = names.get(table.name)
        if new is None or table.args.get("db") or new == table.name:
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
        table.set("this", exp.to_identifier(new))


def _comments(node: exp.Expr) -> list[str]:
    """Take the comments off a node."""
    return [comment.strip() for comment in node.pop_comments() or []]
