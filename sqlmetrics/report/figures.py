"""The figures of a report by kind: the text, the data and the chart of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sqlmetrics.errors import UsageError, suggestion
from sqlmetrics.report import charts, selection
from sqlmetrics.report.analysis import BEYOND, SHOWN_CUTOFFS, Study, label, records
from sqlmetrics.report.chart_parts import altair
from sqlmetrics.report.content import Cell, Figure, FigureTable

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from sqlmetrics.report.chart_parts import Chart


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
        chart = self.chart.properties(width="container")
        if not _has_height(self.chart):
            chart = chart.properties(height=_HEIGHT)
        return Figure(
            name=self.name,
            title=self.title,
            text=self.text,
            chart=specification(chart),
            alternative=self.alternative,
            table=table_of(self.table),
            note=self.note,
            wide=self.wide,
        )


_HEIGHT, _WIDTH = 220, 480
_ROWS = 50  # maximum number of rows of a table on the page
# maximum numbers of rows in all charts of a kind; multiplied by `Study.room`
_OF_CUTOFFS, _OF_SLICES, _OF_OTHERS = 2000, 3000, 1000
_LEAST_CUTOFFS = 5
Draw: TypeAlias = Callable[[Study], list[Drawn]]


def _scores(study: Study) -> list[Drawn]:
    rows, note = selection.with_names(study, study.at_main[study.at_main["value"].notna()])
    if not len(rows) or len(study.models) < 2:
        return []
    rows, first = _primary_first(rows, study)
    tested = (
        " Overlapping intervals do not show whether two models differ; see Significant differences."
        * bool(len(study.from_best))
    )
    return [
        Drawn(
            "scores",
            "Values and confidence intervals",
            "A point is the value of a model. A line is the confidence interval of the value, if "
            "there is one." + tested,
            charts.scores(rows, study.listed, study.shown),
            _named(rows, model="model", label="metric", value="value", ci_low="interval from",
                   ci_high="to", n_users="users"),
            f"Values of {len(study.listed)} models by {first}: " + _listing(rows, first),
            note=note,
        )
    ]  # fmt: skip


def _against_best(study: Study) -> list[Drawn]:
    rows, note = selection.with_names(study, study.from_best)
    if not len(rows):
        return []
    rows, first = _primary_first(rows, study)
    rows = rows.assign(verdict=[_verdict(study, row) for row in records(rows)])
    n_tested, how = int(study.from_best["p_adjusted"].notna().sum()), study.how
    corrected = f", corrected for {n_tested} comparison{'s' * (n_tested != 1)},"
    corrected *= how.correction != "none"
    intervals = _about_intervals(study, n_tested)
    shown = _named(
        rows, label="metric", model="model", baseline="best", difference="difference",
        ci_low="interval from", ci_high="to", p_value="p", p_adjusted="corrected p",
        wins="better for", ties="equal for", losses="worse for", verdict="verdict",
    )  # fmt: skip
    return [
        Drawn(
            "against_best",
            "Significant differences",
            "Difference of every model to the best model, over the same users. A model is "
            f"significantly worse if p{corrected} is below {how.alpha:g}.{intervals}",
            charts.against_best(rows, study.listed),
            shown,
            f"Differences to the best model by {first}: "
            + "; ".join(
                f"{row['model']} {_number(row['difference'])}, {row['verdict']}"
                for row in records(rows[rows["label"] == first])
            ),
            note=note,
        )
    ]


def _about_intervals(study: Study, n_tested: int) -> str:
    """Return why an interval without 0 can belong to a difference that is not significant."""
    how, text = study.how, ""
    if how.correction != "none" and n_tested > 1:
        text = (
            " The intervals are not corrected, so a difference can have an interval without 0 and "
            "not be significant after correction; such differences have a mark of their own."
        )
    if how.test != "t":
        text += " The intervals are those of the t-test."
    return text


def _verdict(study: Study, row: Mapping[str, Any]) -> str:
    """Return the verdict on a model compared with the best one, from the leaderboard's marks."""
    board = study.board
    mark = board.loc[board["model"] == row["model"], f"{row['label']} mark"]
    if not str(mark.iloc[0]):
        return charts.NOT_TESTED if _is_missing(row["p_adjusted"]) else charts.WORSE
    if not _is_missing(row["p_value"]) and row["p_value"] < study.how.alpha <= row["p_adjusted"]:
        return charts.NOT_WORSE_CORRECTED
    return charts.NOT_WORSE


def _cutoffs(study: Study) -> list[Drawn]:
    drawn: list[Drawn] = []
    rows, note = selection.with_colours(study, study.values)
    rows = rows[rows["k"].notna() & rows["value"].notna()]
    fit = int(_OF_CUTOFFS * study.room) // max(1, rows["metric"].nunique() * len(study.shown))
    most = min(max(fit, _LEAST_CUTOFFS), SHOWN_CUTOFFS)
    kept = selection.some_cutoffs(rows["k"], study.primary.k, most)
    if left := rows["k"].nunique() - len(kept):
        note = selection.joined(
            note, f"{left:,} cutoffs are omitted to limit the size of the page."
        )
    rows = rows[rows["k"].isin(kept)]
    for metric, own in rows.groupby("metric", sort=False):
        if own["k"].nunique() < 2:
            continue
        largest = own["k"].max()
        drawn.append(
            Drawn(
                f"cutoffs_{len(drawn)}",
                str(metric),
                "",
                charts.cutoffs(own, study.shown, str(metric)),
                _named(own, model="model", k="cutoff", value="value", ci_low="interval from",
                       ci_high="to", n_users="users"),
                f"{metric} by cutoff; at {largest}: "
                + _listing(own, f"{metric}@{largest}"),
                note=note,
                wide=False,
            )
        )  # fmt: skip
    return drawn


def _distribution(study: Study) -> list[Drawn]:
    rows, note = selection.with_colours(study, study.histograms)
    if not len(rows):
        return []
    rows, first = _primary_first(rows, study)
    rows, unfit = selection.fitting(rows, "label", int(_OF_OTHERS * study.room))
    return [
        Drawn(
            "distribution",
            "Distribution of per-user values",
            "Filled bars show the first model, outlined bars the model it is compared with."
            if len(study.models) > 1
            else "The height of a bar is the share of users with a value in its range.",
            charts.distribution(rows, study.shown),
            _named(rows[(rows["n_users"] > 0) & (rows["label"] == first)],
                   model="model", label="metric", low="from",
                   high="to", n_users="users", share="share"),
            "Histogram of per-user values for the chosen metric and models",
            note=selection.joined(note, unfit),
        )
    ]  # fmt: skip


def _differences(study: Study) -> list[Drawn]:
    rows = study.difference_histograms
    if not len(rows):
        return []
    rows, first = _primary_first(rows, study)
    rows = _with_pairs(rows, study)
    by_few = selection.paired_metrics(study, rows["label"])
    rows, unfit = selection.fitting(rows, "label", int(_OF_OTHERS * study.room))
    return [
        Drawn(
            "differences",
            "Paired differences",
            "Distribution of per-user differences between two models. The bar at 0 shows the users "
            "for whom both models have the same value.",
            charts.differences(rows),
            _named(rows[rows["label"] == first], model="model",
                   baseline="compared with", label="metric", low="from", high="to",
                   outcome="the first model is", n_users="users", share="share"),
            "Histogram of per-user differences between the two chosen models",
            note=selection.joined(selection.paired_models(study), unfit, by_few),
        )
    ]  # fmt: skip


def _wins(study: Study) -> list[Drawn]:
    import pandas as pd

    rows = study.wins
    if not len(rows) or not (rows["n_users"] > 0).any():  # the models may have no common users
        return []
    first = label(study.primary)
    rows = rows[rows["n_users"] > 0]
    everybody, notes = rows[rows["by"] == ""], []
    kept = [everybody]
    for by, own in rows[rows["by"] != ""].groupby("by", sort=False):
        largest, left = selection.largest_slices(
            own, own["n_users"], by_size=_is_column(study, str(by))
        )
        kept.append(selection.in_slices(own, largest))
        notes.append(selection.smaller_slices(left, f"smaller slices of {by}"))
    rows = pd.concat(kept, ignore_index=True)
    rows, unfit = selection.fitting(
        _with_pairs(rows, study), "pair", int(_OF_OTHERS * study.room) // 3
    )
    return [
        Drawn(
            "wins",
            "Wins and losses",
            f"Share of users for whom the first of two models has a better, equal or worse {first} "
            "than the second, over all users and in every slice.",
            charts.wins(rows),
            _named(rows, model="model", baseline="compared with", by="by", slice="users",
                   wins="better for", ties="equal for", losses="worse for",
                   difference="mean difference", n_users="number of users"),
            "Shares of users for whom one model is better than another: "
            + "; ".join(
                f"{row['model']} better than {row['baseline']} for {row['wins']} of "
                f"{row['n_users']}, worse for {row['losses']}"
                for row in records(everybody)
            ),
            note=selection.joined(selection.paired_models(study), unfit, *notes),
        )
    ]  # fmt: skip


def _slices(study: Study) -> list[Drawn]:
    drawn: list[Drawn] = []
    of = {attribute.name: attribute.of for attribute in study.attributes}
    for attribute, all_rows in study.slices.items():
        rows, left_out = selection.with_colours(study, all_rows)
        if not len(rows):
            continue
        rows, first = _primary_first(rows, study)
        own = rows[rows["label"] == first]
        largest, left = selection.largest_slices(
            own, own["n_users"], by_size=_is_column(study, attribute)
        )
        rows = selection.named_slices(rows, largest)
        rows, unfit = selection.fitting(
            rows, "label", int(_OF_SLICES * study.room) // len(study.slices)
        )
        of_items = of[attribute] != "users"
        what = f"Numbers in brackets: users that {first} is averaged over."
        if of_items:
            what = (
                "Only relevant items in the slice count as relevant; the lists are complete. "
                f"{what}"
            )
        drawn.append(
            Drawn(
                f"slices_{len(drawn)}",
                f"Values by {attribute}" + (" of relevant items" if of_items else ""),
                what,
                charts.slices(rows, study.shown, f"metric_{len(drawn)}"),
                _named(rows, slice=attribute, model="model", label="metric", value="value",
                       ci_low="interval from", ci_high="to", n_users="users"),
                f"Values of every model by {attribute}: "
                + "; ".join(
                    f"{row['slice']}, {row['model']} {_number(row['value'])}"
                    for row in records(rows[rows["label"] == first])[:_HEARD]
                ),
                note=selection.joined(selection.smaller_slices(left), left_out, unfit),
            )
        )  # fmt: skip
    return drawn


_HEARD = 24  # maximum number of values in a text alternative; the table has all of them


def _is_column(study: Study, attribute: str) -> bool:
    """Return whether an attribute is a column whose values have no order of their own."""
    return any(
        candidate.name == attribute and not candidate.is_ordered for candidate in study.attributes
    )


def _exposure(study: Study) -> list[Drawn]:
    rows, note = selection.with_colours(study, study.exposure)
    if not len(rows):
        return []
    ginis = dict(zip(rows["model"], rows["gini"], strict=True))
    n_items = int(rows["n_items"].iloc[0])
    return [
        Drawn(
            "exposure",
            "Distribution of recommendations over items",
            f"Lorenz curves of the recommendations{_in_top(study)} over the {n_items:,} "
            f"{_of_what(study)}. On the dashed line, all items are recommended equally often; the "
            "further a curve is below it, the fewer items receive most of the recommendations.",
            charts.exposure(rows, study.shown),
            _named(rows, model="model", share_of_items="share of items",
                   share_of_recommendations="share of recommendations", gini="Gini coefficient"),
            "Lorenz curves of the recommendations over items. Gini coefficients: "
            + ", ".join(f"{model} {_number(gini)}" for model, gini in ginis.items()),
            note=note,
            wide=False,
        )
    ]  # fmt: skip


def _in_top(study: Study) -> str:
    return "" if study.primary.k is None else f" in the top {study.primary.k}"


def _in_lists(study: Study) -> str:
    return _in_top(study) or " in the lists"


def _of_what(study: Study) -> str:
    """Name the items that are counted: items of the catalogue, or recommended items."""
    return "items of the catalogue" if study.has_catalogue else "recommended items"


def _popularity(study: Study) -> list[Drawn]:
    rows = study.popularity
    if not len(rows):
        return []
    of_models, note = selection.with_colours(study, rows[rows["model"].notna()])
    rows = rows[rows["model"].isna() | rows["model"].isin(of_models["model"])]
    names = ["new" if _is_missing(group) else _TENTHS[int(group) - 1] for group in rows["group"]]
    rows = rows.assign(group=names)
    order = {name: place for place, name in enumerate([*_TENTHS, "new"])}
    rows = rows.sort_values("group", key=lambda names: names.map(order), kind="stable")
    shown = rows.assign(model=[model if isinstance(model, str) else "(history)"
                               for model in rows["model"]])  # fmt: skip
    top = shown[shown["group"] == _TENTHS[0]]
    return [
        Drawn(
            "popularity",
            "Popularity bias",
            f"Share of the recommendations{_in_top(study)} for every tenth of the items, ordered "
            "by popularity in the history. Grey bars show the shares in the history itself.",
            charts.popularity(rows, study.shown),
            _named(shown, model="model", group="items", share="share"),
            "Share of recommendations for the most popular tenth of the items: "
            + ", ".join(f"{row['model']} {100 * row['share']:.0f} %" for row in records(top)),
            note=note,
            wide=False,
        )
    ]


_TENTHS = ["top 10%", *(f"–{10 * number}%" for number in range(2, 11))]


def _group_exposure(study: Study) -> list[Drawn]:
    rows, note = selection.with_colours(study, study.group_exposure)
    if not len(rows) or (column := study.grouped_by) is None:
        return []
    rows, named, left = _named_groups(rows, study, column, ["value", "history", "catalogue"])
    known = {
        "catalogue": " Grey bars: share of the items of the catalogue.",
        "history": " Grey lines: mean share of the histories of these users.",
    }
    references = "".join(text for name, text in known.items() if rows[name].notna().any())
    shown = ["group", "model", "value", "ci_low", "ci_high", "history", "catalogue", "n_users"]
    titles = {
        "group": named, "model": "model", "value": "share of the exposure",
        "ci_low": "interval from", "ci_high": "to", "history": "share of the histories",
        "catalogue": "share of the catalogue", "n_users": "users",
    }  # fmt: skip
    titles = {name: titles[name] for name in shown if rows[name].notna().any()}
    return [
        Drawn(
            "group_exposure",
            f"Exposure by {named}",
            f"Mean share of the exposure{_in_top(study)} for each group of items, with confidence "
            "intervals. The item at rank r has the weight 1/log₂(r + 1); an item with several "
            "groups counts in parts." + references,
            charts.group_exposure(rows, study.shown),
            _named(rows, **titles),
            f"Exposure by {named}: "
            + "; ".join(
                f"{row['group']}, {row['model']} {_percent(row['value'])}"
                for row in records(rows)[:_HEARD]
            ),
            note=selection.joined(selection.smaller_slices(left, "smaller groups"), note),
        )
    ]


def _calibration(study: Study) -> list[Drawn]:
    rows, note = selection.with_colours(study, study.calibration)
    if not len(rows):
        return []
    rows, named, left = _named_groups(rows, study, "category", ["listed", "known"])
    return [
        Drawn(
            "calibration",
            f"Calibration by {named}",
            f"Mean difference between the share of a category{_in_lists(study)} and its share in "
            "the history of the same user, with confidence intervals. Below 0, the lists have less "
            "of the category than the histories. All ranks have the same weight; an item with "
            "several categories counts in parts.",
            charts.calibration(rows, study.shown),
            _named(rows, group=named, model="model", listed="share in the lists",
                   known="share in the histories", difference="difference",
                   ci_low="interval from", ci_high="to", n_users="users"),
            "Share in the lists minus share in the histories: "
            + "; ".join(
                f"{row['group']}, {row['model']} {_percent(row['difference'])}"
                for row in records(rows)[:_HEARD]
            ),
            note=selection.joined(selection.smaller_slices(left, "smaller categories"), note),
        )
    ]  # fmt: skip


def _named_groups(
    rows: pd.DataFrame, study: Study, column: str, by: list[str]
) -> tuple[pd.DataFrame, str, int]:
    """Name the groups of items, and keep the largest, sorted by their largest share.

    Returns: the rows, the name of the column in the items table, and the number of other groups.
    """
    named = study.source_name(column)
    labels = [f"(no {named})" if _is_missing(group) else str(group) for group in rows["group"]]
    rows = rows.assign(group=labels, slice=labels)
    largest, left = selection.largest_slices(rows, rows[by].max(axis=1), by_size=True)
    return selection.in_slices(rows, largest).reset_index(drop=True), named, left


def _percent(share: Any) -> str:
    return "–" if _is_missing(share) else f"{100 * share:.1f} %"


def _popularity_lift(study: Study) -> list[Drawn]:
    rows, note = selection.with_colours(study, study.lifts)
    if not len(rows) or not rows["value"].notna().any():
        return []
    sizes = dict.fromkeys(rows["slice"], 0)
    sizes |= {str(name): int(n) for name, n in rows.groupby("slice")["n_users"].max().items()
              if not _is_missing(n)}  # fmt: skip
    rows = selection.named_slices(rows, sizes)
    first = str(rows["label"].iloc[0])
    return [
        Drawn(
            "popularity_lift",
            "Popularity lift by activity",
            f"Popularity of the items{_in_lists(study)} relative to the items in "
            "the histories of the same users, in groups of users by the number of items in the "
            "history. At 0, both are equally popular; at 1, recommended items are twice as "
            "popular. Numbers in brackets: users.",
            charts.slices(rows, study.shown, "lift", zero=True),
            _named(rows, slice="activity", model="model", label="metric", value="value",
                   ci_low="interval from", ci_high="to", n_users="users"),
            f"{first} by activity of users: "
            + "; ".join(
                f"{row['slice']}, {row['model']} {_number(row['value'])}"
                for row in records(rows[rows["label"] == first])[:_HEARD]
            ),
            note=note,
        )
    ]  # fmt: skip


def _trade_off(study: Study) -> list[Drawn]:
    import pandas as pd

    first = label(study.primary)
    accuracy = study.at_main[study.at_main["label"] == first].set_index("model")["value"]
    values, requests = study.at_main, [*study.main]
    if study.how.metrics is None and len(study.further_values):
        values = pd.concat([values, study.further_values], ignore_index=True)
        requests += [one for one in study.further if label(one) not in study.positions]
    others = [
        label(request)
        for request in requests
        if request.metric.family in BEYOND and label(request) != first
    ]
    values = values[values["label"].isin(others)].drop_duplicates(["model", "label"])
    rows, note = selection.with_names(study, values.reset_index(drop=True))
    rows = rows.assign(accuracy=rows["model"].map(accuracy))
    rows = rows[rows["value"].notna() & rows["accuracy"].notna()]
    if not len(rows) or len(study.models) < 2 or study.primary.metric.family in BEYOND:
        return []
    preferred = [other for other in others if other.startswith("surprisal")]
    rows = _first(rows, "label", preferred[0] if preferred else others[0])
    return [
        Drawn(
            "trade_off",
            "Accuracy and other qualities",
            f"{first} of every model, plotted against a metric of popularity, novelty, diversity, "
            "coverage or fairness."
            + " Names that would cover others are omitted; point at a mark to read its name."
            * (len(study.listed) > len(study.shown)),
            charts.trade_off(rows, study.listed, study.shown, first),
            _side_by_side(rows, study, first),
            f"Models by {first} and another metric: "
            + "; ".join(
                f"{row['model']} {_number(row['accuracy'])}, {row['label']} {_number(row['value'])}"
                for row in records(rows)[:_HEARD]
            ),
            note=note,
        )
    ]


def _side_by_side(rows: pd.DataFrame, study: Study, first: str) -> pd.DataFrame:
    """Return one row per model, with its accuracy and its other metrics."""
    wide = rows.pivot(index="model", columns="label", values="value")
    wide = wide[list(dict.fromkeys(rows["label"]))]
    wide.insert(0, first, rows.drop_duplicates("model").set_index("model")["accuracy"])
    order = [model for model in study.models if model in wide.index]
    return wide.loc[order].reset_index().rename_axis(columns=None)


FigureKind = Literal[
    "scores", "against_best", "cutoffs", "distribution", "differences", "wins", "slices",
    "exposure", "popularity", "group_exposure", "calibration", "popularity_lift", "trade_off",
]  # fmt: skip
KINDS: Mapping[str, Draw] = {
    "scores": _scores,
    "against_best": _against_best,
    "cutoffs": _cutoffs,
    "distribution": _distribution,
    "differences": _differences,
    "wins": _wins,
    "slices": _slices,
    "exposure": _exposure,
    "popularity": _popularity,
    "group_exposure": _group_exposure,
    "calibration": _calibration,
    "popularity_lift": _popularity_lift,
    "trade_off": _trade_off,
}
"""The figures of `Evaluator.plot`, in the order of the report; see `docs/how-to/report.md`."""


def checked_kind(figure: str) -> str:
    """Check that a kind of figure exists, and return it.

    Raises:
        UsageError: there is no figure of this kind.
    """
    if figure not in KINDS:
        raise UsageError(
            f"unknown figure {figure!r}; choose one of {', '.join(KINDS)}"
            f"{suggestion(str(figure), KINDS)}"
        )
    return figure


def plotted(kind: str, study: Study) -> Chart | alt.VConcatChart:
    """Draw a figure for a notebook.

    Raises:
        UsageError: there is nothing to draw.
    """
    drawn = KINDS[kind](study)
    if not drawn:
        raise UsageError(f"{kind}: nothing to draw; {_NEEDS[kind]}")
    named = [
        (
            figure.chart if _has_height(figure.chart) else figure.chart.properties(height=_HEIGHT)
        ).properties(width=_WIDTH, title=_title_with_choices(figure))
        for figure in drawn
    ]
    if len(named) == 1:
        return named[0]
    below: alt.VConcatChart = altair().vconcat(*named)
    return below


def _title_with_choices(drawn: Drawn) -> Any:
    """Add the chosen menu options to the title, because saved images have no menus."""
    parts = [json.dumps(drawn.title)]
    for param in specification(drawn.chart).get("params", []):
        bound = param.get("bind", {})
        if "labels" in bound:  # the options are indexes of the labels
            parts.append(f"{json.dumps(bound['labels'])}[{param['name']}]")
        elif "options" in bound:
            parts.append(param["name"])
    return altair().TitleParams(altair().expr(" + ', ' + ".join(parts)))


_NEEDS = {
    "scores": "pass several models",
    "against_best": "pass several models and metrics with per-user values",
    "cutoffs": "pass several cutoffs, e.g. k=[1, 5, 10]",
    "distribution": "pass a metric with per-user values",
    "differences": "pass several models and metrics with per-user values",
    "wins": "pass several models and a primary metric with per-user values",
    "slices": "pass by=…, or the table history or users",
    "exposure": "there are no recommendations",
    "popularity": "pass the table history",
    "group_exposure": "pass the table items with a column item_group or category",
    "calibration": "pass the tables history, and items with a column category",
    "popularity_lift": "pass the table history, and a convention or fallback with popularity_lift",
    "trade_off": "pass several models and a metric of novelty, diversity, coverage or fairness",
}


# ---- parts of figures ---------------------------------------------------------------------------


def specification(chart: Chart) -> dict[str, Any]:
    """Return the Vega-Lite specification with inline data, regardless of notebook settings."""
    alt = altair()
    with alt.theme.enable("none"), alt.data_transformers.enable("default", max_rows=None):
        spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec


def table_of(frame: pd.DataFrame) -> FigureTable:
    """Convert a data frame to a table for the page, limited to the first rows."""
    shown = frame.head(_ROWS).itertuples(index=False, name=None)
    note = f"The first {_ROWS} of {len(frame):,} rows." if len(frame) > _ROWS else ""
    rows = [[_cell(value) for value in row] for row in shown]
    return FigureTable([str(name) for name in frame.columns], rows, note)


def _cell(value: Any) -> Cell:
    if _is_missing(value):
        return None
    if isinstance(value, str):
        return value
    return int(value) if hasattr(value, "__index__") else float(value)


def _named(rows: pd.DataFrame, **names: str) -> pd.DataFrame:
    """Select columns and give them readable names."""
    return rows[list(names)].rename(columns=names)


def _primary_first(rows: pd.DataFrame, study: Study) -> tuple[pd.DataFrame, str]:
    """Put the rows of the primary metric first, and return the rows and the first label.

    If the primary metric has no rows, the label is that of another metric.
    """
    rows = _first(rows, "label", label(study.primary))
    return rows, str(rows["label"].iloc[0])


def _first(rows: pd.DataFrame, column: str, value: str) -> pd.DataFrame:
    """Put the rows with this value first; charts show them until the reader chooses others."""
    return rows.iloc[(rows[column] != value).argsort(kind="stable")].reset_index(drop=True)


def _listing(rows: pd.DataFrame, metric: str) -> str:
    own = rows[rows["label"] == metric]
    return ", ".join(f"{row['model']} {_number(row['value'])}" for row in records(own))


def _number(value: Any) -> str:
    return "–" if _is_missing(value) else f"{value:.4g}"


def _is_missing(value: Any) -> bool:
    import pandas as pd

    return bool(pd.isna(value))


def _with_pairs(rows: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Number and name the pairs of models, starting with the best models."""
    places = {model: place for place, model in enumerate(study.models)}
    pairs = list(zip(rows["model"], rows["baseline"], strict=True))
    known = sorted(set(pairs), key=lambda pair: (places[pair[0]], places[pair[1]]))
    numbers = {pair: number for number, pair in enumerate(known)}
    rows = rows.assign(
        pair=[numbers[pair] for pair in pairs], pair_name=[f"{a} − {b}" for a, b in pairs]
    )
    return rows.sort_values("pair", kind="stable").reset_index(drop=True)


def _has_height(chart: Chart) -> bool:
    return bool(chart.height is not altair().Undefined)
