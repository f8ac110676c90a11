"""The definitions that a run uses, and the requested metrics under them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from sqlmetrics.errors import UsageError
from sqlmetrics.messages import set_to
from sqlmetrics.metrics.catalog import EVERYTHING, Catalog
from sqlmetrics.metrics.conventions import Convention, load_all
from sqlmetrics.metrics.requests import MetricRequest, requests_of
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, Value, expand_cutoffs, parse_spec

DEFAULT_K = 10

# what a caller names: a spec, several of them, or nothing for the default set
Metrics: TypeAlias = str | Iterable[str | MetricSpec] | None
Cutoffs: TypeAlias = int | Iterable[int] | None


@dataclass(frozen=True)
class Definitions:
    """The conventions of a run, and the one for metrics that they do not cover.

    Attributes:
        catalog: all templates.
        conventions: the settings under each convention; the first counts where only one can.
        fallback: the settings for other metrics.
        has_rank: do the lists have ranks? The order of lists depends on it.
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
        """Read conventions, and the settings that the user gave.

        Raises:
            UsageError: an unknown convention, setting or value.
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
        """The value of every shared setting under the first convention."""
        return self.first.resolve(None, self.has_rank)[1]

    @property
    def values_of_each(self) -> list[dict[str, Value]]:
        """The value of every shared setting under each convention."""
        return [settings.resolve(None, self.has_rank)[1] for settings in self.conventions]

    @property
    def are_named(self) -> bool:
        """Do results have a column `convention`?"""
        return len(self.conventions) > 1 or self.fallback is not None

    def requests(self, metrics: Metrics, k: Cutoffs, per_user: bool = False) -> list[MetricRequest]:
        """Resolve the requested metrics and cutoffs under every convention.

        Raises:
            UsageError: an unknown metric, parameter or cutoff, or a metric that a convention does
                not cover.
        """
        return self.resolved(self.pairs(metrics, k, per_user))

    def resolved(self, pairs: Iterable[tuple[MetricSpec, int | None]]) -> list[MetricRequest]:
        """Resolve calls of metrics, each with a cutoff, under every convention."""
        return requests_of(pairs, self.conventions, self.fallback, self.has_rank)

    def pairs(
        self, metrics: Metrics, k: Cutoffs, per_user: bool = False
    ) -> list[tuple[MetricSpec, int | None]]:
        """Pair the metrics asked for with their cutoffs; the default set if none is named.

        Args:
            metrics, k: as `Evaluator.evaluate` takes them.
            per_user: leave metrics without such values out of `all`.

        Raises:
            UsageError: no spec, or none that can be read.
        """
        if metrics is None:
            calls = [MetricSpec(name, implied=True) for name in self.catalog.default_set()]
            return expand_cutoffs(calls, DEFAULT_K if k is None else k)
        if not isinstance(metrics, Iterable):
            raise UsageError(f"metrics are specs such as 'ndcg@10', not {metrics!r}")
        specs = [metrics] if isinstance(metrics, str) else list(metrics)
        if not specs:
            raise UsageError("no metric named; leave metrics out for the default set")
        read = [spec if isinstance(spec, MetricSpec) else parse_spec(spec) for spec in specs]
        return expand_cutoffs([call for spec in read for call in self._expand(spec, per_user)], k)

    def _expand(self, call: MetricSpec, per_user: bool) -> list[MetricSpec]:
        """Put metrics in the place of `all`; per user, those that have such values."""
        if call.metric != EVERYTHING:
            return [call]
        if call.params:
            raise UsageError(f"{call}: settings for all metrics are given with ", set_to("NAME"))
        return [
            replace(call, metric=metric.name, implied=True)
            for metric in self.catalog.metrics.values()
            if metric.in_all and (metric.grain == "user" or not per_user)
        ]
