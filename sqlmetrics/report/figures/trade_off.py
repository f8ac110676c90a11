"""The figure of accuracy against other qualities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
import pandas as pd

from sqlmetrics.report.analysis import BEYOND, Study
from sqlmetrics.report.figures import parts
from sqlmetrics.report.figures.kind import Drawn, Kind, first, number
from sqlmetrics.report.limits import HEARD, LISTED, in_order

_TALL = 360
_SIDES: Mapping[str, Mapping[str, Any]] = {
    "above": {"dy": -12},
    "below": {"dy": 16},
    "right": {"dx": 10, "align": "left"},
    "left": {"dx": -10, "align": "right"},
}


class TradeOff(Kind):
    """The primary metric against another metric, with a menu to choose the other one.

    Names are omitted where they would cover other points or names.
    """

    name = "trade_off"
    most = LISTED
    needs = "pass several models and a metric of novelty, diversity, coverage or fairness"
    missing = (
        "the trade-off with accuracy",
        "several models, a primary metric of accuracy and a metric of another family",
    )

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the values of the metrics beyond accuracy, with the `accuracy` of the model."""
        name, values, requests = study.primary.column, study.at_main, [*study.main]
        accuracy = values[values["label"] == name].set_index("model")["value"]
        if study.how.metrics is None and len(study.further_values):
            values = pd.concat([values, study.further_values], ignore_index=True)
            requests += study.further
        others = {request.column for request in requests if request.metric.family in BEYOND}
        rows = values[values["label"].isin(others - {name})].drop_duplicates(["model", "label"])
        rows = rows.assign(accuracy=rows["model"].map(accuracy))
        return rows[rows["value"].notna() & rows["accuracy"].notna()]

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        if len(study.models) < 2 or study.primary.metric.family in BEYOND:
            return
        metrics, name = list(dict.fromkeys(rows["label"])), study.primary.column
        rows = first(
            rows, next((one for one in metrics if one.startswith("surprisal")), metrics[0])
        )
        wide = rows.pivot(index=["model", "accuracy"], columns="label", values="value")
        wide = wide[list(dict.fromkeys(rows["label"]))].reset_index().rename_axis(columns=None)
        yield Drawn(
            self.name,
            "Accuracy and other qualities",
            f"{name} of every model, plotted against a metric of popularity, novelty, "
            "diversity, coverage or fairness."
            + " Names that would cover others are omitted; point at a mark to read its name."
            * (len(study.listed) > len(study.shown)),
            self._chart(rows, study, name),
            study.in_order(wide).rename(columns={"accuracy": name}),
            f"Models by {name} and another metric: "
            + "; ".join(
                f"{row['model']} {number(row['accuracy'])}, {row['label']} {number(row['value'])}"
                for row in rows.head(HEARD).to_dict("records")
            ),
            note,
        )

    def _chart(self, rows: pd.DataFrame, study: Study, accuracy: str) -> Any:
        metric = parts.metric_menu(rows, "Other metric")
        names = ("model", "accuracy", "label", "value")
        rows = rows.assign(coloured=rows["model"].isin(study.shown), side=_sides(rows, study))
        base = parts.of_metric(rows, metric, *names, "coloured", "side")
        x = alt.X("accuracy:Q", title=accuracy, scale=alt.Scale(zero=False, padding=30))
        x = x.axis(tickCount=parts.TICKS)
        y = alt.Y("value:Q", title="other metric", scale=alt.Scale(zero=False, padding=20))
        color, shape = parts.of_some(study.shown)
        tips = parts.tooltip(rows, *names, accuracy=accuracy, label="other metric")
        texts = [
            base.transform_filter(f"datum.side === '{side}'")
            .mark_text(limit=140, **marks)
            .encode(x, y, text="model:N")
            for side, marks in _SIDES.items()
            if side in set(rows["side"])
        ]
        points = parts.points(base, 110, x, y, color=color, shape=shape, tooltip=tips)
        chart = parts.layered(points, *texts).add_params(metric)
        return chart.properties(height=_TALL) if len(study.listed) > len(study.shown) else chart


def _sides(rows: pd.DataFrame, study: Study) -> pd.Series[Any]:
    """Return for every point the side of its name; empty if there is no room."""
    sides: pd.Series[Any] = pd.Series("", index=rows.index)
    for _, own in in_order(rows, "model", study.models).groupby("label"):
        points = list(zip(own["accuracy"], own["value"], own["model"], strict=True))
        sides.loc[own.index] = names_beside(points)
    return sides


# ---- places of names, in pixels of a chart of a usual width -------------------------------------

_Point: TypeAlias = tuple[float, float, str]  # two coordinates and a name
_Box: TypeAlias = tuple[float, float, float, float]  # left, top, right, bottom
_WIDTH, _HEIGHT = 800.0, 260.0
_OF_LETTER, _OF_LINE, _LONGEST = 6.6, 14.0, 140.0
_HALF = 6.0  # of a point's mark


def names_beside(points: Sequence[_Point]) -> list[str]:
    """Return the side of every point's name: above, below, right or left.

    Earlier points choose first. A side is empty if the name would cover a point or another name on
    every side.
    """
    across, up = (_spread([float(point[axis]) for point in points]) for axis in (0, 1))
    centres = [(x * _WIDTH, (1 - y) * _HEIGHT) for x, y in zip(across, up, strict=True)]
    marks = [(x - _HALF, y - _HALF, x + _HALF, y + _HALF) for x, y in centres]
    taken: list[_Box] = []
    sides = []
    for place, (x, y) in enumerate(centres):
        others = [*marks[:place], *marks[place + 1 :], *taken]
        boxes = _boxes(x, y, min(_LONGEST, _OF_LETTER * len(points[place][2])))
        free = (side for side, box in boxes.items() if not any(_cover(box, o) for o in others))
        sides.append(next(free, ""))
        if sides[-1]:
            taken.append(boxes[sides[-1]])
    return sides


def _spread(values: Sequence[float]) -> list[float]:
    """Map values to the range from 0 to 1."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]


def _boxes(x: float, y: float, width: float) -> dict[str, _Box]:
    half, line = width / 2, _OF_LINE
    return {
        "above": (x - half, y - _HALF - line, x + half, y - _HALF),
        "below": (x - half, y + _HALF, x + half, y + _HALF + line),
        "right": (x + _HALF, y - line / 2, x + _HALF + width, y + line / 2),
        "left": (x - _HALF - width, y - line / 2, x - _HALF, y + line / 2),
    }


def _cover(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
