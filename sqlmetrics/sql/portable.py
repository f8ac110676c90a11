"""The portable part of DuckDB's SQL: rules for constructs that differ between dialects.

Other engines reject most of the constructs that the rules forbid, and silently compute other values
for the rest. Constructs outside the lists in `allowed.py` also break a rule. No rules are needed
for constructs that the compiler rewrites: CTEs that count (`counted`), decimal literals, division
by 0, 128-bit integers, log2, FILTER on an aggregate, median and quantiles as aggregates, least and
greatest with NULL, COLLATE "C". The compiler also rejects recursion for dialects that lack it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from sqlmetrics.sql.allowed import AGGREGATES, QUERIES, RANKING, ROUNDED, TYPES_OF_QUERIES

_SHORT = 60  # maximum number of characters of SQL in a message

_FRACTIONAL = (exp.Div, exp.Sqrt, exp.Ln, exp.Log, exp.Exp, exp.Avg, exp.Stddev, exp.StddevSamp)
_NAMED_FUNCTIONS = {"log2"}  # functions for which the parser has no class
_WHOLE = {exp.DType.BIGINT, exp.DType.INT, exp.DType.INT128}
# columns of stages that hold fractions; the types of other columns are unknown here
FRACTIONS = {
    "group_target", "price", "predicted", "propensity", "relevance", "reward", "score", "value",
    "weight",
}  # fmt: skip
_PARTS_OF_DATES = {"YEAR", "MONTH", "DAY"}


@dataclass(frozen=True)
class Problem:
    """A construct that is not portable: its rule, the SQL, the reason and an alternative."""

    rule: str
    found: str
    why: str
    instead: str


@dataclass(frozen=True)
class Rule:
    """A forbidden construct: nodes of these kinds for which `test` is true."""

    name: str
    kinds: tuple[type[exp.Expr], ...]
    why: str
    instead: str
    test: Callable[[Any], bool] = lambda _: True


def problems(tree: exp.Expr) -> list[Problem]:
    """Find the constructs of a parsed query that are not portable, each with its first rule."""
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
    """Return the column of a CTE that counts and its last number; None for other CTEs.

    Such a CTE is exactly `SELECT unnest(generate_series(1, n)) AS rank`.
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
    """Return whether a node is the function of a CTE that counts."""
    is_function = isinstance(node, exp.Explode | exp.GenerateSeries)
    return is_function and counted(node.find_ancestor(exp.CTE)) is not None


# ---- tests of nodes


def _called(*names: str, starts: tuple[str, ...] = ()) -> Callable[[exp.Expr], bool]:
    """Return a test for functions with one of these names or prefixes."""

    def test(node: exp.Expr) -> bool:
        name = node.name if isinstance(node, exp.Anonymous) else type(node).__name__
        return name.lower() in names or name.lower().startswith(starts)

    return test


def _is_week_of_date(node: exp.Expr) -> bool:
    """Return whether a call is date_trunc('week', CAST(… AS DATE)), a Monday in all engines."""
    return (
        isinstance(node, exp.DateTrunc)
        and node.args["unit"].name.upper() == "WEEK"
        and isinstance(node.this, exp.Cast)
        and node.this.is_type("date")
    )


def _is_difference_of_times(node: exp.Expr) -> bool:
    """Return whether a call is date_diff('millisecond', CAST(… AS TIMESTAMP), CAST(…)).

    Milliseconds are the smallest unit that all engines know.
    """
    return (
        isinstance(node, exp.DateDiff)
        and node.args["unit"].name.upper() == "MILLISECOND"
        and all(
            isinstance(time, exp.Cast) and time.is_type("timestamp", "timestampntz")
            for time in (node.this, node.expression)
        )
    )


def _is_number(node: Any) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


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
    if cast.to.this not in _WHOLE or isinstance(cast.this.unnest(), ROUNDED):
        return False

    def is_settled(node: exp.Expr) -> bool:  # an integer, whatever the argument
        return isinstance(node, (*ROUNDED, exp.Count, exp.StrPosition, exp.Length, *RANKING))

    for node in cast.this.walk(prune=is_settled):
        if isinstance(node, _FRACTIONAL) or (isinstance(node, exp.Cast) and _is_double(node)):
            return True
        if isinstance(node, exp.Literal) and _is_number(node) and not node.name.isdigit():
            return True
        if isinstance(node, exp.Column) and node.name.lower() in FRACTIONS:
            return True
    return False


def _is_double(cast: exp.Cast) -> bool:
    return cast.to.this in (exp.DType.DOUBLE, exp.DType.FLOAT)


def _without_frame(window: exp.Window) -> bool:
    ordered = window.args.get("order") is not None and window.args.get("spec") is None
    return ordered and isinstance(window.this, AGGREGATES)


def _is_shared_name(column: exp.Column) -> bool:
    """Return whether GROUP BY or HAVING uses a name of both a column and a SELECT expression."""
    clause = column.find_ancestor(exp.Group, exp.Having, exp.Select)
    if column.table or isinstance(clause, exp.Select) or clause is None:
        return False
    select = clause.parent
    return isinstance(select, exp.Select) and any(
        isinstance(term, exp.Alias) and term.alias == column.name and term.this.name != column.name
        for term in select.expressions
    )


# ---- the rules; messages name the first one that matches

RULES: tuple[Rule, ...] = (
    Rule(
        "rows as a list", (exp.ArrayAgg, exp.GroupConcat),
        "Spark silently ignores its ORDER BY",
        "keep one row per value, and join or aggregate these rows",
    ),
    Rule(
        "list, struct or map",
        (exp.Array, exp.Bracket, exp.Lambda, exp.Slice, exp.Struct, exp.ToMap),
        "indexes start at 0 or 1, and some length functions accept only text",
        "use one row per entry and one column per part",
    ),
    Rule(
        "function of lists", (exp.Func,),
        "indexes start at 0 or 1, and some length functions accept only text",
        "use one row per entry and aggregates",
        lambda node: not isinstance(node, exp.Explode | exp.GenerateSeries)
        and _called("transform", starts=("array", "list_", "map", "struct"))(node),
    ),
    Rule(
        "rows from a function",
        (exp.Explode, exp.GenerateSeries, exp.Lateral, exp.TableFromRows, exp.Unnest),
        "positions start at 0 in some engines, and others lack the function",
        "use a table; for numbers, a CTE: SELECT unnest(generate_series(1, n)) AS n",
    ),
    Rule(
        "rows from a function", (exp.Table,),
        "other engines lack the function",
        "use a table or a view",
        lambda table: not isinstance(table.this, exp.Identifier | exp.Var),
    ),
    Rule(
        "arg_max", (exp.ArgMax, exp.ArgMin),
        "engines choose different rows among equal values",
        "use row_number() OVER (… ORDER BY …) with a unique order, and WHERE … = 1 around it",
    ),
    Rule(
        "hash or random number", (exp.Func,),
        "engines compute different numbers",
        "use the md5 of a text, as in the macro shuffled_by",
        _called("hash", "rand", "randn", "random", "uuid", "setseed", starts=("gen_random",)),
    ),
    Rule(
        "any value", (exp.AnyValue, exp.First, exp.IgnoreNulls, exp.Last, exp.RespectNulls),
        "engines choose different rows",
        "use min() or max()",
    ),
    Rule(
        "GROUP BY without names", (exp.Group,),
        "some engines treat a number as a constant, and most lack GROUP BY ALL",
        "write the names of the columns",
        lambda group: bool(group.args.get("all")) or any(map(_is_number, group.expressions)),
    ),
    Rule(
        "ORDER BY without names", (exp.Ordered,),
        "in a window, a number is a constant, which orders nothing",
        "write the names of the columns",
        lambda ordered: _is_number(ordered.this) or isinstance(ordered.this, exp.Var),
    ),
    Rule(
        "GROUP BY a name with two meanings", (exp.Column,),
        "some engines use the column, others the expression of the SELECT with this name",
        "rename the expression, or qualify the column with its table",
        _is_shared_name,
    ),
    Rule(
        "USING or NATURAL", (exp.Join,),
        "in chains of joins, engines disagree on the table of a column",
        "use ON with both columns",
        lambda join: bool(join.args.get("using")) or join.method == "NATURAL",
    ),
    Rule(
        "SEMI or ANTI join", (exp.Join,),
        "most engines lack it",
        "use WHERE EXISTS (…) or WHERE NOT EXISTS (…)",
        lambda join: join.kind in ("SEMI", "ANTI") or join.side in ("SEMI", "ANTI"),
    ),
    Rule(
        "POSITIONAL or ASOF join", (exp.Join,),
        "most engines lack it",
        "use row_number() and a join on it",
        lambda join: join.method in ("POSITIONAL", "ASOF"),
    ),
    Rule(
        "join without an equality", (exp.Join,),
        "ClickHouse rejects it",
        "use CROSS JOIN and WHERE",
        _without_equality,
    ),
    Rule(
        "QUALIFY", (exp.Qualify,),
        "half of the engines lack it",
        "use an outer query with WHERE",
    ),
    Rule(
        "DISTINCT ON", (exp.Distinct,),
        "most engines lack it",
        "use row_number() OVER (…), and WHERE … = 1 around it",
        lambda distinct: distinct.args.get("on") is not None,
    ),
    Rule(
        "DISTINCT of several columns", (exp.Distinct,),
        "some engines count rows with a NULL, others do not",
        "use count(*) of a SELECT DISTINCT",
        _several_distinct,
    ),
    Rule(
        "PIVOT or UNPIVOT", (exp.Pivot,),
        "engines have different syntax",
        "use CASE in aggregates, or UNION ALL",
    ),
    Rule(
        "quantile", (exp.ApproxDistinct, exp.ApproxQuantile, exp.Mode, exp.Quantile,
                     exp.WithinGroup),
        "it is an approximation in some engines",
        "use median, quantile_cont or quantile_disc, or the macro aggregated",
    ),
    Rule(
        "whole division", (exp.IntDiv,),
        "engines round negative numbers differently",
        "use floor(a / b)",
    ),
    Rule(
        "logarithm", (exp.Log,),
        "log(x) has base 10 in some engines, base e in others",
        "use ln(x) or log2(x)",
        lambda log: log.expression is None or log.this.name != "2",
    ),
    Rule(
        "round to digits", (exp.Round,),
        "Postgres supports only decimals",
        "use round(x * 1e6) / 1e6",
        lambda rounded: rounded.args.get("decimals") is not None,
    ),
    Rule(
        "FILTER on a window", (exp.Window,),
        "Trino and Redshift lack it",
        "use CASE inside the aggregate",
        lambda window: isinstance(window.this, exp.Filter),
    ),
    Rule(
        "DISTINCT or quantile in a window", (exp.Window,),
        "Spark and Postgres lack it",
        "aggregate in a separate query and join it",
        lambda window: window.this.find(exp.Distinct) is not None
        or isinstance(window.this, exp.Median | exp.PercentileCont | exp.PercentileDisc),
    ),
    Rule(
        "named window", (exp.Window,),
        "Redshift and Snowflake lack it",
        "write the window where it is used",
        lambda window: bool(window.alias) or isinstance(window.this, exp.Identifier),
    ),
    Rule(
        "window without a frame", (exp.Window,),
        "Redshift rejects it, and rows with equal order share a sum",
        "use ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW after a unique ORDER BY",
        _without_frame,
    ),
    Rule(
        "frame by groups", (exp.WindowSpec,),
        "most engines lack it",
        "use ROWS or RANGE",
        lambda spec: str(spec.args.get("kind")).upper() == "GROUPS"
        or bool(spec.args.get("exclude")),
    ),
    Rule(
        "RANGE without count", (exp.Window,),
        "Redshift supports only frames of rows",
        "count rows with equal values by count(*) OVER (PARTITION BY …, value ORDER BY …)",
        lambda window: not isinstance(window.this, exp.Count)
        and window.args.get("spec") is not None
        and str(window.args["spec"].args.get("kind")).upper() == "RANGE",
    ),
    Rule(
        "numbering without an order", (exp.Window,),
        "the order of rows is arbitrary, and some engines reject it",
        "add an ORDER BY",
        lambda window: isinstance(window.this, RANKING) and window.args.get("order") is None,
    ),
    Rule(
        "test for NaN", (exp.IsInf, exp.IsNan),
        "half of the engines lack it, and NaN equals itself in some",
        "use NOT (x - x = 0), as in the macro is_no_number",
    ),
    Rule(
        "test for NaN", (exp.Anonymous,),
        "half of the engines lack it, and NaN equals itself in some",
        "use x - x = 0",
        _called("isfinite"),
    ),
    Rule(
        "part of a time", (exp.Extract,),
        "weeks start on different days",
        "use YEAR, MONTH or DAY",
        lambda extract: extract.this.name.upper() not in _PARTS_OF_DATES,
    ),
    Rule(
        "function of time", (exp.Func,),
        "engines have different functions, and some use the time zone of the session",
        "use EXTRACT(YEAR FROM …), EXTRACT(MONTH FROM …), date_trunc('week', CAST(… AS DATE)), "
        "date_diff('millisecond', CAST(… AS TIMESTAMP), CAST(… AS TIMESTAMP))",
        lambda node: not (_is_week_of_date(node) or _is_difference_of_times(node)) and _called(
            "now", "strftime", "strptime", "make_timestamp", "today", "year", "month", "day",
            starts=("date", "time", "epoch", "unix", "current", "week", "dayof", "ts"),
        )(node),
    ),
    Rule(
        "fraction as a whole number", (exp.Cast,),
        "2.7 becomes 3 in some engines, 2 in others",
        "use CAST(floor(x) AS BIGINT), or round(x)",
        _may_be_fraction,
    ),
    Rule(
        "TRY_CAST", (exp.TryCast,),
        "most engines lack it",
        "use CAST on values that can be cast",
    ),
    Rule(
        "type", (exp.DataType,),
        "some engines lack it",
        "use INTEGER, BIGINT, HUGEINT, DOUBLE, VARCHAR, BOOLEAN, DATE or TIMESTAMP",
        lambda kind: kind.this not in TYPES_OF_QUERIES,
    ),
    Rule(
        "SELECT *", (exp.Star,),
        "the set and order of columns depend on the engine",
        "write the names of the columns",
        lambda star: not isinstance(star.parent, exp.Count),
    ),
    Rule(
        "query without a name", (exp.Subquery,),
        "Postgres rejects it in FROM",
        "add AS and a name, or use a CTE",
        lambda query: isinstance(query.parent, exp.From | exp.Join) and not query.alias,
    ),
    Rule(
        "columns by name", (exp.SetOperation,),
        "most engines match columns by position",
        "use UNION ALL of the same columns in the same order",
        lambda query: bool(query.args.get("by_name")),
    ),
    Rule(
        "unknown function", (exp.Func,),
        "its meaning in other engines is not verified",
        "use only constructs of the built-in templates",
        lambda node: type(node) not in QUERIES
        and not (isinstance(node, exp.Anonymous) and node.name.lower() in _NAMED_FUNCTIONS),
    ),
    Rule(
        "unknown construct", (exp.Expr,),
        "its meaning in other engines is not verified",
        "use only constructs of the built-in templates",
        lambda node: type(node) not in QUERIES and not isinstance(node, exp.Anonymous),
    ),
)  # fmt: skip
