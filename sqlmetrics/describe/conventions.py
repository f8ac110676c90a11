"""Compare the choices of conventions for a metric, and describe one convention."""

from __future__ import annotations

from collections.abc import Mapping

import jinja2.meta

from sqlmetrics.describe.metric import what_is_read
from sqlmetrics.errors import SqlmetricsError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention, Difference, conventions
from sqlmetrics.metrics.front_matter import Metric, Stage
from sqlmetrics.metrics.requests import cutoff_context
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import Value, parse_spec, value_text
from sqlmetrics.plan.binding import Text
from sqlmetrics.plan.planner import Planner
from sqlmetrics.sql.templates import environment


def all_settings(catalog: Catalog) -> list[Settings]:
    """Read every convention that comes with the package."""
    return [Settings(catalog, Convention.load(name), {}) for name in conventions()]


def listing(catalog: Catalog) -> list[dict[str, str | int]]:
    """List the conventions: name, release, how many metrics they cover, title, citation."""
    return [
        {
            "convention": settings.convention.name,
            "release": settings.convention.release,
            "metrics": len(catalog.metrics if settings.covered is None else settings.covered),
            "title": settings.convention.title,
            "cite": settings.convention.cite,
        }
        for settings in all_settings(catalog)
    ]


def choices(catalog: Catalog, name: str) -> list[dict[str, str | None]]:
    """Return the choices for a metric of every convention that covers it.

    Returns:
        One row per convention and name that its system has for the metric: `convention, theirs`
        and `ours` (the spec), then the settings that not all of them choose alike; None where the
        metric does not read the setting.

    Raises:
        UsageError: there is no such metric.
    """
    metric, _ = catalog.metric(name)
    rows: list[dict[str, str | None]] = [
        {
            "convention": settings.convention.name,
            "theirs": theirs,
            "ours": spec,
            **choices_of(catalog, metric, settings, spec),
        }
        for settings in all_settings(catalog)
        for theirs, spec in _names(settings, metric)
    ]
    known = ("convention", "theirs", "ours", *catalog.stage_params, *metric.params)
    kept = [
        column
        for column in known
        if column in ("convention", "theirs", "ours")
        or len({row[column] for row in rows if row.get(column) is not None}) > 1
    ]
    return [{column: row.get(column) for column in kept} for row in rows]


def _names(settings: Settings, metric: Metric) -> list[tuple[str, str]]:
    """List what a system calls a metric, and the spec that computes it."""
    covers = settings.convention.covers
    if covers is None:
        return [(metric.name, metric.name)]
    names = []
    for theirs, spec in covers.items():
        owner, _ = settings.catalog.metric(parse_spec(spec).metric)
        if owner is metric:
            names.append((theirs, spec))
    return names


def choices_of(
    catalog: Catalog, metric: Metric, settings: Settings, spec: str
) -> dict[str, str | None]:
    """Find the values of the settings that make a difference to the queries of a metric."""
    planner = Planner(catalog, {})
    _, values = settings.resolve(parse_spec(spec))
    templates = what_is_read(planner, metric, values).templates.values()
    stages = [template for template in templates if isinstance(template, Stage)]
    known = {name for body in [metric.body, *(s.body for s in stages)] for name in names_in(body)}

    def queries(changed: Mapping[str, Value]) -> list[Text] | None:
        context = {**values, **cutoff_context([1]), **changed}
        try:
            texts = [planner.stage_text(stage, context) for stage in stages]
            return [planner.metric_text(metric, context), *texts]
        except SqlmetricsError:  # a value that has no meaning here
            return None

    as_is = queries({})
    read = {"aggregate", "no_hits"} if metric.grain == "user" else set()
    for name in known & set(values):
        others = {**catalog.stage_params, **metric.params}[name].choices
        if not others or any(queries({name: other}) != as_is for other in others):
            read.add(name)
    return {name: value_text(value) for name, value in values.items() if name in read}


def names_in(body: str) -> set[str]:
    """Find the names that a template is given by those who render it."""
    return jinja2.meta.find_undeclared_variables(environment().parse(body))


def describe_convention(catalog: Catalog, name: str) -> str:
    """Describe a convention: its metrics, its settings, and the differences from its system.

    Raises:
        UsageError: there is no such convention.
    """
    settings = Settings(catalog, Convention.load(name), {})
    convention = settings.convention
    lines = [f"{convention.name}: {convention.title}".removesuffix(": "), ""]
    facts = [("release", convention.release), ("source", convention.cite)]
    lines += [f"{label + ':':<9}{text}" for label, text in facts if text]
    if convention.covers is not None:
        width = max(map(len, convention.covers), default=0)
        lines += ["", "its metrics, and the specs that compute them:"]
        lines += [f"  {theirs:<{width}}  {spec}" for theirs, spec in convention.covers.items()]
    if settings.of_convention:
        lines += ["", "settings that differ from standard:"]
        lines += [
            f"  {name} = {value_text(value)}" for name, value in settings.of_convention.items()
        ]
    if convention.differs:
        lines += ["", "not reproduced:"]
        lines += [f"  {difference_text(difference)}" for difference in convention.differs]
    return "\n".join(lines) + "\n"


def difference_text(difference: Difference) -> str:
    """Say in one line what a system does that its convention does not."""
    of = f"{', '.join(difference.metrics)}: " if difference.metrics else ""
    return f"{of}{difference.there}. Here: {difference.here}."
