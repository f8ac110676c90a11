"""Looks at everything that was given: what the door refuses, and what numbers would not show.

Nothing stops at the first finding. What is broken is found by the checks at the door; the others
are checks of `sql_templates/checks/` that are no condition of any number, and those of the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlmetrics.checks.validate import Finding, broken_rules, finding_of
from sqlmetrics.engines.base import Engine
from sqlmetrics.errors import DataError, TemplateError
from sqlmetrics.messages import Message, Spelling, in_python
from sqlmetrics.metrics.front_matter import LEVELS, Check
from sqlmetrics.metrics.requests import MetricCall, cutoff_context
from sqlmetrics.metrics.spec import Value
from sqlmetrics.plan.physical import physical
from sqlmetrics.plan.planner import Planner
from sqlmetrics.rows import COUNT, TEXT, Rows
from sqlmetrics.sql.query_graph import Node
from sqlmetrics.tables.schema import is_number

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("level", "check", "table", "column", "n", "found", "remedy", "examples")
_KINDS = [COUNT if name == "n" else TEXT for name in COLUMNS]


def survey(
    engine: Engine,
    planner: Planner,
    calls: Sequence[MetricCall],
    conventions: Sequence[Mapping[str, Value]],
    cutoffs: Sequence[int | None],
    levels: Iterable[str] = LEVELS,
    known: dict[str, list[Finding]] | None = None,
) -> list[Finding]:
    """Run every check that there is for the tables that were given.

    Args:
        engine, planner: run and plan the checks.
        calls: the metrics to be computed from the tables.
        conventions: the settings of each; a finding under several conventions is returned once.
        cutoffs: the cutoffs of the metrics.
        levels: the levels of the checks to run; "error" includes the checks of `evaluate`.
        known: findings of queries that have run before, which do not run again; findings of other
            queries are added.

    Returns:
        The findings, the worst first; a table that cannot be read is an error.
    """
    findings: list[Finding] = []
    levels = set(levels)
    if "error" in levels:  # the calls are those of all conventions
        findings += _readable(_at_the_door(engine, planner, calls, conventions[0]))
    broken = {finding.table for finding in findings}
    known = {} if known is None else known  # most queries are the same under every convention
    for values in conventions:
        for check in planner.catalog.checks.values():
            if check.at_the_door or not check.needs or check.level not in levels:
                continue
            needs = [need.format_map(values) for need in check.needs]
            # a table without rows, or with ids that mean nothing, has nothing more to say
            if broken & {need.partition(".")[0] for need in needs}:
                continue
            if _are_there(planner, needs):
                of_check = {**values, **cutoff_context(cutoffs)}
                findings += _readable(_finding(engine, planner, check, needs, of_check, known))
    findings = list({(finding.check, finding.text): finding for finding in findings}.values())
    return sorted(findings, key=lambda finding: LEVELS.index(finding.level))


def rows_of(findings: Iterable[Finding], spelling: Spelling = in_python) -> Rows:
    """Put findings into rows: `level, check, table, column, n, found, remedy, examples`.

    `examples` is a list of rows, each as a dict; `n` is missing where nothing was counted.
    `spelling`: of the arguments that a finding and its remedy name.
    """

    def cells(finding: Finding) -> Iterator[Any]:
        for name in COLUMNS[:-1]:
            value = getattr(finding, name)
            yield value.spelled(spelling) if isinstance(value, Message) else value
        yield [dict(row) for row in finding.examples]

    return Rows(COLUMNS, _KINDS, [tuple(cells(finding)) for finding in findings])


def frame_of(findings: Iterable[Finding]) -> pd.DataFrame:
    """Put findings into a data frame, its columns those of `rows_of`."""
    import pandas as pd

    frame = pd.DataFrame(list(rows_of(findings).values), columns=list(COLUMNS))
    return frame.astype({"n": "Int64"})


def _readable(findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield findings; where a table cannot be read, that is one."""
    try:
        yield from findings
    except DataError as error:
        yield unreadable(error)


def unreadable(error: DataError) -> Finding:
    """Make a finding of the error of a table that cannot be read."""
    return Finding("error", "tables", "", Message(error))


def _at_the_door(
    engine: Engine, planner: Planner, calls: Sequence[MetricCall], values: Mapping[str, Value]
) -> Iterator[Finding]:
    """Yield the errors of every table, then those of the queries that the metrics read."""
    done: set[str] = set()
    settings = {**values, **cutoff_context([None])}
    tables = {table: planner.node(table, settings) for table in planner.tables}
    looked_at: list[tuple[Mapping[str, Node], Mapping[str, Value]]] = [(tables, values)]
    looked_at += [(planner.nodes(call), call.values) for call in calls]
    for nodes, of_call in looked_at:
        for finding in broken_rules(engine, planner, of_call, nodes, done):
            done.add(finding.identity)
            yield finding


def _are_there(planner: Planner, needs: Sequence[str]) -> bool:
    """Tell whether tables and columns, as `table.column`, were given."""
    for table, _, column in (need.partition(".") for need in needs):
        if table not in planner.tables:
            return False
        if column and column not in planner.tables[table].columns:
            return False
    return True


def _finding(
    engine: Engine,
    planner: Planner,
    check: Check,
    needs: Sequence[str],
    values: Mapping[str, Any],
    known: dict[str, list[Finding]],
) -> Iterator[Finding]:
    """Run a check, where the times that it compares can be compared, unless its query has run."""
    if said := _times_that_differ(planner, needs):
        yield Finding(
            "note",
            check.name,
            check.table.format_map(values),
            f"{said}; these cannot be compared, so {check.title} were not looked for",
            remedy="export all times in one type",
            column=check.column,
        )
        return
    plan = planner.check(check, values)
    if plan.root.key not in known:
        rows = engine.records(physical(planner, plan))
        if rows and "n_found" not in rows[0]:
            raise TemplateError(
                f"{check.path}: the query of a check has a column n_found, the number of all that "
                "it finds"
            )
        known[plan.root.key] = (
            [finding_of(planner, check, values, {"n": rows[0]["n_found"]}, rows, plan.root.key)]
            if rows
            else []
        )
    yield from known[plan.root.key]


def _times_that_differ(planner: Planner, needs: Sequence[str]) -> str:
    """Return the columns of times whose types cannot be compared; empty if all can."""
    kinds = {}
    for table, _, column in (need.partition(".") for need in needs):
        if column == "timestamp":
            kinds[f"{table}.{column}"] = planner.tables[table].columns[column]
    families = {_family(kind) for kind in kinds.values()}
    if len(families) < 2 and "text" not in families:  # texts are not ordered as times are
        return ""
    return ", ".join(f"{name} holds {kind}" for name, kind in kinds.items())


def _family(kind: str) -> str:
    """Group the types of times that can be compared."""
    if is_number(kind):
        return "number"
    if kind.startswith(("DATE", "TIMESTAMP")):
        return "time with a zone" if "ZONE" in kind or kind == "TIMESTAMPTZ" else "time"
    return "text"
