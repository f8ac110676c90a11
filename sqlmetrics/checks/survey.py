"""Run all checks of the given tables: input validation and data checks.

The survey does not stop at the first finding. Input validation finds broken tables. Data checks, in
`sql_templates/checks/` or of the user, find problems that do not invalidate results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlmetrics.checks.bounds import bounds_of
from sqlmetrics.checks.validate import Finding, OfTables, Rules, finding_of
from sqlmetrics.engines.base import Engine
from sqlmetrics.errors import DataError, SqlmetricsError, TemplateError
from sqlmetrics.metrics.definitions import Definitions
from sqlmetrics.metrics.front_matter import LEVELS, Check
from sqlmetrics.metrics.requests import MetricCall, MetricRequest, cutoff_context
from sqlmetrics.metrics.spec import Value, unique
from sqlmetrics.plan.planner import Planner
from sqlmetrics.rows import COUNT, TEXT, Rows
from sqlmetrics.sql.query_graph import Node, Plan, Query, new_name
from sqlmetrics.tables.schema import can_compare_times
from sqlmetrics.texts.messages import Message, Spelling, in_python
from sqlmetrics.texts.wording import listed

if TYPE_CHECKING:
    import pandas as pd

Row: TypeAlias = dict[str, Any]

COLUMNS = ("level", "check", "table", "column", "n", "found", "remedy", "examples")
_OF_ORDER = ("order", "ties", "score_type")  # settings of the order of lists
_KINDS = [COUNT if name == "n" else TEXT for name in COLUMNS]


@dataclass
class Survey(OfTables):
    """Runs the checks of the given tables; queries run only once.

    Attributes:
        engine, planner: run and plan the checks.
        definitions: the conventions; equal findings are returned once.
    """

    engine: Engine
    planner: Planner
    definitions: Definitions
    _known: dict[str, list[Row]] = field(default_factory=dict, init=False)  # rows, by query

    def survey(
        self,
        calls: Sequence[MetricCall],
        requests: Sequence[MetricRequest],
        cutoffs: Sequence[int | None],
        levels: Iterable[str] = LEVELS,
        read: Set[str] | None = None,
    ) -> list[Finding]:
        """Run every check that applies to the given tables.

        Args:
            calls: the metrics to compute from the tables.
            requests: the requests whose order of lists is checked.
            cutoffs: the cutoffs of the requests.
            levels: the levels of the checks to run; "error" includes the checks of `evaluate`.
            read: the tables and stages that a result has read; checks of others do not run.

        Returns:
            The findings, the worst first; an unreadable table is an error.
        """
        findings: list[Finding] = []
        levels, conventions = set(levels), list(self.settings(requests))
        if "error" in levels:  # the calls cover all conventions
            findings += _readable(self._at_the_door(calls, conventions[0]))
        broken = {finding.table for finding in findings}
        of_calls = {name for call in calls for name in self.planner.queries(call).nodes}
        of_checks = [
            (check, needs, values)
            for check, needs, values in applicable(
                self.planner, conventions, cutoffs, levels, read, of_calls
            )
            # skip further checks of empty tables and tables with invalid ids
            if not broken & {need.partition(".")[0] for need in needs}
        ]
        self._note_empty(of_checks)
        for check, needs, values in of_checks:
            found = list(_readable(self._finding(check, needs, values)))
            if check.bounds and found:
                bounds = bounds_of(self.engine, self.planner, calls, values, check.bounds)
                # without the values of a metric, grades that it does not use are no finding
                is_needed = check.bounds == "gain"
                found = [_extended(each, bounds) for each in found if bounds or not is_needed]
            findings += found
        findings = list({(finding.check, finding.text): finding for finding in findings}.values())
        return sorted(findings, key=lambda finding: LEVELS.index(finding.level))

    def settings(self, requests: Sequence[MetricRequest]) -> Iterator[dict[str, Value]]:
        """Yield the shared settings of each convention, with every order of lists of its requests.

        A convention, a setting or a spec can break ties in its own way for one metric.
        """
        for definition in self.definitions.conventions:
            values = definition.values(self.definitions.has_rank)
            orders = unique(
                tuple(request.values[name] for name in _OF_ORDER)
                for request in requests
                if request.convention == definition.convention.name
                and request.metric.is_of_relevant_items
            )
            for order in orders or [tuple(values[name] for name in _OF_ORDER)]:
                yield {**values, **dict(zip(_OF_ORDER, order, strict=True))}

    def _note_empty(self, checks: Iterable[tuple[Check, Sequence[str], Mapping[str, Any]]]) -> None:
        """Find the checks without a finding, usually nearly all, by one statement."""
        queries: dict[str, Node] = {}
        for check, needs, values in checks:
            root = self.planner.check(check, values).root
            is_new = root.key not in self._known and root not in queries.values()
            if is_new and not times_that_differ(self.planner, needs):
                queries[new_name(check.name, queries)] = root
        if len(queries) > 1:
            # after an error, each runs alone, and says which one it is
            with contextlib.suppress(SqlmetricsError):
                rows = self.records(self.planner.found(queries))
                empty = queries.keys() - {row["check_name"] for row in rows}
                self._known.update({queries[name].key: [] for name in empty})

    def _at_the_door(
        self, calls: Sequence[MetricCall], values: Mapping[str, Value]
    ) -> Iterator[Finding]:
        """Yield the errors of every table, then those of the queries that the metrics read."""
        rules, settings = Rules(self.engine, self.planner), {**values, **cutoff_context([None])}
        tables = {table: self.planner.node(table, settings) for table in self.planner.tables}
        looked_at: list[tuple[Mapping[str, Node], Mapping[str, Value]]] = [(tables, values)]
        looked_at += [(self.planner.queries(call).nodes, call.values) for call in calls]
        for nodes, of_call in looked_at:
            for finding in rules.broken(of_call, nodes):
                rules.passed.add(finding.identity)
                yield finding

    def _finding(
        self, check: Check, needs: Sequence[str], values: Mapping[str, Any]
    ) -> Iterator[Finding]:
        """Run a check, unless its query has run or its timestamps cannot be compared."""
        if said := times_that_differ(self.planner, needs):
            yield Finding(
                "note",
                check.name,
                check.table.format_map(values),
                f"{said}; these types cannot be compared, so the check {check.name} was skipped",
                remedy="export all timestamps with the same type",
                column=check.column,
            )
            return
        plan = self.planner.check(check, values)
        if plan.root.key not in self._known:
            rows = self.records(plan)
            if rows and "n_found" not in rows[0]:
                raise TemplateError(
                    f"{check.path}: the query of a check needs a column n_found, the number of all "
                    "rows that it finds"
                )
            self._known[plan.root.key] = rows
        if rows := self._known[plan.root.key]:
            # rows with numbers of one model each are findings of their own
            for group in [[row] for row in rows] if "{of_policy}" in check.found else [rows]:
                counts = {"n": rows[0]["n_found"]}
                # the texts can name settings that the query does not read
                found = finding_of(self.planner, check, values, counts, group, plan.root.key)
                of_models = self._by_model(plan, rows[0]) if group is rows else ""
                yield replace(found, found=Message(found.found, of_models))

    def _by_model(self, plan: Plan, row: Row) -> str:
        """Return the number of rows that a check finds per model; "" if it finds no such rows."""
        if not (self.planner.several_models and "model" in row and isinstance(plan.root, Query)):
            return ""
        counted = self.planner.found_by_model(plan.root)
        if counted.root.key not in self._known:
            self._known[counted.root.key] = self.records(counted)
        of_models = self._known[counted.root.key]
        counts = {str(one["model"]): int(one["n_of_model"]) for one in of_models}
        if sum(counts.values()) != row["n_found"]:  # a row stands for several lists or users
            return ""
        return f" ({listed(f'{model} {count:,}' for model, count in counts.items())})"


def applicable(
    planner: Planner,
    conventions: Iterable[Mapping[str, Value]],
    cutoffs: Sequence[int | None],
    levels: Set[str],
    read: Set[str] | None,
    of_calls: Set[str] = frozenset(),
) -> Iterator[tuple[Check, list[str], dict[str, Any]]]:
    """Yield the data checks that apply, with what they need, under each convention.

    They are those of some levels whose tables were given. `read`: the tables and stages that a
    result has read; checks of others do not apply, and of notes only those with `in_report`.
    `of_calls`: without a result, those that the metrics to check read.
    """
    for given in conventions:
        values = {**given, **cutoff_context(cutoffs)}
        for check in planner.catalog.checks.values():
            if check.at_the_door or not check.needs or check.level not in levels:
                continue
            if read is not None and check.level == "note" and not check.in_report:
                continue
            known = of_calls if read is None and check.of_result else read
            if known is not None and check.reads and known.isdisjoint(check.reads):
                continue
            needs = [need.format_map(values) for need in check.needs]
            if _are_there(planner, needs) and planner.applies(check, values):
                yield check, needs, values


def rows_of(findings: Iterable[Finding], spelling: Spelling = in_python) -> Rows:
    """Convert findings to rows: `level, check, table, column, n, found, remedy, examples`.

    `examples` is a list of rows, each a dict; `n` is missing if nothing was counted. `spelling`:
    how to spell arguments in findings and remedies.
    """

    def cells(finding: Finding) -> Iterator[Any]:
        for name in COLUMNS[:-1]:
            value = getattr(finding, name)
            yield value.spelled(spelling) if isinstance(value, Message) else value
        yield [dict(row) for row in finding.examples]

    return Rows(COLUMNS, _KINDS, [tuple(cells(finding)) for finding in findings])


def frame_of(findings: Iterable[Finding]) -> pd.DataFrame:
    """Convert findings to a data frame with the columns of `rows_of`."""
    import pandas as pd

    frame = pd.DataFrame(list(rows_of(findings).values), columns=list(COLUMNS))
    return frame.astype({"n": "Int64"})


def _extended(finding: Finding, text: str) -> Finding:
    return replace(finding, found=Message(finding.found, f". {text}")) if text else finding


def _readable(findings: Iterator[Finding]) -> Iterator[Finding]:
    try:
        yield from findings
    except DataError as error:
        yield unreadable(error)


def unreadable(error: DataError) -> Finding:
    """Convert the error of an unreadable table to a finding."""
    return Finding("error", "tables", "", Message(error))


def _are_there(planner: Planner, needs: Sequence[str]) -> bool:
    return all(
        planner.inputs.has(table, column) if column else table in planner.tables
        for table, _, column in (need.partition(".") for need in needs)
    )


def times_that_differ(planner: Planner, needs: Sequence[str]) -> str:
    """Describe timestamp columns of types that cannot be compared; empty if all can."""
    kinds = {}
    for table, _, column in (need.partition(".") for need in needs):
        if column == "timestamp":
            kinds[f"{table}.{column}"] = planner.tables[table].columns[column]
    if can_compare_times(kinds.values()):
        return ""
    return ", ".join(f"{name} has type {kind}" for name, kind in kinds.items())
