"""Analyse the SQL of queries: which of them can be computed for a subset of the users.

Users are split into partitions. A query is *local* if its rows for the users of a partition can be
computed from the rows of these users and from tables that do not depend on lists. The union of the
partitions' rows is then the result of the query. A query is local if it never combines rows of
different users: it joins by the user key, groups by it, and partitions its windows by it. A query
that cannot be proved local is treated as not local, which costs time but is never wrong.

An aggregation of local rows can be *merged* from the partitions' aggregates if it consists of sums,
counts, minima and maxima.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
from sqlglot import exp

# ways in which a query reads a table
OF_USERS = "of users"  # the rows of the users of the partition
WHOLE = "whole"  # all rows, which are the same in every partition
ENOUGH = "enough"  # a subset of the rows that suffices for queries about the partition's users
GROUPS = "groups"  # of a merged query, only the columns that it groups by

_CLAUSES = {
    "kind", "hint", "expressions", "from_", "joins", "where", "group", "having", "qualify",
    "windows", "order", "distinct", "with_",
}  # fmt: skip
# allowed clauses of subqueries, tables, joins, set operations and CTEs; other clauses may combine
# rows of different users (LIMIT, samples) or rename columns
_OF_SUBQUERY = {"this", "alias", "order"}
_OF_TABLE = {"this", "alias"}
_OF_JOIN = {"this", "on", "side", "kind", "using", "method"}
_OF_SET_OPERATION = {"this", "expression", "distinct", "order", "with_"}
_OF_CTE = {"this", "alias", "materialized"}
_OF_ALIAS = {"this"}
# name of an aggregate -> aggregate that merges its values of partitions
_MERGED = {"count": "sum", "sum": "sum", "min": "min", "max": "max"}


@dataclass(frozen=True)
class RowScope:
    """The rows that a relation has in a partition.

    Attributes:
        of_users: whether each row belongs to one user, and the relation has the rows of the users
            of the partition.
        keys: the columns that hold the parts of that user's key.
        enough: whether rows do not belong to users, and each partition has all rows that queries
            about its users read; other rows may differ between partitions.
        up_to: with `enough`, the partition has the rows whose values in these columns are at most
            a value of one of its users, or at most `always`. None: the partition has all rows.
        always: see `up_to`.
    """

    of_users: bool = False
    keys: Mapping[str, int] = field(default_factory=dict)
    enough: bool = False
    up_to: frozenset[str] | None = None
    always: int = 0


@dataclass(frozen=True)
class Readable:
    """The ways to read a table in a partition; none if the table needs all users at once.

    Attributes:
        rows: the rows of the users of the partition.
        whole: whether the whole table can be read.
        groups: the columns whose values are complete in the partition.
    """

    rows: RowScope | None = None
    whole: bool = False
    groups: frozenset[str] = frozenset()

    @property
    def at_all(self) -> bool:
        """Return whether the table can be read in any way."""
        return self.rows is not None or self.whole or bool(self.groups)


@dataclass(frozen=True)
class Locality:
    """Whether a query is local, merged or neither.

    Attributes:
        rows: the rows of a local query.
        merge: for each column of a merged query, the aggregate that merges it, or None if the query
            groups by the column.
        reads: the way in which the query reads each table, in the order of `Expr.find_all`.
    """

    rows: RowScope | None = None
    merge: Mapping[str, str | None] | None = None
    reads: Sequence[str] = ()


class NeedsAllUsersError(Exception):
    """A query that is not local, or cannot be proved to be local."""


def examine(
    tree: exp.Expr,
    n_keys: int,
    known: Callable[[exp.Table], Readable | None],
    aggregates: frozenset[str],
) -> Locality:
    """Determine whether a query is local or merged.

    Args:
        tree: the query.
        n_keys: the number of columns of the user key.
        known: function that returns how a table that refers to another query can be read; None for
            other tables.
        aggregates: the names of all aggregate functions.
    """
    for merging in (False, True):
        examination = _Examination(n_keys, known, aggregates)
        try:
            if merging:
                merge = examination.merged(tree)
                return Locality(merge=merge, reads=examination.reads(tree))
            rows = examination.query(tree, {})
            return Locality(rows, reads=examination.reads(tree))
        except NeedsAllUsersError:
            continue
    return Locality()


def aggregates_of(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    """List the aggregate functions, and the macros that call them."""
    rows = connection.execute(
        "SELECT DISTINCT lower(function_name), function_type, macro_definition "
        "FROM duckdb_functions()"
    ).fetchall()
    names = {name for name, kind, _ in rows if kind == "aggregate"}
    while True:
        called = {
            name
            for name, _, definition in rows
            if definition and names & set(re.findall(r"(\w+)\s*\(", definition.lower()))
        }
        if called <= names:
            return frozenset(names)
        names |= called


@dataclass
class _Joined:
    """The tables of a SELECT that have been joined so far.

    Attributes:
        rows: the rows of the join.
        exact: for each part of the key, the columns that are equal to it in every row.
        links: for each part of the key, the columns that are equal to it or NULL, which is
            sufficient for joins.
        sources: the rows of each table.
    """

    rows: RowScope
    exact: list[set[str]]
    links: list[set[str]]
    sources: dict[str, RowScope] = field(default_factory=dict)


class _Examination:
    def __init__(
        self,
        n_keys: int,
        known: Callable[[exp.Table], Readable | None],
        aggregates: frozenset[str],
    ) -> None:
        self.n_keys = n_keys
        self.known = known
        self.aggregates = aggregates
        self._reads: dict[int, str] = {}

    def reads(self, tree: exp.Expr) -> list[str]:
        """Return how each table that refers to another query is read."""
        return [self._reads[id(t)] for t in tree.find_all(exp.Table) if id(t) in self._reads]

    # ---- queries -------------------------------------------------------------------------------

    def query(self, tree: exp.Expr, ctes: Mapping[str, RowScope]) -> RowScope:
        """Determine the rows of a query."""
        if isinstance(tree, exp.Subquery):
            _only(tree, _OF_SUBQUERY)
            return self.query(tree.this, ctes)
        ctes = self._with_ctes(tree, ctes)
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, ctes)
        if isinstance(tree, exp.Select):
            return self._select(tree, ctes)
        raise NeedsAllUsersError

    def query_or_whole(self, tree: exp.Expr, ctes: Mapping[str, RowScope]) -> RowScope:
        """Determine the rows of a query; read its tables whole if its rows belong to no user."""
        before = dict(self._reads)
        try:
            return self.query(tree, ctes)
        except NeedsAllUsersError:
            self._reads = before
            self._read_whole(tree, ctes)
            return RowScope()

    def _read_whole(self, tree: exp.Expr, ctes: Mapping[str, RowScope]) -> None:
        """Read all tables of a query whole, so that all partitions have the same rows."""
        own = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        for table in tree.find_all(exp.Table):
            name = table.name.lower()
            if name in own or not isinstance(table.this, exp.Identifier):
                continue
            if name in ctes:
                if ctes[name].of_users or ctes[name].enough:
                    raise NeedsAllUsersError
                continue
            readable = self.known(table)
            if readable is None or not readable.whole:
                raise NeedsAllUsersError
            self._reads[id(table)] = WHOLE

    def _with_ctes(self, tree: exp.Expr, ctes: Mapping[str, RowScope]) -> Mapping[str, RowScope]:
        with_, scopes = tree.args.get("with_"), dict(ctes)
        if with_ is None:
            return scopes
        for cte in with_.expressions:
            _only(cte, _OF_CTE)
            name, query = cte.alias.lower(), cte.this
            if with_.args.get("recursive") and isinstance(query, exp.SetOperation):
                # every recursive step must preserve the rows of the first part
                first = self.query(query.this, scopes)
                scopes[name] = first
                if self.query(query, scopes) != first:
                    raise NeedsAllUsersError
            scopes[name] = self.query_or_whole(query, scopes)
        return scopes

    def _set_operation(self, tree: exp.SetOperation, ctes: Mapping[str, RowScope]) -> RowScope:
        _only(tree, _OF_SET_OPERATION)
        left, right = self.query(tree.this, ctes), self.query(tree.expression, ctes)
        if left.enough or right.enough or left.of_users != right.of_users:
            raise NeedsAllUsersError
        names = [name.lower() for name in _selects(tree.this)]
        others = [name.lower() for name in _selects(tree.expression)]
        keys = {
            name: left.keys[name]
            for name, other in zip(names, others, strict=False)
            if name in left.keys and left.keys[name] == right.keys.get(other)
        }
        all_rows = isinstance(tree, exp.Union) and tree.args.get("distinct") is False
        if left.of_users and not all_rows and not self._complete(keys.values()):
            raise NeedsAllUsersError  # rows of different users may be equal
        return RowScope(left.of_users, keys)

    def _complete(self, parts: Iterable[int]) -> bool:
        return set(parts) == set(range(self.n_keys))

    # ---- SELECT --------------------------------------------------------------------------------

    def _select(self, select: exp.Select, ctes: Mapping[str, RowScope]) -> RowScope:
        joined, names = self._sources(select, ctes)
        aggregated, grouped_by = self._groups(select)
        windows = list(_own(_clauses(select), exp.Window))
        if not joined.rows.of_users:
            if not joined.rows.enough:
                return RowScope()
            if aggregated or windows or select.args.get("distinct"):
                raise NeedsAllUsersError
            always = min(rows.always for rows in joined.sources.values() if rows.enough)
            return RowScope(
                enough=True, up_to=self._still_up_to(select, joined, names), always=always
            )

        def parts(expressions: Iterable[exp.Expr]) -> set[int]:
            """Return the parts of the key that are among the expressions."""
            spelled = {_spelled(expression, names) for expression in expressions}
            return {part for part in range(self.n_keys) if joined.exact[part] & spelled}

        if aggregated and not self._complete(parts(grouped_by)):
            raise NeedsAllUsersError
        if not all(self._complete(parts(w.args.get("partition_by") or ())) for w in windows):
            raise NeedsAllUsersError
        keys = {
            expression.alias_or_name.lower(): part
            for expression in select.expressions
            for part in parts([expression.unalias()])
        }
        distinct = select.args.get("distinct")
        if distinct is not None and (distinct.args.get("on") or not self._complete(keys.values())):
            raise NeedsAllUsersError
        return RowScope(of_users=True, keys=keys)

    def _still_up_to(
        self, select: exp.Select, joined: _Joined, names: Sequence[str]
    ) -> frozenset[str] | None:
        """Return the columns of a SELECT that limit its tables with `enough` rows."""
        limited = [
            f"{name}.{column}"
            for name, rows in joined.sources.items()
            for column in rows.up_to or ()
        ]
        if not limited:
            return None
        held = {
            _spelled(expression.unalias(), names): expression.alias_or_name
            for expression in select.expressions
        }
        if not held.keys() >= set(limited):
            raise NeedsAllUsersError
        return frozenset(held[column].lower() for column in limited)

    def merged(self, tree: exp.Expr) -> dict[str, str | None]:
        """Determine how to merge the results of partitions into the result for all users."""
        if not isinstance(tree, exp.Select) or any(
            expression.is_star for expression in tree.expressions
        ):
            raise NeedsAllUsersError
        joined, _ = self._sources(tree, self._with_ctes(tree, {}))
        if not joined.rows.of_users or any(
            tree.args.get(name) for name in ("having", "qualify", "windows", "order")
        ):
            raise NeedsAllUsersError
        _, grouped_by = self._groups(tree)
        wanted = {expression.sql() for expression in grouped_by}
        merge: dict[str, str | None] = {}
        for expression in tree.expressions:
            value, spelled = expression.unalias(), expression.unalias().sql()
            if spelled in wanted or not list(value.find_all(exp.Column, exp.Func)):
                merge[expression.alias_or_name] = None
                wanted.discard(spelled)
            elif tree.args.get("distinct") and not self._is_across(value):
                merge[expression.alias_or_name] = None
            else:
                merge[expression.alias_or_name] = _merged_by(value)
        distinct = tree.args.get("distinct")
        if wanted or (distinct is not None and (distinct.args.get("on") or grouped_by)):
            raise NeedsAllUsersError
        return merge

    def _is_across(self, expression: exp.Expr) -> bool:
        """Return whether an expression depends on other rows than its own."""
        return any(
            isinstance(node, exp.Window) or self._aggregates(node) for node in expression.walk()
        )

    def _groups(self, select: exp.Select) -> tuple[bool, list[exp.Expr]]:
        """Return whether a SELECT aggregates, and the expressions of its GROUP BY."""
        group = select.args.get("group")
        if group is not None and any(v for k, v in group.args.items() if k != "expressions"):
            raise NeedsAllUsersError  # GROUP BY ALL, or several grouping sets
        grouped_by = group.expressions if group is not None else []
        over = {
            id(
                window.this.this
                if isinstance(window.this, exp.Filter | exp.IgnoreNulls)
                else window.this
            )
            for window in _own(_clauses(select), exp.Window)
        }
        aggregated = any(
            self._aggregates(function) and id(function) not in over
            for function in _own(_clauses(select), exp.Func)
        )
        return aggregated or group is not None, grouped_by

    def _aggregates(self, node: exp.Expr) -> bool:
        """Return whether a node calls an aggregate function."""
        if isinstance(node, exp.AggFunc):
            return True
        if isinstance(node, exp.Anonymous):
            return node.name.lower() in self.aggregates
        names = type(node).sql_names() if isinstance(node, exp.Func) else ()
        return any(name.lower() in self.aggregates for name in names)

    # ---- FROM ----------------------------------------------------------------------------------

    def _sources(
        self, select: exp.Select, ctes: Mapping[str, RowScope]
    ) -> tuple[_Joined, list[str]]:
        """Determine the rows of the tables of a SELECT after its joins."""
        _only(select, _CLAUSES)
        for nested in _nested(_clauses(select)):
            if nested.find(exp.Table) is None:
                raise NeedsAllUsersError  # a subquery may aggregate columns of this query
            self._read_whole(nested, ctes)
        from_ = select.args.get("from_")
        if from_ is None:
            return self._start("", RowScope()), []
        joins = select.args.get("joins") or []
        tables = [from_.this, *(join.this for join in joins)]
        names = [table.alias_or_name.lower() for table in tables]
        joined = self._start(names[0], self._source(tables[0], select, ctes))
        for join, name in zip(joins, names[1:], strict=True):
            joined.sources[name] = self._join(joined, join, name, names, select, ctes)
        if joined.rows.of_users:
            self._check_limits(joined, joins, names, select)
        return joined, names

    def _start(self, name: str, rows: RowScope) -> _Joined:
        exact = self._named(name, rows)
        return _Joined(rows, exact, [set(columns) for columns in exact], {name: rows})

    def _check_limits(
        self, joined: _Joined, joins: Sequence[exp.Join], names: Sequence[str], select: exp.Select
    ) -> None:
        """Check that queries read tables with `enough` rows only up to values of users.

        Beyond these values, a partition has fewer rows than all users together.
        """
        of_users = {name for name, rows in joined.sources.items() if rows.of_users}
        for name, rows in joined.sources.items():
            if rows.up_to is None:
                continue
            conditions = [select.args.get("where")]
            conditions += [
                join.args.get("on") for join in joins
                if join.this.alias_or_name.lower() == name or not join.side
            ]  # fmt: skip
            limited = {
                column
                for condition in conditions
                for column in _limited(condition, names, of_users, rows.always)
            }
            if not {f"{name}.{column}" for column in rows.up_to} <= limited:
                raise NeedsAllUsersError

    def _named(self, name: str, rows: RowScope) -> list[set[str]]:
        """Return the qualified columns that hold each part of the key."""
        return [
            {f"{name}.{column}" for column, its_part in rows.keys.items() if its_part == part}
            for part in range(self.n_keys)
        ]

    def _source(
        self,
        source: exp.Expr,
        select: exp.Select,
        ctes: Mapping[str, RowScope],
        whole: bool = False,
    ) -> RowScope:
        """Determine the rows of a table; `whole`: all of its rows are needed."""
        if isinstance(source, exp.Subquery):
            if whole:
                raise NeedsAllUsersError
            alias = source.args.get("alias")
            if alias is not None:
                _only(alias, _OF_ALIAS)
            _only(source, _OF_SUBQUERY)
            return self.query_or_whole(source, ctes)
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            if list(source.find_all(exp.Column, exp.Query)):
                raise NeedsAllUsersError
            return RowScope()  # numbers, or literal rows
        alias = source.args.get("alias")
        _only(source, _OF_TABLE)
        if alias is not None:
            _only(alias, _OF_ALIAS)
        if source.name.lower() in ctes:
            if whole and ctes[source.name.lower()] != RowScope():
                raise NeedsAllUsersError
            return ctes[source.name.lower()]
        readable = self.known(source)
        if readable is None:
            raise NeedsAllUsersError
        rows, how = readable.rows, OF_USERS
        if rows is not None and rows.enough:
            how = ENOUGH
        if whole or rows is None:
            rows, how = RowScope(), WHOLE
            if not readable.whole:
                how = GROUPS
                if not readable.groups or not _columns_read(source, select) <= readable.groups:
                    raise NeedsAllUsersError
        self._reads[id(source)] = how
        return rows

    def _join(
        self,
        joined: _Joined,
        join: exp.Join,
        name: str,
        names: Sequence[str],
        select: exp.Select,
        ctes: Mapping[str, RowScope],
    ) -> RowScope:
        """Join a further table in place, and return its rows."""
        _only(join, _OF_JOIN)
        side, kind = join.side.upper(), join.kind.upper()
        if join.method or side not in ("", "LEFT", "FULL"):
            raise NeedsAllUsersError
        if kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
            raise NeedsAllUsersError
        inner = not side and kind in ("", "INNER", "CROSS")
        pairs = list(_equal(join.args.get("on"), names))
        if inner:
            pairs += _equal(select.args.get("where"), names)
        rows = self._source(join.this, select, ctes)
        using = [column.name.lower() for column in join.args.get("using") or ()]
        theirs = self._named(name, rows)

        def is_linked(part: int) -> bool:
            ours = joined.links[part]
            pairs_by_name = [(f"{table}.{column}", f"{name}.{column}") for table in names
                             for column in using]  # fmt: skip
            return any(
                (left in ours and right in theirs[part]) or (right in ours and left in theirs[part])
                for left, right in [*pairs, *pairs_by_name]
            )

        if rows.of_users and joined.rows.of_users:
            if not all(is_linked(part) for part in range(self.n_keys)):
                rows = self._source(join.this, select, ctes, whole=True)
        elif rows.of_users and not inner:  # rows without a match would occur in every partition
            rows = self._source(join.this, select, ctes, whole=True)
        if joined.rows.of_users and not rows.of_users and side == "FULL":
            raise NeedsAllUsersError
        if not rows.of_users:
            enough = joined.rows.enough or rows.enough
            if not joined.rows.of_users:
                joined.rows = RowScope(enough=enough)
            return rows
        theirs = self._named(name, rows)
        if not joined.rows.of_users:
            joined.rows, joined.exact = rows, theirs
            joined.links = [set(columns) for columns in theirs]
            return rows
        if kind in ("SEMI", "ANTI"):
            return rows
        for part in range(self.n_keys):
            joined.links[part] |= theirs[part]
            if inner:
                joined.exact[part] |= theirs[part]
            elif side == "FULL":
                joined.exact[part] = {
                    _coalesced([ours, other])
                    for ours in joined.exact[part]
                    for other in theirs[part]
                }
                joined.links[part] |= joined.exact[part]
        return rows


def _only(node: exp.Expr, allowed: Collection[str]) -> None:
    """Check that a node has only allowed clauses.

    Raises:
        NeedsAllUsersError: the node has another clause.
    """
    if {name for name, value in node.args.items() if value} - set(allowed):
        raise NeedsAllUsersError


def _clauses(select: exp.Select) -> list[exp.Expr]:
    """Return all clauses of a SELECT except its tables."""
    clauses: list[exp.Expr] = list(select.expressions)
    for name in ("where", "group", "having", "qualify", "order", "distinct"):
        if select.args.get(name) is not None:
            clauses.append(select.args[name])
    clauses += select.args.get("windows") or []
    clauses += [join.args["on"] for join in select.args.get("joins") or () if join.args.get("on")]
    return clauses


def _own(clauses: Iterable[exp.Expr], *types: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Find nodes outside nested queries."""
    for clause in clauses:
        for node in clause.walk(prune=lambda nested: isinstance(nested, exp.Query)):
            if isinstance(node, types):
                yield node


def _nested(clauses: Iterable[exp.Expr]) -> Iterator[exp.Expr]:
    """Find the queries inside expressions."""
    return _own(clauses, exp.Query)


def _selects(tree: exp.Expr) -> list[str]:
    return list(tree.named_selects) if isinstance(tree, exp.Query) else []


def _spelled(expression: exp.Expr, names: Sequence[str]) -> str | None:
    """Return the name of a column or of a COALESCE of columns; None for other expressions."""
    expression = expression.unnest()
    if isinstance(expression, exp.Column):
        table = expression.table.lower() or (names[0] if len(names) == 1 else "")
        return f"{table}.{expression.name.lower()}" if table else None
    if isinstance(expression, exp.Coalesce):
        spelled = [_spelled(part, names) for part in (expression.this, *expression.expressions)]
        known = [name for name in spelled if name is not None]
        return _coalesced(known) if len(known) == len(spelled) else None
    return None


def _coalesced(spelled: Sequence[str]) -> str:
    """Return the name of the first non-NULL of several columns, which never differ."""
    return f"coalesce({', '.join(sorted(spelled))})"


def _equal(condition: exp.Expr | None, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of columns that a condition compares for equality."""
    if isinstance(condition, exp.Where):
        condition = condition.this
    for term in condition.flatten() if isinstance(condition, exp.And) else [condition]:
        if isinstance(term, exp.Paren):
            yield from _equal(term.this, names)
        elif isinstance(term, exp.EQ):
            left, right = _spelled(term.this, names), _spelled(term.expression, names)
            if left is not None and right is not None:
                yield left, right


def _limited(
    condition: exp.Expr | None, names: Sequence[str], of_users: Collection[str], always: int
) -> Iterator[str]:
    """Find the columns that a condition limits to at most a value from tables of users."""
    if isinstance(condition, exp.Where):
        condition = condition.this
    for term in condition.flatten() if isinstance(condition, exp.And) else [condition]:
        if isinstance(term, exp.Paren):
            yield from _limited(term.this, names, of_users, always)
        elif isinstance(term, exp.EQ | exp.LT | exp.LTE | exp.GT | exp.GTE):
            sides = [(term.this, term.expression), (term.expression, term.this)]
            if not isinstance(term, exp.EQ):
                sides = sides[1:] if isinstance(term, exp.GT | exp.GTE) else sides[:1]
            for limited, by in sides:
                column = _spelled(limited, names) if isinstance(limited, exp.Column) else None
                if column is not None and _is_not_more(by, names, of_users, always):
                    yield column


def _is_not_more(
    by: exp.Expr, names: Sequence[str], of_users: Collection[str], always: int
) -> bool:
    """Return whether an expression is at most a value of a user or the number `always`."""
    by = by.unnest()
    if isinstance(by, exp.Column):
        return (_spelled(by, names) or "").partition(".")[0] in of_users
    if isinstance(by, exp.Literal):
        return by.is_int and int(by.name) <= always
    if isinstance(by, exp.Sub) and isinstance(by.expression, exp.Literal):
        return _is_not_more(by.this, names, of_users, always)
    if isinstance(by, exp.Coalesce | exp.Greatest | exp.Least):
        # LEAST ignores missing values
        return all(
            _is_not_more(argument, names, of_users, always)
            for argument in (by.this, *by.expressions)
        )
    return False


def _columns_read(table: exp.Table, select: exp.Select) -> set[str]:
    """Return the columns of a table that a SELECT reads; includes "*" if they are unknown."""
    alone = not select.args.get("joins")
    columns = set()
    for node in select.find_all(exp.Column, exp.Star):
        if isinstance(node, exp.Star):
            columns |= set() if isinstance(node.parent, exp.Count) else {"*"}
            continue
        its_table = node.text("table").lower()
        if its_table == table.alias_or_name.lower() or (alone and not its_table):
            columns.add(node.name.lower())
        elif not its_table:
            columns.add("*")
    return columns


def _merged_by(expression: exp.Expr) -> str:
    """Return the aggregate that merges the partitions' values of an expression."""
    if isinstance(expression, exp.Filter):
        expression = expression.this
    how = _MERGED.get(expression.key)
    several = expression.args.get("expressions")
    if how is None or several or isinstance(expression.this, exp.Distinct):
        raise NeedsAllUsersError
    return how
