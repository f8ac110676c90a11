"""The values of one run and the data of the report's figures, each computed once."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import DataError, MissingTableError, UsageError, suggestion
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.requests import MetricRequest, cutoff_context
from sqlmetrics.metrics.spec import MetricSpec
from sqlmetrics.plan.comparison import comparison
from sqlmetrics.plan.planner import Planner, StageSource, without_credit
from sqlmetrics.plan.results import Results, results_of
from sqlmetrics.plan.slices import Attribute, Slicing, attributes_of, warn_of_empty_slices
from sqlmetrics.plan.summary import summary
from sqlmetrics.sql.binding import Text, bound, tables_of
from sqlmetrics.sql.query_graph import Node, Plan, Query
from sqlmetrics.sql.quoting import identifier
from sqlmetrics.sql.templates import render_file
from sqlmetrics.stats import paired_tests
from sqlmetrics.stats.leaderboard import best_models, leaderboard
from sqlmetrics.texts.wording import listed

if TYPE_CHECKING:
    import pandas as pd

PRIMARY = "ndcg"  # the default primary metric, if it is among the requested metrics
CUTOFFS = (1, 3, 5, 10)
MAIN_CUTOFF = 10
BEYOND = ("catalogue", "diversity", "novelty", "fairness")  # families beyond accuracy
LIFTS = ("popularity_lift", "group_popularity_lift")
# further metrics of the section Beyond accuracy, which are not in the leaderboard unless named
FURTHER = (*LIFTS, "calibration", "awrf", "exposure_parity")
GROUP_DISCOUNT = "log2"  # the weights of ranks in the exposure of groups of items

SHOWN_CUTOFFS = 20
SHOWN = 8  # maximum number of models with a colour and a shape, the best ones
LISTED = 40  # maximum number of models in charts that name each one beside its marks
PAIRED = 6  # maximum number of models in pairwise comparisons
PAIRED_METRICS = 4  # maximum number of metrics in pairwise comparisons
N_BINS = 20
N_POINTS = 50  # of a Lorenz curve
POPULARITY_GROUPS = 10
SHOWN_SLICES = 20
MOST_COLUMNS = 4  # maximum number of user columns to slice by, unless --by is given
FEW_VALUES = 12  # a user column with more distinct values is sliced by only on request
N_EXAMPLES = 3  # example users of each kind
SHOWN_TRUTH = 12  # maximum number of relevant items shown for an example user
TITLES = ("title", "name")  # columns of the items table that may hold item names
_MOST_LISTED = 20  # maximum number of items shown of an example list
# column that groups items -> the stage with the parts of items in groups, and its column of parts
_SHARES = {
    "item_group": ("item_group_shares", "group_share"),
    "category": ("item_category_shares", "category_share"),
}


def metrics_of_reports(catalog: Catalog) -> list[str]:
    """Return the default metrics of a report: the default set and the beyond-accuracy metrics."""
    first = [name for name in catalog.default_set() if name == PRIMARY]
    beyond = [
        metric.name
        for metric in catalog.metrics.values()
        if metric.family in BEYOND and metric.in_report
    ]
    return list(dict.fromkeys([*first, *catalog.default_set(), *beyond]))


@dataclass(frozen=True)
class Question:
    """The options of a report; the attributes are the arguments of `Evaluator.report`."""

    metrics: str | Iterable[str | MetricSpec] | None = None
    k: int | Iterable[int] | None = None
    primary: str | None = None
    by: str | Iterable[str] | None = None
    by_item: str | Iterable[str] | None = None
    test: str = "t"
    correction: str = "holm"
    alpha: float = 0.05
    confidence: float = 0.95
    skip_missing: bool = False

    def __post_init__(self) -> None:
        paired_tests.checked(test=self.test, correction=self.correction)
        if not isinstance(self.alpha, int | float) or not 0 < self.alpha < 1:
            raise UsageError(f"alpha must be between 0 and 1, not {self.alpha!r}")
        paired_tests.check_scipy(test=self.test, interval="normal")


@dataclass
class Study:
    """The values of a run and the analyses of them, each as a data frame.

    Attributes:
        run: function that runs a plan.
        hold: function that computes nodes once for all later plans.
        results: all requested metrics, without slices.
        how: the options of the report, such as the significance test.
        attributes: the attributes to slice by.
        chosen: the primary metric, if the user named one.
        further: metrics that only the section Beyond accuracy shows, at the cutoff of the primary
            metric: those of `FURTHER` that the tables allow, or of `LIFTS` if metrics are named.
        room: fraction of the maximum figure size that figures may use.
    """

    run: Callable[[Plan], pd.DataFrame]
    hold: Callable[[Sequence[Node]], None]
    results: Results
    how: Question
    attributes: list[Attribute]
    chosen: MetricRequest | None = None
    further: Sequence[MetricRequest] = ()
    room: float = 1.0

    def __post_init__(self) -> None:
        self.planner: Planner = self.results.planner
        self.requests: Sequence[MetricRequest] = self.results.requests
        self.primary = self.chosen or _primary(self.requests)
        self.main = _at_main(self.requests, self.primary.k)
        self.of_users = [request for request in self.main if request.metric.grain == "user"]
        self.compared = [
            request for request in self.of_users if request.values["aggregate"] == "mean"
        ]
        self.positions = {label(request): number for number, request in enumerate(self.main)}

    @property
    def asked(self) -> list[MetricSpec]:
        """Return all metrics with their cutoffs."""
        return [replace(request.spec, cutoff=request.k) for request in self.requests]

    @property
    def asked_at_main(self) -> list[MetricSpec]:
        """Return all metrics at the main cutoff of the report."""
        return [replace(request.spec, cutoff=request.k) for request in self.main]

    def labels(self, requests: Iterable[MetricRequest]) -> list[str]:
        """Return metrics with their cutoffs, the primary metric first."""
        names = [label(request) for request in requests]
        return sorted(names, key=lambda name: name != label(self.primary))

    # ---- shared queries ------------------------------------------------------------------------

    @functools.cached_property
    def item_counts(self) -> Node:
        """Plan the number of recommendations per model and item."""
        return self.planner.rendered(
            "report/item_counts", {"ranked": self._stage("ranked")}, k=self.primary.k
        )

    @property
    def held(self) -> list[Node]:
        """Return the queries that several analyses read."""
        return [*self.results.of_everybody, self.item_counts, self._stage("ranked")]

    def _stage(self, name: str, planner: Planner | None = None) -> Query:
        values = without_credit({**self.primary.values, **cutoff_context([self.primary.k])})
        return (planner or self.planner).node(name, values)

    # ---- values --------------------------------------------------------------------------------

    @functools.cached_property
    def values(self) -> pd.DataFrame:
        """Return the result of `Evaluator.evaluate` with the columns `model` and `label`.

        A label is a metric with its cutoff: `ndcg@10`.
        """
        return self._labelled(self.run(summary(self.results)))

    def _labelled(self, frame: pd.DataFrame) -> pd.DataFrame:
        if "model" not in frame.columns:
            frame.insert(0, "model", self.planner.model)
        frame["model"] = frame["model"].astype(str)
        keys = zip(frame["metric"], frame["k"], strict=True)
        frame["label"] = [_label(metric, _whole(k)) for metric, k in keys]
        return frame

    @functools.cached_property
    def at_main(self) -> pd.DataFrame:
        """Return the rows of `values` at the main cutoff of the report."""
        return self.values[self.values["label"].isin(self.positions)].reset_index(drop=True)

    @functools.cached_property
    def models(self) -> list[str]:
        """Return all models, ordered from best to worst by the primary metric."""
        rows = self.at_main[self.at_main["label"] == label(self.primary)]
        # multi-threaded sums may differ after 12 digits; the leaderboard rounds in the same way
        rows = rows.assign(value=[float(f"{value:.12g}") for value in rows["value"].astype(float)])
        order = rows.sort_values(
            ["value", "model"],
            ascending=[self.primary.higher_is_better is False, True],
            na_position="last",
        )
        return list(dict.fromkeys([*order["model"], *self.at_main["model"]]))

    @property
    def shown(self) -> list[str]:
        """Return the best models, which have a colour and a shape in all charts."""
        return self.models[:SHOWN]

    @property
    def listed(self) -> list[str]:
        """Return the best models, for charts that name every model beside its marks."""
        return self.models[:LISTED]

    @property
    def paired(self) -> list[str]:
        """Return the best models, which the pairwise comparisons use."""
        return self.models[:PAIRED] if self.planner.several_models else []

    # ---- comparisons ---------------------------------------------------------------------------

    @functools.cached_property
    def better(self) -> dict[str, bool | None]:
        """Map every metric to whether higher values are better; None if neither is."""
        return {request.name: request.higher_is_better for request in self.requests}

    @functools.cached_property
    def comparisons(self) -> pd.DataFrame:
        """Return the results of `Evaluator.compare` with several baselines.

        The best model of each metric is a baseline for all metrics. The other models of the
        pairwise comparisons are baselines for the primary metric only. P-values are not corrected,
        because callers choose which comparisons to test.
        """
        import pandas as pd

        if len(self.models) < 2 or not self.compared:
            return pd.DataFrame()
        best = best_models(self.at_main, self.better)
        everything = self.results.narrowed(self.compared)
        frames = [self._compared(everything, model, test=self.how.test) for model in best]
        if self.primary in self.compared:  # the other baselines only give wins, ties and losses
            primary = self.results.narrowed([self.primary])
            others = [model for model in self.paired if model not in best]
            frames += [self._compared(primary, model) for model in others]
        return pd.concat(frames, ignore_index=True)

    def _compared(
        self,
        results: Results,
        baseline: str,
        names: Mapping[str, str] | None = None,
        test: str = "t",
    ) -> pd.DataFrame:
        """Compare all models with a baseline; `names` maps columns of slices to new names."""
        how = self.how
        frame = self.run(comparison(results, baseline, test)).rename(columns=names or {})
        frame["model"] = frame["model"].astype(str)
        finished = paired_tests.finished(
            frame, test=test, interval="normal", confidence=how.confidence, correction="none"
        )
        return self._labelled(finished)

    @functools.cached_property
    def board(self) -> pd.DataFrame:
        """Return the result of `Evaluator.leaderboard` at the main cutoff."""
        values = self.at_main.drop(columns="label")
        tested = self.comparisons
        tested = tested.drop(columns="label") if len(tested) else tested
        return leaderboard(values, tested, self.better, self.how.alpha, self.how.correction)

    @functools.cached_property
    def from_best(self) -> pd.DataFrame:
        """Return the difference of every model to the best model, with corrected p-values."""
        rows = self.comparisons
        if not len(rows):
            return rows
        best = {
            _label(metric, k): model
            for model, best_at in best_models(self.at_main, self.better).items()
            for metric, k in best_at
        }
        rows = rows[rows["label"].map(best) == rows["baseline"]].reset_index(drop=True)
        p_values = rows["p_value"].to_numpy("float64")
        return rows.assign(
            p_adjusted=paired_tests.adjusted_within(rows, p_values, self.how.correction)
        )

    # ---- users ---------------------------------------------------------------------------------

    @functools.cached_property
    def histograms(self) -> pd.DataFrame:
        """Return histograms of per-user values, including empty bins.

        The columns are `model, label, low, high, n_users, share`.
        """
        import pandas as pd

        frames = []
        for name, columns in self._columns(self.of_users).items():
            plan = self.planner.rendered(
                "report/histogram",
                {"per_user": self.results.wide.tables[name].node},
                columns=columns,
                n_bins=N_BINS,
            )
            frames.append(self.run(Plan(plan)))
        if not frames:
            return pd.DataFrame()
        frame = pd.concat(frames, ignore_index=True)
        if "model" not in frame.columns:
            frame.insert(0, "model", self.planner.model)
        frame["model"] = frame["model"].astype(str)
        rows = []
        for (model, place), own in frame.groupby(["model", "position"], sort=False):
            low, high = float(own["low"].iloc[0]), float(own["high"].iloc[0])
            counts = dict(zip(own["bin"].astype(int), own["n_users"].astype(int), strict=True))
            total, n_bins = sum(counts.values()), N_BINS if high > low else 1
            for number in range(n_bins):
                n_users = counts.get(number, 0)
                rows.append(
                    {
                        "model": model,
                        "label": label(self.main[int(str(place))]),
                        "low": low + (high - low) * number / n_bins,
                        "high": low + (high - low) * (number + 1) / n_bins,
                        "n_users": n_users,
                        "share": n_users / total,
                    }
                )
        return self._in_order(pd.DataFrame(rows))

    @functools.cached_property
    def difference_histograms(self) -> pd.DataFrame:
        """Return histograms of per-user differences between pairs of models.

        The columns are `model, baseline, label, low, high, outcome, n_users, share`. The bin from
        0 to 0 holds the users for whom both models have the same value. `outcome` is "better" if
        the model is better than the baseline in this bin, otherwise "equal" or "worse".
        """
        import pandas as pd

        rows = []
        of = sorted(self.compared, key=lambda request: request != self.primary)[:PAIRED_METRICS]
        for place, baseline in enumerate(self.paired[1:], start=1):
            above = self.paired[:place]
            for name, columns in self._columns(of).items():
                table = self.results.wide.tables[name].node
                names = [column["name"] for column in columns]
                pairs = self.planner.rendered(
                    "pairs", {"per_user": table}, often=True, names=names, baseline=baseline
                )
                plan = self.planner.rendered(
                    "report/difference_histogram",
                    {"pairs": pairs},
                    often=True,
                    columns=columns,
                    models=above,
                    n_bins=N_BINS,
                )
                rows += self._bins_of_differences(self.run(Plan(plan)), baseline)
        return pd.DataFrame(rows)

    def _bins_of_differences(self, frame: pd.DataFrame, baseline: str) -> list[dict[str, Any]]:
        frame["model"] = frame["model"].astype(str)
        totals = frame.groupby(["model", "position"])["n_users"].transform("sum")
        rows = []
        for row, total in zip(records(frame), totals, strict=True):
            request = self.main[int(row["position"])]
            number, step = int(row["bin"]), float(row["width"]) / N_BINS
            ends = sorted([number * step, (number - (number > 0) + (number < 0)) * step])
            sign = -number if request.higher_is_better is False else number
            rows.append(
                {
                    "model": row["model"],
                    "baseline": baseline,
                    "label": label(request),
                    "low": ends[0],
                    "high": ends[1],
                    "outcome": "better" if sign > 0 else "worse" if sign < 0 else "equal",
                    "n_users": int(row["n_users"]),
                    "share": int(row["n_users"]) / int(total),
                }
            )
        return sorted(rows, key=lambda row: (row["model"], row["label"], row["low"], row["high"]))

    def _columns(self, requests: Iterable[MetricRequest]) -> dict[str, list[dict[str, Any]]]:
        """Find the columns with the per-user values of the requests, grouped by wide table."""
        by_table: dict[str, list[dict[str, Any]]] = {}
        for request in requests:
            name, column = self.results.wide.home(request)
            low, high = request.metric.range or (None, None)
            by_table.setdefault(name, []).append(
                {
                    "name": column.name,
                    "position": self.positions[label(request)],
                    "low": low,
                    "high": high,
                }
            )
        return by_table

    # ---- slices --------------------------------------------------------------------------------

    def add_usual_slices(self) -> None:
        """Add the default slices, unless the user named slices.

        The default slices are columns of the users table with few distinct values, user activity
        and item popularity.
        """
        planner, how = self.planner, self.how
        slicing = Slicing(planner, [], False, self.primary.values)
        if how.by is None:
            for attribute in self._columns_of_users():
                plan = planner.rendered(
                    "report/number_of_values", {"attribute": slicing.read(attribute)}
                )
                (n_values,) = self.run(Plan(plan))["n_values"]
                if 1 < n_values <= FEW_VALUES and len(self.attributes) < MOST_COLUMNS:
                    self._add([attribute])
        with_history = "history" in planner.tables
        if how.by is None and with_history:
            self._add(self._built_in("activity_group", None))
        if how.by_item is None and with_history:
            self._add(self._built_in(None, "popularity"))

    def _add(self, attributes: Iterable[Attribute]) -> None:
        """Slice also by these, but for those that are called as one that is there."""
        known = {attribute.name.lower() for attribute in self.attributes}
        self.attributes += [
            attribute for attribute in attributes if attribute.name.lower() not in known
        ]

    def _columns_of_users(self) -> list[Attribute]:
        """Find columns to slice by that cannot be confused with anything else."""
        users = self.planner.tables.get("users")
        attributes = []
        for name in users.sources[0].types if users is not None else ():
            with contextlib.suppress(UsageError, DataError):  # a key, a list, two of a name
                attributes += attributes_of(
                    f"users.{name}", None, self.planner.catalog, self.planner.tables,
                    self.planner.user_keys,
                )  # fmt: skip
        return attributes

    def _built_in(self, by: str | None, by_item: str | None) -> list[Attribute]:
        of = self.planner
        by = by and f"{by}()"
        by_item = by_item and f"{by_item}()"
        return attributes_of(by, by_item, of.catalog, of.tables, of.user_keys)

    @functools.cached_property
    def slices(self) -> dict[str, pd.DataFrame]:
        """Return the sliced results of `Evaluator.evaluate`: attribute -> rows with a `slice`.

        All results are at the main cutoff. Slices of relevant items have only the first few
        metrics that support them.
        """
        frames = {}
        for attribute, results in self._sliced:
            frame = self.run(summary(results))
            warn_of_empty_slices(frame, [attribute])
            frames[attribute.name] = self._labelled(frame.rename(columns={attribute.name: "slice"}))
        return frames

    @functools.cached_property
    def wins(self) -> pd.DataFrame:
        """Count wins, ties and losses for pairs of models, over all users and in slices of users.

        The columns are those of `comparisons`, and `by` and `slice`: the attribute to slice by,
        which is empty for all users, and the slice.
        """
        import pandas as pd

        own = label(self.primary)
        if self.primary not in self.compared or not len(self.comparisons):
            return pd.DataFrame()
        everybody = self.comparisons[self.comparisons["label"] == own]
        frames = [everybody.assign(by="", slice="all users")]
        for attribute, results in self._sliced:
            if attribute.of != "users":
                continue
            narrow = results.narrowed([self.primary])
            names = {attribute.name: "slice"}
            compared = [self._compared(narrow, baseline, names) for baseline in self.paired[1:]]
            frames += [frame.assign(by=attribute.name) for frame in compared]
        frame = pd.concat(frames, ignore_index=True)
        # in every pair, the better model is `model` and the other one is `baseline`
        places = {model: place for place, model in enumerate(self.paired)}
        kept = [
            model in places and baseline in places and places[model] < places[baseline]
            for model, baseline in zip(frame["model"], frame["baseline"], strict=True)
        ]
        return frame[kept].reset_index(drop=True)

    @functools.cached_property
    def _sliced(self) -> list[tuple[Attribute, Results]]:
        """Plan the sliced results: all metrics for user slices, supported ones for item slices."""
        sliced: list[tuple[Attribute, Results]] = []
        for attribute in self.attributes if self.of_users else ():
            slicing = Slicing(self.planner, [attribute], False, self.primary.values)
            if attribute.of == "users":
                results = self.results.sliced(slicing).narrowed(self.of_users)
            else:
                try:
                    results = self._sliced_by_item(slicing)
                except UsageError:  # no metric supports slices of relevant items
                    if self.how.by_item is not None:
                        raise
                    continue
            sliced.append((attribute, results))
        # held tables have known sizes; without them, the engine may choose a slow join order
        self.hold([node for _, results in sliced for node in results.of_slices])
        return sliced

    def _sliced_by_item(self, slicing: Slicing) -> Results:
        """Plan slices of relevant items for the first few metrics that support them."""
        results = self.results
        few = sorted(self.of_users, key=lambda request: request != self.primary)[:PAIRED_METRICS]
        implied = [_implied(request) for request in few]
        return results_of(
            results.planner,
            implied,
            with_convention=results.with_convention,
            slicing=slicing,
            interval=results.interval,
        )

    # ---- items ---------------------------------------------------------------------------------

    @functools.cached_property
    def exposure(self) -> pd.DataFrame:
        """Return the points of the Lorenz curves.

        The columns are `model, share_of_items, share_of_recommendations, gini, n_items, n_listed`.
        """
        import pandas as pd

        reads: dict[str, Node] = {"item_counts": self.item_counts}
        if catalogue := self._if_there("catalogue"):
            reads["catalogue"] = catalogue
        plan = self.planner.rendered(
            "report/lorenz",
            reads,
            often=True,
            has_catalogue=catalogue is not None,
            n_points=N_POINTS,
        )
        frame = self.run(Plan(plan))
        frame["model"] = frame["model"].astype(str)
        starts = []
        for _, own in frame.groupby("model", sort=False):
            # the curve is 0 over the items that are never recommended
            first = own.iloc[0]
            starts.append({**first, "share_of_items": 0.0, "share_of_recommendations": 0.0})
            if first["n_listed"] < first["n_items"]:
                share = 1 - float(first["n_listed"]) / float(first["n_items"])
                starts.append({**first, "share_of_items": share, "share_of_recommendations": 0.0})
        frame = pd.concat([pd.DataFrame(starts), frame], ignore_index=True)
        frame = frame.sort_values(["share_of_items", "share_of_recommendations"], kind="stable")
        return self._in_order(frame)

    @property
    def has_catalogue(self) -> bool:
        """Return whether the tables define the catalogue of recommendable items."""
        return self._if_there("catalogue") is not None

    @functools.cached_property
    def popularity(self) -> pd.DataFrame:
        """Return the share of recommendations by item popularity: `model, group, share`.

        `group` is 1 for the most popular tenth of the items, and missing for items that are not in
        the history. Rows without a model hold the shares of the history itself. The result is
        empty without a history.
        """
        import pandas as pd

        popularity = self._if_there("item_popularity")
        if popularity is None:
            return pd.DataFrame()
        plan = self.planner.rendered(
            "report/exposure_by_popularity",
            {"item_counts": self.item_counts, "item_popularity": popularity},
            n_groups=POPULARITY_GROUPS,
        )
        frame = self.run(Plan(plan)).rename(
            columns={"popularity_group": "group", "share_of_rows": "share"}
        )
        # a model has a row, with share 0, for a tenth that it never recommends
        owners = [*dict.fromkeys(frame["model"].dropna().astype(str)), None]
        shares = {
            (None if pd.isna(row["model"]) else str(row["model"]), _whole(row["group"])):
            float(row["share"]) for row in records(frame)
        }  # fmt: skip
        n_groups = max((group for _, group in shares if group is not None), default=0)
        groups: list[int | None] = [*range(1, n_groups + 1)]
        groups += [None] if any(group is None for _, group in shares) else []
        rows = [(model, group, shares.get((model, group), 0.0)) for model in owners
                for group in groups]  # fmt: skip
        by_group = pd.DataFrame(rows, columns=["model", "group", "share"])
        return by_group.astype({"group": "Int64"})

    # ---- groups of items -----------------------------------------------------------------------

    @property
    def grouped_by(self) -> str | None:
        """Return the column of items that groups the items: item_group, else category, or None."""
        named = (name for name in _SHARES if self._shares(name) is not None)
        return next(named, None)

    def source_name(self, column: str) -> str:
        """Return the name of a column of items in the source, such as seller_size."""
        known = self.planner.tables["items"].sources[0].find_read(column)
        return column if known is None or known.parts else known.source

    @functools.cached_property
    def group_exposure(self) -> pd.DataFrame:
        """Return the exposure of groups of items: `group, model, value, ci_low, ci_high, n_users`.

        The exposure of a group in a list is its share of the weights of ranks; `value` is the mean
        over users. The columns `history` and `catalogue` have the share of the group in the
        histories of these users, and among the items of the catalogue; they are missing without
        these tables. A missing group stands for items without a group. The result is empty without
        a column that groups items.
        """
        import pandas as pd

        if (column := self.grouped_by) is None or (shares := self._shares(column)) is None:
            return pd.DataFrame()
        catalogue = self._if_there("catalogue")
        frame = self._by_group(
            "report/exposure_by_group",
            column,
            {} if catalogue is None else {"catalogue": catalogue, "item_shares": shares},
            discount=GROUP_DISCOUNT,
            has_catalogue=catalogue is not None,
        )
        of_lists = frame[frame["source"] == "lists"].drop(columns="source")
        groups = _groups_in(frame)
        for source in ("history", "catalogue"):
            known = frame.loc[frame["source"] == source, ["item_group", "value"]]
            groups = groups.merge(known.rename(columns={"value": source}), "left", "item_group")
            if len(known):  # a group without a row has no item there
                groups[source] = groups[source].fillna(0.0)
        return self._filled(of_lists, groups, ["value", "ci_low", "ci_high"])

    @functools.cached_property
    def calibration(self) -> pd.DataFrame:
        """Return the shares of categories in lists and histories, over users who have both.

        The columns are `group, model, listed, known, difference, ci_low, ci_high, n_users`:
        `difference` is the mean over users of the share in the list minus the share in the history.
        A missing group stands for items without a category. The result is empty without categories
        or without a history.
        """
        import pandas as pd

        if self._shares("category") is None or "history" not in self.planner.tables:
            return pd.DataFrame()
        frame = self._by_group("report/calibration_by_category", "category", {}, discount="none")
        numbers = ["listed", "known", "difference", "ci_low", "ci_high"]
        return self._filled(frame, _groups_in(frame), numbers)

    def _by_group(
        self,
        template: str,
        column: str,
        reads: Mapping[str, Node],
        discount: str,
        **context: Any,
    ) -> pd.DataFrame:
        """Run a query about the shares of groups of items in lists and histories.

        Args:
            template: the query, which reads these shares.
            column: the column that groups the items.
            reads: further tables that the query reads.
            discount: the weights of ranks.
            context: further variables of the query.
        """
        rendered = self.planner.rendered
        item_shares = self._shares(column)
        assert item_shares is not None
        items = {"item_shares": item_shares}
        of_items: dict[str, Any] = {"attribute": column, "share": _SHARES[column][1]}
        ranked = {"ranked": self._stage("ranked"), **items}
        list_shares = rendered(
            "report/list_shares", ranked, k=self.primary.k, discount=discount, **of_items
        )
        shares = {"list_shares": list_shares}
        has_history = "history" in self.planner.tables
        if has_history:
            seen = {"seen": self._stage("seen"), **items, **shares}
            shares["history_shares"] = rendered("report/history_shares", seen, **of_items)
        plan = rendered(
            template,
            {**shares, **reads},
            often=True,
            has_history=has_history,
            z=self.results.interval.z,
            **of_items,
            **context,
        )
        return self.run(Plan(plan))

    def _shares(self, column: str) -> Query | None:
        """Plan the parts of items in groups, if the items have this column."""
        return self._if_there(_SHARES[column][0])

    def _filled(
        self, frame: pd.DataFrame, groups: pd.DataFrame, numbers: Sequence[str]
    ) -> pd.DataFrame:
        """Return a row for every group and model, with zeros for groups that are in no list."""
        frame = frame.assign(model=frame["model"].astype(str))
        sizes = frame[["model", "n_users"]].drop_duplicates()
        every = groups.merge(sizes, "cross")
        filled = every.merge(frame.drop(columns="n_users"), "left", ["model", "item_group"])
        filled[list(numbers)] = filled[list(numbers)].astype(float).fillna(0.0)
        filled.loc[filled["n_users"] < 2, ["ci_low", "ci_high"]] = None
        return self._in_order(filled.rename(columns={"item_group": "group"}))

    @functools.cached_property
    def further_values(self) -> pd.DataFrame:
        """Return the values of the further metrics, like `values`."""
        import pandas as pd

        if self._of_further is None:
            return pd.DataFrame()
        return self._labelled(self.run(summary(self._of_further)))

    @functools.cached_property
    def lifts(self) -> pd.DataFrame:
        """Return the popularity lift by activity of users, like the frames of `slices`.

        The result is empty without a history, and if the convention has no popularity lift.
        """
        import pandas as pd

        further = self._of_further
        lifts = [request for request in self.further if request.metric.name in LIFTS]
        if further is None or not lifts:
            return pd.DataFrame()
        (attribute,) = self._built_in("activity_group", None)
        slicing = Slicing(self.planner, [attribute], False, self.primary.values)
        results = self._planned(lifts).sliced(slicing)
        self.hold(results.of_slices)
        frame = self.run(summary(results)).rename(columns={attribute.name: "slice"})
        return self._labelled(frame)

    @functools.cached_property
    def _of_further(self) -> Results | None:
        if not self.further:
            return None
        results = self._planned(self.further)
        self.hold(results.of_everybody)
        return results

    def _planned(self, requests: Sequence[MetricRequest]) -> Results:
        of = self.results
        return results_of(
            of.planner, requests, with_convention=of.with_convention, interval=of.interval
        )

    def _if_there(self, stage: str) -> Query | None:
        try:
            return self._stage(stage)
        except MissingTableError:
            return None

    # ---- examples ------------------------------------------------------------------------------

    @functools.cached_property
    def examples(self) -> dict[str, pd.DataFrame]:
        """Return the tables of example users: `users`, `lists`, `truth` and `values`.

        The example users have the best, typical and worst values of the primary metric under the
        best model. The dict is empty if the primary metric has no per-user values or there are no
        interactions.
        """
        planner, primary = self.planner, self.primary
        if primary.metric.grain != "user" or "interactions" not in planner.tables:
            return {}
        name, column = self.results.wide.home(primary)
        per_user = self.results.wide.tables[name].node
        of_users = planner.rendered(
            "report/example_users",
            {
                "per_user": per_user,
                "lists": self._stage("lists"),
                "relevant_users": self._stage("relevant_users"),
            },
            column=identifier(column.name),
            high_is_good=primary.higher_is_better is not False,
            model=self.models[0],
            n_users=N_EXAMPLES,
            own_user_keys=self.results.own_user_keys,
        )
        own = replace(planner, keeps=False, stages=_RowsOfUsers(planner, of_users))
        titles = self._titles
        reads: dict[str, Node] = {} if titles is None else {"titles": titles}
        context: dict[str, Any] = {
            "has_titles": titles is not None,
            "own_user_keys": self.results.own_user_keys,
        }
        relevant = self._stage("relevant", own)
        return {
            "users": self.run(Plan(of_users)),
            "lists": self.run(
                Plan(
                    planner.rendered(
                        "report/example_lists",
                        {"ranked": self._stage("ranked", own), "relevant": relevant, **reads},
                        k=self.shown_places,
                        **context,
                    )
                )
            ),
            "truth": self.run(
                Plan(
                    planner.rendered(
                        "report/example_truth",
                        {"relevant": relevant, **reads},
                        n_items=SHOWN_TRUTH,
                        **context,
                    )
                )
            ),
            "values": self.run(
                Plan(
                    planner.rendered(
                        "report/values_of_users",
                        {"per_user": per_user, "example_users": of_users},
                        column=identifier(column.name),
                    )
                )
            ),
        }

    @property
    def shown_places(self) -> int:
        """Return the number of leading items that an example list shows."""
        return min(self.primary.k or _MOST_LISTED, _MOST_LISTED)

    @property
    def _titles(self) -> Query | None:
        """Plan the names of items, if the items table has a column with names."""
        items = self.planner.tables.get("items")
        for name in TITLES:
            if items is not None and all(source.find(name) for source in items.sources):
                slicing = Slicing(self.planner, [], False, self.primary.values)
                return slicing.read(Attribute(name, "items", "items"))
        return None

    # ---- order ---------------------------------------------------------------------------------

    def _in_order(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Sort the rows by model, the best first; the sort is stable."""
        places = {model: place for place, model in enumerate(self.models)}
        return frame.sort_values("model", key=lambda names: names.map(places), kind="stable")


class _RowsOfUsers(StageSource):
    """Restricts input tables to the rows of a few users; `usual` plans the complete tables."""

    def __init__(self, usual: Planner, users: Node) -> None:
        self.usual = usual
        self.users = users

    def node(self, planner: Planner, name: str, values: Mapping[str, Any]) -> Query | None:
        """Plan the rows of these users in a table that has users."""
        if name not in planner.tables or not planner.inputs.has_user(name):
            return None
        rows = self.usual.node(name, values)
        context = {**planner.keys.context, "table": rows.name, "columns": rows.columns}
        text = Text(render_file("inputs/rows_of_users", context), "inputs/rows_of_users")
        read = {table: rows if table == rows.name else self.users for table in tables_of(text)}
        return bound(f"{name}_of_examples", text, read)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a data frame as dicts."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def label(request: MetricRequest) -> str:
    """Return a metric with its cutoff as text: `ndcg@10`."""
    return _label(request.name, request.k)


def _label(metric: str, k: int | None) -> str:
    return metric if k is None else f"{metric}@{k}"


def _whole(k: Any) -> int | None:
    """Convert a cutoff from a data frame to int, or to None if it is missing."""
    import pandas as pd

    return None if pd.isna(k) else int(k)


def _primary(requests: Sequence[MetricRequest]) -> MetricRequest:
    """Choose the primary metric: nDCG@10, or the request closest to it."""

    def distance(request: MetricRequest) -> tuple[bool, bool, bool, bool, int]:
        return (
            request.higher_is_better is None,
            request.metric.name != PRIMARY,
            request.metric.grain != "user",
            request.k != MAIN_CUTOFF,
            -(request.k or 0),
        )

    return min(requests, key=distance)


def chosen_request(
    requests: Sequence[MetricRequest], spec: MetricSpec, typed: str
) -> MetricRequest:
    """Find the primary metric that the user named among the metrics of the report.

    Args:
        requests: the metrics of the report.
        spec: the metric under its convention's name, with or without a cutoff.
        typed: the metric as the user typed it.

    Raises:
        UsageError: the report does not have this metric.
    """
    at_cutoff = [request for request in requests if spec.cutoff in (None, request.k)]
    matching = [request for request in at_cutoff if request.name == spec.name]
    if not matching and not spec.params:  # accept the metric with parameters if it is unambiguous
        matching = [request for request in at_cutoff if request.metric.name == spec.metric]
        matching = matching if len({request.name for request in matching}) == 1 else []
    if not matching:
        known = [label(request) for request in requests]
        raise UsageError(
            f"primary: {typed} is not a metric of this report; choose one of "
            f"{listed(known)}{suggestion(typed, known)}"
        )
    return _primary(matching)


def _at_main(requests: Sequence[MetricRequest], k: int | None) -> list[MetricRequest]:
    """Choose one cutoff per metric: that of the primary metric if available, else the largest."""
    chosen: dict[str, MetricRequest] = {}
    for request in requests:
        best = chosen.get(request.name)
        if best is None or (best.k != k and (request.k == k or (request.k or 0) > (best.k or 0))):
            chosen[request.name] = request
    return list(chosen.values())


def _groups_in(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per group of items, sorted; items without a group are last."""
    groups = frame[["item_group"]].drop_duplicates()
    return groups.sort_values("item_group", na_position="last")


def _implied(request: MetricRequest) -> MetricRequest:
    return replace(request, spec=replace(request.spec, implied=True))
