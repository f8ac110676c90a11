"""Split plans by users: compute queries for each partition, and combine their results.

A plan is cut at the queries nearest to its result that can be computed for one partition of the
users (see `locality`). The queries above the cut, the reduction, read the results of all
partitions: the union of rows of users, or merged sums and extremes. Metrics therefore need no merge
functions, and a metric that cannot be split is computed in the reduction.

The partition of a user is given by a hash of the key as text or, if the rows are sorted by user, by
a range of the key. Tables without users, and tables of which a query needs the rows of all users
(popularity of items, highest relevance), are read completely in every partition. Lists never are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from sqlmetrics.errors import UsageError
from sqlmetrics.messages import RANKED
from sqlmetrics.partitions.bounds import MOST, Bounds
from sqlmetrics.partitions.locality import (
    ENOUGH,
    GROUPS,
    OF_USERS,
    Locality,
    Readable,
    RowScope,
    examine,
)
from sqlmetrics.sql.query_graph import Node, Plan, Query, Rendered, identity_of, parse
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.tables.schema import type_family


@dataclass(frozen=True)
class Partition:
    """A partition of the users: `number` (from 1) of `of`.

    `bounds` is the range of its users; without bounds, users are assigned by a hash.
    """

    number: int
    of: int
    bounds: Bounds | None = None

    @classmethod
    def parse(cls, text: str) -> Partition:
        """Parse a partition such as `3/8`.

        Raises:
            UsageError: the text is not a partition.
        """
        match = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text) if isinstance(text, str) else None
        number, of = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= of <= MOST:
            raise UsageError(
                f"invalid partition {text!r}; write its number and the number of partitions, "
                f"e.g. '3/8', with numbers from 1 to {MOST}"
            )
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def stem(self) -> str:
        """Return the name of the partition's files without the extension."""
        return f"part-{self.number:04}-of-{self.of:04}"


@dataclass(frozen=True)
class Piece:
    """A query whose results the partitions write.

    `merge` maps each column to the aggregate that merges the values of partitions, or to None for
    grouping columns; without `merge`, the result is the union of rows. `once` means that the rows
    are equal in all partitions, so that only the first partition writes them.
    """

    node: Node
    columns: Sequence[str]
    merge: Mapping[str, str | None] | None = None
    once: bool = False


@dataclass(frozen=True, eq=False)
class _Kept(Rendered):
    """The rows of a table for the users of a partition: read once, used by several queries."""

    @property
    def keep(self) -> bool:
        """Return whether the result is small and used again."""
        return True


@dataclass
class Split:
    """Splits plans into queries of partitions and a query that combines their rows.

    Args:
        user_keys: the columns that identify a user, and `types` their types.
        aggregates: the names of all aggregate functions (see `locality.aggregates_of`).
        keeps: whether rows of a partition may be kept, so that its tables are read once.
        enough: names of queries whose rows for the partition's users suffice, in addition to the
            stages that declare it.
    """

    user_keys: Sequence[str]
    types: Mapping[str, str]
    aggregates: frozenset[str]
    keeps: bool = True
    enough: frozenset[str] = frozenset()
    #: by the identity of a table, a query that reads it in the order of users
    sorted: dict[str, Node] = field(default_factory=dict)
    _readable: dict[str, Readable] = field(default_factory=dict)
    _localities: dict[str, Locality] = field(default_factory=dict)
    _free: dict[str, bool] = field(default_factory=dict)
    _trees: dict[str, exp.Expr] = field(default_factory=dict)
    _of_partition: dict[tuple[str, Partition], Node] = field(default_factory=dict)

    # ---- the cut -------------------------------------------------------------------------------

    def pieces(self, root: Node, below: bool = False) -> list[Piece]:
        """Find the pieces: the queries nearest to the result that partitions can compute.

        `below` excludes the result itself.
        """
        pieces: dict[str, Piece] = {}
        seen: set[str] = set()

        def visit(node: Node) -> None:
            if node.key in seen or not _reads_inputs(node):
                return
            seen.add(node.key)
            readable, locality = self.readable(node), self._locality(node)
            of_users = readable.rows is not None and readable.rows.of_users
            if of_users and (node.is_input or locality.rows is not None):
                pieces[node.key] = Piece(node, self._columns(node))
            elif self._is_free(node):
                pieces[node.key] = Piece(node, self._columns(node), once=True)
            elif readable.groups:
                pieces[node.key] = Piece(node, self._columns(node), locality.merge)
            else:
                for parent in node.parents.values():
                    visit(parent)

        for node in _parents(root) if below else [root]:
            visit(node)
        return list(pieces.values())

    def reduction(self, root: Node, readers: Mapping[str, Node]) -> Plan:
        """Plan the result from the rows of the partitions.

        `readers` maps the identity of each piece's node to a query that reads all its rows.
        """
        return _replaced(Plan(root), lambda node: readers.get(node.key))

    def of_partition(self, plan: Plan, partition: Partition) -> Plan:
        """Plan the part of a result for the users of a partition.

        Raises:
            UsageError: the result needs all users at once.
        """
        readable = self.readable(plan.root)
        if readable.rows is None or not readable.rows.of_users:
            needed = ", ".join(dict.fromkeys(self._across_users(plan.root)))
            raise UsageError(
                f"partition {partition}: this result needs all users at once ({needed}) and cannot "
                "be computed for a partition"
            )
        return Plan(self.piece_of(plan.root, partition))

    def with_its_rows(self, plan: Plan, partition: Partition) -> Plan:
        """Restrict the tables with users in a plan to the rows of a partition."""

        def of_users(node: Node) -> Node | None:
            by_user = node.is_input and self.readable(node).rows is not None
            return self.piece_of(node, partition) if by_user else None

        return _replaced(plan, of_users)

    def rows_of(self, partition: Partition) -> Callable[[Plan], Plan]:
        """Return a function that restricts a plan to the rows of a partition."""
        return lambda plan: self.with_its_rows(plan, partition)

    def forget(self, partition: Partition) -> None:
        """Forget the queries of a partition."""
        for memo in [memo for memo in self._of_partition if memo[1] == partition]:
            del self._of_partition[memo]

    # ---- properties of a query -----------------------------------------------------------------

    def readable(self, node: Node) -> Readable:
        """Return the ways to read a query in a partition."""
        if node.key not in self._readable:
            self._readable[node.key] = self._find_readable(node)
        return self._readable[node.key]

    def _find_readable(self, node: Node) -> Readable:
        free = self._is_free(node)
        if not node.is_input:
            locality = self._locality(node)
            if locality.rows is not None:
                rows = locality.rows if locality.rows.of_users or locality.rows.enough else None
                return Readable(rows, whole=free or rows is None)
            if self._is_enough(node) and all(self.readable(p).at_all for p in _parents(node)):
                rows = RowScope(enough=True)
                if node.stage is not None:  # as many numbers as its users need
                    up_to = frozenset(node.stage.unique)
                    rows = RowScope(enough=True, up_to=up_to, always=_always(self._tree(node)))
                return Readable(rows, whole=free)
            if locality.merge is not None and not free:
                groups = [name.lower() for name, how in locality.merge.items() if how is None]
                return Readable(groups=frozenset(groups))
            if not free:
                return Readable()
        # columns of this name identify the rows of the partition
        columns = {name.lower() for name in self._columns(node)}
        keys = {key.lower(): place for place, key in enumerate(self.user_keys)}
        by_user = RowScope(of_users=True, keys=keys) if keys.keys() <= columns else None
        return Readable(by_user, whole=free)

    def _locality(self, node: Node) -> Locality:
        """Analyse a query, unless it reads a query that needs all users at once."""
        if node.is_input or not node.parents or self._is_enough(node):
            return Locality()
        if node.key not in self._localities:
            locality = Locality()
            if all(self.readable(parent).at_all for parent in _parents(node)):

                def known(table: exp.Table) -> Readable | None:
                    parent = node.parents.get(table.name)
                    return None if parent is None else self.readable(parent)

                locality = examine(self._tree(node), len(self.user_keys), known, self.aggregates)
            self._localities[node.key] = locality
        return self._localities[node.key]

    def _is_enough(self, node: Node) -> bool:
        """Return whether queries about the partition's users read only the rows for these users."""
        of_stage = node.stage is not None and node.stage.enough
        return not self._is_free(node) and (of_stage or node.name in self.enough)

    def _is_free(self, node: Node) -> bool:
        """Return whether a query does not depend on lists."""
        if node.key not in self._free:
            table = node.table if isinstance(node, Query) else ""
            self._free[node.key] = (
                node.name not in RANKED and table not in RANKED
                if node.is_input
                else all(self._is_free(parent) for parent in _parents(node))
            )
        return self._free[node.key]

    def _across_users(self, node: Node) -> Iterable[str]:
        """Name the lowest queries that need all users at once."""
        below = [p for p in _parents(node) if not self._is_free(p) and not self._is_local(p)]
        for parent in below:
            yield from self._across_users(parent)
        if not below:
            yield node.name

    def _is_local(self, node: Node) -> bool:
        return self.readable(node).rows is not None

    def _tree(self, node: Node) -> exp.Expr:
        """Parse a query whose tables are named by identities."""
        if isinstance(node, Query):
            return node.tree
        if node.key not in self._trees:
            text = node.sql({key: key for key in node.parents}, pretty=False)
            self._trees[node.key] = parse(text, f"the query of {node.name}")
        return self._trees[node.key]

    def _columns(self, node: Node) -> list[str]:
        tree = self._tree(node)
        assert isinstance(tree, exp.Query)
        return list(tree.named_selects)

    # ---- queries of a partition ----------------------------------------------------------------

    def piece_of(self, node: Node, partition: Partition) -> Node:
        """Plan the query that a partition computes instead of a query."""
        memo = (node.key, partition)
        if memo not in self._of_partition:
            self._of_partition[memo] = self._plan_piece(node, partition)
        return self._of_partition[memo]

    def _plan_piece(self, node: Node, partition: Partition) -> Node:
        locality = self._locality(node)
        if self._is_enough(node):
            return _rebuilt(node, [self._default(p, partition) for p in _places(node)])
        if locality.rows is None and (locality.merge is None or self._is_free(node)):
            return self._its_rows(node, partition)
        if isinstance(node, Query):
            reads = zip(_places(node), locality.reads, strict=True)
            return _rebuilt(node, [self._read(p, how, partition) for p, how in reads])
        tables = [
            table.name for table in self._tree(node).find_all(exp.Table)
            if table.name in node.parents
        ]  # fmt: skip
        hows = dict(zip(tables, locality.reads, strict=True))
        assert all(hows[name] == how for name, how in zip(tables, locality.reads, strict=True))
        return _rebuilt(
            node,
            [
                self._read(parent, hows[parent.key], partition)
                if parent.key in hows
                else self._default(parent, partition)
                for parent in _places(node)
            ],
        )

    def _read(self, parent: Node, how: str, partition: Partition) -> Node:
        """Plan the query that replaces a table read in this way."""
        if how in (OF_USERS, ENOUGH):
            return self.piece_of(parent, partition)
        if how == GROUPS:
            return self._all_groups(parent)
        return parent if self._is_free(parent) else self.piece_of(parent, partition)

    def _default(self, parent: Node, partition: Partition) -> Node:
        return parent if self.readable(parent).rows is None else self.piece_of(parent, partition)

    def _its_rows(self, node: Node, partition: Partition) -> Node:
        """Plan the rows of a table that belong to the users of a partition."""

        def text(key: str) -> str:
            column = f"of_everybody.{identifier(key)}"
            if type_family(self.types.get(key, "")) in ("floating-point", "decimal"):
                # equal numbers of different types get the same text, and -0 equals 0
                column = f"CAST({column} AS DOUBLE) + 0"
            return f"CAST({column} AS VARCHAR)"

        kind = _Kept if node.is_input and self.keeps else Rendered
        return _rendered(
            "of_users",
            {"of_everybody": self.sorted.get(node.key, node)},
            node.name,
            kind,
            table=node.name,
            names=self._columns(node),
            user_text=" || ':' || ".join(map(text, self.user_keys)),
            partition=str(partition),
            n_partitions=partition.of,
            remainder=partition.number - 1,
            first_key=f"of_everybody.{identifier(self.user_keys[0])}",
            bounds=partition.bounds,
        )

    def _all_groups(self, node: Node) -> Node:
        """Plan all values of a merged query's grouping columns.

        They are read from the underlying table, not from lists that would have to be counted.
        """
        merge = self._locality(node).merge or {}
        columns = {name: name for name, how in merge.items() if how is None}
        at: Node = node
        while (step := self._one_below(at, columns)) is not None:
            at, columns = step
        return _rendered(
            "all_groups", {"of_everybody": at}, f"all_{node.name}", columns_below=columns
        )

    def _one_below(
        self, node: Node, columns: Mapping[str, str]
    ) -> tuple[Node, dict[str, str]] | None:
        """Find columns of a query that have the same values in the table it reads.

        `columns` maps new names to columns of the query.
        """
        tree = self._tree(node)
        if node.is_input or not isinstance(tree, exp.Select):
            return None
        if {name for name, value in tree.args.items() if value} - {"expressions", "from_", "group"}:
            return None
        tables = list(tree.find_all(exp.Table))
        if len(tables) != 1 or tables[0].name not in node.parents:
            return None
        group = tree.args.get("group")
        grouped = {column.name for column in group.expressions} if group is not None else None
        if grouped is None and list(tree.find_all(exp.AggFunc, exp.Window, exp.Anonymous)):
            return None
        held = {expression.alias_or_name: expression.unalias() for expression in tree.expressions}
        below: dict[str, str] = {}
        for name, column in columns.items():
            what = held.get(column)
            if not isinstance(what, exp.Column) or what.name not in (grouped or {what.name}):
                return None
            below[name] = what.name
        return node.parents[tables[0].name], below


def _always(tree: exp.Expr) -> int:
    """Return the minimum number of rows of a query, e.g. 10 for greatest(10, …)."""
    numbers = [
        int(argument.name)
        for greatest in tree.find_all(exp.Greatest)
        for argument in (greatest.this, *greatest.expressions)
        if isinstance(argument, exp.Literal) and argument.is_int
    ]
    return max(numbers, default=0)


def _reads_inputs(node: Node) -> bool:
    return node.is_input or any(_reads_inputs(parent) for parent in _parents(node))


def _parents(node: Node) -> Iterable[Node]:
    return node.parents.values()


def _places(node: Node) -> list[Node]:
    """Return the parents of a query, one per reference."""
    if isinstance(node, Query):
        return [node.parents[table.name] for table in node.tables]
    assert isinstance(node, Rendered)
    return [node.parents[key] for key in node.aliases.values()]


def _rebuilt(node: Node, places: Sequence[Node]) -> Node:
    """Return a query that reads other parents in its references."""
    keys = [parent.key for parent in places]
    if keys == [parent.key for parent in _places(node)]:
        return node
    parents = {parent.key: parent for parent in places}
    key = identity_of(node.key, *keys)
    if isinstance(node, Rendered):
        aliases = dict(zip(node.aliases, keys, strict=True))
        return replace(node, key=key, parents=parents, aliases=aliases)
    assert isinstance(node, Query)
    tree = node.tree.copy()
    tables = [table for table in tree.find_all(exp.Table) if table.name in node.parents]
    for table, name in zip(tables, keys, strict=True):
        table.set("this", exp.to_identifier(name))
    return replace(node, key=key, parents=parents, tree=tree, tables=tables)


def _replaced(plan: Plan, instead: Callable[[Node], Node | None]) -> Plan:
    """Replace some queries of a plan and rebuild the queries that read them."""
    memo: dict[str, Node] = {}

    def visit(node: Node) -> Node:
        if node.key not in memo:
            other = instead(node)
            if other is None:
                other = node if node.is_input else _rebuilt(node, [*map(visit, _places(node))])
            memo[node.key] = other
        return memo[node.key]

    return replace(plan, root=visit(plan.root))


def _rendered(
    template: str,
    reads: Mapping[str, Node],
    name: str,
    kind: type[Rendered] = Rendered,
    is_input: bool = False,
    **context: Any,
) -> Rendered:
    """Plan a query of `sql_templates/partition`."""
    return kind.of(f"partition/{template}", reads, name, context=context, is_input=is_input)


def reader(
    piece: Piece, name: str, files: str, columns: Sequence[Mapping[str, Any]], title: str
) -> Node:
    """Plan the reading of a piece from the files of all partitions."""
    grouped_by = [identifier(c["name"]) for c in columns if piece.merge and not c["merge"]]
    return _rendered(
        "parts",
        {},
        name,
        is_input=piece.merge is None,
        columns=columns,
        files=files,
        title=title,
        written_by="partition 1" if piece.once else "all partitions",
        grouped_by=grouped_by,
    )


def for_parquet(
    node: Node, columns: Sequence[Mapping[str, Any]], sorted_by: str | None = None
) -> Node:
    """Plan a query with Parquet-compatible types, its rows sorted by a column if requested."""
    return _rendered(
        "for_parquet",
        {"written": node},
        node.name,
        table=node.name,
        columns=columns,
        sorted_by=sorted_by,
    )
