"""Find the column that an own template reads although no table of its query has the column.

Only engines know all of their SQL, so that queries are searched after an engine has rejected one.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from sqlmetrics.errors import SqlmetricsError, TemplateError, suggestion
from sqlmetrics.metrics.definitions import Definitions
from sqlmetrics.metrics.front_matter import Metric, Stage, Template
from sqlmetrics.metrics.requests import cutoff_context
from sqlmetrics.metrics.spec import MetricSpec
from sqlmetrics.plan.planner import Planner
from sqlmetrics.sql.query_graph import Query
from sqlmetrics.texts.messages import TABLES
from sqlmetrics.texts.wording import listed


def unknown_column(definitions: Definitions, planner: Planner) -> TemplateError | None:
    """Return the error for the first own template that reads an unknown column; None without one.

    The error names the file, the line, the column and the columns that there are.
    """
    for template in planner.catalog.own:
        if isinstance(template, Metric | Stage) and not planner.has_planned(template.name):
            continue
        with contextlib.suppress(SqlmetricsError, SqlglotError):  # not the template in question
            query = _query(template, definitions, planner)
            for column, tables in _unknown(query):
                return _error(template, column, tables)
    return None


def _query(template: Template, definitions: Definitions, planner: Planner) -> Query:
    """Plan the query of a template under the first convention."""
    if isinstance(template, Metric):
        spec = MetricSpec(template.name)
        own = definitions.first.request(spec, definitions.has_rank).values
    else:
        of_template = {param.name: param.default for param in template.params.values()}
        own = {**definitions.values, **of_template}
    values: dict[str, Any] = {**own, **cutoff_context([None])}
    return planner.bound(template.name, planner.text(template, values), values)


def _unknown(query: Query) -> Iterator[tuple[str, Mapping[str, list[str]]]]:
    """Yield the columns that no table of their SELECT has, with the columns of these tables."""
    for scope in traverse_scope(query.tree):
        tables = {name: _columns(source, query) for name, source in scope.sources.items()}
        known = {name: columns for name, columns in tables.items() if columns is not None}
        select = scope.expression
        aliases = {made.alias.lower() for made in select.expressions if isinstance(made, exp.Alias)}
        for column in scope.columns:
            if column.table:
                there = {column.table: known[column.table]} if column.table in known else {}
            else:
                there = known if len(known) == len(tables) else {}
            names = {name.lower() for columns in there.values() for name in columns}
            outside = scope.is_correlated_subquery or column.name.lower() in aliases
            if there and column.name.lower() not in names and (column.table or not outside):
                yield column.name, there


def _columns(source: exp.Expr | Scope, query: Query) -> list[str] | None:
    """Return the columns of a table or subquery; None if they are not known."""
    if isinstance(source, Scope):
        names = getattr(source.expression, "named_selects", None)
        return None if names is None or "*" in names else list(names)
    parent = query.parents.get(source.name)
    if not isinstance(parent, Query):
        return None
    # the planner adds the cutoffs to the rows of such stages
    has_cutoff = parent.stage is not None and parent.stage.cutoff is not None
    return [*parent.columns, *(["k"] if has_cutoff else [])]


def _error(template: Template, column: str, tables: Mapping[str, list[str]]) -> TemplateError:
    lines = template.path.read_text(encoding="utf-8").splitlines()
    start = template.body[: len(template.body) - len(template.body.lstrip())].count("\n")
    word = re.compile(rf"(?<!\w){re.escape(column)}(?!\w)", re.IGNORECASE)
    code = [text.partition("--")[0] for text in lines]
    found = (n for n, text in enumerate(code, start=1) if n > start and word.search(text))
    line = next(found, None)
    place = f"{template.path}{'' if line is None else f', line {line}'}"
    every = [name for columns in tables.values() for name in columns]
    close = suggestion(column, every)
    if len(tables) == 1:
        ((table, columns),) = tables.items()
        there = f"{table} has no column {column!r}{close or '.'} It has {listed(columns)}"
    else:
        have = "; ".join(f"{table} has {listed(names)}" for table, names in tables.items())
        there = f"no table of the query has a column {column!r}{close or '.'} {have}"
    declared = [table for table in tables if table in TABLES]
    remedy = (
        f'to read a further column of your table, declare the column: {{{{ need("{declared[0]}", '
        f'"{column}") }}}}'
        if declared
        else ""
    )
    return TemplateError(f"{place}: {there}", remedy=remedy)
