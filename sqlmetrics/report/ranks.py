"""The chart of mean ranks over datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlmetrics.stats.ranks import Ranks


def chart_of_ranks(ranks: Ranks) -> Any:
    """Draw the mean ranks of every metric, best model first, ± half the critical difference.

    Two models differ by at least the critical difference if their intervals do not overlap.
    """
    import altair as alt
    import pandas as pd

    from sqlmetrics.report.figures import parts

    half, charts = ranks.critical_difference / 2, []
    title = "mean rank ± half the critical difference"
    for metric, of in ranks.metrics.items():
        values = pd.Series(of.means, name="value").sort_values(kind="stable")
        rows = values.rename_axis("model").reset_index()
        rows = rows.assign(ci_low=rows["value"] - half, ci_high=rows["value"] + half)
        columns = ("model", "value", "ci_low", "ci_high")
        base = parts.chart_of(rows, *columns)
        x = alt.X("value:Q", title=title, scale=alt.Scale(zero=False, padding=12))
        y = parts.rows_of("model", rows["model"], grid=True)
        tips = parts.tooltip(rows, *columns, value="mean rank")
        layers = parts.intervals(base, y, title), parts.points(base, 60, x, y, tooltip=tips)
        heading = f"{metric}, Friedman p = {of.friedman_p:.2g}"
        height = alt.Step(parts.ROW)
        charts.append(parts.layered(*layers).properties(title=heading, width=480, height=height))
    return alt.vconcat(*charts)
