"""Statements of exports: what a metric reads, and a statement for any cutoff."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlmetrics.describe.metric import Read, what_is_read
from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Metric
from sqlmetrics.metrics.requests import MetricRequest, calls_of
from sqlmetrics.plan.planner import Planner

# cutoffs that occur nowhere else; both have the digits of the largest cutoff, for which some
# dialects make a table of numbers
CUTOFFS = (7919, 6607)


def read_by(catalog: Catalog, request: MetricRequest) -> Read:
    """Find what a metric reads."""
    (call,) = calls_of([request])
    return what_is_read(Planner(catalog, {}), call.metric, call.values)


def at_any_cutoff(
    printed: Callable[[int], str],
    cutoff: str,
    next_one: str,
    cutoffs: Sequence[int] = CUTOFFS,
) -> str:
    """Return a statement with an expression as its cutoff, and one for the cutoff plus 1.

    Raises:
        UsageError: the statement depends on the cutoff in another way.
    """
    texts = {
        re.sub(
            rf"(?<![\d.]){k}(?!\d)",
            cutoff,
            re.sub(rf"(?<![\d.]){k + 1}(?!\d)", next_one, printed(k)),
        )
        for k in cutoffs
    }
    if len(texts) > 1:
        raise UsageError("the statement depends on the cutoff in other ways than by its value")
    return texts.pop()


def about(metric: Metric) -> list[str]:
    """Return lines that say what a metric is."""
    parts = {"Formula": metric.formula, "Undefined": metric.undefined, "Source": metric.cite}
    return [metric.title, *(f"{name}: {text}." for name, text in parts.items() if text)]
