"""Figures of the recommended items: exposure and popularity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd

from sqlmetrics.report.analysis import Study
from sqlmetrics.report.figures import parts
from sqlmetrics.report.figures.kind import Drawn, Kind, in_top, number, titled
from sqlmetrics.report.limits import in_order

N_POINTS = 50  # of a Lorenz curve
POPULARITY_GROUPS = 10


class Exposure(Kind):
    """The Lorenz curves of all models."""

    name = "exposure"
    needs = "there are no recommendations"
    _columns = ("model", "share_of_items", "share_of_recommendations", "gini")

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the points of the curves.

        The columns are `model, share_of_items, share_of_recommendations, gini, n_items`.
        """
        catalogue = study.if_there("catalogue")
        reads = {"item_counts": study.item_counts}
        return study.in_order(
            study.queried(
                "report/lorenz",
                reads if catalogue is None else {**reads, "catalogue": catalogue},
                often=True,
                has_catalogue=catalogue is not None,
                n_points=N_POINTS,
            )
        )

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        ginis = dict(zip(rows["model"], rows["gini"], strict=True))
        has_catalogue = study.if_there("catalogue") is not None
        counted = "items of the catalogue" if has_catalogue else "recommended items"
        yield Drawn(
            self.name,
            "Distribution of recommendations over items",
            f"Lorenz curves of the recommendations{in_top(study)} over the "
            f"{int(rows['n_items'].iloc[0]):,} {counted}. On the dashed line, all items are "
            "recommended equally often; the further a curve is below it, the fewer items "
            "receive most of the recommendations.",
            self._chart(rows, study),
            titled(rows, *self._columns),
            "Lorenz curves of the recommendations over items. Gini coefficients: "
            + ", ".join(f"{model} {number(gini)}" for model, gini in ginis.items()),
            note,
            wide=False,
        )

    def _chart(self, rows: pd.DataFrame, study: Study) -> Any:
        x = alt.X("share_of_items:Q", title="share of items, least recommended first")
        x = x.scale(domain=[0, 1]).axis(format="%")
        y = alt.Y("share_of_recommendations:Q", title="share of recommendations")
        y = y.scale(domain=[0, 1]).axis(format="%")
        ends = pd.DataFrame({"share_of_items": [0], "share_of_recommendations": [0], "end": [1]})
        diagonal = alt.Chart(ends).mark_rule(style="reference").encode(x, y, x2="end:Q", y2="end:Q")
        color, _ = parts.of_model(study.shown)
        base = parts.chart_of(rows, *self._columns)
        lines = base.mark_line(point=alt.OverlayMarkDef(size=40, opacity=0)).encode(
            x, y, color=color, order="share_of_items:Q", tooltip=parts.tooltip(rows, *self._columns)
        )
        return parts.layered(diagonal, lines)


class Popularity(Kind):
    """The share of recommendations by item popularity, beside that of the history."""

    name = "popularity"
    needs = "pass the table history"
    missing = ("popularity bias", "the table history")
    _columns = ("model", "group", "share")
    _tenths = ("top 10%", *(f"–{10 * number}%" for number in range(2, 11)))

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the share of recommendations by item popularity: `model, group, share`.

        `group` is 1 for the most popular tenth of the items, and missing for items that are not in
        the history. Rows without a model hold the shares of the history itself. The result is
        empty without a history.
        """
        popularity = study.if_there("item_popularity")
        if popularity is None:
            return pd.DataFrame()
        return study.queried(
            "report/exposure_by_popularity",
            {"item_counts": study.item_counts, "item_popularity": popularity},
            n_groups=POPULARITY_GROUPS,
        ).rename(columns={"popularity_group": "group", "share_of_rows": "share"})

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        groups = [
            "new" if pd.isna(group) else self._tenths[int(group) - 1] for group in rows["group"]
        ]
        rows = in_order(rows.assign(group=groups), "group", [*self._tenths, "new"])
        table = rows.fillna({"model": "(history)"})
        top = table[table["group"] == self._tenths[0]].to_dict("records")
        yield Drawn(
            self.name,
            "Popularity bias",
            f"Share of the recommendations{in_top(study)} for every tenth of the items, "
            "ordered by popularity in the history. Grey bars show the shares in the history "
            "itself.",
            self._chart(rows, study),
            titled(table, *self._columns, group="items"),
            "Share of recommendations for the most popular tenth of the items: "
            + ", ".join(f"{row['model']} {100 * row['share']:.0f} %" for row in top),
            note,
            wide=False,
        )

    def _chart(self, rows: pd.DataFrame, study: Study) -> Any:
        order = list(dict.fromkeys(rows["group"]))
        history, rows = rows[rows["model"].isna()], rows[rows["model"].notna()]
        x = alt.X("group:N", sort=order, title="tenths of the items, most popular first")
        x = x.axis(labelAngle=0, labelOverlap=True)
        y = alt.Y("share:Q", title="share").axis(format="%")
        color, shape = parts.of_model(study.shown)
        tips = parts.tooltip(history, "group", "share", group="items", share="share of the history")
        steps = parts.chart_of(history, "group", "share").mark_bar(opacity=0.25, color=parts.GREY)
        steps = steps.encode(x, y, tooltip=tips)
        base = parts.chart_of(rows, *self._columns)
        tips = parts.tooltip(rows, *self._columns, group="items", share="share of recommendations")
        return parts.layered(
            steps,
            base.mark_line(opacity=0.6).encode(x, y, color=color),
            parts.points(base, 60, x, y, color=color, shape=shape, tooltip=tips),
        )
