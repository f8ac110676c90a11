"""Build the content of a report from a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import pandas as pd

from sqlmetrics.checks.validate import Finding
from sqlmetrics.describe.metric import audience_text, metric_facts, query_of
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.requests import calls_of
from sqlmetrics.metrics.spec import value_text
from sqlmetrics.report import summary
from sqlmetrics.report.analysis import Study
from sqlmetrics.report.content import Content, Definition, Leaderboard, Score, Section, Warned
from sqlmetrics.report.examples import examples, rule
from sqlmetrics.report.figures import SECTIONS
from sqlmetrics.report.limits import SHOWN
from sqlmetrics.stats.leaderboard import marked_columns
from sqlmetrics.texts.messages import Message, in_files
from sqlmetrics.version import __version__

TITLE = "Recommendation quality report"

_NAMED = 5  # models that the facts name, if there are more than `SHOWN`
_TEST = {
    "t": "paired t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "randomization": "randomisation test",
    "bootstrap": "bootstrap test",
}
_CORRECTION = {
    "holm": "Holm correction over all comparisons with the best model",
    "bh": "Benjamini-Hochberg correction over all comparisons with the best model",
    "none": "no correction for multiple comparisons",
}


def content(
    study: Study,
    *,
    title: str | None,
    conventions: Sequence[Convention],
    settings: Mapping[str, Any],
    sources: Mapping[str, str],
    conditions: Mapping[str, str],
    findings: Iterable[Finding],
    unchecked: str | Message,
    statement: str,
    with_examples: bool,
) -> Content:
    """Assemble the content of a report.

    Args:
        study: the values of the run.
        title: the title of the page, or None for the default.
        conventions: the conventions of the metrics, the fallback last.
        settings: the settings that override those of the conventions.
        sources: table -> the source of its rows.
        conditions: table -> the condition of `--where`.
        findings: the findings of the data checks.
        unchecked: the reason why the data checks were skipped, or empty.
        statement: the SQL of the leaderboard's values.
        with_examples: include example users with their lists.
    """
    chosen = examples(study) if with_examples else []
    return Content(
        title=title or TITLE,
        facts=_facts(study, conventions, sources, conditions),
        warnings=[
            Warned(
                finding.level,
                finding.check,
                Message(f"{finding.where or finding.table}: ", finding.found).spelled(in_files),
                Message(finding.remedy).spelled(in_files),
            )
            for finding in findings
        ],
        unchecked=Message(unchecked).spelled(in_files),
        leaderboard=_leaderboard(study),
        sections=_sections(study),
        examples=chosen,
        examples_text=rule(study) if chosen else "",
        definitions=_definitions(study),
        statement=statement,
        result=summary.result(study),
        decisions=summary.of_metrics(study),
        differs=summary.differences(conventions, settings),
        made_by=f"sqlmetrics {__version__}, DuckDB {duckdb.__version__}",
    )


def _sections(study: Study) -> list[Section]:
    sections = []
    for name, heading, text, kinds in SECTIONS:
        by_kind = {kind: [drawn.figure() for drawn in kind(study)] for kind in kinds}
        figures = [figure for of_kind in by_kind.values() for figure in of_kind]
        if figures:
            without = [kind.missing_in(study) for kind, of_kind in by_kind.items() if not of_kind]
            note = _needed([missing for missing in without if missing is not None])
            sections.append(Section(name, heading, text, figures, note))
    return sections


def _needed(missing: Sequence[tuple[str, str]]) -> str:
    by_need: dict[str, list[str]] = {}
    for what, need in missing:
        by_need.setdefault(need, []).append(what)
    texts = [f"{' and '.join(what)} ({need})" for need, what in by_need.items()]
    return f"Not shown, with what each figure needs: {'; '.join(texts)}." if texts else ""


def _facts(
    study: Study,
    conventions: Sequence[Convention],
    sources: Mapping[str, str],
    conditions: Mapping[str, str],
) -> list[tuple[str, str]]:
    primary = study.primary
    own = study.at_main[study.at_main["label"] == primary.column]
    n_users = own["n_users"].dropna()
    named = study.models if len(study.models) <= SHOWN else study.models[:_NAMED]
    more = f" and {len(study.models) - _NAMED} more" * (len(study.models) > SHOWN)
    facts = [("Models", ", ".join(named) + more)] if study.planner.several_models else []
    facts.append(("Ranked by", primary.column))
    if len(n_users):
        low, high = int(n_users.min()), int(n_users.max())
        count = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        facts.append(("Audience", f"{count} {audience_text(primary.values)}"))
    facts += [
        ("Convention", f"{convention.name}: {convention.title}".removesuffix(": "))
        for convention in conventions
    ]
    how = study.how
    if study.values["ci_low"].notna().any():
        error = "z standard errors" if how.cluster is None else "t standard errors of clusters"
        facts.append(("Confidence intervals", f"{100 * how.confidence:g} %, value ± {error}"))
    if how.cluster is not None:
        n_clusters = study.at_main["n_clusters"].dropna()
        count = f", at least {int(n_clusters.min()):,}" if len(n_clusters) else ""
        facts.append(("Clusters", f"{how.cluster}{count}"))
    if low_is_good := [
        request.column for request in study.main if request.higher_is_better is False
    ]:
        facts.append(("Lower is better", ", ".join(low_is_good)))
    facts += [
        ("Held-out interactions" if table == "interactions" else table.capitalize(), what)
        for table, what in sources.items()
    ]
    facts += [(f"Filter on {table}", condition) for table, condition in conditions.items()]
    return facts


def _leaderboard(study: Study) -> Leaderboard:
    board, several = study.board, study.planner.several_models
    marks = marked_columns(board)
    names = sorted(
        (name for name in board.columns if name in marks),
        key=lambda name: name != study.primary.column,
    )
    keys = zip(study.at_main["model"], study.at_main["label"], strict=True)
    values = study.at_main[["value", "ci_low", "ci_high"]].astype(object)
    values = values.where(values.notna(), None)
    numbers = dict(zip(keys, values.itertuples(index=False, name=None), strict=True))
    rows = [
        (
            str(row["model"]),
            None if pd.isna(row["n_users"]) else int(row["n_users"]),
            [
                Score(value, low, high, row[marks[name]] if several else "")
                for name in names
                for value, low, high in [numbers[row["model"], name]]
            ],
        )
        for row in study.in_order(board).to_dict("records")
    ]
    how, legend = study.how, []
    if len(study.from_best):
        legend.append(
            f"{_TEST[how.test]} over the same users, {_CORRECTION[how.correction]}, "
            f"p ≥ {how.alpha:g}; only metrics averaged over users are tested"
        )
    if study.at_main["ci_low"].notna().any():
        legend.append(f"± half the width of the {100 * how.confidence:g} % confidence interval")
    return Leaderboard(names, rows, "; ".join(legend))


def _definitions(study: Study) -> list[Definition]:
    planner = study.planner
    known = {request.name for request in study.requests}
    further = [request for request in study.further if request.name not in known]
    definitions = [
        Definition(
            metric=call.name,
            title=call.metric.title,
            formula=call.metric.formula,
            facts=[
                ("convention", call.convention),
                *metric_facts(planner.catalog, call.metric, call.values),
                ("source", call.metric.cite),
            ],
            settings=[(name, value_text(call.values[name])) for name in call.metric.params],
            sql=query_of(planner.text(call.metric, call.values)),
        )
        for call in calls_of([*study.requests, *further])
    ]
    shared = study.primary.values
    settings = [(name, value_text(shared[name])) for name in planner.catalog.stage_params]
    return [
        *definitions,
        Definition(
            metric="all metrics",
            title="Shared settings",
            formula="",
            facts=[(param.name, param.doc) for param in planner.catalog.stage_params.values()],
            settings=settings,
            sql="",
        ),
    ]
