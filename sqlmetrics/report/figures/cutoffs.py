"""The figures of values by cutoff, one per metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from sqlmetrics.report.analysis import Study
from sqlmetrics.report.figures import parts
from sqlmetrics.report.figures.kind import Drawn, Kind, listing, titled
from sqlmetrics.report.limits import SHOWN_CUTOFFS, joined, limited

_MOST_BANDS = 4  # maximum number of models with bands; more bands would hide each other


class Cutoffs(Kind):
    """The values of one metric by cutoff."""

    name = "cutoffs"
    needs = "pass several cutoffs, e.g. k=[1, 5, 10]"
    _columns = ("model", "k", *parts.VALUES)

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the values at all cutoffs, as `Evaluator.evaluate` does."""
        return study.values[study.values["k"].notna() & study.values["value"].notna()]

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        known = np.unique(rows["k"].astype(int))
        spread = np.linspace(0, len(known) - 1, min(len(known), SHOWN_CUTOFFS)).round().astype(int)
        rows, of_cutoffs = limited(
            rows, "k", known, [*known[spread], study.primary.k],
            lambda left: f"{len(left):,} cutoffs are omitted to limit the size of the page.",
        )  # fmt: skip
        rows = rows[rows.groupby("metric")["k"].transform("nunique") > 1]
        for place, (metric, own) in enumerate(rows.groupby("metric", sort=False)):
            k = own["k"].max()
            yield Drawn(
                f"{self.name}_{place}",
                str(metric),
                "",
                self._chart(own, study, str(metric)),
                titled(own, *self._columns),
                f"{metric} by cutoff; at {k}: {listing(own, f'{metric}@{k}')}",
                joined(note, of_cutoffs),
                wide=False,
            )

    def _chart(self, rows: pd.DataFrame, study: Study, metric: str) -> Any:
        base = parts.chart_of(rows, *self._columns)
        x = alt.X("k:Q", title="cutoff", scale=alt.Scale(zero=False, nice=False, padding=8))
        x = x.axis(values=sorted({int(k) for k in rows["k"]}), format="d", grid=False)
        y = alt.Y("value:Q", title=metric, scale=alt.Scale(zero=False))
        color, shape = parts.of_model(study.shown)
        band = base.transform_filter("isValid(datum.ci_low)").mark_area(opacity=0.15)
        low = alt.Y("ci_low:Q", title=metric)
        tips = parts.tooltip(rows, *self._columns, value=metric)
        layers = [
            band.encode(x, low, y2="ci_high:Q", color=color),
            base.mark_line().encode(x, y, color=color),
            parts.points(base, 60, x, y, color=color, shape=shape, tooltip=tips),
        ]
        return parts.layered(*layers[rows["model"].nunique() > _MOST_BANDS :])
