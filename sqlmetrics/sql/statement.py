"""The statement that people read: a plan as relations, simplified, in the words of a dialect.

The trees of a plan are shared and never changed. A statement holds copies of its own, in which
every CTE inside a query is a relation beside the others, and every column says whose it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from sqlglot import exp

from sqlmetrics.sql import names as names_of
from sqlmetrics.sql import transpile
from sqlmetrics.sql.arithmetic import means_of_doubles
from sqlmetrics.sql.dialects import keeps_materialized, settings
from sqlmetrics.sql.layout import laid_out, title_lines
from sqlmetrics.sql.query_graph import DIALECT, Node, Plan, Query, new_name
from sqlmetrics.sql.simplify import simplify
from sqlmetrics.sql.simplify.facts import HAS_ROWS
from sqlmetrics.sql.simplify.flat import flat, qualified, taken_comments
from sqlmetrics.sql.simplify.relations import Relation
from sqlmetrics.sql.simplify.spelling import drop_aliases
from sqlmetrics.sql.trees import find_all

NO_TABLES: Mapping[str, str] = MappingProxyType({})
_FEW_SCANS = 3


def statement(plan: Plan, dialect: str = DIALECT) -> str:
    """Print a plan as one statement, simplified.

    Raises:
        UsageError: a query has something that the dialect cannot express.
    """
    return printed(_simplified(plan, dialect), dialect)


def to_run(plan: Plan, dialect: str = DIALECT, tables: Mapping[str, str] = NO_TABLES) -> str:
    """Print a plan as the statement that an engine runs; see `statement`.

    It is the printed statement with hints: scanning a table twice is cheaper than a copy of it.
    `tables` names nodes that exist as tables.

    Raises:
        UsageError: a query has something that the dialect cannot express.
    """
    relations = _simplified(plan, dialect, tables)
    in_place = _read_often(relations) if keeps_materialized(dialect) else ()
    return printed(relations, dialect, in_place)


def _simplified(plan: Plan, dialect: str, tables: Mapping[str, str] = NO_TABLES) -> list[Relation]:
    # of several joins by USING, DataFusion finds the names ambiguous
    return simplify(relations_of(plan, dialect, tables), using=dialect != "datafusion")


def _read_often(relations: Sequence[Relation]) -> list[str]:
    """Return the names of the scans of tables that a statement reads more than once.

    Those of stages are read a few times: a copy for many readers is cheaper than as many scans.
    None is joined: a join with a copy, whose size DuckDB knows, took a seventh of the time.
    """
    tables = [table for one in relations for table in find_all(one.tree, exp.Table)]
    read = Counter(table.name for table in tables)
    joined = {table.name for table in tables if isinstance(table.parent, exp.Join)}
    names = {one.name for one in relations}
    often = [one for one in relations if read[one.name] > 1]
    return [
        one.name
        for one in often
        if one.is_input
        or (read[one.name] <= _FEW_SCANS and one.name not in joined and _is_scan(one.tree, names))
    ]


def _is_scan(tree: exp.Expr, names: Collection[str]) -> bool:
    """Return whether a query computes columns from each row of one table that is not in `names`."""
    parts = {part for part, value in tree.args.items() if value}
    return (
        parts == {"expressions", "from_"}
        and isinstance(table := tree.args["from_"].this, exp.Table)
        and table.name not in names
        and not any(find_all(tree, exp.Window, exp.AggFunc, exp.UDTF))
    )


def printed(
    relations: Sequence[Relation], dialect: str = DIALECT, in_place: Collection[str] = ()
) -> str:
    """Print relations as one statement; the last is the result. Their trees become its parts.

    `in_place`: the relations that the engine should not copy to memory.

    Raises:
        UsageError: a query has something that the dialect cannot express.
    """
    titles = {relation.name: relation.title for relation in relations}
    tree = transpile.compiled(_together(relations), dialect)
    with_ = tree.args.get("with_")
    tree.set("with_", None)
    ctes = []
    for cte in [] if with_ is None else with_.expressions:
        alias = cte.args["alias"]
        # a pass may add queries, which have their comments with them
        title = titles.get(cte.alias) or " ".join(taken_comments(alias))
        columns = ", ".join(names_of.name(column.name, dialect) for column in alias.columns)
        name = names_of.name(cte.alias, dialect) + (f" ({columns})" if columns else "")
        how = "NOT MATERIALIZED " if cte.alias in in_place else ""
        ctes.append(f"{name} AS {how}(\n{_text(cte.this, title, dialect, '    ')}\n)")
    recursive = "RECURSIVE " if with_ is not None and with_.args.get("recursive") else ""
    start = f"WITH {recursive}{', '.join(ctes)}\n" if ctes else ""
    text = _text(tree, relations[-1].title, dialect)
    return "\n".join(filter(None, [start + text, settings(dialect)]))


def _note_rows(tree: exp.Expr) -> None:
    """Note that the tables of an input have rows: metrics refuse empty tables."""
    for table in tree.find_all(exp.Table):
        table.meta[HAS_ROWS] = True


def _together(relations: Sequence[Relation]) -> exp.Expr:
    """Make one tree of relations, so that passes see the whole statement."""
    *others, result = relations
    tree = result.tree
    if others:
        ctes = [
            exp.CTE(
                this=relation.tree,
                alias=exp.TableAlias(
                    this=exp.to_identifier(relation.name),
                    columns=[exp.to_identifier(name) for name in relation.alias_columns],
                ),
            )
            for relation in others
        ]
        recursive = any(relation.is_recursive for relation in others)
        tree.set("with_", exp.With(expressions=ctes, recursive=recursive))
    return tree


def _text(tree: exp.Expr, title: str, dialect: str, indent: str = "") -> str:
    lines = title_lines(title, len(indent))
    lines += laid_out(transpile.text_of(tree, dialect), len(indent), dialect)
    return "\n".join(indent + line if line else line for line in lines)


def query(tree: exp.Expr, dialect: str = DIALECT, is_input: bool = True) -> str:
    """Print one query as it is, but for aliases that repeat a name.

    Raises:
        UsageError: the query has something that the dialect cannot express.
    """
    tree = tree.copy()
    drop_aliases(tree)
    return "\n".join(laid_out(transpile.printed(tree, dialect, is_input=is_input), dialect=dialect))


def relations_of(
    plan: Plan, dialect: str = DIALECT, tables: Mapping[str, str] = NO_TABLES
) -> list[Relation]:
    """Take a plan apart into relations, the result last; `tables` names nodes that are tables.

    Raises:
        UsageError: a query has something that the dialect cannot express.
    """
    nodes = plan.nodes(tables)
    inputs = [node for node in nodes if isinstance(node, Query) and node.is_input]
    # a CTE that has the name of a user's table would be read in its place
    taken = {name for node in inputs for name in node.tables_named}
    taken |= {table.name for node in inputs for table in node.tree.find_all(exp.Table)}
    names: dict[str, str] = {}
    known: dict[str, Sequence[str]] = {}  # columns of the tables
    relations: list[Relation] = []
    for node in nodes:
        if node.key in tables and node is not plan.root:
            names[node.key] = tables[node.key]
            known[tables[node.key]] = _columns_of(node)
            continue
        names[node.key] = new_name(node.name.lower(), taken)  # some engines fold names
        taken.add(names[node.key])
        tree = node.named(names)
        if dialect != DIALECT and not node.is_input:
            transpile.check(tree, dialect)
            means_of_doubles(tree)
        if node.is_input and isinstance(node, Query) and node.table != "users":
            _note_rows(tree)
        relations += flat(names[node.key], tree, taken)
        relations[-1].is_input = node.is_input
    return qualified(relations, known)


def _columns_of(node: Node) -> Sequence[str]:
    """Return the names of the columns of a node."""
    if isinstance(node, Query):
        return node.columns
    tree = node.named({key: parent.name for key, parent in node.parents.items()})
    assert isinstance(tree, exp.Query)
    return tree.named_selects
