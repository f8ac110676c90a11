"""Create reports and charts, which compute the values of a run once and query them many times."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.metrics.spec import MetricSpec, parse_spec
from sqlmetrics.plan.physical import physical_nodes
from sqlmetrics.plan.request import Request, planned, reads_of, slices_of, that_can_be_planned
from sqlmetrics.plan.slices import Slicing, attributes_of
from sqlmetrics.plan.summary import summary
from sqlmetrics.report import Report
from sqlmetrics.report.analysis import (
    CUTOFFS,
    FURTHER,
    LIFTS,
    Question,
    Study,
    chosen_request,
    metrics_of_reports,
)
from sqlmetrics.report.page import require_packages
from sqlmetrics.run.path import own_templates_named, results, validate
from sqlmetrics.run.printing import statement
from sqlmetrics.run.session import Session
from sqlmetrics.sql.query_graph import Node, Plan
from sqlmetrics.stats.intervals import Interval
from sqlmetrics.tables.schema import Table
from sqlmetrics.texts.masking import masked
from sqlmetrics.texts.messages import Command, Message, give

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd


def report(
    session: Session, question: Question, check: bool | None, examples: bool, title: str | None
) -> Report:
    """Create the report of a run; see `Evaluator.report`."""
    require_packages()
    from sqlmetrics.report.build import content  # which needs these packages

    call, definitions = session.call, session.definitions
    assert call is not None
    if check is not None:
        call.check = check
    with studied(session, question) as study:
        noticed = session.data_warnings.noticed(call.requests, call.check)
        call.check = not noticed.unchecked  # so that warnings match those on the page
        interval = Interval(confidence=question.confidence)
        asked = [replace(request.spec, cutoff=request.k) for request in study.main]
        settings = [*definitions.conventions, definitions.fallback_in_order]
        return Report(
            content(
                study,
                title=title,
                conventions=[
                    definition.convention for definition in settings if definition is not None
                ],
                settings=session.recorder.given["settings"] or {},
                sources={name: _short_name(table) for name, table in session.tables.items()},
                conditions=session.where,
                findings=noticed.findings,
                unchecked=noticed.unchecked,
                statement=masked(
                    statement(
                        session, Request(asked, interval=interval, cluster=question.cluster), None
                    )
                ),
                with_examples=examples,
            )
        )


def plot(
    session: Session, figure: str, question: Question
) -> alt.Chart | alt.LayerChart | alt.VConcatChart:
    """Draw one of the charts of a report; see `Evaluator.plot`."""
    require_packages()
    from sqlmetrics.report.figures import checked_kind  # which needs these packages
    from sqlmetrics.report.figures.kind import plotted

    kind = checked_kind(figure)
    with studied(session, question) as study:
        return plotted(kind, study)


@contextlib.contextmanager
def studied(session: Session, question: Question) -> Iterator[Study]:
    """Compute the values of a run once, and keep them while the context is open.

    Raises:
        UsageError: the engine is Spark, there are several conventions, or see `Evaluator.report`.
        DataError: see `Evaluator.evaluate`.
    """
    engine, planner = session.engine.embedded, session.planner
    conventions = session.definitions.conventions
    if "logs" in planner.tables and "recommendations" not in planner.tables:
        raise UsageError(
            Message(
                "reports and charts describe lists, which were not given (",
                give("recommendations"),
                ")",
            ),
            remedy=Message(
                "for metrics of the logs alone, use ",
                Command("evaluate"),
                " or ",
                Command("compare"),
            ),
        )
    if engine is None:
        raise UsageError(
            "reports and charts need DuckDB; with Spark or a database, export the tables to "
            "Parquet files and create the report from the files"
        )
    if planner.several_runs:
        raise UsageError(
            "reports and charts show a single run of each model, but the recommendations have a "
            "column run",
            table="recommendations",
            column="run",
            remedy="pass the lists of one run without the column run; evaluate, compare and "
            "leaderboard compute means over runs",
        )
    if len(conventions) > 1:
        names = " and ".join(settings.convention.name for settings in conventions)
        raise UsageError(
            f"a report needs one convention, not {names}; use evaluate to compare conventions"
        )
    with own_templates_named(session):
        study_of = replace(results(session, _asked(session, question)), with_convention=False)
        summarized = planned(study_of, summary(study_of))
        session.ran(summarized)
        held = contextlib.ExitStack()

        def run(plan: Plan) -> pd.DataFrame:
            return engine.frame(session.physical(plan))

        def hold(nodes: Sequence[Node]) -> None:
            """Compute nodes once for all plans of the report."""
            held.enter_context(engine.holding(physical_nodes(session.planner, nodes, engine)))

        study = Study(
            run,
            hold,
            study_of,
            question,
            attributes_of(
                question.by, question.by_item, session.catalog, session.tables, planner.user_keys
            ),
            _primary(session, question, study_of.requests),
        )
        study.further = _further(session, question, study.primary.k)
        with held:
            validate(session, summarized.reads, summarized.checked)
            session.warn(summarized.plan.warnings)
            hold(study.held)
            study.add_usual_slices()
            for attribute in study.attributes:
                slicing = Slicing(planner, [attribute], False, study.primary.values)
                validate(session, (), slices_of(slicing))
            yield study


def _asked(session: Session, question: Question) -> Request:
    """Choose the metrics of a report; by default, the usual ones that the tables allow."""
    metrics, k = question.metrics, question.k
    if metrics is None:
        names = metrics_of_reports(session.catalog)
        implied = [MetricSpec(name, implied=True) for name in names]
        requests = session.definitions.requests(dict.fromkeys(implied, (None,)))
        calls, _ = that_can_be_planned(session.planner, requests, UsageError)
        # if there is none, the error of the first metric tells what is missing
        metrics = [replace(call.requests[0].spec, cutoff=None) for call in calls] or implied[:1]
        k = CUTOFFS if k is None else k
    interval = Interval(confidence=question.confidence)
    return Request(
        metrics, k, interval=interval, cluster=question.cluster, skip_missing=question.skip_missing
    )


def _primary(
    session: Session, question: Question, requests: Sequence[MetricRequest]
) -> MetricRequest | None:
    """Return the metric that ranks the models, or None if the question does not name it."""
    if question.primary is None:
        return None
    definitions = session.definitions
    primary = definitions.first.request(parse_spec(question.primary), definitions.has_rank)
    return chosen_request(requests, primary.spec, question.primary)


def _further(session: Session, question: Question, k: int | None) -> list[MetricRequest]:
    """Return the metrics that only the section Beyond accuracy shows, if the tables allow them.

    Nobody asked for them by name, so metrics whose tables have errors are omitted.
    """
    names = FURTHER if question.metrics is None else LIFTS
    specs = {MetricSpec(name, implied=True): (k,) for name in names}
    try:
        requests = session.definitions.requests(specs)
    except UsageError:  # the convention covers none of them
        return []
    calls, _ = that_can_be_planned(session.planner, requests, UsageError)
    further: list[MetricRequest] = []
    for call in calls:
        with contextlib.suppress(DataError):
            validate(session, reads_of(session.planner, call.requests))
            further += call.requests
    return further


def _short_name(table: Table) -> str:
    """Return the name of a table's source without its folder, which may be private."""
    first = table.sources[0]
    if len(table.sources) > 1:
        return f"{len(table.sources)} sources, one per model"
    label = masked(first.label)
    return label.rstrip("/").rpartition("/")[2] if first.files else label
