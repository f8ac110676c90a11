"""The conventions of a run, and the requested metrics under them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.catalog import EVERYTHING, Catalog
from sqlmetrics.metrics.conventions import Convention, load_all
from sqlmetrics.metrics.front_matter import Metric
from sqlmetrics.metrics.requests import Label, MetricRequest
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, Specs, Value, expand_cutoffs, parse_spec
from sqlmetrics.texts.messages import Argument, Message, set_to

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
        fallback: the settings for metrics that a convention does not cover, as its file has them.
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
        chosen = load_all(conventions)
        return cls(
            catalog,
            [Settings(catalog, convention, given) for convention in chosen],
            None if fallback is None else Settings(catalog, Convention.load(fallback), given),
        )

    @property
    def first(self) -> Settings:
        """The settings under the first convention."""
        return self.conventions[0]

    @cached_property
    def fallback_in_order(self) -> Settings | None:
        """The fallback with the order of lists of the first convention, if that sets one.

        All metrics of a result then read the same lists, e.g. those in the order of rows. A
        fallback that is itself one of the conventions keeps its order.
        """
        if self.fallback is None:
            return None
        conventions = [settings.convention for settings in self.conventions]
        own, order = self.fallback.convention, conventions[0].settings.get("order")
        if order is None or own.name in {convention.name for convention in conventions}:
            return self.fallback
        ordered = replace(own, settings={**own.settings, "order": order})
        return Settings(self.catalog, ordered, self.fallback.given)

    @property
    def values(self) -> dict[str, Value]:
        """The values of all shared settings under the first convention."""
        return self.first.values(self.has_rank)

    @property
    def are_named(self) -> bool:
        """Whether results have a column `convention`."""
        return len(self.conventions) > 1 or self.fallback is not None

    def specs(self, metrics: Metrics, k: Cutoffs, per_user: bool = False) -> Specs:
        """Read the requested metrics, or the default set, each with its cutoffs.

        Args:
            metrics, k: as in `Evaluator.evaluate`.
            per_user: exclude metrics without per-user values from `all`.

        Raises:
            UsageError: there is no spec, or a spec or cutoff is invalid.
        """
        if metrics is None:
            of_default = [MetricSpec(name, implied=True) for name in self.catalog.default_set()]
            return expand_cutoffs(of_default, DEFAULT_K if k is None else k)
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
        texts: list[str | MetricSpec] = [metrics] if isinstance(metrics, str) else list(metrics)
        if not texts:
            raise UsageError("the list of metrics is empty; omit it for the default set")
        specs = [text if isinstance(text, MetricSpec) else parse_spec(text) for text in texts]
        return expand_cutoffs([one for spec in specs for one in self._expand(spec, per_user)], k)

    def _expand(self, spec: MetricSpec, per_user: bool) -> list[MetricSpec]:
        """Replace `all` by the metrics that it includes; with `per_user`, by those of users."""
        if spec.metric != EVERYTHING:
            return [spec]
        if spec.params:
            raise UsageError(
                f"{spec}: all takes no settings; set them for all metrics with ", set_to("NAME")
            )
        return [
            replace(spec, metric=metric.name, implied=True)
            for metric in self.catalog.metrics.values()
            if metric.in_all and (metric.grain == "user" or not per_user)
        ]

    def requests(self, specs: Specs) -> list[MetricRequest]:
        """Resolve specs at their cutoffs under every convention, without duplicate requests.

        Raises:
            UsageError: a metric or setting is unknown, or a convention does not cover a metric.
        """
        requests: dict[Label, MetricRequest] = {}
        for settings in self.conventions:
            for spec, cutoffs in specs.items():
                resolved = self._resolved(spec, settings)
                if resolved is None:
                    continue
                for k in cutoffs if resolved.k is None else [resolved.k]:
                    request = replace(resolved, k=k)
                    requests.setdefault(request.label, request)
        if not requests:
            names = ", ".join(settings.convention.name for settings in self.conventions)
            raise UsageError(f"{names} covers none of the requested metrics; name other metrics")
        return list(requests.values())

    def _resolved(self, spec: MetricSpec, settings: Settings) -> MetricRequest | None:
        """Resolve a spec under one of the conventions; return None for a metric to skip.

        A metric that a convention does not cover is taken from the fallback, if it covers the
        metric. Otherwise it is an error, or skipped unless both metric and convention were
        requested by name. A metric that was not requested by name is skipped, too, if the
        tie-breaking rule does not apply to it.
        """
        spec = self._translated(spec, settings)
        metric, _ = self.catalog.metric(spec.metric, spec.typed)
        if not settings.covers(metric.name):
            fallback = self.fallback_in_order
            if fallback is not None and fallback.covers(metric.name):
                settings = fallback
            elif spec.implied or settings.convention.implied:
                return None
            else:
                raise _not_covered(settings, metric, self.fallback)
        request = settings.request(spec, self.has_rank)
        skipped = spec.implied and settings.not_for(metric, request.values)
        return None if skipped else request

    def _translated(self, spec: MetricSpec, settings: Settings) -> MetricSpec:
        """Replace the name of a metric in another system by the spec that computes the metric.

        A name from the system of one convention stands for the same metric in all. With several
        conventions, our names keep their meaning, even if a system has another metric of that name.
        """
        metric_of = self.catalog.metric
        is_ours = spec.metric in self.catalog.metrics or spec.metric in self.catalog.aliases
        for known in (settings, *self.conventions):
            ours = known.translated(spec)
            same = is_ours and metric_of(ours.metric)[0] is metric_of(spec.metric)[0]
            if ours != spec and (same or not is_ours or len(self.conventions) == 1):
                return ours
        return spec


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
