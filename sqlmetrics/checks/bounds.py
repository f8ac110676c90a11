"""The values of a metric between which a rule of a finding, such as tie-breaking, decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlmetrics.engines.base import Engine
from sqlmetrics.metrics.requests import MetricCall, MetricRequest
from sqlmetrics.metrics.spec import Value
from sqlmetrics.plan.physical import physical
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.results import results_of
from sqlmetrics.plan.summary import summary
from sqlmetrics.stats.intervals import Interval

# other values of the settings of findings
_OTHERS = {"ties": ("worst", "best"), "gain": ("linear", "exponential")}
_DIGITS = 4


def bounds_of(
    engine: Engine,
    planner: Planner,
    calls: Sequence[MetricCall],
    values: Mapping[str, Value],
    name: str,
) -> str:
    """Describe the value of a metric, and its bounds under the other values of a setting.

    Args:
        engine, planner: compute the metric.
        calls: metrics to choose from.
        values: the settings of the finding; only metrics with the same order of lists are chosen.
        name: the setting: ties, which has the values worst and best, or gain.

    Returns:
        One sentence about the model with the widest bounds (of several, the first by name); empty
        if the setting applies to no metric.
    """
    request = _chosen(calls, values, name)
    if request is None:
        return ""
    asked = [request, *(_with(request, name, value) for value in _OTHERS[name])]
    plan = summary(results_of(planner, asked, interval=Interval("none")))
    found: dict[str, dict[str, float]] = {}
    for row in engine.records(physical(planner, plan, engine)):
        if row["value"] is not None:
            found.setdefault(str(row.get("model", "")), {})[row["metric"]] = row["value"]
    names = [each.name for each in asked]
    # rounded, since the last digits depend on the order of rows
    known = {
        model: [round(found[model][metric], _DIGITS) for metric in names]
        for model in sorted(found)
        if {*names} <= found[model].keys()
    }
    widest = max(known, key=lambda model: max(known[model]) - min(known[model]), default=None)
    if widest is None:
        return ""
    numbers = known[widest]
    value, low, high = (f"{each:.{_DIGITS}f}" for each in (numbers[0], min(numbers), max(numbers)))
    metric = str(replace(request.spec, cutoff=request.k))
    if name == "gain":
        others = zip(_OTHERS[name], numbers[1:], strict=True)
        texts = [f"{other:.{_DIGITS}f} with gain={gain}" for gain, other in others]
        return (
            f"{metric}{f' of {widest}' if widest else ''} is {value} with gain=binary, "
            f"{' and '.join(texts)}"
        )
    if low == high:
        return f"{metric} is the same for every order of equal scores, to {_DIGITS} digits"
    return (
        f"{metric}{f' of {widest}' if widest else ''} is {value}; with other orders of equal "
        f"scores it would be between {low} and {high}"
    )


def _chosen(
    calls: Sequence[MetricCall], values: Mapping[str, Any], name: str
) -> MetricRequest | None:
    """Choose a metric to which the setting applies, preferably a default one."""
    requests = [
        max(call.requests, key=lambda request: request.k or 0)
        for call in calls
        if call.metric.is_of_relevant_items
        and (_has_default_gain(call) if name == "gain" else call.values[name] == values[name])
        and call.values["order"] == values["order"]
        and call.values["duplicate_interactions"] != "bag"
    ]
    return min(requests, key=lambda request: not request.metric.in_default_set, default=None)


def _has_default_gain(call: MetricCall) -> bool:
    """Return whether a metric counts every grade as 1, without a setting for it."""
    return call.values.get("gain") == "binary" and "gain" not in dict(call.requests[0].spec.params)


def _with(request: MetricRequest, name: str, value: str) -> MetricRequest:
    params = {**dict(request.spec.params), name: value}
    spec = replace(request.spec, params=tuple(sorted(params.items())))
    return replace(request, spec=spec, values={**request.values, name: value})
