"""Resolve specs into requests: every requested metric, cutoff and convention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.messages import Argument, Message
from sqlmetrics.metrics.front_matter import Metric
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, Value


@dataclass(frozen=True)
class MetricRequest:
    """A metric call with its cutoff and the value of every setting.

    `chosen`: the settings that the user chose; all others come from the convention.
    """

    call: MetricSpec
    k: int | None
    metric: Metric
    values: Mapping[str, Value]
    convention: str
    chosen: tuple[str, ...] = ()


@dataclass(frozen=True)
class MetricCall:
    """A metric call with all its cutoffs; `values` are the settings that its templates read."""

    name: str
    metric: Metric
    requests: Sequence[MetricRequest]
    values: Mapping[str, Any]
    convention: str


def requests_of(
    pairs: Iterable[tuple[MetricSpec, int | None]],
    conventions: Sequence[Settings],
    fallback: Settings | None,
    has_rank: bool,
) -> list[MetricRequest]:
    """Resolve calls under each convention, without duplicate requests.

    A metric that a convention does not cover is taken from `fallback`, if it covers the metric.
    Otherwise it is an error, or skipped unless both metric and convention were requested by name.
    A metric that was not requested by name is skipped, too, if the tie-breaking rule does not apply
    to it.

    Raises:
        UsageError: a metric or setting is unknown, or a convention does not cover a metric.
    """
    pairs = list(pairs)
    requests: dict[tuple[str, str, int | None], MetricRequest] = {}
    for settings in conventions:
        for asked, k in pairs:
            call = _translated(asked, settings, conventions)
            chosen = settings
            metric, _ = settings.catalog.metric(call.metric)
            if not settings.covers(metric.name):
                if fallback is not None and fallback.covers(metric.name):
                    chosen = fallback
                elif call.implied or settings.convention.implied:
                    continue
                else:
                    raise _not_covered(settings, metric, fallback)
            canonical, values = chosen.resolve(call, has_rank)
            assert canonical is not None
            if call.implied and chosen.not_for(metric, values):
                continue
            canonical = replace(canonical, implied=call.implied)
            name = chosen.convention.name
            request = MetricRequest(canonical, k, metric, values, name, chosen.chosen(call))
            requests.setdefault((name, canonical.name, k), request)
    if not requests:
        names = ", ".join(settings.convention.name for settings in conventions)
        raise UsageError(f"{names} covers none of the requested metrics; name other metrics")
    return list(requests.values())


def _translated(
    asked: MetricSpec, settings: Settings, conventions: Sequence[Settings]
) -> MetricSpec:
    """Replace the name of a metric in another system by the spec that computes the metric.

    A name from the system of one convention stands for the same metric in all. With several
    conventions, our names keep their meaning, even if a system has another metric of that name.
    """
    catalog = settings.catalog
    is_ours = asked.metric in catalog.metrics or asked.metric in catalog.aliases
    for known in (settings, *conventions):
        call = known.translated(asked)
        same = is_ours and catalog.metric(call.metric)[0] is catalog.metric(asked.metric)[0]
        if call != asked and (same or not is_ours or len(conventions) == 1):
            return call
    return asked


def _not_covered(settings: Settings, metric: Metric, fallback: Settings | None) -> UsageError:
    convention = settings.convention
    neither = "" if fallback is None else f", nor does {fallback.convention.name}"
    why = "".join(
        f" (there: {difference.there}; here: {difference.here})"
        for difference in convention.differences(metric.name)
    )
    return UsageError(
        f"the convention {convention.name} does not cover {metric.name}{why}{neither}; it covers "
        + ", ".join(sorted(settings.covered or ())),
        remedy=Message(
            "to compute such metrics with the standard definitions, add ",
            Argument("fallback", "standard"),
        ),
    )


def calls_of(requests: Iterable[MetricRequest]) -> list[MetricCall]:
    """Group requests by metric call; the stages of a call are planned for all its cutoffs."""
    by_name: dict[tuple[str, str], list[MetricRequest]] = {}
    for request in requests:
        by_name.setdefault((request.convention, request.call.name), []).append(request)
    return [
        MetricCall(
            name,
            members[0].metric,
            members,
            {
                **members[0].values,
                **cutoff_context([member.k for member in members]),
                "chosen_settings": members[0].chosen,
            },
            convention,
        )
        for (convention, name), members in by_name.items()
    ]


def cutoff_context(cutoffs: Sequence[int | None]) -> dict[str, Any]:
    """Return the template variables for the cutoffs of one metric call."""
    finite = [k for k in cutoffs if k is not None]
    largest = max(finite) if len(finite) == len(cutoffs) else None
    return {"cutoffs": list(cutoffs), "max_cutoff": largest}
