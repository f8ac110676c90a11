"""Statements of exports: what a metric reads, and a statement for any cutoff."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlmetrics.describe.metric import what_is_read
from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Metric
from sqlmetrics.metrics.requests import MetricRequest, calls_of
from sqlmetrics.plan.planner import Planner
from sqlmetrics.tables.schema import ATTRIBUTES
from sqlmetrics.texts.messages import TABLES

# cutoffs that occur nowhere else; both have the digits of the largest cutoff, for which some
# dialects make a table of numbers
CUTOFFS = (7919, 6607)


@dataclass(frozen=True)
class Reads:
    """The tables that a metric reads, and pairs of a table and an optional column that it needs."""

    tables: Sequence[str]
    needs: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, catalog: Catalog, request: MetricRequest) -> Reads:
        """Find what a metric reads."""
        (call,) = calls_of([request])
        read = what_is_read(Planner(catalog, {}), call.metric, call.values)
        of_attributes = [ATTRIBUTES[name] for name in read.templates if name in ATTRIBUTES]
        needs = frozenset({*read.needs, *of_attributes})
        names = {*read.templates, *(table for table, _ in needs)}
        return cls([table for table in TABLES if table in names], needs)


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
