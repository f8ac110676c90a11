"""Resolve and plan the requests of a run: the first two steps of a run.

A run resolves a request (metrics, cutoffs, settings and slices), plans it, checks the tables,
executes the plan and presents the result; see `sqlmetrics/run/path.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias, TypeVar

from sqlmetrics.errors import MissingTableError, TemplateError, UsageError, left_out, none_left
from sqlmetrics.metrics.definitions import Cutoffs, Definitions, Metrics
from sqlmetrics.metrics.requests import MetricCall, MetricRequest, calls_of
from sqlmetrics.metrics.spec import Value
from sqlmetrics.plan.audit import TABLE as AUDIT
from sqlmetrics.plan.clusters import Clusters
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.results import Results, results_of
from sqlmetrics.plan.rounds import planner_of
from sqlmetrics.plan.slices import Attribute, Slicing, attribute_of_clusters, attributes_of
from sqlmetrics.sql.query_graph import Node, Plan
from sqlmetrics.stats.gaps import checked_gaps
from sqlmetrics.stats.intervals import Interval
from sqlmetrics.texts.messages import Argument, Message

Names: TypeAlias = str | Iterable[str] | None
_Error = TypeVar("_Error", bound=UsageError)


@dataclass(frozen=True)
class Request:
    """A request by the caller; the attributes are the arguments of `Evaluator.evaluate`.

    `per_user` requests per-user values instead of means; `long` those with a row per cutoff.
    """

    metrics: Metrics = None
    k: Cutoffs = None
    by: Names = None
    by_item: Names = None
    combinations: bool = False
    gap: Names = None
    interval: Interval = field(default_factory=Interval)
    cluster: str | None = None
    skip_missing: bool = False
    per_user: bool = False
    long: bool = False

    @classmethod
    def of(cls, metrics: Metrics, k: Cutoffs, per_user: bool = False, /, **options: Any) -> Request:
        """Create a request from the arguments of `Evaluator.evaluate` or `Evaluator.per_user`.

        Raises:
            TypeError: the method has no such argument.
            UsageError: the confidence interval is invalid.
        """
        method, known = ("per_user", _PER_USER) if per_user else ("evaluate", _SUMMARY)
        for name in options:
            if name not in known:
                raise TypeError(f"{method} has no argument {name!r}; it has {', '.join(known)}")
        interval = {
            field: options.pop(name) for name, field in _INTERVAL.items() if name in options
        }
        return cls(metrics, k, **options, per_user=per_user, interval=Interval(**interval))


# argument of a method -> field of `Interval`
_INTERVAL = {
    "ci": "kind", "confidence": "confidence", "resamples": "resamples", "seed": "seed",
    "run_ci": "of_runs",
}  # fmt: skip
_MOST_COMBINED = 10  # columns; each further one doubles the number of subsets
_PER_USER = ("by", "by_item", "skip_missing", "long")
_NOT_OF_SUMMARIES = ("metrics", "k", "per_user", "long")
_SUMMARY = [
    name
    for one in fields(Request)
    if one.name not in _NOT_OF_SUMMARIES
    for name in (_INTERVAL if one.name == "interval" else [one.name])
]


@dataclass(frozen=True)
class Resolved:
    """A request with every choice resolved.

    Attributes:
        requests: the metric requests, with the value of every setting.
        with_convention: whether results have a column `convention`.
        attributes: the attributes to slice by.
        combinations: whether to slice also by subsets of the attributes.
        gaps: how to sum up differences between the slices.
        of_slices: the values of the settings of slices.
        interval: the confidence interval of every value.
        cluster: the column of lists that are not independent; None if all are.
        warnings: warnings about omitted metrics.
    """

    requests: tuple[MetricRequest, ...]
    with_convention: bool
    attributes: tuple[Attribute, ...]
    combinations: bool
    gaps: tuple[str, ...]
    of_slices: Mapping[str, Value]
    interval: Interval
    cluster: Attribute | None
    warnings: tuple[Message, ...]

    @property
    def identity(self) -> tuple[Any, ...]:
        """Return what distinguishes this request from others over the same tables."""
        requests = tuple(
            (one.convention, one.spec, one.k, one.chosen, tuple(one.values.items()))
            for one in self.requests
        )
        attributes = tuple(
            (one.name, one.of, one.table, one.template and one.template.name,
             tuple(one.params.items()), one.bins, one.levels)
            for one in self.attributes
        )  # fmt: skip
        cluster = self.cluster and (self.cluster.name, self.cluster.table)
        of_slices = tuple(self.of_slices.items())
        return (
            requests, self.with_convention, attributes, self.combinations, self.gaps, of_slices,
            self.interval, cluster, self.warnings,
        )  # fmt: skip

    def results(self, planner: Planner) -> Results:
        """Plan the values of results, before they are aggregated or compared."""
        planner = planner_of(planner, self.requests)
        slicing = None
        if self.attributes:
            slicing = Slicing(planner, self.attributes, self.combinations, self.of_slices)
        clusters = None
        if self.cluster is not None:
            clusters = Clusters.of(planner, self.cluster, self.of_slices)
        return results_of(
            planner,
            list(self.requests),
            with_convention=self.with_convention,
            slicing=slicing,
            interval=self.interval,
            warnings=self.warnings,
            gaps=self.gaps,
            clusters=clusters,
        )


@dataclass(frozen=True)
class Reads:
    """The queries that one metric call reads under its settings, whose tables are checked.

    Attributes:
        nodes: the queries by name.
        values: the settings.
        where: "under the convention jurity" if settings differ between calls, else empty.
    """

    nodes: Mapping[str, Node]
    values: Mapping[str, Any]
    where: str = ""


@dataclass(frozen=True)
class Sliced:
    """An attribute to slice by, or the column of clusters, and the queries that check it.

    Attributes:
        attribute: the attribute of users or items.
        reads: the query of a built-in or user-defined slice; None for a column.
        uneven: the query for users with several values of a column; None if these are allowed.
        named_missing: the query for values that are the name of rows without a value; None for
            columns that are not text.
        unassigned: the query for users without a cluster; None for slices.
    """

    attribute: Attribute
    reads: Reads | None
    uneven: Plan | None
    named_missing: Plan | None
    unassigned: Plan | None = None


@dataclass(frozen=True)
class Audited:
    """The tables of an audit that have to be checked.

    Attributes:
        planner: plans queries that read the audit in place of the interactions.
        reads: the queries that each metric call reads of it.
        unpaired: the queries for audited users with values by labels or by people only.
        unjudged: the queries for listed items that people have not judged.
    """

    planner: Planner
    reads: tuple[Reads, ...]
    unpaired: Sequence[Plan]
    unjudged: Sequence[Plan]


@dataclass(frozen=True)
class PlannedRun:
    """The plan of a result and the conditions that its tables must satisfy; it holds no engine.

    Attributes:
        plan: the queries.
        requests: the metric requests to compute.
        reads: the queries that each metric call reads.
        slices: the attributes to slice by, with their checks.
        of_users: for comparisons, the queries whose rows of users are needed.
        gaps: how differences between the slices are summed up.
        cluster: the column of clusters, with its checks.
        audit: the audit, and the queries of the values that it corrects.
        assumes_independence: whether its intervals or tests assume that lists are independent.
        names: the names of columns of the result that the statement cannot use, by those that it
            uses.
    """

    plan: Plan
    requests: tuple[MetricRequest, ...]
    reads: tuple[Reads, ...]
    slices: tuple[Sliced, ...] = ()
    of_users: tuple[Node, ...] = ()
    gaps: tuple[str, ...] = ()
    cluster: Sliced | None = None
    audit: Audited | None = None
    assumes_independence: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def checked(self) -> list[Sliced]:
        """Return the columns whose values are checked: those of slices and of clusters."""
        return [*self.slices, *([self.cluster] if self.cluster else [])]


def resolve(definitions: Definitions, planner: Planner, asked: Request) -> Resolved:
    """Resolve every metric, cutoff, setting and slice of a request.

    Raises:
        UsageError: the request has an unknown or invalid part.
        MissingTableError: a required table or column was not given.
    """
    if AUDIT in planner.tables:
        _check_audited(asked)
    specs = definitions.specs(asked.metrics, asked.k, asked.per_user)
    requests = definitions.requests(specs)
    warnings: tuple[Message, ...] = ()
    if asked.skip_missing:
        calls, missing = that_can_be_planned(planner, requests, MissingTableError)
        if not calls:
            raise none_left(*missing[0])
        requests = [request for call in calls for request in call.requests]
        warnings = (left_out(missing),) if missing else ()
    planner = planner_of(planner, requests)
    for request in requests if asked.cluster is not None else ():
        if request.values["aggregate"] == "half_width":
            raise UsageError(
                f"{request.spec}: the half width is that of independent lists; it cannot be "
                "combined with ", Argument("cluster"),
                remedy="take half of ci_high - ci_low of the mean",
            )  # fmt: skip
    attributes: Sequence[Attribute] = ()
    if asked.by is not None or asked.by_item is not None:
        attributes = attributes_of(
            asked.by, asked.by_item, definitions.catalog, planner.tables, planner.user_keys
        )
    for attribute in attributes if asked.per_user else ():
        if attribute.is_key and attribute.of == "users":
            raise UsageError(f"by: {attribute.name} is already in each row of per-user values")
    if asked.combinations and not attributes:
        raise UsageError(
            "combinations needs columns to slice by; name them with ", Argument("by", ...)
        )
    if asked.combinations and any(attribute.of == "lists" for attribute in attributes):
        raise UsageError("combinations would add rows over all runs; omit run, which gives them")
    if asked.combinations and len(attributes) > _MOST_COMBINED:
        raise UsageError(
            f"combinations of {len(attributes)} columns would be {2 ** len(attributes):,} kinds of "
            f"slices; name at most {_MOST_COMBINED} columns"
        )
    return Resolved(
        tuple(requests),
        definitions.are_named,
        tuple(attributes),
        asked.combinations,
        _gaps(asked, attributes),
        definitions.values,
        asked.interval,
        None if asked.cluster is None else attribute_of_clusters(
            asked.cluster, definitions.catalog, planner.tables, planner.user_keys
        ),
        warnings,
    )  # fmt: skip


def _check_audited(asked: Request) -> None:
    refused = {
        "per_user": asked.per_user, "by_item": asked.by_item, "gap": asked.gap,
        "cluster": asked.cluster, "ci": asked.interval.kind == "bootstrap",
    }  # fmt: skip
    for name, is_given in refused.items():
        if is_given:
            raise UsageError(
                Argument(AUDIT), " corrects means over users; it cannot be combined with ",
                Argument(name, "bootstrap" if name == "ci" else None),
            )  # fmt: skip


def _gaps(asked: Request, attributes: Sequence[Attribute]) -> tuple[str, ...]:
    gaps = checked_gaps(asked.gap)
    if not gaps:
        return ()
    if not attributes:
        remedy = Message("name the column of the groups with ", Argument("by", ...))
        raise UsageError("gap needs slices whose values differ", remedy=remedy)
    if asked.combinations:
        raise UsageError("gap cannot compare combinations, which contain one another; omit either")
    if len({attribute.of == "users" for attribute in attributes}) > 1:
        raise UsageError(
            "gap compares slices of users or slices of items; by and by_item together give both"
        )
    if any(attribute.of == "lists" for attribute in attributes):
        raise UsageError(
            "gap compares groups of users or items, not runs; std_runs is the spread of the runs"
        )
    return gaps


def that_can_be_planned(
    planner: Planner, requests: Sequence[MetricRequest], omitted: type[_Error]
) -> tuple[list[MetricCall], list[tuple[str, _Error]]]:
    """Part metrics from those that cannot be planned for an error of the type `omitted`.

    Returns: the metric calls, and the names of the other metrics with their errors.
    """
    calls: list[MetricCall] = []
    failures: list[tuple[str, _Error]] = []
    for call in calls_of(requests):
        try:
            planner.queries(call)
        except TemplateError:
            raise
        except omitted as error:
            failures.append((call.metric.name, error))
        else:
            calls.append(call)
    return calls, failures


def planned(results: Results, plan: Plan) -> PlannedRun:
    """Combine a plan of results with the conditions that its tables must satisfy."""
    return PlannedRun(
        plan,
        tuple(results.requests),
        reads_of(results.planner, results.requests),
        slices_of(results.slicing),
        tuple(results.of_users),
        tuple(results.gaps),
        _clustered(results),
        _audited(results),
        results.clusters is None,
    )


def reads_of(
    planner: Planner, requests: Sequence[MetricRequest], under: str = "under the convention"
) -> tuple[Reads, ...]:
    """Find the queries that requests read; `under` precedes the name of a request's convention."""
    calls = calls_of(requests)
    several = len({call.convention for call in calls}) > 1
    return tuple(
        Reads(
            planner.queries(call).nodes,
            call.values,
            f"{under} {call.convention}" if several else "",
        )
        for call in calls
    )


def slices_of(slicing: Slicing | None) -> tuple[Sliced, ...]:
    """Find the queries that check the attributes to slice by."""
    return tuple(_sliced(slicing, attribute) for attribute in slicing.attributes) if slicing else ()


def _clustered(results: Results) -> Sliced | None:
    clusters = results.clusters
    if clusters is None:
        return None
    attribute, uneven = clusters.attribute, None
    if clusters.node is not None:
        uneven = Slicing(results.planner, [attribute], False, {}).uneven(attribute)
    users = [table.everybody for table in results.wide.tables.values()]
    users += results.lists if results.interval.of_runs else []
    return Sliced(attribute, None, uneven, None, clusters.unassigned(users))


def _audited(results: Results) -> Audited | None:
    audit = results.audit
    if audit is None:
        return None
    reads = reads_of(audit.planner, results.requests)
    return Audited(audit.planner, reads, audit.unpaired, audit.unjudged)


def _sliced(slicing: Slicing, attribute: Attribute) -> Sliced:
    reads = uneven = None
    if attribute.template is not None:
        nodes = {node.name: node for node in Plan(slicing.values_of(attribute)).nodes()}
        reads = Reads(nodes, slicing.values)
    is_column = attribute.table and attribute.of == "interactions"
    if is_column or (attribute.of == "users" and not (attribute.built_in or attribute.is_key)):
        uneven = slicing.uneven(attribute)
    is_text = slicing.is_text(attribute)
    return Sliced(attribute, reads, uneven, slicing.named_missing(attribute) if is_text else None)
