"""Figures of groups of items: their exposure, and the calibration of their shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import pandas as pd

from sqlmetrics.report.analysis import Study
from sqlmetrics.report.figures import parts
from sqlmetrics.report.figures.kind import Drawn, Kind, heard, in_lists, in_top, percent, titled
from sqlmetrics.report.limits import joined, largest
from sqlmetrics.sql.query_graph import Node

# column that groups items -> the stage with the parts of items in groups, and its column of parts
_SHARES = {
    "item_group": ("item_group_shares", "group_share"),
    "category": ("item_category_shares", "category_share"),
}
_INTERVAL = ("ci_low", "ci_high", "n_users")


class GroupExposure(Kind):
    """The exposure of groups of items, with their shares of the catalogue and the histories."""

    name = "group_exposure"
    needs = "pass the table items with a column item_group or category"
    missing = (
        "exposure by group of items",
        "the column item_group or category of the table items",
    )

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the exposure of groups of items: `group, model, value, ci_low, ci_high, n_users`.

        The exposure of a group in a list is its share of the weights of ranks; `value` is the mean
        over users. The columns `history` and `catalogue` have the share of the group in the
        histories of these users, and among the items of the catalogue; they are missing without
        these tables. A missing group stands for items without a group. The result is empty without
        a column that groups items.
        """
        if (column := grouped_by(study)) is None:
            return pd.DataFrame()
        catalogue = study.if_there("catalogue")
        reads = {} if catalogue is None else {"catalogue": catalogue, **_item_shares(study, column)}
        return _by_group(
            study,
            "report/exposure_by_group",
            column,
            reads,
            discount="log2",
            has_catalogue=catalogue is not None,
        )

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        rows, named, of_groups = _named_groups(
            rows, study, str(grouped_by(study)), ["value", "history", "catalogue"], "smaller groups"
        )
        known = {
            "catalogue": " Grey bars: share of the items of the catalogue.",
            "history": " Grey lines: mean share of the histories of these users.",
        }
        references = [name for name in known if rows[name].notna().any()]
        columns = ("group", "model", "value", "ci_low", "ci_high", "history", "catalogue",
                   "n_users")  # fmt: skip
        present = [name for name in columns if rows[name].notna().any()]
        yield Drawn(
            self.name,
            f"Exposure by {named}",
            f"Mean share of the exposure{in_top(study)} for each group of items, with "
            "confidence intervals. The item at rank r has the weight 1/log₂(r + 1); an item "
            "with several groups counts in parts."
            + "".join(known[name] for name in references),
            self._chart(rows, study, references),
            titled(rows, *present, group=named, value="share of the exposure"),
            f"Exposure by {named}: "
            + heard(rows, "group", "value", percent),
            joined(of_groups, note),
        )  # fmt: skip

    def _chart(self, rows: pd.DataFrame, study: Study, references: list[str]) -> Any:
        title = "mean share of the exposure"
        y = parts.rows_of("group", rows["group"], grid=True, tickBand="extent")
        layers = []
        for name in references:
            tips = parts.tooltip(rows, "group", name, number=parts.SHARE)
            base = parts.chart_of(rows.drop_duplicates("group"), "group", name)
            base = base.encode(alt.X(f"{name}:Q", title=title), y, tooltip=tips)
            layers.append(
                base.mark_bar(opacity=0.25, color=parts.GREY)
                if name == "catalogue"
                else base.mark_tick(color=parts.GREY, thickness=2)
            )
        x = alt.X("value:Q", title=title).axis(tickCount=parts.TICKS, format=parts.SHARE)
        columns = ("group", "model", "value", *_INTERVAL)
        tips = parts.tooltip(rows, *columns, number=parts.SHARE, value="share of the exposure")
        base = parts.chart_of(rows, *columns)
        return parts.in_rows(base, x, title, "group", rows["group"], study.shown, tips, layers)


class Calibration(Kind):
    """The differences of category shares between lists and histories."""

    name = "calibration"
    needs = "pass the tables history, and items with a column category"
    missing = (
        "calibration by category",
        "the table history and the column category of the table items",
    )
    _columns = ("group", "model", "listed", "known", "difference", *_INTERVAL)

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the shares of categories in lists and histories, over users who have both.

        The columns are `group, model, listed, known, difference, ci_low, ci_high, n_users`:
        `difference` is the mean over users of the share in the list minus the share in the history.
        A missing group stands for items without a category. The result is empty without categories
        or without a history.
        """
        if not _item_shares(study, "category") or "history" not in study.planner.tables:
            return pd.DataFrame()
        return _by_group(study, "report/calibration_by_category", "category", {}, discount="none")

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        rows, named, of_groups = _named_groups(
            rows, study, "category", ["listed", "known"], "smaller categories"
        )
        yield Drawn(
            self.name,
            f"Calibration by {named}",
            f"Mean difference between the share of a category{in_lists(study)} and its share "
            "in the history of the same user, with confidence intervals. Below 0, the lists "
            "have less of the category than the histories. All ranks have the same weight; an "
            "item with several categories counts in parts.",
            self._chart(rows, study),
            titled(rows, *self._columns, group=named),
            "Share in the lists minus share in the histories: "
            + heard(rows, "group", "difference", percent),
            joined(of_groups, note),
        )

    def _chart(self, rows: pd.DataFrame, study: Study) -> Any:
        title = "share in the lists − share in the histories"
        x = alt.X("difference:Q", title=title).scale(padding=12)
        x = x.axis(tickCount=parts.TICKS, format=parts.SHARE)
        tips = parts.tooltip(rows, *self._columns, number=parts.SHARE, group="category")
        base, below = parts.chart_of(rows, *self._columns), [parts.zero_line()]
        return parts.in_rows(base, x, title, "group", rows["group"], study.shown, tips, below)


def grouped_by(study: Study) -> str | None:
    """Return the column of items that groups the items: item_group, else category, or None."""
    return next((name for name in _SHARES if _item_shares(study, name)), None)


def _item_shares(study: Study, column: str) -> dict[str, Node]:
    """Plan the parts of items in groups; empty if the items do not have this column."""
    shares = study.if_there(_SHARES[column][0])
    return {} if shares is None else {"item_shares": shares}


def _by_group(
    study: Study, template: str, column: str, reads: Mapping[str, Node], discount: str,
    **context: Any,
) -> pd.DataFrame:  # fmt: skip
    """Run a query about the shares of groups of items in lists and histories."""
    rendered, items = study.planner.rendered, _item_shares(study, column)
    of_items: dict[str, Any] = {"attribute": column, "share": _SHARES[column][1]}
    ranked = {"ranked": study.stage("ranked"), **items}
    shares = {
        "list_shares": rendered(
            "report/list_shares", ranked, k=study.primary.k, discount=discount, **of_items
        )
    }
    if has_history := "history" in study.planner.tables:
        seen = {"seen": study.stage("seen"), **items, **shares}
        shares["history_shares"] = rendered("report/history_shares", seen, **of_items)
    frame = study.queried(
        template, {**shares, **reads}, often=True, has_history=has_history,
        z=study.results.interval.z, **of_items, **context,
    )  # fmt: skip
    return study.in_order(frame.rename(columns={"item_group": "group"}))


def _named_groups(
    rows: pd.DataFrame, study: Study, column: str, by: list[str], what: str
) -> tuple[pd.DataFrame, str, str]:
    """Name the groups of items, and keep the largest, sorted by their largest share.

    Returns: the rows, the name of the column in the items table, and the note of omitted groups.
    """
    known = study.planner.tables["items"].sources[0].find_read(column)
    named = column if known is None or known.parts else known.source  # such as seller_size
    names = [f"(no {named})" if pd.isna(group) else str(group) for group in rows["group"]]
    rows = rows.assign(group=names)
    sizes = rows[by].max(axis=1).groupby(rows["group"], sort=False).max().fillna(0)
    rows, note = largest(rows, "group", sizes, by_size=True, what=what)
    return rows, named, note
