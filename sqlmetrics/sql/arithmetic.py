"""Rewrite the arithmetic of parsed SQL; nearly all passes apply to every query and engine.

Each pass takes a node of the tree and replaces it if needed.
"""

from __future__ import annotations

from sqlglot import exp

from sqlmetrics.sql.trees import find_all, walk

_MEANS = (exp.Avg, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)


def apply(tree: exp.Expr) -> exp.Expr:
    """Apply all passes to a parsed query, in place."""
    for node in walk(tree):
        if isinstance(node, exp.Literal):
            doubles(node)
        elif isinstance(node, exp.Div):
            guarded_division(node)
        elif isinstance(node, exp.Log):
            native_log2(node)
    return tree


def doubles(node: exp.Literal) -> None:
    """Turn decimal literals into doubles, so that `0.1 * x` is not exact decimal arithmetic.

    Literals with an exponent are doubles already.
    """
    if not node.is_string and "." in node.name and "e" not in node.name.lower():
        node.replace(exp.cast(node.copy(), "double"))


def guarded_division(node: exp.Binary) -> None:
    """Make `a / b` NULL if b is 0, instead of infinity or an error."""
    divisor = node.expression
    while isinstance(divisor, exp.Paren):
        divisor = divisor.this
    if not _is_not_zero(divisor):
        node.set("expression", exp.Nullif(this=divisor, expression=exp.Literal.number(0)))


def _is_not_zero(divisor: exp.Expr) -> bool:
    """Return whether a divisor is a non-zero number, or NULL instead of 0."""
    if isinstance(divisor, exp.Nullif):
        return bool(divisor.expression == exp.Literal.number(0))
    is_number = isinstance(divisor, exp.Literal) and not divisor.is_string
    return is_number and bool(float(divisor.name))


def native_log2(node: exp.Log) -> None:
    """Write the logarithm to base 2 as `log2`, which is exact, unlike `log(2, x)`."""
    if node.expression and node.this == exp.Literal.number(2):
        node.replace(exp.Anonymous(this="log2", expressions=[node.expression]))


def means_of_doubles(tree: exp.Expr) -> None:
    """Average doubles, for other dialects than that of DuckDB, in which every mean is a double.

    A mean of whole numbers is whole in Redshift, and has 6 decimals in Snowflake. Spark, Trino and
    BigQuery shorten means of decimals. Simplification removes needless casts.
    """
    for node in reversed(find_all(tree, *_MEANS)):  # copies hold the means inside
        value = node.this.expressions[0] if isinstance(node.this, exp.Distinct) else node.this
        is_case = isinstance(value, exp.Case) and len(value.args["ifs"]) == 1
        if is_case and value.args.get("default") is None:
            value = value.args["ifs"][0].args["true"]
        if not isinstance(value.unnest(), exp.Div):
            value.replace(exp.cast(value.copy(), "double"))
