"""Parts of charts that several figures share: data, menus, scales, marks and tooltips.

The charts set neither colours nor sizes; the page or the notebook's theme sets both. A model has
the same colour and point shape in all charts, given by its position among the models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import altair as alt
import pandas as pd

from sqlmetrics.texts.wording import with_significant

Chart: TypeAlias = alt.Chart | alt.LayerChart

SHARE = ".1~%"
TICKS = 8
ROW = 20  # height in pixels of one row, for charts whose height depends on the number of rows
GREY = "#858d97"  # of models without a colour, and of values to compare with
OUTCOMES = ("worse", "equal", "better")
VALUES = ("value", "ci_low", "ci_high", "n_users")
# columns and their titles in tables and tooltips, where a figure has no other title
TITLES = {
    "label": "metric", "k": "cutoff", "n_users": "users", "count": "number of users",
    "ci_low": "interval from", "ci_high": "to", "p_value": "p", "p_adjusted": "corrected p",
    "low": "from", "high": "to", "wins": "better for", "ties": "equal for", "losses": "worse for",
    "baseline": "compared with", "pair_name": "models", "outcome": "the first model is",
    "share_of_items": "share of items", "share_of_recommendations": "share of recommendations",
    "gini": "Gini coefficient", "listed": "share in the lists", "known": "share in the histories",
    "history": "share of the histories", "catalogue": "share of the catalogue",
}  # fmt: skip
_FORMATS = {
    "n_users": ",", "count": ",", "k": "d", "share": SHARE, "share_of_items": SHARE,
    "share_of_recommendations": SHARE,
}  # fmt: skip


def chart_of(rows: pd.DataFrame, *names: str) -> alt.Chart:
    """Start a chart of these columns, with the precision that is visible in a chart."""
    short = rows[list(names)].copy()
    for name in short.select_dtypes("float"):
        short[name] = short[name].map(lambda value: with_significant(value, 6), na_action="ignore")
    return alt.Chart(short)


def menu(name: str, title: str, options: Any, start: int = 0) -> alt.Parameter:
    """Return a parameter with a menu of text options."""
    known = list(dict.fromkeys(options))
    bound = alt.binding_select(options=known, name=title)
    return alt.param(name=name, value=known[min(start, len(known) - 1)], bind=bound)


def metric_menu(rows: pd.DataFrame, title: str = "Metric", name: str = "metric") -> alt.Parameter:
    """Return a parameter with a menu of the metrics of these rows."""
    return menu(name, title, rows["label"])


def of_metric(rows: pd.DataFrame, metric: alt.Parameter, *names: str) -> alt.Chart:
    """Start a chart filtered to the metric that the reader chooses."""
    return chart_of(rows, *names).transform_filter(f"datum.label === {metric.name}")


def with_pairs(rows: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Number and name the pairs of models, starting with the best models."""
    rows = rows.assign(pair_name=rows["model"] + " − " + rows["baseline"])
    places = {model: place for place, model in enumerate(models)}
    keys = rows[["model", "baseline"]].map(places.__getitem__)
    return (
        rows.assign(pair=keys.groupby(["model", "baseline"]).ngroup())
        .sort_values("pair", kind="stable")
        .reset_index(drop=True)
    )


def pair_menu(rows: pd.DataFrame) -> alt.Parameter:
    """Return a parameter with a menu of model pairs."""
    names = dict(zip(rows["pair"], rows["pair_name"], strict=True))
    bound = alt.binding_select(options=list(names), labels=list(names.values()), name="Models")
    return alt.param(name="pair", value=next(iter(names)), bind=bound)


def of_model(models: Sequence[str], legend: bool = True) -> tuple[alt.Color, alt.Shape]:
    """Return the colour and shape encodings of models, which all charts share."""
    options: dict[str, Any] = {
        "title": None,
        "scale": alt.Scale(domain=list(models)),
        "legend": alt.Legend(orient="top") if legend else None,
        "sort": list(models),
    }
    return alt.Color("model:N", **options), alt.Shape("model:N", **options)


def of_some(coloured: Sequence[str]) -> tuple[Any, Any]:
    """Return the colour and shape encodings of models of which some have a colour.

    The data must have the column `coloured`. The charts need no legend.
    """
    color, shape = of_model(coloured, legend=False)
    return (
        alt.condition("datum.coloured", color, alt.value(GREY)),
        alt.condition("datum.coloured", shape, alt.value("circle")),
    )


def of_outcome(ascending: bool = True) -> alt.Color:
    """Return the colour encoding of better, equal and worse."""
    # in the order of the bars, from left to right
    values = OUTCOMES if ascending else OUTCOMES[::-1]
    return alt.Color(
        "outcome:N",
        title="the first model is",
        scale=alt.Scale(domain=list(OUTCOMES), range="diverging"),
        legend=alt.Legend(orient="top", values=list(values)),
    )


def rows_of(field: str, order: Iterable[str], **axis: Any) -> alt.Y:
    """Return the axis with one row per value of a field, in the order given."""
    rows = alt.Y(f"{field}:N", title=None, sort=list(dict.fromkeys(order)))
    return rows.axis(labelLimit=260, **axis)


VALUE = "value"  # title of the axis of a metric that the heading or a menu names


def value_axis() -> alt.X:
    """Return the axis of the values of metrics, which does not start at 0."""
    x = alt.X("value:Q", title=VALUE, scale=alt.Scale(zero=False, padding=12))
    return x.axis(tickCount=TICKS)


def intervals(base: alt.Chart, y: alt.Y, title: str | None, **encoding: Any) -> Any:
    """Draw the intervals from `ci_low` to `ci_high`, in rows."""
    rule: Any = base.transform_filter("isValid(datum.ci_low)").mark_rule(strokeWidth=2)
    return rule.encode(alt.X("ci_low:Q", title=title), y, x2="ci_high:Q", **encoding)


def points(base: alt.Chart, size: int, *encodings: Any, **more: Any) -> Any:
    """Draw filled points."""
    return base.mark_point(filled=True, opacity=1, size=size).encode(*encodings, **more)


def layered(*layers: Any) -> Any:
    """Draw charts on top of each other; Altair has no types for what is done with the result."""
    return alt.layer(*layers)


def in_rows(
    base: alt.Chart, x: alt.X, title: str | None, field: str, order: pd.Series[Any],
    models: Sequence[str], tips: list[alt.Tooltip], below: Iterable[alt.Chart] = (),
) -> Any:  # fmt: skip
    """Draw intervals and points of all models, one below the other, in a row per value of a field.

    Args:
        base: the chart, whose data have the columns `ci_low` and `ci_high`.
        x: the values of the points.
        title: the title of `x`.
        field: the column with the rows of the chart.
        order: the values of `field`, in the order of the rows.
        models: the models, which have a colour.
        tips: the tooltip of the points.
        below: further layers, below these.
    """
    color, shape = of_model(models)
    y = rows_of(field, order, grid=True, tickBand="extent")
    offset = alt.YOffset("model:N", sort=list(models), scale=alt.Scale(paddingOuter=0.3))
    return layered(
        *below,
        intervals(base, y, title, color=color, yOffset=offset),
        points(base, 60, x, y, offset, color=color, shape=shape, tooltip=tips),
    ).properties(height=alt.Step(max(28, 10 * len(models) + 8), **{"for": "position"}))


def zero_line() -> Any:
    """Draw a vertical line at 0."""
    return alt.Chart(pd.DataFrame({"zero": [0]})).mark_rule(style="reference").encode(x="zero:Q")


def tooltip(
    rows: pd.DataFrame, *columns: str, number: str = ".4~g", **titles: str
) -> list[alt.Tooltip]:
    """Return a tooltip: texts, counts, shares as per cent, and other numbers in a format."""
    titles = {**TITLES, **titles}
    return [
        alt.Tooltip(f"{name}:Q", title=titles.get(name, name), format=_FORMATS.get(name, number))
        if pd.api.types.is_numeric_dtype(rows[name])
        else alt.Tooltip(f"{name}:N", title=titles.get(name, name))
        for name in columns
    ]
