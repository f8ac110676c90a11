"""Conditions on the rows of a table (`--where`): parsed and checked, never passed on as raw SQL.

A condition is parsed, every construct in it must be allowed (`sql/allowed.py`), and queries contain
the printed syntax tree. A condition is therefore one expression on the columns of a row, in every
dialect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlglot
from sqlglot import errors, exp

from sqlmetrics.engines.base import Engine
from sqlmetrics.errors import DataError, UnreadableError, UsageError, suggestion
from sqlmetrics.sql import arithmetic
from sqlmetrics.sql.allowed import CONDITIONS, TYPES_OF_CONDITIONS
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.templates import render_file
from sqlmetrics.texts.wording import listed

_DUCKDB = "duckdb"
_ALIAS = "source"  # alias of the table in the templates that read it
_DEEPEST = 200  # maximum nesting: engines and parsers recurse once per level


_ALLOWED = (
    "a condition may use columns, values, comparisons, AND, OR, NOT, IN, BETWEEN, IS NULL, LIKE, "
    "CASE, CAST, arithmetic and functions such as lower, length, abs, round, coalesce and year"
)


def check_tables(where: Mapping[str, str], known: Iterable[str], given: Iterable[str]) -> None:
    """Check that every condition applies to a table that was given.

    Raises:
        UsageError: names the condition.
    """
    if not isinstance(where, Mapping):
        raise UsageError(f"where must be a dict {{table: condition}}, not {where!r}")
    known, given = list(known), list(given)
    for table, condition in where.items():
        if table not in known:
            raise UsageError(
                f"where {table}={condition}: unknown table {table!r}"
                f"{suggestion(str(table), known)}; write TABLE=CONDITION. The tables are "
                + ", ".join(known)
            )
        if not isinstance(condition, str):
            raise UsageError(
                f"where: the condition on {table} must be a text such as 'rating >= 4', not "
                f"{condition!r}"
            )
        if table not in given:
            raise UsageError(f"{_named(table, condition)}: the table was not given")


def read_condition(table: str, condition: str, columns: Mapping[str, str] | None) -> str:
    """Read a condition, and return it in DuckDB's SQL over the columns of `source`.

    Args:
        table: the table of the condition.
        condition: one SQL expression, with the column names of the source.
        columns: the columns and their types; None if the columns are not known.

    Raises:
        UsageError: the condition is not allowed; names the condition and the rejected part.
    """
    name = _named(table, condition)
    tree = _parsed(name, condition)
    _check_depth(name, tree)
    for node in list(tree.walk()):
        if problem := _problem(node):
            raise UsageError(f"{name}: {problem} is not allowed; {_ALLOWED}")
    root = exp.Paren(this=tree)  # a wrapper, because the tree may be a single column
    for column in list(root.find_all(exp.Column)):
        column.replace(_column(name, table, column, columns))
    for division in list(root.find_all(exp.Div, exp.Mod)):
        arithmetic.guarded_division(division)
    for distinct in list(root.find_all(exp.NullSafeEQ, exp.NullSafeNEQ)):
        # DataFusion parses `a IS DISTINCT FROM b OR c` as `a IS DISTINCT FROM (b OR c)`
        distinct.replace(exp.Paren(this=distinct.copy()))
    # expressions that are not boolean, rejected if no table is available to infer the type
    not_boolean = (
        exp.Literal, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.DPipe, exp.Interval,
    )  # fmt: skip
    if columns is None and isinstance(root.this.unnest(), not_boolean):
        raise UsageError(f"{name}: the condition is not boolean; {_ALLOWED}")
    text: str = root.this.sql(_DUCKDB, normalize_functions="lower")
    return text


def columns_of(text: str) -> set[str]:
    """Return the columns that a condition reads; `text` is as `read_condition` returns it."""
    return {column.name for column in sqlglot.parse_one(text, read=_DUCKDB).find_all(exp.Column)}


def check_rows(
    engine: Engine, table: str, condition: str, text: str, relation: str, label: str
) -> None:
    """Check that a condition is boolean and matches a row.

    Args:
        engine: reads the table.
        table: the table of the condition.
        condition: the condition as it was given.
        text: the condition as `read_condition` returns it.
        relation: the relation of the table in the engine.
        label: the name of the table in messages.

    Raises:
        UsageError: the condition is not boolean.
        DataError: the condition cannot be computed, or matches no row.
    """
    name = _named(table, condition)
    context = {"table": table, "condition": text, "relation": relation}

    def ask(template: str) -> list[dict[str, object]]:
        query = render_file(f"inputs/{template}", context)
        try:
            return engine.query(query, label)
        except DataError as error:
            reason = error.reason if isinstance(error, UnreadableError) else error
            problem = f"{name}: the condition cannot be computed from {label}: "
            raise DataError(problem, reason, table=table) from error

    for row in ask("condition_type"):
        held = str(row["held"]).strip('"')
        if held.upper() != "BOOLEAN":
            raise UsageError(
                f"{name}: the condition has the type {held}, not BOOLEAN; add a comparison"
            )
    (counts,) = ask("condition")
    if counts["n_rows"] and not counts["n_kept"]:
        raise DataError(
            f"{name}: the condition matches none of the {counts['n_rows']:,} rows of {label}",
            table=table,
            remedy="check the values in the condition",
        )


def _named(table: str, condition: str) -> str:
    shown = condition if len(condition) <= 200 else f"{condition[:200]}…"
    return f"where {table}={shown}"


def _parsed(name: str, condition: str) -> exp.Expr:
    dialect = sqlglot.Dialect.get_or_raise(_DUCKDB)
    if "\0" in condition:
        raise UsageError(f"{name}: a condition cannot have a NUL character; remove it")
    try:
        tokens = dialect.tokenize(condition)
        if any(token.comments for token in tokens):
            raise UsageError(f"{name}: comments are not allowed; remove them")
        if any(token.token_type.name == "SEMICOLON" for token in tokens):
            raise UsageError(
                f"{name}: several statements are not allowed; write one condition, without ;"
            )
        if not tokens:
            raise UsageError(f"{name}: the condition is empty")
        (tree,) = dialect.parse_into(exp.Condition, condition)
    except (errors.SqlglotError, ValueError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{name}: the text is not a valid SQL condition; {_ALLOWED}") from None
    except RecursionError:
        raise _too_deep(name) from None
    assert isinstance(tree, exp.Expr)
    return tree


def _check_depth(name: str, tree: exp.Expr) -> None:
    level: list[exp.Expr] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in node.iter_expressions()]
        if not level:
            return
    raise _too_deep(name)


def _too_deep(name: str) -> UsageError:
    return UsageError(
        f"{name}: the condition has more than {_DEEPEST} levels of nesting, AND or OR; write "
        "x IN (…) for many values"
    )


def _problem(node: exp.Expr) -> str | None:
    """Return the name of a construct that is not allowed, or None."""
    if isinstance(node, exp.Query | exp.Subquery | exp.Exists | exp.All | exp.Any):
        return "a subquery"
    if isinstance(node, exp.Window):
        return "a window function"
    if isinstance(node, exp.AggFunc):
        return f"an aggregate ({_function(node)})"
    if isinstance(node, exp.Star | exp.Columns):
        return "*"
    if isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter):
        return f"a placeholder ({node.sql(_DUCKDB)})"
    if isinstance(node, exp.DataType) and node.this not in TYPES_OF_CONDITIONS:
        return f"the type {node.sql(_DUCKDB)}"
    if isinstance(node, exp.In) and not node.expressions:
        return "a subquery" if node.args.get("query") else "IN without a list of values"
    if isinstance(node, exp.Round) and node.args.get("decimals"):
        return "round with digits, which some systems lack,"
    if type(node) in CONDITIONS:
        return None
    if isinstance(node, exp.Func):
        return f"the function {_function(node)}"
    return f"{node.sql(_DUCKDB)}"


def _function(node: exp.Func) -> str:
    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
    return str(name).lower()


def _column(
    name: str, table: str, column: exp.Column, columns: Mapping[str, str] | None
) -> exp.Column:
    """Find a column by its name, ignoring case if there is no exact match."""
    wanted = column.name
    if column.args.get("db") or column.table not in ("", table):
        raise UsageError(
            f"{name}: {column.sql(_DUCKDB)} is not a column of {table}; write the column name "
            "without a prefix"
        )
    actual: str | None = wanted
    if columns is not None:
        lowered = {column.lower(): column for column in columns}
        actual = wanted if wanted in columns else lowered.get(wanted.lower())
    if actual is None:
        assert columns is not None
        close = suggestion(wanted, columns)
        raise UsageError(
            f"{name}: {table} has no column {wanted!r}{close or '.'} It has {listed(columns)}. "
            "Use the column names of the source, and enclose texts in single quotes"
        )
    return exp.column(exp.to_identifier(actual, quoted=identifier(actual) != actual), table=_ALIAS)
