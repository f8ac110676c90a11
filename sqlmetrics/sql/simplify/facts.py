"""Derive facts about the rows of relations from their queries."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqlmetrics.sql.simplify.relations import (
    ROWS,
    Relation,
    alias_of,
    equal_sides,
    is_grouped,
    is_outer,
    joins_of,
    named,
    parts_of,
    relation_name,
    tables_of,
    values_of,
)
from sqlmetrics.sql.trees import find_all

HAS_ROWS = "has rows"  # in the metadata of a table that is not empty


@dataclass
class Facts:
    """Facts about the rows of a relation.

    Attributes:
        known: columns that are never NULL.
        positive: columns above 0 wherever they are not NULL.
        doubles: columns of doubles.
        whole: columns of whole numbers wherever they are not NULL.
        constants: columns with the same literal in every row.
        at_most: columns that are never NULL and never above this number.
        unique: sets of columns that no two rows share.
        one_row: is there exactly one row?
        has_rows: is there at least one row?
        numbers: columns with every whole number from 1 to this one, or further.
    """

    known: set[str] = field(default_factory=set)
    positive: set[str] = field(default_factory=set)
    doubles: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    constants: dict[str, exp.Literal] = field(default_factory=dict)
    at_most: dict[str, float] = field(default_factory=dict)
    unique: list[frozenset[str]] = field(default_factory=list)
    one_row: bool = False
    has_rows: bool = False
    numbers: dict[str, int] = field(default_factory=dict)

    def is_unique(self, columns: set[str]) -> bool:
        """Do no two rows share all values of these columns?"""
        return self.one_row or any(key <= columns for key in self.unique)


AllFacts = Mapping[str, Facts]
_NOTHING, _ONLY_ROWS = Facts(), Facts(has_rows=True)


def of_relation(relation: Relation, facts: AllFacts) -> Facts:
    """Find the facts about the rows of a relation from those about the relations that it reads."""
    if relation.select is not None:
        return of_select(relation.select, facts)
    if not relation.is_union:
        return Facts()
    branches = [(list(values_of(one)), of_select(one, facts)) for one in relation.branches()]
    if any("" in names or len(names) < len(relation.columns) for names, _ in branches):
        return Facts()  # columns without a name, or with the same one
    result = Facts(has_rows=any(own.has_rows for _, own in branches))
    for place, name in enumerate(relation.columns):
        of_branches = [(own, names[place]) for names, own in branches]
        if all(column in own.known for own, column in of_branches):
            result.known.add(name)
        if all(column in own.positive for own, column in of_branches):
            result.positive.add(name)
        if any(column in own.doubles for own, column in of_branches):
            result.doubles.add(name)
        if all(column in own.whole for own, column in of_branches):
            result.whole.add(name)
        first, *others = [own.constants.get(column) for own, column in of_branches]
        if first is not None and all(other == first for other in others):
            result.constants[name] = first
        if all(column in own.at_most for own, column in of_branches):
            result.at_most[name] = max(own.at_most[column] for own, column in of_branches)
    return result


def of_select(select: exp.Select, facts: AllFacts) -> Facts:
    """Find the facts about the rows of a SELECT from those about the relations that it reads."""
    inside = Inside(select, facts)
    result, limits = Facts(), _limits(select)
    for name, value in values_of(select).items():
        if inside.is_known(value):
            result.known.add(name)
        if inside.is_positive(value):
            result.positive.add(name)
        if inside.is_double(value):
            result.doubles.add(name)
        if inside.is_whole(value):
            result.whole.add(name)
        limit = limits.get(value)
        if isinstance(value, exp.Column) and not is_outer(select, value.table):
            source = inside.facts.get(value.table, _NOTHING)
            limit = source.at_most.get(value.name) if limit is None else limit
            value = source.constants.get(value.name, value)
        if isinstance(value, exp.Literal):
            result.constants[name] = value
            limit = None if value.is_string else float(value.name)
        if limit is not None:
            result.at_most[name] = limit
    result.one_row = _has_one_row(select, facts)
    result.has_rows = result.one_row or _has_rows(select, facts)
    result.numbers = _numbers(select, facts)
    result.known |= result.numbers.keys()
    result.positive |= result.numbers.keys()
    result.whole |= result.numbers.keys()
    result.unique = [*_unique(select, facts), *(frozenset([name]) for name in result.numbers)]
    return result


def limit_of(part: exp.Expr) -> float | None:
    """Return the number with which a condition compares a column by <=; None: it does not."""
    is_limit = (
        isinstance(part, exp.LTE)
        and isinstance(part.this, exp.Column)
        and isinstance(part.expression, exp.Literal)
        and not part.expression.is_string
    )
    return float(part.expression.name) if is_limit else None


def _limits(select: exp.Select) -> dict[exp.Expr, float]:
    """Return the columns that WHERE compares with a number by <=, and the lowest number of each."""
    where, limits = select.args.get("where"), dict[exp.Expr, float]()
    for part in parts_of(None if where is None else where.this):
        limit = limit_of(part)
        if limit is not None:
            limits[part.this] = min(limit, limits.get(part.this, limit))
    return limits


def _numbers(select: exp.Select, facts: AllFacts) -> dict[str, int]:
    """Find the columns that hold the numbers from 1 to a literal, and pass them on."""
    if any(select.args.get(part) for part in ("where", "joins", "group", "distinct")):
        return {}
    numbers: dict[str, int] = {}
    tables = tables_of(select)
    n_series = 0 if tables else 1  # anything more would repeat the numbers
    if sum(bool(find_all(value, *ROWS)) for value in select.expressions) > n_series:
        return {}
    for name, value in values_of(select).items():
        if isinstance(value, exp.Column) and tables:
            last = _facts_of(tables[0], facts).numbers.get(value.name)
        else:
            last = _last_of_series(value) if not tables else None
        if last is not None:
            numbers[name] = last
    return numbers


def _first_of_series(value: exp.Expr) -> exp.Expr | None:
    """Return m of unnest(generate_series(m, n)); None: it is something else."""
    series = value.this if isinstance(value, exp.Explode) else None
    if not isinstance(series, exp.GenerateSeries):
        return None
    is_other = series.args.get("step") or series.args.get("is_end_exclusive")  # as of range
    return None if is_other else series.args["start"]


def _last_of_series(value: exp.Expr) -> int | None:
    """Return n of unnest(generate_series(1, n)), or of greatest(n, …), if it is a literal."""
    if _first_of_series(value) != exp.Literal.number(1):
        return None
    end = value.this.args["end"]
    ends = [end.this, *end.expressions] if isinstance(end, exp.Greatest) else [end]
    literals = [
        int(one.name) for one in ends if isinstance(one, exp.Literal) and one.name.isdigit()
    ]
    return max(literals, default=None)


def _is_number_found(join: exp.Join, inside: Inside, facts: AllFacts) -> bool:
    """Does a join look up a number that is always there, such as least(10, n)?"""
    numbers, condition = _facts_of(join.this, facts).numbers, join.args.get("on")
    sides = equal_sides(condition, alias_of(join.this)) if numbers and condition else None
    if sides is None or not isinstance(sides[1], exp.Least):
        return False
    last, number = sides[1].this, sides[1].expressions[0]
    return (
        inside.is_known(number)
        and all(inside.is_positive(one) and inside.is_whole(one) for one in (number, last))
        and isinstance(last, exp.Literal)
        and int(last.name) <= numbers.get(sides[0].name, 0)
    )


def _has_rows(select: exp.Select, facts: AllFacts) -> bool:
    """Does a SELECT read a single table, which has rows, and keep all of them?"""
    tables = tables_of(select)
    filtered = any(select.args.get(part) for part in ("where", "having", "joins"))
    is_single = len(tables) == 1 and not filtered and _facts_of(tables[0], facts).has_rows
    return is_single and not _repeats_rows(select)


def _has_one_row(select: exp.Select, facts: AllFacts) -> bool:
    if any(select.args.get(part) for part in ("where", "having", "group")):
        return False
    tables = tables_of(select)
    is_single = _is_crossed(select) and all(_facts_of(table, facts).one_row for table in tables)
    return (is_single or is_grouped(select)) and not _repeats_rows(select)


def _repeats_rows(select: exp.Select) -> bool:
    """Does an expression of a SELECT make several rows of one?"""
    return any(find_all(expression, *ROWS) for expression in select.expressions)


def _facts_of(table: exp.Expr, facts: AllFacts) -> Facts:
    if table.meta_get(HAS_ROWS):
        return _ONLY_ROWS
    return facts.get(relation_name(table), _NOTHING)


def _unique(select: exp.Select, facts: AllFacts) -> list[frozenset[str]]:
    """Find the sets of columns that tell the rows of a SELECT apart."""
    if select.args.get("distinct") is not None:
        return [frozenset(select.named_selects)]
    names = {value: name for name, value in values_of(select).items()}
    group = select.args.get("group")
    if _repeats_rows(select):
        return []
    if group is not None:
        return _named(group.expressions, names)
    if is_grouped(select):
        return []
    unique: list[frozenset[str]] = []
    for window, name in names.items():
        if isinstance(window, exp.Window) and isinstance(window.this, exp.RowNumber):
            keys = window.args.get("partition_by") or []
            unique += [key | {name} for key in _named(keys, names)]
    tables = tables_of(select)
    keys_of_rows: list[tuple[exp.Column, ...]] = []
    if len(tables) == 2 and _is_crossed(select):
        keys_of_rows = [
            (*left, *right)
            for left in _keys_of(tables[0], facts)
            for right in _keys_of(tables[1], facts)
        ]
    elif tables and all(is_lookup(join, facts) for join in joins_of(select)):
        keys_of_rows = _keys_of(tables[0], facts)
    return unique + [key for columns in keys_of_rows for key in _named(columns, names)]


def _named(columns: Sequence[exp.Expr], names: Mapping[exp.Expr, str]) -> list[frozenset[str]]:
    """Name the columns of a key as the result does; no key if one of them has no name there."""
    key = [names.get(column, "") for column in columns]
    return [frozenset(key)] if all(key) else []


def _keys_of(table: exp.Expr, facts: AllFacts) -> list[tuple[exp.Column, ...]]:
    return [
        tuple(exp.column(named(name), table=alias_of(table)) for name in key)
        for key in _facts_of(table, facts).unique
    ]


def _is_crossed(select: exp.Select) -> bool:
    return all(
        join.args.get("on") is None and not join.args.get("using") for join in joins_of(select)
    )


def is_lookup(join: exp.Join, facts: AllFacts) -> bool:
    """Does a join find at most one row, as its condition names a unique key?"""
    if join.side not in ("", "LEFT") or join.args.get("using"):
        return False
    return _facts_of(join.this, facts).is_unique(keys_of(join))


def keys_of(join: exp.Join) -> set[str]:
    """Return the columns of the joined table that its condition sets equal to others."""
    sides = [equal_sides(part, alias_of(join.this)) for part in parts_of(join.args.get("on"))]
    return {own.name for own, _ in filter(None, sides)}


class Inside:
    """Facts about expressions inside of one SELECT.

    `given`: a condition that holds for at least one row of every group. `looks_up`: are lookups
    considered that always find a row?
    """

    def __init__(self, select: exp.Select, facts: AllFacts, looks_up: bool = True) -> None:
        self.select = select
        self.given: exp.Expr | None = None
        self.all = facts
        self.has_groups = select.args.get("group") is not None
        self.has_rows = self.has_groups or _has_rows(select, facts)
        self.facts = {alias_of(table): _facts_of(table, facts) for table in tables_of(select)}
        left = [join for join in joins_of(select) if join.side == "LEFT"]
        if looks_up and left:
            plain = Inside(select, facts, looks_up=False)
            left = [join for join in left if not _is_number_found(join, plain, facts)]
        self.outer = {alias_of(join.this) for join in left}
        if any(join.side in ("RIGHT", "FULL") for join in joins_of(select)):
            self.outer = set(self.facts)
        self.equal = {
            (side.table, side.name)
            for join in joins_of(select)
            if not join.side
            for part in parts_of(join.args.get("on"))
            if isinstance(part, exp.EQ)
            for side in (part.this, part.expression)
            if isinstance(side, exp.Column)
        }

    def where(self, given: exp.Expr) -> Inside:
        """Return the same facts under a condition."""
        other = copy.copy(self)
        other.given = given
        return other

    def is_known(self, node: exp.Expr) -> bool:
        """Is a value never NULL?"""
        node = node.unnest()
        if isinstance(node, exp.Literal | exp.Count | exp.RowNumber | exp.Rank | exp.Boolean):
            return True
        if isinstance(node, exp.Select):  # a query in brackets
            own = of_select(node, self.all)
            return own.one_row and node.expressions[0].alias_or_name in own.known
        if _first_of_series(node) is not None:  # beside a longer list, NULL fills it up
            return sum(bool(find_all(one, *ROWS)) for one in self.select.expressions) == 1
        if isinstance(node, exp.Column):
            if node.table in self.outer:
                return False
            known = self.facts.get(node.table, _NOTHING).known
            return node.name in known or (node.table, node.name) in self.equal
        if isinstance(node, exp.Coalesce):
            return any(map(self.is_known, [node.this, *node.expressions]))
        if isinstance(node, exp.Greatest | exp.Least):
            return any(map(self.is_known, [node.this, *node.expressions]))
        if isinstance(node, exp.Case):
            return self._case_is_known(node)
        if isinstance(node, exp.Div):
            divisor = node.expression.unnest()
            return self.is_known(node.this) and self.is_known(divisor) and self.is_positive(divisor)
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Pow):
            return self.is_known(node.this) and self.is_known(node.expression)
        if isinstance(node, exp.Cast | exp.Neg | exp.Round | exp.Abs | exp.Paren):
            return self.is_known(node.this)
        if isinstance(node, exp.Log | exp.Anonymous) and _logarithm_of(node) is not None:
            value = _logarithm_of(node)
            assert value is not None
            return self.is_known(value) and self.is_positive(value)
        if isinstance(node, exp.Window):
            if isinstance(node.this, exp.Sum | exp.Max | exp.Min):
                return _sees_its_row(node) and self.is_known(node.this.this)
            return isinstance(node.this, exp.Count | exp.RowNumber | exp.Rank | exp.DenseRank)
        if isinstance(node, exp.Sum | exp.Max | exp.Min | exp.Avg):
            return self._has_rows(node.this) and self.is_known(_within(node.this, self.given))
        return False

    def _has_rows(self, value: exp.Expr) -> bool:
        """Does every group have a row that an aggregate of this value sees?"""
        inner = value.unnest()
        if isinstance(inner, exp.Case):
            return self.given is not None and _within(inner, self.given) is not inner
        return self.has_groups

    def _case_is_known(self, case: exp.Case) -> bool:
        default = case.args.get("default")
        values = [branch.args["true"] for branch in case.args["ifs"]]
        return default is not None and all(map(self.is_known, [*values, default]))

    def is_positive(self, node: exp.Expr) -> bool:
        """Is a value above 0 wherever it is not NULL?"""
        node = node.unnest()
        if isinstance(node, exp.Literal):
            return not node.is_string and float(node.name) > 0
        if isinstance(node, exp.Column):
            return node.name in self.facts.get(node.table, _NOTHING).positive
        if isinstance(node, exp.Window):
            if isinstance(node.this, exp.Sum | exp.Max | exp.Min):
                return self.is_positive(node.this.this)
            if isinstance(node.this, exp.Count):  # of the row itself, at least
                return isinstance(node.this.this, exp.Star) and _sees_its_row(node)
            return isinstance(node.this, exp.RowNumber | exp.Rank | exp.DenseRank)
        if isinstance(node, exp.RowNumber | exp.Rank | exp.DenseRank):
            return True
        if isinstance(node, exp.Count):
            every = isinstance(node.this, exp.Star) or node.this is None
            return self.has_rows and (every or self.is_known(node.this))
        if isinstance(node, exp.Select):  # a query in brackets
            value = node.expressions[0].unalias()
            return len(node.expressions) == 1 and Inside(node, self.all).is_positive(value)
        if (first := _first_of_series(node)) is not None:
            return self.is_positive(first)
        if isinstance(node, exp.Sum | exp.Max | exp.Min | exp.Avg | exp.Sqrt):
            return self.is_positive(_only_value(node.this))
        if isinstance(node, exp.Cast) and node.to.this == exp.DType.DOUBLE:
            return self.is_positive(_only_value(node.this))
        if isinstance(node, exp.Coalesce | exp.Least):
            return all(map(self.is_positive, [node.this, *node.expressions]))
        if isinstance(node, exp.Greatest):
            parts = [node.this, *node.expressions]
            return all(map(self.is_positive, parts)) or any(
                self.is_positive(part) and self.is_known(part) for part in parts
            )
        if isinstance(node, exp.Mul | exp.Div | exp.Add):
            return self.is_positive(node.this) and self.is_positive(node.expression)
        if isinstance(node, exp.Nullif):
            return self.is_positive(node.this)
        if isinstance(node, exp.Log | exp.Anonymous):
            value = _logarithm_of(node)
            value = None if value is None else value.unnest()
            return (
                isinstance(value, exp.Add)
                and self.is_positive(value.this)
                and value.expression == exp.Literal.number(1)
                and self._is_at_least_one(value.this)
            )
        return False

    def _is_at_least_one(self, node: exp.Expr) -> bool:
        """Is a positive value at least 1, as ranks and counts are?"""
        node = node.unnest()
        return isinstance(node, exp.Column) and not self.is_double(node)

    def is_whole(self, node: exp.Expr) -> bool:
        """Is a value a whole number wherever it is not NULL?"""
        node = node.unnest()
        if isinstance(node, exp.Literal):
            return not node.is_string and node.name.isdigit()
        if isinstance(node, exp.Column):
            return node.name in self.facts.get(node.table, _NOTHING).whole
        if isinstance(node, exp.Count | exp.RowNumber | exp.Rank | exp.DenseRank):
            return True
        if isinstance(node, exp.Window):
            return self.is_whole(node.this)
        if isinstance(node, exp.Sum | exp.Max | exp.Min):
            return self.is_whole(_only_value(node.this))
        if isinstance(node, exp.Coalesce | exp.Least | exp.Greatest):
            return all(map(self.is_whole, [node.this, *node.expressions]))
        if isinstance(node, exp.Add | exp.Sub | exp.Mul):
            return self.is_whole(node.this) and self.is_whole(node.expression)
        return False

    def is_double(self, node: exp.Expr) -> bool:
        """Is a value a double?"""
        node = node.unnest()
        if isinstance(node, exp.Column):
            return node.name in self.facts.get(node.table, _NOTHING).doubles
        if isinstance(node, exp.Cast):
            return bool(node.to.this == exp.DType.DOUBLE)
        if isinstance(node, exp.Div | exp.Sqrt | exp.Ln | exp.Avg | exp.StddevSamp | exp.Pow):
            return True
        if isinstance(node, exp.Log | exp.Anonymous):
            return _logarithm_of(node) is not None
        if isinstance(node, exp.Coalesce | exp.Greatest | exp.Least):
            return any(map(self.is_double, [node.this, *node.expressions]))
        if isinstance(node, exp.Add | exp.Sub | exp.Mul):
            return self.is_double(node.this) or self.is_double(node.expression)
        if isinstance(node, exp.Case):
            values = [branch.args["true"] for branch in node.args["ifs"]]
            return any(map(self.is_double, [*values, node.args.get("default") or exp.null()]))
        if isinstance(node, exp.Sum | exp.Max | exp.Min | exp.Neg | exp.Abs | exp.Nullif):
            return self.is_double(node.this)
        return False


def _sees_its_row(window: exp.Window) -> bool:
    """Has the frame of a row the row itself?"""
    spec = window.args.get("spec")
    return spec is None or (spec.args.get("end") == "CURRENT ROW" and not spec.args.get("exclude"))


def _logarithm_of(node: exp.Expr) -> exp.Expr | None:
    """Return x of log2(x); None: it is something else."""
    if isinstance(node, exp.Anonymous) and node.name.lower() == "log2":
        value: exp.Expr = node.expressions[0]
        return value
    return None


def _only_value(value: exp.Expr) -> exp.Expr:
    """Return x of CASE WHEN … THEN x END."""
    inner = value.unnest()
    if not isinstance(inner, exp.Case) or len(inner.args["ifs"]) != 1:
        return value
    if inner.args.get("default") is not None or inner.args.get("this") is not None:
        return value
    true: exp.Expr = inner.args["ifs"][0].args["true"]
    return true


def _within(value: exp.Expr, given: exp.Expr | None) -> exp.Expr:
    """Return x of CASE WHEN given THEN x END."""
    inner = value.unnest()
    if given is None or not isinstance(inner, exp.Case):
        return value
    only = _only_value(inner)
    same = only is not inner and inner.args["ifs"][0].this == given
    return only if same else value
