"""Parse rendered queries and bind their tables to other queries of a plan."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.front_matter import Stage
from sqlmetrics.sql import arithmetic, exact_sums
from sqlmetrics.sql.query_graph import Node, Query, identity_of, parse
from sqlmetrics.sql.trees import find_all
from sqlmetrics.texts.messages import RANKED, Message


@dataclass(frozen=True)
class Text:
    """A rendered query with the warnings and requirements of its template.

    Attributes:
        sql: the query.
        where: the path of the template, for messages.
        warnings: warnings for the user.
        needs: optional columns that the query requires, as pairs of table and column.
        exact: columns with exact sums, which do not depend on the order of rows.
    """

    sql: str
    where: str
    warnings: tuple[Message, ...] = ()
    needs: tuple[tuple[str, str], ...] = ()
    exact: tuple[str, ...] = ()


def tables_of(text: Text) -> list[str]:
    """List the stages and tables that a query reads, those of lists first.

    If several are missing, the first is reported.
    """
    return sorted(names_read(text.sql, text.where), key=lambda table: table not in RANKED)


def bound(name: str, text: Text, read: Mapping[str, Node], stage: Stage | None = None) -> Query:
    """Create a node from a query; `read` has the nodes of the tables from `tables_of`.

    Raises:
        TemplateError: the text is not a single SELECT.
        UsageError: two columns have the same name.
    """
    keys = {table: read[table].key for table in names_read(text.sql, text.where) if table in read}
    key = identity_of(name, text.sql, *(f"{table}={key}" for table, key in keys.items()))
    tree, tables = _bound(name, text.sql, text.where, text.exact, tuple(keys.items()))
    by_key = {node.key: node for node in read.values()}
    return Query(
        key,
        name,
        {table.name: by_key[table.name] for table in tables},
        stage,
        warnings=text.warnings,
        needs=text.needs,
        tree=tree,
        tables=tables,
    )


def input_node(name: str, text: str, table: str) -> Query:
    """Create a node from a query that reads the sources of a table."""
    tree = _parsed_input(name, text)
    return Query(identity_of(name, text), name, {}, is_input=True, tree=tree, table=table)


def node_of(
    key: str, name: str, tree: exp.Expr, parents: Iterable[Node], stage: Stage | None = None
) -> Query:
    """Create a node from a tree whose tables are named by the identities of its parents."""
    by_key = {parent.key: parent for parent in parents}
    tables = [table for table in find_all(tree, exp.Table) if table.name in by_key]
    read = {table.name: by_key[table.name] for table in tables}
    return Query(key, name, read, stage, tree=tree, tables=tables)


def _tables_read(tree: exp.Expr) -> list[str]:
    """List the table names in a query that refer to stages or tables of the run."""
    local = {cte.alias for cte in find_all(tree, exp.CTE)}
    return list(
        dict.fromkeys(
            table.name
            for table in find_all(tree, exp.Table)
            if isinstance(table.this, exp.Identifier) and not table.db and table.name not in local
        )
    )


@functools.lru_cache(maxsize=512)
def _parsed_input(name: str, text: str) -> exp.Expr:
    """Parse a query that reads the sources of a table; callers must not change the tree."""
    return parse(text, f"table {name}")


@functools.lru_cache(maxsize=512)
def _parsed(text: str, where: str) -> exp.Expr:
    """Parse a rendered query and apply the arithmetic passes.

    All evaluators of the process share the tree; callers must not change it.
    """
    return arithmetic.apply(parse(text, where))


@functools.lru_cache(maxsize=2048)
def names_read(text: str, where: str) -> list[str]:
    """List the stages and tables that a query reads; callers must not change the list."""
    return _tables_read(_parsed(text, where))


@functools.lru_cache(maxsize=512)
def _bound(
    name: str,
    text: str,
    where: str,
    exact: tuple[str, ...],
    keys: tuple[tuple[str, str], ...],
) -> tuple[exp.Expr, Sequence[exp.Table]]:
    """Parse a query and replace its table names by the identities of their nodes.

    All evaluators of the process share the tree; callers must not change it. `keys` are pairs of a
    table name in the query and the identity of its node. The tables are those that refer to nodes.
    """
    tree, identities = _parsed(text, where).copy(), dict(keys)
    if exact:
        exact_sums.mark(tree, exact)
    local = {cte.alias for cte in find_all(tree, exp.CTE)}
    for table in find_all(tree, exp.Table):
        if table.name in identities and table.name not in local:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(identities[table.name]))
    for select in find_all(tree, exp.Select):
        columns = [column.lower() for column in select.named_selects]
        twice = [column for column in columns if columns.count(column) > 1]
        if twice:
            raise UsageError(
                f"{name} has two columns named {twice[0]}; a key column must not have the name of "
                "a computed column: map it to user_id instead"
            )
    own = set(identities.values())
    return tree, [table for table in find_all(tree, exp.Table) if table.name in own]
