"""Columns of the user's tables that only the user's own templates read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import jinja2

from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Check, Template
from sqlmetrics.sql.templates import environment
from sqlmetrics.tables.schema import COLUMNS

_FUNCTIONS = ("need", "need_time", "assume", "has")  # their arguments begin with table and column


def own_columns(catalog: Catalog) -> Mapping[str, list[str]]:
    """Return the columns of each table that own templates name and the built-in schema lacks.

    A template names a column with `need("users", "age")` or `has("users", "age")`, a check also
    with `needs = ["users.age"]` in its header.
    """
    found: dict[str, dict[str, None]] = {}
    for template in catalog.own:
        for table, column in _named(template):
            known = [name for names in COLUMNS.get(table, ()) for name in names]
            if table in COLUMNS and column not in known:
                found.setdefault(table, {})[column] = None
    return {table: list(columns) for table, columns in found.items()}


def _named(template: Template) -> Iterator[tuple[str, str]]:
    if isinstance(template, Check):
        for need in template.needs:
            table, dot, column = need.partition(".")
            if dot:
                yield table, column
    try:
        tree = environment().parse(template.body)
    except jinja2.TemplateSyntaxError:  # reported when the template is rendered
        return
    for call in tree.find_all(jinja2.nodes.Call):
        texts = [node.value for node in call.args[:2] if isinstance(node, jinja2.nodes.Const)]
        is_named = isinstance(call.node, jinja2.nodes.Name) and call.node.name in _FUNCTIONS
        if is_named and len(texts) == 2 and all(isinstance(text, str) for text in texts):
            yield texts[0], texts[1]
