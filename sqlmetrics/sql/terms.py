"""Take the value of a metric apart: the two sides of a fraction, and the terms of a sum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sqlmetrics.sql.fusion import Fusable, FusedSelect, Value
from sqlmetrics.sql.trees import find_all

_SIDES = ("numerator", "denominator")


def sides(parts: Fusable, k: int | None, keys: Sequence[str]) -> exp.Select | None:
    """Return a query for the two sides of a fraction at a cutoff; None if it is no fraction.

    Its columns are the keys, `numerator` and `denominator`, one row per list of the stage.
    """
    fraction = _bare(parts.values["value"])
    if not isinstance(fraction, exp.Div):
        return None
    operands = [_bare(operand) for operand in (fraction.this, fraction.expression)]
    if any(
        division.find_ancestor(exp.AggFunc) is None
        for operand in operands
        for division in find_all(operand, exp.Div)
    ):
        return None  # the formula names other sides
    select = FusedSelect(keys, parts)
    for name, operand in zip(_SIDES, operands, strict=True):
        own = replace(parts, values={name: operand})
        select.values.append(Value(own, k, name, name))
    return select.build()


def terms(parts: Fusable, k: int | None, keys: Sequence[str]) -> exp.Select | None:
    """Return a query for the terms of a sum at a cutoff, per rank; None if there is no single sum.

    Its columns are the keys, `rank` and `term`.
    """
    value = _bare(parts.values["value"])
    over = _bare(value.this) if isinstance(value, exp.Div) else value
    totals = [
        aggregate
        for aggregate in find_all(over, exp.AggFunc)
        if aggregate.find_ancestor(exp.AggFunc) is None
    ]
    if len(totals) != 1 or not isinstance(totals[0], exp.Sum | exp.Count):
        return None
    if isinstance(totals[0].this, exp.Distinct):
        return None
    select = FusedSelect(keys, parts)
    own = replace(parts, values={"term": totals[0]})
    select.values.append(Value(own, k, "term", "term"))
    tree = select.build()
    rank = parts.cutoff.copy()
    tree.select(exp.alias_(rank, "rank"), copy=False)
    tree.group_by(rank.copy(), copy=False)
    return tree


def _bare(tree: exp.Expr) -> exp.Expr:
    """Return an expression without parentheses and guards around it."""
    while True:
        if isinstance(tree, exp.Paren | exp.Nullif):
            tree = tree.this
        elif isinstance(tree, exp.Least) and isinstance(tree.this, exp.Literal):
            (tree,) = tree.expressions
        else:
            return tree
