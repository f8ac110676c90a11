"""The part of DuckDB's SQL that means the same in every dialect: rules, and what breaks them.

Other engines refuse most of what the rules name; the rest they take, and compute something else.
Everything that is not in the lists of `allowed.py` breaks a rule too. No rules are needed for what
the compiler mends: CTEs that count (`counted`), decimal literals, division by 0, integers of 128
bits, log2, FILTER on an aggregate, the median and quantiles as aggregates, least and greatest of
NULL, COLLATE "C". It also refuses recursion, for the dialects that lack it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from sqlmetrics.sql.allowed import AGGREGATES, QUERIES, RANKING, ROUNDED, TYPES_OF_QUERIES

_SHORT = 60  # characters of SQL in a message

_FRACTIONAL = (exp.Div, exp.Sqrt, exp.Ln, exp.Log, exp.Exp, exp.Avg, exp.Stddev, exp.StddevSamp)
_NAMED_FUNCTIONS = {"log2"}  # that the parser has no class for
_WHOLE = {exp.DType.BIGINT, exp.DType.INT, exp.DType.INT128}
# columns of the stages that hold fractions; the types of others are not known here
_FRACTIONS = {"price", "predicted", "propensity", "relevance", "reward", "score", "value", "weight"}
_PARTS_OF_DATES = {"YEAR", "MONTH", "DAY"}


@dataclass(frozen=True)
class Problem:
    """A construct that is not portable: its rule, the SQL, why, and what to write instead."""

    rule: str
    found: str
    why: str
    instead: str


@dataclass(frozen=True)
class Rule:
    """A construct to keep out: nodes of these kinds for which `test` holds."""

    name: str
    kinds: tuple[type[exp.Expr], ...]
    why: str
    instead: str
    test: Callable[[Any], bool] = lambda _: True


def problems(tree: exp.Expr) -> list[Problem]:
    """Find the constructs of a parsed query that are not portable, with the first broken rule."""
    breaches: list[Problem] = []

    def broken(node: exp.Expr) -> bool:
        if _counts(node):
            return False
        for rule in RULES:
            if isinstance(node, rule.kinds) and rule.test(node):
                shown = node.sql("duckdb", comments=False, unsupported_level=ErrorLevel.IGNORE)
                text = " ".join(shown.split())
                text = text if len(text) <= _SHORT else f"{text[: _SHORT - 2]} …"
                breaches.append(Problem(rule.name, text, rule.why, rule.instead))
                return True
        return False

    for _ in tree.walk(prune=broken):
        pass
    return breaches


def counted(cte: exp.Expr | None) -> tuple[str, exp.Expr] | None:
    """Find what a CTE counts: the column, and the last of its numbers; None if it does not count.

    It is `SELECT unnest(generate_series(1, n)) AS rank`, without anything else.
    """
    select = cte.this if isinstance(cte, exp.CTE) else None
    if not isinstance(select, exp.Select) or select.args.get("from_") is not None:
        return None
    column = select.expressions[0] if len(select.expressions) == 1 else None
    rows = column.this if isinstance(column, exp.Alias) else None
    series = rows.this if isinstance(rows, exp.Explode) else None
    if column is None or not isinstance(series, exp.GenerateSeries):
        return None
    more = [value for name, value in series.args.items() if name not in ("start", "end") and value]
    if more or series.args["start"] != exp.Literal.number(1):
        return None
    return column.alias, series.args["end"]


def _counts(node: exp.Expr) -> bool:
    """Is it the function of a CTE that counts?"""
    is_function = isinstance(node, exp.Explode | exp.GenerateSeries)
    return is_function and counted(node.find_ancestor(exp.CTE)) is not None


# ---- tests of nodes


def _called(*names: str, starts: tuple[str, ...] = ()) -> Callable[[exp.Expr], bool]:
    """Test whether a function has one of these names, or one that starts so."""

    def test(node: exp.Expr) -> bool:
        name = node.name if isinstance(node, exp.Anonymous) else type(node).__name__
        return name.lower() in names or name.lower().startswith(starts)

    return test


def _is_number(node: Any) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _by_number(group: exp.Group) -> bool:
    return bool(group.args.get("all")) or any(map(_is_number, group.expressions))


def _ordered_by_number(ordered: exp.Ordered) -> bool:
    return _is_number(ordered.this) or isinstance(ordered.this, exp.Var)


def _without_equality(join: exp.Join) -> bool:
    condition = join.args.get("on")
    if condition is None:
        return False
    whole = condition.unnest()
    parts = whole.flatten() if isinstance(whole, exp.And) else [whole]
    return not any(isinstance(part.unnest(), exp.EQ) for part in parts)


def _several_distinct(distinct: exp.Distinct) -> bool:
    listed = distinct.expressions
    in_call = isinstance(distinct.parent, exp.Func)
    return in_call and (len(listed) > 1 or isinstance(listed[0], exp.Tuple))


def _may_be_fraction(cast: exp.Cast) -> bool:
    """Is it a number to be cut, as far as the query tells?"""
    if cast.to.this not in _WHOLE or isinstance(cast.this.unnest(), ROUNDED):
        return False

    def is_settled(node: exp.Expr) -> bool:  # a whole number, whatever is inside
        return isinstance(node, (*ROUNDED, exp.Count, exp.StrPosition, exp.Length, *RANKING))

    for node in cast.this.walk(prune=is_settled):
        if isinstance(node, _FRACTIONAL) or (isinstance(node, exp.Cast) and _is_double(node)):
            return True
        if isinstance(node, exp.Literal) and _is_number(node) and not node.name.isdigit():
            return True
        if isinstance(node, exp.Column) and node.name.lower() in _FRACTIONS:
            return True
    return False


def _is_double(cast: exp.Cast) -> bool:
    return cast.to.this in (exp.DType.DOUBLE, exp.DType.FLOAT)


def _without_frame(window: exp.Window) -> bool:
    ordered = window.args.get("order") is not None and window.args.get("spec") is None
    return ordered and isinstance(window.this, AGGREGATES)


def _by_groups(spec: exp.WindowSpec) -> bool:
    return str(spec.args.get("kind")).upper() == "GROUPS" or bool(spec.args.get("exclude"))


def _is_all_columns(star: exp.Star) -> bool:
    return not isinstance(star.parent, exp.Count)


def _is_shared_name(column: exp.Column) -> bool:
    """Does GROUP BY or HAVING name what the SELECT computes under the name of a column?"""
    clause = column.find_ancestor(exp.Group, exp.Having, exp.Select)
    if column.table or isinstance(clause, exp.Select) or clause is None:
        return False
    select = clause.parent
    return isinstance(select, exp.Select) and any(
        isinstance(term, exp.Alias) and term.alias == column.name and term.this.name != column.name
        for term in select.expressions
    )


# ---- the rules; the first that fits is the one that is named

RULES: tuple[Rule, ...] = (
    Rule(
        "rows as a list", (exp.ArrayAgg, exp.GroupConcat),
        "Spark drops the order inside of it without a word",
        "keep one row per value, and join or aggregate those",
    ),
    Rule(
        "list, struct or map",
        (exp.Array, exp.Bracket, exp.Lambda, exp.Slice, exp.Struct, exp.ToMap),
        "indexes start at 0 or 1, and lengths are those of texts in some engines",
        "one row per entry, one column per part",
    ),
    Rule(
        "function of lists", (exp.Func,),
        "indexes start at 0 or 1, and lengths are those of texts in some engines",
        "one row per entry, and aggregates",
        lambda node: not isinstance(node, exp.Explode | exp.GenerateSeries)
        and _called("transform", starts=("array", "list_", "map", "struct"))(node),
    ),
    Rule(
        "rows from a function",
        (exp.Explode, exp.GenerateSeries, exp.Lateral, exp.TableFromRows, exp.Unnest),
        "places start at 0 in some engines, and others have no such function",
        "a table with these rows; for numbers, a CTE: SELECT unnest(generate_series(1, n)) AS n",
    ),
    Rule(
        "rows from a function", (exp.Table,),
        "others have no such function",
        "a table or a view",
        lambda table: not isinstance(table.this, exp.Identifier | exp.Var),
    ),
    Rule(
        "arg_max", (exp.ArgMax, exp.ArgMin),
        "of equal values, every engine takes another",
        "row_number() OVER (… ORDER BY …) with all that decides, and WHERE … = 1 around it",
    ),
    Rule(
        "hash or random number", (exp.Func,),
        "every engine computes another number",
        "md5 of a text, as the macro shuffled_by writes it",
        _called("hash", "rand", "randn", "random", "uuid", "setseed", starts=("gen_random",)),
    ),
    Rule(
        "any value", (exp.AnyValue, exp.First, exp.IgnoreNulls, exp.Last, exp.RespectNulls),
        "every engine takes another row",
        "min() or max()",
    ),
    Rule(
        "GROUP BY without names", (exp.Group,),
        "some engines take a number as a constant, and GROUP BY ALL is unknown to most",
        "the names of the columns",
        _by_number,
    ),
    Rule(
        "ORDER BY without names", (exp.Ordered,),
        "in a window a number is a constant, which orders nothing",
        "the names of the columns",
        _ordered_by_number,
    ),
    Rule(
        "GROUP BY a name with two meanings", (exp.Column,),
        "some engines take the column, others what the SELECT computes under its name",
        "another name for what is computed, or the column with its table",
        _is_shared_name,
    ),
    Rule(
        "USING or NATURAL", (exp.Join,),
        "in chains of joins, engines disagree on which table a column is of",
        "ON with both columns",
        lambda join: bool(join.args.get("using")) or join.method == "NATURAL",
    ),
    Rule(
        "SEMI or ANTI join", (exp.Join,),
        "most engines have none",
        "WHERE EXISTS (…) or WHERE NOT EXISTS (…)",
        lambda join: join.kind in ("SEMI", "ANTI") or join.side in ("SEMI", "ANTI"),
    ),
    Rule(
        "POSITIONAL or ASOF join", (exp.Join,),
        "most engines have none",
        "row_number() and a join on it",
        lambda join: join.method in ("POSITIONAL", "ASOF"),
    ),
    Rule(
        "join without an equality", (exp.Join,),
        "ClickHouse refuses it",
        "CROSS JOIN and WHERE",
        _without_equality,
    ),
    Rule(
        "QUALIFY", (exp.Qualify,),
        "half of the engines have none",
        "a query around it with WHERE",
    ),
    Rule(
        "DISTINCT ON", (exp.Distinct,),
        "most engines have none",
        "row_number() OVER (…), and WHERE … = 1 around it",
        lambda distinct: distinct.args.get("on") is not None,
    ),
    Rule(
        "DISTINCT of several columns", (exp.Distinct,),
        "some engines count rows with a NULL, others do not",
        "count(*) of a SELECT DISTINCT",
        _several_distinct,
    ),
    Rule(
        "PIVOT or UNPIVOT", (exp.Pivot,),
        "every engine has its own",
        "CASE in aggregates, or UNION ALL",
    ),
    Rule(
        "quantile", (exp.ApproxDistinct, exp.ApproxQuantile, exp.Mode, exp.Quantile,
                     exp.WithinGroup),
        "what it stands for is an estimate in some engines",
        "median, quantile_cont or quantile_disc, or the macro aggregated",
    ),
    Rule(
        "whole division", (exp.IntDiv,),
        "of negative numbers, engines round differently",
        "floor(a / b)",
    ),
    Rule(
        "logarithm", (exp.Log,),
        "log(x) is to base 10 in some engines, to base e in others",
        "ln(x) or log2(x)",
        lambda log: log.expression is None or log.this.name != "2",
    ),
    Rule(
        "round to digits", (exp.Round,),
        "Postgres has it for decimals only",
        "round(x * 1e6) / 1e6",
        lambda rounded: rounded.args.get("decimals") is not None,
    ),
    Rule(
        "FILTER on a window", (exp.Window,),
        "Trino and Redshift have none",
        "CASE inside of the aggregate",
        lambda window: isinstance(window.this, exp.Filter),
    ),
    Rule(
        "DISTINCT or quantile in a window", (exp.Window,),
        "Spark and Postgres have none",
        "the aggregate in a query of its own, and a join",
        lambda window: window.this.find(exp.Distinct) is not None
        or isinstance(window.this, exp.Median | exp.PercentileCont | exp.PercentileDisc),
    ),
    Rule(
        "named window", (exp.Window,),
        "Redshift and Snowflake have none",
        "the window where it is used",
        lambda window: bool(window.alias) or isinstance(window.this, exp.Identifier),
    ),
    Rule(
        "window without a frame", (exp.Window,),
        "Redshift refuses it, and rows that are equal share a sum",
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW, after an ORDER BY without equal rows",
        _without_frame,
    ),
    Rule(
        "frame by groups", (exp.WindowSpec,),
        "most engines have none",
        "ROWS or RANGE",
        _by_groups,
    ),
    Rule(
        "numbering without an order", (exp.Window,),
        "rows come in any order, and some engines refuse it",
        "ORDER BY what decides",
        lambda window: isinstance(window.this, RANKING) and window.args.get("order") is None,
    ),
    Rule(
        "test for NaN", (exp.IsInf, exp.IsNan),
        "half of the engines have none, and NaN equals itself in some",
        "NOT (x - x = 0), as the macro is_no_number writes it",
    ),
    Rule(
        "test for NaN", (exp.Anonymous,),
        "half of the engines have none, and NaN equals itself in some",
        "x - x = 0",
        _called("isfinite"),
    ),
    Rule(
        "part of a time", (exp.Extract,),
        "weeks and weekdays start on different days",
        "YEAR, MONTH or DAY",
        lambda extract: extract.this.name.upper() not in _PARTS_OF_DATES,
    ),
    Rule(
        "function of time", (exp.Func,),
        "every engine has its own, and some work in the time zone of the session",
        "EXTRACT(YEAR FROM …), EXTRACT(MONTH FROM …)",
        _called(
            "now", "strftime", "strptime", "make_timestamp", "today", "year", "month", "day",
            starts=("date", "time", "epoch", "unix", "current", "week", "dayof", "ts"),
        ),
    ),
    Rule(
        "fraction as a whole number", (exp.Cast,),
        "2.7 becomes 3 in some engines, 2 in others",
        "CAST(floor(x) AS BIGINT), or round(x)",
        _may_be_fraction,
    ),
    Rule(
        "TRY_CAST", (exp.TryCast,),
        "most engines have none",
        "CAST, of what can be cast",
    ),
    Rule(
        "type", (exp.DataType,),
        "not every engine has it",
        "INTEGER, BIGINT, HUGEINT, DOUBLE, VARCHAR, BOOLEAN, DATE or TIMESTAMP",
        lambda kind: kind.this not in TYPES_OF_QUERIES,
    ),
    Rule(
        "SELECT *", (exp.Star,),
        "which columns there are, and in which order, is left to the engine",
        "the names of the columns",
        _is_all_columns,
    ),
    Rule(
        "query without a name", (exp.Subquery,),
        "Postgres refuses it in FROM",
        "AS and a name after it, or a CTE",
        lambda query: isinstance(query.parent, exp.From | exp.Join) and not query.alias,
    ),
    Rule(
        "columns by name", (exp.SetOperation,),
        "most engines match columns by their places",
        "UNION ALL of the same columns in the same order",
        lambda query: bool(query.args.get("by_name")),
    ),
    Rule(
        "unknown function", (exp.Func,),
        "it is not known to mean the same everywhere",
        "what the templates of the package use",
        lambda node: type(node) not in QUERIES
        and not (isinstance(node, exp.Anonymous) and node.name.lower() in _NAMED_FUNCTIONS),
    ),
    Rule(
        "unknown construct", (exp.Expr,),
        "it is not known to mean the same everywhere",
        "what the templates of the package use",
        lambda node: type(node) not in QUERIES and not isinstance(node, exp.Anonymous),
    ),
)  # fmt: skip
