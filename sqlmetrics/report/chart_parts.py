"""Parts that several charts of a report share: data, menus, scales, tooltips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlmetrics.errors import UsageError
from sqlmetrics.texts.wording import with_significant

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    Chart: TypeAlias = alt.Chart | alt.LayerChart

_EXACT = ".4~g"
GREY = "#858d97"  # of models without a colour, and of values to compare with
OUTCOMES = ("worse", "equal", "better")


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


def layered(*layers: Chart) -> Chart:
    """Draw charts on top of each other."""
    chart: Chart = altair().layer(*layers)
    return chart


def shortened(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Select columns and round their numbers to the precision visible in a chart."""
    short = rows[list(names)].copy()
    for name in short.columns:
        if str(short[name].dtype) in ("float64", "Float64"):
            short[name] = [
                None if value is None or value != value else with_significant(value, 6)
                for value in short[name].astype(object).where(short[name].notna(), None)
            ]
    return short


def of_model(models: Sequence[str], legend: bool = True) -> tuple[Any, Any]:
    """Return the colour and shape encodings of models, which all charts share."""
    alt = altair()
    where = alt.Legend(orient="top") if legend else None
    scale = alt.Scale(domain=list(models))
    color = alt.Color("model:N", title=None, scale=scale, legend=where, sort=list(models))
    shape = alt.Shape("model:N", title=None, scale=scale, legend=where, sort=list(models))
    return color, shape


def of_some(coloured: Sequence[str]) -> tuple[Any, Any]:
    """Return the colour and shape encodings of models of which some have a colour.

    The data must have the column `coloured`. The charts need no legend.
    """
    alt = altair()
    color, shape = of_model(coloured, legend=False)
    grey, circle = alt.value(GREY), alt.value("circle")
    return alt.condition("datum.coloured", color, grey), alt.condition(
        "datum.coloured", shape, circle
    )


def of_outcome(ascending: bool = True) -> Any:
    """Return the colour encoding of better, equal and worse."""
    alt = altair()
    scale = alt.Scale(domain=list(OUTCOMES), range="diverging")
    # in the order of the bars, from left to right
    values = list(OUTCOMES) if ascending else list(reversed(OUTCOMES))
    return alt.Color("outcome:N", title="the first model is", scale=scale,
                     legend=alt.Legend(orient="top", values=values))  # fmt: skip


def model_rows(models: Sequence[str]) -> Any:
    """Return the axis with one row per model, in the order given."""
    alt = altair()
    return alt.Y("model:N", title=None, sort=list(models)).axis(labelLimit=260)


def zero(channel: str) -> Chart:
    """Draw a line at 0 across a channel, "x" or "y"."""
    import pandas as pd

    alt = altair()
    rule = alt.Chart(pd.DataFrame({"zero": [0]})).mark_rule(style="reference")
    drawn: Chart = rule.encode(**{channel: "zero:Q"})
    return drawn


def choice(name: str, title: str, options: Any, start: int = 0) -> Any:
    """Return a parameter with a menu of text options."""
    alt = altair()
    known = list(dict.fromkeys(options))
    bound = alt.binding_select(options=known, name=title)
    return alt.param(name=name, value=known[min(start, len(known) - 1)], bind=bound)


def chosen(rows: pd.DataFrame, metric: Any, *names: str) -> Any:
    """Start a chart filtered to the metric that the reader chooses."""
    alt = altair()
    return alt.Chart(shortened(rows, *names)).transform_filter(f"datum.label === {metric.name}")


def chosen_pair(rows: pd.DataFrame) -> Any:
    """Return a parameter with a menu of model pairs."""
    alt = altair()
    names = dict(zip(rows["pair"], rows["pair_name"], strict=True))
    bound = alt.binding_select(options=list(names), labels=list(names.values()), name="Models")
    return alt.param(name="pair", value=next(iter(names)), bind=bound)


def texts(**titles: str) -> list[Any]:
    """Return the entries of a tooltip that are texts: column -> title."""
    alt = altair()
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in titles.items()]


def numbers(**titles: str) -> list[Any]:
    """Return the entries of a tooltip that are numbers: column -> title."""
    alt = altair()
    return [alt.Tooltip(f"{name}:Q", title=title, format=_EXACT) for name, title in titles.items()]


def tooltip(*names: str, metric: str = "value") -> list[Any]:
    """Return the tooltip of a value: named columns, value, interval and number of users."""
    alt = altair()
    titles: Mapping[str, str] = {"label": "metric"}
    own = [alt.Tooltip("k:Q", title="cutoff", format="d")] if "label" not in names else []
    return [
        *[alt.Tooltip(f"{name}:N", title=titles.get(name, name)) for name in names],
        *own,
        *numbers(value=metric, ci_low="interval from", ci_high="to"),
        alt.Tooltip("n_users:Q", title="users", format=","),
    ]
