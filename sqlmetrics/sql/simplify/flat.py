"""Split queries with CTEs and with subqueries in FROM into relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from sqlmetrics.sql.query_graph import new_name
from sqlmetrics.sql.simplify.qualify import is_ordinary, qualify
from sqlmetrics.sql.simplify.relations import Relation
from sqlmetrics.sql.trees import find_all


def qualified(
    relations: list[Relation], tables: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> list[Relation]:
    """Qualify the columns of all relations with their tables, in place.

    `tables`: the columns of tables that the relations read.
    """
    outputs = dict(tables)
    for relation in relations:
        if not relation.is_recursive:
            qualify(relation.tree, outputs)
            relation.is_fixed = not is_ordinary(relation.tree, outputs)
        outputs[relation.name] = relation.columns
    return relations


def flat(name: str, tree: exp.Expr, taken: set[str]) -> Iterator[Relation]:
    """Make relations of a query and of the queries inside of it; change the tree.

    `taken`: names of other relations; those of the new ones are added.
    """
    assert isinstance(tree, exp.Query)
    title, inner = " ".join(taken_comments(tree)), tree.args.get("with_")
    tree.set("with_", None)
    renamed: dict[str, str] = {}
    first = "" if inner is None else " ".join(taken_comments(inner))
    for cte in [] if inner is None else inner.expressions:
        new = new_name(cte.alias, taken)
        taken.add(new)
        body = cte.this.pop()  # a query of its own: no other one is around it
        is_recursive = any(table.name == cte.alias for table in find_all(body, exp.Table))
        _rename(body, {**renamed, **({cte.alias: new} if is_recursive else {})})
        renamed[cte.alias] = new
        own_title = " ".join(taken_comments(cte.args["alias"])) or first
        columns = [column.name for column in cte.args["alias"].columns]
        first = ""
        if is_recursive:
            yield Relation(new, body, own_title, columns, is_recursive=True, is_fixed=True)
            continue
        for relation in flat(new, body, taken):
            if relation.name == new:
                relation.title, relation.alias_columns = own_title or relation.title, columns
            yield relation
    _rename(tree, renamed)
    yield from _derived(tree, taken)
    yield Relation(name, tree, title)


def _derived(tree: exp.Query, taken: set[str]) -> Iterator[Relation]:
    """Make relations of the subqueries in FROM."""
    for subquery in find_all(tree, exp.Subquery):
        if not isinstance(subquery.parent, exp.From | exp.Join) or not subquery.alias:
            continue
        if subquery.args["alias"].columns or not isinstance(subquery.this, exp.Query):
            continue
        new = new_name(subquery.alias, taken)
        taken.add(new)
        alias = exp.TableAlias(this=exp.to_identifier(subquery.alias))
        subquery.replace(exp.Table(this=exp.to_identifier(new), alias=alias))
        yield from flat(new, subquery.this.pop(), taken)


def _rename(tree: exp.Expr, names: Mapping[str, str]) -> None:
    for table in find_all(tree, exp.Table):
        new = names.get(table.name)
        if new is None or table.args.get("db") or new == table.name:
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
        table.set("this", exp.to_identifier(new))


def taken_comments(node: exp.Expr) -> list[str]:
    """Take the comments off a node, and return them."""
    return [comment.strip() for comment in node.pop_comments() or []]
