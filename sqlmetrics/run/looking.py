"""Inspect tables and stages, and explain the difference between conventions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlmetrics.checks.validate import Finding
from sqlmetrics.describe.explain import requests_for, walks, with_steps
from sqlmetrics.errors import TemplateError, UndefinedNameError, UsageError, suggestion
from sqlmetrics.messages import Argument, give
from sqlmetrics.metrics.catalog import EVERYTHING
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.definitions import DEFAULT_K, Cutoffs, Metrics
from sqlmetrics.metrics.front_matter import LEVELS
from sqlmetrics.metrics.requests import MetricCall, calls_of, requests_of
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, parse_spec
from sqlmetrics.plan.request import PlannedRun, Reads, reads_of
from sqlmetrics.plan.results import Results
from sqlmetrics.run.path import execute, own_templates_named, validate
from sqlmetrics.run.session import Session

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 1000  # maximum number of rows of a stage, if the engine cannot return all


def findings(
    session: Session, metrics: Metrics, k: Cutoffs, levels: Iterable[str] = LEVELS
) -> list[Finding]:
    """Find errors and data problems in the tables; see `Evaluator.check`.

    `levels` are the levels of the checks to run: "error", "warning" and "note".
    """
    if not session.tables:
        raise UsageError(
            "there is no table to check; give a table with ", give("recommendations"), ", ",
            give("interactions"), " or another argument",
        )  # fmt: skip
    if session.trusts_input:
        trusted = Argument("trust_input", True)
        raise UsageError("data checks cannot be combined with ", trusted)
    pairs = session.definitions.pairs(EVERYTHING if metrics is None else metrics, k)
    if all(cutoff is None for _, cutoff in pairs) and k is None:
        pairs = [(call, DEFAULT_K) for call, _ in pairs]
    calls: list[MetricCall] = []
    with own_templates_named(session):
        if "error" in levels:
            calls = calls_that_can_be_planned(session, pairs, refuse=metrics is not None)
        requests = session.definitions.resolved(pairs)
        cutoffs = dict.fromkeys(cutoff for _, cutoff in pairs)
        return session.data_warnings.survey(calls, requests, cutoffs, levels)


def calls_that_can_be_planned(
    session: Session, pairs: Sequence[tuple[MetricSpec, int | None]], refuse: bool
) -> list[MetricCall]:
    """Resolve metrics, and omit those that cannot be computed, or raise if `refuse` is set."""
    calls = []
    for call in calls_of(session.definitions.resolved(pairs)):
        try:
            session.planner.nodes(call)
        except TemplateError:
            raise
        except UsageError:  # the metric lacks a table, or is undefined under these settings
            if refuse:
                raise
        else:
            calls.append(call)
    return calls


def explain(
    session: Session,
    metrics: Metrics,
    k: Cutoffs,
    start: str | Path | None,
    end: str | Path,
    skip_missing: bool,
) -> pd.DataFrame:
    """Explain the difference between two conventions; see `Evaluator.explain`."""
    definitions, planner = session.definitions, session.planner
    first = definitions.first

    def side(name: str | Path) -> Settings:
        return Settings(session.catalog, Convention.load(name), first.given)

    pairs = definitions.pairs(metrics, k)
    from_there = first if start is None else side(start)
    walked = walks(planner, pairs, from_there, side(end), definitions.fallback, skip_missing)
    requests = [request for walk in walked.steps.values() for request in requests_for(walk)]
    with own_templates_named(session):
        results = Results(planner, requests, with_convention=True, warnings=walked.warnings)
        reads = reads_of(planner, calls_of(requests), "after step")
        run = PlannedRun(results.summary(), tuple(results.requests), reads)
        return with_steps(execute(session, run, session.engine.frame), walked.steps)


def stage(session: Session, name: str, metric: str | None) -> pd.DataFrame:
    """Return the rows of a stage or table; see `Evaluator.stage`."""
    definitions, planner = session.definitions, session.planner
    known = [*session.catalog.stages, *session.tables]
    if name not in known:
        raise UsageError(f"unknown stage {name!r}{suggestion(name, known)}")
    if metric is None:
        values = definitions.values
    else:
        pairs = [(parse_spec(metric), None)]
        (request,) = requests_of(
            pairs, [definitions.first], definitions.fallback, definitions.has_rank
        )
        values = dict(request.values)
    limit = None if session.engine.fetches_users else _SHOWN
    try:
        plan = planner.stage(name, values, limit)
    except UndefinedNameError as error:
        if metric is not None:
            raise
        lacking = error.name
        owners = [m.name for m in session.catalog.metrics.values() if lacking in m.params]
        if not owners:
            raise
        raise UsageError(
            f"the stage {name} depends on {lacking}, a setting of {', '.join(owners)}; choose a "
            f"metric: stage({name!r}, metric={owners[0]!r})"
        ) from error
    validate(session, [Reads({node.name: node for node in plan.nodes()}, values)])
    session.warn(plan.warnings)
    return session.engine.frame(session.executor.physical(plan))
