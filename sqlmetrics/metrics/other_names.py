"""Names of metrics in other systems, as the conventions list them (`[covers]`)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.conventions import Convention, conventions
from sqlmetrics.metrics.spec import MetricSpec, parse_cutoff, parse_spec, value_text
from sqlmetrics.texts.messages import Argument, Message, joined


def specs_of(covers: Mapping[str, str]) -> dict[MetricSpec, MetricSpec]:
    """Return the names of a system that can be written as a spec, and the specs for them."""
    specs = {}
    for theirs, ours in covers.items():
        with contextlib.suppress(UsageError):  # a name such as BinaryRecoMetrics.AUC
            spec = parse_spec(theirs.removesuffix("@k"))
            specs[replace(spec, metric=_with_plain_fraction(spec.metric))] = parse_spec(ours)
    return specs


def _name_and_cutoff(name: str, before_cutoff: str) -> tuple[str, str]:
    """Split a name such as `P_10` at one of these characters; both parts are empty if it does not
    end with a cutoff."""
    if not before_cutoff:
        return "", ""
    parts = re.fullmatch(rf"(.+)[{re.escape(before_cutoff)}]([0-9]+)", name)
    return (parts[1], parts[2]) if parts else ("", "")


def _with_plain_fraction(name: str) -> str:
    """Return `iprec_at_recall_0.1` for `iprec_at_recall_0.10` and `iprec_at_recall.0.1`."""
    parts = re.fullmatch(r"(.+)[_.](\d+\.\d+)", name)
    return f"{parts[1]}_{value_text(float(parts[2]))}" if parts else name


def cutoff_apart(
    spec: MetricSpec, theirs: Collection[MetricSpec], before_cutoff: str
) -> MetricSpec:
    """Split a name such as `P_10` into the name of a metric of the system and its cutoff."""
    name, k = _name_and_cutoff(spec.metric, before_cutoff)
    is_whole = MetricSpec(_with_plain_fraction(spec.metric)) in theirs
    if spec.cutoff is not None or is_whole or MetricSpec(name) not in theirs:
        return spec
    return replace(spec, metric=name, cutoff=parse_cutoff(k))


def translated(
    spec: MetricSpec, theirs: Mapping[MetricSpec, MetricSpec], known: bool
) -> MetricSpec:
    """Replace the name of a metric in another system by the spec that computes the metric.

    Args:
        spec: the metric, such as `MeanInvUserFreq@10` or `MAP(divide_by_k=True)`.
        theirs: the specs of the metrics of the system, from `specs_of`.
        known: whether sqlmetrics has a metric of this name, which then takes precedence.
    """
    ours = theirs.get(MetricSpec(spec.metric, spec.params)) if spec.params else None
    if ours is not None:
        return replace(spec, metric=ours.metric, params=ours.params)
    ours = None if known else theirs.get(MetricSpec(_with_plain_fraction(spec.metric)))
    if ours is None:
        return spec
    params = {**dict(ours.params), **dict(spec.params)}
    return replace(spec, metric=ours.metric, params=tuple(sorted(params.items())))


def with_settings(
    spec: MetricSpec, parameters: Mapping[str, str], settings: Collection[str]
) -> MetricSpec:
    """Replace the names of parameters in another system by those of our settings.

    Args:
        spec: the metric, such as `ap(rel=2)`.
        parameters: the names of the system and the settings that they stand for.
        settings: the settings of the metric; other parameters are kept, for the error message.
    """
    given = dict(spec.params)
    renamed = {
        theirs: ours
        for theirs, ours in parameters.items()
        if theirs in given and theirs not in settings and ours in settings and ours not in given
    }
    params = {renamed.get(name, name): value for name, value in given.items()}
    return replace(spec, params=tuple(sorted(params.items())))


def elsewhere(name: str) -> Message:
    """Return the metrics that conventions know under a name, as a hint; empty if there are none."""
    found: dict[str, list[str]] = {}
    for known in map(Convention.load, conventions()):
        base, k = _name_and_cutoff(name, known.before_cutoff)
        for theirs, spec in (known.covers or {}).items():
            if _letters(theirs) == _letters(name):
                found.setdefault(spec, []).append(known.name)
            elif theirs.lower() == base.lower():
                found.setdefault(f"{spec}@{k}", []).append(known.name)
    if not found:
        return Message()
    named = joined(
        ", and ", (f"of {spec} in {' and '.join(systems)}" for spec, systems in found.items())
    )
    spec, (first, *_) = next(iter(found.items()))
    return Message(
        "; it is the name ", named, f". Write {spec}, or choose the convention with ",
        Argument("convention", first),
    )  # fmt: skip


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.removesuffix("@k").lower())
