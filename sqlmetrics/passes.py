"""Named rewrites of parsed SQL that fix arithmetic; applied to every query, for every engine."""

from __future__ import annotations

from sqlglot import exp


def apply(tree: exp.Expression) -> exp.Expression:
    """Run all passes over a parsed query."""
    for rewrite in (doubles, guarded_division, native_log2):
        tree = tree.transform(rewrite)
    return tree


def doubles(node: exp.Expression) -> exp.Expression:
    """Turn decimal literals into doubles: `0.1 * x` must not be exact decimal arithmetic.

    Literals with an exponent are doubles already.
    """
    if isinstance(node, exp.Literal) and not node.is_string and "." in node.name:
        parent = node.parent
        if "e" not in node.name.lower() and not isinstance(parent, exp.Cast):
            return exp.cast(node.copy(), "double")
    return node


def guarded_division(node: exp.Expression) -> exp.Expression:
    """Make `a / b` NULL where b is 0, instead of infinity or an error."""
    if isinstance(node, exp.Div):
        divisor = node.expression
        while isinstance(divisor, exp.Paren):
            divisor = divisor.this
        if not isinstance(divisor, exp.Literal | exp.Nullif):
            node = node.copy()
            node.set("expression", exp.Nullif(this=divisor.copy(), expression=exp.Literal.number(0)))
    return node


def native_log2(node: exp.Expression) -> exp.Expression:
    """Spell the logarithm to base 2 as `log2`, which is exact where `log(2, x)` need not be."""
    if isinstance(node, exp.Log) and node.expression and node.this == exp.Literal.number(2):
        return exp.Anonymous(this="log2", expressions=[node.expression.copy()])
    return node
