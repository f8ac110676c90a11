"""The critical difference diagram of mean ranks over datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sqlmetrics.stats.ranks import Ranks

_AXIS, _BAR, _ROW = 40, 12, 20  # pixels from the top to the axis, and heights of bars and labels
_WIDTH = 480


def chart_of_ranks(ranks: Ranks) -> Any:
    """Draw a critical difference diagram (Demšar 2006) of every metric.

    A line leads from the mean rank of each model, on the axis, to its name: the better half of the
    models at the left, the others at the right. Thick bars join models without a significant
    difference.
    """
    import altair as alt

    diagrams = alt.vconcat(*(_diagram(ranks, metric) for metric in ranks.metrics), spacing=30)
    return diagrams.configure_view(stroke=None)


def _diagram(ranks: Ranks, metric: str) -> Any:
    import altair as alt
    import pandas as pd

    from sqlmetrics.report.figures import parts

    of, difference = ranks.metrics[metric], ranks.critical_difference
    bars = _rows_of_bars([of.span(group) for group in ranks.groups(metric)])
    first = _AXIS + _BAR * (1 + max((bar["row"] for bar in bars), default=0)) + _ROW
    order = of.from_best()
    n_left = (len(order) + 1) // 2
    lines = pd.DataFrame(
        {
            "model": model,
            "mean": of.means[model],
            "label": f"{model} ({of.means[model]:.2f})",
            "is_left": place < n_left,
            "axis": _AXIS,
            # the lines to the names do not cross: those of the outer models are above
            "y": first + _ROW * min(place, len(order) - 1 - place),
        }
        for place, model in enumerate(order)
    )
    height = int(lines["y"].max()) + _ROW // 2
    joined = pd.DataFrame(
        {"low": bar["low"], "high": bar["high"], "y": _AXIS + _BAR * (1 + bar["row"])}
        for bar in bars
    )
    critical = pd.DataFrame(
        [{"low": 1, "high": 1 + difference, "y": 8, "label": f"CD = {difference:.3f}"}]
    )

    scale = alt.Scale(domain=[1, max(len(order), 1 + difference)], nice=False, zero=False)
    ticks = alt.Axis(
        orient="top", offset=-_AXIS, values=list(range(1, len(order) + 1)), format="d", grid=False,
        title=None, labelFlush=False,
    )  # fmt: skip

    def x(field: str) -> Any:
        return alt.X(f"{field}:Q", scale=scale, axis=ticks)

    def y(field: str) -> Any:
        return alt.Y(f"{field}:Q", scale=alt.Scale(domain=[height, 0], nice=False), axis=None)

    tips = parts.tooltip(lines, "model", "mean", mean="mean rank")
    layers = [alt.Chart(lines).mark_rule().encode(x("mean"), y("axis"), y2="y:Q", tooltip=tips)]
    sides: list[tuple[str, int, int, Literal["left", "right"]]] = [
        ("datum.is_left", -6, -10, "right"),
        ("!datum.is_left", _WIDTH + 6, _WIDTH + 10, "left"),
    ]
    for side, end, edge, align in sides:
        base = alt.Chart(lines).transform_filter(side)
        layers += [
            base.mark_rule().encode(x("mean"), y("y"), x2=alt.value(end)),
            base.mark_text(align=align, limit=260).encode(
                x=alt.value(edge), y=y("y"), text="label:N", tooltip=tips
            ),
        ]
    if bars:
        layers.append(
            alt.Chart(joined).mark_rule(strokeWidth=5).encode(x("low"), y("y"), x2="high:Q")
        )
    layers += [
        alt.Chart(critical).mark_rule(strokeWidth=2).encode(x("low"), y("y"), x2="high:Q"),
        alt.Chart(critical).mark_text(align="left", dx=6).encode(x("high"), y("y"), text="label:N"),
    ]
    p = f"Iman-Davenport p = {of.iman_davenport_p:.2g}"  # of the test that the bars depend on
    heading = f"{metric}: mean ranks, 1 is the best ({p})"
    return parts.layered(*layers).properties(title=heading, width=_WIDTH, height=height)


def _rows_of_bars(spans: list[tuple[float, float]]) -> list[dict[str, Any]]:
    """Give bars, from the left, the first row in which they touch no other."""
    ends: list[float] = []
    bars = []
    for low, high in spans:
        row = next((row for row, end in enumerate(ends) if end < low), len(ends))
        ends[row : row + 1] = [high]
        bars.append({"low": low, "high": high, "row": row})
    return bars
