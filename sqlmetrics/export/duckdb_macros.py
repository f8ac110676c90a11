"""DuckDB table macros, one per metric, for tables that the caller names.

The body of a macro is the plan of the metric, as an evaluator plans it, with two differences. The
tables come from macros that read a table by name and add the optional columns that it lacks, since
only a call knows its columns. And the cutoffs are rows of a table made from the parameter `k`, not
columns: every metric is planned separately, and its stages are repeated for every cutoff.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlmetrics.errors import DataError, TemplateError, UsageError
from sqlmetrics.messages import TABLES, Message, Unfilled, filled, in_files, set_to
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import STANDARD, Convention
from sqlmetrics.metrics.front_matter import Check
from sqlmetrics.metrics.requests import MetricRequest, calls_of
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import MetricSpec, parse_spec, value_text
from sqlmetrics.plan.physical import physical
from sqlmetrics.plan.planner import Planner, StageSource
from sqlmetrics.plan.values import Wide, wide_tables
from sqlmetrics.sql import arithmetic
from sqlmetrics.sql.binding import Text, bound, input_node
from sqlmetrics.sql.query_graph import (
    DIALECT,
    Node,
    Plan,
    Query,
    Rendered,
    new_name,
    parse,
)
from sqlmetrics.sql.quoting import literal
from sqlmetrics.sql.template_names import Keys
from sqlmetrics.sql.templates import render_file
from sqlmetrics.stats.intervals import Interval
from sqlmetrics.tables.schema import ATTRIBUTES, Table
from sqlmetrics.version import __version__

DEFAULT_K = 10
_PREFIX = "sm_"
_MODEL = "recommendations"  # the name of the only model, for lists without a column model
_WIDTH = 100

# all columns of a table that queries read; missing columns are added when it is read
_COLUMNS = {
    "recommendations": ("model", "user_id", "item_id", "rank", "score"),
    "interactions": ("user_id", "item_id", "relevance"),
    "history": ("user_id", "item_id"),
    "items": (
        "item_id",
        "price",
        "category",
        "item_group",
        "group_target",
        "features",
        "propensity",
    ),
    "aspects": ("user_id", "item_id", "aspect"),
    "baseline": ("user_id", "item_id", "rank", "score"),
    "logs": ("user_id", "item_id", "reward", "propensity"),
}
# tables with one query that counts all violations of rules
_CHECKED_WHOLE = {
    "recommendations": "recommendation_totals",
    "interactions": "interaction_totals",
}
_RESULT = ("model", "metric", "k", "value", "n_users", "std", "ci_low", "ci_high")
_USER_RESULT = ("model", "user_id", "metric", "k", "value")

# value of the largest cutoff in templates, known only in a call of the macro. Where templates limit
# lists to it, whole lists are not limited; where they take the largest of several lengths, whole
# lists do not count.
_CUT_AT = (
    "(SELECT CASE WHEN count(*) = count(cutoffs.k) THEN max(cutoffs.k) ELSE 2147483647 END"
    " FROM cutoffs)"
)
_AT_LEAST = "(SELECT max(cutoffs.k) FROM cutoffs)"
_LARGEST_CUTOFF = dict.fromkeys(("positions", "harmonics", "repeated_aspects"), _AT_LEAST)

_HEADER = """\
sqlmetrics {version}: metrics of recommender systems as DuckDB table macros (1.4 or later).
Convention: {convention}{title}.{settings}

Written by `sqlmetrics macros`. In the DuckDB shell, `.read` this file; then
{examples}
Each macro takes the names of the tables that its metrics read.

Table names may be those of tables, views and files ('recs.parquet'), also 'schema.name', and
'"my.recs"' if the name itself has a dot or a quote. The tables have these columns:
    recommendations  user_id, item_id, and rank (1 is the top) or score (higher is better);
                     [model]: without it, the model is called {model}
    interactions     held-out interactions: user_id, item_id, [relevance] (default: 1)
    history          past interactions: user_id, item_id
    items            item_id, and what metrics read: price, category, item_group, features (a list)
    aspects          item_id, aspect, [user_id]: missing or NULL for aspects of all users
    baseline         lists to compare with: user_id, item_id, and rank or score
    logs             logged decisions: user_id, item_id, reward, [propensity]: without it, all
                     items of the logs are assumed to be equally likely
Other columns are ignored.

k is a cutoff or a list of cutoffs; NULL (the default of single metrics) is the whole list.
A result has one row per model, metric and cutoff: model, metric, k, value, n_users (users with a
value), std, and the confidence interval from ci_low to ci_high: value ± {z:.2f} standard errors.

Tables that would give wrong results cause an error that names the rule. One rule is not checked:
ids must have the same type in all tables. DuckDB treats 1 and '1' as equal, and fails if a text is
not a number. Cast such columns first.

DuckDB reads a file name with *, ? or [ as a pattern and reads the matching files, for example
part1.parquet for 'part[1].parquet'; rename such files. In a folder called COLUMN=VALUE, that value
replaces a column of the file; use a view over read_parquet(FILE, hive_partitioning = false).

Names that begin with sm_ are reserved for this script: do not use them for tables."""


@dataclass
class _ListReaders:
    """The macros that read lists, one per way to order lists without ranks."""

    convention: str = STANDARD
    bodies: dict[str, str] = field(default_factory=dict)  # text of a query -> name of its macro

    def name(self, values: Mapping[str, Any]) -> str:
        """Return the name of the macro that reads lists under these settings."""
        text = _text(
            "read_lists",
            model_name=_MODEL,
            convention=self.convention,
            ranks_count=values["ranks_count"],
            order=values["order_without_ranks"],
            ties=values["ties_without_ranks"],
            score_type=values["score_type"],
            in_bytes=lambda expression, is_text=False: expression,  # noqa: ARG005
        )
        first = "sm_read_lists"
        number = len(self.bodies) + 1
        return self.bodies.setdefault(text, first if number == 1 else f"{first}_{number}")


class _MacroStages(StageSource):
    """Reads tables and cutoffs from the parameters of a macro.

    Args:
        readers: the macros that read lists.
        needs_relevance: whether the macro rejects interactions without relevance.
    """

    knows_cutoffs = False

    def __init__(self, readers: _ListReaders, needs_relevance: bool = False) -> None:
        self.readers = readers
        self.needs_relevance = needs_relevance

    def node(self, planner: Planner, name: str, values: Mapping[str, Any]) -> Query | None:
        """Plan the reading of a table by name, or a stage for unknown cutoffs."""
        if name in planner.tables:
            rows = self._table(name, values)
            return planner.inputs.kept(rows, values, lambda table: planner.node(table, values))
        if name in ATTRIBUTES:
            return input_node(name, _text(name), ATTRIBUTES[name][0])
        if name == "cutoffs":
            stage = planner.catalog.stages[name]
            text = Text(_text("cutoffs"), "duckdb_macros/cutoffs")
            return bound(name, text, {}, replace(stage, keep=False))
        if name in planner.catalog.stages:
            largest = _LARGEST_CUTOFF.get(name, _CUT_AT)
            return planner.stage_node(name, values, {"max_cutoff": largest})
        return None

    def _table(self, name: str, values: Mapping[str, Any]) -> Query:
        """Plan the reading of a table whose name is a parameter of the macro."""
        of_rows = {column for owner, column in ATTRIBUTES.values() if owner == name}
        columns = {column: column for column in _COLUMNS[name] if column not in of_rows}
        if values["order"] == "score" and name == "recommendations":
            columns |= {"score": "ordered_by"}
            del columns["rank"]
        needs = self.needs_relevance or _is_above_one(values)
        source = {
            "interactions": f"sm_read_interactions(interactions, {literal(needs).upper()})",
            "history": "query_table(history)",
            "items": "sm_read_items(items)",
            "aspects": "sm_read_aspects(aspects, interactions)",
            "logs": "sm_read_logs(logs)",
        }.get(name) or f"{self.readers.name(values)}({name})"
        text = _text("table", table=name, source=source, renamed=columns)
        return input_node(name, text, name)


def _shell(template: str, reads: Mapping[str, Node], name: str = "", **context: Any) -> Node:
    """Plan a query of sql_templates/duckdb_macros."""
    return Rendered.of(
        f"duckdb_macros/{template}",
        reads,
        name or template,
        keys=Keys(several_models=True),
        context=context,
    )


def _is_above_one(values: Mapping[str, Any]) -> bool:
    """Return whether a threshold excludes all interactions without relevance, which count as 1."""
    return values["relevant_from"] is not None and values["relevant_from"] > 1


def _text(template: str, **context: Any) -> str:
    """Render a template of sql_templates/duckdb_macros that reads no other query."""
    return render_file(f"duckdb_macros/{template}", context)


# ---- from metrics to macro bodies ---------------------------------------------------------------


@dataclass(frozen=True)
class _Body:
    """The query of a macro, and the tables whose names are its parameters."""

    text: str
    tables: tuple[str, ...]


@dataclass
class _Bodies:
    """Plans the queries of macros under a convention."""

    catalog: Catalog
    settings: Settings
    fallback: Settings | None
    readers: _ListReaders
    planners: dict[bool, Planner] = field(default_factory=dict)

    def request(self, spec: MetricSpec) -> MetricRequest:
        """Resolve a metric; lists are ordered by rank if the table has such a column.

        Raises:
            UsageError: the convention does not have the metric, or macros do not support a setting.
        """
        metric, _ = self.catalog.metric(spec.metric)
        chosen = self.settings
        if not chosen.covers(metric.name):
            if self.fallback is None or not self.fallback.covers(metric.name):
                raise UsageError(f"{chosen.convention.name} does not have this metric")
            chosen = self.fallback
        request = replace(chosen.request(spec, has_rank=True), k=None)
        values = request.values
        if values["masked_scores"] == "drop":
            raise UsageError(
                "masked_scores=drop is not supported: a macro ranks all rows of a table; remove "
                "rows with a score of minus infinity, e.g. with a view"
            )
        ranks_count = values["order"] == "rank"
        for name in ("order", "ties"):
            if values[name] in ("row", "row_reversed") and not ranks_count:
                raise UsageError(
                    f"{name}={values[name]} is not supported: tables have no order of rows"
                )
        if values["unjudged"] != "nonrelevant":
            raise UsageError(
                f"unjudged={values['unjudged']} is not supported: a macro ranks lists before it "
                "reads the interactions; use the printed statement"
            )
        if metric.grain == "user" and values["aggregate"] == "weighted_mean":
            raise UsageError(
                "aggregate=weighted_mean is not supported: a macro reads no table of users; use "
                "the printed statement"
            )
        if values["ties"] in ("worst", "best", "average"):
            raise UsageError(
                f"ties={values['ties']} is not supported: a macro ranks lists before it reads the "
                "interactions; use the printed statement"
            )
        known = {
            **values,
            "ranks_count": ranks_count,
            "order_without_ranks": chosen.request(spec).values["order"],
            "ties_without_ranks": values["ties"],
        }
        request = replace(request, values=known)
        (call,) = calls_of([request])
        # what is compared with judgements are scores where there are no ranks, ties and all
        nodes = self._planner().queries(call).nodes
        if nodes.keys() & {"predictions", "probabilities"}:
            raise UsageError(
                f"{spec.metric} is not supported: a macro reads the ranks of lists that have both "
                "ranks and scores, but this metric needs the scores; use the printed statement"
            )
        if nodes.keys() & {"matched", "labelled_items"}:
            ties = (
                "item_asc" if known["ties"] in ("row", "row_reversed") else known["ties"]
            )  # of ranks, there are none
            request = replace(request, values={**known, "order": "score", "ties": ties})
        return request

    def _planner(self, needs_relevance: bool = False) -> Planner:
        """Return the planner of all macros: it plans the stages that they share once."""
        if needs_relevance not in self.planners:
            self.planners[needs_relevance] = self._new_planner(needs_relevance)
        return self.planners[needs_relevance]

    def _new_planner(self, needs_relevance: bool) -> Planner:
        tables = {
            name: Table(name, (), dict.fromkeys(columns, "DOUBLE"))
            for name, columns in _COLUMNS.items()
        }
        return Planner(
            self.catalog,
            tables,
            several_models=True,
            checked=True,
            fuse=False,
            keeps=False,
            stages=_MacroStages(self.readers, needs_relevance),
            # rows are separated by rank, because cutoffs are unknown
            context={"smallest_cutoff": lambda rank, cutoffs: rank},  # noqa: ARG005
        )

    def body(self, requests: Sequence[MetricRequest], per_user: bool = False) -> _Body:
        """Plan the values of metrics: rows of a summary, or per user."""
        planner, z = self._planner(), Interval().z
        queries = map(planner.queries, calls_of(requests))
        read = (node for of_call in queries for node in of_call.nodes.values())
        if any(("interactions", "relevance") in node.needs for node in read):
            planner = self._planner(needs_relevance=True)
        wide = wide_tables(planner, requests)
        rows: list[dict[str, Any]] = []
        reads: dict[str, Node] = {}
        tables: dict[str, tuple[str, dict[str, str]]] = {}  # alias and columns of each wide table
        for name, table in wide.tables.items():
            values, names = self._values(planner, wide, name)
            node = values
            if table.grain == "user" and not per_user:
                columns = [
                    {**vars(column), "name": names[column.name]}
                    for column in table.columns
                    if column.part == "value"
                ]
                node = _shell("totals", {"user_values": values}, columns=columns, z=z)
            alias = new_name(node.name, reads)
            reads[alias] = node
            tables[name] = alias, names
        for position, request in enumerate(requests, start=1):
            home, column = wide.home(request)
            alias, names = tables[home]
            rows.append(
                {
                    **vars(column),
                    "name": names[column.name],
                    "standard_error": names.get(column.standard_error, ""),
                    "metric": request.name,
                    "position": position,
                    "table": alias,
                }
            )
        template = "user_rows" if per_user else "summary_rows"
        result_rows = _shell(template, reads, rows=rows, z=z)
        result = _shell(
            "result",
            {"result_rows": result_rows, "soundness": _soundness(planner, requests)},
            names=_USER_RESULT if per_user else _RESULT,
            sorted_by=["model", *(["user_id"] if per_user else []), "position", "k"],
        )
        return _printed(physical(planner, Plan(result)))

    def _values(self, planner: Planner, wide: Wide, name: str) -> tuple[Node, dict[str, str]]:
        """Plan the values of users (or models) at every cutoff, and return the column names."""
        table = wide.tables[name]
        filled = table.node
        assert isinstance(filled, Rendered)
        names = {
            column.name: re.sub(r"_all(?=_standard_error$|_[0-9]+$|$)", "", column.name)
            for column in table.columns
        }
        reads = {alias: filled.parents[key] for alias, key in filled.aliases.items()}
        sources = list(dict.fromkeys(column.source for column in table.columns))
        for source in sources:  # rows of all cutoffs, before they are pivoted
            (reads[source],) = reads[source].parents.values()
        node = _shell(
            "values_at_cutoffs",
            {**reads, "cutoffs": planner.node("cutoffs", table.values)},
            name="user_values" if table.grain == "user" else "model_values",
            grain=table.grain,
            columns=[{**vars(column), "name": names[column.name]} for column in table.columns],
            sources=sources,
            defined=list(dict.fromkeys(c.defined for c in table.columns if c.defined)),
        )
        return node, names


# ---- rules for tables ---------------------------------------------------------------------------


@dataclass
class _Rules:
    """Rules for tables, and the queries that count violations."""

    planner: Planner
    rules: dict[str, dict[str, str]] = field(default_factory=dict)
    counts: dict[str, Node] = field(default_factory=dict)

    def source(self, node: Node) -> str:
        """Return the name of a one-row query with counts for rules."""
        same = (alias for alias, known in self.counts.items() if known.key == node.key)
        alias = next(same, None) or new_name(node.name, self.counts)
        self.counts[alias] = node
        return alias

    def add(self, broken: str, message: str) -> None:
        """Add a rule: the condition of a violation, and the SQL expression of its message."""
        self.rules.setdefault(broken, {"broken": broken, "message": message})

    def check(self, check: Check, values: Mapping[str, Any], source: str) -> None:
        """Add the rule of a check whose rows are counted in a query."""
        count = f"{source}.{check.count or 'n_found'}"
        numbers = {"n": count, "rows": f"{source}.n_rows", "lists": f"{source}.n_lists"}
        table, column = (text.format_map(values) for text in (check.table, check.column))
        where = f"{table}, column {column}" if column else table
        known = Unfilled(models_in_files="")  # macros read a table, not files
        problem, remedy = (filled(text, known) for text in (check.found, check.remedy))
        text = Message(f"{where}: ", problem, ". What to do: ", remedy, ".").spelled(in_files)
        parts = re.split(r"\{(n|rows|lists)\}", text)
        message = " || ".join(
            numbers[part] if place % 2 else literal(part)
            for place, part in enumerate(parts)
            if part
        )
        self.add(f"{count} > 0", message)


def _empty(table: str) -> str:
    more = ", or no user has an item of it" if table == "aspects" else ""
    return f"{table}: the table is empty{more}"


def _soundness(planner: Planner, requests: Sequence[MetricRequest]) -> Node:
    """Plan the checks of the tables that these metrics read, as an evaluator does."""
    rules, checks = _Rules(planner), planner.catalog.checks
    for call in calls_of(requests):
        nodes = planner.queries(call).nodes
        ranks_count = call.values["ranks_count"]
        values = {**call.values, "order": "rank" if ranks_count else "score"}
        read = {node.table for node in nodes.values() if isinstance(node, Query) and node.is_input}
        for table, totals in _CHECKED_WHOLE.items():
            if table in read:
                source = rules.source(planner.check(checks[totals], values).root)
                rules.add(f"{source}.n_rows = 0", literal(_empty(table)))
                for check in checks.values():
                    if check.table == table and check.count:
                        rules.check(check, values, source)
        if {"recommendations", "interactions"} <= read:
            source = rules.source(planner.check(checks["common_users"], values).root)
            rules.add(
                f"{source}.n_common = 0",
                literal(
                    "recommendations and interactions have no user in common; check that their ids "
                    "match"
                ),
            )
        for node in nodes.values():
            if isinstance(node, Query) and node.is_input and node.table not in _CHECKED_WHOLE:
                query = _shell("found", {"broken": node}, f"{node.name}_rows", counted=False)
                rules.add(f"{rules.source(query)}.n_found = 0", literal(_empty(node.table)))
        for check in checks.values():
            if nodes.keys() & set(check.on):
                broken = planner.check(check, values).root
                query = _shell(
                    "found",
                    {"broken": broken},
                    name=f"{check.name}_found",
                    counted="{n}" in check.found,
                )
                rules.check(check, values, rules.source(query))
    return _shell(
        "soundness", rules.counts, rules=list(rules.rules.values()), counts=list(rules.counts)
    )


# ---- from plans to text -------------------------------------------------------------------------


def _printed(plan: Plan) -> _Body:
    """Print a plan as the body of a macro.

    Raises:
        TemplateError: an unqualified column has the name of a parameter.
    """
    inputs = [node for node in plan.nodes() if isinstance(node, Query) and node.is_input]
    read = {node.table for node in inputs}
    read |= {"interactions"} if "aspects" in read else set()
    tables = tuple(name for name in TABLES if name in read)
    tree = parse(plan.statement(), "a macro")
    _keep_from_parameters(tree, {*tables, "k"})
    _keep_from_tables(tree)
    for logarithm in list(tree.find_all(exp.Log)):  # reparsed, it would be another function
        arithmetic.native_log2(logarithm)
    text = tree.sql(DIALECT, pretty=True, normalize_functions="lower")
    return _Body(_laid_out(text), tables)


def _laid_out(text: str) -> str:
    """Start every query of a body on a new line, below its comments."""

    def lines(match: re.Match[str]) -> str:
        indent, name, comments = match["indent"], match["name"] or "", match["comments"] or ""
        said = [f"{indent}-- {part}" for part in re.findall(r"/\* (.*?) \*/", comments)]
        return "\n".join(
            [*([f"{indent}),", ""] if name else []), *said, *([f"{indent}{name}"] if name else [])]
        )

    comments = r"(?P<comments>(?: ?/\* .*? \*/)+)"
    text = re.sub(rf"^(?P<indent> *)(?P<name>){comments}$", lines, text, flags=re.MULTILINE)
    query = rf"^(?P<indent> *)\), (?P<name>\w+){comments}?(?= AS )"
    return re.sub(query, lines, text, flags=re.MULTILINE)


def _keep_from_parameters(tree: exp.Expr, parameters: set[str]) -> None:
    """Qualify every column that has the name of a parameter, which would replace it."""
    for column in tree.find_all(exp.Column):
        if column.table or column.name not in parameters:
            continue
        inside = column.find_ancestor(exp.Table, exp.Select)
        if isinstance(inside, exp.Table):  # the argument of a function that reads a table
            continue
        origin = inside.args.get("from_") if isinstance(inside, exp.Select) else None
        if origin is None or inside is None or inside.args.get("joins"):
            raise TemplateError(f"{column.name} is a parameter of the macro: write TABLE.{column}")
        column.set("table", exp.to_identifier(origin.this.alias_or_name))


def _keep_from_tables(tree: exp.Expr) -> None:
    """Prefix the names of queries with sm_, because they would hide tables of the same names."""
    clause = tree.args["with_"]
    names = {query.alias for query in clause.expressions}
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier) or table.name not in names:
            continue
        inner = [
            query.alias
            for ancestor in _ancestors(table)
            if ancestor.args.get("with_") not in (None, clause)
            for query in ancestor.args["with_"].expressions
        ]
        if table.name not in inner:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(_PREFIX + table.name))
    for query in clause.expressions:
        query.set("alias", exp.TableAlias(this=exp.to_identifier(_PREFIX + query.alias)))


def _ancestors(node: exp.Expr) -> Iterator[exp.Expr]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


# ---- the script ---------------------------------------------------------------------------------


def script(
    convention: str | Path = STANDARD,
    settings: Mapping[str, Any] | None = None,
    fallback: str | Path | None = None,
    templates: Iterable[str | Path] = (),
    metrics: Iterable[str] = (),
) -> str:
    """Return the SQL script of the macros under a convention.

    Args:
        convention: the name of a convention, or the path of a TOML file.
        settings: settings that differ from the convention: `{"ties": "item_desc"}`, or for one
            metric `{"map.divisor": "k"}`.
        fallback: the convention of metrics that the first one lacks; without it, these metrics are
            omitted.
        templates: folders with user-defined metrics.
        metrics: the metrics to write macros for, with `sm_evaluate` for all of them; by default,
            every metric, with `sm_evaluate` for the default set.

    Raises:
        UsageError: an unknown convention, setting, value or metric, or no metric remains.
    """
    catalog, given = Catalog.load(templates), settings or {}
    chosen = Settings(catalog, Convention.load(convention), given)
    other = None if fallback is None else Settings(catalog, Convention.load(fallback), given)
    readers = _ListReaders(chosen.convention.name)
    bodies = _Bodies(catalog, chosen, other, readers)
    macros: list[str] = []
    left_out: dict[str, str] = {}
    requests: dict[str, MetricRequest] = {}
    bodies_of: dict[str, _Body] = {}
    named = [_plain_name(catalog, metric) for metric in metrics]
    for name, spec in {name: MetricSpec(name) for name in named or _all_names(catalog)}.items():
        try:
            request = bodies.request(spec)
            if name in catalog.aliases and name not in named and not request.spec.params:
                continue  # an alias, not another metric
            body = bodies.body([request])
        except (UsageError, DataError) as error:  # templates reject settings with either error
            if named:
                raise UsageError(f"{name}: ", error) from error
            left_out[name] = error.message.spelled(in_files)
            continue
        requests[name], bodies_of[name] = request, body
        macros.append(_macro(name, body, None, _about(request)))
    if not requests:
        name, why = next(iter(left_out.items()))
        raise UsageError(f"no metric can be written as a macro; {name}: {why}")
    examples: list[str] = []
    default = [requests[name] for name in named or catalog.default_set() if name in requests]
    default_set = ", ".join(request.name for request in default)
    if default:
        about = f"{'These metrics' if named else 'The default set'}: {default_set}."
        body = bodies.body(default)
        macros.insert(0, _macro("evaluate", body, DEFAULT_K, about))
        computes = textwrap.indent(textwrap.fill(default_set, _WIDTH - 12), " " * 8)
        examples += [_example("evaluate", body, "[5, 10]"), computes]
    of_users = [request for request in default if request.metric.grain == "user"]
    if of_users:
        about = "The same metrics per user: one row per model, user, metric and cutoff."
        body = bodies.body(of_users, per_user=True)
        macros.insert(1, _macro("per_user", body, DEFAULT_K, about))
    example = "ndcg" if "ndcg" in requests else next(iter(requests))
    examples += [_example(example, bodies_of[example], "10"), "        one metric"]
    header = _HEADER.format(
        version=__version__,
        convention=chosen.convention.name,
        title=f" ({chosen.convention.title})" if chosen.convention.title else "",
        settings="".join(f"\nWith {name}={_value_text(v)}." for name, v in given.items()),
        examples="\n".join(examples),
        model=_MODEL,
        z=Interval().z,
    )
    for name, why in left_out.items():
        macros.append(_comment(f"{_PREFIX}{name} is omitted: {why}"))
    return "\n\n".join([_comment(header), *_reading(readers), *macros]) + "\n"


def _all_names(catalog: Catalog) -> list[str]:
    """Return all metric names, and the aliases that fix some of their settings."""
    return [
        name
        for metric in catalog.metrics.values()
        for name in (metric.name, *(alias for alias, fixed in metric.aliases.items() if fixed))
    ]


def _plain_name(catalog: Catalog, text: str) -> str:
    """Parse the name of a metric for a macro, which takes its cutoffs when it is called."""
    spec = parse_spec(text)
    catalog.metric(spec.metric)
    if spec.params or spec.cutoff is not None:
        raise UsageError(
            f"{text}: name a macro by the metric alone: {spec.metric}; pass its cutoffs when "
            "you call it (k := 10), its settings with ",
            set_to(f"{spec.metric}.NAME"),
        )
    return spec.metric.lower()


def _example(name: str, body: _Body, k: str) -> str:
    names = {"recommendations": "recs", "interactions": "truth"}
    tables = "".join(f"'{names.get(table, table)}', " for table in body.tables)
    return f"    FROM {_PREFIX}{name}({tables}k := {k});"


def _about(request: MetricRequest) -> str:
    metric = request.metric
    lines = [metric.title if not request.spec.params else f"{metric.title}: {request.name}"]
    lines += [f"Formula: {metric.formula}."] if metric.formula else []
    lines += [f"Undefined: {metric.undefined}."] if metric.undefined else []
    lines += [f"Source: {metric.cite}."] if metric.cite else []
    return "\n".join(lines)


def _macro(name: str, body: _Body, k: int | None, about: str) -> str:
    """Return the statement that creates a macro, with a comment."""
    parameters = ", ".join([*body.tables, f"k := {literal(k)}"])
    return _statement(f"{_PREFIX}{name}({parameters})", body.text, about)


def _statement(signature: str, text: str, about: str) -> str:
    return f"{_comment(about)}\nCREATE OR REPLACE MACRO {signature} AS TABLE\n{text};"


def _reading(readers: _ListReaders) -> Iterator[str]:
    """Yield the macros that read tables, which other macros call."""
    for text, name in readers.bodies.items():
        about = "Ranked lists: model, user, item, rank and score of every row."
        yield _statement(f"{name}(lists)", text, about)
    for signature, template, about in (
        ("interactions(truth, needs_relevance)", "read_interactions", "Held-out interactions."),
        ("items(attributes)", "read_items", "Attributes of items."),
        ("aspects(aspect_table, truth)", "read_aspects", "Aspects of items for every user."),
        ("logs(decisions)", "read_logs", "Logged decisions."),
        ("cutoffs(cutoffs)", "read_cutoffs", "Cutoffs of k, a number or a list of numbers."),
    ):
        yield _statement(f"sm_read_{signature}", _text(template), about)


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else value_text(value)


def _comment(text: str) -> str:
    """Return a text as comment lines; wrapped lines are aligned with their text."""
    lines = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(
            line, _WIDTH - 3, subsequent_indent=indent, break_long_words=False
        ) or [""]
    return "\n".join(f"-- {line}".rstrip() for line in lines)
