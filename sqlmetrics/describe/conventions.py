"""Compare the settings of conventions for a metric, and describe a convention."""

from __future__ import annotations

from collections.abc import Iterable

from sqlmetrics.describe.metric import settings_read
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention, Difference, conventions
from sqlmetrics.metrics.front_matter import Metric
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import parse_spec, value_text


def all_settings(catalog: Catalog) -> list[Settings]:
    """Read every convention of the package."""
    return [Settings(catalog, Convention.load(name), {}) for name in conventions()]


def listing(catalog: Catalog) -> list[dict[str, str | int]]:
    """List the conventions: name, release, number of covered metrics, title."""
    return [
        {
            "convention": settings.convention.name,
            "release": settings.convention.release,
            "metrics": len(catalog.metrics if settings.covered is None else settings.covered),
            "title": settings.convention.title,
        }
        for settings in all_settings(catalog)
    ]


def choices(
    catalog: Catalog, name: str, of_conventions: Iterable[Settings]
) -> list[dict[str, str | None]]:
    """Return the settings for a metric under every convention that covers it.

    Args:
        of_conventions: the settings of each convention, from `all_settings`.

    Returns:
        One row per convention and name of the metric in its system: `convention, theirs` and `ours`
        (the spec), then the settings that differ between conventions; None if the metric does not
        read the setting.

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
        for settings in of_conventions
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
    """List the names of a metric in a system, with the specs that compute them."""
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
    """Return the settings that affect the queries of a metric, with their values."""
    values = settings.request(parse_spec(spec)).values
    read = settings_read(catalog, metric, values)
    return {name: value_text(value) for name, value in values.items() if name in read}


def describe_convention(catalog: Catalog, name: str) -> str:
    """Describe a convention: metrics, settings, and differences from its system.

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
        lines += ["", "metrics, and the specs that compute them:"]
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
    """Format in one line a behaviour that a convention does not reproduce."""
    of = f"{', '.join(difference.metrics)}: " if difference.metrics else ""
    return f"{of}{difference.there}. Here: {difference.here}."
