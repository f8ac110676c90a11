"""Settings: the value and origin of every setting of a metric under one convention."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from sqlmetrics.errors import UsageError, suggestion
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.front_matter import Metric, Param
from sqlmetrics.metrics.other_names import cutoff_apart, specs_of, translated, with_settings
from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.metrics.spec import AT, MetricSpec, Value, parse_cutoff, parse_spec, value_text
from sqlmetrics.texts.messages import Message, set_to

_MEANINGLESS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "worst": ("duplicate_interactions", ("bag",)),
    "best": ("duplicate_interactions", ("bag",)),
    "average": ("duplicate_recommendations", ("count_once", "join", "cut_then_dedup")),
}
"""Per tie-breaking rule: a setting and its values under which ties have no such order."""


class Settings:
    """The layers of settings, in this order: spec, the user's settings, convention, defaults."""

    def __init__(self, catalog: Catalog, convention: Convention, given: Mapping[str, Any]):
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise UsageError(f"settings must be a dict {{name: value}}, not {given!r}")
        self.catalog = catalog
        self.convention = convention
        users_values = self._canonical(given, "setting")
        flat = dict(convention.settings)
        for metric, values in convention.metrics.items():
            flat.update({f"{metric}.{name}": value for name, value in values.items()})
        where = f"convention {convention.name}"
        self.of_convention = self._canonical(flat, where)
        # while the metrics of the convention are resolved: every metric, and no user's settings,
        # which may contradict a metric that nobody asks for
        self.covered: frozenset[str] | None = None
        self.given: dict[str, Value] = {}
        self.covered = self._covered(where)
        self.given = users_values
        for name in (name for entry in convention.differs for name in entry.metrics):
            self._metric(name, where)

    def _covered(self, where: str) -> frozenset[str] | None:
        """Return the metrics that the convention covers; None for all."""
        if self.convention.covers is None:
            return None
        metrics = set()
        for theirs, spec in self.convention.covers.items():
            try:
                request = self._request(parse_spec(spec), has_rank=False)
            except UsageError as error:
                raise UsageError(f"{where}: {theirs}: {error}") from None
            if request.k is not None:
                raise UsageError(f"{where}: {theirs}: remove the cutoff: {request.name}")
            metrics.add(request.metric.name)
        return frozenset(metrics)

    def covers(self, metric: str) -> bool:
        """Return whether the convention covers the metric."""
        return self.covered is None or metric in self.covered

    def _metric(self, name: str, where: str) -> Metric:
        try:
            return self.catalog.metric(name)[0]
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from None

    def _canonical(self, values: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Check names and values, and replace aliases, e.g. `AP.divisor` by `map.divisor`."""
        self._check_names(values, where)
        canonical: dict[str, Any] = {}
        for full_name, value in values.items():
            metric_name, dot, name = full_name.rpartition(".")
            if dot:
                full_name = f"{self._metric(metric_name, where).name}.{name}"
            if canonical.get(full_name, value) != value:
                raise UsageError(
                    f"{where}: {full_name} is set twice, under different names; remove one"
                )
            canonical[full_name] = value
        return canonical

    def _check_names(self, values: Mapping[str, Any], where: str) -> None:
        for full_name, value in values.items():
            metric_name, dot, name = full_name.rpartition(".")
            known = self.catalog.known_settings()
            if dot:
                metric = self._metric(metric_name, where)
                known = set(metric.params) | set(self.catalog.stage_params)
            if name not in known:
                owner = f" of {metric_name}" if dot else ""
                close = suggestion(name, known)
                raise UsageError(
                    f"{where}: unknown setting {name!r}{owner}"
                    f"{close or '; known: ' + ', '.join(sorted(known))}"
                )
            if dot and name == "aggregate":
                self._check_aggregate(f"{where} {full_name}", metric)
            if dot:
                parsed = self._param(metric, name).parse(value, f"{where} {full_name}")
                if (name, parsed) == ("no_relevant", "one"):
                    _check_best_value(f"{where} {full_name}", metric)
            elif name in self.catalog.stage_params:
                self.catalog.stage_params[name].parse(value, where)
            else:
                self._check_for_some_metric(name, value, where)

    def _check_for_some_metric(self, name: str, value: Any, where: str) -> None:
        """Check that a value is valid for at least one metric with this setting of its own."""
        owners = [m.params[name] for m in self.catalog.metrics.values() if name in m.params]
        problems = []
        for param in owners:
            try:
                param.parse(value, where)
            except UsageError as error:
                problems.append(error)
        if len(problems) == len(owners):
            raise problems[0]

    def _param(self, metric: Metric | None, name: str) -> Param:
        if metric is not None and name in metric.params:
            return metric.params[name]
        return self.catalog.stage_params[name]

    def translated(self, spec: MetricSpec) -> MetricSpec:
        """Replace the name of a metric in the system of the convention by the spec for it.

        Names of a default set are ours, even if the system has another metric of that name.
        """
        spec = cutoff_apart(spec, self._theirs, self.convention.before_cutoff)
        name, _ = self.catalog.aliases.get(spec.metric, (spec.metric, {}))
        known = name in self.catalog.metrics and self.covers(name)
        ours = translated(spec, self._theirs, known)
        if spec.implied and self.catalog.metric(ours.metric)[0].name != name:
            return spec
        if not self.convention.parameters or ours.metric not in self.catalog.aliases.keys() | (
            self.catalog.metrics.keys()
        ):
            return ours
        metric, _ = self.catalog.metric(ours.metric)
        settings = metric.params.keys() | self.catalog.stage_params.keys()
        return with_settings(ours, self.convention.parameters, settings)

    @functools.cached_property
    def _theirs(self) -> Mapping[MetricSpec, MetricSpec]:
        return specs_of(self.convention.covers or {})

    def values(self, has_rank: bool = False) -> dict[str, Value]:
        """Return the value of every setting that metrics share.

        `has_rank`: the lists have ranks, which determine their order unless the user sets another
        order.

        Raises:
            UsageError: a value is invalid.
        """
        return self._values(None, {}, "settings", has_rank)[0]

    def request(self, spec: MetricSpec, has_rank: bool = False) -> MetricRequest:
        """Resolve a spec at its own cutoff: its canonical spelling, and the value of every setting.

        The spelling contains only parameters that change a value. `has_rank`: see `values`.

        Raises:
            UsageError: a metric or parameter is unknown, or a value is invalid.
        """
        request = self._request(spec, has_rank)
        values = request.values
        if values["order"] == "score":
            _check_duplicates_of_ties(str(spec), values)
        for name, why in () if spec.implied else self.not_for(request.metric, values).items():
            raise UsageError(
                f"{spec}: {name}={values[name]} {why}",
                remedy=Message(
                    "set it only for metrics that support it, with ",
                    set_to(f"METRIC.{name}", str(values[name])),
                ),
            )
        return request

    def _request(self, spec: MetricSpec, has_rank: bool) -> MetricRequest:
        """Resolve a spec without the rules of `not_for`, which restrict requests."""
        spec = self.translated(spec)
        metric, fixed = self.catalog.metric(spec.metric, spec.typed)
        own = {**fixed, **dict(spec.params)}
        if AT in own:
            parse_cutoff(own[AT])  # an error: no parameter of the metric has this name
        params = {**self.catalog.stage_params, **metric.params}
        for name in own:
            if name not in params:
                close = suggestion(name, metric.params) or suggestion(name, params)
                raise UsageError(
                    f"{spec}: unknown parameter {name!r}{close or '.'} {spec.metric} has "
                    f"{', '.join(metric.params) or 'no parameters of its own'} "
                    f"(`sqlmetrics describe {spec.metric}` shows all settings)"
                )
        if "aggregate" in own:
            self._check_aggregate(str(spec), metric)
        if str(own.get("no_relevant")).lower() == "one":
            _check_best_value(str(spec), metric)
        values, without = self._values(metric, own, str(spec), has_rank)
        kept = ((name, values[name]) for name in own if values[name] != without[name])
        return MetricRequest(
            MetricSpec(metric.name, tuple(sorted(kept)), spec.cutoff, spec.implied),
            spec.cutoff,
            metric,
            values,
            self.convention.name,
            self.chosen(metric, own),
        )

    def _values(
        self, metric: Metric | None, own: Mapping[str, Any], where: str, has_rank: bool
    ) -> tuple[dict[str, Value], dict[str, Value]]:
        """Return the values of the settings, with the parameters of a spec and without them."""
        params = {**self.catalog.stage_params, **(metric.params if metric else {})}
        without = {name: self._value(metric, name, has_rank) for name in params}
        parsed = {name: params[name].parse(value, where) for name, value in own.items()}
        for layer in (without, parsed):
            if layer.get("order") == "auto":
                layer["order"] = "rank" if has_rank else "score"
        values = {**without, **parsed}
        # a convention may set what only some forms of a metric read
        names = self.chosen(metric, own) if metric else params
        for name, param in ((name, params[name]) for name in names):
            for other, choices in param.only_with.items():
                if values[name] != param.default and values[other] not in choices:
                    raise UsageError(
                        f"{where}: {name}={value_text(values[name])} has no effect without "
                        f"{other}={' or '.join(choices)}"
                    )
        return values, without

    def not_for(self, metric: Metric, values: Mapping[str, Value]) -> dict[str, str]:
        """Return the settings whose values do not apply to a metric, each with the reason."""
        reasons = {"ties": self._not_these_ties(metric, values), "unjudged": ""}
        unjudged = str(values["unjudged"])
        if unjudged != "nonrelevant" and unjudged not in metric.unjudged_items:
            reasons["unjudged"] = _why_not_unjudged(metric)
        return {name: reason for name, reason in reasons.items() if reason}

    def _not_these_ties(self, metric: Metric, values: Mapping[str, Value]) -> str:
        """Return why the tie-breaking rule does not apply to a metric; empty if it does."""
        ties = values["ties"]
        if values["order"] != "score":
            return ""
        if ties == "average" and not metric.averages_ties:
            known = sorted(m.name for m in self.catalog.metrics.values() if m.averages_ties)
            return f"applies only to metrics that are sums over hits: {', '.join(known)}"
        if ties in ("worst", "best") and not metric.is_of_relevant_items:
            return (
                "applies only to metrics with a value per user that depends on the ranks of "
                "relevant items"
            )
        return ""

    def chosen(self, metric: Metric, own: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the settings that the user chose, not the convention; `own`: those of a spec."""
        names = {**self.catalog.stage_params, **metric.params}
        return tuple(
            sorted(name for name in names if {name, f"{metric.name}.{name}"} & {*own, *self.given})
        )

    def _value(self, metric: Metric | None, name: str, has_rank: bool) -> Value:
        """Return the value of a setting from the layers below the spec."""
        param = self._param(metric, name)
        if name == "aggregate" and metric is not None and metric.aggregate not in param.choices:
            return metric.aggregate
        names = ([f"{metric.name}.{name}"] if metric else []) + [name]
        for full_name in names:
            if full_name in self.given:
                where = f"setting {full_name}"
                try:
                    return param.parse(self.given[full_name], where)
                except UsageError as error:
                    hint = (
                        ""
                        if metric is None or "." in full_name
                        else (
                            f"; {metric.name} does not accept this value: write METRIC.{name} to "
                            "set it for one metric only"
                        )
                    )
                    raise UsageError(error, hint) from None
        if name == "order" and has_rank:
            return "rank"  # a column rank determines the order under every convention
        for full_name in names:
            if full_name in self.of_convention:
                where = f"convention {self.convention.name}"
                return param.parse(self.of_convention[full_name], where)
        if name == "audience" and metric is not None:
            return metric.audience
        if name == "aggregate" and metric is not None:
            return metric.aggregate
        return param.default

    def _check_aggregate(self, where: str, metric: Metric) -> None:
        """Check that a metric is not an aggregate itself."""
        choices = self.catalog.stage_params["aggregate"].choices
        if metric.grain == "run" or metric.aggregate not in choices:
            of_all = "users" if metric.grain == "run" else "rounds"
            raise UsageError(
                f"{where}: {metric.name} has one value for all {of_all} together; aggregate "
                "applies only to metrics with a value per user or round"
            )


def _why_not_unjudged(metric: Metric) -> str:
    if metric.unjudged_items:
        return f"does not apply to {metric.name}, which reads the rows of judged items themselves"
    if metric.audience == "judged":
        return f"has no meaning for {metric.name}, which depends on which items are judged"
    return "applies only to metrics with a value per user that depends on relevant items"


def _check_best_value(where: str, metric: Metric) -> None:
    if not metric.can_be_best_without_relevant:
        raise UsageError(
            f"{where}: no_relevant=one applies only to metrics of relevant items whose values are "
            f"from 0 to 1, the higher the better; {metric.name} is another metric"
        )


def _check_duplicates_of_ties(where: str, values: Mapping[str, Value]) -> None:
    ties = str(values["ties"])
    name, choices = _MEANINGLESS.get(ties, ("ties", ()))
    if values[name] in choices:
        raise UsageError(
            f"{where}: {name}={values[name]} has no meaning for ties={ties}",
            remedy=Message("choose how to handle duplicate rows with ", set_to(f"METRIC.{name}")),
        )
