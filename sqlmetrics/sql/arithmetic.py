"""Named rewrites of parsed SQL that fix arithmetic; applied to every query, for every engine.

Each takes one node of the tree and returns what stands in its place, or the node itself.
"""

from __future__ import annotations

from sqlglot import exp


def apply(tree: exp.Expr) -> exp.Expr:
    """Run all passes over a parsed query, in place."""
    for node in list(tree.walk()):
        if isinstance(node, exp.Literal):
            doubles(node)
        elif isinstance(node, exp.Div):
            guarded_division(node)
        elif isinstance(node, exp.Log):
            native_log2(node)
    return tree


def doubles(node: exp.Literal) -> None:
    """Turn decimal literals into doubles: `0.1 * x` must not be exact decimal arithmetic.

    Literals with an exponent are doubles already.
    """
    if not node.is_string and "." in node.name and "e" not in node.name.lower():
        node.replace(exp.cast(node.copy(), "double"))


def guarded_division(node: exp.Binary) -> None:
    """Make `a / b` NULL where b is 0, instead of infinity or an error."""
    divisor = node.expression
    while isinstance(divisor, exp.Paren):
        divisor = divisor.this
    if not _is_not_zero(divisor):
        node.set("expression", exp.Nullif(this=divisor, expression=exp.Literal.number(0)))


def _is_not_zero(divisor: exp.Expr) -> bool:
    """Is it a number other than 0, or NULL where it is 0?"""
    if isinstance(divisor, exp.Nullif):
        return bool(divisor.expression == exp.Literal.number(0))
    is_number = isinstance(divisor, exp.Literal) and not divisor.is_string
    return is_number and bool(float(divisor.name))


def native_log2(node: exp.Log) -> None:
    """Spell the logarithm to base 2 as `log2`, which is exact where `log(2, x)` need not be."""
    if node.expression and node.this == exp.Literal.number(2):
        node.replace(exp.Anonymous(this="log2", expressions=[node.expression]))
