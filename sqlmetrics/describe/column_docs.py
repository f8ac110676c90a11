"""Descriptions of columns, from the front matter of stages and from columns.toml."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping

from sqlmetrics.metrics.front_matter import Stage, template_root
from sqlmetrics.sql.query_graph import Node


def description(node: Node, column: str) -> str:
    """Return the description of a column of a query, or an empty text.

    Columns of the stages that a query reads keep their descriptions. `N` in the name of a described
    column stands for a number, which `{N}` in the description repeats.
    """
    stages = [query.stage for query in (*node.parents.values(), node)]
    return described(column, [stage for stage in stages if stage is not None])


def described(column: str, stages: Iterable[Stage]) -> str:
    """Return the description of a column, which the last of these stages that has one gives."""
    described = dict(_shared())
    for stage in stages:
        described |= stage.columns
    numbered = re.fullmatch(r"(\w+_)([0-9]+)", column)
    if column in described or numbered is None:
        return described.get(column, "")
    return described.get(f"{numbered[1]}N", "").replace("{N}", numbered[2])


@functools.cache
def _shared() -> Mapping[str, str]:
    path = template_root() / "columns.toml"
    descriptions: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8"))
    return descriptions
