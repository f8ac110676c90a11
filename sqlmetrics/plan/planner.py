"""From requested metrics to a plan: resolves calls, renders templates, binds stages, fuses."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sqlglot import exp

from sqlmetrics.errors import MissingTableError, TemplateError, UsageError
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Check, Metric, Stage
from sqlmetrics.metrics.requests import Call, Request, calls_of, cutoff_context
from sqlmetrics.metrics.spec import Value, value_text
from sqlmetrics.sql import arithmetic, fusion
from sqlmetrics.sql.query_graph import (
    DIALECT,
    Node,
    Plan,
    Query,
    Rendered,
    new_name,
    parse,
)
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.templates import environment, key_context, render
from sqlmetrics.tables.schema import ATTRIBUTES, OPTIONS, UNKNOWN, Table, type_family
from sqlmetrics.tables.sources import RANKED

# in one wide table: what an engine takes to plan a SELECT grows faster than its columns and joins
_MOST_CUTOFFS = 20
# of a column without its ends: engines cut names, Postgres those of more than 63 letters
_LONGEST_NAME = 40
# columns of the interactions that no query reads and that may hold a relevance: what a check reads
UNREAD_RELEVANCE = "unread_relevance"


@dataclass(frozen=True)
class Column:
    """One metric at one cutoff: a column of the wide table of values.

    `part` is the column of the metric's query: its value, or the standard error of that.
    """

    metric: str
    k: int | None
    name: str
    grain: str
    when_empty: str | None
    aggregate: str = "mean"
    quantile: float = 0.5  # where the aggregate is one
    part: str = "value"
    source: str = ""
    defined: str = ""
    standard_error: str = ""  # the column that holds it


@dataclass(frozen=True)
class WideTable:
    """A table of values: a row per user (or model) of one audience, a column per metric and cutoff.

    `values`: settings that make this audience, and `everybody`: who is in it. Many cutoffs are
    shared out among several tables; `share`: which of them these are.
    """

    node: Node
    grain: str
    columns: Sequence[Column]
    values: Mapping[str, Any]
    everybody: Node
    share: int = 0


@dataclass
class Wide:
    """Wide tables of values by name: one per audience and share of the cutoffs.

    `homes`: the table and the column of every request; requests that come to the same share one.
    """

    tables: dict[str, WideTable]
    homes: dict[tuple[str, str, int | None], tuple[str, Column]]

    def home(self, request: Request) -> tuple[str, Column]:
        """Find the table and the column that hold the value of a request."""
        return self.homes[identity_of(request)]

    def __or__(self, other: Wide) -> Wide:
        """Put two sets of tables together, whose names differ."""
        return Wide({**self.tables, **other.tables}, {**self.homes, **other.homes})


def identity_of(request: Request) -> tuple[str, str, int | None]:
    """Tell requests apart: by convention, metric call and cutoff."""
    return request.convention, request.call.name, request.k


def _when_empty(call: Call) -> str | None:
    """Say what a user (or model) without a row gets; None: the metric is undefined there."""
    metric = call.metric
    dropped = metric.audience == "relevant" and call.values["no_hits"] == "drop"
    when_empty = metric.when_empty
    for name, param in metric.params.items():
        when_empty = param.when_empty.get(value_text(call.values[name]), when_empty)
    if when_empty is None or (metric.grain == "user" and dropped):
        return None
    return value_text(when_empty)


def _columns_of(call: Call, query: Query, taken: set[str], prefix: str) -> list[Column]:
    """Name the columns that a metric call fills in the wide table of values."""
    metric = call.metric
    when_empty = _when_empty(call)
    aggregate, quantile = str(call.values["aggregate"]), float(call.values["quantile"])
    columns = []
    for request in call.requests:
        name = _column_name(prefix + call.name, request.k, taken)
        error = ""
        if "standard_error" in query.columns:
            error = new_name(f"{name}_standard_error", taken)
            taken.add(error)
            columns.append(
                Column(call.name, request.k, error, metric.grain, None, part="standard_error")
            )
        columns.append(
            Column(
                call.name,
                request.k,
                name,
                metric.grain,
                when_empty,
                aggregate,
                quantile,
                standard_error=error,
            )
        )
    return columns


# whose values a wide table holds: the grain, the identity of the audience, the share of the cutoffs
_Audience: TypeAlias = tuple[str, str, int]


@dataclass
class _Source:
    """A query that computes columns of values: a metric alone, or a group that shares a SELECT."""

    name: str = ""
    group: str = ""
    grain: str = ""
    select: fusion.FusedSelect | None = None
    parents: dict[str, Node] = field(default_factory=dict)
    identity: list[str] = field(default_factory=list)
    alone: Node | None = None

    def node(self) -> Node:
        """Build the node, once all columns of a group are known."""
        if self.alone is not None:
            return self.alone
        assert self.select is not None
        tree = self.select.build()
        stage = self.select.base.source.alias
        tree.add_comments([f" one row per {self.grain} with a row in {stage} "])
        return _node(_identity(*self.identity), self.name, tree, self.parents.values())


@dataclass
class Planner:
    """Turns metric calls into a plan over the given tables."""

    catalog: Catalog
    tables: Mapping[str, Table]
    user_keys: Sequence[str] = ("user_id",)
    several_models: bool = False
    model: str = "recommendations"
    baseline_model: str | None = None  # the model that is the baseline, if it is one of them
    checked: bool = False
    fuse: bool = True
    keeps: bool = True  # may an engine keep stages for later calls?
    dialect: str = DIALECT  # of the engine or warehouse that the queries are printed for
    lists_are_ranked: bool = False  # whole, for other queries: then hits are found in those
    # what templates say while they are rendered, in their order
    warnings: dict[str, None] = field(default_factory=dict)
    needs: dict[tuple[str, str], None] = field(default_factory=dict)
    _memo: dict[Any, Query] = field(default_factory=dict)
    _nodes: dict[tuple[str, bool], Query] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.key_context = key_context(
            self.user_keys, self.several_models, self.model, self.dialect
        )
        self.keys = (["model"] if self.several_models else []) + list(self.user_keys)

    @property
    def has_rank(self) -> bool:
        """Do the lists have ranks?"""
        lists = self.tables.get("recommendations")
        return lists is not None and "rank" in lists.columns

    # ---- plans ---------------------------------------------------------------------------------

    def stage(self, name: str, values: Mapping[str, Value], limit: int | None = None) -> Plan:
        """Plan a look at one stage or input table; `limit`: the number of rows, the first ones."""
        node = self._whole(name, values)
        return Plan(self.rendered("look", {"looked_at": node}, names=node.columns, limit=limit))

    def some_row(self, name: str, values: Mapping[str, Value]) -> Plan:
        """Plan the question whether a stage or input table has a row: one row if so."""
        node = self._whole(name, values)
        return Plan(self.rendered("some_row", {"looked_at": node}, table=name))

    def some_users(self, name: str, values: Mapping[str, Value], n_users: int) -> Plan:
        """Plan a look at the first users of a stage or input table, in the order of their keys."""
        node = self._whole(name, values)
        return Plan(self.rendered("some_users", {"looked_at": node}, table=name, n_users=n_users))

    def _whole(self, name: str, values: Mapping[str, Value]) -> Query:
        """Plan a stage or input table for whole lists."""
        return self.node(name, {**values, **cutoff_context([None])})

    def check(self, check: Check, values: Mapping[str, Value]) -> Plan:
        """Plan the query of a check; without cutoffs in `values`, for whole lists.

        What makes numbers wrong is looked for in the lists as given.
        """
        values = {**cutoff_context([None]), **values}
        if not check.table or (check.at_the_door and check.table in RANKED):
            values = as_given(values)
        text = render(check.body, self.context(values), str(check.path))
        return Plan(self._bind(check.name, text, str(check.path), values))

    # ---- values of metrics ---------------------------------------------------------------------

    def wide(self, requests: Sequence[Request]) -> Wide:
        """Plan the wide tables of values; what several conventions share is there once."""
        share_of = _shares(request.k for request in requests)
        made_by: dict[_Audience, Mapping[str, Any]] = {}
        sources: dict[str, _Source] = {}
        wanted: dict[_Audience, tuple[Query, list[Column]]] = {}
        defined: dict[str, Node] = {}  # who has a value at all, by the name of the stage
        taken: set[str] = set()
        known: dict[tuple[str, int | None], tuple[_Audience, Column]] = {}
        homes = {}
        several = len({request.convention for request in requests}) > 1
        for call in calls_of(requests):
            metric, query = call.metric, self._metric(call.metric, call.values)
            everybody = self._everybody(metric, call.values)
            identity = self._identity_with(call, query, everybody)
            new = [request for request in call.requests if (identity, request.k) not in known]
            prefix = f"{call.convention}_" if several else ""
            who = self._defined(call, {**sources, **defined}, defined) if new else ""
            for share in dict.fromkeys(share_of[request.k] for request in new):
                own = [request for request in new if share_of[request.k] == share]
                columns = _columns_of(replace(call, requests=own), query, taken, prefix)
                source = self._source(metric, query, call.values, columns, sources, share)
                audience = (metric.grain, everybody.key, share)
                _, held = wanted.setdefault(audience, (everybody, []))
                made_by.setdefault(audience, call.values)
                placed = [replace(column, source=source, defined=who) for column in columns]
                held.extend(placed)
                for column in placed:
                    if column.part == "value":
                        known[identity, column.k] = (audience, column)
            for request in call.requests:
                homes[identity_of(request)] = known[identity, request.k]

        tables: dict[str, WideTable] = {}
        names: dict[_Audience, str] = {}
        nodes = {name: source.node() for name, source in sources.items()}
        for audience, (everybody, columns) in wanted.items():
            grain = audience[0]
            used = list(dict.fromkeys(column.source for column in columns))
            who_has = list(dict.fromkeys(column.defined for column in columns if column.defined))
            name = new_name("per_user" if grain == "user" else "per_model", tables)
            reads = {"everybody": everybody, **{source: nodes[source] for source in used}}
            filled = self.rendered(
                "filled",
                {**reads, **{who: defined[who] for who in who_has}},
                name=name,
                grain=grain,
                columns=columns,
                sources=used,
                defined=who_has,
            )
            tables[name] = WideTable(
                filled, grain, columns, made_by[audience], everybody, audience[-1]
            )
            names[audience] = name
        return Wide(
            tables, {key: (names[audience], column) for key, (audience, column) in homes.items()}
        )

    def _defined(self, call: Call, taken: Collection[str], defined: dict[str, Node]) -> str:
        """Name the stage that says who has a value at all, and add it to `defined` if it is new."""
        if not call.metric.defined_for:
            return ""
        node = self.node(call.metric.defined_for, call.values, for_metric=call.metric)
        name = next((name for name, same in defined.items() if same is node), "")
        name = name or new_name(node.name, taken)
        defined[name] = node
        return name

    def identity(self, call: Call) -> str:
        """Name all that the value of a metric call depends on; equal for what computes the same."""
        metric, values = call.metric, call.values
        return self._identity_with(
            call, self._metric(metric, values), self._everybody(metric, values)
        )

    def _identity_with(self, call: Call, query: Query, everybody: Query) -> str:
        metric, values = call.metric, call.values
        parts = [query.key, everybody.key, str(_when_empty(call))]
        if metric.defined_for:
            parts.append(self.node(metric.defined_for, values, for_metric=metric).key)
        if metric.grain == "user":
            aggregate = str(values["aggregate"])
            parts.append(aggregate)
            if aggregate.startswith("quantile"):
                parts.append(str(values["quantile"]))
        return _identity(*parts)

    def _everybody(self, metric: Metric, values: Mapping[str, Any]) -> Query:
        """Plan who gets a value: the users of the audience, or the models."""
        home = "audience" if metric.grain == "user" else "models"
        return self.node(home, values, for_metric=metric)

    def rank_lists_once(self, calls: Iterable[Call]) -> None:
        """Find hits in whole ranked lists if one of these calls reads such lists anyway."""
        self.lists_are_ranked = False
        self.lists_are_ranked = any("ranked" in self.nodes(call) for call in calls)

    def nodes(self, call: Call) -> dict[str, Node]:
        """Find all that one metric reads, by name.

        Raises:
            MissingTableError: a table or a column of it was not given.
        """
        metric, values = call.metric, call.values
        roots: list[Node] = [self._metric(metric, values), self._everybody(metric, values)]
        if metric.defined_for:
            roots.append(self.node(metric.defined_for, values, for_metric=metric))
        return {node.name: node for root in roots for node in Plan(root).nodes()}

    def _source(
        self,
        metric: Metric,
        query: Query,
        values: Mapping[str, Any],
        columns: Sequence[Column],
        sources: dict[str, _Source],
        share: int,
    ) -> str:
        """Say which query computes these columns, and add it to `sources` if it is new.

        `share`: which of the cutoffs these are; those of others are computed by other queries.
        """
        keys = self.keys if metric.grain == "user" else ["model"]

        def stage_of(table: str) -> Stage | None:
            return query.parents[table].stage if table in query.parents else None

        parts = fusion.analyse(query.tree, keys, self.user_keys, stage_of) if self.fuse else None
        if parts is None:
            name = new_name(f"{metric.name}_values", sources)
            sources[name] = _Source(alone=self._alone(metric, query, values, columns, keys))
            return name
        group = f"{metric.grain} {share}: {parts.group}"
        name = next((n for n, source in sources.items() if source.group == group), "")
        if not name:
            name = new_name(f"{parts.source.alias}_values", sources)
            select = fusion.FusedSelect(keys, parts)
            sources[name] = _Source(name=name, group=group, grain=metric.grain, select=select)
        source = sources[name]
        source.parents.update(query.parents)
        for column in columns:
            assert source.select is not None
            source.select.add(parts, column.k, column.name, column.part, column.when_empty)
            source.identity += [query.key, str(column.k), column.name]
        return name

    def metric_text(self, metric: Metric, values: Mapping[str, Any]) -> str:
        """Render the query of a metric as its template says it."""
        grain_keys = (
            {"keys": "model", "keys_of": lambda alias: f"{alias}.model"}
            if metric.grain == "run"
            else {}
        )
        context = {**self.context(values, metric), **grain_keys}
        return render(metric.body, context, str(metric.path))

    def stage_text(
        self, stage: Stage, values: Mapping[str, Any], for_metric: Metric | None = None
    ) -> str:
        """Render the query of a stage as its template says it."""
        return render(stage.body, self.context(values, for_metric), str(stage.path))

    def _metric(self, metric: Metric, values: Mapping[str, Any]) -> Query:
        """Plan the query of a metric."""
        text = self.metric_text(metric, values)
        node = self._bind(metric.name, text, str(metric.path), values, metric)
        expected = [*(["model"] if metric.grain == "run" else self.keys), "k", "value"]
        with_error = [*expected, "standard_error"] if metric.grain == "run" else expected
        if node.columns not in (expected, with_error):
            raise TemplateError(
                f"{metric.path}: the query must return the columns {', '.join(expected)}, "
                f"not {', '.join(node.columns)}"
            )
        return node

    def _alone(
        self,
        metric: Metric,
        query: Query,
        values: Mapping[str, Any],
        columns: Sequence[Column],
        grain_keys: Sequence[str],
    ) -> Node:
        """Plan a metric by itself: its stages are repeated for every cutoff, then pivoted."""
        ks = dict.fromkeys(column.k for column in columns)
        cutoffs = self.node("cutoffs", {**values, **cutoff_context([*ks])})
        parents: dict[str, Node] = {}
        tree = query.tree.copy()
        for table in tree.find_all(exp.Table):
            parent = query.parents.get(table.name)
            if parent is None:
                continue
            if isinstance(parent, Query) and parent.stage and parent.stage.cutoff:
                parent = self.rendered(
                    "at_cutoffs",
                    {"source": parent, "cutoffs": cutoffs},
                    name=f"{parent.name}_at_cutoffs",
                    stage=parent.name,
                    names=parent.columns,
                    cutoff=parent.stage.cutoff,
                )
                table.set("this", exp.to_identifier(parent.key))
            parents[parent.key] = parent
        rows = _node(_identity(query.key, *parents), metric.name, tree, parents.values())
        return self.rendered(
            "pivoted",
            {"metric_values": rows},
            name=f"{metric.name}_values",
            metric=columns[0].metric,
            columns=columns,
            grain_keys=", ".join(map(identifier, grain_keys)),
        )

    # ---- nodes ---------------------------------------------------------------------------------

    def node(self, name: str, values: Mapping[str, Any], for_metric: Metric | None = None) -> Query:
        """Plan a stage or an input table under the given settings.

        Raises:
            MissingTableError: the table was not given.
            TemplateError: there is no stage or table of this name.
        """
        settings = tuple(sorted((k, str(v)) for k, v in values.items()))
        memo = (name, settings, self.lists_are_ranked)
        if memo not in self._memo:
            if name in self.catalog.stages:
                stage = self.catalog.stages[name]
                if not self.keeps:
                    stage = replace(stage, keep=False)
                text = self.stage_text(stage, values, for_metric)
                query = self._bind(name, text, str(stage.path), values, for_metric, stage)
                if not self.lists_are_ranked and "lists_are_ranked" in stage.body:
                    # the same rows found in another way: what is kept of them serves both
                    whole = replace(self, lists_are_ranked=True)
                    query = replace(query, key=whole.node(name, values, for_metric).key)
                self._memo[memo] = query
            elif name in self.tables:
                rows = self._input(name, name, values)
                self._memo[memo] = self._kept_rows(rows, values, for_metric)
            elif name in ATTRIBUTES:
                self._need(*ATTRIBUTES[name], for_metric)
                self._memo[memo] = self._input(name, ATTRIBUTES[name][0], values)
            elif name == UNREAD_RELEVANCE and "interactions" in self.tables:
                self._memo[memo] = self._unread_relevance()
            elif name in OPTIONS:
                self._need(name, None, for_metric)
            else:
                where = "" if for_metric is None else f"{for_metric.path}: "
                raise TemplateError(
                    f"{where}there is no stage or table {name!r}; stages: "
                    + ", ".join(self.catalog.stages)
                )
        return self._memo[memo]

    def _need(
        self, table: str, column: str | None, for_metric: Metric | None, setting: str = ""
    ) -> None:
        """Check that a table was given, and that it has a column; `setting` is what needs it.

        Raises:
            MissingTableError: names who needs it, and the option that supplies it.
        """
        who = "it" if for_metric is None else f"the metric {for_metric.name}"
        who += f" with {setting}" if setting else ""
        leave = "" if for_metric is None else "; --skip-missing leaves such metrics out"
        if table not in self.tables:
            what = table if column is None else f"{table} with a column {column}"
            raise MissingTableError(
                f"{who} needs the table {what}, which was not given: "
                f"{OPTIONS[table]} on the command line (for a statement, --{table}-table NAME), "
                f"{table}=… in Python{leave}",
                f"the table {what} was not given ({OPTIONS[table]}, in Python {table}=…)",
            )
        if column is not None and column not in self.tables[table].columns:
            raise MissingTableError(
                f"{who} needs the column {column} of the table {table}, which "
                f"{self.tables[table].sources[0].label} does not have; name the one that holds it "
                f"with --column {table}.{column}=COLUMN (in Python: "
                f"columns={{'{table}.{column}': 'COLUMN'}}){leave}",
                f"the table {table} has no column {column} (--column {table}.{column}=COLUMN, in "
                f"Python columns={{'{table}.{column}': 'COLUMN'}})",
            )

    def order_of(self, table: str, values: Mapping[str, Any]) -> str:
        """Say what orders the lists of a table: a rank column, the score, or the order of rows."""
        given = self.tables.get(table)
        if table == "recommendations" or values["order"] == "row" or given is None:
            return str(values["order"])
        found = (name for name in ("rank", "score") if name in given.columns)
        return next(found, str(values["order"]))

    def _input(self, name: str, table_name: str, values: Mapping[str, Any]) -> Query:
        table = self.tables[table_name]
        by_row = table_name in RANKED and table.require_order(
            self.order_of(table_name, values), str(values["ties"])
        )
        kind = "table" if name == table_name else name
        text = (
            environment()
            .get_template(f"inputs/{kind}.sql.j2")
            .render(
                table=name,
                sources=table.sources,
                row_order_is_read=by_row,
                attributes=[column for owner, column in ATTRIBUTES.values() if owner == table_name],
                **self.key_context,
            )
        )
        return input_node(name, text, table_name)

    def _unread_relevance(self) -> Query:
        """Plan the reading of columns of the interactions that may hold a relevance."""
        table = self.tables["interactions"]
        text = (
            environment()
            .get_template(f"inputs/{UNREAD_RELEVANCE}.sql.j2")
            .render(source=table.sources[0], columns=table.unread_relevance, **self.key_context)
        )
        return input_node(UNREAD_RELEVANCE, text, "interactions")

    def removed_by(self, table: str, values: Mapping[str, Any]) -> list[str]:
        """Name the settings that take rows out of the lists of a table."""
        if table not in RANKED:
            return []
        masked = values["masked_scores"] == "drop" and self.order_of(table, values) == "score"
        return [
            *(["masked_scores=drop"] if masked else []),
            *(["drop_seen=true"] if values["drop_seen"] == "true" else []),
        ]

    def _kept_rows(
        self, rows: Query, values: Mapping[str, Any], for_metric: Metric | None
    ) -> Query:
        """Plan what settings leave of the lists; all else reads that in place of the table.

        Raises:
            UsageError: they need a table that was not given.
        """
        settings = self.removed_by(rows.name, values)
        masks = values["masked_scores"] == "drop" and rows.name in RANKED
        if masks and "masked_scores=drop" not in settings and "score" in rows.columns:
            self.warnings[
                f"{rows.name}: masked_scores=drop leaves these lists as they are: "
                f"{self.order_of(rows.name, values)} orders them, and scores are not looked at. "
                "--set order=score orders lists by score"
            ] = None
        if not settings:
            return rows
        seen_is_dropped = "drop_seen=true" in settings
        if seen_is_dropped and "history" not in self.tables:
            raise UsageError(
                "drop_seen=true needs the table history, which was not given: "
                f"{OPTIONS['history']} on the command line (for a statement, --history-table "
                "NAME), history=… in Python"
            )
        template = "inputs/kept_rows.sql.j2"
        text = (
            environment()
            .get_template(template)
            .render(
                table=rows.name,
                columns=rows.columns,
                masked="masked_scores=drop" in settings,
                seen_is_dropped=seen_is_dropped,
                **self.key_context,
            )
        )

        def find(table: str) -> Query:
            return rows if table == rows.name else self.node(table, values, for_metric)

        return replace(self.bind(f"kept_{rows.name}", text, template, find), table=rows.table)

    def rendered(
        self,
        template: str,
        reads: Mapping[str, Node],
        name: str | None = None,
        often: bool = False,
        apart: bool = False,
        **context: Any,
    ) -> Node:
        """Plan one of the queries that put values together; `reads` are its parents by alias.

        `often`: the query reads each of them more than once. `apart`: it gets a statement of its
        own.
        """
        parents = {node.key: node for node in reads.values()}
        aliases = {alias: node.key for alias, node in reads.items()}
        return Rendered(
            key=_identity(template, repr(context), repr(aliases)),
            name=name or template,
            parents=parents,
            template=environment().get_template(f"summaries/{template}.sql.j2"),
            context={**self.key_context, **context},
            aliases=aliases,
            often=often,
            apart=apart,
        )

    def context(
        self, values: Mapping[str, Any], for_metric: Metric | None = None
    ) -> dict[str, Any]:
        """Build what the template of a stage or metric knows under the given settings."""
        lists = self.tables.get("recommendations")

        def need(table: str, column: str, setting: str = "") -> str:
            """Let a template name a column that it, or a setting of it, cannot do without."""
            self.needs[table, column] = None
            if self.tables:  # there are none where a template is only described
                self._need(table, column, for_metric, setting)
            return ""

        def need_time(table: str, column: str, unit: str = "timestamp") -> str:
            """Let a template name a column that it reads as a time, in a unit."""
            need(table, column)
            if table in self.tables:
                self.tables[table].require_time(column, unit)
            return ""

        def assume(table: str, column: str, value: str) -> str:
            """Let a template say what it takes in place of a column that was not given."""
            if table in self.tables and column not in self.tables[table].columns:
                self.warnings[
                    f"{table}: there is no column {column}; assumed is {value}, the same for all "
                    f"rows. If there is one, map it with --column {table}.{column}=COLUMN"
                ] = None
            return ""

        def in_bytes(expression: str, is_text: bool = False) -> str:
            """Let a template order items by the bytes of their ids, where those are texts."""
            held = "" if lists is None else lists.columns["item_id"]
            if self.dialect != "postgres":  # the others compare bytes
                return expression
            if held == UNKNOWN and not is_text:
                self.warnings[
                    "postgres: items with equal scores are ordered by item_id; if that is a text "
                    'and the database has another collation than "C", lists come out in another '
                    "order than elsewhere. Give an export of the table beside its name (-r FILE), "
                    "whose types tell"
                ] = None
                return expression
            is_text = is_text or type_family(held) == "text"
            return f'{expression} COLLATE "C"' if is_text else expression

        return {
            **self.key_context,
            **values,
            "in_bytes": in_bytes,
            "checked": self.checked,
            "lists_are_ranked": self.lists_are_ranked,
            "score_is_read": values.get("order") == "score",
            "rank_is_whole": lists is not None and lists.rank_is_whole,
            "baseline_model": self.baseline_model,
            "order_of": lambda table: self.order_of(table, values),
            "need": need,
            "need_time": need_time,
            "assume": assume,
            "is_chosen": lambda name: name in values.get("chosen_settings", ()),
            "has_user": lambda table: (
                table in self.tables and set(self.user_keys) <= set(self.tables[table].columns)
            ),
            "has": lambda table, column: (
                table in self.tables and column in self.tables[table].columns
            ),
        }

    def _bind(
        self,
        name: str,
        text: str,
        where: str,
        values: Mapping[str, Any],
        metric: Metric | None = None,
        stage: Stage | None = None,
    ) -> Query:
        return self.bind(
            name, text, where, lambda table: self.node(table, values, for_metric=metric), stage
        )

    def bind(
        self,
        name: str,
        text: str,
        where: str,
        find: Callable[[str], Node | None],
        stage: Stage | None = None,
    ) -> Query:
        """Parse a query and replace the names of stages by the nodes they stand for."""
        names = _names_read(text, where)
        # where several tables are missing, that of the lists is named
        nodes = {name: find(name) for name in sorted(names, key=lambda one: one not in RANKED)}
        parents = {name: node for name in names if (node := nodes[name]) is not None}
        keys = {table: node.key for table, node in parents.items()}
        key = _identity(name, text, *(f"{table}={key}" for table, key in keys.items()))
        known_as = (key, self.lists_are_ranked)
        if known_as not in self._nodes:
            tree, tables = _bound(name, text, where, tuple(keys.items()))
            by_key = {node.key: node for node in parents.values()}
            read = {table.name: by_key[table.name] for table in tables}
            self._nodes[known_as] = Query(key, name, read, stage, tree=tree, tables=tables)
        return self._nodes[known_as]


def as_given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Change settings so that lists keep the items that their users have in the history."""
    return {**values, "drop_seen": "false"}


@functools.lru_cache(maxsize=512)
def _parsed(text: str, where: str) -> exp.Expr:
    """Parse a rendered query and apply the arithmetic passes.

    The tree is shared by all evaluators of the process: callers must not change it.
    """
    return arithmetic.apply(parse(text, where))


@functools.lru_cache(maxsize=512)
def _names_read(text: str, where: str) -> list[str]:
    """List the stages and tables that a query reads; callers must not change the list."""
    return tables_read(_parsed(text, where))


@functools.lru_cache(maxsize=512)
def _bound(
    name: str, text: str, where: str, keys: tuple[tuple[str, str], ...]
) -> tuple[exp.Expr, Sequence[exp.Table]]:
    """Parse a query and replace the names of its tables by the identities of their nodes.

    The tree is shared by all evaluators of the process: callers must not change it.

    Args:
        keys: pairs of a table name in the query and the identity of its node.

    Returns:
        The tree, and the tables in it that stand for nodes.

    Raises:
        UsageError: two columns have the same name.
    """
    tree, identities = _parsed(text, where).copy(), dict(keys)
    local = {cte.alias for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if table.name in identities and table.name not in local:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(identities[table.name]))
    for select in tree.find_all(exp.Select):
        columns = [column.lower() for column in select.named_selects]
        twice = [column for column in columns if columns.count(column) > 1]
        if twice:
            raise UsageError(
                f"the column {twice[0]} of {name} is there twice; a key column cannot have "
                "the name of a column that the queries compute: map it to user_id instead"
            )
    own = set(identities.values())
    return tree, [table for table in tree.find_all(exp.Table) if table.name in own]


def input_node(name: str, text: str, table: str) -> Query:
    """Make a node of a query that reads the sources of a table."""
    tree = parse(text, f"table {name}")
    return Query(_identity(name, text), name, {}, is_input=True, tree=tree, table=table)


def _node(
    key: str,
    name: str,
    tree: exp.Expr,
    parents: Iterable[Node],
    stage: Stage | None = None,
) -> Query:
    """Make a node of a query whose tables are named by the identities of its parents."""
    by_key = {parent.key: parent for parent in parents}
    tables = [table for table in tree.find_all(exp.Table) if table.name in by_key]
    read = {table.name: by_key[table.name] for table in tables}
    return Query(key, name, read, stage, tree=tree, tables=tables)


def _identity(*parts: str) -> str:
    """Name a query by all that tells it from others."""
    return f"sqlmetrics_{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"


def tables_read(tree: exp.Expr) -> list[str]:
    """List the names in a query that stand for stages or tables of the run."""
    local = {cte.alias for cte in tree.find_all(exp.CTE)}
    return list(
        dict.fromkeys(
            table.name
            for table in tree.find_all(exp.Table)
            if isinstance(table.this, exp.Identifier) and not table.db and table.name not in local
        )
    )


def _shares(cutoffs: Iterable[int | None]) -> dict[int | None, int]:
    """Share out cutoffs among wide tables: one cutoff, and all metrics at it, to one table."""
    return {k: place // _MOST_CUTOFFS for place, k in enumerate(dict.fromkeys(cutoffs))}


def _column_name(metric: str, k: int | None, taken: set[str]) -> str:
    """Name a column of the wide table: `ndcg_gain_exponential_at_10`, `map_all`."""
    end = "all" if k is None else f"at_{k}"
    base = re.sub(r"[^a-z0-9]+", "_", metric.lower())[:_LONGEST_NAME].strip("_")
    name = new_name(f"{base}_{end}", taken)
    taken.add(name)
    return name
