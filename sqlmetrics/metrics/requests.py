"""Metric requests, and the metric calls that group them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlmetrics.metrics.front_matter import Metric
from sqlmetrics.metrics.spec import MetricSpec, Value, labelled, value_text

# what tells requests apart: convention, name and cutoff
Label: TypeAlias = tuple[str, str, int | None]


@dataclass(frozen=True)
class MetricRequest:
    """A metric at one cutoff under one convention, with the value of every setting.

    `spec`: in its canonical spelling. `chosen`: the settings that the user chose; all others come
    from the convention.
    """

    spec: MetricSpec
    k: int | None
    metric: Metric
    values: Mapping[str, Value]
    convention: str
    chosen: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The spec without its cutoff, as in the column `metric` of a result."""
        return self.spec.name

    @property
    def label(self) -> Label:
        """The convention, name and cutoff: equal for requests that are a row of the result."""
        return self.convention, self.name, self.k

    @property
    def column(self) -> str:
        """The name of the column in results with a column per metric and cutoff: `ndcg@10`."""
        return labelled(self.name, self.k)

    @property
    def higher_is_better(self) -> bool | None:
        """Whether higher values are better under these settings; None if neither is."""
        better = self.metric.higher_is_better
        params = self.metric.params.values()
        reversed_ = any(self.values[param.name] in param.reverses for param in params)
        return not better if reversed_ and better is not None else better


@dataclass(frozen=True)
class MetricCall:
    """A metric call with all its cutoffs; `values` are the settings that its templates read."""

    name: str
    metric: Metric
    requests: Sequence[MetricRequest]
    values: Mapping[str, Any]
    convention: str

    @property
    def when_empty(self) -> str | None:
        """The value for a user (or model) without rows; None if the value is undefined."""
        metric, value = self.metric, self.metric.when_empty
        for name, param in metric.params.items():
            value = param.when_empty.get(value_text(self.values[name]), value)
        dropped = metric.audience == "relevant" and self.values["no_hits"] == "drop"
        if value is None or (metric.grain == "user" and dropped):
            return None
        return value_text(value)

    @property
    def is_best_without_relevant(self) -> bool:
        """Whether users without a relevant item have the value 1."""
        return self.values["no_relevant"] == "one" and self.metric.can_be_best_without_relevant


def calls_of(requests: Iterable[MetricRequest]) -> list[MetricCall]:
    """Group requests by metric call; the stages of a call are planned for all its cutoffs."""
    by_name: dict[tuple[str, str], list[MetricRequest]] = {}
    for request in requests:
        by_name.setdefault((request.convention, request.name), []).append(request)
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
