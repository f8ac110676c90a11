"""Exact sums replace `sum(x)` where per-user values must not depend on the order of rows.

A sum of doubles depends on the order of rows in its last digits; a sum of integers does not. Terms
are therefore summed as integer multiples of 1e-15, which gives the same value for any order of rows
and any number of threads. Templates name the columns with such sums (`exact`). The sums are marked
in the parsed query, and the marks survive fusion. Printed queries have plain sums.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection

from sqlglot import exp

from sqlmetrics.sql.query_graph import Same
from sqlmetrics.sql.trees import find_all

_MARK = "exact"
_UNITS = "1e15"
_NUMBER = re.compile(r"_\d+$")


def mark(tree: exp.Expr, columns: Collection[str]) -> None:
    """Mark the sums in the named columns of a parsed query, in place.

    `weight_N` names the columns weight_0, weight_1, and so on.
    """
    for column in find_all(tree, exp.Alias):
        if column.alias in columns or _NUMBER.sub("_N", column.alias) in columns:
            for total in find_all(column.this, exp.Sum):
                total.meta[_MARK] = True


def exact(tree: exp.Expr) -> exp.Expr | None:
    """Return a copy of a query in which the marked sums are exact, or None if no sum is marked.

    All evaluators of the process share the copy; callers must not change it.
    """
    return _exact(Same(tree))


@functools.lru_cache(maxsize=1024)
def _exact(of: Same[exp.Expr]) -> exp.Expr | None:
    if not any(_is_marked(total) for total in find_all(of.value, exp.Sum)):
        return None
    tree = of.value.copy()
    for total in [total for total in find_all(tree, exp.Sum) if _is_marked(total)]:
        del total.meta[_MARK]
        whole = total.parent if isinstance(total.parent, exp.Window) else total
        _scale(total)
        share = exp.Paren()  # detach the sum from its parent first
        whole.replace(share)
        share.set("this", exp.Div(this=whole, expression=exp.Literal.number(_UNITS)))
    return tree


def _scale(total: exp.Sum) -> None:
    """Sum integer multiples of 1e-15.

    Terms are scaled inside conditions such as `rank <= 10`, so that an engine that sums them for
    several cutoffs scales them once.
    """
    term, place, name = total.this, total, "this"
    if isinstance(term, exp.Case) and len(term.args["ifs"]) == 1 and not term.args.get("default"):
        place, name = term.args["ifs"][0], "true"
        term = place.args[name]
    scaled = exp.Mul(this=exp.Paren(this=term), expression=exp.Literal.number(_UNITS))
    place.set(name, exp.cast(exp.Round(this=scaled), "hugeint"))


def _is_marked(total: exp.Sum) -> bool:
    return total._meta is not None and _MARK in total._meta
