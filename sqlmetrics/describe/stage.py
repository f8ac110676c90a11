"""Describe a stage: its columns, its query, and the templates that read it."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path

from sqlglot import exp

from sqlmetrics.describe.column_docs import described
from sqlmetrics.describe.metric import standard_values
from sqlmetrics.errors import SqlmetricsError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import STANDARD, Convention
from sqlmetrics.metrics.front_matter import Metric, Template
from sqlmetrics.metrics.requests import cutoff_context
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import Value
from sqlmetrics.plan.planner import Planner
from sqlmetrics.sql import arithmetic, statement
from sqlmetrics.sql.binding import names_read
from sqlmetrics.sql.query_graph import parse

_KEYS = {"user_id": "user; with other user keys, these columns"}


def describe_stage(catalog: Catalog, name: str, convention: str | Path = STANDARD) -> str:
    """Describe a stage: its columns and query under a convention, and the templates that read it.

    Raises:
        UsageError: there is no such convention.
    """
    stage = catalog.stages[name]
    values = {**_shared_values(catalog, convention), **cutoff_context([None])}
    planner = Planner(catalog, {})
    text = planner.text(stage, values)
    tree = arithmetic.apply(parse(text.sql, text.where))
    read = list(names_read(text.sql, text.where))
    facts = [
        ("reads", ", ".join(read)),
        *(
            (f"read by {kind}", ", ".join(names))
            for kind, names in readers(catalog, name).items()
            if names
        ),
        ("template", str(stage.path)),
    ]
    lines = [f"stage {stage.name}: {stage.title}", ""]
    width = max(len(label) for label, _ in facts) + 2
    lines += [f"{label + ':':<{width}}{text}" for label, text in facts]
    parents = [catalog.stages[parent] for parent in read if parent in catalog.stages]
    assert isinstance(tree, exp.Query)
    columns = {name: described(name, [*parents, stage]) for name in tree.named_selects}
    columns = {name: columns[name] or _KEYS.get(name, "") for name in columns}
    width = max(map(len, columns), default=0)
    lines += ["", "columns:"]
    lines += [f"  {name:<{width}}  {text}".rstrip() for name, text in columns.items()]
    lines += ["", "query over its stages:", "", statement.query(tree)]
    return "\n".join(lines) + "\n"


def readers(catalog: Catalog, name: str) -> Mapping[str, list[str]]:
    """Return the stages, metrics, slices and checks whose queries read a stage or table.

    The queries are those under the standard convention.
    """
    kinds: Mapping[str, Iterable[Template]] = {
        "stages": catalog.stages.values(),
        "metrics": catalog.metrics.values(),
        "slices": catalog.slices.values(),
        "checks": catalog.checks.values(),
    }
    return {
        kind: [template.name for template in templates if name in _read_by(catalog, template)]
        for kind, templates in kinds.items()
    }


def _read_by(catalog: Catalog, template: Template) -> Iterable[str]:
    """Return what a template reads under the standard convention; nothing if it refuses it."""
    try:
        if isinstance(template, Metric):
            values = standard_values(catalog, template)
        else:
            own = {param.name: param.default for param in template.params.values()}
            values = {**_shared_values(catalog), **own}
        text = Planner(catalog, {}).text(template, {**values, **cutoff_context([None])})
    except SqlmetricsError:
        return ()
    return names_read(text.sql, text.where)


@functools.lru_cache(maxsize=4)
def _shared_values(catalog: Catalog, convention: str | Path = STANDARD) -> dict[str, Value]:
    return Settings(catalog, Convention.load(convention), {}).values()
