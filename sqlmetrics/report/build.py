"""Build the content of a report from a study."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb

from sqlmetrics.checks.validate import Finding
from sqlmetrics.describe.metric import audience_text, metric_facts
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.front_matter import Metric
from sqlmetrics.metrics.requests import MetricCall, calls_of
from sqlmetrics.metrics.spec import value_text
from sqlmetrics.plan.planner import Planner
from sqlmetrics.report import summary
from sqlmetrics.report.analysis import PAIRED, SHOWN, Study, label, records
from sqlmetrics.report.content import (
    Content,
    Definition,
    Example,
    ExampleList,
    Leaderboard,
    Listed,
    Score,
    Section,
    Warned,
)
from sqlmetrics.report.figures import KINDS
from sqlmetrics.sql import arithmetic, statement
from sqlmetrics.sql.query_graph import parse
from sqlmetrics.stats.leaderboard import marked_columns
from sqlmetrics.texts.messages import Message, in_files
from sqlmetrics.version import __version__

_MOST = 800_000  # characters of all figures; keeps the page below 2 MB; Vega takes 1 MB
_LEAST_ROOM = 1 / 16
_OF_CELL = 30  # characters of markup per table cell
TITLE = "Recommendation quality report"

# name, title, introduction, kinds of figures
_SECTIONS = (
    ("models", "Comparing models", "", ("scores", "against_best")),
    (
        "cutoffs",
        "Metrics by cutoff",
        "Values at every cutoff. Bands are the confidence intervals of the means, for up to four "
        "models; the data tables have all intervals.",
        ("cutoffs",),
    ),
    (
        "users",
        "Per-user values",
        "The per-user values behind the means, and the users who gain or lose when one model "
        "replaces another.",
        ("distribution", "differences", "wins"),
    ),
    (
        "slices",
        "Slices",
        "Values for groups of users and for groups of relevant items.",
        ("slices",),
    ),
    (
        "beyond",
        "Beyond accuracy",
        "Distribution of recommendations over items and groups of items, popularity bias, the fit "
        "of the lists to the histories, and the trade-off with accuracy.",
        ("exposure", "popularity", "group_exposure", "calibration", "popularity_lift", "trade_off"),
    ),
)
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
    sections = _sections(study)
    while _size(sections) > _MOST and study.room > _LEAST_ROOM:
        study.room *= 3 / 4
        sections = _sections(study)
    examples = _examples(study) if with_examples else []
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
        sections=sections,
        examples=examples,
        examples_text=_chosen_so(study) if examples else "",
        definitions=_definitions(study),
        statement=statement,
        result=summary.result(study),
        differs=summary.differences(conventions, settings),
        made_by=f"sqlmetrics {__version__}, DuckDB {duckdb.__version__}",
    )


def _sections(study: Study) -> list[Section]:
    sections = []
    for name, heading, text, kinds in _SECTIONS:
        by_kind = {kind: [drawn.figure() for drawn in KINDS[kind](study)] for kind in kinds}
        figures = [figure for of_kind in by_kind.values() for figure in of_kind]
        if figures:
            missing = [kind for kind, of_kind in by_kind.items() if not of_kind]
            note = _needed(study, missing) if name == "beyond" else ""
            sections.append(Section(name, heading, text, figures, note))
    return sections


def _needed(study: Study, missing: Sequence[str]) -> str:
    """Return what the figures that are missing in the section Beyond accuracy need."""
    lift = "the metric popularity_lift, which the convention does not cover"
    needs = {
        "popularity": ("popularity bias", _HISTORY),
        "group_exposure": (
            "exposure by group of items",
            "the column item_group or category of the table items",
        ),
        "calibration": (
            "calibration by category",
            f"{_HISTORY} and the column category of the table items",
        ),
        "popularity_lift": (
            "popularity lift by activity",
            lift if "history" in study.planner.tables else _HISTORY,
        ),
        "trade_off": (
            "the trade-off with accuracy",
            "several models, a primary metric of accuracy and a metric of another family",
        ),
    }
    by_need: dict[str, list[str]] = {}
    for kind in missing:
        if kind in needs:
            what, need = needs[kind]
            by_need.setdefault(need, []).append(what)
    texts = [f"{' and '.join(what)} ({need})" for need, what in by_need.items()]
    return f"Not shown, with what each figure needs: {'; '.join(texts)}." if texts else ""


_HISTORY = "the table history"


def _size(sections: Iterable[Section]) -> int:
    """Estimate the number of characters that the figures take on the page."""
    size = 0
    for figure in (figure for section in sections for figure in section.figures):
        size += len(json.dumps(figure.chart, separators=(",", ":")))
        if figure.table is not None:
            size += sum(_OF_CELL + len(str(cell)) for row in figure.table.rows for cell in row)
    return size


def _facts(
    study: Study,
    conventions: Sequence[Convention],
    sources: Mapping[str, str],
    conditions: Mapping[str, str],
) -> list[tuple[str, str]]:
    primary = study.primary
    own = study.at_main[study.at_main["label"] == label(primary)]
    n_users = own["n_users"].dropna()
    facts = [("Models", _models(study.models))] if study.planner.several_models else []
    facts.append(("Ranked by", label(primary)))
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
        facts.append(
            ("Confidence intervals", f"{100 * how.confidence:g} %, value ± z standard errors")
        )
    if low_is_good := [
        label(request) for request in study.main if request.higher_is_better is False
    ]:
        facts.append(("Lower is better", ", ".join(low_is_good)))
    facts += [(_TABLE[table], what) for table, what in sources.items()]
    facts += [(f"Filter on {table}", condition) for table, condition in conditions.items()]
    return facts


def _models(models: Sequence[str]) -> str:
    """List the models, the best first; of many models, the first few and their number."""
    if len(models) <= SHOWN:
        return ", ".join(models)
    return f"{', '.join(models[:_NAMED])} and {len(models) - _NAMED} more"


_NAMED = 5
_TABLE = {
    "recommendations": "Recommendations",
    "interactions": "Held-out interactions",
    "history": "History",
    "items": "Items",
    "users": "Users",
    "aspects": "Aspects",
    "baseline": "Baseline",
    "logs": "Logs",
}


def _leaderboard(study: Study) -> Leaderboard:
    board, rows = study.board, {(row["model"], row["label"]): row for row in records(study.at_main)}
    marks = marked_columns(board)
    names = [name for name in board.columns if name in marks]
    first = label(study.primary)
    names = sorted(names, key=lambda name: name != first)
    lines = []
    for record in records(board):
        model = str(record["model"])
        scores = []
        for name in names:
            row = rows[model, name]
            value, low, high = (_float(row[key]) for key in ("value", "ci_low", "ci_high"))
            several = study.planner.several_models
            scores.append(Score(value, low, high, record[marks[name]] if several else ""))
        n_users = record["n_users"]
        lines.append((model, _count(n_users), scores))
    order = {model: place for place, model in enumerate(study.models)}
    lines.sort(key=lambda row: order[row[0]])
    how = study.how
    legend = []
    if len(study.from_best):
        legend.append(
            f"{_TEST[how.test]} over the same users, {_CORRECTION[how.correction]}, "
            f"p ≥ {how.alpha:g}; only metrics averaged over users are tested"
        )
    if any(score.low is not None for _, _, scores in lines for score in scores):
        legend.append(f"± half the width of the {100 * how.confidence:g} % confidence interval")
    return Leaderboard(names, lines, "; ".join(legend))


def _float(value: Any) -> float | None:
    import pandas as pd

    return None if pd.isna(value) else float(value)


def _count(value: Any) -> int | None:
    import pandas as pd

    return None if pd.isna(value) else int(value)


# ---- examples -----------------------------------------------------------------------------------


def _chosen_so(study: Study) -> str:
    who = f" of {study.models[0]}, the best model" if len(study.models) > 1 else ""
    return (
        "Users with the best, the most typical and the worst values of "
        f"{label(study.primary)}{who}, among the users with a list and a relevant item. Users with "
        "equal values are ordered by their number of relevant items, the largest first. The lists "
        f"show the first {study.shown_places} items; hits are marked."
    )


def _examples(study: Study) -> list[Example]:
    tables = study.examples
    if not tables:
        return []
    keys = list(study.planner.user_keys)
    values = {
        (*_key(row, keys), _model_of(row, study)): _float(row["value"])
        for row in records(tables["values"])
    }
    lists: dict[tuple[Any, ...], list[Listed]] = {}
    for row in records(tables["lists"]):
        item = Listed(int(row["example_rank"]), _item(row), bool(row["is_hit"]))
        lists.setdefault((*_key(row, keys), _model_of(row, study)), []).append(item)
    truth: dict[tuple[Any, ...], list[str]] = {}
    for row in records(tables["truth"]):
        truth.setdefault(_key(row, keys), []).append(_item(row))
    order = ("best", "typical", "worst")
    users = sorted(records(tables["users"]), key=lambda row: order.index(row["example_kind"]))
    return [
        Example(
            user=", ".join(f"{key} = {row[key]}" for key in keys),
            kind=str(row["example_kind"]),
            n_relevant=int(row["n_relevant"]),
            relevant=truth.get(_key(row, keys), []),
            lists=[
                ExampleList(
                    model,
                    values.get((*_key(row, keys), model)),
                    lists.get((*_key(row, keys), model), []),
                )
                for model in study.shown[:PAIRED]
            ],
        )
        for row in users
    ]


def _key(row: Mapping[Any, Any], keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row[key]) for key in keys)


def _model_of(row: Mapping[Any, Any], study: Study) -> str:
    return str(row.get("model", study.planner.model))


def _item(row: Mapping[Any, Any]) -> str:
    title = row["example_title"]
    return f"{title} ({row['example_item']})" if isinstance(title, str) else row["example_item"]


# ---- definitions --------------------------------------------------------------------------------


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
            sql=_query(planner, call),
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


def _query(planner: Planner, call: MetricCall) -> str:
    """Render the query of a metric, which reads stages, for all its cutoffs."""
    metric: Metric = call.metric
    text = planner.metric_text(metric, call.values)
    tree = arithmetic.apply(parse(text.sql, text.where))
    return statement.query(tree)
