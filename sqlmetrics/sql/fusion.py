"""Fusion: compute metric queries over the same rows in one SELECT.

A metric query has the form

    SELECT keys, k, <aggregates> AS value FROM <stage> [LEFT JOIN <lookup> …] GROUP BY keys, k

The stage has a column that cutoffs apply to (`rank`). At cutoff 10, such a query becomes

    SELECT keys, CASE WHEN min(rank) <= 10 THEN <aggregates over rows with rank <= 10> ELSE … END

so that any number of metrics and cutoffs over the same stage share one scan, one join and one GROUP
BY. The largest cutoff is a WHERE instead, unless a value is that of whole lists. A lookup is a LEFT
JOIN on columns that its stage declares unique. It neither drops nor repeats rows, so lookups of
different metrics can be combined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqlmetrics.metrics.front_matter import Stage
from sqlmetrics.sql.query_graph import DIALECT, new_name
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.trees import find_all, walk

_NOT_FUSED = ("with_", "distinct", "having", "qualify", "order", "limit", "offset", "windows")


@dataclass(frozen=True)
class Lookup:
    """A LEFT JOIN that finds at most one row: its table, alias and ON condition."""

    table: exp.Table
    alias: str
    condition: exp.Expr


@dataclass(frozen=True)
class Fusable:
    """The parts of a metric query."""

    source: exp.Table  # the stage; its alias is the name of the stage
    cutoff: exp.Column  # the column that cutoffs apply to
    constant: frozenset[str]  # columns that are constant within a group
    joins: tuple[exp.Join, ...]  # other joins, equal for all members of a group
    where: exp.Expr | None
    lookups: tuple[Lookup, ...]
    values: Mapping[str, exp.Expr]  # `value` and further columns of the query
    keys: tuple[str, ...] = ()  # the grouping columns

    def is_fixed(self, lookup: Lookup) -> bool:
        """Return whether a lookup finds the same row for all rows of a group."""
        stage = self.cutoff.table
        return all(
            column.table == lookup.alias
            or (column.table == stage and column.name in {*self.constant, *self.keys, "k"})
            for column in find_all(lookup.condition, exp.Column)
        )

    @property
    def group(self) -> str:
        """Return a text that is equal for queries that can share one SELECT."""
        parts: list[exp.Expr | None] = [self.source, self.cutoff, *self.joins, self.where]
        return " | ".join("" if part is None else part.sql(DIALECT) for part in parts)


@dataclass(frozen=True)
class Value:
    """A value of a query at a cutoff, which becomes the column `name`.

    `empty` is the value for keys whose rows are all beyond the cutoff. At the largest cutoff, they
    have no row, and the reader of the SELECT has to know the value.
    """

    query: Fusable
    k: int | None
    name: str
    part: str = "value"
    empty: str | None = None


@dataclass
class FusedSelect:
    """A SELECT that grows by one column per metric and cutoff."""

    keys: Sequence[str]
    base: Fusable
    values: list[Value] = field(default_factory=list)
    lookups: dict[tuple[str, str], Lookup] = field(default_factory=dict)

    def _column(self, of: Value, largest: int | None) -> exp.Expr:
        """Return the column of a value; rows beyond the cutoff `largest` are not read."""
        query, k = of.query, of.k
        within = k is not None and k != largest
        value = _at_cutoff(query, query.values[of.part], k, restrict=within)
        for lookup in query.lookups:
            condition = _at_cutoff(query, lookup.condition, k, restrict=False)
            shared = self._share(lookup, condition, k)
            for column in find_all(value, exp.Column):
                if column.table == lookup.alias:
                    column.set("table", exp.to_identifier(shared))
        if within:
            first = exp.Min(this=query.cutoff.copy())
            value = exp.Case(
                ifs=[exp.If(this=exp.LTE(this=first, expression=_number(k)), true=value)],
                default=None if of.empty is None else exp.Literal.number(of.empty),
            )
        return exp.alias_(value, of.name)

    def _share(self, lookup: Lookup, condition: exp.Expr, k: int | None) -> str:
        """Return the alias of this lookup's join, adding the join if it is new."""
        identity = (lookup.table.name, condition.sql(DIALECT))
        if identity not in self.lookups:
            taken = {known.alias for known in self.lookups.values()}
            varies = condition != lookup.condition
            wanted = f"{lookup.alias}_at_{k or 'all'}" if varies else lookup.alias
            alias = new_name(wanted, taken)
            for column in find_all(condition, exp.Column):
                if column.table == lookup.alias:
                    column.set("table", exp.to_identifier(alias))
            self.lookups[identity] = Lookup(lookup.table, alias, condition)
        return self.lookups[identity].alias

    def build(self) -> exp.Select:
        """Return the SELECT: one row per key that occurs in the stage up to the largest cutoff."""
        source, cutoffs = self.base.source, [value.k for value in self.values]
        largest = None if None in cutoffs else max(k for k in cutoffs if k is not None)
        columns = [self._column(value, largest) for value in self.values]
        keys = [
            exp.column(exp.to_identifier(key, quoted=identifier(key) != key), source.alias_or_name)
            for key in self.keys
        ]
        select = exp.Select(expressions=[*keys, *columns]).from_(source.copy(), copy=False)
        for join in self.base.joins:
            select.append("joins", join.copy())
        for lookup in self.lookups.values():
            table = lookup.table.copy()
            table.set("alias", exp.TableAlias(this=exp.to_identifier(lookup.alias)))
            select.join(table, on=lookup.condition, join_type="left", copy=False)
        if self.base.where is not None:
            select.where(self.base.where.copy(), copy=False)
        if largest is not None:
            within = exp.LTE(this=self.base.cutoff.copy(), expression=_number(largest))
            select.where(within, copy=False)
        return select.group_by(*[key.copy() for key in keys], copy=False)


def analyse(
    tree: exp.Expr,
    keys: Sequence[str],
    user_keys: Sequence[str],
    stage_of: Callable[[str], Stage | None],
) -> Fusable | None:
    """Split a metric query into its parts; return None if it must run separately.

    `stage_of` returns the stage that a table name in the query refers to. The tree is unchanged.
    """
    if not isinstance(tree, exp.Select) or any(tree.args.get(arg) for arg in _NOT_FUSED):
        return None
    origin = tree.args.get("from_")
    source = origin.this if origin is not None else None
    if not isinstance(source, exp.Table):
        return None
    stage = stage_of(source.name)
    if stage is None or stage.cutoff is None:
        return None
    alias = source.alias_or_name
    tree = tree.copy()
    joins = list(tree.args.get("joins") or ())
    if not joins:
        for column in find_all(tree, exp.Column):
            if not column.table and column.find_ancestor(exp.Subquery) is None:
                column.set("table", exp.to_identifier(alias))
    expected = [exp.column(key, table=alias) for key in (*keys, "k")]
    group = tree.args.get("group")
    n_keys = len(expected)
    computed = {e.alias_or_name: e.unalias() for e in tree.expressions[n_keys:]}
    if (
        [_without_quotes(column.unalias()) for column in tree.expressions[:n_keys]] != expected
        or "value" not in computed
        or group is None
        or any(part for name, part in group.args.items() if name != "expressions")
        or [_without_quotes(column) for column in group.expressions] != expected
    ):
        return None
    for value in computed.values():
        if value.find(exp.Window) is not None or _bare_columns(value, alias, keys):
            return None

    lookups, others = [], []
    for join in joins:
        lookup = _lookup(join, alias, user_keys, stage_of)
        if lookup is not None:
            lookups.append(lookup)
        elif _mentions_k(join, alias):
            return None
        else:
            others.append(join)
    where = tree.args.get("where")
    if where is not None and _mentions_k(where, alias):
        return None
    return Fusable(
        source=source,
        cutoff=exp.column(stage.cutoff, table=alias),
        constant=frozenset(stage.constant),
        joins=tuple(others),
        where=None if where is None else where.this,
        lookups=tuple(lookups),
        values=computed,
        keys=tuple(keys),
    )


def _without_quotes(column: exp.Expr) -> exp.Expr:
    """Return the column as `exp.column` would build it, for comparing names."""
    if isinstance(column, exp.Column):
        return exp.column(column.name, table=column.table or None)
    return column


def _bare_columns(value: exp.Expr, alias: str, keys: Sequence[str]) -> bool:
    """Return whether columns are used outside known aggregates or inside subqueries."""
    return any(
        column.table in (alias, "") and (column.table or column.name == "k")
        if column.find_ancestor(exp.Subquery) is not None
        else column.find_ancestor(exp.AggFunc) is None
        and not (column.table == alias and column.name in (*keys, "k"))
        for column in find_all(value, exp.Column)
    )


def _lookup(
    join: exp.Join,
    alias: str,
    user_keys: Sequence[str],
    stage_of: Callable[[str], Stage | None],
) -> Lookup | None:
    """Parse a join as a lookup: LEFT JOIN stage ON unique columns = expressions."""
    table, condition = join.this, join.args.get("on")
    if join.side != "LEFT" or not isinstance(table, exp.Table) or condition is None:
        return None
    stage = stage_of(table.name)
    if stage is None or not stage.unique:
        return None
    name = table.alias_or_name
    columns = set()
    for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
        sides = (part.this, part.expression) if isinstance(part, exp.EQ) else ()
        own = [s for s in sides if isinstance(s, exp.Column) and s.table == name]
        other = [s for s in sides if all(c.table == alias for c in find_all(s, exp.Column))]
        if len(own) != 1 or len(other) != 1:
            return None
        columns.add(own[0].name)
    unique = {key for entry in stage.unique for key in (user_keys if entry == "user" else [entry])}
    return Lookup(table, name, condition) if unique <= columns else None


def _mentions_k(tree: exp.Expr, alias: str) -> bool:
    return any(c.name == "k" and c.table in (alias, "") for c in find_all(tree, exp.Column))


def _number(k: int | None) -> exp.Expr:
    return exp.null() if k is None else exp.Literal.number(k)


def _at_cutoff(query: Fusable, tree: exp.Expr, k: int | None, restrict: bool) -> exp.Expr:
    """Specialise an expression to one cutoff; `restrict` limits aggregates to rows within it."""
    root: exp.Expr = exp.Paren(this=tree.copy())  # a wrapper: the root may be replaced
    nodes = walk(root)
    alias = query.source.alias_or_name
    for node in nodes:
        if isinstance(node, exp.Column) and node.name == "k" and node.table == alias:
            node.replace(_number(k))
    for node in nodes:
        if isinstance(node, exp.Coalesce | exp.Least):
            _fold(node)
    if restrict and k is not None:
        for aggregate in [node for node in nodes if isinstance(node, exp.AggFunc)]:
            if aggregate.find_ancestor(exp.Subquery, exp.AggFunc) is None:
                _restrict(aggregate, query, k)
    result: exp.Expr = root.this
    return result


def _restrict(aggregate: exp.AggFunc, query: Fusable, k: int) -> None:
    used = find_all(aggregate, exp.Column)
    fixed = {lookup.alias for lookup in query.lookups if query.is_fixed(lookup)}
    same = all(
        c.table in fixed or (c.table == query.cutoff.table and c.name in query.constant)
        for c in used
    )
    if used and same and isinstance(aggregate, exp.Min | exp.Max | exp.Avg):
        return  # an aggregate of a constant
    within = exp.LTE(this=query.cutoff.copy(), expression=_number(k))
    by_case = (
        exp.Count, exp.Sum, exp.Min, exp.Max, exp.Avg, exp.StddevSamp, exp.VariancePop
    )  # fmt: skip
    if not isinstance(aggregate, by_case):
        filtered = aggregate.parent if isinstance(aggregate.parent, exp.Filter) else None
        if filtered is not None:
            both = exp.and_(filtered.expression.this, within)
            filtered.set("expression", exp.Where(this=both))
        else:
            aggregate.replace(exp.Filter(this=aggregate.copy(), expression=exp.Where(this=within)))
        return

    def only_within(term: exp.Expr) -> exp.Expr:
        inner = term.unnest()
        condition: exp.Expr = within.copy()
        if isinstance(inner, exp.Case) and _is_plain_case(inner):
            condition = exp.and_(condition, inner.args["ifs"][0].this, copy=False)
            term = inner.args["ifs"][0].args["true"]
        return exp.Case(ifs=[exp.If(this=condition, true=term)])

    argument = aggregate.this
    if isinstance(argument, exp.Star) or argument is None:
        aggregate.set("this", only_within(exp.Literal.number(1)))
    elif isinstance(argument, exp.Distinct):
        argument.set("expressions", [only_within(term) for term in argument.expressions])
    else:
        aggregate.set("this", only_within(argument))


def _is_plain_case(case: exp.Case) -> bool:
    """Return whether a CASE is `CASE WHEN condition THEN value END`."""
    return (
        len(case.args["ifs"]) == 1
        and case.args.get("this") is None
        and case.args.get("default") is None
    )


def _fold(node: exp.Expr) -> None:
    """Evaluate functions that are constant once k is known: coalesce(10, x) becomes 10."""
    terms = [node.this, *node.expressions]
    kept = [term for term in terms if not isinstance(term, exp.Null)]
    if not kept:
        node.replace(exp.null())
        return
    if isinstance(node, exp.Coalesce) and isinstance(kept[0], exp.Literal):
        kept = kept[:1]
    if len(kept) == 1:
        node.replace(kept[0].copy())
    else:
        node.set("this", kept[0])
        node.set("expressions", kept[1:])
