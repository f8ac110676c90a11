"""Reports of more models than a chart can colour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sqlmetrics as sm
from sqlmetrics.report.analysis import Question, Study
from sqlmetrics.report.build import _facts
from sqlmetrics.report.content import Figure
from sqlmetrics.report.figures import KINDS, models
from sqlmetrics.report.figures.trade_off import names_beside
from sqlmetrics.report.limits import SHOWN
from tests.support.calls import studied
from tests.support.reports import HISTORY, TRUTH, lists

N_MODELS = 11
METRICS = ["ndcg", "precision", "recall", "map", "mrr", "coverage", "hit_rate"]


@pytest.fixture(scope="module")
def many() -> Iterator[Study]:
    of_models = {f"model {n}": lists(n % 3, 10 + n).query("user_id < 24") for n in range(N_MODELS)}
    with (
        sm.Evaluator(of_models, TRUTH, history=HISTORY, check=False) as evaluator,
        studied(evaluator, Question(METRICS, [2, 4], "ndcg@4")) as study,
    ):
        yield study


def figures(study: Study, kind: str) -> list[Figure]:
    return [drawn.figure() for drawn in KINDS[kind](study)]


def domains(chart: Any, channel: str) -> set[tuple[str, ...]]:
    """Find the domains of a channel's scales anywhere in a chart."""
    found = set()
    if isinstance(chart, dict):
        encoding = chart.get(channel, {})
        scale = {**encoding, **encoding.get("condition", {})}.get("scale") or {}
        found = {tuple(scale["domain"])} if "domain" in scale else set()
        chart = list(chart.values())
    if isinstance(chart, list):
        found = found.union(*(domains(value, channel) for value in chart))
    return found


def test_every_model_with_a_colour_has_its_own(many: Study) -> None:
    best = tuple(many.models[:SHOWN])
    note = f"Only the best {SHOWN} models are shown; {N_MODELS - SHOWN} are omitted."
    for kind in ("cutoffs", "distribution", "exposure"):
        for figure in figures(many, kind):
            assert domains(figure.chart, "color") == {best}
            assert figure.note.startswith(note)
    for kind in ("scores", "trade_off"):  # the names are beside the points
        (figure,) = figures(many, kind)
        assert domains(figure.chart, "color") == {best}
        assert figure.table is not None
        of_models = {row[figure.table.columns.index("model")] for row in figure.table.rows}
        assert of_models == set(many.models)
        assert not figure.note
    (cutoffs, *_) = figures(many, "cutoffs")
    assert cutoffs.chart is not None
    assert [layer["mark"]["type"] for layer in cutoffs.chart["layer"]] == ["line", "point"]
    first, *_ = _facts(many, [], {}, {})
    assert first == ("Models", f"{', '.join(many.models[:5])} and 6 more")


def test_omitted_metrics_are_named_with_the_reason(many: Study) -> None:
    (figure,) = figures(many, "differences")
    left = "Only 4 metrics are drawn, the primary one first; omitted: mrr@4, hit_rate@4."
    assert figure.note.endswith(left)


def test_an_interval_without_0_that_is_not_significant_is_explained(many: Study) -> None:
    (figure,) = figures(many, "against_best")
    assert figure.table is not None
    rows = [dict(zip(figure.table.columns, row, strict=True)) for row in figure.table.rows]
    by_verdict: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_verdict.setdefault(row["verdict"], []).append(row)
    corrected = by_verdict[models.NOT_WORSE_CORRECTED]
    assert all(row["p"] < 0.05 <= row["corrected p"] for row in corrected)
    assert all(row["p"] >= 0.05 for row in by_verdict[models.NOT_WORSE])
    assert all(row["corrected p"] < 0.05 for row in by_verdict[models.WORSE])
    assert "not be significant after correction; such differences have a mark" in figure.text


def test_names_cover_neither_points_nor_names() -> None:
    # two points far apart, and one just to the right of the first
    assert names_beside([(0, 0, "a"), (1, 1, "b")]) == ["above", "above"]
    assert names_beside([(0, 0, "a name"), (0.01, 0, "b name"), (1, 1, "c")]) == [
        "above",
        "below",
        "above",
    ]
    # at the same point, the sides have no room for a third name
    assert names_beside([(0, 0, "a name")] * 3) == ["above", "below", ""]
    assert names_beside([]) == []
