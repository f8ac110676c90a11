"""Ways to compute a metric: under every convention, and with one setting of it changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlmetrics.describe.explain import steps_between
from sqlmetrics.errors import SqlmetricsError, TemplateError, UsageError
from sqlmetrics.metrics.definitions import Definitions
from sqlmetrics.metrics.front_matter import Metric, Param
from sqlmetrics.metrics.requests import MetricCall, calls_of
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, Value, parse_spec, unique, value_text
from sqlmetrics.plan.planner import Planner

REFUSED = "error"  # the value of settings that refuse rows
_NEVER_TRIED = ("aggregate", "quantile", "unjudged")  # stated with a reported number


@dataclass(frozen=True)
class Way:
    """A way to compute a metric.

    Attributes:
        asked: the metric as it was asked for.
        call: the metric with the settings of this way, at every cutoff.
        settings: the convention.
        identity: equal for ways that compute the same.
        theirs: names of the metric in the system of the convention.
        changed: the setting that differs from the convention, and its value; None: there is none.
    """

    asked: MetricSpec
    call: MetricCall
    settings: Settings
    identity: str
    theirs: tuple[str, ...] = ()
    changed: tuple[str, Value] | None = None

    @property
    def convention(self) -> str:
        """The name of the convention."""
        return self.settings.convention.name

    @property
    def change(self) -> str:
        """The setting that differs from the convention, such as `divisor=k`; or empty."""
        return "" if self.changed is None else f"{self.changed[0]}={value_text(self.changed[1])}"


@dataclass(frozen=True)
class NoWay:
    """A metric that cannot be computed under a convention, and the reason."""

    convention: str
    metric: str
    error: SqlmetricsError | None  # None: the system of the convention does not have the metric


def under_conventions(
    planner: Planner, asked: MetricSpec, cutoffs: Sequence[int | None], tried: Iterable[Settings]
) -> tuple[list[Way], list[NoWay]]:
    """Find the ways of every convention: the metric itself, and what its system names so.

    Raises:
        UsageError: an unknown metric or parameter, or a value that it does not take.
        TemplateError: a template of the user is wrong.
    """
    ways: list[Way] = []
    failures: list[NoWay] = []
    for settings in tried:
        metric, _ = settings.catalog.metric(asked.metric)
        convention = settings.convention.name
        if not settings.covers(metric.name):
            failures.append(NoWay(convention, metric.name, None))
            continue
        found: dict[str, Way] = {}
        problem: SqlmetricsError | None = None
        for spec, theirs in _specs(settings, metric, asked):
            try:
                call = _call(planner, settings, spec, cutoffs)
                way = Way(asked, call, settings, planner.queries(call).identity, theirs)
            except TemplateError:
                raise
            except SqlmetricsError as error:
                problem = problem or error
                continue
            known = found.get(way.call.name)
            names = theirs if known is None else (*known.theirs, *theirs)
            found[way.call.name] = replace(known or way, theirs=tuple(unique(names)))
        ways += found.values()
        if problem is not None and not found:
            failures.append(NoWay(convention, metric.name, problem))
    return ways, failures


def _specs(
    settings: Settings, metric: Metric, asked: MetricSpec
) -> Iterator[tuple[MetricSpec, tuple[str, ...]]]:
    """Find the specs of a metric under a convention, and the names of its system for them.

    Parameters that were asked for stay as they are.
    """
    _, fixed = settings.catalog.metric(asked.metric)
    own = {**fixed, **dict(asked.params)}
    yield asked, ()
    for theirs, text in (settings.convention.covers or {}).items():
        spec = parse_spec(text)
        owner, params = settings.catalog.metric(spec.metric)
        if owner is metric:
            there = {**params, **dict(spec.params)}
            if all(str(there[name]) == str(own[name]) for name in there.keys() & own.keys()):
                yield replace(asked, params=tuple(sorted({**there, **own}.items()))), (theirs,)


def with_one_change(
    planner: Planner, base: Way, values_of: Mapping[str, Sequence[Value]]
) -> list[Way]:
    """Find the ways that change one setting of another way.

    `values_of`: the settings that may change, and their values. A value that has no meaning there,
    or needs a table or column that was not given, is no way; nor is one that changes no query.
    """
    ways: list[Way] = []
    cutoffs = [request.k for request in base.call.requests]
    own = dict(base.call.requests[0].spec.params)
    for name, values in values_of.items():
        for value in values:
            if name not in base.call.values or value == base.call.values[name]:
                continue
            given = "none" if value is None else value
            params = tuple(sorted({**own, name: given}.items()))
            spec = replace(base.asked, metric=base.call.metric.name, params=params)
            try:
                call = _call(planner, base.settings, spec, cutoffs)
                identity = planner.queries(call).identity
            except TemplateError:
                raise
            except SqlmetricsError:
                continue
            if identity != base.identity or base.call.values[name] == REFUSED:
                ways.append(replace(base, call=call, identity=identity, changed=(name, value)))
    return ways


def values_to_try(
    planner: Planner,
    ways: Sequence[Way],
    asked: MetricSpec,
    strict: bool,
    thresholds: Sequence[Value] = (),
) -> dict[str, list[Value]]:
    """Collect the values of every setting of a metric that may differ.

    These are the choices of the setting; of a number, those of the conventions, those that its
    header lists, and the thresholds of relevance. Settings that the user chose are not among them.

    Args:
        planner: knows the columns of the tables.
        ways: those of the conventions.
        asked: the metric as it was asked for.
        strict: omit settings that say what repeated rows and other faults mean, since there
            are none: all that has such a value computes the same.
        thresholds: values of `relevant_from` besides those of the conventions.
    """
    settings = ways[0].settings
    spec = settings.translated(asked)
    metric, fixed = settings.catalog.metric(spec.metric)
    left_out = {*settings.chosen(metric, {**fixed, **dict(spec.params)}), *_NEVER_TRIED}
    interactions = planner.tables.get("interactions")
    if interactions is None or "relevance" not in interactions.columns:
        left_out.add("relevant_from")  # every row counts
    params: dict[str, Param] = {**settings.catalog.stage_params, **metric.params}
    found: dict[str, list[Value]] = {}
    for name, param in params.items():
        if name in left_out or (strict and REFUSED in param.choices):
            continue
        choices: list[Value] = [choice for choice in param.choices if choice != "auto"]
        more = thresholds if name == "relevant_from" else ()
        found[name] = choices or unique(
            [param.default, *(w.call.values[name] for w in ways), *param.tried, *more]
        )
    return found


def differing(planner: Planner, standard: MetricCall, way: Way, strict: bool) -> dict[str, str]:
    """Find the settings in which a way differs from the standard: `{"audience": "both"}`.

    They are the steps of `explain`; inside a spec, they compute the same under the standard.

    `strict`: the standard refuses no row of the tables; what repeated rows mean makes no difference
    then.
    """
    there = way.call.values
    try:
        steps = steps_between(planner, standard, way.call)
        changed = {step.setting: step.after for step in steps if step.setting is not None}
        refused = [] if strict else [n for n, v in standard.values.items() if v == REFUSED]
    except SqlmetricsError:  # without a table that the standard reads
        changed, refused = {}, list(way.call.requests[0].values)
    for name in refused:
        if there[name] not in (standard.values.get(name, there[name]), REFUSED):
            changed[name] = value_text(there[name])
    return changed


def _call(
    planner: Planner, settings: Settings, spec: MetricSpec, cutoffs: Sequence[int | None]
) -> MetricCall:
    """Resolve one metric under one convention, at all its cutoffs."""
    definitions = Definitions(settings.catalog, [settings], has_rank=planner.has_rank)
    (call,) = calls_of(definitions.requests({spec: cutoffs}))
    return call


def no_convention_has(metric: str, tried: Iterable[Settings]) -> UsageError:
    """Return the error of a metric that no convention has."""
    names = ", ".join(settings.convention.name for settings in tried)
    return UsageError(f"{metric} is not a metric of {names}; try other conventions too")
