"""The path from a request to a result, for Python and for the command line.

    resolve    every metric, cutoff, setting and slice of the request (plan/request.py)
    plan       the queries that compute the result (plan/summary.py, plan/per_user.py)
    validate   the tables that the queries read (checks/validate.py)
    run        the queries, as the statement that `--physical` prints (plan/physical.py)
    present    the rows: names, order, warnings about slices

Other modules of this package use the first two steps to print the plan (`printing`), to compare
models (`comparing`), for reports (`reporting`), or to inspect tables and stages (`looking`).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.checks.validate import Rules
from sqlmetrics.errors import (
    QueryError,
    SqlmetricsWarning,
    TemplateError,
    UsageError,
    issue,
)
from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.metrics.spec import labelled
from sqlmetrics.plan.per_user import per_user as per_user_plan
from sqlmetrics.plan.per_user import value_columns
from sqlmetrics.plan.planner import Planner
from sqlmetrics.plan.request import PlannedRun, Reads, Request, Sliced, planned, resolve
from sqlmetrics.plan.results import Results
from sqlmetrics.plan.slices import Frame, warn_of_empty_slices, warn_of_small_slices
from sqlmetrics.plan.summary import summary
from sqlmetrics.rows import Rows
from sqlmetrics.run import gating
from sqlmetrics.run.session import Session
from sqlmetrics.sql.query_graph import Plan
from sqlmetrics.stats.gates import EVALUATION, OF_RUNS, Gate, check_known
from sqlmetrics.stats.intervals import FEW_AUDITED, FEW_CLUSTERS
from sqlmetrics.texts.messages import Command, Message
from sqlmetrics.texts.wording import by_number, listed

if TYPE_CHECKING:
    import pandas as pd


_SLACK = 1e-9  # for the rounding of values of a user's own metrics


def evaluate(
    session: Session,
    asked: Request,
    fail_if: str | Iterable[str] = (),
    past: str | Path | None = None,
) -> pd.DataFrame:
    """Compute a request, and return its rows as a data frame.

    Raises:
        GateError: the rows fail a gate of `fail_if`; the error has the rows.
        UsageError, DataError: see `Evaluator.evaluate`.
    """
    run, gates = _planned(session, asked, fail_if)
    with own_templates_named(session):
        frame = session.engine.frame(ready(session, run))
    if run.names:
        frame = frame.rename(columns=run.names)
    shown = present(session, frame, run)
    return gating.passed(session, shown, gates, EVALUATION, run.requests, past)


def rows(
    session: Session,
    asked: Request,
    fail_if: str | Iterable[str] = (),
    past: str | Path | None = None,
) -> Rows:
    """Compute a request without pandas, and return its rows; raises what `evaluate` raises."""
    run, gates = _planned(session, asked, fail_if)
    with own_templates_named(session):
        rows = session.engine.rows(ready(session, run))
    shown = present(session, rows, run)
    return gating.passed(session, shown, gates, EVALUATION, run.requests, past)


def _planned(
    session: Session, asked: Request, fail_if: str | Iterable[str]
) -> tuple[PlannedRun, list[Gate]]:
    """Plan a request, and check that its result will have the rows that its gates are about."""
    gates = gating.read(session, fail_if, EVALUATION)
    with own_templates_named(session):
        run = plan(session, asked)
        if gates:
            check_known(
                gates,
                [(request.name, request.k) for request in run.requests],
                gating.named_models(session),
                interval=asked.interval.kind,
                slices=gating.columns_of_slices(
                    session, [sliced.attribute for sliced in run.slices]
                ),
                further=[*further(run), *OF_RUNS],
                several_runs=session.planner.several_runs
                and all(sliced.attribute.of != "lists" for sliced in run.slices),
                of=EVALUATION,
            )
    return run, gates


def further(run: PlannedRun) -> list[str]:
    """Return the columns of clusters and of an audit that a result has."""
    clusters = [] if run.cluster is None else ["n_clusters"]
    return [*clusters, *([] if run.audit is None else ["n_audited"])]


def per_user(session: Session, asked: Request) -> pd.DataFrame:
    """Compute the per-user values.

    Raises:
        UsageError, DataError: see `Evaluator.per_user`.
    """
    if not session.engine.fetches_users:
        raise UsageError(
            "per-user values cannot be collected from Spark into this process",
            remedy=Message("let Spark write the values with ", Command("write_per_user")),
        )
    return evaluate(session, asked)


def write_parquet(session: Session, asked: Request, path: str | Path, force: bool) -> None:
    """Let the engine write a result to a file; see `Evaluator.write_parquet`."""
    engine = session.engine
    with engine.new_file(path, force) as target, own_templates_named(session):
        engine.write_parquet(ready(session, plan(session, asked)), target, force)


def write_table(session: Session, asked: Request, name: str, force: bool) -> None:
    """Let the engine write a result to a table; see `Evaluator.write_table`."""
    engine = session.engine
    engine.check_table(name, force)
    with own_templates_named(session):
        engine.write_table(ready(session, plan(session, asked)), name, force)


def results(session: Session, asked: Request, planner: Planner | None = None) -> Results:
    """Resolve a request and return its `Results`, which plan its values."""
    planner = planner or session.planner
    return resolve(session.definitions, planner, asked).results(planner)


def plan(session: Session, asked: Request) -> PlannedRun:
    """Resolve and plan a request, or return its plan from an earlier call."""
    planner = session.planner
    resolved = resolve(session.definitions, planner, asked)

    def new() -> PlannedRun:
        results = resolved.results(planner)
        if not asked.per_user:
            run = planned(results, summary(results))
            return (
                run if asked.interval.kind != "none" else replace(run, assumes_independence=False)
            )
        columns = value_columns(results, asked.long).items()
        names = {column: name for name, column in columns if name != column}
        run = planned(results, per_user_plan(results, asked.long))
        return replace(run, names=names, assumes_independence=False)

    return planner.once((asked.per_user, asked.long, *resolved.identity), new)


def ready(session: Session, run: PlannedRun) -> Plan:
    """Check the tables of a plan, and return it as the engine runs it.

    Raises:
        DataError: a table fails validation.
    """
    session.ran(run)
    _note_folders(session, run)
    validate(session, run.reads, run.checked)
    if run.audit is not None:
        _rules(session).check_audit(run.audit)
    session.warn(run.plan.warnings)
    if session.engine.embedded is not None:
        assert session.call is not None
        with contextlib.suppress(Exception):  # of a check, which is said after the result
            of_checks = session.data_warnings.stages(run.requests, session.call.check)
            session.engine.embedded.expect(of_checks)
    return session.physical(run.plan)


def _note_folders(session: Session, run: PlannedRun) -> None:
    for attribute in (sliced.attribute for sliced in run.slices if sliced.attribute.table):
        for source in session.tables[attribute.table].sources:
            if note := source.folder_note(attribute.table, attribute.name):
                session.note(note)


def validate(session: Session, reads: Iterable[Reads], slices: Iterable[Sliced] = ()) -> None:
    """Check the tables that queries read.

    Args:
        session: the tables and the engine.
        reads: the queries of each metric call.
        slices: the attributes to slice by.
    """
    _rules(session).check(reads, slices)


def _rules(session: Session) -> Rules:
    return Rules(session.engine, session.planner, session.passed, session.trusts_input)


def present(session: Session, rows: Frame, run: PlannedRun) -> Frame:
    """Return the rows of a result, and warn about slices and clusters that are empty or few.

    Also warn about values of the user's own metrics outside the range that the template declares.
    """
    own = {template.name for template in session.catalog.own}
    for request in {request.name: request for request in run.requests}.values():
        in_range = run.audit is None  # an estimate can be outside
        if request.metric.name in own and request.metric.range is not None and in_range:
            _warn_of_range(rows, request, run)
    if run.slices:
        sliced_by = [sliced.attribute for sliced in run.slices]
        warn_of_empty_slices(rows, sliced_by)
        if run.gaps:
            warn_of_small_slices(rows, sliced_by)
    if run.cluster is not None:
        _warn_of_few(rows, "n_clusters", run.cluster.attribute.name, FEW_CLUSTERS, "clusters")
    if run.audit is not None:
        _warn_of_few(rows, "n_audited", "audit", FEW_AUDITED, "audited users")
        _note_both_means(session, rows)
    counted = {one.metric.audience for one in run.requests if one.metric.grain == "round"}
    columns = rows.names if isinstance(rows, Rows) else rows.columns
    if counted and "n_users" in columns:
        session.note(f"n_users counts the {' or '.join(sorted(counted))} of the logs")
    return rows


def _warn_of_few(rows: Frame, column: str, where: str, enough: int, what: str) -> None:
    """Warn if a value is of so few clusters or users that its interval is too optimistic."""
    counts = [int(n) for n in rows[column] if hasattr(n, "__index__")]  # not missing
    few = [n for n in counts if n < enough]
    if few:
        least = min(few)
        issue(
            SqlmetricsWarning(
                f"{where}: {len(few)} of {len(counts)} rows {by_number(len(few), 'has|have')} "
                f"fewer than {enough} {what}, one has {least}; intervals of so few cover the true "
                "value too rarely",
                remedy=f"collect more {what}, or read these intervals as a lower bound of the "
                "uncertainty",
            )
        )


def _note_both_means(session: Session, rows: Frame) -> None:
    """Note what the labels and people say without each other, for the first row."""
    names = ("metric", "k", "labels_alone", "people_alone")
    first = next(zip(*(rows[name] for name in names), strict=True), None)
    if first is not None and all(isinstance(number, float) for number in first[2:]):
        k = first[1] if hasattr(first[1], "__index__") else None
        of_all = "" if len(rows) == 1 else " (columns labels_alone and people_alone have all rows)"
        session.note(
            f"{labelled(first[0], k)}: labels alone {first[2]:.3f}, people alone {first[3]:.3f}"
            + of_all
        )


def _warn_of_range(rows: Frame, request: MetricRequest, run: PlannedRun) -> None:
    """Warn if a mean or a per-user value is outside the range of a metric, or must be.

    Values between a and b with the mean m have a variance of at most (b - m) (m - a) (Bhatia and
    Davis 2000), so a larger one shows that values of some users are outside.
    """
    name, metric = request.name, request.metric
    low, high = metric.range or (-math.inf, math.inf)
    columns = rows.names if isinstance(rows, Rows) else list(rows.columns)
    numbers: Iterable[tuple[Any, Any, Any]]
    if "metric" in columns:
        if metric.grain != "run" and request.values["aggregate"] != "mean":  # such as a sum
            return
        means = Rows.of(rows)
        unknown = [None] * len(means)
        # with several runs, std is that of the runs
        has_std = {"std", "n_users"} <= set(columns) and "n_runs" not in columns
        std, n_users = (means["std"], means["n_users"]) if has_std else (unknown, unknown)
        of_all = zip(means["metric"], means["value"], std, n_users, strict=True)
        numbers = [(value, spread, n) for of, value, spread, n in of_all if of == name]
    else:
        wide: set[str] = {one.column for one in run.requests if one.name == name}
        of_it = [column for column in columns if column in {name, *wide}]
        numbers = ((value, None, None) for column in of_it for value in rows[column])

    def is_outside(value: float, std: float | None, n_users: int | None) -> bool:
        variance = (std or 0) ** 2 * (1 - 1 / (n_users or 1))
        slack = _SLACK * max(1, abs(value), variance)
        is_too_large = variance > (high - value) * (value - low) + slack
        return value < low - slack or value > high + slack or is_too_large

    outside = [row[0] for row in numbers if row[0] is not None and is_outside(*row)]
    if outside:
        number = max(outside, key=lambda value: max(low - value, value - high))
        what = f"the value {number:.6g} is" if not low <= number <= high else "values of users are"
        issue(
            SqlmetricsWarning(
                f"{name}: {what} outside the range {low:g} to {high:g} that the template declares",
                remedy=f"correct the query or range in {metric.path}",
            )
        )


@contextlib.contextmanager
def own_templates_named(session: Session) -> Iterator[None]:
    """Name the user's own template, and the line, in engine errors about a query.

    Raises:
        TemplateError: an engine rejects a query of the user's templates.
    """
    try:
        yield
    except QueryError as error:
        from sqlmetrics.plan.unknown_columns import unknown_column  # needs sqlglot

        own = [str(template.path) for template in session.catalog.own]
        if not own:
            raise
        if (known := unknown_column(session.definitions, session.planner)) is not None:
            raise known from error
        message = Message(error.found, f"; your own templates: {listed(own)}")
        raise TemplateError(message, remedy=error.remedy) from error
