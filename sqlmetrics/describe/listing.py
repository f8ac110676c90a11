"""List metrics, slices and stages."""

from __future__ import annotations

from sqlmetrics.metrics.catalog import Catalog


def metrics(catalog: Catalog) -> list[dict[str, str]]:
    """List the metrics: name, aliases, family, title and settings."""
    return [
        {
            "metric": metric.name,
            "aliases": " ".join(metric.aliases),
            "family": metric.family,
            "title": metric.title,
            "settings": " ".join(metric.params),
        }
        for metric in catalog.metrics.values()
    ]


def slices(catalog: Catalog) -> list[dict[str, str]]:
    """List the built-in slices: name, what they divide, title and settings."""
    return [
        {
            "slice": slice_.name,
            "of": slice_.of,
            "title": slice_.title,
            "settings": " ".join(slice_.params),
        }
        for slice_ in catalog.slices.values()
    ]


def stages(catalog: Catalog) -> list[dict[str, str]]:
    """List the stages that templates can read: name and title."""
    return [{"stage": stage.name, "title": stage.title} for stage in catalog.stages.values()]
