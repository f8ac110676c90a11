"""Wide tables of values: one row per user (or model) of an audience, one column per request.

Metrics with the same audience share a table, and metrics over the same stage share the SELECT that
computes them (see `sql/fusion.py`). Values that several conventions share are computed once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sqlmetrics.metrics.front_matter import Metric, Stage
from sqlmetrics.metrics.requests import MetricCall, MetricRequest, calls_of
from sqlmetrics.metrics.spec import value_text
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.runs import mean_over_runs
from sqlmetrics.sql import fusion
from sqlmetrics.sql.binding import node_of
from sqlmetrics.sql.query_graph import Node, Query, identity_of, new_name
from sqlmetrics.sql.quoting import identifier

# in one wide table: the planning time of an engine grows faster than its columns and joins
_MOST_CUTOFFS = 20
# length of a column name without its suffix; Postgres cuts names at 63 characters
_LONGEST_NAME = 40


@dataclass(frozen=True)
class Column:
    """One metric at one cutoff: a column of the wide table of values.

    `part` is the column of the metric's query: the value, or its standard error.
    """

    metric: str
    k: int | None
    name: str
    grain: str
    when_empty: str | None
    aggregate: str = "mean"
    quantile: float = 0.5  # for aggregates that are quantiles
    best_without_relevant: bool = False  # users without a relevant item have the value 1
    part: str = "value"
    source: str = ""
    defined: str = ""
    standard_error: str = ""  # the column with the standard error


@dataclass(frozen=True)
class WideTable:
    """A table of values: one row per user (or model) of an audience, one column per request.

    `values` are the settings of the audience, `everybody` plans its users. Many cutoffs are divided
    among several tables; `share` is the number of this table's share. If models have several runs,
    per-user values are means over them, and `by_run` has the values of every run; values of models
    have one row per run.
    """

    node: Node
    grain: str
    columns: Sequence[Column]
    values: Mapping[str, Any]
    everybody: Node
    share: int = 0
    by_run: Node | None = None


@dataclass(frozen=True)
class Wide:
    """Wide tables of values by name: one per audience and share of the cutoffs.

    `homes` maps every request to its table and column; equivalent requests share a column.
    """

    tables: Mapping[str, WideTable]
    homes: Mapping[tuple[str, str, int | None], tuple[str, Column]]

    def home(self, request: MetricRequest) -> tuple[str, Column]:
        """Return the table and the column with the value of a request."""
        return self.homes[_label(request)]

    def __or__(self, other: Wide) -> Wide:
        """Combine two sets of tables with different names."""
        return Wide({**self.tables, **other.tables}, {**self.homes, **other.homes})


def wide_tables(planner: Planner, requests: Sequence[MetricRequest]) -> Wide:
    """Plan the wide tables of values for these requests."""
    return _Builder(planner, requests).build()


# key of a wide table: the grain, the identity of the audience, the share of the cutoffs
_Place: TypeAlias = tuple[str, str, int]


@dataclass
class _Table:
    """A wide table under construction."""

    grain: str
    share: int
    everybody: Node
    values: Mapping[str, Any]
    columns: list[Column] = field(default_factory=list)


@dataclass
class _Fused:
    """A SELECT that several metrics share, which grows by the columns of each metric."""

    select: fusion.FusedSelect
    grain: str
    queries: dict[str, Query] = field(default_factory=dict)  # of the metrics
    identity: list[str] = field(default_factory=list)

    def add(self, query: Query, parts: fusion.Fusable, columns: Iterable[Column]) -> None:
        """Add columns of a metric, given the parts of its query."""
        self.queries[query.key] = query
        for column in columns:
            self.select.add(parts, column.k, column.name, column.part, column.when_empty)
            self.identity += [query.key, str(column.k), column.name]

    def node(self, name: str) -> Node:
        """Create the query from all columns."""
        tree = self.select.build()
        stage = self.select.base.source.alias
        tree.add_comments([f" one row per {self.grain} with {stage} "])
        metrics = self.queries.values()
        parents = {key: node for query in metrics for key, node in query.parents.items()}
        node = node_of(identity_of(*self.identity), name, tree, parents.values())
        return replace(
            node,
            warnings=tuple(warning for query in metrics for warning in query.warnings),
            needs=tuple(column for query in metrics for column in query.needs),
        )


class _Builder:
    """Assigns the columns of requests to tables.

    For each metric call, it finds the query and the audience, names the columns, chooses the query
    that computes them (shared if possible), and adds them to the table of the audience.
    """

    def __init__(self, planner: Planner, requests: Sequence[MetricRequest]) -> None:
        self.planner = planner
        self.calls = calls_of(requests)
        self.several_conventions = len({request.convention for request in requests}) > 1
        cutoffs = dict.fromkeys(request.k for request in requests)
        self.share_of = {k: place // _MOST_CUTOFFS for place, k in enumerate(cutoffs)}
        self.names: set[str] = set()  # of columns
        self.tables: dict[_Place, _Table] = {}
        # name -> query that computes columns, of one metric or of several
        self.fused: dict[str, _Fused] = {}
        self.alone: dict[str, Node] = {}
        self.groups: dict[str, str] = {}  # group of metrics that share a query -> name of the query
        self.defined: dict[str, Query] = {}  # name -> stage of those that have a value
        # (identity, k) -> table and column
        self.columns: dict[tuple[str, int | None], tuple[_Place, Column]] = {}

    def build(self) -> Wide:
        """Plan all tables and map every request to its table and column."""
        placed: dict[tuple[str, str, int | None], tuple[_Place, Column]] = {}
        for call in self.calls:
            identity = self._add(call)
            for request in call.requests:
                placed[_label(request)] = self.columns[identity, request.k]
        nodes = {name: fused.node(name) for name, fused in self.fused.items()} | self.alone
        names: dict[_Place, str] = {}
        tables: dict[str, WideTable] = {}
        for place, table in self.tables.items():
            names[place] = new_name(f"per_{_row_of(table.grain)}", tables)
            tables[names[place]] = self._table(names[place], table, nodes)
        return Wide(tables, {label: (names[place], column) for label, (place, column) in
                             placed.items()})  # fmt: skip

    def _add(self, call: MetricCall) -> str:
        """Add the columns of a call unless they exist; return the identity of its values."""
        planner, metric = self.planner, call.metric
        query = planner.metric_query(metric, call.values)
        everybody = planner.everybody(metric, call.values)
        identity = identity_of_call(planner, call)
        new = [request for request in call.requests if (identity, request.k) not in self.columns]
        defined = self._defined(call) if new else ""
        for share in dict.fromkeys(self.share_of[request.k] for request in new):
            own = [request for request in new if self.share_of[request.k] == share]
            columns = self._named(call, own, query)
            source = self._source(metric, query, call.values, columns, share)
            place = (metric.grain, everybody.key, share)
            table = self.tables.setdefault(
                place, _Table(metric.grain, share, everybody, call.values)
            )
            for column in columns:
                column = replace(column, source=source, defined=defined)
                table.columns.append(column)
                if column.part == "value":
                    self.columns[identity, column.k] = (place, column)
        return identity

    def _defined(self, call: MetricCall) -> str:
        """Return the name of the stage with the users who have a value, if the metric has one."""
        if not call.metric.defined_for:
            return ""
        node = self.planner.node(call.metric.defined_for, call.values, call.metric)
        known = (name for name, other in self.defined.items() if other == node)
        name = next(known, "") or new_name(node.name, self._query_names)
        self.defined[name] = node
        return name

    @property
    def _query_names(self) -> Collection[str]:
        return {*self.fused, *self.alone, *self.defined}

    def _named(
        self, call: MetricCall, requests: Iterable[MetricRequest], query: Query
    ) -> list[Column]:
        """Name the columns of a call: its values and, if any, their standard errors."""
        metric, values = call.metric, call.values
        prefix = f"{call.convention}_" if self.several_conventions else ""
        columns = []
        for request in requests:
            name = self._new_name(_column_name(prefix + call.name, request.k))
            error = ""
            if "standard_error" in query.columns:
                error = self._new_name(f"{name}_standard_error")
                columns.append(
                    Column(call.name, request.k, error, metric.grain, None, part="standard_error")
                )
            columns.append(
                Column(
                    call.name,
                    request.k,
                    name,
                    metric.grain,
                    _when_empty(call),
                    str(values["aggregate"]),
                    float(values["quantile"]),
                    _is_best_without_relevant(call),
                    standard_error=error,
                )
            )
        return columns

    def _new_name(self, wanted: str) -> str:
        name = new_name(wanted, self.names)
        self.names.add(name)
        return name

    def _source(
        self,
        metric: Metric,
        query: Query,
        values: Mapping[str, Any],
        columns: Sequence[Column],
        share: int,
    ) -> str:
        """Return the name of the query with these columns; every share has its own queries."""
        planner = self.planner
        keys = planner.keys.lists if metric.grain == "user" else planner.keys.values_of_models

        def stage_of(table: str) -> Stage | None:
            return query.parents[table].stage if table in query.parents else None

        parts = None
        if planner.fuse:
            parts = fusion.analyse(query.tree, keys, planner.keys.users, stage_of)
        if parts is None:
            name = new_name(f"{metric.name}_values", self._source_names)
            self.alone[name] = self._alone(metric, query, values, columns, keys)
            return name
        group = f"{metric.grain} {share}: {parts.group}"
        name = self.groups.get(group, "")
        if not name:
            name = new_name(f"{parts.source.alias}_values", self._source_names)
            self.groups[group] = name
            self.fused[name] = _Fused(fusion.FusedSelect(keys, parts), metric.grain)
        self.fused[name].add(query, parts, columns)
        return name

    @property
    def _source_names(self) -> Collection[str]:
        return {*self.fused, *self.alone}

    def _alone(
        self,
        metric: Metric,
        query: Query,
        values: Mapping[str, Any],
        columns: Sequence[Column],
        keys: Sequence[str],
    ) -> Node:
        """Plan a metric separately: its stages are repeated for every cutoff, then pivoted."""
        planner = self.planner
        ks = list(dict.fromkeys(column.k for column in columns))
        rows = planner.at_cutoffs(query, values, ks)
        return planner.rendered(
            "pivoted",
            {"metric_values": rows},
            name=f"{metric.name}_values",
            metric=columns[0].metric,
            columns=columns,
            grain_keys=", ".join(map(identifier, keys)),
        )

    def _table(self, name: str, table: _Table, nodes: Mapping[str, Node]) -> WideTable:
        """Plan a table: the users or models of the audience, with the columns of each query."""
        sources = list(dict.fromkeys(column.source for column in table.columns))
        defined = list(dict.fromkeys(column.defined for column in table.columns if column.defined))
        several_runs = self.planner.several_runs
        filled = self.planner.rendered(
            "filled",
            {
                "everybody": table.everybody,
                **{source: nodes[source] for source in sources},
                **{stage: self.defined[stage] for stage in defined},
            },
            name=f"{name}_and_run" if several_runs else name,
            grain=table.grain,
            columns=table.columns,
            sources=sources,
            defined=defined,
            of_lists=[
                stage
                for stage in defined
                if {*self.planner.keys.lists} <= {*self.defined[stage].columns}
            ],
        )
        values = WideTable(
            filled, table.grain, table.columns, table.values, table.everybody, table.share
        )
        if not several_runs or table.grain != "user":
            return values
        names = [column.name for column in table.columns]
        mean = mean_over_runs(self.planner, filled, name, names)
        return replace(values, node=mean, by_run=filled)


def identity_of_call(planner: Planner, call: MetricCall) -> str:
    """Return the identity of a metric call's value, which is equal for equal computations."""
    metric, values = call.metric, call.values
    nodes = [planner.metric_query(metric, values), planner.everybody(metric, values)]
    parts = [str(_when_empty(call)), str(_is_best_without_relevant(call))]
    if metric.defined_for:
        nodes.append(planner.node(metric.defined_for, values, metric))
    if metric.grain == "user":
        aggregate = str(values["aggregate"])
        parts.append(aggregate)
        if aggregate.startswith("quantile"):
            parts.append(str(values["quantile"]))
    return identity_of(*(node.key for node in nodes), *parts)


def _when_empty(call: MetricCall) -> str | None:
    """Return the value for a user (or model) without rows; None if the value is undefined."""
    metric = call.metric
    dropped = metric.audience == "relevant" and call.values["no_hits"] == "drop"
    value = metric.when_empty
    for name, param in metric.params.items():
        value = param.when_empty.get(value_text(call.values[name]), value)
    if value is None or (metric.grain == "user" and dropped):
        return None
    return value_text(value)


def _is_best_without_relevant(call: MetricCall) -> bool:
    """Return whether users without a relevant item have the value 1."""
    return call.values["no_relevant"] == "one" and call.metric.can_be_best_without_relevant


def _label(request: MetricRequest) -> tuple[str, str, int | None]:
    """Return the key of a request: convention, metric call and cutoff."""
    return request.convention, request.call.name, request.k


def _row_of(grain: str) -> str:
    return "user" if grain == "user" else "model"


def _column_name(metric: str, k: int | None) -> str:
    """Return the name of a column of the wide table: `ndcg_gain_exponential_at_10`, `map_all`."""
    end = "all" if k is None else f"at_{k}"
    base = re.sub(r"[^a-z0-9]+", "_", metric.lower())[:_LONGEST_NAME].strip("_")
    return f"{base}_{end}"
