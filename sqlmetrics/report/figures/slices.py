"""Figures of values in slices of users and of relevant items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import altair as alt
import pandas as pd

from sqlmetrics.plan.slices import Slicing, warn_of_empty_slices
from sqlmetrics.plan.summary import summary
from sqlmetrics.report.analysis import LIFTS, Study
from sqlmetrics.report.figures import parts
from sqlmetrics.report.figures.kind import Drawn, Kind, heard, in_lists, primary_first, titled
from sqlmetrics.report.limits import joined, largest

_COLUMNS = ("slice", "model", "label", *parts.VALUES)


class Slices(Kind):
    """The values in every slice, one figure per attribute, with a menu to choose the metric."""

    name = "slices"
    needs = "pass by=…, or the table history or users"

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the sliced results of `Evaluator.evaluate`, with the columns `by` and `slice`.

        All results are at the main cutoff. Slices of relevant items have only the first few
        metrics that support them.
        """
        frames = []
        for attribute, results in study.sliced:
            frame = study.run(summary(results))
            warn_of_empty_slices(frame, [attribute])
            frame = study.labelled(frame.rename(columns={attribute.name: "slice"}))
            frames.append(frame.assign(by=attribute.name))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        of = {attribute.name: attribute.of for attribute in study.attributes}
        for place, (by, own) in enumerate(rows.groupby("by", sort=False)):
            own, metric = primary_first(own, study)
            sizes = _sizes(own[own["label"] == metric])
            own, of_slices = largest(own, "slice", sizes, study.is_unordered(str(by)))
            own, menu = with_sizes(own, sizes), f"metric_{place}"
            of_items = of[str(by)] != "users"
            complete = (
                "Only relevant items in the slice count as relevant; the lists are complete. "
            )
            yield Drawn(
                f"{self.name}_{place}",
                f"Values by {by}" + " of relevant items" * of_items,
                complete * of_items + f"Numbers in brackets: users that {metric} is averaged over.",
                _chart(own, study, menu),
                titled(own, *_COLUMNS, slice=str(by)),
                f"Values of every model by {by}: "
                + heard(own[own["label"] == metric], "slice", "value"),
                joined(of_slices, note),
            )


class PopularityLift(Kind):
    """The popularity lift by activity of users."""

    name = "popularity_lift"
    needs = "pass the table history, and a convention or fallback with popularity_lift"

    def missing_in(self, study: Study) -> tuple[str, str]:
        """Return the figure, and the history or the metric that it needs."""
        convention = "the metric popularity_lift, which the convention does not cover"
        has_history = "history" in study.planner.tables
        return "popularity lift by activity", convention if has_history else "the table history"

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the popularity lift as `Slices.rows` does.

        The result is empty without a history, and if the convention has no popularity lift.
        """
        lifts = [request for request in study.further if request.metric.name in LIFTS]
        if study.of_further is None or not lifts:
            return pd.DataFrame()
        (attribute,) = study.built_in("activity_group", None)
        slicing = Slicing(study.planner, [attribute], False, study.primary.values)
        results = study.planned(lifts).sliced(slicing)
        study.hold(results.of_slices)
        frame = study.run(summary(results)).rename(columns={attribute.name: "slice"})
        return study.labelled(frame)

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        if not rows["value"].notna().any():
            return
        rows, _ = largest(rows, "slice", _sizes(rows), by_size=False)
        rows, metric = with_sizes(rows, _sizes(rows)), str(rows["label"].iloc[0])
        yield Drawn(
            self.name,
            "Popularity lift by activity",
            f"Popularity of the items{in_lists(study)} relative to the items in the histories "
            "of the same users, in groups of users by the number of items in the history. At "
            "0, both are equally popular; at 1, recommended items are twice as popular. "
            "Numbers in brackets: users.",
            _chart(rows, study, "lift", [parts.zero_line()]),
            titled(rows, *_COLUMNS, slice="activity"),
            f"{metric} by activity of users: "
            + heard(rows[rows["label"] == metric], "slice", "value"),
            note,
        )


def _sizes(rows: pd.DataFrame) -> pd.Series[int]:
    return rows.groupby("slice", sort=False)["n_users"].max().fillna(0).astype(int)


def with_sizes(rows: pd.DataFrame, sizes: pd.Series[int]) -> pd.DataFrame:
    """Append the number of users to the names of slices."""
    return rows.assign(slice=[f"{name} ({sizes[name]:,})" for name in rows["slice"]])


def _chart(rows: pd.DataFrame, study: Study, menu: str, below: Iterable[alt.Chart] = ()) -> Any:
    """Draw the value of every model in every slice, with a menu to choose the metric.

    `menu` is the name of the parameter, which must be unique where several of these charts are
    combined.
    """
    metric = parts.metric_menu(rows, name=menu)
    base = parts.of_metric(rows, metric, *_COLUMNS)
    return parts.in_rows(
        base, parts.value_axis(), parts.VALUE, "slice", rows["slice"], study.shown,
        parts.tooltip(rows, *_COLUMNS), below,
    ).add_params(metric)  # fmt: skip
