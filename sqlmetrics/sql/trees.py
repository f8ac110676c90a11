"""Walk parsed queries; sqlglot's own ways also visit the parts of names, and take longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from sqlglot import exp

_Node = TypeVar("_Node", bound=exp.Expr)
_LEAVES = frozenset({exp.Column, exp.Identifier, exp.Literal})


def walk(
    tree: exp.Expr, without: Sequence[exp.Expr] = (), stops: tuple[type[exp.Expr], ...] = ()
) -> list[exp.Expr]:
    """Return the nodes of a tree, each before those inside of it.

    `without`: omit these nodes, and all inside of them. `stops`: do not look into nodes of
    these kinds other than the tree itself. It never looks into columns;
    names and literals have no nodes inside.
    """
    out = {id(node) for node in without}
    found, left = [], [tree]
    while left:
        node = left.pop()
        if out and id(node) in out:
            continue
        found.append(node)
        if type(node) in _LEAVES or (stops and isinstance(node, stops) and node is not tree):
            continue
        for value in reversed(node.args.values()):
            if value is None or value is False:  # most of them
                continue
            if type(value) is list:
                left += [item for item in reversed(value) if isinstance(item, exp.Expr)]
            elif isinstance(value, exp.Expr):
                left.append(value)
    return found


def find_all(
    tree: exp.Expr,
    *kinds: type[_Node],
    without: Sequence[exp.Expr] = (),
    stops: tuple[type[exp.Expr], ...] = (),
) -> list[_Node]:
    """Find the nodes of some kinds in the order of `walk`."""
    return [node for node in walk(tree, without, stops) if isinstance(node, kinds)]
