"""Plan requested metrics as queries: find templates, render them and bind the tables they read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sqlglot import exp

from sqlmetrics.errors import MissingTableError, TemplateError, UsageError, suggestion
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.front_matter import Alternative, Check, Metric, Stage, Template
from sqlmetrics.metrics.requests import MetricCall, cutoff_context
from sqlmetrics.metrics.spec import Value
from sqlmetrics.plan.inputs import UNREAD_RELEVANCE, Inputs
from sqlmetrics.plan.template_names import Heard, TemplateNames
from sqlmetrics.sql.binding import Text, bound, node_of, tables_of
from sqlmetrics.sql.query_graph import DIALECT, Node, Plan, Query, Rendered, identity_of
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.template_names import Keys, context_of
from sqlmetrics.sql.templates import is_true, render
from sqlmetrics.tables.schema import ATTRIBUTES, ROUND, Table
from sqlmetrics.texts.messages import RANKED, TABLES

# key of the cutoffs among the values of a query
CUTOFFS_OF_ROWS = "cutoffs of rows"

_T = TypeVar("_T")
_recent: deque[Planner] = deque(maxlen=8)  # of all evaluators in this process
_recent_lock = threading.Lock()


class StageSource:
    """Replaces the queries of stages and tables; the base class replaces none."""

    def node(
        self,
        planner: Planner,
        name: str,
        values: Mapping[str, Any],
    ) -> Query | None:
        """Plan the query that replaces a stage or table; None for the usual query."""

    def everybody(
        self,
        metric: Metric,
        values: Mapping[str, Any],
    ) -> Query | None:
        """Plan the users or models that get a value; None for the usual audience or models."""

    def check_metric(self, metric: Metric, query: Query) -> None:
        """Check that a metric can be computed from the stages of this source.

        Raises:
            UsageError: the metric cannot be computed.
        """

    def of_checks(self, planner: Planner) -> Planner:
        """Return the planner of the checks of tables and stages, whose rows have its keys."""
        return planner


NO_OTHER_STAGES = StageSource()


def _check_aggregate(call: MetricCall, query: Query) -> None:
    """Check that the rounds of the logs, and their weights, have this aggregate.

    Raises:
        UsageError: weights of users, or another aggregate than the mean of weighted rounds.
    """
    aggregate = call.values["aggregate"]
    is_ratio = "weight" in query.columns and aggregate != "mean"
    if is_ratio or aggregate == "weighted_mean":
        why = (
            "is the sum of weighted rewards over the sum of weights" if is_ratio
            else "has a value per round, and weights are of users"
        )  # fmt: skip
        raise UsageError(
            f"{call.metric.name} {why}; aggregate={aggregate} does not apply", remedy="use the mean"
        )


@dataclass(frozen=True)
class Queries:
    """The queries of a metric call, with a row for every user (or model).

    Attributes:
        call: the metric call.
        values: the values, by cutoff; without users that have no rows of the metric.
        everybody: the users of the audience, or the models, which get a value.
        defined: the users for whom the metric is defined; None for all.
        weights: the weights of users that the mean needs; None if it needs none.
    """

    call: MetricCall
    values: Query
    everybody: Query
    defined: Query | None
    weights: Query | None

    @property
    def nodes(self) -> dict[str, Node]:
        """Return these queries and those that they read, by name."""
        roots = (self.values, self.everybody, self.defined, self.weights)
        return {node.name: node for root in roots if root for node in Plan(root).nodes()}

    @property
    def identity(self) -> str:
        """Return the identity of the values, which is equal for equal computations."""
        call = self.call
        nodes = (self.values, self.everybody, self.defined)
        parts = [str(call.when_empty), str(call.is_best_without_relevant)]
        if call.metric.grain != "run":
            aggregate = str(call.values["aggregate"])
            parts.append(aggregate)
            if aggregate.startswith("quantile"):
                parts.append(str(call.values["quantile"]))
        return identity_of(*(node.key for node in nodes if node), *parts)


@dataclass(frozen=True)
class Planner:
    """Plans queries over the given tables; its only state is a cache of its plans.

    Planners for equal tables are equal; see `shared`.

    Attributes:
        catalog: the templates.
        tables: the given tables by name.
        user_keys: the columns that identify a user.
        several_models: whether the lists have a column `model`.
        model: the name of the only model, if the lists have no such column.
        several_runs: whether the lists have a column `run`.
        baseline_model: the model that is the baseline, if the baseline is a model.
        checked: whether stages also count rows for checks.
        fuse: whether metrics may share a SELECT.
        keeps: whether an engine may keep stages for later calls.
        dialect: the dialect of the engine, or of the warehouse that queries are printed for.
        stages: replaces the queries of stages and tables.
        context: further variables of all templates.
        slices_of_rounds: the columns of rounds that are slices, among the user keys.
    """

    catalog: Catalog
    tables: Mapping[str, Table]
    user_keys: Sequence[str] = ("user_id",)
    several_models: bool = False
    model: str = "recommendations"
    several_runs: bool = False
    baseline_model: str | None = None
    checked: bool = False
    fuse: bool = True
    keeps: bool = True
    dialect: str = DIALECT
    stages: StageSource = NO_OTHER_STAGES
    context: Mapping[str, Any] = field(default_factory=dict)
    slices_of_rounds: Sequence[str] = ()
    _memo: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def shared(self) -> Planner:
        """Return a recent planner of this process that equals this one, with all its plans.

        A plan reads tables by name, so evaluators of other tables with the same columns can use it.
        """
        with _recent_lock:
            for planner in _recent:
                if planner == self:
                    return planner
            _recent.append(self)
            return self

    def once(self, key: Any, plan: Callable[[], _T]) -> _T:
        """Plan what `key` describes, or return the plan from the cache."""
        if key not in self._memo:
            self._memo[key] = plan()
        known: _T = self._memo[key]
        return known

    @property
    def keys(self) -> Keys:
        """Return the columns that identify lists and users."""
        users = tuple(self.user_keys)
        return Keys(
            users, self.several_models, self.model, self.dialect, self.several_runs,
            tuple(self.slices_of_rounds),
        )  # fmt: skip

    @property
    def home(self) -> str:
        """Return the table with a row per list and item, or per round."""
        return "logs" if self.user_keys[0] == ROUND else "recommendations"

    def keys_of_rows(self, table: str) -> list[str]:
        """Return the columns by which rows of a table of users belong to a list, or to a round.

        Raises:
            MissingTableError: the table has rows of rounds, but no column that identifies them.
        """
        keys = list(self.user_keys)
        if self.home != "logs":
            return keys
        if table != "logs":
            return [key for key in keys[1:] if key not in self.slices_of_rounds]
        self.inputs.require("logs", ROUND, "slices or clusters of rounds by a column of the logs")
        return [ROUND]

    @property
    def over_runs(self) -> Planner:
        """Return the planner of queries that read means over runs, without the column `run`."""
        return replace(self, several_runs=False) if self.several_runs else self

    @property
    def inputs(self) -> Inputs:
        """Return the tables and the queries that read them."""
        return Inputs(self.tables, self.keys)

    @property
    def has_rank(self) -> bool:
        """Return whether the lists have ranks."""
        return self.inputs.has("recommendations", "rank")

    # ---- plans ---------------------------------------------------------------------------------

    def stage(self, name: str, values: Mapping[str, Value], limit: int | None = None) -> Plan:
        """Plan the rows of a stage or input table; `limit` is the maximum number of rows."""
        node = self._whole(name, values)
        return Plan(self.rendered("look", {"looked_at": node}, names=node.columns, limit=limit))

    def some_row(self, name: str, values: Mapping[str, Value]) -> Plan:
        """Plan a query that returns one row if a stage or input table is not empty."""
        node = self._whole(name, values)
        return Plan(self.rendered("some_row", {"looked_at": node}, table=name))

    def found(self, checks: Mapping[str, Node]) -> Plan:
        """Plan the names of those of some queries that have rows."""
        return Plan(self.rendered("found", checks, checks=list(checks)))

    def found_by_model(self, query: Query) -> Plan:
        """Plan the number of rows of the query of a check per model, without its limit."""
        tree = query.tree.copy()
        for clause in ("order", "limit"):
            tree.set(clause, None)
        name = f"{query.name}_rows"
        rows = node_of(identity_of(name, query.key), name, tree, query.parents.values())
        return Plan(self.rendered("found_by_model", {"found_rows": rows}))

    def some_users(self, name: str, values: Mapping[str, Value], n_users: int) -> Plan:
        """Plan the rows of the first users of a stage or input table, in key order."""
        node = self._whole(name, values)
        return Plan(self.rendered("some_users", {"looked_at": node}, table=name, n_users=n_users))

    def _whole(self, name: str, values: Mapping[str, Value]) -> Query:
        return self.node(name, {**values, **cutoff_context([None])})

    def members(
        self, nodes: Sequence[Node], name: str, keys: Sequence[str], of_users: bool = True
    ) -> Node:
        """Plan the different users (or users and items) of some queries, by these keys."""
        sources = {f"members_{number}": node for number, node in enumerate(nodes, start=1)}
        return self.rendered(
            "members", sources, name=name, sources=list(sources), of_users=of_users,
            member_keys=[*map(identifier, keys)],
        )  # fmt: skip

    def check(self, check: Check, values: Mapping[str, Value]) -> Plan:
        """Plan the query of a check; without cutoffs in `values`, for whole lists.

        Checks for errors read the lists as given, including seen items.
        """
        known = self._values_of_check(check, values)
        return self.once(
            ("check", check.name, _settings(known)),
            lambda: Plan(self.bound(check.name, self.text(check, known), known)),
        )

    def applies(self, check: Check, values: Mapping[str, Value]) -> bool:
        """Return whether a check applies under these settings; see its `when`."""
        if not check.when:
            return True
        known = self._values_of_check(check, values)
        return self.once(
            ("applies", check.name, _settings(known)),
            lambda: is_true(check.when, self._names(known, Heard()), str(check.path)),
        )

    def _values_of_check(self, check: Check, values: Mapping[str, Value]) -> dict[str, Any]:
        known = {**cutoff_context([None]), **values}
        if not check.table or (check.at_the_door and check.table in RANKED):
            known = as_given(known)
        return without_credit(known)

    # ---- values of metrics ---------------------------------------------------------------------

    def queries(self, call: MetricCall) -> Queries:
        """Plan the queries of a metric call.

        Raises:
            MissingTableError: a required table or column was not given.
        """
        metric, values = call.metric, call.values
        of_users = metric.grain == "user"
        of_rounds = metric.grain == "round"
        is_weighted = of_users and values["aggregate"] == "weighted_mean"
        try:
            query = self.metric_query(metric, values)
            rows = metric.audience if of_rounds else "audience" if of_users else "models"
            everybody = self.stages.everybody(metric, values) or self.node(rows, values)
            defined = self.node(metric.defined_for, values) if metric.defined_for else None
            weights = self.node("user_weights", values) if is_weighted else None
            if of_rounds:
                _check_aggregate(call, query)
        except MissingTableError as error:
            over = metric.params.get("over")
            others = [] if over is None else [one for one in over.choices if one != values["over"]]
            instead = " or ".join(f"{metric.name}(over={other})" for other in others)
            raise error.of_metric(metric.name, instead) from None
        return Queries(call, query, everybody, defined, weights)

    def metric_query(self, metric: Metric, values: Mapping[str, Any]) -> Query:
        """Plan the query of a metric.

        Raises:
            TemplateError: the query does not return exactly the keys, k and value.
        """

        def plan() -> Query:
            query = self.bound(metric.name, self.text(metric, values), values)
            keys = self.keys
            expected = keys.values_of_models if metric.grain == "run" else keys.lists
            expected = [*expected, *(["k"] if metric.grain != "round" else []), "value"]
            more = {"run": ["standard_error"], "round": ["weight"]}.get(metric.grain, [])
            if query.columns not in (expected, [*expected, *more]):
                raise TemplateError(
                    f"{metric.path}: the query must return the columns {', '.join(expected)}, "
                    f"not {', '.join(query.columns)}",
                    remedy="select {{ keys }}, k and value: {{ keys }} are the columns of a list",
                )
            self.stages.check_metric(metric, query)
            return query

        return self.once(("metric", metric.name, _settings(values)), plan)

    def at_cutoffs(
        self, query: Query, values: Mapping[str, Any], ks: Sequence[int | None]
    ) -> Query:
        """Plan the query of a metric whose stages are repeated for every cutoff."""
        cutoffs = self.node("cutoffs", {**values, **cutoff_context(ks)})
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
                    several=len(ks) > 1,
                    names=parent.columns,
                    cutoff=parent.stage.cutoff,
                )
                table.set("this", exp.to_identifier(parent.key))
            parents[parent.key] = parent
        if not tree.comments:
            each = self.each(self.catalog.metrics[query.name])
            tree.add_comments([f" one row per {each}{' and cutoff' if len(ks) > 1 else ''} "])
        rows = node_of(identity_of(query.key, *parents), query.name, tree, parents.values())
        known = (
            {**values, CUTOFFS_OF_ROWS: tuple(ks)} if self._has_alternative(query.name) else None
        )
        return replace(rows, warnings=query.warnings, needs=query.needs, values=known)

    def each(self, metric: Metric) -> str:
        """Return what a row with a value of a metric stands for, for comments."""
        of_runs = " and run" if self.several_runs else ""
        return ("user" if metric.grain == "user" else "model") + of_runs

    def _has_alternative(self, name: str) -> bool:
        return any(alternative.name == name for alternative in self.catalog.alternatives)

    def has_planned(self, name: str) -> bool:
        """Return whether the query of a metric, stage or table was planned."""
        return any(name in (memo[0], memo[1]) for memo in self._memo)

    # ---- nodes ---------------------------------------------------------------------------------

    def node(self, name: str, values: Mapping[str, Any]) -> Query:
        """Plan a stage or an input table under the given settings.

        Raises:
            MissingTableError: the table was not given.
            TemplateError: no stage or table has this name.
        """
        return self.once(
            (name, _settings(values)),
            lambda: self.stages.node(self, name, values) or self._usual(name, values),
        )

    def _usual(self, name: str, values: Mapping[str, Any]) -> Query:
        inputs = self.inputs
        if name == "models" and "policy" in self.tables and "recommendations" not in self.tables:
            name = "policies"
        if name in self.catalog.stages:
            stage = self.catalog.stages[name]
            text = self.text(self._as_printed(name) or stage, values)
            stage = stage if self.keeps else replace(stage, keep=False)
            query = self.bound(name, text, values, stage)
            return replace(query, values=dict(values)) if self._has_alternative(name) else query
        if name in self.tables:
            return inputs.kept(
                inputs.rows(name, values), values, lambda table: self.node(table, values)
            )
        if name in ATTRIBUTES:
            inputs.require(*ATTRIBUTES[name])
            return inputs.rows(name, values)
        if name == UNREAD_RELEVANCE and "interactions" in self.tables:
            return inputs.unread_relevance()
        if name in TABLES:
            inputs.require(name, None)
        raise TemplateError(self._no_stage(name))

    def _no_stage(self, name: str) -> str:
        close = suggestion(name, [*self.catalog.stages, *TABLES])
        return f"there is no stage or table {name!r}{close} (`sqlmetrics list --stages` shows all)"

    def bound(
        self,
        name: str,
        text: Text,
        values: Mapping[str, Any],
        stage: Stage | None = None,
    ) -> Query:
        """Plan a query with the stages and tables that it reads under the same settings.

        Raises:
            MissingTableError: a table was not given.
            TemplateError: no stage or table has a name that the query reads.
        """
        names = tables_of(text)
        known = {*self.catalog.stages, *TABLES, *ATTRIBUTES, UNREAD_RELEVANCE}
        if unknown := [name for name in names if name not in known]:
            raise TemplateError(f"{text.where}: {self._no_stage(unknown[0])}")
        read = {table: self.node(table, values) for table in names}
        return bound(name, text, read, stage)

    def _as_printed(self, name: str) -> Alternative | None:
        """Return the alternative that the dialect needs for a stage or a template of results."""
        return next(
            (
                alternative
                for alternative in self.catalog.alternatives
                if alternative.name == name and self.dialect in alternative.printed_for
            ),
            None,
        )

    def text(self, template: Template, values: Mapping[str, Any]) -> Text:
        """Render a template under the given settings and cutoffs.

        Raises:
            MissingTableError: a required table or column was not given.
            TemplateError: the template cannot be rendered.
        """
        heard, where = Heard(), str(template.path)
        names = self._names(values, heard)
        if isinstance(template, Metric) and template.grain == "run":
            names["keys"], names["keys_of"] = names["model_keys"], names["model_keys_of"]
            names["same_keys"] = names["same_model_keys"]
        exact = template.exact if isinstance(template, Metric | Stage | Alternative) else ()
        sql = render(template.body, names, where)
        return Text(sql, where, tuple(heard.warnings), tuple(heard.needs), exact)

    def _names(self, values: Mapping[str, Any], heard: Heard) -> dict[str, Any]:
        names = TemplateNames(self.inputs, values, heard, self.checked, self.baseline_model)
        return {**values, **context_of(names), **self.context}

    def rendered(
        self,
        template: str,
        reads: Mapping[str, Node],
        name: str | None = None,
        often: bool = False,
        apart: bool = False,
        **context: Any,
    ) -> Node:
        """Plan a query that combines values.

        Args:
            template: a file of `sql_templates/results`, or of another folder: `report/histogram`.
            reads: the parents, by the names that the template uses.
            name: the name of the query; by default, that of the file.
            often: whether the query reads each parent more than once.
            apart: whether the query gets a separate statement.
            context: the variables of the template.
        """
        path = template if "/" in template else f"results/{template}"
        named = name or path.rpartition("/")[2]
        other = None if "/" in template else self._as_printed(template)
        if other is not None:
            path = other.template_path
        return Rendered.of(
            path, reads, named, keys=self.keys, context=context, often=often, apart=apart
        )


def as_given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings under which lists keep the items in the history and unjudged items."""
    return {**values, "drop_seen": "false", "unjudged": "nonrelevant"}


def without_credit(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings under which only rows of the interactions are relevant items."""
    credited = values["unjudged"] == "best"
    return {**values, **({"unjudged": "nonrelevant"} if credited else {})}


def _settings(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, str(value)) for name, value in values.items()))
