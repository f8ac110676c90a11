"""A plan: a graph of named queries that ends in one result.

A node is one query. Its identity is its text, in which the identities of its parents replace their
names. Equal queries are therefore computed once, whichever metrics, settings or calls need them.
`Plan.statement` prints the whole graph as one statement with CTEs. An engine runs the same queries
and may keep some of them as tables.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

import sqlglot
from sqlglot import errors, exp

from sqlmetrics.errors import TemplateError
from sqlmetrics.metrics.front_matter import Stage
from sqlmetrics.sql import names as spelled
from sqlmetrics.sql.dialects import NATIVE, keeps_materialized, settings
from sqlmetrics.sql.layout import indented
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.template_names import Keys
from sqlmetrics.sql.templates import render_file
from sqlmetrics.sql.transpile import printed
from sqlmetrics.sql.trees import find_all
from sqlmetrics.texts.messages import Message

SUMMARY = "summary"  # the name of a result with a row per metric, cutoff and group
DIALECT = NATIVE
_Value = TypeVar("_Value")


@dataclass(frozen=True, eq=False)
class Node(ABC):
    """A query of a plan, and the nodes it reads, by identity.

    Nodes are values: they are equal if their identities are equal. Equal nodes have the same rows.

    Attributes:
        key: the identity.
        name: the name of the query in printed statements.
        parents: the nodes that it reads, by identity.
        stage: the header of its template.
        is_input: whether it reads a table of the user.
        apart: whether it gets a separate statement.
        warnings: the warnings of its template for the user.
        needs: required optional columns, as pairs of table and column.
    """

    key: str
    name: str
    parents: Mapping[str, Node]
    stage: Stage | None = None
    is_input: bool = False
    apart: bool = False
    warnings: tuple[Message, ...] = ()
    needs: tuple[tuple[str, str], ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def has_ctes(self) -> bool:
        """Return whether the query starts with WITH."""
        return False

    @property
    def keep(self) -> bool:
        """Return whether the result is small and later calls use it again."""
        return self.stage is not None and self.stage.keep

    @abstractmethod
    def reads(self) -> Sequence[str]:
        """Return the identity of a parent for every reference to it."""

    @abstractmethod
    def sql(self, names: Mapping[str, str], pretty: bool, dialect: str = DIALECT) -> str:
        """Print the query in a dialect, with the given names of parents."""

    @abstractmethod
    def named(self, names: Mapping[str, str]) -> exp.Expr:
        """Return a copy of the query with the given names of parents."""


@dataclass(frozen=True, eq=False)
class Query(Node):
    """A node whose query is a parsed tree; `tables` are its tables that refer to parents.

    `table` is the user's table that an input reads or that the rows come from. `values` are the
    settings of a stage that has alternatives.
    """

    tree: exp.Expr = field(default_factory=lambda: exp.Select())
    tables: Sequence[exp.Table] = ()
    table: str = ""
    values: Mapping[str, Any] | None = None

    @functools.cached_property
    def has_ctes(self) -> bool:
        """Return whether the query starts with WITH."""
        return self.tree.args.get("with_") is not None

    @functools.cached_property
    def columns(self) -> list[str]:
        """Return the names of the result's columns."""
        assert isinstance(self.tree, exp.Query)
        return list(self.tree.named_selects)

    def stage_of(self, table: str) -> Stage | None:
        """Return the stage that a table of the tree refers to, if it is one."""
        return self.parents[table].stage if table in self.parents else None

    @functools.cached_property
    def tables_named(self) -> set[str]:
        """Return the user's tables that the query names without a schema, in lower case."""
        return spelled.tables_named(self.tree)

    @functools.cached_property
    def _reads(self) -> Sequence[str]:
        return [table.name for table in self.tables]

    def reads(self) -> Sequence[str]:
        """Return the identity of a parent for every table that refers to it."""
        return self._reads

    def sql(self, names: Mapping[str, str], pretty: bool, dialect: str = DIALECT) -> str:
        """Print a copy of the tree with the given names of its tables."""
        if not pretty and dialect == DIALECT:  # printed often, for an engine: aliases may stay
            return self._with_names(names)
        return printed(self.named(names), dialect, pretty, self.is_input)

    def named(self, names: Mapping[str, str]) -> exp.Expr:
        """Return a copy of the tree with the given names of its tables."""
        tree = self.tree.copy()
        keys = {table.name for table in self.tables}
        for table in [table for table in find_all(tree, exp.Table) if table.name in keys]:
            name, alias = names[table.name], table.args.get("alias")
            table.set("this", exp.to_identifier(name))
            if alias is not None and alias.name == name:
                table.set("alias", None)
        return tree

    def _with_names(self, names: Mapping[str, str]) -> str:
        texts = [
            spelled.name(names[part], DIALECT) if number % 2 else part
            for number, part in enumerate(self._parts)
        ]
        return "".join(texts)

    @functools.cached_property
    def _parts(self) -> list[str]:
        """The printed tree, split at the names of its parents."""
        return _parts_of(Same(self.tree), frozenset(self.reads()), self.is_input)


class Same(Generic[_Value]):
    """A value compared by identity, for use as a cache key."""

    def __init__(self, value: _Value) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


_GAP = "\0"  # a character that does not occur in SQL


@functools.lru_cache(maxsize=1024)
def _parts_of(of: Same[exp.Expr], parents: frozenset[str], is_input: bool) -> list[str]:
    """Print a tree split at the names of its parents: text, identity, text, identity, …, text."""
    tree = of.value.copy()
    for table in find_all(tree, exp.Table):
        if table.name in parents:
            table.set("this", exp.Identifier(this=f"{_GAP}{table.name}{_GAP}", quoted=False))
    return printed(tree, DIALECT, False, is_input).split(_GAP)


@dataclass(frozen=True, eq=False)
class Rendered(Node):
    """A node whose template is rendered, with the names of its parents, when it is printed.

    The template calls `ref(alias)` to read a parent, `ref(alias, other)` to read it under another
    name.

    Attributes:
        template: the path of the template in `sql_templates`, without the extension.
        keys: the columns that it groups and joins by.
        context: further variables of the template.
        aliases: name in the template -> identity of the parent.
        often: whether every parent is read more than once.
    """

    template: str = ""
    keys: Keys = field(default_factory=Keys)
    context: Mapping[str, Any] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    often: bool = False

    @classmethod
    def of(
        cls,
        template: str,
        reads: Mapping[str, Node],
        name: str,
        *,
        keys: Keys | None = None,
        context: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Self:
        """Create a node; `reads` maps the aliases in the template to parents."""
        aliases = {alias: node.key for alias, node in reads.items()}
        keys, context = keys or Keys(), context or {}
        return cls(
            key=identity_of(template, repr(keys), repr(context), repr(aliases)),
            name=name,
            parents={node.key: node for node in reads.values()},
            template=template,
            keys=keys,
            context=context,
            aliases=aliases,
            **more,
        )

    @property
    def has_ctes(self) -> bool:
        """Return whether the query starts with WITH."""
        names = {key: parent.name for key, parent in self.parents.items()}
        return re.match(r"(\s|--[^\n]*\n)*WITH\b", self.sql(names, pretty=False)) is not None

    def reads(self) -> Sequence[str]:
        """Return the identities of the parents."""
        return [*self.aliases.values()] * (2 if self.often else 1)

    def sql(self, names: Mapping[str, str], pretty: bool, dialect: str = DIALECT) -> str:
        """Render the template; for other dialects, parse the text and print it again."""
        text = self._text(names)
        if dialect == DIALECT and not any(map(spelled.is_reference, names.values())):
            return text
        return printed(self.named(names), dialect, pretty)

    def named(self, names: Mapping[str, str]) -> exp.Expr:
        """Render and parse the template."""
        return parse(self._text(names), f"the query of {self.name}")

    def _text(self, names: Mapping[str, str]) -> str:
        texts = list(self._parts)
        for number in range(1, len(texts), 3):
            name, alias = names[texts[number]], texts[number + 1]
            texts[number] = identifier(name)
            texts[number + 1] = "" if name == alias else f" AS {identifier(alias)}"
        return "".join(texts)

    @functools.cached_property
    def _parts(self) -> list[str]:
        """The text, split at its parents: text, identity, alias, text, …."""

        def ref(parent: str, alias: str | None = None) -> str:
            return f"{_GAP}{self.aliases[parent]}{_GAP}{alias or parent}{_GAP}"

        context = {**self.keys.context, **self.context, "ref": ref}
        return render_file(self.template, context).split(_GAP)


def hash_of(*texts: str) -> str:
    """Return a hash of several texts, which depends on their order: 16 hexadecimal digits."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def identity_of(*parts: str) -> str:
    """Return the identity of a query, a hash of everything that distinguishes it."""
    return f"sqlmetrics_{hash_of(*parts)}"


@dataclass(frozen=True)
class Plan:
    """A graph of queries that ends in `root`.

    `also` are warnings about the plan as a whole, in addition to those of its queries.
    """

    root: Node
    also: tuple[Message, ...] = ()

    @property
    def warnings(self) -> list[Message]:
        """Return the distinct warnings about the result."""
        of_nodes = (warning for node in self.nodes() for warning in node.warnings)
        return list(dict.fromkeys([*self.also, *of_nodes]))

    def nodes(self, have: Collection[str] = ()) -> list[Node]:
        """Return all nodes that the result needs, parents first, up to those in `have`."""
        nodes: dict[str, Node] = {}

        def visit(node: Node) -> None:
            if node.key in nodes:
                return
            if node.key not in have:
                for parent in node.parents.values():
                    visit(parent)
            nodes[node.key] = node

        visit(self.root)
        return list(nodes.values())

    def barriers(self) -> list[Node]:
        """Return the nodes to compute before the result in separate statements, in order.

        These are the nodes marked as `apart` or `keep`, and those that several statements read.
        """
        nodes = self.nodes()
        readers: dict[str, set[str]] = {node.key: set() for node in nodes}
        alone: list[Node] = []
        for node in reversed(nodes):
            is_apart = node.apart or node.keep
            if is_apart or node is self.root or (len(readers[node.key]) > 1 and not node.is_input):
                alone.append(node)
                readers[node.key] = {node.key}
            for parent in node.parents.values():
                readers[parent.key] |= readers[node.key]
        return [node for node in reversed(alone) if node is not self.root]

    def statement(
        self,
        tables: Mapping[str, str] | None = None,
        pretty: bool = True,
        dialect: str = DIALECT,
    ) -> str:
        """Print the plan as one statement; `tables` names nodes that exist as tables.

        Raises:
            UsageError: a query has something that the dialect cannot express.
        """
        tables = tables or {}
        names: dict[str, str] = dict(tables)
        uses: dict[str, int] = {}
        nodes = [node for node in self.nodes(tables) if node.key not in tables]
        # a CTE with the name of a user's table would replace the table
        taken = {
            name
            for node in nodes
            if isinstance(node, Query) and node.is_input
            for name in node.tables_named
        }
        for node in nodes:
            names[node.key] = new_name(node.name, taken)
            taken.add(names[node.key])
            for key in node.reads():
                uses[key] = uses.get(key, 0) + 1
        texts = {node.key: node.sql(names, pretty, dialect) for node in nodes}
        ctes = []
        for node in nodes:
            if node is self.root and not node.has_ctes:
                continue
            how = ""
            if uses.get(node.key, 0) > 1 and keeps_materialized(dialect):
                # scanning an input twice is cheaper than copying it
                how = "NOT MATERIALIZED " if node.is_input else "MATERIALIZED "
            inner = indented(texts[node.key], "  ", dialect) if pretty else texts[node.key]
            name = spelled.name(names[node.key], dialect)
            ctes.append(f"{name} AS {how}(\n  {inner}\n)")
        result = texts[self.root.key]
        if self.root.has_ctes:  # rendered queries, which are never results, return all columns
            known = self.root.columns if isinstance(self.root, Query) else []
            columns = ", ".join(spelled.name(column, dialect) for column in known) or "*"
            result = f"SELECT {columns} FROM {spelled.name(names[self.root.key], dialect)}"
        statement = f"WITH {', '.join(ctes)}\n{result}" if ctes else result
        return "\n".join(filter(None, [statement, settings(dialect)]))


def parse(text: str, where: str) -> exp.Expr:
    """Parse one query.

    Raises:
        TemplateError: the text is not a single SELECT.
    """
    try:
        with _quiet():
            dialect = _with_column_all() if '"all"' in text.lower() else DIALECT
            trees = [tree for tree in sqlglot.parse(text, read=dialect) if tree is not None]
    except errors.ParseError as error:
        first = error.errors[0]
        problem, remedy = first["description"], ""
        if problem.startswith("Required keyword"):  # the rest names a class of sqlglot
            problem = "An expression is missing."
            remedy = (
                "write the name of the column in the expression; need(), need_time() and assume() "
                "only declare columns, and stand before SELECT"
            )
        raise TemplateError(
            f"{where}: the rendered SQL cannot be parsed: {problem} Near "
            f"{first['start_context'][-40:]}{first['highlight']}{first['end_context'][:40]}",
            remedy=remedy,
        ) from error
    except errors.SqlglotError as error:
        raise TemplateError(f"{where}: the rendered SQL cannot be parsed: {error}") from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise TemplateError(f"{where}: a template must be a single SELECT")
    for node in trees[0].walk():  # drop positions in the text, whose copies would double the cost
        node._meta = None
    return trees[0]


@functools.cache
def _with_column_all() -> sqlglot.Dialect:
    """Return the dialect of queries with a column "all": ORDER BY reads it, not all columns."""
    dialect = sqlglot.Dialect.get_or_raise(DIALECT)
    dialect.SUPPORTS_ORDER_BY_ALL = False
    return dialect


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the parser's log messages about unknown statements, which we reject ourselves."""
    logger = logging.getLogger("sqlglot")

    def is_other(record: logging.LogRecord) -> bool:
        return "Falling back to parsing as a 'Command'" not in record.getMessage()

    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


def new_name(wanted: str, taken: Collection[str]) -> str:
    """Return `wanted`, with a number appended if it is taken."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name
