"""The chart of a trend: the values of a metric over the runs of a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def chart_of_trend(trend: pd.DataFrame, metric: str, by: Sequence[str]) -> Any:
    """Draw a line with intervals for each model, convention and slice.

    Args:
        trend: the result of `sqlmetrics.trend`.
        metric: the title of the axis of values.
        by: the columns of slices.
    """
    import altair as alt

    from sqlmetrics.report.figures import parts

    several = [name for name in ("convention", "model") if trend[name].nunique() > 1]
    labels = trend[[*several, *by]].astype(str).agg(", ".join, axis=1)
    rows = trend.assign(model=labels if several or by else metric)
    columns = ("model", "run_at", *parts.VALUES)
    base = parts.chart_of(rows, *columns)
    x = alt.X("run_at:T", title="run (UTC)")
    y = alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False))
    low = alt.Y("ci_low:Q", title=metric)
    color, shape = parts.of_model(list(dict.fromkeys(rows["model"])), legend=bool(several or by))
    interval = base.transform_filter("isValid(datum.ci_low)").mark_rule()
    tips = parts.tooltip(rows, *columns)
    return parts.layered(
        interval.encode(x, low, y2="ci_high:Q", color=color),
        base.mark_line().encode(x, y, color=color),
        parts.points(base, 60, x, y, color=color, shape=shape, tooltip=tips),
    ).properties(width=640, height=300)
