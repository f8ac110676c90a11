from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2.meta
import pytest
import sqlglot
from sqlfluff.core import FluffConfig, Linter
from sqlfluff.core.linter import LintedFile

from sqlmetrics import demo
from sqlmetrics.catalog import Catalog, Metric, Param, Template
from sqlmetrics.errors import DataError
from sqlmetrics.graph import Plan, Rendered
from sqlmetrics.plan import Planner
from sqlmetrics.render import environment, render, template_root
from sqlmetrics.settings import Convention, Settings
from sqlmetrics.spec import parse_spec
from sqlmetrics.tables import Source, SourceColumn, Table

ROOT = template_root()
FILES = sorted(ROOT.rglob("*.sql.j2"))
CATALOG = Catalog.load()
METRICS = list(CATALOG.metrics.values())
STAGES = list(CATALOG.stages.values())
METRIC_PARAMS = {name: param for metric in METRICS for name, param in metric.params.items()}
TEMPLATES: list[Template] = [*METRICS, *STAGES, *CATALOG.checks.values()]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# --- every choice that a template can see

NUMBERS: dict[str, list[float | None]] = {"relevant_from": [None, 0.5, 1, 3], "beta": [0.5, 1, 2]}
CUTOFFS = [
    {"cutoffs": [5, 10], "max_cutoff": 10},
    {"cutoffs": [10, None], "max_cutoff": None},
]


def table(
    name: str, columns: Mapping[str, str], models: tuple[str | None, ...] = (None,), **more: Any
) -> Table:
    sources = tuple(
        Source(
            f"{name}_file",
            f"{name}_file_in_order",
            tuple(SourceColumn(column, column, kind) for column, kind in columns.items()),
            name,
            model,
            **more,
        )
        for model in models
    )
    return Table(name, sources, columns)


RICH = {
    "recommendations": {"score": "DOUBLE", "rank": "BIGINT"},
    "interactions": {"relevance": "INTEGER", "timestamp": "TIMESTAMP"},
    "history": {"timestamp": "TIMESTAMP"},
    "items": {"price": "DOUBLE", "category": "VARCHAR[]", "features": "FLOAT[]"},
    "users": {"country": "VARCHAR"},
    "aspects": {"aspect": "VARCHAR"},
    "baseline": {"score": "DOUBLE"},
    "logs": {"reward": "INTEGER", "propensity": "DOUBLE"},
}
POOR = {name: {"rank": "DOUBLE"} if name == "recommendations" else {} for name in RICH}


def planner(
    several_models: bool = False, poor: bool = False, checked: bool = False, fuse: bool = True
) -> Planner:
    models = ("als", "popular") if several_models else (None,)
    keys = {"user_id": "BIGINT", "item_id": "BIGINT"}
    tables = {
        name: table(name, {**keys, **columns}, models if name == "recommendations" else (None,))
        for name, columns in (POOR if poor else RICH).items()
    }
    settings = Settings(CATALOG, Convention.load("standard"), {})
    return Planner(
        CATALOG, settings, tables, several_models=several_models, checked=checked, fuse=fuse
    )


def values_of(param: Param) -> list[Any]:
    if param.choices:
        return [choice for choice in param.choices if choice != "auto"]
    return NUMBERS[param.name]


def names_in(source: str) -> set[str]:
    return jinja2.meta.find_undeclared_variables(environment().parse(source))


def renderings(template: Template) -> Iterator[tuple[str, str]]:
    """Yield the SQL of a template for every choice that it looks at, and what was chosen."""
    used = names_in(template.body)
    params = {**METRIC_PARAMS, **CATALOG.stage_params, **template.params}
    choices = {name: values_of(params[name]) for name in params if name in used}
    if "score_is_read" in used:
        choices["order"] = values_of(params["order"])
    facts = {
        "checked": [False, True] if "checked" in used else [False],
        "poor": [False, True] if used & {"has", "has_table", "rank_is_whole"} else [False],
        "several_models": [False, True],
    }
    cutoffs = CUTOFFS if used & {"cutoffs", "max_cutoff"} else CUTOFFS[:1]
    defaults = {name: param.default for name, param in params.items()}
    for fact_values in itertools.product(*facts.values()):
        fact = dict(zip(facts, fact_values, strict=True))
        plans = planner(**fact)
        for cutoff in cutoffs:
            for chosen in itertools.product(*choices.values()):
                choice = dict(zip(choices, chosen, strict=True))
                values = {**defaults, **choice, **cutoff}
                label = f"{template.name} {fact} {cutoff} {choice}"
                try:
                    if isinstance(template, Metric):
                        text = plans.metric_text(template, values)
                    else:
                        text = render(template.body, plans._context(values), str(template.path))
                except DataError as error:
                    assert "relevant_from" in str(error)
                    continue
                yield label, text


def plans() -> Iterator[tuple[str, Plan]]:
    """Yield plans that need every template of summaries/ and inputs/ in all its forms."""
    calls = ["ndcg", "map@5", "mrr(audience=recommended)", "coverage", "f_beta"]
    for several_models, fuse in itertools.product([False, True], repeat=2):
        plans = planner(several_models, fuse=fuse)
        for cutoffs in ([10], [5, None]):
            where = f"several_models={several_models} fuse={fuse} k={cutoffs}"
            pairs = [(parse_spec(call), k) for call in calls for k in cutoffs]
            requests = plans.requests(pairs)
            of_users = [request for request in requests if request.metric.grain == "user"]
            of_runs = [request for request in requests if request.metric.grain == "run"]
            yield f"summary {where}", plans.summary(requests)
            yield f"summary of runs {where}", plans.summary(of_runs)
            yield f"per user {where}", plans.per_user(of_users)
            yield f"one per user {where}", plans.per_user(of_users[:1])
        _, values = plans.resolve(None)
        yield "look", plans.stage("hits", values)
        yield "short look", plans.stage("ranked", {**values, "ties": "item_desc"}, limit=5)
    for more in (
        {"row_number": "file_row_number"},
        {"list_column": "item_id"},
        {},
    ):
        plans = planner(several_models)
        kind = "BIGINT[]" if "list_column" in more else "BIGINT"
        columns = {"user_id": "BIGINT", "item_id": kind}
        lists = table("recommendations", columns, (None,), **more)
        plans = Planner(CATALOG, plans.settings, {**plans.tables, "recommendations": lists})
        _, values = plans.resolve(None)
        order = "row" if "row_number" in more else "rank"
        yield f"input {more}", plans.stage("recommendations", {**values, "order": order})
