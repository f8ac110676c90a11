"""Print queries for other engines and warehouses: passes over the parsed SQL, then the dialect.

Queries are written in the portable part of DuckDB's SQL (`portable.py`). Some constructs remain
that other systems write differently or, worse, accept and compute differently. Each pass rewrites
one of them; its docstring states what it does and why. Passes change the tree in place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError, UnsupportedError

from sqlmetrics.errors import UsageError
from sqlmetrics.sql.dialects import DIALECTS, NATIVE, PRINTED_AS
from sqlmetrics.sql.names import has_placeholders, is_reference, placed_table
from sqlmetrics.sql.portable import FRACTIONS, counted, problems
from sqlmetrics.sql.templates import macro
from sqlmetrics.sql.trees import find_all, walk
from sqlmetrics.texts.messages import Argument, Message

_PARTS = ("this", "db", "catalog")
_LAST = "last_of_numbers"  # placeholder for an expression in rendered text
_OTHERS = tuple(dialect for dialect in DIALECTS if dialect != NATIVE)


@dataclass(frozen=True)
class Pass:
    """A rewrite: its dialects, and the function that changes a tree in place."""

    name: str
    dialects: tuple[str, ...]
    run: Callable[[exp.Expr, str], None]

    @property
    def reason(self) -> str:
        """Return the reason for the pass."""
        return " ".join((self.run.__doc__ or "").split())


PASSES: list[Pass] = []


_Run = Callable[[exp.Expr, str], None]


def _pass(*dialects: str) -> Callable[[_Run], _Run]:
    def register(run: _Run) -> _Run:
        PASSES.append(Pass(run.__name__.strip("_"), dialects, run))
        return run

    return register


def printed(tree: exp.Expr, dialect: str, pretty: bool = True, is_input: bool = False) -> str:
    """Print a parsed query in DuckDB's SQL for a dialect; the tree is not changed.

    `is_input`: the query reads a table of the user and may unnest lists.

    Raises:
        UsageError: the dialect cannot express the query; the message names an alternative.
    """
    if dialect != NATIVE and not is_input:
        check(tree, dialect)
    if dialect == NATIVE:  # names are rarely replaced
        text = text_of(tree.copy(), dialect, pretty)
        if not has_placeholders(text):
            return text
    return text_of(compiled(tree.copy(), dialect), dialect, pretty)


def text_of(tree: exp.Expr, dialect: str, pretty: bool = True) -> str:
    """Print a compiled query, which may change: printing rewrites some of its expressions.

    Raises:
        UsageError: it has something that the dialect cannot express.
    """
    # function names are case-sensitive only in ClickHouse
    functions: str | bool = "lower" if dialect == NATIVE else "upper"
    if dialect == "clickhouse":
        functions = False
    nodes = find_all(tree, exp.IgnoreNulls, exp.Not)
    is_expressible = dialect == NATIVE and all(  # sqlglot adds it to any_value needlessly
        isinstance(node.this, exp.AnyValue) for node in nodes if isinstance(node, exp.IgnoreNulls)
    )
    for node in nodes:
        if isinstance(node, exp.Not) and isinstance(node.this, exp.Is):  # x IS NOT NULL
            is_, null = node.this, node.this.expression
            node.replace(exp.Is(this=is_.this, expression=exp.Not(this=null)))
    try:
        return tree.sql(
            PRINTED_AS.get(dialect, dialect),
            copy=False,  # which would take as long as printing
            pretty=pretty,
            comments=pretty,
            indent=4,
            pad=4,
            normalize_functions=functions,
            unsupported_level=ErrorLevel.IGNORE if is_expressible else ErrorLevel.RAISE,
        )
    except UnsupportedError as error:
        raise UsageError(f"{dialect}: {error}; rewrite the query without this construct") from error


def compiled(tree: exp.Expr, dialect: str) -> exp.Expr:
    """Apply the passes for a dialect to a parsed query, and return what it has become."""
    root: exp.Expr = exp.Paren(this=tree)  # a wrapper, because a pass may replace the root
    for pass_ in PASSES:
        if dialect in pass_.dialects:
            pass_.run(root, dialect)
    result: exp.Expr = root.this
    return result


def check(tree: exp.Expr, dialect: str) -> None:
    """Reject constructs that have another meaning, or none, outside DuckDB.

    Raises:
        UsageError: the query has such a construct.
    """
    for problem in problems(tree):
        raise UsageError(
            f"{dialect}: {problem.found} is not portable ({problem.why}); "
            f"instead, {problem.instead}"
        )


def _all(tree: exp.Expr, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Find nodes, inner ones first, because a pass may replace an outer node by a copy."""
    yield from reversed([node for node in walk(tree) if isinstance(node, kinds)])


def _without_parentheses(value: exp.Expr) -> exp.Expr:
    """Return a value without parentheses around it; those of a subquery belong to it."""
    while isinstance(value, exp.Paren):
        value = value.this
    return value


def _double(value: exp.Expr) -> exp.Cast:
    return exp.cast(value.copy(), "double")


def _is_double(value: exp.Expr) -> bool:
    """Return whether a value is certainly a double, whatever the types of columns."""
    inner = value.unnest()
    if isinstance(inner, exp.Cast):
        return inner.to.this in (exp.DType.DOUBLE, exp.DType.FLOAT)
    if isinstance(inner, exp.Mul | exp.Add | exp.Sub):
        return _is_double(inner.this) or _is_double(inner.expression)
    return isinstance(inner, exp.Div | exp.Sqrt | exp.Ln | exp.Exp)


# ---- rows from a function: replaced first, while the query is still DuckDB's SQL ------------


@_pass(*_OTHERS)
def _numbers(tree: exp.Expr, dialect: str) -> None:
    """Replace `unnest(generate_series(1, n))` by the dialect's function, or by digits: some
    dialects accept only constants, stop at 10,000, or allow such functions only in FROM."""
    for cte in find_all(tree, exp.CTE):
        column, last = counted(cte) or ("", None)
        if last is None:
            continue
        if (function := _counting(last, dialect)) is not None:
            cte.this.expressions[0].set("this", function)
            continue
        parts = [last.this, *last.expressions] if isinstance(last, exp.Greatest) else [last]
        known = [int(part.name) for part in parts if isinstance(part, exp.Literal)]
        text = macro("numbers_of_digits")(
            cte.alias,
            column,
            known[0] if isinstance(last, exp.Literal) else _LAST,
            known=max(known, default=1),
        )
        digits = sqlglot.parse_one(f"WITH {text} SELECT 1 AS x", read=NATIVE)
        for stand_in in find_all(digits, exp.Column):
            if stand_in.name == _LAST:
                stand_in.replace(last.copy())
        query = cte.parent
        assert isinstance(query, exp.With)
        names = {other.alias for other in query.expressions} - {cte.alias}
        new = [one for one in find_all(digits, exp.CTE) if one.alias not in names]
        place = query.expressions.index(cte)
        query.set(
            "expressions", [*query.expressions[:place], *new, *query.expressions[place + 1 :]]
        )


def _counting(last: exp.Expr, dialect: str) -> exp.Expr | None:
    first = exp.Literal.number(1)
    if dialect == "postgres":
        return exp.GenerateSeries(start=first, end=last.copy())
    if dialect in ("spark", "databricks"):
        return exp.Explode(this=exp.GenerateSeries(start=first, end=last.copy()))
    if dialect in ("clickhouse", "datafusion"):
        numbers = exp.Anonymous(this="range", expressions=[first, exp.Add(
            this=last.copy(), expression=exp.Literal.number(1)
        )])  # fmt: skip
        rows = "arrayJoin" if dialect == "clickhouse" else "unnest"
        return exp.Anonymous(this=rows, expressions=[numbers])
    return None


# ---- arithmetic: queries that would run with wrong results --------------------------------------


@_pass(*_OTHERS)
def _doubles(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Make `0.5` and `1e15` doubles: other dialects treat them as exact decimals, whose averages
    have only a few digits."""
    for node in _all(tree, exp.Literal):
        whole = node.is_string or node.name.isdigit()
        if not whole and not isinstance(node.parent, exp.Cast | exp.DataTypeParam):
            node.replace(_double(node))


_SAFE = "divisor is not 0"


def mark_as_safe(division: exp.Div) -> None:
    """Mark a division whose divisor is never 0, so that no dialect adds a guard."""
    division.meta[_SAFE] = True


def is_safe(division: exp.Expr) -> bool:
    """Return whether the divisor of a division is never 0."""
    return division._meta is not None and _SAFE in division._meta


def guard_again(division: exp.Div) -> None:
    """Take back `mark_as_safe`: divide by NULL instead of 0."""
    del division.meta[_SAFE]
    zero = exp.Literal.number(0)
    division.set("expression", exp.Nullif(this=division.expression, expression=zero))


@_pass(*_OTHERS)
def _divisions(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Divide doubles, and by NULL instead of 0: elsewhere, 1 / 2 is 0 and 1 / 0 is an error."""
    for node in _all(tree, exp.Div):
        assert isinstance(node, exp.Div)
        divisor = _without_parentheses(node.expression)
        constant = divisor.this if isinstance(divisor, exp.Cast) else divisor
        if not isinstance(constant, exp.Literal | exp.Nullif) and not is_safe(node):
            node.set("expression", exp.Nullif(this=divisor, expression=exp.Literal.number(0)))
        if not _is_double(node.this):
            node.set("this", _double(_without_parentheses(node.this)))
        node.set("typed", True)  # prevents casts and guards by sqlglot
        node.set("safe", False)


@_pass(*_OTHERS)
def _wide_integers(tree: exp.Expr, dialect: str) -> None:
    """Give exact sums a decimal type of 38 digits: only DuckDB and ClickHouse have 128-bit
    integers."""
    types = {"clickhouse": "INT128", "bigquery": "BIGDECIMAL", "postgres": "DECIMAL"}
    wide = exp.DataType.build(types.get(dialect, "DECIMAL(38, 0)"))
    for node in _all(tree, exp.DataType):
        if node.this == exp.DType.INT128:
            node.replace(wide.copy())


@_pass("clickhouse")
def _unseen_values(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Cast rounded numbers without evaluating the values behind NULL: ClickHouse casts these values
    too, and fails if one is infinite. It multiplies no integers of 128 bits by doubles."""
    for node in _all(tree, exp.Cast):
        assert isinstance(node, exp.Cast)
        if node.to.this == exp.DType.INT128 and isinstance(node.this, exp.Round):
            product = node.this.this
            if isinstance(product, exp.Mul) and not _is_double(product.this):
                product.set("this", _double(_without_parentheses(product.this)))
            node.replace(exp.Anonymous(
                this="accurateCastOrNull",
                expressions=[node.this.copy(), exp.Literal.string("Int128")],
            ))  # fmt: skip


@_pass("postgres", "redshift")
def _tiny_powers(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Keep powers of 2 above 2^-1000: Postgres fails where other dialects return 0."""
    for node in _all(tree, exp.Pow):
        if node.this == exp.Literal.number(2) and not isinstance(node.expression, exp.Literal):
            smallest = exp.Neg(this=exp.Literal.number(1000))
            node.set(
                "expression", exp.Greatest(this=node.expression.unnest(), expressions=[smallest])
            )


@_pass("postgres", "redshift")
def _tiny_exponentials(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Return 0 for exp(x) if x is below -600: Postgres fails where other dialects return 0."""
    for node in _all(tree, exp.Exp):
        if isinstance(node.this, exp.Greatest):  # has a bound of its own
            continue
        smallest = exp.Neg(this=exp.Literal.number(600))
        tiny = exp.LT(this=node.this.copy(), expression=smallest)
        zero = exp.If(this=tiny, true=_double(exp.Literal.number(0)))
        node.replace(exp.Case(ifs=[zero], default=node.copy()))


@_pass("postgres", "redshift")
def _tiny_reals(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Return 0 for numbers that are too small for single precision, where Postgres fails."""
    largest = exp.cast(exp.Literal.number(f"{2.0**-150!r}"), "double")  # half of the smallest
    for node in _all(tree, exp.Cast):
        assert isinstance(node, exp.Cast)
        if node.to.this == exp.DType.FLOAT:
            tiny = exp.LTE(this=exp.Abs(this=node.this.copy()), expression=largest.copy())
            zero = exp.If(this=tiny, true=exp.Literal.number(0))
            node.set("this", exp.Case(ifs=[zero], default=node.this))


@_pass("bigquery", "snowflake")
def _single_precision(tree: exp.Expr, dialect: str) -> None:
    """Reject single-precision scores: these dialects accept the name of the type, but compute in
    double precision."""
    for node in _all(tree, exp.DataType):
        if node.this == exp.DType.FLOAT:
            raise UsageError(
                f"{dialect} has no single-precision numbers (score_type=float); omit this setting, "
                "or round the scores before they are stored"
            )


@_pass("bigquery", "trino", "athena")
def _least_of_known(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Let LEAST and GREATEST ignore NULL: in these dialects, one NULL makes the result NULL, and a
    NULL for k means a whole list."""
    for node in _all(tree, exp.Least, exp.Greatest):
        values = [node.this, *node.expressions]
        if len(values) < 2:
            continue
        known = [
            value if isinstance(value, exp.Literal)
            else exp.Coalesce(
                this=value.copy(), expressions=[v.copy() for v in values if v is not value]
            )
            for value in values
        ]  # fmt: skip
        node.set("this", known[0].copy())
        node.set("expressions", [value.copy() for value in known[1:]])


# ---- functions: other names, or missing --------------------------------------------------------


@_pass("postgres", "redshift", "clickhouse", "datafusion")
def _binary_logarithms(tree: exp.Expr, dialect: str) -> None:
    """Write log2: Postgres supports LOG(2, x) only for decimals and fails at 0; ClickHouse's LOG
    takes one argument."""
    for node in _all(tree, exp.Log, exp.Anonymous):
        if isinstance(node, exp.Anonymous):
            value = node.expressions[0] if node.name.lower() == "log2" else None
        else:
            value = node.expression if node.this == exp.Literal.number(2) else None
        if value is None:
            continue
        if dialect in ("clickhouse", "datafusion"):
            node.replace(exp.Anonymous(this="log2", expressions=[value.copy()]))
        else:
            base = exp.Ln(this=_double(exp.Literal.number(2)))
            known = exp.Nullif(this=_double(value), expression=exp.Literal.number(0))
            node.replace(exp.Paren(this=exp.Div(
                this=exp.Ln(this=known), expression=base, typed=True, safe=False,
            )))  # fmt: skip


@_pass("spark", "databricks", "snowflake", "bigquery", "trino", "athena")
def _known_logarithms(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Restore log2 for dialects that write it as a logarithm to a base."""
    for node in _all(tree, exp.Anonymous):
        if node.name.lower() == "log2":
            node.replace(exp.Log(this=exp.Literal.number(2), expression=node.expressions[0].copy()))


@_pass(*_OTHERS)
def _filters(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Write `agg(x) FILTER (WHERE c)` as `agg(CASE WHEN c THEN x END)`: half of them lack it."""
    for node in _all(tree, exp.Filter):
        aggregate, condition = node.this, node.expression.this
        term = aggregate.this
        target = term if isinstance(term, exp.Distinct) else aggregate
        inner = term.expressions[0] if isinstance(term, exp.Distinct) else term
        if inner is None or isinstance(inner, exp.Star):
            inner = exp.Literal.number(1)
        case = exp.Case(ifs=[exp.If(this=condition.copy(), true=inner.copy())])
        if isinstance(target, exp.Distinct):
            target.set("expressions", [case])
        else:
            target.set("this", case)
        node.replace(aggregate)


@_pass(*_OTHERS)
def _quantiles(tree: exp.Expr, dialect: str) -> None:
    """Write quantiles: sqlglot uses an approximation for Spark, ClickHouse has its own functions,
    DataFusion interpolates with 6 digits, Redshift allows one sort column per query, and BigQuery,
    Trino and Athena have only approximations."""
    for node in _all(tree, exp.Median, exp.PercentileCont, exp.PercentileDisc):
        share = node.args.get("expression") or _double(exp.Literal.number("0.5"))
        known = share.unnest()
        while isinstance(known, exp.Cast):
            known = known.this
        low = isinstance(node, exp.PercentileDisc)
        is_median = float(known.name) == 0.5
        missing = {
            "bigquery": True, "trino": True, "athena": True, "redshift": True,
            "datafusion": low or not is_median,
        }  # fmt: skip
        if missing.get(dialect):
            raise UsageError(
                f"{dialect} has no exact {'lower ' if low else ''}quantile as an aggregate, which ",
                "aggregate=median, aggregate=quantile and ", Argument("ci", "bootstrap"), " need",
                remedy=Message(
                    "use ", Argument("per_user", True), " and compute the quantile of its result"
                ),
            )  # fmt: skip
        node.replace(_quantile(dialect, low, node.this.copy(), share.copy(), known.copy()))


def _quantile(
    dialect: str, low: bool, value: exp.Expr, share: exp.Expr, known: exp.Expr
) -> exp.Expr:
    if dialect == "clickhouse" and low and float(known.name) != 0.5:
        # quantileExactLow takes the next larger value, except for a median
        n = f"count({_LAST})"
        chosen = sqlglot.parse_one(
            f"CASE WHEN {n} > 0 THEN arrayElement(arraySort(groupArray({_LAST})), "
            f"toInt64(greatest(1, {n} - floor({n} - {n} * {known.name})))) END",
            read=NATIVE,
        )
        for stand_in in find_all(chosen, exp.Column):
            stand_in.replace(value.copy())
        return chosen
    if dialect == "clickhouse":
        function = "quantileExactLow" if low else "quantileExactInclusive"
        return exp.ParameterizedAgg(this=function, expressions=[known], params=[value])
    if dialect == "datafusion":
        return exp.Anonymous(this="median", expressions=[value])
    if dialect in ("spark", "databricks") and not low:
        return exp.Anonymous(this="percentile", expressions=[value, share])
    function = "percentile_disc" if low else "percentile_cont"
    # NULL is ignored in any position; Spark accepts no keyword for it
    order = exp.Ordered(this=value, nulls_first=dialect in ("spark", "databricks"))
    return exp.WithinGroup(
        this=exp.Anonymous(this=function, expressions=[share]),
        expression=exp.Order(expressions=[order]),
    )


@_pass("clickhouse")
def _deviations_of_one(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Return no standard deviation for a single value: ClickHouse returns NaN. Use the functions
    that do not lose half of the digits."""
    for node in _all(tree, exp.StddevPop):
        node.replace(exp.Anonymous(this="stddevPopStable", expressions=[node.this.copy()]))
    for node in _all(tree, exp.StddevSamp):
        several = exp.GT(this=exp.Count(this=node.this.copy()), expression=exp.Literal.number(1))
        stable = exp.Anonymous(this="stddevSampStable", expressions=[node.this.copy()])
        node.replace(exp.Case(ifs=[exp.If(this=several, true=stable)]))


@_pass("clickhouse", "datafusion")
def _signed_counts(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Make counts and positions signed: the difference of two unsigned positions wraps around in
    DataFusion, and has no common type with other numbers in ClickHouse."""
    for node in _all(tree, exp.Count, exp.RowNumber, exp.Rank):
        whole = node.parent if isinstance(node.parent, exp.Window) else node
        whole.replace(exp.cast(whole.copy(), "bigint"))


@_pass(*(dialect for dialect in _OTHERS if dialect != "postgres"))
def _collations(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Drop COLLATE "C": these dialects order text by bytes, and write collations differently."""
    for node in _all(tree, exp.Collate):
        node.replace(node.this)


@_pass(*_OTHERS)
def _times_in_utc(tree: exp.Expr, dialect: str) -> None:
    """Convert times with a zone to UTC: elsewhere, their year and month are those of the time zone
    of the session or of the column."""
    for node in _all(tree, exp.UnixToTime):
        microseconds = node.this
        if not isinstance(microseconds, exp.Anonymous) or microseconds.name.lower() != "epoch_us":
            continue
        time = microseconds.expressions[0]
        if dialect in ("spark", "databricks", "snowflake"):
            utc = exp.Literal.string("UTC")
            node.replace(exp.Anonymous(this="convert_timezone", expressions=[utc, time.copy()]))
        elif dialect == "clickhouse":
            utc = exp.Literal.string("UTC")
            node.replace(exp.Anonymous(this="toTimeZone", expressions=[time.copy(), utc]))
        elif dialect == "bigquery":
            node.replace(time.copy())
        else:
            node.replace(exp.AtTimeZone(this=time.copy(), zone=exp.Literal.string("UTC")))


@_pass("bigquery")
def _weeks_from_monday(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Begin weeks on Monday, as in the other engines: BigQuery's WEEK begins on Sunday."""
    for node in _all(tree, exp.DateTrunc):
        if node.args["unit"].name.upper() == "WEEK":
            node.set("unit", exp.var("ISOWEEK"))


@_pass("bigquery", "snowflake")
def _differences_of_times(tree: exp.Expr, dialect: str) -> None:
    """Subtract times as DATETIME, a time without a zone: BigQuery's DATE_DIFF takes dates, without
    milliseconds. In Snowflake, the name TIMESTAMPNTZ of the printer is a rare synonym."""
    for node in _all(tree, exp.DateDiff):
        if dialect == "snowflake":
            for time in node.find_all(exp.Cast):
                if time.is_type("timestamp", "timestampntz"):
                    time.set("to", exp.DataType.build("datetime"))
            continue
        parts = {"this": node.this, "expression": node.expression, "unit": node.args["unit"]}
        node.replace(exp.DatetimeDiff(**{name: part.copy() for name, part in parts.items()}))


@_pass("spark", "databricks", "trino", "athena", "datafusion")
def _whole_milliseconds(tree: exp.Expr, dialect: str) -> None:
    """Subtract whole milliseconds, as in the other engines: Spark counts those that have passed
    between two times of microseconds, DataFusion counts seconds, and Trino rounds times."""
    for node in _all(tree, exp.DateDiff):
        if dialect in ("trino", "athena"):
            for time in (node.this, node.expression):
                time.set("to", exp.DataType.build("timestamp(6)"))
            continue
        later, earlier = (
            _milliseconds(time.copy(), dialect) for time in (node.this, node.expression)
        )
        node.replace(exp.Paren(this=exp.Sub(this=later, expression=earlier)))


def _milliseconds(time: exp.Expr, dialect: str) -> exp.Expr:
    """Return the milliseconds from 1970 to a time, the cast of a value."""
    assert isinstance(time, exp.Cast)
    if dialect == "datafusion":
        whole = exp.TimestampTrunc(this=time, unit=exp.var("MILLISECOND"))
        nanoseconds = exp.cast(whole, "bigint")
        million = exp.Literal.number(1000000)
        return exp.Div(this=nanoseconds, expression=million, typed=True, safe=False)
    start = exp.cast(exp.Literal.string("1970-01-01"), time.to.copy())
    passed = exp.DateDiff(this=time, expression=start, unit=exp.var("MICROSECOND"))
    thousand = exp.Literal.number(1000)
    return exp.Floor(this=exp.Div(this=passed, expression=thousand, typed=True, safe=False))


@_pass("clickhouse")
def _microseconds(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Cast to times with microseconds: ClickHouse's DateTime has whole seconds, from 1970 on."""
    times = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ, exp.DType.DATETIME)
    for node in _all(tree, exp.DataType):
        if node.this in times:
            nullable = "Nullable(DateTime64(6, 'UTC'))"
            node.replace(exp.DataType.build(nullable, dialect="clickhouse"))


# ---- lists as rows ------------------------------------------------------------------------------


@_pass(*_OTHERS)
def _rows_of_lists(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Join with the rows of a list where DuckDB unnests it in the SELECT, and write one SELECT per
    column for a vector in several columns: other dialects allow functions that return rows only in
    FROM, and type lists of columns differently."""
    for select in _all(tree, exp.Select):
        functions = [node for node in _row_functions(select) if node.parent_select is select]
        origin = select.args.get("from_")
        if not functions or origin is None:
            continue
        assert isinstance(select, exp.Select)
        first = functions[0]
        rows = first.this if isinstance(first, exp.Explode) else first.expressions[0]
        if isinstance(rows, exp.Case):
            select.replace(_rows_of_columns(select, rows))
            continue
        value: exp.Expr = exp.column("value", "entry")
        if isinstance(rows, exp.Cast):
            rows, value = rows.this, exp.cast(value, rows.to.expressions[0])
        for node in functions:
            is_value = isinstance(node, exp.Explode)
            node.replace(value.copy() if is_value else exp.column("place", "entry"))
        if not origin.this.alias:
            origin.this.set("alias", exp.TableAlias(this=exp.to_identifier("source")))
        unnested = exp.Unnest(
            expressions=[exp.column(rows.this.copy(), origin.this.alias)],
            alias=exp.TableAlias(
                this=exp.to_identifier("entry"), columns=[exp.to_identifier("value")]
            ),
            offset=exp.to_identifier("place"),
        )
        select.append("joins", exp.Join(this=unnested, kind="CROSS"))


def _row_functions(tree: exp.Expr) -> list[exp.Expr]:
    """Find the functions that return the entries of a list, or their positions."""
    return [
        node
        for node in find_all(tree, exp.Explode, exp.Anonymous)
        if isinstance(node, exp.Explode) or node.name.lower() == "generate_subscripts"
    ]


def _rows_of_columns(select: exp.Select, vector: exp.Case) -> exp.Expr:
    """Write a SELECT for each column of a vector, with its position and its number."""
    parts = [part for array in find_all(vector, exp.Array) for part in array.expressions]
    known = exp.or_(*(part.copy().is_(exp.null()).not_() for part in parts))
    branches = []
    for place, part in enumerate(parts, start=1):
        branch = select.copy()
        if place > 1:
            branch.pop_comments()
        for node in _row_functions(branch):
            is_value = isinstance(node, exp.Explode)
            node.replace(_double(part) if is_value else exp.Literal.number(place))
        branches.append(branch.where(known.copy(), copy=False))
    return branches[0] if len(branches) == 1 else exp.union(*branches, distinct=False)


@_pass(*_OTHERS)
def _lists(tree: exp.Expr, dialect: str) -> None:
    """Unnest a list as each dialect does; sqlglot starts positions at 0 in some dialects."""
    for join in _all(tree, exp.Join):
        unnest = join.this
        if not isinstance(unnest, exp.Unnest):
            continue
        select = join.parent
        assert isinstance(select, exp.Select)
        column = unnest.expressions[0]
        (value,) = (name.name for name in unnest.args["alias"].columns)
        place = unnest.args["offset"].name
        if dialect in ("spark", "databricks", "bigquery"):  # positions start at 0
            counted = exp.Add(this=exp.column(place, "entry"), expression=exp.Literal.number(1))
            _replace_column(select, place, exp.Paren(this=counted))
        elif dialect == "clickhouse":
            _replace_column(select, value, exp.column(value))
            _replace_column(select, place, exp.column(place))
            places = exp.Anonymous(this="arrayEnumerate", expressions=[column.copy()])
            join.replace(exp.Join(
                kind="ARRAY",
                this=exp.alias_(column.copy(), value),
                expressions=[exp.alias_(places, place)],
            ))  # fmt: skip
        elif dialect == "datafusion":
            rows = exp.Explode(this=column.copy())
            length = exp.cast(exp.Anonymous(this="array_length", expressions=[column]), "bigint")
            last = exp.Add(this=length, expression=exp.Literal.number(1))
            places = exp.Anonymous(this="range", expressions=[exp.Literal.number(1), last])
            _replace_column(select, value, rows)
            _replace_column(select, place, exp.Anonymous(this="unnest", expressions=[places]))
            join.pop()
        elif dialect in ("snowflake", "redshift"):
            raise UsageError(
                f"{dialect}: the column {column.name} holds lists, whose entries lose their types "
                "in this dialect; create a view with one row per value"
            )


def _replace_column(select: exp.Select, name: str, by: exp.Expr) -> None:
    for column in find_all(select, exp.Column):
        if column.table == "entry" and column.name == name:
            column.replace(by.copy())


# ---- types, names and order ---------------------------------------------------------------------


@_pass("postgres", "redshift", "clickhouse", "datafusion")
def _types(tree: exp.Expr, dialect: str) -> None:
    """Write typeof, which has another name here. In ClickHouse, a comparison has the type UInt8."""
    for node in _all(tree, exp.Typeof):
        if dialect == "datafusion":
            node.replace(exp.Anonymous(this="arrow_typeof", expressions=[node.this]))
            continue
        if dialect == "clickhouse":
            name = exp.Anonymous(this="toTypeName", expressions=[node.this])
            is_boolean = exp.In(
                this=name.copy(),
                expressions=[
                    exp.Literal.string(kind)
                    for plain in ("Bool", "UInt8")
                    for kind in (plain, f"Nullable({plain})")
                    for kind in (kind, f"LowCardinality({kind})")
                ],
            )
            boolean = exp.If(this=is_boolean, true=exp.Literal.string("BOOLEAN"))
            node.replace(exp.Case(ifs=[boolean], default=name))
            continue
        node.replace(exp.cast(exp.Anonymous(this="pg_typeof", expressions=[node.this]), "text"))


@_pass("postgres", "redshift")
def _queries_in_from(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Name queries in FROM, as Redshift and Postgres before version 16 require."""
    for number, node in enumerate(_all(tree, exp.Subquery), start=1):
        if isinstance(node.parent, exp.From | exp.Join) and not node.alias:
            name = exp.to_identifier(f"source_{number}")
            node.set("alias", exp.TableAlias(this=name))


@_pass("clickhouse")
def _aliases(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Name every column of a SELECT: in a join of three tables, ClickHouse names the result column
    `r.user_id`."""
    for node in _all(tree, exp.Select):
        assert isinstance(node, exp.Select)
        named = [
            exp.alias_(column.copy(), column.name, quoted=column.this.quoted)
            if isinstance(column, exp.Column) and column.table
            else column
            for column in node.expressions
        ]
        node.set("expressions", named)


@_pass("redshift")
def _frames_of_equal_rows(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Compute frames that end at the last equal row by counting from the other end: Redshift
    supports only frames of rows."""
    for node in _all(tree, exp.Window):
        spec = node.args.get("spec")
        if spec is None or spec.args.get("kind") != "RANGE" or not isinstance(node.this, exp.Count):
            continue
        order = [
            exp.Ordered(
                this=one.this.copy(),
                desc=not one.args.get("desc"),
                nulls_first=not one.args.get("nulls_first"),
            )
            for one in node.args["order"].expressions
        ]
        groups = [part.copy() for part in node.args.get("partition_by") or ()]
        above = exp.Window(
            this=exp.Rank(), partition_by=groups, order=exp.Order(expressions=order), over="OVER"
        )
        whole = exp.Window(this=node.this.copy(), partition_by=groups, over="OVER")
        last = exp.Add(this=whole, expression=exp.Literal.number(1))
        node.replace(exp.Paren(this=exp.Sub(this=last, expression=above)))


@_pass("bigquery")
def _places_of_nulls(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Order NULL in windows by a key of its own, because BigQuery has no NULLS LAST there. Ids,
    ranks, cutoffs and counts are never NULL."""
    for window in _all(tree, exp.Window):
        for node in _all(window, exp.Ordered):
            is_descending = bool(node.args.get("desc"))
            is_first = bool(node.args.get("nulls_first"))
            node.set("nulls_first", not is_descending)
            if is_first is not is_descending or _is_never_null(node.this):
                continue  # BigQuery puts NULL first in ascending order, and last in descending
            is_null = exp.Ordered(
                this=node.this.copy().is_(exp.null()),
                desc=is_descending or None,
                nulls_first=not is_descending,  # it is never NULL
            )
            order = node.parent
            assert isinstance(order, exp.Order)
            place = order.expressions.index(node)
            keys = [*order.expressions[:place], is_null, *order.expressions[place:]]
            order.set("expressions", keys)


@_pass("bigquery")
def _partitions_of_fractions(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Partition windows by the texts of fractions: BigQuery rejects partitions by FLOAT64."""
    for window in _all(tree, exp.Window):
        keys = window.args.get("partition_by") or ()
        window.set("partition_by", [exp.cast(k, "text") if _is_fraction(k) else k for k in keys])


def _is_fraction(key: exp.Expr) -> bool:
    return isinstance(key, exp.Column) and key.name.lower() in FRACTIONS


def _is_never_null(value: exp.Expr) -> bool:
    return isinstance(value, exp.Literal | exp.Count) or (
        isinstance(value, exp.Column) and value.name in ("user_id", "item_id", "rank", "k")
    )


@_pass("datafusion")
def _keys_of_cross_joins(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Hide the columns of a CROSS JOIN in NULLIF: DataFusion plans as if the keys of both sides
    were still unique afterwards, and then splits groups, and drops DISTINCT and columns of ORDER
    BY."""
    for node in _all(tree, exp.Select):
        joins = node.args.get("joins") or ()
        is_plain = not any(map(node.args.get, ("group", "order", "having")))
        if is_plain and any(join.args.get("kind") == "CROSS" for join in joins):
            node.set("expressions", list(map(_hidden, node.expressions)))


def _hidden(column: exp.Expr) -> exp.Expr:
    """Return a plain column of a SELECT as an expression with the same value and name."""
    value = column.unalias()
    if not isinstance(value, exp.Column) or value.is_star:
        return column.copy()
    name = column.args["alias"] if isinstance(column, exp.Alias) else value.this
    return exp.Alias(this=exp.Nullif(this=value.copy(), expression=exp.null()), alias=name.copy())


@_pass("databricks", "snowflake", "bigquery", "trino", "athena", "redshift")
def _recursion(tree: exp.Expr, dialect: str) -> None:
    """Reject recursion: these dialects allow no window functions in it, or limit it."""
    for node in _all(tree, exp.With):
        if node.args.get("recursive"):
            raise UsageError(
                f"{dialect}: recursive queries are not supported, because the dialect allows no "
                "window functions in them or limits them; unroll the recursion to the maximum "
                "number of steps with a loop in the template"
            )


_RESERVED = {
    "datafusion": frozenset((
        "cluster", "distribute", "exists", "explain", "minus", "sort", "struct", "top", "trim",
        "values", "view",
    )),
}  # fmt: skip


@_pass(*_RESERVED)
def _reserved_words(tree: exp.Expr, dialect: str) -> None:
    """Quote words that DuckDB accepts as the name of a column, and this dialect does not."""
    for node in tree.find_all(exp.Identifier):  # also those of columns
        if node.name.lower() in _RESERVED[dialect]:
            node.set("quoted", True)


@_pass(*DIALECTS)
def _tables(tree: exp.Expr, dialect: str) -> None:
    """Name tables as the user does: quoted as in the dialect, or as references such as
    {{ ref('recs') }} for another program."""
    for node in _all(tree, exp.Table):
        given = placed_table(node.name)
        # a table of the connection may have this name too; it is qualified with its schema
        if is_reference(given or node.name) and not node.args.get("db"):
            node.set("this", exp.Var(this=given or node.name))
        elif given:
            named = table_of(given, dialect)
            for part in _PARTS:
                node.set(part, named.args.get(part))


def table_of(text: str, dialect: str) -> exp.Table:
    """Parse a table name, quoted as in the dialect.

    Raises:
        UsageError: the text is not a table name.
    """
    try:
        table = exp.to_table(text, dialect=PRINTED_AS.get(dialect, dialect))
    except SqlglotError:
        table = None
    parts = [] if table is None else list(filter(None, map(table.args.get, _PARTS)))
    plain = all(isinstance(part, exp.Identifier) for part in parts)
    # sqlglot accepts other text as an unquoted name, and clauses after a name
    unquoted = any(
        part.args.get("quoted") and not re.search(rf'["`\[]{re.escape(part.name[:1])}', text)
        for part in parts
    )
    more = table is not None and any(v for name, v in table.args.items() if name not in _PARTS)
    if table is None or not plain or unquoted or more or table.name == "":
        raise UsageError(
            f"{text!r} is not a table name for {dialect}: write TABLE, SCHEMA.TABLE or "
            "DATABASE.SCHEMA.TABLE, quoted as in the dialect"
        )
    return table
