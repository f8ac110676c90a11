"""Explain the difference between two conventions, one setting at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import MissingTableError, SqlmetricsError, UsageError, left_out, none_left
from sqlmetrics.metrics.definitions import Definitions
from sqlmetrics.metrics.requests import MetricCall, MetricRequest, calls_of
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, Specs, value_text
from sqlmetrics.plan.planner import Planner
from sqlmetrics.texts.messages import Message

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS_OF_STEP = ["setting", "before", "after"]


@dataclass(frozen=True)
class Step:
    """A changed setting, and the metric call after the change.

    The first step changes nothing; its `after` is the start convention.
    """

    setting: str | None
    before: str | None
    after: str
    call: MetricCall


@dataclass(frozen=True)
class Walks:
    """The steps from one convention to another, by name of the metric call."""

    steps: Mapping[str, Sequence[Step]]
    warnings: tuple[Message, ...]


def walks(
    planner: Planner,
    specs: Specs,
    start: Settings,
    end: Settings,
    fallback: Settings | None = None,
    skip_missing: bool = False,
) -> Walks:
    """Return the steps for every metric call.

    Raises:
        UsageError: one of the conventions does not cover a metric.
        MissingTableError: a table or column was not given; with `skip_missing`, this is a warning,
            and an error only if no metric is left.
    """
    catalog = start.catalog
    ends: dict[str, tuple[list[MetricRequest], list[MetricRequest]]] = {}
    for asked, cutoffs in specs.items():
        spec = start.translated(asked)
        metric, _ = catalog.metric(spec.metric, spec.typed)
        sides = [
            [side for side in (settings, fallback) if side and side.covers(metric.name)]
            for settings in (start, end)
        ]
        if spec.implied and not all(sides):
            continue
        there, here = (
            Definitions(catalog, [settings], fallback, planner.has_rank).requests({spec: cutoffs})
            for settings in (start, end)
        )
        # as in other results, the name omits parameters with the value of both ends
        params = tuple(sorted({*there[0].spec.params, *here[0].spec.params}))
        named = MetricSpec(metric.name, params)
        for known, new in zip(ends.setdefault(named.name, ([], [])), (there, here), strict=True):
            ks = [request.k for request in known]
            known += [replace(request, spec=named) for request in new if request.k not in ks]
    if not ends:
        names = f"{start.convention.name} and {end.convention.name}"
        raise UsageError(f"{names} have no requested metric in common; name other metrics")
    steps: dict[str, list[Step]] = {}
    missing: list[tuple[str, MissingTableError]] = []
    for name, requests in ends.items():
        (first,), (last,) = map(calls_of, requests)
        try:
            steps[name] = steps_between(planner, first, last)
        except MissingTableError as error:
            missing.append((first.metric.name, error))
    if missing and not (skip_missing and steps):
        raise none_left(*missing[0]) if skip_missing else missing[0][1]
    return Walks(steps, (left_out(missing),) if missing else ())


def steps_between(planner: Planner, start: MetricCall, end: MetricCall) -> list[Step]:
    """Change the settings of one call into those of another, one at a time.

    Settings change in the order of the catalogue: audience, order of lists, relevance, then the
    metric's own settings. A setting that is not valid yet is changed later. Settings that the
    metric does not read are not steps, and neither is the rejection of rows that the other end
    accepts.

    Raises:
        SqlmetricsError: the remaining settings are not valid in any order.
    """
    start, end = _without_refusals(start, end), _without_refusals(end, start)
    planner.queries(end)  # check that the tables for both ends are given
    steps = [Step(None, None, start.convention, start)]
    values, reached = dict(start.values), planner.queries(start).identity
    waiting = [name for name in values if values[name] != end.values[name]]
    while waiting:
        problem: SqlmetricsError | None = None
        for name in waiting:
            changed = {**values, name: end.values[name]}
            call = replace(start, values=changed)
            try:
                identity = planner.queries(call).identity
            except MissingTableError:
                raise
            except SqlmetricsError as error:
                problem = error
                continue
            waiting.remove(name)
            if identity != reached:
                before, after = value_text(values[name]), value_text(changed[name])
                steps.append(Step(name, before, after, call))
            values, reached = changed, identity
            break
        else:
            assert problem is not None
            raise problem
    return steps


def _without_refusals(call: MetricCall, other: MetricCall) -> MetricCall:
    """Replace the value `error` of a setting by the value in the other call."""
    values = {
        name: other.values[name] if value == "error" else value
        for name, value in call.values.items()
    }
    return replace(call, values=values)


def requests_for(steps: Sequence[Step]) -> list[MetricRequest]:
    """Return requests for the value after every step, with the step number as the convention."""
    return [
        replace(
            request,
            values={name: step.call.values[name] for name in request.values},
            convention=str(number),
        )
        for number, step in enumerate(steps)
        for request in step.call.requests
    ]


def with_steps(values: pd.DataFrame, steps: Mapping[str, Sequence[Step]]) -> pd.DataFrame:
    """Combine the steps with the values after each step.

    `values`: a summary with the step number in the column `convention`; `steps`: the steps of each
    metric.
    """
    import pandas as pd

    frame = values.assign(step=values["convention"].astype("int64"))
    lists = [name for name in ("model", "metric", "k") if name in frame.columns]
    walks = frame.groupby(lists, sort=False, dropna=False)
    frame = frame.assign(walk=walks.ngroup()).sort_values(["walk", "step"], ignore_index=True)
    told: list[dict[str, Any]] = []
    for metric, number in zip(frame["metric"], frame["step"], strict=True):
        step = steps[metric][number]
        told.append({"setting": step.setting, "before": step.before, "after": step.after})
    frame = pd.concat([frame, pd.DataFrame(told, columns=_COLUMNS_OF_STEP, dtype="object")], axis=1)
    frame["change"] = frame.groupby("walk")["value"].diff()
    return frame[[*lists, "step", *_COLUMNS_OF_STEP, "value", "change", "n_users"]]
