"""Inspect tables and stages, and explain the difference between conventions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.checks.validate import Finding, planned_checks
from sqlmetrics.describe.explain import requests_for, walks, with_steps
from sqlmetrics.errors import UndefinedNameError, UsageError, suggestion
from sqlmetrics.metrics.catalog import EVERYTHING
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.definitions import DEFAULT_K, Cutoffs, Metrics
from sqlmetrics.metrics.front_matter import LEVELS
from sqlmetrics.metrics.requests import MetricCall
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, parse_spec, unique
from sqlmetrics.plan.request import (
    Names,
    PlannedRun,
    Reads,
    planned,
    reads_of,
    that_can_be_planned,
)
from sqlmetrics.plan.results import Results, results_of
from sqlmetrics.plan.slices import (
    FEW_USERS,
    Attribute,
    Slicing,
    attributes_of,
    small_slices,
)
from sqlmetrics.plan.summary import summary
from sqlmetrics.run.path import own_templates_named, ready, validate
from sqlmetrics.run.session import Session
from sqlmetrics.stats.intervals import Interval
from sqlmetrics.texts.messages import Argument, give

if TYPE_CHECKING:
    import pandas as pd

_EXAMPLES = 5  # maximum number of small slices that a finding shows
_SHOWN = 1000  # maximum number of rows of a stage, if the engine cannot return all


def findings(
    session: Session,
    metrics: Metrics,
    k: Cutoffs,
    levels: Iterable[str] = LEVELS,
    *,
    by: Names = None,
    by_item: Names = None,
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
    specs = session.definitions.specs(_all_of(session) if metrics is None else metrics, k)
    if k is None and not any(spec.cutoff for spec in specs):
        specs = dict.fromkeys(specs, (DEFAULT_K,))
    calls: list[MetricCall] = []
    with own_templates_named(session):
        requests = session.definitions.requests(specs)
        if "error" in levels:
            calls, failures = that_can_be_planned(session.planner, requests, UsageError)
            if failures and metrics is not None:
                raise failures[0][1]
        cutoffs = unique(cutoff for of_spec in specs.values() for cutoff in of_spec)
        attributes = attributes_of(
            by, by_item, session.catalog, session.tables, session.planner.user_keys
        )
        found = session.data_warnings.survey(calls, requests, cutoffs, levels)
        if not any(finding.level == "error" for finding in found):  # slices can be computed
            small = [
                one for attribute in attributes for one in _small_slices(session, calls, attribute)
            ]
            found = sorted([*small, *found], key=lambda finding: LEVELS.index(finding.level))
        return session.data_warnings.settled(found)


def _all_of(session: Session) -> list[str | MetricSpec]:
    """Return all metrics of lists and, if there is a policy to evaluate, those of rounds."""
    logs = session.tables.get("logs")
    has_policy = "policy" in session.tables or (
        logs is not None and "target_propensity" in logs.columns
    )
    of_rounds = [
        MetricSpec(metric.name, implied=True)
        for metric in session.catalog.metrics.values()
        if has_policy and metric.grain == "round"
    ]
    return [EVERYTHING, *of_rounds]


def _small_slices(
    session: Session, calls: Sequence[MetricCall], attribute: Attribute
) -> Iterator[Finding]:
    results = _counted(session, calls, attribute)
    run = planned(results, summary(results))
    validate(session, run.reads, run.slices)
    rows = session.engine.rows(session.physical(run.plan))
    small, n_slices = small_slices(rows, [attribute])
    if small:
        table = attribute.table or attribute.of
        yield Finding(
            "warning",
            "slices_small",
            table,
            f"{len(small)} of {n_slices} slices by {attribute.name} have fewer than {FEW_USERS} "
            "users",
            n=len(small),
            remedy="combine small slices, or collect more lists: differences between these slices "
            "can come by chance",
            examples=[
                {attribute.name: label, "n_users": size}
                for (label,), size in list(small.items())[:_EXAMPLES]
            ],
            column=attribute.name,
        )


def _counted(session: Session, calls: Sequence[MetricCall], attribute: Attribute) -> Results:
    """Plan the slices of the first metric that has values of users in these slices."""
    planner = session.planner
    slicing = Slicing(planner, [attribute], False, session.definitions.values)
    problem = UsageError(f"by: no metric has values of users in slices by {attribute.name}")
    for call in calls:
        if call.metric.grain != "user":
            continue
        request = replace(call.requests[0], spec=replace(call.requests[0].spec, implied=False))
        try:
            return results_of(planner, [request], slicing=slicing, interval=Interval("none"))
        except UsageError as error:  # for example, slices of items and a metric of all items
            problem = error
    raise problem


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

    specs = definitions.specs(metrics, k)
    from_there = first if start is None else side(start)
    walked = walks(planner, specs, from_there, side(end), definitions.fallback, skip_missing)
    requests = [request for walk in walked.steps.values() for request in requests_for(walk)]
    with own_templates_named(session):
        results = results_of(planner, requests, with_convention=True, warnings=walked.warnings)
        reads = reads_of(planner, requests, "after step")
        run = PlannedRun(summary(results), tuple(results.requests), reads)
        return with_steps(session.engine.frame(ready(session, run)), walked.steps)


def stage(session: Session, name: str, metric: str | None) -> pd.DataFrame:
    """Return the rows of a stage or table; see `Evaluator.stage`."""
    definitions, planner = session.definitions, session.planner
    known = [*session.catalog.stages, *session.tables]
    if name not in known:
        raise UsageError(f"unknown stage {name!r}{suggestion(name, known)}")
    values = definitions.values if metric is None else _values_of(session, metric)
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
        complete = (owner for owner in owners if _has_settings(session, owner, name))
        raise UsageError(
            f"the stage {name} depends on {lacking}, a setting of {', '.join(owners)}; choose a "
            f"metric: stage({name!r}, metric={next(complete, owners[0])!r})"
        ) from error
    validate(session, [Reads({node.name: node for node in plan.nodes()}, values)])
    session.warn(plan.warnings)
    return session.engine.frame(session.physical(plan))


def _values_of(session: Session, metric: str) -> dict[str, Any]:
    under_first = replace(session.definitions, conventions=[session.definitions.first])
    (request,) = under_first.requests({parse_spec(metric): [None]})
    return dict(request.values)


def _has_settings(session: Session, metric: str, stage: str) -> bool:
    values = _values_of(session, metric)
    try:
        nodes = {node.name: node for node in session.planner.stage(stage, values, None).nodes()}
        list(planned_checks(session.planner, values, nodes))
    except UsageError:
        return False
    return True
