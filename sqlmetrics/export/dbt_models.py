"""Create dbt models from the queries of a plan, and dbt tests from their checks."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sqlmetrics.checks.validate import TOTALS, planned_checks
from sqlmetrics.describe.column_docs import description
from sqlmetrics.export.statements import about
from sqlmetrics.metrics.front_matter import Check, Metric
from sqlmetrics.metrics.spec import value_text
from sqlmetrics.plan.request import Reads, reads_of, slices_of
from sqlmetrics.plan.results import Results
from sqlmetrics.plan.values import Column
from sqlmetrics.sql import transpile
from sqlmetrics.sql.dialects import settings
from sqlmetrics.sql.layout import indented
from sqlmetrics.sql.query_graph import (
    Node,
    Plan,
    Query,
    Rendered,
    new_name,
    parse,
)
from sqlmetrics.sql.quoting import identifier, literal
from sqlmetrics.sql.statement import query
from sqlmetrics.texts.messages import Unfilled, filled, in_files

_ROUNDING = 1e-9  # tolerance for values at the ends of their range


@dataclass(frozen=True)
class ModelColumn:
    """A column of a model."""

    name: str
    description: str
    not_null: bool = False


@dataclass(frozen=True)
class Model:
    """A model of a package, for one query of a plan."""

    name: str
    folder: str
    sql: str
    description: str
    columns: Sequence[ModelColumn]
    is_table: bool
    unique: Sequence[str] = ()

    @property
    def path(self) -> str:
        """Return the path of the file in the package."""
        return f"models/{self.folder}/{self.name}.sql"


@dataclass(frozen=True)
class DataTest:
    """A query for rows that violate a rule."""

    name: str
    finds: str
    sql: str

    @property
    def path(self) -> str:
        """Return the path of the file in the package."""
        return f"tests/{self.name}.sql"


@dataclass
class Maker:
    """Creates the models and tests of a package."""

    results: Results
    dialect: str
    name: str
    _references: dict[str, str] = field(default_factory=dict)  # identity of a node -> reference
    _given: set[str] = field(default_factory=set)  # references that the user gave for tables

    def models(self, plans: Sequence[Plan]) -> list[Model]:
        """Create a model for every query of the plans, parents first."""
        nodes = {node.key: node for plan in plans for node in plan.nodes()}
        names: dict[str, str] = {}
        for key, node in nodes.items():
            wanted = re.sub(r"[^a-z0-9]+", "_", f"{self.name}_{node.name}".lower()).strip("_")
            names[key] = new_name(wanted, names.values())
        self._references = {key: _reference(name) for key, name in names.items()}
        for node in nodes.values():
            if isinstance(node, Query) and node.is_input:
                tables = transpile.compiled(node.tree.copy(), self.dialect).find_all(exp.Table)
                self._given |= {table.name for table in tables if isinstance(table.this, exp.Var)}
        several = {node.key for node in plans[0].barriers()}  # kept, or read by several tables
        return [self._model(node, names[key], plans, several) for key, node in nodes.items()]

    def _model(
        self, node: Node, name: str, plans: Sequence[Plan], several: Collection[str]
    ) -> Model:
        wide = _wide_columns(node)
        is_result = wide is not None or any(node is plan.root for plan in plans)
        is_table_given = node.is_input or (isinstance(node, Query) and bool(node.table))
        folder = (
            "results" if is_result else "inputs" if is_table_given
            else "stages" if node.stage is not None else "values"
        )  # fmt: skip
        is_table = node.key in several or wide is not None or node is plans[0].root
        columns = _columns_of(node)
        keys = self._keys(node, columns, wide)
        ours = self._meanings(node, wide)
        return Model(
            name,
            folder,
            self._escaped(
                query(node.named(self._references), self.dialect, node.is_input),
                with_settings=True,
            ),
            self._description(node, plans[0]),
            [
                ModelColumn(column, ours.get(column) or self._meaning(node, column),
                        not_null=is_table and column in keys)
                for column in columns
            ],
            is_table,
            unique=self._unique(node, columns, keys, plans[0]),
        )  # fmt: skip

    def _keys(
        self, node: Node, columns: Sequence[str], wide: Sequence[Column] | None
    ) -> Sequence[str]:
        """Return the columns that identify a row and are never NULL."""
        if wide is not None:
            return [column for column in columns if column not in {value.name for value in wide}]
        if node.stage is not None:
            known = {*self.results.planner.user_keys, "item_id", "model"}
            return [column for column in columns if column in known]
        return ["metric"] if "metric" in columns else []

    def _unique(
        self, node: Node, columns: Sequence[str], keys: Sequence[str], summary: Plan
    ) -> list[str]:
        if node.stage is not None and node.stage.unique:
            users = self.results.of_users_planner.user_keys
            named = [
                column
                for entry in node.stage.unique
                for column in (users if entry == "user" else [entry])
            ]
            return [column for column in columns if column in named]
        if node is summary.root:
            return list(columns[: columns.index("k") + 1])
        return list(keys) if _wide_columns(node) is not None else []

    def _meaning(self, node: Node, column: str) -> str:
        """Return the description of a column of any model."""
        if column in self.results.planner.user_keys:
            several = len(self.results.planner.user_keys) > 1
            return "part of the user key" if several else "the user"
        if any(column == slice_.name for slice_ in self.results.slice_columns):
            return "the slice; (all) stands for all values"
        return description(node, column)

    def _meanings(self, node: Node, wide: Sequence[Column] | None) -> dict[str, str]:
        """Return the descriptions of the columns with metrics."""
        metrics = {request.name: request.metric for request in self.results.requests}
        if wide is not None:
            return {
                column.name: _about(column, metrics[column.metric])
                for column in wide
                if column.metric in metrics
            }
        if node.name == "summary":
            abouts = [f"{name}: {_sources(metric)}" for name, metric in metrics.items()]
            return {
                "metric": "the metric, with the settings given for it.\n" + "\n".join(abouts),
                "value": "the mean of the per-user values, or the value of the whole run",
                "n_users": "number of users for whom the metric is defined",
            }
        return {}

    def _description(self, node: Node, summary: Plan) -> str:
        if node is summary.root:
            of_slices = {
                column.column: f"slice of {'users' if column.table == 'slice_names' else 'items'}"
                for column in self.results.slice_columns
            }
            groups = list(dict.fromkeys(of_slices.get(name, name) for name in self.results.groups))
            groups += ["convention"] * self.results.with_convention
            return f"the result: one row per {', '.join([*groups, 'metric'])} and cutoff"
        if node.stage is not None:
            return node.stage.title
        return _row_comment(node)

    # ---- tests ---------------------------------------------------------------------------------

    def unique_tests(self, models: Iterable[Model]) -> Iterator[DataTest]:
        """Create a uniqueness test for every model with unique columns."""
        for model in models:
            if model.unique:
                columns = ", ".join(map(identifier, model.unique))
                relation = identifier(_reference(model.name))
                yield DataTest(
                    f"{model.name}_unique",
                    f"rows of {model.name} with the same {', '.join(model.unique)}",
                    self._printed(
                        f"-- one row per {', '.join(model.unique)} that occurs more than once\n"
                        f"SELECT {columns}, count(*) AS n_rows FROM {relation} "
                        f"GROUP BY {columns} HAVING count(*) > 1"
                    ),
                )

    def range_tests(self) -> Iterator[DataTest]:
        """Create a test for every range of metric values."""
        ranges: dict[tuple[float, float], list[str]] = {}
        for request in self.results.requests:
            bounds = request.metric.range
            if bounds is not None and request.values["aggregate"] not in ("half_width", "sum"):
                names = ranges.setdefault(bounds, [])
                names += [request.name] if request.name not in names else []
        summary = f"{self.name}_summary"
        for (low, high), names in ranges.items():
            bounds_text = f"{value_text(low)} to {value_text(high)}"
            ending = re.sub(r"[^a-z0-9]+", "_", bounds_text.replace("-", "minus "))
            relation = identifier(_reference(summary))
            yield DataTest(
                f"{summary}_from_{ending}",
                f"values of {', '.join(names)} outside {bounds_text}",
                self._printed(
                    f"-- one row per value outside {bounds_text}\n"
                    f"SELECT metric, k, value FROM {relation} "
                    f"WHERE metric IN ({', '.join(map(literal, names))}) "
                    f"AND NOT (value >= {literal(low - _ROUNDING)} "
                    f"AND value <= {literal(high + _ROUNDING)})"
                ),
            )

    def checks(self) -> Iterator[DataTest]:
        """Create tests for the rules that sqlmetrics checks before it computes anything."""
        slices = slices_of(self.results.slicing)
        reads = [
            *reads_of(self.results.planner, self.results.requests),
            *(sliced.reads for sliced in slices if sliced.reads is not None),
        ]
        done: dict[str, str] = {}
        for check, plan in itertools.chain.from_iterable(map(self._checks, reads)):
            if plan.root.key not in done and not _is_never(plan):
                name = done[plan.root.key] = new_name(f"{self.name}_{check.name}", done.values())
                yield self._check_test(name, check, plan)
        for sliced in slices:
            if sliced.uneven is not None:
                column = sliced.attribute.name
                wanted = re.sub(r"[^a-z0-9]+", "_", f"{column}_uneven".lower()).strip("_")
                name = done[column] = new_name(f"{self.name}_{wanted}", done.values())
                finds = f"users with several values of {column}"
                yield DataTest(name, finds, self._statement(sliced.uneven, [finds]))

    def _checks(self, reads: Reads) -> Iterator[tuple[Check, Plan]]:
        planner, values = self.results.planner, reads.values
        planner = planner.stages.of_checks(planner)
        checks = planner.catalog.checks
        inputs = {node.name for node in reads.nodes.values() if node.is_input}
        for check in checks.values():
            if check.name == "common_users" and set(TOTALS) <= inputs:
                yield check, planner.check(check, values)
            if check.count and check.table in inputs:
                totals = checks.get(TOTALS.get(check.table, ""))
                if totals is not None and _counts(planner.check(totals, values), check.count):
                    yield check, planner.check(check, values)
        yield from planned_checks(planner, values, reads.nodes)

    def _check_test(self, name: str, check: Check, plan: Plan) -> DataTest:
        if check.name == "common_users":
            finds = "recommendations and interactions without a user in common"
            inner = indented(self._statement(plan, []), "  ", self.dialect)
            sql = f"SELECT n_common\nFROM (\n  {inner}\n) AS counted\nWHERE n_common = 0"
            return DataTest(name, finds, f"/* {finds} */\n{sql}")
        finds = f"{check.table}: {check.title}"
        # models read tables, not files, and are not told to trust them
        known = Unfilled(models_in_files="", or_models="", or_trust="")
        remedy = filled(check.remedy, known).spelled(in_files)
        comments = [finds, f"what to do: {remedy}"]
        return DataTest(name, finds, self._statement(_all_rows(plan), comments))

    # ---- text ----------------------------------------------------------------------------------

    def _printed(self, text: str) -> str:
        sql = transpile.printed(parse(text, "a test of the package"), self.dialect)
        return self._escaped(sql, with_settings=True)

    def _statement(self, plan: Plan, comments: Sequence[str]) -> str:
        """Print a query over the models of the package; inline queries that are not models."""
        lines = [f"/* {comment} */" for comment in comments]
        sql = plan.statement(self._references, dialect=self.dialect)
        return "\n".join([*map(escaped, lines), self._escaped(sql)])

    def _escaped(self, sql: str, with_settings: bool = False) -> str:
        """Escape a query for dbt's Jinja, except the references to models and tables."""
        if with_settings:
            sql = "\n".join(filter(None, [sql, settings(self.dialect)]))
        known = {*self._references.values(), *self._given}
        pattern = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        parts = re.split(f"({pattern})", sql)
        return "".join(part if part in known else escaped(part) for part in parts)


def _reference(model: str) -> str:
    """Return the reference to a model of the package.

    `dbt run --empty` would add an alias to a `ref` without `render()`, before the alias of the
    query. The inputs of the package are empty then; the models that read them have no rows, either.
    """
    return f"{{{{ ref('{model}').render() }}}}"


def escaped(text: str) -> str:
    """Escape a text so that Jinja renders it unchanged."""
    return re.sub(r"\{[{%#]", lambda match: f"{{{{ '{match[0]}' }}}}", text)


def _wide_columns(node: Node) -> Sequence[Column] | None:
    """Return the columns of a wide table of values; None for other nodes."""
    if isinstance(node, Rendered) and node.template == "results/filled":
        columns: Sequence[Column] = node.context["columns"]
        return columns
    return None


def _columns_of(node: Node) -> list[str]:
    tree = node.tree if isinstance(node, Query) else parse(_native(node), node.name)
    assert isinstance(tree, exp.Query)
    return [column for column in tree.named_selects if column not in ("", "*")]


def _native(node: Node) -> str:
    return node.sql({key: parent.name for key, parent in node.parents.items()}, pretty=True)


def _row_comment(node: Node) -> str:
    """Return the comment that describes the rows of a query: the last one without indentation."""
    comments = re.findall(r"^(?:/\*(.*?)\*/|((?:--[^\n]*\n)+))", _native(node), re.MULTILINE)
    if not comments:
        return ""
    block, lines = comments[-1]
    text = block or " ".join(line.removeprefix("--").strip() for line in lines.splitlines())
    return re.sub(r"\s*\*/\s*/\*\s*", " ", str(text)).strip()


def _sources(metric: Metric) -> str:
    title, *others = about(metric)
    return " ".join([f"{title.rstrip('.')}.", *others])


def _about(column: Column, metric: Metric) -> str:
    what = column.metric if column.k is None else f"{column.metric} at {column.k}"
    if column.part != "value":
        return f"the standard error of {what}"
    return f"{what}: {_sources(metric)}"


def _counts(totals: Plan, name: str) -> bool:
    """Return whether the totals of a table count this; under some settings it is constantly 0."""
    assert isinstance(totals.root, Query)
    select = totals.root.tree
    assert isinstance(select, exp.Query)
    return any(
        column.alias_or_name == name and not isinstance(column.unalias(), exp.Literal)
        for column in select.selects
    )


def _is_never(plan: Plan) -> bool:
    """Return whether a check can find nothing under the settings."""
    assert isinstance(plan.root, Query)
    return any(not value.this for value in plan.root.tree.find_all(exp.Boolean))


def _all_rows(plan: Plan) -> Plan:
    """Make a check return all rows that it finds, instead of examples and a count."""
    root = plan.root
    assert isinstance(root, Query)
    tree = root.tree.copy()
    tree.set("order", None)
    tree.set("limit", None)
    assert isinstance(tree, exp.Select)
    tree.set("expressions", [column for column in tree.expressions if column.alias != "n_found"])
    tables = [table for table in tree.find_all(exp.Table) if table.name in root.parents]
    return Plan(replace(root, tree=tree, tables=tables))
