"""Wide tables of values: one row per user (or model) of an audience, one column per request.

Metrics with the same audience share a table, and metrics over the same stage share the SELECT that
computes them (see `sql/fusion.py`). Values that several conventions share are computed once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sqlglot import exp

from sqlmetrics.metrics.requests import Label, MetricCall, MetricRequest, calls_of
from sqlmetrics.plan.planner import Planner, Queries
from sqlmetrics.plan.runs import mean_over_runs
from sqlmetrics.sql import fusion
from sqlmetrics.sql.binding import node_of
from sqlmetrics.sql.query_graph import DIALECT, Node, Query, identity_of, new_name
from sqlmetrics.sql.quoting import identifier

_Home: TypeAlias = tuple[str, "Column"]  # the name of a wide table, and one of its columns

# in one wide table: the planning time of an engine grows faster than its columns and joins
_MOST_CUTOFFS = 20
_MOST_CALLS = 200  # metrics; DuckDB nests the CTE and the join of each, at most 1,000 levels deep
# length of a column name without its suffix; Postgres cuts names at 63 characters
_LONGEST_NAME = 40


@dataclass(frozen=True)
class Column:
    """One metric at one cutoff: a column of the wide table of values.

    `part` is the column of the metric's query: the value, or its standard error. The column
    "weight" belongs to no metric; it has the weights of users. The part "people" has values by
    people: see `plan/audit.py`.
    """

    metric: str
    k: int | None
    name: str
    grain: str
    when_empty: str | None
    aggregate: str = "mean"
    quantile: float = 0.5  # for aggregates that are quantiles
    best_without_relevant: bool = False  # users without a relevant item have the value 1
    weight: str = ""  # for weighted means: the column with the weights of users or rounds
    people: str = ""  # the column with the values by people of audited users
    part: str = "value"
    source: str = ""
    defined: str = ""
    standard_error: str = ""  # the column with the standard error

    @property
    def linear(self) -> Column:
        """Return this column as a plain mean of linearised values, which a ratio becomes."""
        return replace(self, aggregate="linear", weight="") if self.aggregate == "ratio" else self


@dataclass(frozen=True)
class WideTable:
    """A table of values: one row per user (or model) of an audience, one column per request.

    `values` are the settings of the audience, `everybody` plans its users. Many metrics and cutoffs
    are divided among several tables; `share` is the number of this table's share. If models have
    several runs, per-user values are means over them, and `by_run` has the values of every run;
    values of models have one row per run.
    """

    node: Node
    grain: str
    columns: Sequence[Column]
    values: Mapping[str, Any]
    everybody: Node
    share: int = 0
    by_run: Node | None = None

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return [column.name for column in self.columns]


def has_every_model(table: WideTable) -> bool:
    """Return whether the users of a table do not depend on lists: each has a row per model."""
    values = table.values
    return (
        table.everybody.name == "audience"
        and values["audience"] in ("relevant", "judged", "baseline")
        and values["no_recommendations"] == "zero"
        and values["unjudged"] != "best"  # counts items of lists as relevant
    )


@dataclass(frozen=True)
class Wide:
    """Wide tables of values by name: one per audience and share of the cutoffs.

    `homes` maps every request to its table and column; equivalent requests share a column.
    """

    tables: Mapping[str, WideTable]
    homes: Mapping[Label, _Home]

    def home(self, request: MetricRequest) -> _Home:
        """Return the table and the column with the value of a request."""
        return self.homes[request.label]

    @property
    def by_run(self) -> Wide:
        """Return the tables with the values of every run, not with means over runs."""
        tables = {
            name: table if table.by_run is None else replace(table, node=table.by_run, by_run=None)
            for name, table in self.tables.items()
        }
        return replace(self, tables=tables)

    def __or__(self, other: Wide) -> Wide:
        """Combine two sets of tables with different names."""
        return Wide({**self.tables, **other.tables}, {**self.homes, **other.homes})


def wide_tables(planner: Planner, requests: Sequence[MetricRequest]) -> Wide:
    """Plan the wide tables of values for these requests."""
    builder, homes = _Builder(planner, requests), dict[Label, _Home]()
    for call in calls_of(requests):
        identity = builder.add(planner.queries(call))
        homes |= {request.label: builder.homes[identity, request.k] for request in call.requests}
    return Wide(builder.tables_of_values(), homes)


@dataclass
class _Table:
    name: str
    grain: str
    share: int
    everybody: Node
    values: Mapping[str, Any]
    columns: list[Column] = field(default_factory=list)
    weights: Query | None = None  # the weights of users, if a column needs them


@dataclass
class _Fused:
    """A SELECT that several metrics share, which grows by the columns of each metric."""

    name: str
    select: fusion.FusedSelect
    each: str  # what its rows stand for
    queries: dict[str, Query] = field(default_factory=dict)  # of the metrics
    identity: list[str] = field(default_factory=list)

    def add(self, query: Query, parts: fusion.Fusable, columns: Iterable[Column]) -> None:
        """Add columns of a metric, given the parts of its query."""
        self.queries[query.key] = query
        for column in columns:
            value = fusion.Value(parts, column.k, column.name, column.part, column.when_empty)
            self.select.values.append(value)
            self.identity += [query.key, str(column.k), column.name]

    def node(self) -> Node:
        """Create the query from all columns."""
        tree = self.select.build()
        stage = self.select.base.source.alias
        tree.add_comments([f" one row per {self.each} with {stage} "])
        return _of_metrics(identity_of(*self.identity), self.name, tree, self.queries.values())


@dataclass
class _RoundValues:
    """A SELECT with a row per round, which grows by the columns of each metric."""

    name: str
    rows: exp.Select
    everybody: Node
    values: Mapping[str, Any]
    columns: list[Column] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)


class _Builder:
    """Assigns the columns of requests to tables.

    For each metric call, it finds the query and the audience, names the columns, chooses the query
    that computes them (shared if possible), and adds them to the table of the audience.
    """

    def __init__(self, planner: Planner, requests: Sequence[MetricRequest]) -> None:
        self.planner = planner
        self.several_conventions = len({request.convention for request in requests}) > 1
        cutoffs = dict.fromkeys(request.k for request in requests)
        self.share_of = {k: place // _MOST_CUTOFFS for place, k in enumerate(cutoffs)}
        self.n_calls = 0  # with columns
        self.names: set[str] = set()  # of columns
        # (grain, identity of the audience, share of the cutoffs) -> table
        self.tables: dict[tuple[str, str, int], _Table] = {}
        self.fused: dict[str, _Fused] = {}  # group of metrics -> their SELECT
        self.rounds: dict[str, _RoundValues] = {}  # by the rows that they read
        self.alone: dict[str, Node] = {}  # name -> query that computes the columns of one metric
        self.defined: dict[str, Query] = {}  # name -> stage of those that have a value
        self.homes: dict[tuple[str, int | None], _Home] = {}  # by identity of values, and cutoff

    def tables_of_values(self) -> dict[str, WideTable]:
        """Plan all tables, by name."""
        of_rounds = {rounds.name: self._table_of_rounds(rounds) for rounds in self.rounds.values()}
        nodes = {fused.name: fused.node() for fused in self.fused.values()} | self.alone
        tables = {table.name: self._table(table, nodes) for table in self.tables.values()}
        return {**of_rounds, **tables}

    def add(self, queries: Queries) -> str:
        """Add the columns of a call unless they exist; return the identity of its values."""
        identity, call = queries.identity, queries.call
        new = [request for request in call.requests if (identity, request.k) not in self.homes]
        if call.metric.grain == "round":
            self._add_rounds(queries, new)
            return identity
        defined = self._defined(queries.defined) if new else ""
        n_shares = len({*self.share_of.values()})
        first = self.n_calls // _MOST_CALLS * n_shares
        self.n_calls += bool(new)
        for of_cutoffs in dict.fromkeys(self.share_of[request.k] for request in new):
            own = [request for request in new if self.share_of[request.k] == of_cutoffs]
            share = first + of_cutoffs
            columns = self._named(call, own, queries.values)
            source = self._source(queries, columns, share)
            table = self._table_of(queries, share)
            weight = self._weight(table, queries.weights)
            for column in columns:
                is_value = column.part == "value"
                column = replace(
                    column, source=source, defined=defined, weight=weight if is_value else ""
                )
                table.columns.append(column)
                if is_value:
                    self.homes[identity, column.k] = table.name, column
        return identity

    def _add_rounds(self, queries: Queries, new: Sequence[MetricRequest]) -> None:
        """Add the columns of a metric of rounds to the SELECT over the rows that it reads."""
        query, call, n_keys = queries.values, queries.call, len(self.planner.keys.lists)
        select = query.tree
        assert isinstance(select, exp.Select)
        read = [select.args["from_"], *(select.args.get("joins") or ())]
        group = " ".join(part.sql(DIALECT) for part in read)
        if group not in self.rounds:
            names = {rounds.name for rounds in self.rounds.values()}
            rows = exp.Select(expressions=[key.copy() for key in select.expressions[:n_keys]])
            rows.set("from_", read[0].copy())
            rows.set("joins", [join.copy() for join in read[1:]])
            self.rounds[group] = _RoundValues(
                new_name("per_round", names), rows, queries.everybody, call.values
            )
        rounds = self.rounds[group]
        rounds.queries.append(query)
        computed = {e.alias_or_name: e.unalias() for e in select.expressions[n_keys:]}
        for column in self._named(call, new, query):
            rounds.rows.select(exp.alias_(computed[column.part].copy(), column.name), copy=False)
            rounds.columns.append(column)
            if column.part == "value":
                self.homes[queries.identity, column.k] = rounds.name, column

    def _table_of_rounds(self, rounds: _RoundValues) -> WideTable:
        """Plan a table with a row per round, and the columns of all metrics of the same rows."""
        name = f"{rounds.name}_and_run" if self.planner.several_runs else rounds.name
        rounds.rows.add_comments([" one row per round, one column per metric "])
        names = [column.name for column in rounds.columns]
        identity = identity_of(name, *names, *(query.key for query in rounds.queries))
        node = _of_metrics(identity, name, rounds.rows, rounds.queries)
        values = WideTable(node, "user", rounds.columns, rounds.values, rounds.everybody)
        return self._over_runs(values, rounds.name)

    def _table_of(self, queries: Queries, share: int) -> _Table:
        """Return the table of the audience of a call and of a share of the cutoffs."""
        grain, everybody = queries.call.metric.grain, queries.everybody
        place = (grain, everybody.key, share)
        if place not in self.tables:
            names = {table.name for table in self.tables.values()}
            name = new_name("per_user" if grain == "user" else "per_model", names)
            self.tables[place] = _Table(name, grain, share, everybody, queries.call.values)
        return self.tables[place]

    def _weight(self, table: _Table, weights: Query | None) -> str:
        """Return the column of a table with the weights of users; "" if there are none."""
        if weights is None:
            return ""
        if table.weights is None:
            name = self._new_name("weight")
            table.weights = weights
            table.columns.append(
                Column("", None, name, table.grain, None, part="weight", source=weights.name)
            )
        return next(column.name for column in table.columns if column.part == "weight")

    def _defined(self, node: Query | None) -> str:
        """Return the name of the stage with the users who have a value; "" for all."""
        if node is None:
            return ""
        known = (name for name, other in self.defined.items() if other == node)
        name = next(known, "") or new_name(node.name, self._query_names)
        self.defined[name] = node
        return name

    @property
    def _query_names(self) -> Collection[str]:
        return {*(fused.name for fused in self.fused.values()), *self.alone, *self.defined}

    def _named(
        self, call: MetricCall, requests: Iterable[MetricRequest], query: Query
    ) -> list[Column]:
        """Name the columns of a call: its values and, if any, their standard errors."""
        metric, values = call.metric, call.values
        is_ratio = "weight" in query.columns and values["aggregate"] == "mean"
        grain = "run" if metric.grain == "run" else "user"
        prefix = f"{call.convention}_" if self.several_conventions else ""
        columns = []
        for request in requests:
            name = self._new_name(column_name(prefix + call.name, request.k))
            error = weight = ""
            if "weight" in query.columns:
                weight = self._new_name(f"{name}_weight")
                columns.append(Column(call.name, request.k, weight, grain, None, part="weight"))
            if "standard_error" in query.columns:
                error = self._new_name(f"{name}_standard_error")
                columns.append(
                    Column(call.name, request.k, error, grain, None, part="standard_error")
                )
            columns.append(
                Column(
                    call.name,
                    request.k,
                    name,
                    grain,
                    call.when_empty,
                    "ratio" if is_ratio else str(values["aggregate"]),
                    float(values["quantile"]),
                    call.is_best_without_relevant,
                    weight if is_ratio else "",
                    standard_error=error,
                )
            )
        return columns

    def _new_name(self, wanted: str) -> str:
        name = new_name(wanted, self.names)
        self.names.add(name)
        return name

    def _source(self, queries: Queries, columns: Sequence[Column], share: int) -> str:
        """Return the name of the query with these columns; every share has its own queries."""
        planner, metric, query = self.planner, queries.call.metric, queries.values
        keys = planner.keys.lists if metric.grain == "user" else planner.keys.values_of_models
        parts = None
        if planner.fuse:
            parts = fusion.analyse(query.tree, keys, planner.keys.users, query.stage_of)
        if parts is None:
            name = new_name(f"{metric.name}_values", self._query_names)
            self.alone[name] = self._alone(queries, columns, keys)
            return name
        group = f"{metric.grain} {share}: {parts.group}"
        if group not in self.fused:
            name = new_name(f"{parts.source.alias}_values", self._query_names)
            self.fused[group] = _Fused(name, fusion.FusedSelect(keys, parts), planner.each(metric))
        self.fused[group].add(query, parts, columns)
        return self.fused[group].name

    def _alone(self, queries: Queries, columns: Sequence[Column], keys: Sequence[str]) -> Node:
        """Plan a metric separately: its stages are repeated for every cutoff, then pivoted."""
        planner, call = self.planner, queries.call
        ks = list(dict.fromkeys(column.k for column in columns))
        rows = planner.at_cutoffs(queries.values, call.values, ks)
        return planner.rendered(
            "pivoted",
            {"metric_values": rows},
            name=f"{call.metric.name}_values",
            each=planner.each(call.metric),
            metric=columns[0].metric,
            columns=columns,
            grain_keys=", ".join(map(identifier, keys)),
        )

    def _table(self, table: _Table, nodes: Mapping[str, Node]) -> WideTable:
        """Plan a table: the users or models of the audience, with the columns of each query."""
        name, weights = table.name, table.weights
        sources = list(
            dict.fromkeys(column.source for column in table.columns if column.part != "weight")
        )
        defined = list(dict.fromkeys(column.defined for column in table.columns if column.defined))
        filled = self.planner.rendered(
            "filled",
            {
                "everybody": table.everybody,
                **{source: nodes[source] for source in sources},
                **{stage: self.defined[stage] for stage in defined},
                **({weights.name: weights} if weights else {}),
            },
            name=f"{name}_and_run" if self.planner.several_runs else name,
            grain=table.grain,
            columns=table.columns,
            sources=sources,
            defined=defined,
            of_lists=[
                stage
                for stage in defined
                if {*self.planner.keys.lists} <= {*self.defined[stage].columns}
            ],
            weights_from=weights and weights.name,
            weighted_keys=[identifier(key) for key in weights.columns[:-1]] if weights else [],
        )
        values = WideTable(
            filled, table.grain, table.columns, table.values, table.everybody, table.share
        )
        return self._over_runs(values, name)

    def _over_runs(self, values: WideTable, name: str) -> WideTable:
        """Plan the means over runs of values of users, if models have several runs."""
        if not self.planner.several_runs or values.grain != "user":
            return values
        mean = mean_over_runs(self.planner, values.node, name, values.names)
        return replace(values, node=mean, by_run=values.node)


def _of_metrics(key: str, name: str, tree: exp.Expr, metrics: Collection[Query]) -> Query:
    """Create a query that computes columns of several metrics, from their queries."""
    parents = {key: node for query in metrics for key, node in query.parents.items()}
    return replace(
        node_of(key, name, tree, parents.values()),
        warnings=tuple(warning for query in metrics for warning in query.warnings),
        needs=tuple(column for query in metrics for column in query.needs),
    )


def column_name(metric: str, k: int | None) -> str:
    """Return the name of a column with a value: `ndcg_gain_exponential_at_10`, `map_all`."""
    end = "all" if k is None else f"at_{k}"
    base = re.sub(r"[^a-z0-9]+", "_", metric.lower())[:_LONGEST_NAME].strip("_")
    return f"{base}_{end}"
