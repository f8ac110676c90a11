"""Describe whatever has a name: a metric, a slice or a stage."""

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


def describe(catalog: Catalog, name: str, convention: str | Path = STANDARD) -> str:
    """Describe the metric, slice and stage with a name.

    Raises:
        UsageError: nothing has this name, or the convention does not cover the metric.
    """
    texts = []
    spec = parse_spec(name)
    plain = spec.metric
    is_slice, is_stage = plain in catalog.slices, plain in catalog.stages
    named = Settings(catalog, Convention.load(convention), {}).translated(spec)
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
