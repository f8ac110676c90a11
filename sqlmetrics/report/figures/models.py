"""Figures that compare models: their values, and the differences to the best one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import pandas as pd

from sqlmetrics.report.analysis import Study
from sqlmetrics.report.figures import parts
from sqlmetrics.report.figures.kind import Drawn, Kind, listing, number, primary_first, titled
from sqlmetrics.report.limits import LISTED
from sqlmetrics.texts.wording import by_number

WORSE, NOT_WORSE, NOT_TESTED = "significantly worse", "not significantly worse", "not tested"
NOT_WORSE_CORRECTED = "not significantly worse after correction"
_SHAPES = {
    WORSE: "circle",
    NOT_WORSE_CORRECTED: "square",
    NOT_WORSE: "diamond",
    NOT_TESTED: "cross",
}


class Scores(Kind):
    """The value and the interval of every model, with a menu to choose the metric."""

    name = "scores"
    needs = "pass several models"
    most = LISTED
    _columns = ("model", "label", *parts.VALUES)

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the values at the main cutoff, as `Evaluator.evaluate` does."""
        return study.at_main[study.at_main["value"].notna()]

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        if len(study.models) < 2:
            return
        rows, metric = primary_first(rows, study)
        tested = (
            " Overlapping intervals do not show whether two models differ; see Significant "
            "differences."
        )
        yield Drawn(
            self.name,
            "Values and confidence intervals",
            "A point is the value of a model. A line is the confidence interval of the value, "
            "if there is one." + tested * bool(len(study.from_best)),
            self._chart(rows, study),
            titled(rows, *self._columns),
            f"Values of {len(study.listed)} models by {metric}: {listing(rows, metric)}",
            note,
        )

    def _chart(self, rows: pd.DataFrame, study: Study) -> Any:
        metric = parts.metric_menu(rows)
        rows = rows.assign(coloured=rows["model"].isin(study.shown))
        base = parts.of_metric(rows, metric, *self._columns, "coloured")
        color, shape = parts.of_some(study.shown)
        y, x = parts.rows_of("model", study.listed), parts.value_axis()
        tips = parts.tooltip(rows, *self._columns)
        return (
            parts.layered(
                parts.intervals(base, y, parts.VALUE, color=color),
                parts.points(base, 80, x, y, color=color, shape=shape, tooltip=tips),
            )
            .properties(height=alt.Step(parts.ROW + 8))
            .add_params(metric)
        )


class AgainstBest(Kind):
    """The difference of every model to the best one, with a menu to choose the metric."""

    name = "against_best"
    needs = "pass several models and metrics with per-user values"
    most = LISTED
    _columns = (
        "label", "model", "baseline", "difference", "ci_low", "ci_high", "p_value", "p_adjusted",
        "wins", "ties", "losses", "verdict",
    )  # fmt: skip

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the comparisons with the best model of each metric."""
        return study.from_best

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        rows, metric = primary_first(rows, study)
        rows = rows.assign(verdict=[_verdict(study, row) for row in rows.to_dict("records")])
        n_tested, how = int(study.from_best["p_adjusted"].notna().sum()), study.how
        comparisons = by_number(n_tested, "comparison|comparisons")
        corrected = f", corrected for {n_tested} {comparisons},"
        corrected *= how.correction != "none"
        yield Drawn(
            self.name,
            "Significant differences",
            "Difference of every model to the best model, over the same users. A model is "
            f"significantly worse if p{corrected} is below {how.alpha:g}."
            + _about_intervals(study, n_tested),
            self._chart(rows, study),
            titled(rows, *self._columns, baseline="best"),
            f"Differences to the best model by {metric}: "
            + "; ".join(
                f"{row['model']} {number(row['difference'])}, {row['verdict']}"
                for row in rows[rows["label"] == metric].to_dict("records")
            ),
            note,
        )

    def _chart(self, rows: pd.DataFrame, study: Study) -> Any:
        metric = parts.metric_menu(rows)
        names = ("model", "baseline", "label", "difference", "ci_low", "ci_high", "p_value",
                 "p_adjusted", "verdict")  # fmt: skip
        base = parts.of_metric(rows, metric, *names)
        tips = parts.tooltip(rows, *names, baseline="best")
        models, verdicts = set(rows["model"]), set(rows["verdict"])
        y = parts.rows_of("model", (model for model in study.listed if model in models))
        title = "difference to the best model"
        x = alt.X("difference:Q", title=title).axis(tickCount=parts.TICKS)
        values = [name for name in _SHAPES if name in verdicts]
        shape = alt.Shape(
            "verdict:N",
            title=None,
            scale=alt.Scale(domain=list(_SHAPES), range=list(_SHAPES.values())),
            legend=alt.Legend(orient="top", labelLimit=320, values=values),
        )
        return (
            parts.layered(
                parts.zero_line(),
                parts.intervals(base, y, title),
                parts.points(base, 80, x, y, shape=shape, tooltip=tips),
            )
            .properties(height=alt.Step(parts.ROW + 8))
            .add_params(metric)
        )


def _about_intervals(study: Study, n_tested: int) -> str:
    """Return why an interval without 0 can belong to a difference that is not significant."""
    how, text = study.how, ""
    if how.correction != "none" and n_tested > 1:
        text = (
            " The intervals are not corrected, so a difference can have an interval without 0 and "
            "not be significant after correction; such differences have a mark of their own."
        )
    if how.test != "t":
        text += " The intervals are those of the t-test."
    return text


def _verdict(study: Study, row: Mapping[Any, Any]) -> str:
    """Return the verdict on a model compared with the best one, from the leaderboard's marks."""
    board = study.board
    mark = board.loc[board["model"] == row["model"], f"{row['label']} mark"]
    if not str(mark.iloc[0]):
        return NOT_TESTED if pd.isna(row["p_adjusted"]) else WORSE
    if not pd.isna(row["p_value"]) and row["p_value"] < study.how.alpha <= row["p_adjusted"]:
        return NOT_WORSE_CORRECTED
    return NOT_WORSE
