"""Describe the computation of a metric in words and SQL."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2.meta

from sqlmetrics.errors import SqlmetricsError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import STANDARD, Convention
from sqlmetrics.metrics.definitions import Definitions
from sqlmetrics.metrics.front_matter import Metric, Param, Stage, Template
from sqlmetrics.metrics.requests import cutoff_context
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, Value, parse_spec, value_text
from sqlmetrics.plan.planner import Planner
from sqlmetrics.sql import arithmetic, statement
from sqlmetrics.sql.binding import Text, names_read
from sqlmetrics.sql.query_graph import parse
from sqlmetrics.sql.templates import environment
from sqlmetrics.tables.schema import ATTRIBUTES
from sqlmetrics.texts.messages import TABLES


def describe_metric(catalog: Catalog, spec: str, convention: str | Path = STANDARD) -> str:
    """Describe a metric: formula, settings, source, and its query under a convention.

    Args:
        catalog: all templates.
        spec: the metric, such as `ndcg` or `ndcg(gain=exponential)@10`.
        convention: the convention that defines the other settings.

    Raises:
        UsageError: there is no such metric or convention, or the convention does not cover it.
    """
    settings = Settings(catalog, Convention.load(convention), {})
    asked = parse_spec(spec)
    (request,) = Definitions(catalog, [settings]).requests({asked: [asked.cutoff]})
    metric, values = request.metric, request.values
    lines = [f"{request.spec}: {metric.title}", ""]
    facts = [
        ("convention", settings.convention.name if settings.convention.name != STANDARD else ""),
        ("formula", metric.formula),
        ("tables", ", ".join(tables_needed(catalog, metric, values))),
        *metric_facts(catalog, metric, values),
        ("aliases", ", ".join(_alias(a, dict(params)) for a, params in metric.aliases.items())),
        ("source", metric.cite),
        ("template", str(metric.path)),
        ("stages", ", ".join(sorted(stages_of(catalog, metric, values)))),
    ]
    lines += [f"{label + ':':<15}{text}" for label, text in facts if text]
    if metric.params:
        lines += ["", "own settings (default in brackets):"]
        for param in metric.params.values():
            lines += _param_lines(param, values[param.name])
    read = settings_read(catalog, metric, values)
    shared = [param for name, param in catalog.stage_params.items() if name in read]
    lines += ["", "shared settings that affect the metric (default in brackets):"]
    for param in shared:
        default = metric.audience if param.name == "audience" else param.default_text()
        chosen = _chosen(values[param.name], default if param.name != "order" else "score")
        lines.append(f"  {param.name} = {param.range_text()} [{default}]{chosen}")
    if differs := settings.convention.differences(metric.name):
        lines += ["", "not reproduced by the convention:"]
        lines += [f"  {difference.there}. Here: {difference.here}." for difference in differs]
    sql = query_of(Planner(catalog, {}).text(metric, values))
    lines += ["", "query over its stages:", "", sql]
    return "\n".join(lines) + "\n"


def _chosen(value: Value, default: str) -> str:
    """Return the text for a value that is not the default."""
    return "" if value_text(value) == default else f", here {value_text(value)}"


def _param_lines(param: Param, value: Value) -> list[str]:
    title, *values = param.doc.splitlines() or [""]
    default = param.default_text()
    return [
        f"  {param.name} = {param.range_text()} [{default}]{_chosen(value, default)}",
        f"      {title}",
        *(f"        {value}" for value in values),
    ]


def metric_facts(
    catalog: Catalog, metric: Metric, values: Mapping[str, Value]
) -> list[tuple[str, str]]:
    """Describe the audience of a metric, its value without rows, and its range."""
    facts = [
        ("averaged over", _audience(catalog, metric, values)),
        ("if empty", _empty(metric) if metric.grain == "user" else ""),
        ("undefined", metric.undefined),
        ("range", " to ".join(map(value_text, metric.range or ())) or metric.unbounded),
        ("best is", {True: "high", False: "low", None: ""}[metric.higher_is_better]),
    ]
    return [(label, text) for label, text in facts if text]


def describe_slice(catalog: Catalog, name: str) -> str:
    """Describe a slice of users or items, with its query."""
    slice_ = catalog.slices[name]
    of = {"users": "users", "items": "relevant items", "interactions": "relevant items"}[slice_.of]
    facts = [("slices of", of), ("missing value", slice_.missing), ("template", str(slice_.path))]
    lines = [f"slice {slice_.name}: {slice_.title}", ""]
    lines += [f"{label + ':':<15}{text}" for label, text in facts]
    if slice_.params:
        lines += ["", "parameters (default in brackets):"]
        for param in slice_.params.values():
            lines += _param_lines(param, param.default)
    planner = Planner(catalog, {})
    values = {param.name: param.default for param in slice_.params.values()}
    sql = query_of(planner.text(slice_, values))
    return "\n".join([*lines, "", "query over its stages:", "", sql]) + "\n"


def metric_query(catalog: Catalog, metric: Metric) -> str:
    """Render the query of a metric, without its stages, under the standard convention."""
    return query_of(Planner(catalog, {}).text(metric, standard_values(catalog, metric)))


def query_of(text: Text) -> str:
    """Print the query of a template over its stages."""
    return statement.query(arithmetic.apply(parse(text.sql, text.where)))


def standard_values(catalog: Catalog, metric: Metric) -> dict[str, Value]:
    """Return the value of every setting of a metric under the standard convention."""
    settings = Settings(catalog, Convention.load(STANDARD), {})
    return dict(settings.request(MetricSpec(metric.name)).values)


@dataclass(frozen=True)
class Read:
    """The stages and input tables that a metric reads, and the optional columns that it needs.

    `templates`: the template of each stage; None for an input table. `needs`: pairs of table and
    column.
    """

    templates: Mapping[str, Template | None]
    needs: Sequence[tuple[str, str]]

    @property
    def tables(self) -> list[str]:
        """Return the input tables."""
        names = {*self.templates, *(table for table, _ in self.needs)}
        return [table for table in TABLES if table in names]


def what_is_read(planner: Planner, metric: Metric, values: Mapping[str, Value]) -> Read:
    """Return the stages and input tables that a metric reads."""
    context = {**values, **cutoff_context([None])}
    templates: dict[str, Template | None] = {}
    needs: dict[tuple[str, str], None] = {}

    def visit(text: Text) -> None:
        needs.update(dict.fromkeys(text.needs))
        for name in names_read(text.sql, text.where):
            if name in templates:
                continue
            stage = templates[name] = planner.catalog.stages.get(name)
            if stage is not None:
                visit(planner.text(stage, context))

    visit(planner.text(metric, context))
    if metric.grain == "user":
        visit(Text("SELECT 1 FROM audience", "audience"))
    elif metric.grain == "round":
        visit(Text(f"SELECT 1 FROM {metric.audience}", metric.audience))
    needs |= dict.fromkeys(ATTRIBUTES[name] for name in templates if name in ATTRIBUTES)
    return Read(templates, list(needs))


def stages_of(catalog: Catalog, metric: Metric, values: Mapping[str, Value]) -> set[str]:
    """Return the stages and tables that the query of a metric names."""
    text = Planner(catalog, {}).text(metric, {**values, **cutoff_context([None])})
    return set(names_read(text.sql, text.where))


# settings that remove rows of the lists before stages read them
_REMOVING = {"masked_scores", "drop_seen", "unjudged"}


def settings_read(catalog: Catalog, metric: Metric, values: Mapping[str, Value]) -> set[str]:
    """Return the settings that affect the queries of a metric, or the rows that they read."""
    planner = Planner(catalog, {})
    templates = what_is_read(planner, metric, values).templates
    stages = [template for template in templates.values() if isinstance(template, Stage)]
    known = {name for body in [metric.body, *(s.body for s in stages)] for name in names_in(body)}

    def queries(changed: Mapping[str, Value]) -> list[Text] | None:
        context = {**values, **cutoff_context([1]), **changed}
        try:
            texts = [planner.text(stage, context) for stage in stages]
            return [planner.text(metric, context), *texts]
        except SqlmetricsError:  # the value is not supported here
            return None

    read = {"user": {"aggregate", "no_hits"}, "round": {"aggregate"}}.get(metric.grain, set())
    given: list[Mapping[str, Value]] = [{}, {"order": "rank"}]  # lists may or may not have ranks
    as_is = [queries(order) for order in given]
    for name in known & set(values):
        others = {**catalog.stage_params, **metric.params}[name].choices
        if not others or any(
            queries({**order, name: other}) != before
            for order, before in zip(given, as_is, strict=True)
            for other in others
        ):
            read.add(name)
    read |= _REMOVING if "recommendations" in templates else set()
    return read if metric.unjudged_items else read - {"unjudged"}


@functools.cache
def names_in(body: str) -> frozenset[str]:
    """Return the undeclared variables of a template."""
    return frozenset(jinja2.meta.find_undeclared_variables(environment().parse(body)))


def tables_needed(
    catalog: Catalog, metric: Metric, values: Mapping[str, Value] | None = None
) -> list[str]:
    """List the input tables that a metric reads, by default under the standard convention.

    Optional columns that the metric needs follow in brackets: `items (price)`.
    """
    planner = Planner(catalog, {})
    values = standard_values(catalog, metric) if values is None else values
    read = what_is_read(planner, metric, values)
    texts = []
    for table in read.tables:
        columns = [column for owner, column in read.needs if owner == table]
        texts.append(f"{table} ({', '.join(columns)})" if columns else table)
    return texts


def audience_text(values: Mapping[str, Value]) -> str:
    """Return the users that the setting audience chooses, in words."""
    return {
        "relevant": "users with a relevant item",
        "recommended": "users with recommendations",
        "both": "users with a relevant item and recommendations",
        "either": "users with a relevant item or recommendations",
        "judged": "users with held-out interactions",
        "baseline": "users with a baseline list",
        "logged": "users with rows in the logs",
        "rounds": "rounds of the logs",
        "slates": "slates of the logs",
    }.get(str(values["audience"]), "users")


def _audience(catalog: Catalog, metric: Metric, values: Mapping[str, Value]) -> str:
    if metric.grain != "run":
        return audience_text({"audience": metric.audience} if metric.grain == "round" else values)
    reads_audience = "audience" in what_is_read(Planner(catalog, {}), metric, values).templates
    of = f"all {audience_text(values)}" if reads_audience else "all lists"
    return f"not averaged: one value for {of} together"


def _empty(metric: Metric) -> str:
    return "excluded from the mean" if metric.when_empty is None else value_text(metric.when_empty)


def _alias(name: str, params: dict[str, object]) -> str:
    inside = ", ".join(f"{key} = {value}" for key, value in params.items())
    return f"{name} ({inside})" if inside else name
