"""The conventions of a run, and the requested metrics under them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from sqlmetrics.errors import UsageError
from sqlmetrics.messages import Argument, Message, set_to
from sqlmetrics.metrics.catalog import EVERYTHING, Catalog
from sqlmetrics.metrics.conventions import Convention, load_all
from sqlmetrics.metrics.requests import MetricRequest, requests_of
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, Value, expand_cutoffs, parse_spec

DEFAULT_K = 10

# a spec, several specs, or None for the default set
Metrics: TypeAlias = str | Iterable[str | MetricSpec] | None
Cutoffs: TypeAlias = int | Iterable[int] | None


@dataclass(frozen=True)
class Definitions:
    """The conventions of a run, and the fallback for metrics that they do not cover.

    Attributes:
        catalog: all templates.
        conventions: the settings under each convention; the first applies if only one can.
        fallback: the settings for metrics that a convention does not cover.
        has_rank: True if the lists have ranks, which then determine their order.
    """

    catalog: Catalog
    conventions: Sequence[Settings]
    fallback: Settings | None = None
    has_rank: bool = False

    @classmethod
    def load(
        cls,
        catalog: Catalog,
        conventions: str | Path | Iterable[str | Path],
        fallback: str | Path | None,
        given: Mapping[str, Any],
    ) -> Definitions:
        """Read conventions, and combine them with the settings of the user.

        Raises:
            UsageError: a convention, setting or value is unknown.
        """
        return cls(
            catalog,
            [Settings(catalog, convention, given) for convention in load_all(conventions)],
            None if fallback is None else Settings(catalog, Convention.load(fallback), given),
        )

    @property
    def first(self) -> Settings:
        """The settings under the first convention."""
        return self.conventions[0]

    @property
    def values(self) -> dict[str, Value]:
        """The values of all shared settings under the first convention."""
        return self.first.resolve(None, self.has_rank)[1]

    @property
    def are_named(self) -> bool:
        """Whether results have a column `convention`."""
        return len(self.conventions) > 1 or self.fallback is not None

    def requests(self, metrics: Metrics, k: Cutoffs, per_user: bool = False) -> list[MetricRequest]:
        """Resolve the requested metrics and cutoffs under every convention.

        Raises:
            UsageError: a metric or parameter is unknown, a cutoff is invalid, or a convention does
                not cover a metric.
        """
        return self.resolved(self.pairs(metrics, k, per_user))

    def resolved(self, pairs: Iterable[tuple[MetricSpec, int | None]]) -> list[MetricRequest]:
        """Resolve metric calls, each with a cutoff, under every convention."""
        return requests_of(pairs, self.conventions, self.fallback, self.has_rank)

    def pairs(
        self, metrics: Metrics, k: Cutoffs, per_user: bool = False
    ) -> list[tuple[MetricSpec, int | None]]:
        """Pair the requested metrics, or the default set, with their cutoffs.

        Args:
            metrics, k: as in `Evaluator.evaluate`.
            per_user: exclude metrics without per-user values from `all`.

        Raises:
            UsageError: there is no spec, or a spec is invalid.
        """
        if metrics is None:
            calls = [MetricSpec(name, implied=True) for name in self.catalog.default_set()]
            return expand_cutoffs(calls, DEFAULT_K if k is None else k)
        if isinstance(metrics, Mapping):
            named = [
                f"{name}@{cutoff}"
                for name, cutoffs in metrics.items()
                for cutoff in (cutoffs if isinstance(cutoffs, list | tuple) else [cutoffs])
            ]
            raise UsageError(
                f"metrics is a dict, {metrics!r}",
                remedy=Message("write cutoffs into the specs: ", Argument("metrics", named)),
            )
        if not isinstance(metrics, Iterable):
            raise UsageError(f"metrics must be specs such as 'ndcg@10', not {metrics!r}")
        specs: list[str | MetricSpec] = [metrics] if isinstance(metrics, str) else list(metrics)
        if not specs:
            raise UsageError("the list of metrics is empty; omit it for the default set")
        read = [spec if isinstance(spec, MetricSpec) else parse_spec(spec) for spec in specs]
        return expand_cutoffs([call for spec in read for call in self._expand(spec, per_user)], k)

    def _expand(self, call: MetricSpec, per_user: bool) -> list[MetricSpec]:
        """Replace `all` by the metrics that it includes; with `per_user`, by those of users."""
        if call.metric != EVERYTHING:
            return [call]
        if call.params:
            raise UsageError(
                f"{call}: all takes no settings; set them for all metrics with ", set_to("NAME")
            )
        return [
            replace(call, metric=metric.name, implied=True)
            for metric in self.catalog.metrics.values()
            if metric.in_all and (metric.grain == "user" or not per_user)
        ]
