"""The values that results are made from: per user or per model, over everybody or per slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.requests import MetricRequest, calls_of
from sqlmetrics.plan import rounds
from sqlmetrics.plan.audit import Audit
from sqlmetrics.plan.clusters import Clusters
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.runs import mean_over_runs
from sqlmetrics.plan.sliced import ItemSlices
from sqlmetrics.plan.slices import SliceColumn, Slicing
from sqlmetrics.plan.values import Wide, WideTable, wide_tables
from sqlmetrics.sql.query_graph import Node
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.stats.intervals import Interval
from sqlmetrics.texts.messages import Message


@dataclass(frozen=True)
class Results:
    """The values that summaries, per-user values and comparisons are made from.

    Attributes:
        planner: plans queries without slices.
        of_users_planner: plans the per-user values.
        requests: the metrics and cutoffs.
        of_runs: those with one value for all users.
        wide: the tables of per-user values.
        with_convention: whether the rows name the convention.
        interval: the intervals of means.
        warnings: about the request.
        gaps: how differences between the slices are summed up.
        slicing: the attributes to slice by, if any.
        slices: the users of each slice, and the names of the slices, if users are sliced.
        item_slices: the slices of items, if items are sliced.
        slice_columns: the columns with the names of slices.
        names: the names of slices, by the names of their tables.
        clusters: the clusters of lists, if they are not independent.
        audit: the values by people of audited users, if there are any.
    """

    planner: Planner
    of_users_planner: Planner
    requests: Sequence[MetricRequest]
    of_runs: Sequence[MetricRequest]
    wide: Wide
    with_convention: bool = False
    interval: Interval = field(default_factory=Interval)
    warnings: tuple[Message, ...] = ()
    gaps: Sequence[str] = ()
    slicing: Slicing | None = None
    slices: tuple[Node, Node] | None = None
    item_slices: ItemSlices | None = None
    slice_columns: Sequence[SliceColumn] = ()
    names: Mapping[str, Node] = field(default_factory=dict)
    clusters: Clusters | None = None
    audit: Audit | None = None

    @property
    def groups(self) -> list[str]:
        """Return the columns that values are grouped by: the model (and run), and slices."""
        models = ["model"] if self.planner.several_models else []
        return [*models, *(column.column for column in self.slice_columns)]

    @property
    def labels(self) -> list[str]:
        """Return the columns of result rows that precede the metric, besides those of groups."""
        return ["position", *(["convention"] if self.with_convention else [])]

    @property
    def are_over_runs(self) -> bool:
        """Return whether models have several runs, whose values are averaged."""
        by_run = self.slicing is not None and bool(self.slicing.of_lists)
        return self.planner.several_runs and not by_run

    @property
    def own_user_keys(self) -> list[str]:
        """Return the quoted columns of users, without those of slices of items."""
        return [identifier(key) for key in self.planner.user_keys]

    @property
    def of_users(self) -> list[Node]:
        """Return the nodes of per-user values, slices of users and slice names."""
        tables = [table.node for table in self.wide.tables.values()]
        clusters = [self.clusters.node] if self.clusters and self.clusters.node else []
        return [*tables, *(self.slices or ()), *self.names.values(), *clusters]

    @property
    def of_everybody(self) -> list[Node]:
        """Return the nodes of the per-user values and of the values of the whole run."""
        of_runs = wide_tables(self.planner, self.of_runs).tables if self.of_runs else {}
        return [table.node for table in (*self.wide.tables.values(), *of_runs.values())]

    @property
    def of_slices(self) -> list[Node]:
        """Return the nodes of the slices of users or items, and of the slice names."""
        by_item = self.item_slices
        return [*(self.slices or ()), *((by_item.slices, by_item.names) if by_item else ())]

    @property
    def lists(self) -> list[Node]:
        """Return the lists, and the users without a list, that the values of a run depend on."""
        found: list[Node] = []
        for call in calls_of(self.of_runs):
            found.append(self.planner.node("lists", call.values))
            if (audience := self.planner.queries(call).nodes.get("audience")) is not None:
                found.append(audience)
        return found

    def narrowed(self, requests: Sequence[MetricRequest]) -> Results:
        """Return results for some of the requests with per-user values, from the same tables."""
        tables: dict[str, WideTable] = {}
        for request in requests:
            name, column = self.wide.home(request)
            table = tables.setdefault(name, replace(self.wide.tables[name], columns=[]))
            every = self.wide.tables[name].columns
            weights = [other for other in every if column.weight and other.name == column.weight]
            new = [other for other in (*weights, column) if other not in table.columns]
            tables[name] = replace(table, columns=[*table.columns, *new])
        wide = Wide(tables, self.wide.homes)
        return replace(self, requests=list(requests), of_runs=[], wide=wide)

    def sliced(self, slicing: Slicing) -> Results:
        """Return the same results for slices of users, from the same per-user values."""
        members = [table.node for table in self.wide.tables.values()]
        lists = {node.key: node for node in self.lists}
        slices = slicing.slices([*members, *lists.values()], of_users=True)
        sliced = replace(self, slicing=slicing, slices=slices)
        if len(members) == 1 and not lists:  # the rows that totals group have all slices
            (table,) = self.wide.tables.values()
            named = sliced.sliced_values(table.node, table.names)
            sliced = replace(sliced, slices=(slices[0], slicing.names(named, of_users=True)))
        assert sliced.slices is not None
        return sliced._named(slicing.columns(of_users=True), sliced.slices[1])

    def _named(self, columns: Sequence[SliceColumn], names: Node) -> Results:
        return replace(
            self,
            slice_columns=[*self.slice_columns, *columns],
            names={**self.names, columns[0].table: names},
        )

    def clustered_values(self, values: Node, columns: Sequence[str]) -> Node:
        """Add the clusters, if any, to the values of users, and repeat these for every slice."""
        if self.clusters is not None and self.clusters.node is not None:
            values = self.clusters.added(values, self.of_users_planner.keys.lists, columns)
            columns = [*columns, self.clusters.column]
        return self.sliced_values(values, columns)

    def sliced_values(self, values: Node, columns: Sequence[str]) -> Node:
        """Repeat the values of a user for every slice of the user."""
        if self.slicing is None or self.slices is None:
            return values
        names = [*self.of_users_planner.keys.lists, *columns]
        name = f"{values.name}_and_slice"
        return self.slicing.sliced(values, names, name, with_positions=True)

    def linearised(self, table: WideTable) -> Node:
        """Plan values of rounds, means over runs, in which ratios of two sums are means of values.

        Every run has its own ratio. The rounds have one column for every metric, without weights.
        """
        columns = [column for column in table.columns if column.part != "weight"]
        if not any(column.weight for column in columns):
            return table.node
        planner = self.of_users_planner
        if table.by_run is not None:
            planner = replace(planner, several_runs=True)
        values = planner.rendered(
            "linearised",
            {"per_user": table.by_run or table.node},
            often=True,
            columns=[vars(column) for column in columns],
            groups=planner.keys.groups,
        )
        if table.by_run is None:
            return values
        names = [column.name for column in columns]
        return mean_over_runs(planner, values, "linearised_over_runs", names)

    def require_users(self, instead: str) -> None:
        """Check that all metrics have per-user values.

        Raises:
            UsageError: a metric has one value for the whole run.
        """
        for request in self.of_runs:
            raise UsageError(f"{request.spec} has one value for all users, {instead}")

    def only_request(self) -> MetricRequest:
        """Return the request by whose values users are found.

        Raises:
            UsageError: there are several.
        """
        if len(self.requests) != 1:
            raise UsageError("name one metric with one cutoff, such as ndcg@10, to find users by")
        return self.requests[0]


def results_of(
    planner: Planner,
    requests: Sequence[MetricRequest],
    *,
    with_convention: bool = False,
    slicing: Slicing | None = None,
    interval: Interval | None = None,
    warnings: tuple[Message, ...] = (),
    gaps: Sequence[str] = (),
    clusters: Clusters | None = None,
) -> Results:
    """Plan the values of requests, over all users or per slice.

    Raises:
        UsageError: a metric cannot be computed for slices of items, or with its settings for these.
        MissingTableError: a required table or column was not given.
    """
    of_users = [request for request in requests if request.metric.grain != "run"]
    of_runs = [request for request in requests if request.metric.grain == "run"]
    of_users_planner, item_slices = planner, None
    if slicing is not None and slicing.of_items:
        calls = calls_of(requests)
        slicing.check_settings(calls)
        item_slices = ItemSlices.of(slicing, [call.values for call in calls])
        calls, omitted = item_slices.judgeable(calls)
        warnings += tuple(omitted)
        requests = [request for call in calls for request in call.requests]
        of_users, of_runs = requests, []
        of_users_planner = item_slices.planner
    of_rounds, names = of_users[:1] and of_users[0].metric.grain == "round", None
    if slicing is not None and slicing.of_users and of_rounds:
        calls = calls_of(requests)
        rows = {node.key: node for node in (planner.queries(call).everybody for call in calls)}
        of_users_planner, names = rounds.sliced(planner, slicing, [*rows.values()])
    wide, of_lists = wide_tables(of_users_planner, of_users), list[SliceColumn]()
    if slicing is not None and slicing.of_lists:
        wide, of_lists = wide.by_run, slicing.columns_of_lists
    else:
        of_users_planner = of_users_planner.over_runs
    audit = Audit.of(planner, requests, wide)
    results = Results(
        planner,
        of_users_planner,
        requests,
        of_runs,
        wide if audit is None else audit.both,
        with_convention,
        interval or Interval(),
        warnings,
        gaps,
        slicing,
        item_slices=item_slices,
        slice_columns=of_lists,
        clusters=clusters,
        audit=audit,
    )
    if slicing is not None and names is not None:
        return results._named(slicing.columns(of_users=True), names)
    if slicing is not None and slicing.of_users:
        results = results.sliced(slicing)
    if slicing is not None and item_slices is not None:
        results = results._named(slicing.columns(of_users=False), item_slices.names)
    return results
