"""List metrics, slices and stages, and describe any of them by name."""

from __future__ import annotations

from pathlib import Path

from sqlmetrics.describe.metric import describe_metric, describe_slice
from sqlmetrics.describe.stage import describe_stage
from sqlmetrics.errors import UsageError, suggestion
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import STANDARD, Convention
from sqlmetrics.metrics.other_names import elsewhere
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import parse_spec


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


def describe(catalog: Catalog, name: str, convention: str | Path = STANDARD) -> str:
    """Describe the metric, slice and stage with a name.

    Raises:
        UsageError: nothing has this name, or the convention does not cover the metric.
    """
    texts = []
    call = parse_spec(name)
    plain = call.metric
    is_slice, is_stage = plain in catalog.slices, plain in catalog.stages
    named = Settings(catalog, Convention.load(convention), {}).translated(call)
    known = [*catalog.metrics, *catalog.aliases, *catalog.slices, *catalog.stages]
    if named.metric not in known:
        hint = elsewhere(plain) or suggestion(plain, known)
        raise UsageError(f"unknown metric, slice or stage {plain!r}", hint)
    if not (is_slice or is_stage) or plain in catalog.metrics:
        texts.append(describe_metric(catalog, name, convention))
    if is_slice:
        texts.append(describe_slice(catalog, plain))
    if is_stage:
        texts.append(describe_stage(catalog, plain, convention))
    return "\n".join(texts)
