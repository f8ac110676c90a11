"""The way from one convention's number to another's: one setting at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import MissingTableError, SqlmetricsError, UsageError, left_out
from sqlmetrics.messages import Message
from sqlmetrics.metrics.requests import MetricCall, MetricRequest, calls_of, requests_of
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, value_text
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.values import identity_of_call

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Step:
    """One setting that changes, and the metric call after the change.

    The first step changes nothing: its `after` is the convention that the way starts from.
    """

    setting: str | None
    before: str | None
    after: str
    call: MetricCall


@dataclass(frozen=True)
class Walks:
    """The steps from one convention to another, for every metric call by its name."""

    steps: Mapping[str, Sequence[Step]]
    warnings: tuple[Message, ...]


def walks(
    planner: Planner,
    pairs: Iterable[tuple[MetricSpec, int | None]],
    start: Settings,
    end: Settings,
    fallback: Settings | None = None,
    skip_missing: bool = False,
) -> Walks:
    """Find the steps for every metric call.

    Raises:
        UsageError: a metric that one of the conventions does not cover.
        MissingTableError: a table or column was not given; with `skip_missing`, a warning says so,
            and the error is raised only if nothing is left.
    """
    ends: dict[str, tuple[list[MetricRequest], list[MetricRequest]]] = {}
    for call, k in pairs:
        metric, _ = start.catalog.metric(call.metric)
        sides = [
            [side for side in (settings, fallback) if side and side.covers(metric.name)]
            for settings in (start, end)
        ]
        if call.implied and not all(sides):
            continue
        there, here = (
            requests_of([(call, k)], [settings], fallback, planner.has_rank)[0]
            for settings in (start, end)
        )
        # a parameter that is what both ends have anyway needs no mention, as in other results
        params = tuple(sorted({*there.call.params, *here.call.params}))
        label = MetricSpec(metric.name, params)
        asked = ends.setdefault(label.name, ([], []))
        for requests, request in zip(asked, (there, here), strict=True):
            if all(request.k != known.k for known in requests):
                requests.append(replace(request, call=label))
    if not ends:
        names = f"{start.convention.name} and {end.convention.name}"
        raise UsageError(f"{names} have none of the metrics asked for in common; name some")
    steps: dict[str, list[Step]] = {}
    missing: list[tuple[str, MissingTableError]] = []
    for name, asked in ends.items():
        (first,), (last,) = map(calls_of, asked)
        try:
            steps[name] = steps_between(planner, first, last)
        except MissingTableError as error:
            missing.append((first.metric.name, error))
    if missing and not (skip_missing and steps):
        raise missing[0][1]
    return Walks(steps, (left_out(missing),) if missing else ())


def steps_between(planner: Planner, start: MetricCall, end: MetricCall) -> list[Step]:
    """Change the settings of one call into those of another, one at a time.

    They change in the order of the catalogue: who is averaged over, what is relevant and in which
    order, then what belongs to the metric. A setting that would have no meaning yet waits for the
    others. Settings that the metric does not read are no steps, nor is it one to refuse rows that
    the other end gives a meaning.

    Raises:
        SqlmetricsError: the settings that are left have no meaning in any order.
    """
    start, end = _without_refusals(start, end), _without_refusals(end, start)
    identity_of_call(planner, end)  # both ends have what they need
    steps = [Step(None, None, start.convention, start)]
    values, reached = dict(start.values), identity_of_call(planner, start)
    waiting = [name for name in values if values[name] != end.values[name]]
    while waiting:
        problem: SqlmetricsError | None = None
        for name in waiting:
            changed = {**values, name: end.values[name]}
            call = replace(start, values=changed)
            try:
                identity = identity_of_call(planner, call)
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
    """Give a meaning to rows that a call would refuse and the other does not."""
    values = {
        name: other.values[name] if value == "error" else value
        for name, value in call.values.items()
    }
    return replace(call, values=values)


def requests_for(steps: Sequence[Step]) -> list[MetricRequest]:
    """Ask for the value after every step; its number stands in place of the convention."""
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
    """Put the steps beside the values that they lead to.

    `values` is a summary whose column `convention` holds the number of the step; `steps` are those
    of each metric.
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
    frame = pd.concat([frame, pd.DataFrame(told, dtype="object")], axis=1)
    frame["change"] = frame.groupby("walk")["value"].diff()
    return frame[[*lists, "step", "setting", "before", "after", "value", "change", "n_users"]]
