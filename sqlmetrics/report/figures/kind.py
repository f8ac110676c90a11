"""The base of all figures: what a kind of figure is, and how the page and notebooks get it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from sqlmetrics.errors import UsageError
from sqlmetrics.report.analysis import Study
from sqlmetrics.report.content import Cell, Figure, FigureTable
from sqlmetrics.report.figures.parts import TITLES, Chart
from sqlmetrics.report.limits import HEARD, ROWS, SHOWN, best_models

_HEIGHT, _WIDTH = 220, 480


class Kind(ABC):
    """A kind of figure: its query, its sentences and its charts.

    Attributes:
        name: the name of the kind.
        needs: what to pass if there is nothing to draw, for `Evaluator.plot`.
        most, verb: the maximum number of models, and what happens to them, for the note.
        missing: the title and the tables that a note on the page names if there is nothing to draw.
    """

    name: str
    needs: str
    missing: tuple[str, str] | None = None
    most: int = SHOWN
    verb: str = "shown"

    @abstractmethod
    def rows(self, study: Study) -> pd.DataFrame:
        """Return the data, which are empty without the tables that they need."""

    @abstractmethod
    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        """Draw the figures from rows of the best models; `note` counts the other models."""

    def __call__(self, study: Study) -> list[Drawn]:
        """Draw the figures of this kind; the list is empty if there is nothing to draw."""
        rows, note = best_models(self.rows(study), study.models, self.most, self.verb)
        return list(self._draw(study, rows, note)) if len(rows) else []

    def missing_in(self, study: Study) -> tuple[str, str] | None:  # noqa: ARG002
        """Return `missing` for these tables."""
        return self.missing


@dataclass(frozen=True)
class Drawn:
    """A chart and its data; the attributes are those of `Figure`."""

    name: str
    title: str
    text: str
    chart: Chart
    table: pd.DataFrame
    alternative: str
    note: str = ""
    wide: bool = True

    def figure(self) -> Figure:
        """Return the figure for the page, with a chart as wide as its container."""
        chart, table = _specification(self.sized("container")), _table_of(self.table)
        return Figure(**{**vars(self), "chart": chart, "table": table})

    def sized(self, width: int | str) -> Chart:
        """Return the chart with this width, and the usual height unless it has its own."""
        chart = self.chart.properties(width=width)
        return chart if chart.height is not alt.Undefined else chart.properties(height=_HEIGHT)


def plotted(kind: Kind, study: Study) -> Chart | alt.VConcatChart:
    """Draw a figure for a notebook.

    Raises:
        UsageError: there is nothing to draw.
    """
    charts = [
        drawn.sized(_WIDTH).properties(title=_title_with_choices(drawn)) for drawn in kind(study)
    ]
    if not charts:
        raise UsageError(f"{kind.name}: nothing to draw; {kind.needs}")
    return charts[0] if len(charts) == 1 else alt.vconcat(*charts)


def _title_with_choices(drawn: Drawn) -> alt.TitleParams:
    """Add the chosen menu options to the title, because saved images have no menus."""
    parts = [json.dumps(drawn.title)]
    for param in _specification(drawn.chart).get("params", []):
        bound = param.get("bind", {})
        if "labels" in bound:  # the options are indexes of the labels
            parts.append(f"{json.dumps(bound['labels'])}[{param['name']}]")
        elif "options" in bound:
            parts.append(param["name"])
    return alt.TitleParams(alt.expr(" + ', ' + ".join(parts)))


def _specification(chart: Chart) -> dict[str, Any]:
    """Return the Vega-Lite specification with inline data, regardless of notebook settings."""
    with alt.theme.enable("none"), alt.data_transformers.enable("default", max_rows=None):
        return chart.to_dict(validate=False)


def _table_of(frame: pd.DataFrame) -> FigureTable:
    """Convert a data frame to a table for the page, limited to the first rows."""
    shown = frame.head(ROWS).itertuples(index=False, name=None)
    note = f"The first {ROWS} of {len(frame):,} rows." if len(frame) > ROWS else ""
    rows = [[_cell(value) for value in row] for row in shown]
    return FigureTable([str(name) for name in frame.columns], rows, note)


def _cell(value: Any) -> Cell:
    if pd.isna(value):
        return None
    if isinstance(value, str):
        return value
    return int(value) if hasattr(value, "__index__") else float(value)


# ---- sentences ----------------------------------------------------------------------------------


def titled(rows: pd.DataFrame, *columns: str, **titles: str) -> pd.DataFrame:
    """Select columns and give them readable names, those in `titles` or the usual ones."""
    return rows[list(columns)].rename(columns={**TITLES, **titles})


def primary_first(rows: pd.DataFrame, study: Study) -> tuple[pd.DataFrame, str]:
    """Put the rows of the primary metric first, and return the rows and the first label.

    Charts show the first metric until the reader chooses others. If the primary metric has no rows,
    the label is that of another metric.
    """
    rows = first(rows, study.primary.column)
    return rows, str(rows["label"].iloc[0])


def first(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Put the rows of a metric first."""
    return rows.iloc[(rows["label"] != metric).argsort(kind="stable")].reset_index(drop=True)


def number(value: Any) -> str:
    """Return a number with 4 digits."""
    return "–" if pd.isna(value) else f"{value:.4g}"


def percent(share: Any) -> str:
    """Return a share in per cent."""
    return "–" if pd.isna(share) else f"{100 * share:.1f} %"


def listing(rows: pd.DataFrame, metric: str) -> str:
    """List the models with their values of a metric."""
    own = rows[rows["label"] == metric]
    return ", ".join(f"{row['model']} {number(row['value'])}" for row in own.to_dict("records"))


def heard(rows: pd.DataFrame, where: str, value: str, text: Callable[[Any], str] = number) -> str:
    """List the first values, each with its slice or group, and its model."""
    return "; ".join(
        f"{row[where]}, {row['model']} {text(row[value])}"
        for row in rows.head(HEARD).to_dict("records")
    )


def in_top(study: Study) -> str:
    """Name the ranks that count, if not all do."""
    return "" if study.primary.k is None else f" in the top {study.primary.k}"


def in_lists(study: Study) -> str:
    """Name the lists, or the ranks that count."""
    return in_top(study) or " in the lists"
