"""From requested metrics to a plan: a graph of named queries that ends in one result.

A node is one query. Its identity is its own text with the identities of the nodes it reads in
place of their names, so what is equal is computed once, whichever metrics, settings or calls ask
for it. `Plan.statement` prints the whole graph as one statement with CTEs; an engine runs the same
queries and may keep some of them as tables.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlmetrics import fusion, passes
from sqlmetrics.catalog import Catalog, Check, Metric, Stage
from sqlmetrics.errors import MissingTableError, TemplateError, UsageError
from sqlmetrics.render import environment, identifier, key_context, render
from sqlmetrics.settings import Settings
from sqlmetrics.spec import MetricCall, Value, value_text
from sqlmetrics.tables import OPTIONS, Table

DIALECT = "duckdb"


@dataclass(frozen=True, eq=False)
class Node:
    """One query of a plan. Tables in `tree` that are other nodes are named by their identity."""

    key: str
    name: str
    tree: exp.Expression
    parents: Mapping[str, Node]
    stage: Stage | None = None
    is_input: bool = False

    @property
    def keep(self) -> bool:
        """Is the result small and used again in later calls?"""
        return self.stage is not None and self.stage.keep

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the result."""
        return list(self.tree.named_selects)


@dataclass(frozen=True)
class Column:
    """One metric at one cutoff: a column of the wide table of values."""

    metric: str
    k: int | None
    name: str
    grain: str
    when_empty: str | None
    source: str = ""


@dataclass(frozen=True)
class Request:
    """A metric call with its cutoff and the value of every setting."""

    call: MetricCall
    k: int | None
    metric: Metric
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Plan:
    """A graph of queries that ends in `root`."""

    root: Node

    def nodes(self, have: Collection[str] = ()) -> list[Node]:
        """All nodes the result needs, parents first; those in `have` end the walk."""
        found: dict[str, Node] = {}

        def visit(node: Node) -> None:
            if node.key in found:
                return
            if node.key not in have:
                for parent in node.parents.values():
                    visit(parent)
            found[node.key] = node

        visit(self.root)
        return list(found.values())

    def barriers(self, have: Collection[str] = ()) -> list[Node]:
        """Nodes to compute before the result, each with a statement of its own, in this order.

        These are the nodes worth keeping, and those that more than one statement reads.
        """
        nodes = [node for node in self.nodes(have) if node.key not in have]
        readers: dict[str, set[str]] = {node.key: set() for node in nodes}
        barriers: set[str] = set()
        for node in reversed(nodes):
            if node.keep or (len(readers[node.key]) > 1 and not node.is_input):
                barriers.add(node.key)
            own = {node.key} if node.key in barriers or node is self.root else readers[node.key]
            for parent in node.parents.values():
                if parent.key in readers:
                    readers[parent.key] |= own
        return [node for node in nodes if node.key in barriers and node is not self.root]

    def reads(self, have: Collection[str] = ()) -> dict[str, int]:
        """How often each input table is read when the plan runs."""
        tables = set(have)
        counts: dict[str, int] = {}
        for node in [*self.barriers(have), self.root]:
            statement = Plan(node).nodes(tables)
            for reader in statement:
                for parent in reader.parents.values() if reader.key not in tables else ():
                    if parent.is_input:
                        counts[parent.name] = counts.get(parent.name, 0) + 1
            tables.add(node.key)
        return counts

    def statement(self, tables: Mapping[str, str] | None = None, pretty: bool = True) -> str:
        """Print the plan as one statement; `tables` names nodes that are tables already."""
        tables = tables or {}
        nodes = self.nodes(tables)
        names: dict[str, str] = dict(tables)
        taken: set[str] = set()
        for node in nodes:
            if node.key not in names:
                name, count = node.name, 1
                while name in taken:
                    count += 1
                    name = f"{node.name}_{count}"
                taken.add(name)
                names[node.key] = name
        uses: dict[str, int] = {}
        for node in nodes:
            if node.key not in tables:
                for table in node.tree.find_all(exp.Table):
                    if table.name in node.parents:
                        uses[table.name] = uses.get(table.name, 0) + 1
        ctes = [
            exp.CTE(
                this=_named(node, names),
                alias=exp.TableAlias(this=exp.to_identifier(names[node.key])),
                materialized=(not node.is_input) if uses[node.key] > 1 else None,
            )
            for node in nodes
            if node is not self.root and node.key not in tables
        ]
        root = _named(self.root, names)
        own = root.args.get("with_")
        if own is not None:
            ctes.extend(own.expressions)
        if ctes:
            root.set("with_", exp.With(expressions=ctes))
        return root.sql(DIALECT, pretty=pretty, normalize_functions="lower")


def _named(node: Node, names: Mapping[str, str]) -> exp.Expression:
    """Copy a node's query with the names of its parents in place of their identities."""
    tree = node.tree.copy()
    for table in tree.find_all(exp.Table):
        if table.name in node.parents:
            alias = table.alias
            name = names[table.name]
            table.set("this", exp.to_identifier(name))
            if alias == name:
                table.set("alias", None)
    return tree


@dataclass
class Planner:
    """Turns metric calls into a plan over the given tables."""

    catalog: Catalog
    settings: Settings
    tables: Mapping[str, Table]
    user_keys: Sequence[str] = ("user_id",)
    several_models: bool = False
    model: str = "recommendations"
    checked: bool = False
    fuse: bool = True
    _memo: dict[Any, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._key_context = key_context(self.user_keys, self.several_models, self.model)
        self.keys = (["model"] if self.several_models else []) + list(self.user_keys)

    # ---- requests ------------------------------------------------------------------------------

    def requests(self, pairs: Iterable[tuple[MetricCall, int | None]]) -> list[Request]:
        """Resolve calls; the same metric, cutoff and settings asked for twice counts once."""
        found: dict[tuple[str, int | None], Request] = {}
        for call, k in pairs:
            canonical, values = self.resolve(call)
            assert canonical is not None
            metric = self.catalog.metrics[canonical.metric]
            found.setdefault((canonical.name, k), Request(canonical, k, metric, values))
        return list(found.values())

    def resolve(self, call: MetricCall | None) -> tuple[MetricCall | None, dict[str, Value]]:
        """Resolve the settings of one call, given what the tables have."""
        lists = self.tables.get("recommendations")
        return self.settings.resolve(call, lists is not None and "rank" in lists.columns)

    # ---- plans ---------------------------------------------------------------------------------

    def summary(self, requests: Sequence[Request], confidence: float = 0.95) -> Plan:
        """Plan the mean (or run value) of every metric and cutoff, one row each."""
        context = self._run_context(requests)
        wide = self._wide(requests, context)
        sources: dict[str, Node] = {}
        found: dict[tuple[str, int | None], dict[str, Any]] = {}
        for node, columns in wide.values():
            if columns[0].grain == "user":
                node = self._summary("totals", {"per_user": node}, columns=columns)
            source = _new_name(node.name, sources)
            sources[source] = node
            for column in columns:
                found[column.metric, column.k] = {**vars(column), "source": source}
        rows = [found[request.call.name, request.k] for request in requests]
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        return Plan(self._summary("summary", sources, rows=rows, z=z))

    def per_user(self, requests: Sequence[Request]) -> Plan:
        """Plan the values of every user: one row per user (and model) and cutoff.

        Raises:
            UsageError: a metric has one value for the whole run, none per user.
        """
        for request in requests:
            if request.metric.grain != "user":
                raise UsageError(
                    f"{request.call} has one value for all users together, none per user; "
                    "use evaluate for it"
                )
        context = self._run_context(requests)
        wide = self._wide(requests, context)
        names = list(dict.fromkeys(request.call.name for request in requests))
        cutoffs = []
        for k in dict.fromkeys(request.k for request in requests):
            columns = []
            for metric in names:
                found = [
                    {"source": source, "name": column.name, "metric": metric}
                    for source, (_, all_columns) in wide.items()
                    for column in all_columns
                    if (column.metric, column.k) == (metric, k)
                ]
                columns.append(found[0] if found else {"source": None, "metric": metric})
            cutoffs.append({"k": k, "columns": columns})
        sources = {name: node for name, (node, _) in wide.items()}
        everyone = self._summary("everyone", sources, audiences=list(sources))
        return Plan(
            self._summary(
                "per_user", {**sources, "everyone": everyone}, cutoffs=cutoffs, sources=list(sources)
            )
        )

    def stage(self, name: str, values: Mapping[str, Value], limit: int | None = None) -> Plan:
        """Plan a look at one stage or input table."""
        node = self.node(name, {**values, **_no_cutoffs()})
        return Plan(self._summary("look", {"looked_at": node}, columns=node.columns, limit=limit))

    def check(self, check: Check, values: Mapping[str, Value]) -> Plan:
        """Plan the query of a check."""
        values = {**values, **_no_cutoffs()}
        text = render(check.body, self._context(values), str(check.path))
        return Plan(self._bind(check.name, _parse(text, str(check.path)), values, None))

    # ---- values of metrics ---------------------------------------------------------------------

    def _run_context(self, requests: Sequence[Request]) -> dict[str, Any]:
        cutoffs = list(dict.fromkeys(request.k for request in requests))
        finite = [k for k in cutoffs if k is not None]
        return {"cutoffs": cutoffs, "max_cutoff": max(finite) if len(finite) == len(cutoffs) else None}

    def _wide(
        self, requests: Sequence[Request], context: Mapping[str, Any]
    ) -> dict[str, tuple[Node, list[Column]]]:
        """Plan the tables of values, one per audience (and one for metrics of the whole run)."""
        groups: dict[tuple[str, ...], fusion.FusedSelect] = {}
        group_names: dict[tuple[str, ...], str] = {}
        sources: dict[str, Node] = {}
        parents: dict[str, dict[str, Node]] = {}
        wanted: dict[tuple[str, str], list[Column]] = {}
        everybody: dict[tuple[str, str], Node] = {}
        taken: set[str] = set()

        by_call: dict[str, list[Request]] = {}
        for request in requests:
            by_call.setdefault(request.call.name, []).append(request)
        for call_name, members in by_call.items():
            request = members[0]
            metric = request.metric
            values = {**request.values, **context}
            grain_keys = self.keys if metric.grain == "user" else ["model"]
            query = self._metric(metric, values)
            parts = None
            if self.fuse:
                parts = fusion.analyse(
                    query.tree,
                    grain_keys,
                    self.user_keys,
                    lambda name, query=query: getattr(query.parents.get(name), "stage", None),
                )
            when_empty = None if metric.when_empty is None else value_text(metric.when_empty)
            home = "audience" if metric.grain == "user" else "models"
            fill = self.node(home, values, for_metric=metric)
            columns = [
                Column(call_name, r.k, _column_name(r, taken), metric.grain, when_empty)
                for r in members
            ]
            if parts is None:
                name = _new_name(f"{metric.name}_values", sources)
                sources[name] = self._alone(metric, query, values, columns, grain_keys)
            else:
                key = (metric.grain, parts.group)
                if key not in groups:
                    stage = query.parents[parts.source.name].name
                    name = _new_name(f"{stage}_values", sources)
                    groups[key] = fusion.FusedSelect(grain_keys, parts)
                    group_names[key] = name
                    parents[name] = {}
                    sources[name] = query  # replaced once all members are known
                name = group_names[key]
                parents[name].update(query.parents)
                for column in columns:
                    groups[key].add(parts, column.k, column.name)
            wanted.setdefault((metric.grain, fill.key), []).extend(
                Column(**{**vars(column), "source": name}) for column in columns
            )
            everybody[metric.grain, fill.key] = fill
        for key, select in groups.items():
            name = group_names[key]
            tree = select.build()
            tree.add_comments([f" one row per {key[0]} with a row in {select.base.source.alias} "])
            sources[name] = self._new_node(name, tree, parents[name])
        result: dict[str, tuple[Node, list[Column]]] = {}
        for (grain, fill_key), columns in wanted.items():
            used = list(dict.fromkeys(column.source for column in columns))
            name = _new_name("per_user" if grain == "user" else "per_model", result)
            result[name] = (
                self._summary(
                    "filled",
                    {"everybody": everybody[grain, fill_key], **{s: sources[s] for s in used}},
                    name=name,
                    grain=grain,
                    columns=columns,
                    sources=used,
                ),
                columns,
            )
        return result

    def metric_text(self, metric: Metric, values: Mapping[str, Any]) -> exp.Expression:
        """Render and parse the query of a metric as its template says it."""
        grain_keys = (
            {"keys": "model", "keys_of": lambda alias: f"{alias}.model"}
            if metric.grain == "run"
            else {}
        )
        context = {**self._context(values), **grain_keys}
        return _parse(render(metric.body, context, str(metric.path)), str(metric.path))

    def _metric(self, metric: Metric, values: Mapping[str, Any]) -> Node:
        """Plan the query of a metric."""
        node = self._bind(metric.name, self.metric_text(metric, values), values, metric)
        expected = [*(["model"] if metric.grain == "run" else self.keys), "k", "value"]
        if node.columns != expected:
            raise TemplateError(
                f"{metric.path}: the query must return the columns {', '.join(expected)}, "
                f"not {', '.join(node.columns)}"
            )
        return node

    def _alone(
        self,
        metric: Metric,
        query: Node,
        values: Mapping[str, Any],
        columns: Sequence[Column],
        grain_keys: Sequence[str],
    ) -> Node:
        """Plan a metric by itself: its stages are repeated for every cutoff, then pivoted."""
        cutoffs = self.node("cutoffs", values)
        parents: dict[str, Node] = {}
        tree = query.tree.copy()
        for table in tree.find_all(exp.Table):
            parent = query.parents.get(table.name)
            if parent is None:
                continue
            if parent.stage is not None and parent.stage.cutoff is not None:
                parent = self._summary(
                    "at_cutoffs",
                    {"source": parent, "cutoffs": cutoffs},
                    name=f"{parent.name}_at_cutoffs",
                    stage=parent.name,
                    columns=parent.columns,
                    cutoff=parent.stage.cutoff,
                )
                table.set("this", exp.to_identifier(parent.key))
            parents[parent.key] = parent
        rows = self._new_node(metric.name, tree, parents)
        return self._summary(
            "pivoted",
            {"metric_values": rows},
            name=f"{metric.name}_values",
            metric=columns[0].metric,
            columns=columns,
            grain_keys=", ".join(map(identifier, grain_keys)),
        )

    # ---- nodes ---------------------------------------------------------------------------------

    def node(
        self, name: str, values: Mapping[str, Any], for_metric: Metric | None = None
    ) -> Node:
        """Plan a stage or an input table under the given settings.

        Raises:
            MissingTableError: the table was not given.
            TemplateError: there is no stage or table of this name.
        """
        memo = (name, tuple(sorted((k, str(v)) for k, v in values.items())))
        if memo not in self._memo:
            if name in self.catalog.stages:
                stage = self.catalog.stages[name]
                text = render(stage.body, self._context(values), str(stage.path))
                tree = _parse(text, str(stage.path))
                self._memo[memo] = self._bind(name, tree, values, for_metric, stage)
            elif name in self.tables:
                self._memo[memo] = self._input(name, values)
            elif name in OPTIONS:
                who = "this stage" if for_metric is None else f"the metric {for_metric.name}"
                raise MissingTableError(
                    f"{who} needs the table {name}, which was not given: "
                    f"{OPTIONS[name]} on the command line, {name}=… in Python"
                )
            else:
                where = "" if for_metric is None else f"{for_metric.path}: "
                raise TemplateError(
                    f"{where}there is no stage or table {name!r}; stages: "
                    + ", ".join(self.catalog.stages)
                )
        return self._memo[memo]

    def _input(self, name: str, values: Mapping[str, Any]) -> Node:
        table = self.tables[name]
        by_row = name == "recommendations" and "row" in (
            values.get("order"),
            values.get("ties") if values.get("order") == "score" else None,
        )
        if by_row:
            table.require_row_order()
        template = environment().get_template("inputs/table.sql.j2")
        text = template.render(
            table=name, sources=table.sources, row_order_is_read=by_row, **self._key_context
        )
        return self._new_node(name, _parse(text, f"table {name}"), {}, is_input=True)

    def _summary(
        self, template: str, reads: Mapping[str, Node], name: str | None = None, **context: Any
    ) -> Node:
        """Plan one of the queries that put values together; `reads` binds its table names."""
        source = environment().get_template(f"summaries/{template}.sql.j2")
        text = source.render({**self._key_context, **context})
        return self._bind_with(
            name or template, _parse(text, template), lambda table: reads.get(table)
        )

    def _context(self, values: Mapping[str, Any]) -> dict[str, Any]:
        lists = self.tables.get("recommendations")
        return {
            **self._key_context,
            **values,
            "checked": self.checked,
            "score_is_read": values.get("order") == "score",
            "rank_is_whole": lists is not None and lists.rank_is_whole,
            "has_table": lambda table: table in self.tables,
            "has": lambda table, column: (
                table in self.tables and column in self.tables[table].columns
            ),
        }

    def _bind(
        self,
        name: str,
        tree: exp.Expression,
        values: Mapping[str, Any],
        metric: Metric | None,
        stage: Stage | None = None,
    ) -> Node:
        return self._bind_with(
            name, tree, lambda table: self.node(table, values, for_metric=metric), stage
        )

    def _bind_with(
        self,
        name: str,
        tree: exp.Expression,
        find: Callable[[str], Node | None],
        stage: Stage | None = None,
    ) -> Node:
        """Replace the names of stages in a query by the identities of the nodes they stand for."""
        local = {cte.alias for cte in tree.find_all(exp.CTE)}
        parents: dict[str, Node] = {}
        for table in list(tree.find_all(exp.Table)):
            if table.name in local or not isinstance(table.this, exp.Identifier) or table.db:
                continue
            node = find(table.name)
            if node is not None:
                if not table.alias:
                    table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
                table.set("this", exp.to_identifier(node.key))
                parents[node.key] = node
        return self._new_node(name, tree, parents, stage)

    def _new_node(
        self,
        name: str,
        tree: exp.Expression,
        parents: Mapping[str, Node],
        stage: Stage | None = None,
        is_input: bool = False,
    ) -> Node:
        tree = passes.apply(tree)
        text = tree.sql(DIALECT, comments=False)
        digest = hashlib.sha256(f"{name}: {text}".encode()).hexdigest()[:16]
        used = {table.name for table in tree.find_all(exp.Table)}
        kept = {key: node for key, node in parents.items() if key in used}
        return Node(f"sqlmetrics_{digest}", name, tree, kept, stage, is_input)


def _no_cutoffs() -> dict[str, Any]:
    return {"cutoffs": [None], "max_cutoff": None}


def _parse(text: str, where: str) -> exp.Expression:
    """Parse one query.

    Raises:
        TemplateError: it is not one SELECT.
    """
    try:
        trees = [tree for tree in sqlglot.parse(text, read=DIALECT) if tree is not None]
    except SqlglotError as error:
        raise TemplateError(f"{where}: the rendered SQL cannot be parsed: {error}") from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise TemplateError(f"{where}: a template is one SELECT")
    return trees[0]


def _column_name(request: Request, taken: set[str]) -> str:
    """Name a column of the wide table: `ndcg_gain_exponential_at_10`, `map_all`."""
    end = "all" if request.k is None else f"at_{request.k}"
    base = re.sub(r"[^a-z0-9]+", "_", request.call.name.lower()).strip("_")
    name = _new_name(f"{base}_{end}", taken)
    taken.add(name)
    return name


def _new_name(wanted: str, taken: Collection[str]) -> str:
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name
