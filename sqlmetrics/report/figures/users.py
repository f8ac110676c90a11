"""Figures of per-user values, and of the users who gain or lose between two models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import altair as alt
import pandas as pd

from sqlmetrics.metrics.requests import MetricRequest
from sqlmetrics.report.analysis import Study
from sqlmetrics.report.figures import parts
from sqlmetrics.report.figures.kind import Drawn, Kind, primary_first, titled
from sqlmetrics.report.limits import PAIRED, PAIRED_METRICS, joined, largest, limited
from sqlmetrics.texts.wording import listed

N_BINS = 20


class Distribution(Kind):
    """Histograms of per-user values, with menus to choose the metric and two models."""

    name = "distribution"
    needs = "pass a metric with per-user values"
    _columns = ("model", "label", "low", "high", "n_users", "share")

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the bins, also empty ones: `model, label, low, high, n_users, share`."""
        frames = [
            study.queried(
                "report/histogram",
                {"per_user": study.results.wide.tables[name].node},
                columns=columns,
                n_bins=N_BINS,
            )
            for name, columns in _columns(study, study.of_users).items()
        ]
        if not frames:
            return pd.DataFrame()
        return study.in_order(_of_metrics(pd.concat(frames, ignore_index=True), study))

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        rows, metric = primary_first(rows, study)
        yield Drawn(
            self.name,
            "Distribution of per-user values",
            "Filled bars show the first model, outlined bars the model it is compared with."
            if len(study.models) > 1
            else "The height of a bar is the share of users with a value in its range.",
            self._chart(rows, study),
            titled(rows[(rows["n_users"] > 0) & (rows["label"] == metric)], *self._columns),
            "Histogram of per-user values for the chosen metric and models",
            note,
        )

    def _chart(self, rows: pd.DataFrame, study: Study) -> Any:
        models = study.shown
        menus = [parts.metric_menu(rows), parts.menu("model", "Model", models)]
        base = parts.of_metric(rows, menus[0], *self._columns).encode(
            *_axes("per-user value", zero=False),
            x2="high:Q",
            tooltip=parts.tooltip(rows, *self._columns),
        )
        color, _ = parts.of_model(models, legend=False)
        filled = base.transform_filter("datum.model === model")
        layers = [filled.mark_bar(opacity=0.55, binSpacing=1).encode(color=color)]
        if len(models) > 1:
            menus.append(parts.menu("other", "compared with", models, start=1))
            stroke = alt.Stroke("model:N", scale=alt.Scale(domain=models), legend=None)
            outlined = base.transform_filter("datum.model === other")
            bars = outlined.mark_bar(fillOpacity=0, strokeWidth=2, binSpacing=1)
            layers.append(bars.encode(stroke=stroke))
        return parts.layered(*layers).add_params(*menus)


class Differences(Kind):
    """Histograms of per-user differences, with menus to choose the models and the metric."""

    name = "differences"
    needs = "pass several models and metrics with per-user values"
    most, verb = PAIRED, "paired"
    _columns = ("model", "baseline", "label", "low", "high", "outcome", "n_users", "share")
    _tips = ("pair_name", "outcome", "low", "high", "n_users", "share")

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the bins of the differences between pairs of models.

        The columns are `model, baseline, label, low, high, outcome, n_users, share`. The bin from
        0 to 0 holds the users for whom both models have the same value. `outcome` is "better" if
        the model is better than the baseline in this bin, otherwise "equal" or "worse".
        """
        frames = []
        for place, baseline in enumerate(study.paired[1:], start=1):
            few = sorted(study.compared, key=lambda one: one != study.primary)[:PAIRED_METRICS]
            for name, columns in _columns(study, few).items():
                pairs = study.planner.rendered(
                    "pairs",
                    {"per_user": study.results.wide.tables[name].node},
                    often=True,
                    names=[column["name"] for column in columns],
                    baseline=baseline,
                )
                frame = study.queried(
                    "report/difference_histogram",
                    {"pairs": pairs},
                    often=True,
                    columns=columns,
                    models=study.paired[:place],
                    n_bins=N_BINS,
                )
                frame = _of_metrics(frame.assign(baseline=baseline), study)
                frames.append(frame.sort_values(["model", "label", "low", "high"]))
        if not frames:
            return pd.DataFrame()
        rows = pd.concat(frames, ignore_index=True)
        signs = rows["metric"].map(
            {name: -1 if up is False else 1 for name, up in study.better.items()}
        )
        names = dict(zip((-1, 0, 1), parts.OUTCOMES, strict=True))
        return rows.assign(outcome=(rows["side"] * signs).map(names))

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        rows, metric = primary_first(rows, study)
        rows = parts.with_pairs(rows, study.models)
        names = study.labels(study.compared)
        rows, of_metrics = limited(
            rows, "label", names, rows["label"],
            lambda left: f"Only {PAIRED_METRICS} metrics are drawn, the primary one first; "
            f"omitted: {listed(left)}.",
        )  # fmt: skip
        yield Drawn(
            self.name,
            "Paired differences",
            "Distribution of per-user differences between two models. The bar at 0 shows the "
            "users for whom both models have the same value.",
            self._chart(rows),
            titled(rows[rows["label"] == metric], *self._columns),
            "Histogram of per-user differences between the two chosen models",
            joined(note, of_metrics),
        )

    def _chart(self, rows: pd.DataFrame) -> Any:
        pair, metric = parts.pair_menu(rows), parts.metric_menu(rows)
        base = (
            parts.of_metric(rows, metric, "pair", "label", *self._tips)
            .transform_filter("datum.pair === pair")
            .encode(color=parts.of_outcome(), tooltip=parts.tooltip(rows, *self._tips))
        )
        x, y = _axes("per-user difference", zero=True)
        bars = base.transform_filter("datum.outcome !== 'equal'").mark_bar(binSpacing=1)
        equal = base.transform_filter("datum.outcome === 'equal'").mark_bar(size=6)
        middle = alt.X("low:Q", title="per-user difference")
        chart = parts.layered(bars.encode(x, y, x2="high:Q"), equal.encode(middle, y))
        return chart.add_params(pair, metric)


class Wins(Kind):
    """The shares of wins, ties and losses per slice, with a menu to choose the models."""

    name = "wins"
    needs = "pass several models and a primary metric with per-user values"
    most, verb = PAIRED, "paired"
    _columns = ("model", "baseline", "by", "slice", "wins", "ties", "losses",
                "difference", "n_users")  # fmt: skip
    _tips = ("pair_name", "where", "outcome", "count", "share")

    def rows(self, study: Study) -> pd.DataFrame:
        """Count wins, ties and losses for pairs of models, over all users and in slices of users.

        The columns are those of `Study.comparisons`, and `by` and `slice`: the attribute to slice
        by, which is empty for all users, and the slice. `model` is the better one of the pair.
        """
        if study.primary not in study.compared or not study.paired[1:]:
            return pd.DataFrame()
        everybody = study.results.narrowed([study.primary])
        sliced = [("", everybody)]
        sliced += [
            (by.name, results.narrowed([study.primary]))
            for by, results in study.sliced
            if by.of == "users"
        ]
        frames = []
        for by, results in sliced:
            for place, baseline in enumerate(study.paired[1:], start=1):
                frame = study.compare(results, baseline, {by: "slice"} if by else {})
                frame = frame[frame["model"].isin(study.paired[:place])].assign(by=by)
                frames.append(frame if by else frame.assign(slice="all users"))
        return pd.concat(frames, ignore_index=True)

    def _draw(self, study: Study, rows: pd.DataFrame, note: str) -> Iterator[Drawn]:
        rows = rows[rows["n_users"] > 0]
        if not len(rows):  # the models may have no common users
            return
        everybody, *slices = [own for _, own in rows.groupby("by", sort=False)]
        kept, notes = [everybody], [note]
        for own in slices:
            by = own["by"].iloc[0]
            own, of_slices = largest(
                own, "slice", own.groupby("slice", sort=False)["n_users"].max(),
                study.is_unordered(by), f"smaller slices of {by}",
            )  # fmt: skip
            kept.append(own)
            notes.append(of_slices)
        rows = parts.with_pairs(pd.concat(kept, ignore_index=True), study.models)
        metric = study.primary.column
        yield Drawn(
            self.name,
            "Wins and losses",
            f"Share of users for whom the first of two models has a better, equal or worse "
            f"{metric} than the second, over all users and in every slice.",
            self._chart(rows),
            titled(
                rows,
                *self._columns,
                slice="users",
                difference="mean difference",
                n_users="number of users",
            ),
            "Shares of users for whom one model is better than another: "
            + "; ".join(
                f"{row['model']} better than {row['baseline']} for {row['wins']} of "
                f"{row['n_users']}, worse for {row['losses']}"
                for row in everybody.to_dict("records")
            ),
            joined(*notes),
        )

    def _chart(self, rows: pd.DataFrame) -> Any:
        counts = {"wins": "better", "ties": "equal", "losses": "worse"}
        named = rows["by"].where(rows["by"] == "", rows["by"] + ": ")
        rows = rows.assign(where=named + rows["slice"].astype(str)).rename(columns=counts)
        keys = ["pair", "pair_name", "where", "n_users"]
        long = rows.melt(keys, list(counts.values()), "outcome", "count")
        long["place"] = long["outcome"].map(list(counts.values()).index)
        long["share"] = long["count"].astype(float) / long["n_users"].astype(float)
        pair = parts.pair_menu(long)
        share = alt.X("share:Q", title="share of users", stack="zero")
        return (
            parts.chart_of(long, "pair", "place", *self._tips)
            .transform_filter("datum.pair === pair")
            .mark_bar()
            .encode(
                share.scale(domain=[0, 1]).axis(format="%"),
                parts.rows_of("where", long["where"]),
                color=parts.of_outcome(ascending=False),
                order=alt.Order("place:Q"),
                tooltip=parts.tooltip(long, *self._tips, where="users"),
            )
            .properties(height=alt.Step(parts.ROW + 4))
            .add_params(pair)
        )


def _columns(study: Study, requests: Iterable[MetricRequest]) -> dict[str, list[dict[str, Any]]]:
    """Find the columns with the per-user values of the requests, grouped by wide table."""
    by_table: dict[str, list[dict[str, Any]]] = {}
    for request in requests:
        table, column = study.results.wide.home(request)
        low, high = request.metric.range or (None, None)
        position = study.main.index(request)
        of_column = {"name": column.name, "position": position, "low": low, "high": high}
        by_table.setdefault(table, []).append(of_column)
    return by_table


def _of_metrics(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Name the metrics, which have a position, in the columns `metric` and `label`."""
    requests = [study.main[position] for position in rows["position"]]
    return rows.rename(columns={"share_of_users": "share"}).assign(
        metric=[request.name for request in requests], label=[one.column for one in requests]
    )


def _axes(title: str, zero: bool) -> tuple[alt.X, alt.Y]:
    x = alt.X("low:Q", bin="binned", title=title).scale(zero=zero, nice=False)
    y = alt.Y("share:Q", title="share of users").axis(format=parts.SHARE)
    return x.axis(tickCount=parts.TICKS, grid=False), y
