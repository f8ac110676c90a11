"""Draw the Altair charts of a report from data frames.

The charts set neither colours nor sizes; the page or the notebook's theme sets both. A model has
the same colour and point shape in all charts, given by its position in `models`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlmetrics.errors import UsageError
from sqlmetrics.report.labels import names_beside
from sqlmetrics.wording import with_significant

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    Chart: TypeAlias = alt.Chart | alt.LayerChart

_NUMBER = ".3~g"
_EXACT = ".4~g"
_SHARE = ".1~%"
_TICKS = 8
_HAS_INTERVAL = "isValid(datum.ci_low)"
_ROW = 20  # height in pixels of one row, for charts whose height depends on the number of rows
OUTCOMES = ("worse", "equal", "better")
WORSE, NOT_WORSE, NOT_TESTED = "significantly worse", "not significantly worse", "not tested"
NOT_WORSE_CORRECTED = "not significantly worse after correction"
_SHAPES = {WORSE: "circle", NOT_WORSE_CORRECTED: "square", NOT_WORSE: "diamond",
           NOT_TESTED: "cross"}  # fmt: skip
_MOST_BANDS = 4  # maximum number of models with bands; more bands would hide each other
_GREY = "#858d97"  # of models without a colour


def altair() -> Any:
    """Import Altair.

    Raises:
        UsageError: Altair is not installed.
    """
    try:
        import altair
    except ImportError as error:
        raise UsageError(
            f"charts need altair, which cannot be imported ({error}); run "
            "pip install 'sqlmetrics[report]'"
        ) from error
    return altair


def cutoffs(rows: pd.DataFrame, models: Sequence[str], metric: str) -> Chart:
    """Draw the values of one metric by cutoff.

    `rows` have the columns `model, k, value, ci_low, ci_high, n_users`.
    """
    alt = altair()
    base = alt.Chart(_data(rows, "model", "k", "value", "ci_low", "ci_high", "n_users"))
    x = alt.X("k:Q", title="cutoff", scale=alt.Scale(zero=False, nice=False, padding=8))
    x = x.axis(values=sorted({int(k) for k in rows["k"]}), format="d", grid=False)
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False))
    color, shape = _of_model(models)
    band = (
        base.transform_filter(_HAS_INTERVAL)
        .mark_area(opacity=0.15)
        .encode(x, alt.Y("ci_low:Q", title=None), y2="ci_high:Q", color=color)
    )
    line = base.mark_line().encode(x, y, color=color)
    points = base.mark_point(filled=True, opacity=1, size=60).encode(
        x, y, color=color, shape=shape, tooltip=_tooltip("model", metric=metric)
    )
    layers = [band] if rows["model"].nunique() <= _MOST_BANDS else []
    return _layered(*layers, line, points)


def scores(rows: pd.DataFrame, models: Sequence[str], coloured: Sequence[str]) -> Chart:
    """Draw the value and interval of every model, with a menu to choose the metric.

    Models that are not in `coloured` are grey.
    """
    alt = altair()
    metric = _choice("metric", "Metric", rows["label"])
    rows = rows.assign(coloured=rows["model"].isin(coloured))
    base = _chosen(
        rows, metric, "model", "coloured", "label", "value", "ci_low", "ci_high", "n_users"
    )
    color, shape = _of_some(coloured)
    y = _rows(models)
    x = alt.X("value:Q", title=None, scale=alt.Scale(zero=False, padding=12))
    x = x.axis(tickCount=_TICKS)
    interval = (
        base.transform_filter(_HAS_INTERVAL)
        .mark_rule(strokeWidth=2)
        .encode(alt.X("ci_low:Q", title=None), y, x2="ci_high:Q", color=color)
    )
    points = base.mark_point(filled=True, opacity=1, size=80).encode(
        x, y, color=color, shape=shape, tooltip=_tooltip("model", "label")
    )
    return _layered(interval, points).properties(height=alt.Step(_ROW + 8)).add_params(metric)


def against_best(rows: pd.DataFrame, models: Sequence[str]) -> Chart:
    """Draw the difference of every model to the best, with a menu to choose the metric.

    `rows` are those of `Study.from_best` with a column `verdict`.
    """
    alt = altair()
    metric = _choice("metric", "Metric", rows["label"])
    base = _chosen(
        rows, metric, "model", "baseline", "label", "difference", "ci_low", "ci_high",
        "p_value", "p_adjusted", "verdict",
    )  # fmt: skip
    y = _rows([model for model in models if model in set(rows["model"])])
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
            *_texts(model="model", baseline="best", label="metric"),
            *_numbers(difference="difference", ci_low="interval from", ci_high="to"),
            *_numbers(p_value="p", p_adjusted="corrected p"),
            *_texts(verdict="verdict"),
        ],
    )
    return (
        _layered(_zero("x"), interval, points)
        .properties(height=alt.Step(_ROW + 8))
        .add_params(metric)
    )


def distribution(rows: pd.DataFrame, models: Sequence[str]) -> Chart:
    """Draw histograms of per-user values, with menus to choose the metric and two models."""
    alt = altair()
    metric = _choice("metric", "Metric", rows["label"])
    first = _choice("model", "Model", models)
    params = [metric, first]
    base = _chosen(rows, metric, "model", "label", "low", "high", "n_users", "share")
    x = alt.X("low:Q", bin="binned", title="per-user value")
    x = x.scale(zero=False, nice=False).axis(tickCount=_TICKS, grid=False)
    y = alt.Y("share:Q", title="share of users").axis(format=_SHARE)
    color, _ = _of_model(models, legend=False)
    stroke = alt.Stroke("model:N", scale=alt.Scale(domain=list(models)), legend=None)
    tooltip = [
        *_texts(model="model", label="metric"),
        *_numbers(low="from", high="to"),
        alt.Tooltip("n_users:Q", title="users", format=","),
        alt.Tooltip("share:Q", title="share", format=_SHARE),
    ]
    layers = [
        base.transform_filter("datum.model === model")
        .mark_bar(opacity=0.55, binSpacing=1)
        .encode(x, y, x2="high:Q", color=color, tooltip=tooltip)
    ]
    if len(models) > 1:
        other = _choice("other", "compared with", models, start=1)
        params.append(other)
        both = base.transform_filter("datum.model === other")
        layers.append(
            both.mark_bar(fillOpacity=0, strokeWidth=2, binSpacing=1).encode(
                x, y, x2="high:Q", stroke=stroke, tooltip=tooltip
            )
        )
    return _layered(*layers).add_params(*params)


def differences(rows: pd.DataFrame) -> Chart:
    """Draw histograms of per-user differences, with menus to choose the models and the metric.

    `rows` are those of `Study.difference_histograms` with the columns `pair`, the number of the
    pair of models, and `pair_name`.
    """
    alt = altair()
    pair = _chosen_pair(rows)
    metric = _choice("metric", "Metric", rows["label"])
    base = _chosen(
        rows, metric, "pair", "pair_name", "label", "low", "high", "outcome", "n_users", "share"
    )
    base = base.transform_filter("datum.pair === pair")
    x = alt.X("low:Q", bin="binned", title="per-user difference")
    x = x.scale(zero=True, nice=False).axis(tickCount=_TICKS, grid=False)
    y = alt.Y("share:Q", title="share of users").axis(format=_SHARE)
    tooltip = [
        *_texts(pair_name="models", outcome="the first model is"),
        *_numbers(low="from", high="to"),
        alt.Tooltip("n_users:Q", title="users", format=","),
        alt.Tooltip("share:Q", title="share", format=_SHARE),
    ]
    bars = (
        base.transform_filter("datum.outcome !== 'equal'")
        .mark_bar(binSpacing=1)
        .encode(x, y, x2="high:Q", color=_of_outcome(), tooltip=tooltip)
    )
    equal = (
        base.transform_filter("datum.outcome === 'equal'")
        .mark_bar(size=6)
        .encode(
            alt.X("low:Q", title="per-user difference"), y, color=_of_outcome(), tooltip=tooltip
        )
    )
    return _layered(bars, equal).add_params(pair, metric)


def wins(rows: pd.DataFrame) -> Chart:
    """Draw the shares of wins, ties and losses per slice, with a menu to choose the models.

    `rows` are those of `Study.wins` with the columns `pair`, the number of the pair of models, and
    `pair_name`.
    """
    import pandas as pd

    alt = altair()
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
    pair = _chosen_pair(long)
    data = _data(
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
            color=_of_outcome(ascending=False),
            order=alt.Order("place:Q"),
            tooltip=[
                *_texts(pair_name="models", where="users", outcome="the first model is"),
                alt.Tooltip("count:Q", title="number of users", format=","),
                alt.Tooltip("share:Q", title="share", format=_SHARE),
            ],
        )
        .properties(height=alt.Step(_ROW + 4))
        .add_params(pair)
    )
    return chart


def slices(rows: pd.DataFrame, models: Sequence[str], name: str = "metric") -> Chart:
    """Draw the value of every model in every slice, with a menu to choose the metric.

    `rows` have a column `slice` and are sorted by slice. `name` is the name of the menu's
    parameter, which must be unique where several of these charts are combined.
    """
    alt = altair()
    metric = _choice(name, "Metric", rows["label"])
    base = _chosen(rows, metric, "model", "slice", "label", "value", "ci_low", "ci_high", "n_users")
    color, shape = _of_model(models)
    y = alt.Y("slice:N", title=None, sort=list(dict.fromkeys(rows["slice"])))
    y = y.axis(labelLimit=260, grid=True, tickBand="extent")
    offset = alt.YOffset("model:N", sort=list(models), scale=alt.Scale(paddingOuter=0.3))
    x = alt.X("value:Q", title=None, scale=alt.Scale(zero=False, padding=12))
    x = x.axis(tickCount=_TICKS)
    interval = (
        base.transform_filter(_HAS_INTERVAL)
        .mark_rule(strokeWidth=2)
        .encode(alt.X("ci_low:Q", title=None), y, offset, x2="ci_high:Q", color=color)
    )
    points = base.mark_point(filled=True, opacity=1, size=60).encode(
        x, y, offset, color=color, shape=shape, tooltip=_tooltip("slice", "model", "label")
    )
    height = alt.Step(max(28, 10 * len(models) + 8), **{"for": "position"})
    return _layered(interval, points).properties(height=height).add_params(metric)


def exposure(rows: pd.DataFrame, models: Sequence[str]) -> Chart:
    """Draw the Lorenz curves of all models; `rows` are those of `Study.exposure`."""
    import pandas as pd

    alt = altair()
    names = ("model", "share_of_items", "share_of_recommendations", "gini")
    color, _ = _of_model(models)
    x = alt.X("share_of_items:Q", title="share of items, least recommended first")
    x = x.scale(domain=[0, 1]).axis(format="%")
    y = alt.Y("share_of_recommendations:Q", title="share of recommendations")
    y = y.scale(domain=[0, 1]).axis(format="%")
    ends = pd.DataFrame({"share_of_items": [0], "share_of_recommendations": [0], "end": [1]})
    diagonal = alt.Chart(ends).mark_rule(style="reference").encode(x, y, x2="end:Q", y2="end:Q")
    lines = (
        alt.Chart(_data(rows, *names))
        .mark_line(point=alt.OverlayMarkDef(size=40, opacity=0))
        .encode(
            x,
            y,
            color=color,
            order="share_of_items:Q",
            tooltip=[
                *_texts(model="model"),
                alt.Tooltip("share_of_items:Q", title="share of items", format=_SHARE),
                alt.Tooltip(
                    "share_of_recommendations:Q", title="share of recommendations", format=_SHARE
                ),
                *_numbers(gini="Gini coefficient"),
            ],
        )
    )
    return _layered(diagonal, lines)


def popularity(rows: pd.DataFrame, models: Sequence[str]) -> Chart:
    """Draw the share of recommendations by item popularity.

    `rows` have the columns `model`, `group` (text) and `share`, sorted by group. Rows with model
    None are those of the history.
    """
    alt = altair()
    order = list(dict.fromkeys(rows["group"]))
    x = alt.X("group:N", sort=order, title="tenths of the items, most popular first")
    x = x.axis(labelAngle=0, labelOverlap=True)
    y = alt.Y("share:Q", title="share").axis(format="%")
    color, shape = _of_model(models)
    is_history = rows["model"].isna()
    history = alt.Chart(_data(rows[is_history], "group", "share"))
    steps = history.mark_bar(opacity=0.25, style="reference").encode(
        x, y, tooltip=[*_texts(group="items"),
                       alt.Tooltip("share:Q", title="share of the history", format=_SHARE)]
    )  # fmt: skip
    base = alt.Chart(_data(rows[~is_history], "model", "group", "share"))
    tooltip = [
        *_texts(model="model", group="items"),
        alt.Tooltip("share:Q", title="share of recommendations", format=_SHARE),
    ]
    line = base.mark_line(opacity=0.6).encode(x, y, color=color)
    points = base.mark_point(filled=True, opacity=1, size=60).encode(
        x, y, color=color, shape=shape, tooltip=tooltip
    )
    return _layered(steps, line, points)


def trade_off(
    rows: pd.DataFrame, models: Sequence[str], coloured: Sequence[str], accuracy: str
) -> Chart:
    """Draw the primary metric against another metric, with a menu to choose the other one.

    `rows` have the columns `model`, `label` and `value` of the other metric, and `accuracy`, the
    value of the primary metric. Models that are not in `coloured` are grey. Names are omitted where
    they would cover other points or names.
    """
    alt = altair()
    metric = _choice("metric", "Other metric", rows["label"])
    rows = rows.assign(coloured=rows["model"].isin(coloured), side=_sides(rows, models))
    base = _chosen(rows, metric, "model", "coloured", "side", "label", "value", "accuracy")
    x = alt.X("accuracy:Q", title=accuracy, scale=alt.Scale(zero=False, padding=30))
    x = x.axis(tickCount=_TICKS)
    y = alt.Y("value:Q", title=None, scale=alt.Scale(zero=False, padding=20))
    color, shape = _of_some(coloured)
    points = base.mark_point(filled=True, opacity=1, size=110).encode(
        x,
        y,
        color=color,
        shape=shape,
        tooltip=[
            *_texts(model="model"),
            *_numbers(accuracy=accuracy),
            *_texts(label="other metric"),
            *_numbers(value="value"),
        ],
    )
    names = [
        base.transform_filter(f"datum.side === '{side}'")
        .mark_text(limit=140, **marks)
        .encode(x, y, text="model:N")
        for side, marks in _TEXTS.items()
        if side in set(rows["side"])
    ]
    chart = _layered(points, *names).add_params(metric)
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


# ---- parts of charts ----------------------------------------------------------------------------


def _layered(*layers: Chart) -> Chart:
    chart: Chart = altair().layer(*layers)
    return chart


def _data(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Select columns and round their numbers to the precision visible in a chart."""
    short = rows[list(names)].copy()
    for name in short.columns:
        if str(short[name].dtype) in ("float64", "Float64"):
            short[name] = [
                None if value is None or value != value else with_significant(value, 6)
                for value in short[name].astype(object).where(short[name].notna(), None)
            ]
    return short


def _of_model(models: Sequence[str], legend: bool = True) -> tuple[Any, Any]:
    """Return the colour and shape encodings of models, which all charts share."""
    alt = altair()
    where = alt.Legend(orient="top") if legend else None
    scale = alt.Scale(domain=list(models))
    color = alt.Color("model:N", title=None, scale=scale, legend=where, sort=list(models))
    shape = alt.Shape("model:N", title=None, scale=scale, legend=where, sort=list(models))
    return color, shape


def _of_some(coloured: Sequence[str]) -> tuple[Any, Any]:
    """Return the colour and shape encodings of models of which some have a colour.

    The data must have the column `coloured`. The charts need no legend.
    """
    alt = altair()
    color, shape = _of_model(coloured, legend=False)
    grey, circle = alt.value(_GREY), alt.value("circle")
    return alt.condition("datum.coloured", color, grey), alt.condition(
        "datum.coloured", shape, circle
    )


def _of_outcome(ascending: bool = True) -> Any:
    alt = altair()
    scale = alt.Scale(domain=list(OUTCOMES), range="diverging")
    # in the order of the bars, from left to right
    values = list(OUTCOMES) if ascending else list(reversed(OUTCOMES))
    return alt.Color("outcome:N", title="the first model is", scale=scale,
                     legend=alt.Legend(orient="top", values=values))  # fmt: skip


def _rows(models: Sequence[str]) -> Any:
    alt = altair()
    return alt.Y("model:N", title=None, sort=list(models)).axis(labelLimit=260)


def _zero(channel: str) -> Chart:
    import pandas as pd

    alt = altair()
    rule = alt.Chart(pd.DataFrame({"zero": [0]})).mark_rule(style="reference")
    drawn: Chart = rule.encode(**{channel: "zero:Q"})
    return drawn


def _choice(name: str, title: str, options: Any, start: int = 0) -> Any:
    """Return a parameter with a menu of text options."""
    alt = altair()
    known = list(dict.fromkeys(options))
    bound = alt.binding_select(options=known, name=title)
    return alt.param(name=name, value=known[min(start, len(known) - 1)], bind=bound)


def _chosen(rows: pd.DataFrame, metric: Any, *names: str) -> Any:
    """Start a chart filtered to the metric that the reader chooses."""
    alt = altair()
    return alt.Chart(_data(rows, *names)).transform_filter(f"datum.label === {metric.name}")


def _chosen_pair(rows: pd.DataFrame) -> Any:
    """Return a parameter with a menu of model pairs."""
    alt = altair()
    names = dict(zip(rows["pair"], rows["pair_name"], strict=True))
    bound = alt.binding_select(options=list(names), labels=list(names.values()), name="Models")
    return alt.param(name="pair", value=next(iter(names)), bind=bound)


def _texts(**titles: str) -> list[Any]:
    alt = altair()
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in titles.items()]


def _numbers(**titles: str) -> list[Any]:
    alt = altair()
    return [alt.Tooltip(f"{name}:Q", title=title, format=_EXACT) for name, title in titles.items()]


def _tooltip(*names: str, metric: str = "value") -> list[Any]:
    """Return the tooltip of a value: named columns, value, interval and number of users."""
    alt = altair()
    titles: Mapping[str, str] = {"label": "metric"}
    own = [alt.Tooltip("k:Q", title="cutoff", format="d")] if "label" not in names else []
    return [
        *[alt.Tooltip(f"{name}:N", title=titles.get(name, name)) for name in names],
        *own,
        *_numbers(value=metric, ci_low="interval from", ci_high="to"),
        alt.Tooltip("n_users:Q", title="users", format=","),
    ]
