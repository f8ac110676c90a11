"""Prints queries for other engines and warehouses: named passes over parsed SQL, then the dialect.

Queries are written in DuckDB's SQL, in the part of it that means the same everywhere
(`portable.py`). What is left are constructs that other systems spell differently or, worse, take
without complaint and compute something else. Each pass mends one of them; it says what, why and for
whom. The passes change the tree that they are given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError, UnsupportedError

from sqlmetrics.errors import UsageError
from sqlmetrics.messages import Argument, Message
from sqlmetrics.sql.dialects import DIALECTS, NATIVE
from sqlmetrics.sql.portable import counted, problems
from sqlmetrics.sql.quoting import identifier as quoted
from sqlmetrics.sql.templates import macro

_PRINTED_AS = {"datafusion": "postgres"}  # what sqlglot calls the dialect
# without these, ClickHouse fills what a LEFT JOIN does not find with 0 instead of NULL, sums of
# nothing are 0, an alias hides the column of the same name, and it gives up long plans
_SETTINGS = {
    "clickhouse": {
        "join_use_nulls": 1,
        "group_by_use_nulls": 1,
        "aggregate_functions_null_for_empty": 1,
        "least_greatest_legacy_null_behavior": 0,
        "prefer_column_name_to_alias": 1,
        "query_plan_max_optimizations_to_apply": 1000000,
    }
}
_PARTS = ("this", "db", "catalog")
_LAST = "last_of_numbers"  # stands for an expression in rendered text
_TABLE = "table of the user: "  # before the name of one, until it is printed
_REFERENCE = re.compile(r"\{\{(?:(?!\{\{|\}\}).)*\}\}", re.DOTALL)
_OTHERS = tuple(dialect for dialect in DIALECTS if dialect != NATIVE)


@dataclass(frozen=True)
class Pass:
    """One rewrite: for whom, and the function that does it to a tree in place."""

    name: str
    dialects: tuple[str, ...]
    run: Callable[[exp.Expr, str], None]

    @property
    def reason(self) -> str:
        """Say why the pass is needed."""
        return " ".join((self.run.__doc__ or "").split())


PASSES: list[Pass] = []


_Run = Callable[[exp.Expr, str], None]


def _pass(*dialects: str) -> Callable[[_Run], _Run]:
    def register(run: _Run) -> _Run:
        PASSES.append(Pass(run.__name__.strip("_"), dialects, run))
        return run

    return register


def printed(tree: exp.Expr, dialect: str, pretty: bool = True, is_input: bool = False) -> str:
    """Print a parsed query of DuckDB's SQL for a dialect; the tree is left as it was.

    `is_input`: it reads a table of the user's, and may turn lists into rows.

    Raises:
        UsageError: it has something that the dialect cannot express, with what to do instead.
    """
    if dialect != NATIVE and not is_input:
        check(tree, dialect)
    if dialect == NATIVE:  # only names have to be put in, and seldom: a copy takes as long as all
        text = text_of(tree, dialect, pretty)
        if _TABLE not in text and "{{" not in text:
            return text
    return text_of(compiled(tree, dialect), dialect, pretty)


def text_of(tree: exp.Expr, dialect: str, pretty: bool = True) -> str:
    """Print a compiled query.

    Raises:
        UsageError: it has something that the dialect cannot express.
    """
    # only ClickHouse tells the names of functions by their case
    functions: str | bool = "lower" if dialect == NATIVE else "upper"
    if dialect == "clickhouse":
        functions = False

    def generated(level: ErrorLevel) -> str:
        return tree.sql(
            _PRINTED_AS.get(dialect, dialect),
            pretty=pretty,
            comments=pretty,
            indent=4,
            pad=4,
            normalize_functions=functions,
            unsupported_level=level,
        )

    try:
        return generated(ErrorLevel.RAISE)
    except UnsupportedError as error:
        if dialect == NATIVE and _only_any_value(tree):
            return generated(ErrorLevel.IGNORE)
        raise UsageError(f"{dialect}: {error}; write the query without it") from error


def _only_any_value(tree: exp.Expr) -> bool:
    """Is nothing lost without IGNORE NULLS, which sqlglot adds to any_value, for what it does?"""
    return all(isinstance(node.this, exp.AnyValue) for node in tree.find_all(exp.IgnoreNulls))


def compiled(tree: exp.Expr, dialect: str) -> exp.Expr:
    """Run the passes for a dialect over a copy of a parsed query."""
    root: exp.Expr = exp.Paren(this=tree.copy())  # a wrapper: a pass may replace the root
    for pass_ in PASSES:
        if dialect in pass_.dialects:
            pass_.run(root, dialect)
    result: exp.Expr = root.this
    return result


def settings(dialect: str) -> str:
    """Return the clause that ends a statement, without which its numbers are others."""
    chosen = ", ".join(f"{name} = {value}" for name, value in _SETTINGS.get(dialect, {}).items())
    return f"SETTINGS {chosen}" if chosen else ""


def keeps_materialized(dialect: str) -> bool:
    """Does the dialect know `WITH x AS MATERIALIZED`?"""
    return dialect in (NATIVE, "postgres")


def name(text: str, dialect: str) -> str:
    """Spell the name of a CTE or column."""
    if dialect == NATIVE:
        return quoted(text)
    identifier = exp.to_identifier(text)
    assert identifier is not None
    return identifier.sql(_PRINTED_AS.get(dialect, dialect))


def check(tree: exp.Expr, dialect: str) -> None:
    """Refuse what means something else, or nothing, outside of DuckDB.

    Raises:
        UsageError: the query has such a construct.
    """
    for problem in problems(tree):
        raise UsageError(
            f"{dialect}: {problem.found} cannot be written for other systems ({problem.why}); "
            f"instead: {problem.instead}"
        )


def _all(tree: exp.Expr, *kinds: type[exp.Expr]) -> Iterator[exp.Expr]:
    """Find nodes, the inner ones first: a pass may put a copy in the place of an outer one."""
    yield from reversed([node for node in tree.walk() if isinstance(node, kinds)])


def _double(value: exp.Expr) -> exp.Cast:
    return exp.cast(value.copy(), "double")


def _is_double(value: exp.Expr) -> bool:
    """Is it certainly a double, whatever the columns are?"""
    inner = value.unnest()
    if isinstance(inner, exp.Cast):
        return inner.to.this in (exp.DType.DOUBLE, exp.DType.FLOAT)
    if isinstance(inner, exp.Mul | exp.Add | exp.Sub):
        return _is_double(inner.this) or _is_double(inner.expression)
    return isinstance(inner, exp.Div | exp.Sqrt | exp.Ln | exp.Exp)


# ---- rows from a function: what is replaced first, as long as all is in DuckDB's SQL ------------


@_pass(*_OTHERS)
def _numbers(tree: exp.Expr, dialect: str) -> None:
    """Count as the dialect does where DuckDB has `unnest(generate_series(1, n))`, or by digits:
    some have functions that take constants only, or end at 10,000, or stand in FROM."""
    for cte in list(tree.find_all(exp.CTE)):
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
        for stand_in in list(digits.find_all(exp.Column)):
            if stand_in.name == _LAST:
                stand_in.replace(last.copy())
        query = cte.parent
        assert isinstance(query, exp.With)
        names = {other.alias for other in query.expressions} - {cte.alias}
        new = [one for one in digits.find_all(exp.CTE) if one.alias not in names]
        place = query.expressions.index(cte)
        query.set(
            "expressions", [*query.expressions[:place], *new, *query.expressions[place + 1 :]]
        )


def _counting(last: exp.Expr, dialect: str) -> exp.Expr | None:
    """Return the function of a dialect that returns rows with the numbers 1, 2, … `last`."""
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


# ---- arithmetic: what would run and be wrong -----------------------------------------------------


@_pass(*_OTHERS)
def _doubles(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Make `0.5` and `1e15` doubles: elsewhere they are exact decimals, and averages of them are
    cut after a few digits."""
    for node in _all(tree, exp.Literal):
        whole = node.is_string or node.name.isdigit()
        if not whole and not isinstance(node.parent, exp.Cast | exp.DataTypeParam):
            node.replace(_double(node))


_SAFE = "divisor is not 0"


def mark_as_safe(division: exp.Div) -> None:
    """Say of a division that its divisor is never 0, so that no dialect needs a guard."""
    division.meta[_SAFE] = True


def is_safe(division: exp.Expr) -> bool:
    """Is the divisor of a division never 0?"""
    return division._meta is not None and _SAFE in division._meta


def guard_again(division: exp.Div) -> None:
    """Take back `mark_as_safe`: divide by NULL instead of 0."""
    del division.meta[_SAFE]
    zero = exp.Literal.number(0)
    division.set("expression", exp.Nullif(this=division.expression, expression=zero))


@_pass(*_OTHERS)
def _divisions(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Divide doubles, and by NULL instead of 0: elsewhere 1 / 2 is 0, or 1 / 0 an error."""
    for node in _all(tree, exp.Div):
        assert isinstance(node, exp.Div)
        divisor = node.expression.unnest()
        constant = divisor.this if isinstance(divisor, exp.Cast) else divisor
        if not isinstance(constant, exp.Literal | exp.Nullif) and not is_safe(node):
            node.set("expression", exp.Nullif(this=divisor, expression=exp.Literal.number(0)))
        if not _is_double(node.this):
            node.set("this", _double(node.this.unnest()))
        node.set("typed", True)  # sqlglot adds no casts or guards of its own
        node.set("safe", False)


@_pass(*_OTHERS)
def _wide_integers(tree: exp.Expr, dialect: str) -> None:
    """Give sums of units of 1e-15 an exact type of 38 digits: only DuckDB and ClickHouse have
    integers of 128 bits."""
    types = {"clickhouse": "INT128", "bigquery": "BIGDECIMAL", "postgres": "DECIMAL"}
    wide = exp.DataType.build(types.get(dialect, "DECIMAL(38, 0)"))
    for node in _all(tree, exp.DataType):
        if node.this == exp.DType.INT128:
            node.replace(wide.copy())


@_pass("clickhouse")
def _unseen_values(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Cast what is rounded to whole numbers without looking behind NULL: ClickHouse casts the
    value that stands there too, and fails if it is infinite."""
    for node in _all(tree, exp.Cast):
        assert isinstance(node, exp.Cast)
        if node.to.this == exp.DType.INT128 and isinstance(node.this, exp.Round):
            node.replace(exp.Anonymous(
                this="accurateCastOrNull",
                expressions=[node.this.copy(), exp.Literal.string("Int128")],
            ))  # fmt: skip


@_pass("postgres", "redshift")
def _tiny_powers(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Keep powers of 2 above 2^-1000: Postgres fails where others give 0."""
    for node in _all(tree, exp.Pow):
        if node.this == exp.Literal.number(2) and not isinstance(node.expression, exp.Literal):
            smallest = exp.Neg(this=exp.Literal.number(1000))
            node.set(
                "expression", exp.Greatest(this=node.expression.unnest(), expressions=[smallest])
            )


@_pass("bigquery", "snowflake")
def _single_precision(tree: exp.Expr, dialect: str) -> None:
    """Refuse scores in single precision: these dialects take the name of the type, and compute in
    double precision."""
    for node in _all(tree, exp.DataType):
        if node.this == exp.DType.FLOAT:
            raise UsageError(
                f"{dialect} has no numbers of single precision (score_type=float); leave that "
                "setting out, or round the scores before they get there"
            )


@_pass("bigquery", "trino", "athena")
def _least_of_known(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Let LEAST and GREATEST pass over NULL: in these dialects one NULL makes the result NULL, and
    NULL as k stands for a whole list."""
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


# ---- functions: what has another name, or is not there ------------------------------------------


@_pass("postgres", "redshift", "clickhouse", "datafusion")
def _binary_logarithms(tree: exp.Expr, dialect: str) -> None:
    """Spell log2: Postgres has LOG(2, x) for decimals only, and fails at 0; ClickHouse's LOG takes
    one number."""
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
    """Give log2 back to the dialect, which has it as a logarithm to a base."""
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
    """Spell quantiles: for Spark, sqlglot writes an approximation, ClickHouse has names of its own,
    DataFusion interpolates with 6 digits, Redshift sorts by one column in a query, and BigQuery,
    Trino and Athena know approximations only."""
    for node in _all(tree, exp.Median, exp.PercentileCont, exp.PercentileDisc):
        share = node.args.get("expression") or _double(exp.Literal.number("0.5"))
        known = share.unnest()
        while isinstance(known, exp.Cast):
            known = known.this
        low = isinstance(node, exp.PercentileDisc)
        is_median = float(known.name) == 0.5
        missing = {
            "bigquery": True, "trino": True, "athena": True, "redshift": True,
            "datafusion": low or not is_median, "clickhouse": low and not is_median,
        }  # fmt: skip
        if missing.get(dialect):
            raise UsageError(
                f"{dialect} has no exact {'lower ' if low else ''}quantile as an aggregate, which ",
                "aggregate=median, aggregate=quantile and ", Argument("ci", "bootstrap"), " need",
                remedy=Message(
                    "take ", Argument("per_user", True), ", and the quantile of its result"
                ),
            )  # fmt: skip
        node.replace(_quantile(dialect, low, node.this.copy(), share.copy(), known.copy()))


def _quantile(
    dialect: str, low: bool, value: exp.Expr, share: exp.Expr, known: exp.Expr
) -> exp.Expr:
    if dialect == "clickhouse":
        function = "quantileExactLow" if low else "quantileExactInclusive"
        return exp.ParameterizedAgg(this=function, expressions=[known], params=[value])
    if dialect == "datafusion":
        return exp.Anonymous(this="median", expressions=[value])
    if dialect in ("spark", "databricks") and not low:
        return exp.Anonymous(this="percentile", expressions=[value, share])
    function = "percentile_disc" if low else "percentile_cont"
    # NULL is left out wherever it would stand; Spark takes no word on that
    order = exp.Ordered(this=value, nulls_first=dialect in ("spark", "databricks"))
    return exp.WithinGroup(
        this=exp.Anonymous(this=function, expressions=[share]),
        expression=exp.Order(expressions=[order]),
    )


@_pass("clickhouse")
def _deviations_of_one(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Give no standard deviation of a single value: ClickHouse says NaN."""
    for node in _all(tree, exp.StddevSamp):
        several = exp.GT(this=exp.Count(this=node.this.copy()), expression=exp.Literal.number(1))
        node.replace(exp.Case(ifs=[exp.If(this=several, true=node.copy())]))


@_pass("clickhouse", "datafusion")
def _signed_counts(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Make counts and places signed: without a sign, the difference of two places wraps round in
    DataFusion, and has no common type with other numbers in ClickHouse."""
    for node in _all(tree, exp.Count, exp.RowNumber, exp.Rank):
        whole = node.parent if isinstance(node.parent, exp.Window) else node
        whole.replace(exp.cast(whole.copy(), "bigint"))


@_pass(*(dialect for dialect in _OTHERS if dialect != "postgres"))
def _collations(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Drop COLLATE "C": they order texts by their bytes anyway, and spell it in other ways."""
    for node in _all(tree, exp.Collate):
        node.replace(node.this)


@_pass(*_OTHERS)
def _times_in_utc(tree: exp.Expr, dialect: str) -> None:
    """Put points in time with a zone into UTC: elsewhere, their year and month are those of the
    session's time zone, or of the column's."""
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


# ---- lists as rows ------------------------------------------------------------------------------


@_pass(*_OTHERS)
def _rows_of_lists(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Join with the rows of a list where DuckDB makes them in the SELECT, and write a SELECT for
    each column of a vector in several columns: elsewhere, functions that return rows stand in FROM,
    and lists of columns have other types."""
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
    """Find the functions that return the entries of a list, or their places."""
    return [
        node
        for node in tree.find_all(exp.Explode, exp.Anonymous)
        if isinstance(node, exp.Explode) or node.name.lower() == "generate_subscripts"
    ]


def _rows_of_columns(select: exp.Select, vector: exp.Case) -> exp.Expr:
    """Write a SELECT for each column of a vector: its place, and its number."""
    parts = [part for array in vector.find_all(exp.Array) for part in array.expressions]
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
    """Turn a list into rows as each dialect does; sqlglot lets places start at 0 in some."""
    for join in _all(tree, exp.Join):
        unnest = join.this
        if not isinstance(unnest, exp.Unnest):
            continue
        select = join.parent
        assert isinstance(select, exp.Select)
        column = unnest.expressions[0]
        (value,) = (name.name for name in unnest.args["alias"].columns)
        place = unnest.args["offset"].name
        if dialect in ("spark", "databricks", "bigquery"):  # places from 0 up
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
                f"{dialect}: the column {column.name} holds lists, whose rows lose their types "
                "there; make a view with one row per value"
            )


def _replace_column(select: exp.Select, name: str, by: exp.Expr) -> None:
    """Put something else in the place of a column of the rows of a list."""
    for column in list(select.find_all(exp.Column)):
        if column.table == "entry" and column.name == name:
            column.replace(by.copy())


# ---- names and order ----------------------------------------------------------------------------


@_pass("clickhouse")
def _aliases(tree: exp.Expr, dialect: str) -> None:  # noqa: ARG001
    """Name every column of a SELECT: of a join of three tables, ClickHouse calls `r.user_id` just
    that."""
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
    """Count the rows up to the last equal one from the other end: Redshift has frames of rows
    alone."""
    for node in _all(tree, exp.Window):
        spec = node.args.get("spec")
        if spec is None or spec.args.get("kind") != "RANGE" or not isinstance(node.this, exp.Count):
            continue
        order = [
            exp.Ordered(this=one.this.copy(), desc=not one.args.get("desc"))
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
    """Drop NULLS LAST in windows, which BigQuery lacks; what is ordered by is never NULL."""
    for window in _all(tree, exp.Window):
        for node in _all(window, exp.Ordered):
            node.set("nulls_first", not node.args.get("desc"))


@_pass("databricks", "snowflake", "bigquery", "trino", "athena", "redshift")
def _recursion(tree: exp.Expr, dialect: str) -> None:
    """Refuse recursion: these dialects do not allow window functions inside of it, or limit it."""
    for node in _all(tree, exp.With):
        if node.args.get("recursive"):
            raise UsageError(
                f"{dialect}: recursive queries are not printed for it, since they allow no window "
                "functions there or are limited otherwise; write as many steps as there may be, by "
                "a loop of the template"
            )


@_pass(*DIALECTS)
def _tables(tree: exp.Expr, dialect: str) -> None:
    """Name tables as the user does: in the spelling of the dialect, or by references such as
    {{ ref('recs') }}, which another program fills in."""
    for node in _all(tree, exp.Table):
        given = node.name.removeprefix(_TABLE) if node.name.startswith(_TABLE) else ""
        # a table of a connection may be called so too; it comes with its schema
        if is_reference(given or node.name) and not node.args.get("db"):
            node.set("this", exp.Var(this=given or node.name))
        elif given:
            named = table_of(given, dialect)
            for part in _PARTS:
                node.set(part, named.args.get(part))


def is_reference(text: str) -> bool:
    """Is it one reference that dbt fills in, and no text beside it?"""
    return _REFERENCE.fullmatch(text.strip()) is not None


def table(text: str) -> str:
    """Spell a table of the user's so that it stands in a query until the query is printed."""
    return quoted(_TABLE + text.strip())


def tables_named(tree: exp.Expr) -> set[str]:
    """List the tables of the user's that a query names without a schema, in lower case."""
    given = (node.name.removeprefix(_TABLE) for node in tree.find_all(exp.Table)
             if node.name.startswith(_TABLE))  # fmt: skip
    return {name.strip('"`').lower() for name in given if not is_reference(name)}


def table_of(text: str, dialect: str) -> exp.Table:
    """Read the name of a table as the dialect spells it.

    Raises:
        UsageError: it is no name of a table.
    """
    try:
        table = exp.to_table(text, dialect=_PRINTED_AS.get(dialect, dialect))
    except SqlglotError:
        table = None
    parts = [] if table is None else list(filter(None, map(table.args.get, _PARTS)))
    plain = all(isinstance(part, exp.Identifier) for part in parts)
    # sqlglot takes any other text for a name that lacks its quotes, and clauses behind a name
    unquoted = any(
        part.args.get("quoted") and not re.search(rf'["`\[]{re.escape(part.name[:1])}', text)
        for part in parts
    )
    more = table is not None and any(v for name, v in table.args.items() if name not in _PARTS)
    if table is None or not plain or unquoted or more or table.name == "":
        raise UsageError(
            f"{text!r} is no name of a table for {dialect}: write TABLE, SCHEMA.TABLE or "
            "DATABASE.SCHEMA.TABLE, with names in quotes as the dialect has them"
        )
    return table
