"""Draw the Altair charts of a report from data frames.

The charts set neither colours nor sizes; the page or the notebook's theme sets both. A model has
the same colour and point shape in all charts, given by its position in `models`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlmetrics.report import chart_parts as parts
from sqlmetrics.report.labels import names_beside

if TYPE_CHECKING:
    import pandas as pd

    from sqlmetrics.report.chart_parts import Chart

_NUMBER = ".3~g"
_SHARE = ".1~%"
_TICKS = 8
_HAS_INTERVAL = "isValid(datum.ci_low)"
_ROW = 20  # height in pixels of one row, for charts whose height depends on the number of rows
WORSE, NOT_WORSE, NOT_TESTED = "significantly worse", "not significantly worse", "not tested"
NOT_WORSE_CORRECTED = "not significantly worse after correction"
_SHAPES = {WORSE: "circle", NOT_WORSE_CORRECTED: "square", NOT_WORSE: "diamond",
           NOT_TESTED: "cross"}  # fmt: skip
_MOST_BANDS = 4  # maximum number of models with bands; more bands would hide each other


def cutoffs(rows: pd.DataFrame, models: Sequence[str], metric: str) -> Chart:
    """Draw the values of one metric by cutoff.

    `rows` have the columns `model, k, value, ci_low, ci_high, n_users`.
    """
    alt = parts.altair()
    base = alt.Chart(parts.shortened(rows, "model", "k", "value", "ci_low", "ci_high", "n_users"))
    x = alt.X("k:Q", title="cutoff", scale=alt.Scale(zero=False, nice=False, padding=8))
    x = x.axis(values=sorted({int(k) for k in rows["k"]}), format="d", grid=False)
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False))
    color, shape = parts.of_model(models)
    band = (
        base.transform_filter(_HAS_INTERVAL)
        .mark_area(opacity=0.15)
        .encode(x, alt.Y("ci_low:Q", title=None), y2="ci_high:Q", color=color)
    )
    line = base.mark_line().encode(x, y, color=color)
    points = base.mark_point(filled=True, opacity=1, size=60).encode(
        x, y, color=color, shape=shape, tooltip=parts.tooltip("model", metric=metric)
    )
    layers = [band] if rows["model"].nunique() <= _MOST_BANDS else []
    return parts.layered(*layers, line, points)


def scores(rows: pd.DataFrame, models: Sequence[str], coloured: Sequence[str]) -> Chart:
    """Draw the value and interval of every model, with a menu to choose the metric.

    Models that are not in `coloured` are grey.
    """
    alt = parts.altair()
    metric = parts.choice("metric", "Metric", rows["label"])
    rows = rows.assign(coloured=rows["model"].isin(coloured))
    base = parts.chosen(
        rows, metric, "model", "coloured", "label", "value", "ci_low", "ci_high", "n_users"
    )
    color, shape = parts.of_some(coloured)
    y = parts.model_rows(models)
    x = alt.X("value:Q", title=None, scale=alt.Scale(zero=False, padding=12))
    x = x.axis(tickCount=_TICKS)
    interval = (
        base.transform_filter(_HAS_INTERVAL)
        .mark_rule(strokeWidth=2)
        .encode(alt.X("ci_low:Q", title=None), y, x2="ci_high:Q", color=color)
    )
    points = base.mark_point(filled=True, opacity=1, size=80).encode(
        x, y, color=color, shape=shape, tooltip=parts.tooltip("model", "label")
    )
    return parts.layered(interval, points).properties(height=alt.Step(_ROW + 8)).add_params(metric)


def against_best(rows: pd.DataFrame, models: Sequence[str]) -> Chart:
    """Draw the difference of every model to the best, with a menu to choose the metric.

    `rows` are those of `Study.from_best` with a column `verdict`.
    """
    alt = parts.altair()
    metric = parts.choice("metric", "Metric", rows["label"])
    base = parts.chosen(
        rows, metric, "model", "baseline", "label", "difference", "ci_low", "ci_high",
        "p_value", "p_adjusted", "verdict",
    )  # fmt: skip
    y = parts.model_rows([model for model in models if model in set(rows["model"])])
    title = "difference to the best model"
    shape = alt.Shape(
        "verdict:N",
        title=None,
        scale=alt.Scale(domain=list(_SHAPES), range=list(_SHAPES.values())),
        legend=alt.Legend(
            orient="top",
            labelLimit=320,
            values=[name for name in _SHAPES if name in set(rows["verdict"])],
        ),
    )
    interval = (
        base.transform_filter(_HAS_INTERVAL)
        .mark_rule(strokeWidth=2)
        .encode(alt.X("ci_low:Q", title=title), y, x2="ci_high:Q")
    )
    points = base.mark_point(filled=True, opacity=1, size=80).encode(
        alt.X("difference:Q", title=title).axis(tickCount=_TICKS),
        y,
        shape=shape,
        tooltip=[
            *parts.texts(model="model", baseline="best", label="metric"),
            *parts.numbers(difference="difference", ci_low="interval from", ci_high="to"),
            *parts.numbers(p_value="p", p_adjusted="corrected p"),
            *parts.texts(verdict="verdict"),
        ],
    )
    return (
        parts.layered(parts.zero("x"), interval, points)
        .properties(height=alt.Step(_ROW + 8))
        .add_params(metric)
    )


def distribution(rows: pd.DataFrame, models: Sequence[str]) -> Chart:
    """Draw histograms of per-user values, with menus to choose the metric and two models."""
    alt = parts.altair()
    metric = parts.choice("metric", "Metric", rows["label"])
    first = parts.choice("model", "Model", models)
    params = [metric, first]
    base = parts.chosen(rows, metric, "model", "label", "low", "high", "n_users", "share")
    x = alt.X("low:Q", bin="binned", title="per-user value")
    x = x.scale(zero=False, nice=False).axis(tickCount=_TICKS, grid=False)
    y = alt.Y("share:Q", title="share of users").axis(format=_SHARE)
    color, _ = parts.of_model(models, legend=False)
    stroke = alt.Stroke("model:N", scale=alt.Scale(domain=list(models)), legend=None)
    tooltip = [
        *parts.texts(model="model", label="metric"),
        *parts.numbers(low="from", high="to"),
        alt.Tooltip("n_users:Q", title="users", format=","),
        alt.Tooltip("share:Q", title="share", format=_SHARE),
    ]
    layers = [
        base.transform_filter("datum.model === model")
        .mark_bar(opacity=0.55, binSpacing=1)
        .encode(x, y, x2="high:Q", color=color, tooltip=tooltip)
    ]
    if len(models) > 1:
        other = parts.choice("other", "compared with", models, start=1)
        params.append(other)
        both = base.transform_filter("datum.model === other")
        layers.append(
            both.mark_bar(fillOpacity=0, strokeWidth=2, binSpacing=1).encode(
                x, y, x2="high:Q", stroke=stroke, tooltip=tooltip
            )
        )
    return parts.layered(*layers).add_params(*params)


def differences(rows: pd.DataFrame) -> Chart:
    """Draw histograms of per-user differences, with menus to choose the models and the metric.

    `rows` are those of `Study.difference_histograms` with the columns `pair`, the number of the
    pair of models, and `pair_name`.
    """
    alt = parts.altair()
    pair = parts.chosen_pair(rows)
    metric = parts.choice("metric", "Metric", rows["label"])
    base = parts.chosen(
        rows, metric, "pair", "pair_name", "label", "low", "high", "outcome", "n_users", "share"
    )
    base = base.transform_filter("datum.pair === pair")
    x = alt.X("low:Q", bin="binned", title="per-user difference")
    x = x.scale(zero=True, nice=False).axis(tickCount=_TICKS, grid=False)
    y = alt.Y("share:Q", title="share of users").axis(format=_SHARE)
    tooltip = [
        *parts.texts(pair_name="models", outcome="the first model is"),
        *parts.numbers(low="from", high="to"),
        alt.Tooltip("n_users:Q", title="users", format=","),
        alt.Tooltip("share:Q", title="share", format=_SHARE),
    ]
    bars = (
        base.transform_filter("datum.outcome !== 'equal'")
        .mark_bar(binSpacing=1)
        .encode(x, y, x2="high:Q", color=parts.of_outcome(), tooltip=tooltip)
    )
    equal = (
        base.transform_filter("datum.outcome === 'equal'")
        .mark_bar(size=6)
        .encode(
            alt.X("low:Q", title="per-user difference"),
            y,
            color=parts.of_outcome(),
            tooltip=tooltip,
        )
    )
    return parts.layered(bars, equal).add_params(pair, metric)


def wins(rows: pd.DataFrame) -> Chart:
    """Draw the shares of wins, ties and losses per slice, with a menu to choose the models.

    `rows` are those of `Study.wins` with the columns `pair`, the number of the pair of models, and
    `pair_name`.
    """
    import pandas as pd

    alt = parts.altair()
    counts = {"better": "wins", "equal": "ties", "worse": "losses"}
    long = pd.concat(
        [
            rows[["pair", "pair_name", "by", "slice", "n_users"]].assign(
                outcome=outcome, count=rows[column].astype(float), place=place
            )
            for place, (outcome, column) in enumerate(counts.items())
        ],
        ignore_index=True,
    )
    long = long[long["n_users"] > 0]
    long["share"] = long["count"] / long["n_users"].astype(float)
    long["where"] = [slice_ if not by else f"{by}: {slice_}"
                     for by, slice_ in zip(long["by"], long["slice"], strict=True)]  # fmt: skip
    pair = parts.chosen_pair(long)
    data = parts.shortened(
        long, "pair", "pair_name", "where", "outcome", "count", "share", "place", "n_users"
    )
    chart: Chart = (
        alt.Chart(data)
        .transform_filter("datum.pair === pair")
        .mark_bar()
        .encode(
            alt.X(
                "share:Q", title="share of users", stack="zero", scale=alt.Scale(domain=[0, 1])
            ).axis(format="%"),
            alt.Y("where:N", title=None, sort=list(dict.fromkeys(long["where"]))).axis(
                labelLimit=260
            ),
            color=parts.of_outcome(ascending=False),
            order=alt.Order("place:Q"),
            tooltip=[
                *parts.texts(pair_name="models", where="users", outcome="the first model is"),
                alt.Tooltip("count:Q", title="number of users", format=","),
                alt.Tooltip("share:Q", title="share", format=_SHARE),
            ],
        )
        .properties(height=alt.Step(_ROW + 4))
        .add_params(pair)
    )
    return chart


def slices(
    rows: pd.DataFrame, models: Sequence[str], name: str = "metric", zero: bool = False
) -> Chart:
    """Draw the value of every model in every slice, with a menu to choose the metric.

    `rows` have a column `slice` and are sorted by slice. `name` is the name of the menu's
    parameter, which must be unique where several of these charts are combined. `zero` draws a line
    at 0.
    """
    alt = parts.altair()
    metric = parts.choice(name, "Metric", rows["label"])
    base = parts.chosen(
        rows, metric, "model", "slice", "label", "value", "ci_low", "ci_high", "n_users"
    )
    x = alt.X("value:Q", title=None, scale=alt.Scale(zero=False, padding=12))
    x = x.axis(tickCount=_TICKS)
    tooltip = parts.tooltip("slice", "model", "label")
    layers = _in_rows(base, x, None, "slice", rows["slice"], models, tooltip)
    layers = [parts.zero("x"), *layers] if zero else layers
    return parts.layered(*layers).properties(height=_row_height(models)).add_params(metric)


def _in_rows(
    base: Any,
    x: Any,
    title: str | None,
    field: str,
    order: pd.Series[Any],
    models: Sequence[str],
    tooltip: list[Any],
) -> list[Chart]:
    """Draw intervals and points of all models, one below the other, in a row per value of a field.

    `x` encodes the points, and `title` is its title; the intervals are in the columns `ci_low` and
    `ci_high`.
    """
    alt = parts.altair()
    color, shape = parts.of_model(models)
    y = _rows_of(field, order)
    offset = alt.YOffset("model:N", sort=list(models), scale=alt.Scale(paddingOuter=0.3))
    interval = (
        base.transform_filter(_HAS_INTERVAL)
        .mark_rule(strokeWidth=2)
        .encode(alt.X("ci_low:Q", title=title), y, offset, x2="ci_high:Q", color=color)
    )
    points = base.mark_point(filled=True, opacity=1, size=60).encode(
        x, y, offset, color=color, shape=shape, tooltip=tooltip
    )
    return [interval, points]


def _rows_of(field: str, order: pd.Series[Any]) -> Any:
    """Return the axis with one row per value of a field, in the order of the values."""
    y = parts.altair().Y(f"{field}:N", title=None, sort=list(dict.fromkeys(order)))
    return y.axis(labelLimit=260, grid=True, tickBand="extent")


def _row_height(models: Sequence[str]) -> Any:
    return parts.altair().Step(max(28, 10 * len(models) + 8), **{"for": "position"})


def group_exposure(rows: pd.DataFrame, models: Sequence[str]) -> Chart:
    """Draw the exposure of groups of items, with their shares of the catalogue and the histories.

    `rows` are those of `Study.group_exposure` with named groups, sorted by group.
    """
    alt = parts.altair()
    title = "mean share of the exposure"
    x = alt.X("value:Q", title=title).axis(tickCount=_TICKS, format=_SHARE)
    share = alt.Tooltip("value:Q", title="share of the exposure", format=_SHARE)
    tooltip = [*parts.texts(group="group", model="model"), share, *_interval_of_shares()]
    base = alt.Chart(
        parts.shortened(rows, "group", "model", "value", "ci_low", "ci_high", "n_users")
    )
    groups = rows.drop_duplicates("group")
    y, layers = _rows_of("group", rows["group"]), []
    if groups["catalogue"].notna().any():
        known = alt.Chart(parts.shortened(groups, "group", "catalogue"))
        of = alt.Tooltip("catalogue:Q", title="share of the catalogue", format=_SHARE)
        layers.append(
            known.mark_bar(opacity=0.25, color=parts.GREY).encode(
                alt.X("catalogue:Q", title=title), y, tooltip=[*parts.texts(group="group"), of]
            )
        )
    if groups["history"].notna().any():
        known = alt.Chart(parts.shortened(groups, "group", "history"))
        of = alt.Tooltip("history:Q", title="share of the histories", format=_SHARE)
        layers.append(
            known.mark_tick(color=parts.GREY, thickness=2).encode(
                alt.X("history:Q", title=title), y, tooltip=[*parts.texts(group="group"), of]
            )
        )
    layers += _in_rows(base, x, title, "group", rows["group"], models, tooltip)
    return parts.layered(*layers).properties(height=_row_height(models))


def calibration(rows: pd.DataFrame, models: Sequence[str]) -> Chart:
    """Draw the differences of category shares between lists and histories.

    `rows` are those of `Study.calibration` with named groups, sorted by group.
    """
    alt = parts.altair()
    names = ("group", "model", "difference", "listed", "known", "ci_low", "ci_high", "n_users")
    title = "share in the lists − share in the histories"
    x = alt.X("difference:Q", title=title)
    x = x.scale(padding=12).axis(tickCount=_TICKS, format=_SHARE)
    tooltip = [
        *parts.texts(group="category", model="model"),
        alt.Tooltip("listed:Q", title="share in the lists", format=_SHARE),
        alt.Tooltip("known:Q", title="share in the histories", format=_SHARE),
        alt.Tooltip("difference:Q", title="difference", format=_SHARE),
        *_interval_of_shares(),
    ]
    base = alt.Chart(parts.shortened(rows, *names))
    layers = _in_rows(base, x, title, "group", rows["group"], models, tooltip)
    return parts.layered(parts.zero("x"), *layers).properties(height=_row_height(models))


def _interval_of_shares() -> list[Any]:
    alt = parts.altair()
    return [
        alt.Tooltip("ci_low:Q", title="interval from", format=_SHARE),
        alt.Tooltip("ci_high:Q", title="to", format=_SHARE),
        alt.Tooltip("n_users:Q", title="users", format=","),
    ]


def exposure(rows: pd.DataFrame, models: Sequence[str]) -> Chart:
    """Draw the Lorenz curves of all models; `rows` are those of `Study.exposure`."""
    import pandas as pd

    alt = parts.altair()
    names = ("model", "share_of_items", "share_of_recommendations", "gini")
    color, _ = parts.of_model(models)
    x = alt.X("share_of_items:Q", title="share of items, least recommended first")
    x = x.scale(domain=[0, 1]).axis(format="%")
    y = alt.Y("share_of_recommendations:Q", title="share of recommendations")
    y = y.scale(domain=[0, 1]).axis(format="%")
    ends = pd.DataFrame({"share_of_items": [0], "share_of_recommendations": [0], "end": [1]})
    diagonal = alt.Chart(ends).mark_rule(style="reference").encode(x, y, x2="end:Q", y2="end:Q")
    lines = (
        alt.Chart(parts.shortened(rows, *names))
        .mark_line(point=alt.OverlayMarkDef(size=40, opacity=0))
        .encode(
            x,
            y,
            color=color,
            order="share_of_items:Q",
            tooltip=[
                *parts.texts(model="model"),
                alt.Tooltip("share_of_items:Q", title="share of items", format=_SHARE),
                alt.Tooltip(
                    "share_of_recommendations:Q", title="share of recommendations", format=_SHARE
                ),
                *parts.numbers(gini="Gini coefficient"),
            ],
        )
    )
    return parts.layered(diagonal, lines)


def popularity(rows: pd.DataFrame, models: Sequence[str]) -> Chart:
    """Draw the share of recommendations by item popularity.

    `rows` have the columns `model`, `group` (text) and `share`, sorted by group. Rows with model
    None are those of the history.
    """
    alt = parts.altair()
    order = list(dict.fromkeys(rows["group"]))
    x = alt.X("group:N", sort=order, title="tenths of the items, most popular first")
    x = x.axis(labelAngle=0, labelOverlap=True)
    y = alt.Y("share:Q", title="share").axis(format="%")
    color, shape = parts.of_model(models)
    is_history = rows["model"].isna()
    history = alt.Chart(parts.shortened(rows[is_history], "group", "share"))
    steps = history.mark_bar(opacity=0.25, color=parts.GREY).encode(
        x, y, tooltip=[*parts.texts(group="items"),
                       alt.Tooltip("share:Q", title="share of the history", format=_SHARE)]
    )  # fmt: skip
    base = alt.Chart(parts.shortened(rows[~is_history], "model", "group", "share"))
    tooltip = [
        *parts.texts(model="model", group="items"),
        alt.Tooltip("share:Q", title="share of recommendations", format=_SHARE),
    ]
    line = base.mark_line(opacity=0.6).encode(x, y, color=color)
    points = base.mark_point(filled=True, opacity=1, size=60).encode(
        x, y, color=color, shape=shape, tooltip=tooltip
    )
    return parts.layered(steps, line, points)


def trade_off(
    rows: pd.DataFrame, models: Sequence[str], coloured: Sequence[str], accuracy: str
) -> Chart:
    """Draw the primary metric against another metric, with a menu to choose the other one.

    `rows` have the columns `model`, `label` and `value` of the other metric, and `accuracy`, the
    value of the primary metric. Models that are not in `coloured` are grey. Names are omitted where
    they would cover other points or names.
    """
    alt = parts.altair()
    metric = parts.choice("metric", "Other metric", rows["label"])
    rows = rows.assign(coloured=rows["model"].isin(coloured), side=_sides(rows, models))
    base = parts.chosen(rows, metric, "model", "coloured", "side", "label", "value", "accuracy")
    x = alt.X("accuracy:Q", title=accuracy, scale=alt.Scale(zero=False, padding=30))
    x = x.axis(tickCount=_TICKS)
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False, padding=20))
    color, shape = parts.of_some(coloured)
    points = base.mark_point(filled=True, opacity=1, size=110).encode(
        x,
        y,
        color=color,
        shape=shape,
        tooltip=[
            *parts.texts(model="model"),
            *parts.numbers(accuracy=accuracy),
            *parts.texts(label="other metric"),
            *parts.numbers(value="value"),
        ],
    )
    names = [
        base.transform_filter(f"datum.side === '{side}'")
        .mark_text(limit=140, **marks)
        .encode(x, y, text="model:N")
        for side, marks in _TEXTS.items()
        if side in set(rows["side"])
    ]
    chart = parts.layered(points, *names).add_params(metric)
    return chart.properties(height=_TALL) if len(models) > len(coloured) else chart


_TALL = 360
_TEXTS: Mapping[str, Mapping[str, Any]] = {
    "above": {"dy": -12},
    "below": {"dy": 16},
    "right": {"dx": 10, "align": "left"},
    "left": {"dx": -10, "align": "right"},
}


def _sides(rows: pd.DataFrame, models: Sequence[str]) -> list[str]:
    """Return for every point the side of its name; empty if there is no room."""
    order = {model: place for place, model in enumerate(models)}
    sides = dict.fromkeys(rows.index, "")
    for _, own in rows.sort_values("model", key=lambda names: names.map(order)).groupby("label"):
        points = list(zip(own["accuracy"], own["value"], own["model"], strict=True))
        sides |= dict(zip(own.index, names_beside(points), strict=True))
    return list(sides.values())
