"""Remove guards that never apply, and replace tests for missing rows with coalesce."""

from __future__ import annotations

from sqlglot import exp

from sqlmetrics.sql import transpile
from sqlmetrics.sql.simplify.facts import AllFacts, Facts, Inside, keys_of
from sqlmetrics.sql.simplify.relations import (
    Relation,
    alias_of,
    columns_in,
    joins_of,
    parts_of,
    relation_name,
    select_around,
    values_of,
)
from sqlmetrics.sql.simplify.statement import Statement
from sqlmetrics.sql.trees import find_all, walk

_SIMPLIFIED = (
    exp.Nullif, exp.Coalesce, exp.Cast, exp.Paren, exp.Mul, exp.Add, exp.EQ, exp.LTE, exp.Is,
    exp.And, exp.Or, exp.Where, exp.Case, exp.Count,
)  # fmt: skip


def drop(relation: Relation, statement: Statement) -> None:
    """Remove guards that never apply, and what is decided by literals."""
    for select in find_all(relation.tree, exp.Select):
        inside: Inside | None = None
        for node in reversed(walk(select, stops=(exp.Select,))):
            if not isinstance(node, _SIMPLIFIED):
                continue
            inside = inside or Inside(select, statement.facts)
            new = _simplified(node, select, inside, statement.facts)
            if new is not node:
                node.replace(in_brackets(new, node.parent))


def in_brackets(value: exp.Expr, parent: exp.Expr | None) -> exp.Expr:
    """Put brackets around a value that needs them inside of its parent."""
    inner = isinstance(value, exp.Binary | exp.Case | exp.Not | exp.Between | exp.In)
    around = isinstance(parent, exp.Binary | exp.Not | exp.Neg | exp.Cast | exp.Between | exp.In)
    return exp.paren(value.copy()) if inner and around else value


def _simplified(node: exp.Expr, select: exp.Select, inside: Inside, facts: AllFacts) -> exp.Expr:
    if isinstance(node, exp.Nullif):
        zero = node.expression == exp.Literal.number(0)
        if not zero or not inside.is_positive(node.this):
            return node
        if isinstance(node.parent, exp.Div):
            transpile.mark_as_safe(node.parent)
        return node.this  # type: ignore[no-any-return]
    if isinstance(node, exp.Coalesce) and inside.is_known(node.this):
        value: exp.Expr = node.this
        return value
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Column | exp.Literal):
        return exp.Count(this=exp.Star()) if inside.is_known(node.this) else node
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.DOUBLE:
        return node.this if inside.is_double(node.this) else node
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.INT:
        return node.this if _is_whole_number(node.this) else node
    if isinstance(node, exp.Paren) and isinstance(node.this, exp.Literal | exp.Column | exp.Func):
        inner: exp.Expr = node.this
        return inner if not isinstance(inner, exp.Case | exp.And | exp.Or) else node
    if isinstance(node, exp.Mul | exp.Add):
        return _folded(node)
    if isinstance(node, exp.EQ | exp.LTE | exp.Is | exp.And | exp.Or):
        return _decided(node)
    if isinstance(node, exp.Where) and node.this == exp.true():
        select.set("where", None)
        return node
    if isinstance(node, exp.Case) and node.args.get("this") is None:
        first, *others = node.args["ifs"]
        true: exp.Expr = first.args["true"]
        if first.this == exp.true():
            return true
        if not others and _is_of_no_rows(first.this, inside):
            default: exp.Expr | None = node.args.get("default")
            if default and inside.is_double(default) and inside.is_whole(true):
                return default  # doubles stay doubles
    if isinstance(node, exp.Case):
        node = _without_first_hit(node, inside)
    if isinstance(node, exp.Case):
        return _default_of_missing(node, select, facts)
    return node


def _is_of_no_rows(condition: exp.Expr, inside: Inside) -> bool:
    """Is it `count(*) = 0`, which no group meets?"""
    return (
        inside.has_groups
        and isinstance(condition, exp.EQ)
        and isinstance(condition.this, exp.Count)
        and condition.expression == exp.Literal.number(0)
        and inside.is_positive(condition.this)
    )


def _folded(node: exp.Binary) -> exp.Expr:
    """Compute a sum or product of whole numbers, and omit a factor of 1."""
    left, right = node.this.unnest(), node.expression.unnest()
    if isinstance(node, exp.Mul):
        for factor, other in ((left, node.expression), (right, node.this)):
            if factor == exp.Literal.number(1):
                return other  # type: ignore[no-any-return]
    if _is_whole_number(left) and _is_whole_number(right):
        a, b = int(left.name), int(right.name)
        return exp.Literal.number(a * b if isinstance(node, exp.Mul) else a + b)
    return node


def _decided(node: exp.Binary) -> exp.Expr:
    """Decide comparisons of two literals, and drop the decided sides of AND and OR."""
    left, right = node.this, node.expression
    if isinstance(node, exp.And | exp.Or):
        neutral = exp.true() if isinstance(node, exp.And) else exp.false()
        for side, other in ((left, right), (right, left)):
            if side.unnest() == neutral:
                return other  # type: ignore[no-any-return]
        return node
    if isinstance(node, exp.Is):
        is_null = isinstance(right, exp.Null) and isinstance(left, exp.Literal)
        return exp.false() if is_null else node
    if isinstance(node, exp.EQ) and isinstance(left, exp.Literal) and left == right:
        return exp.true()
    if _is_whole_number(left) and _is_whole_number(right):
        a, b = int(left.name), int(right.name)
        return exp.true() if (a == b if isinstance(node, exp.EQ) else a <= b) else exp.false()
    return node


def _is_whole_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()


def _without_first_hit(case: exp.Case, inside: Inside) -> exp.Expr:
    """Simplify CASE WHEN min(rank) <= k THEN value ELSE default END.

    Its value sees only rows with rank <= k. Where it is the default without such rows anyway, the
    guard goes; where it is NULL then and a number otherwise, the default is given by coalesce.
    """
    if len(case.args["ifs"]) != 1 or case.args.get("this") is not None:
        return case
    condition, value = case.args["ifs"][0].this, case.args["ifs"][0].args["true"]
    if not isinstance(condition, exp.LTE) or not isinstance(condition.this, exp.Min):
        return case
    given = exp.LTE(this=condition.this.this.copy(), expression=condition.expression.copy())
    default = case.args.get("default") or exp.null()
    empty = of_no_rows(value, given)
    if empty == default:
        return value  # type: ignore[no-any-return]
    if isinstance(empty, exp.Null) and inside.where(given).is_known(value):
        return exp.Coalesce(this=value, expressions=[default])
    return case


def of_no_rows(value: exp.Expr, given: exp.Expr | None = None) -> exp.Expr | None:
    """Compute a value of aggregates that see no row; None: the value is not known.

    `given`: the condition that no row meets; without it there are no rows at all.
    """
    value = value.unnest()
    if isinstance(value, exp.Literal | exp.Null):
        return value
    if isinstance(value, exp.Count):
        return exp.Literal.number(0) if _is_within(value.this, given) else None
    if isinstance(value, exp.AggFunc):
        return exp.null() if _is_within(value.this, given) else None
    if isinstance(value, exp.Div | exp.Mul | exp.Add | exp.Sub):
        return _of_sides(value, of_no_rows(value.this, given), of_no_rows(value.expression, given))
    if isinstance(value, exp.Coalesce):
        for part in (value.this, *value.expressions):
            first = of_no_rows(part, given)
            if not isinstance(first, exp.Null):
                break
        return first
    if isinstance(value, exp.Nullif):
        first, second = of_no_rows(value.this, given), of_no_rows(value.expression, given)
        if isinstance(first, exp.Null) or first is None or second is None:
            return first
        return exp.null() if first == second else first
    if isinstance(value, exp.Cast | exp.Sqrt):
        return of_no_rows(value.this, given)
    if isinstance(value, exp.Case) and value.args.get("this") is None:
        return _of_case(value, given)
    return None


def _of_case(case: exp.Case, given: exp.Expr | None) -> exp.Expr | None:
    """Compute CASE WHEN condition THEN value ELSE default END of no rows, if no row means no."""
    (first, *others), default = case.args["ifs"], case.args.get("default") or exp.null()
    is_default = not others and any(_is_unmet(part, given) for part in parts_of(first.this))
    return of_no_rows(default, given) if is_default else None


def _is_unmet(condition: exp.Expr, given: exp.Expr | None) -> bool:
    """Does `count(*) > 1` or `sum(x) > 0` fail because there are no rows?"""
    if not isinstance(condition, exp.GT) or not _is_whole_number(condition.expression):
        return False
    return of_no_rows(condition.this, given) in (exp.null(), exp.Literal.number(0))


def _of_sides(value: exp.Binary, left: exp.Expr | None, right: exp.Expr | None) -> exp.Expr | None:
    zero = exp.Literal.number(0)
    if isinstance(left, exp.Null) or isinstance(right, exp.Null):
        return exp.null()
    if isinstance(value, exp.Mul):
        return zero if zero in (left, right) and None not in (left, right) else None
    is_known = isinstance(right, exp.Literal)
    nonzero = right != zero and (is_known or transpile.is_safe(value))
    return zero if isinstance(value, exp.Div) and left == zero and nonzero else None


def _is_within(argument: exp.Expr | None, given: exp.Expr | None) -> bool:
    """Does an aggregate see only rows that meet a condition?"""
    if given is None:
        return True
    case = argument.unnest() if argument is not None else None
    if isinstance(case, exp.Distinct):
        case = case.expressions[0]
    return (
        isinstance(case, exp.Case)
        and case.args.get("default") is None
        and len(case.args["ifs"]) == 1
        and (case.args["ifs"][0].this == given or given in parts_of(case.args["ifs"][0].this))
    )


def _default_of_missing(case: exp.Case, select: exp.Select, facts: AllFacts) -> exp.Expr:
    """Simplify CASE WHEN t.key IS NULL THEN default ELSE t.value END of a LEFT JOIN."""
    value = case.args.get("default")
    if len(case.args["ifs"]) != 1 or case.args.get("this") or not isinstance(value, exp.Column):
        return case
    condition, default = case.args["ifs"][0].this, case.args["ifs"][0].args["true"]
    is_missing = isinstance(condition, exp.Is) and isinstance(condition.expression, exp.Null)
    key = condition.this if is_missing else None
    if not isinstance(key, exp.Column) or key.table != value.table:
        return case
    for join in joins_of(select):
        is_looked_up = alias_of(join.this) == value.table and join.side == "LEFT"
        known = facts.get(relation_name(join.this), Facts()).known
        is_key = key.name in keys_of(join) or key.name in known
        if is_looked_up and is_key and value.name in known:
            return exp.Coalesce(this=value, expressions=[default])
    return case


def drop_inner_defaults(statement: Statement) -> None:
    """Drop coalesce(x, 0) of a column that every reader wraps in coalesce(column, 0) itself."""
    readers = statement.readers()
    for relation in statement.relations[:-1]:
        values = {} if relation.select is None else values_of(relation.select)
        defaults = {
            name: value
            for name, value in values.items()
            if isinstance(value, exp.Coalesce) and len(value.expressions) == 1
        }
        reads: dict[str, list[exp.Column]] = {name: [] for name in defaults}
        for _, table in readers[relation.name] if defaults else []:
            for column in columns_in(select_around(table)):
                if column.name in reads and column.table in (alias_of(table), ""):
                    reads[column.name].append(column)
        for name, value in defaults.items():
            if reads[name] and all(
                isinstance(column.parent, exp.Coalesce)
                and column.parent.this is column
                and column.parent.expressions == value.expressions
                for column in reads[name]
            ):
                value.replace(value.this)
