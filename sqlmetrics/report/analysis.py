"""The values of one run that several figures of a report share, each computed once."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from sqlmetrics.errors import DataError, MissingTableError, UsageError, suggestion
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.requests import MetricRequest, cutoff_context
from sqlmetrics.metrics.spec import MetricSpec, labelled
from sqlmetrics.plan.clusters import not_tested
from sqlmetrics.plan.comparison import comparison
from sqlmetrics.plan.planner import Planner, without_credit
from sqlmetrics.plan.results import Results, results_of
from sqlmetrics.plan.slices import Attribute, Slicing, attributes_of
from sqlmetrics.plan.summary import summary
from sqlmetrics.report.limits import (
    FEW_VALUES,
    LISTED,
    MOST_COLUMNS,
    PAIRED,
    PAIRED_METRICS,
    SHOWN,
    in_order,
)
from sqlmetrics.sql.query_graph import Node, Plan, Query
from sqlmetrics.stats import paired_tests
from sqlmetrics.stats.leaderboard import best_models, keys_of, leaderboard, to_compare
from sqlmetrics.texts.wording import listed

PRIMARY = "ndcg"  # the default primary metric, if it is among the requested metrics
CUTOFFS = (1, 3, 5, 10)
MAIN_CUTOFF = 10
BEYOND = ("catalogue", "diversity", "novelty", "fairness")  # families beyond accuracy
LIFTS = ("popularity_lift", "group_popularity_lift")
# further metrics of the section Beyond accuracy, which are not in the leaderboard unless named
FURTHER = (*LIFTS, "calibration", "awrf", "exposure_parity")


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
    cluster: str | None = None
    skip_missing: bool = False

    def __post_init__(self) -> None:
        paired_tests.checked(test=self.test, correction=self.correction)
        if not isinstance(self.alpha, int | float) or not 0 < self.alpha < 1:
            raise UsageError(f"alpha must be between 0 and 1, not {self.alpha!r}")
        paired_tests.check_scipy(test=self.test, interval="normal")
        if self.cluster is not None:
            not_tested(self.test)


@dataclass
class Study:
    """The values of a run that several figures share, each as a data frame.

    Attributes:
        run: function that runs a plan.
        hold: function that computes nodes once for all later plans.
        results: all requested metrics, without slices.
        how: the options of the report, such as the significance test.
        attributes: the attributes to slice by.
        chosen: the primary metric, if the user named one.
        further: metrics that only the section Beyond accuracy shows, at the cutoff of the primary
            metric: those of `FURTHER` that the tables allow, or of `LIFTS` if metrics are named.
    """

    run: Callable[[Plan], pd.DataFrame]
    hold: Callable[[Sequence[Node]], None]
    results: Results
    how: Question
    attributes: list[Attribute]
    chosen: MetricRequest | None = None
    further: Sequence[MetricRequest] = ()

    def __post_init__(self) -> None:
        self.planner: Planner = self.results.planner
        self.requests: Sequence[MetricRequest] = self.results.requests
        self.primary = self.chosen or _primary(self.requests)
        self.main = _at_main(self.requests, self.primary.k)
        self.of_users = [request for request in self.main if request.metric.grain == "user"]
        self.compared = [
            request for request in self.of_users if request.values["aggregate"] == "mean"
        ]
        self.better = {request.name: request.higher_is_better for request in self.requests}

    def labels(self, requests: Iterable[MetricRequest]) -> list[str]:
        """Return metrics with their cutoffs, the primary metric first."""
        names = [request.column for request in requests]
        return sorted(names, key=lambda name: name != self.primary.column)

    # ---- queries -------------------------------------------------------------------------------

    @functools.cached_property
    def item_counts(self) -> Node:
        """Plan the number of recommendations per model and item."""
        return self.planner.rendered(
            "report/item_counts", {"ranked": self.stage("ranked")}, k=self.primary.k
        )

    @property
    def held(self) -> list[Node]:
        """Return the queries that several analyses read."""
        return [*self.results.of_everybody, self.item_counts, self.stage("ranked")]

    def stage(self, name: str) -> Query:
        """Plan a stage under the settings of the primary metric."""
        values = without_credit({**self.primary.values, **cutoff_context([self.primary.k])})
        return self.planner.node(name, values)

    def if_there(self, stage: str) -> Query | None:
        """Plan a stage, or return None if it needs tables that are not there."""
        try:
            return self.stage(stage)
        except MissingTableError:
            return None

    def queried(
        self, template: str, reads: Mapping[str, Node], often: bool = False, **context: Any
    ) -> pd.DataFrame:
        """Run a query; see `Planner.rendered`."""
        return self._of_models(
            self.run(Plan(self.planner.rendered(template, reads, often=often, **context)))
        )

    def _of_models(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with the column `model`, which has texts."""
        if "model" not in frame.columns:
            frame.insert(0, "model", self.planner.model)
        frame["model"] = frame["model"].map(str, na_action="ignore").astype(object)
        return frame

    def labelled(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return results with the columns `model` and `label`.

        A label is a metric with its cutoff: `ndcg@10`.
        """
        frame = self._of_models(frame)
        frame["label"] = [labelled(*key) for key in keys_of(frame)]
        return frame

    # ---- values --------------------------------------------------------------------------------

    @functools.cached_property
    def values(self) -> pd.DataFrame:
        """Return the result of `Evaluator.evaluate` with the columns `model` and `label`."""
        return self.labelled(self.run(summary(self.results)))

    @functools.cached_property
    def at_main(self) -> pd.DataFrame:
        """Return the rows of `values` at the main cutoff of the report."""
        names = self.labels(self.main)
        return self.values[self.values["label"].isin(names)].reset_index(drop=True)

    @functools.cached_property
    def models(self) -> list[str]:
        """Return all models, ordered from best to worst by the primary metric."""
        rows = self.at_main[self.at_main["label"] == self.primary.column]
        rows = rows.assign(value=list(map(to_compare, rows["value"].astype(float))))
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

    def in_order(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Sort the rows by model, the best first; the sort is stable."""
        return in_order(frame, "model", self.models)

    @functools.cached_property
    def further_values(self) -> pd.DataFrame:
        """Return the values of the further metrics, like `values`."""
        if self.of_further is None:
            return pd.DataFrame()
        return self.labelled(self.run(summary(self.of_further)))

    @functools.cached_property
    def of_further(self) -> Results | None:
        """Plan the further metrics, if there are any."""
        if not self.further:
            return None
        results = self.planned(self.further)
        self.hold(results.of_everybody)
        return results

    def planned(self, requests: Sequence[MetricRequest], slicing: Slicing | None = None) -> Results:
        """Plan other metrics than those of the report."""
        of = self.results
        return results_of(
            of.planner,
            requests,
            with_convention=of.with_convention,
            slicing=slicing,
            interval=of.interval,
            clusters=of.clusters,
        )

    # ---- comparisons ---------------------------------------------------------------------------

    @functools.cached_property
    def comparisons(self) -> pd.DataFrame:
        """Return the results of `Evaluator.compare`, with the best models as baselines.

        The best model of each metric is a baseline for all metrics. P-values are not corrected,
        because callers choose which comparisons to test.
        """
        if len(self.models) < 2 or not self.compared:
            return pd.DataFrame()
        everything = self.results.narrowed(self.compared)
        best = best_models(self.at_main, self.better)
        frames = [self.compare(everything, model, test=self.how.test) for model in best]
        return pd.concat(frames, ignore_index=True)

    def compare(
        self,
        results: Results,
        baseline: str,
        names: Mapping[str, str] | None = None,
        test: str = "t",
    ) -> pd.DataFrame:
        """Compare all models with a baseline; `names` maps columns of slices to new names."""
        frame = self._of_models(
            self.run(comparison(results, baseline, test)).rename(columns=names or {})
        )
        finished = paired_tests.finished(
            frame,
            test=test,
            interval="normal",
            confidence=self.how.confidence,
            correction="none",
        )
        return self.labelled(finished)

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
            labelled(*key): model
            for model, best_at in best_models(self.at_main, self.better).items()
            for key in best_at
        }
        rows = rows[rows["label"].map(best) == rows["baseline"]].reset_index(drop=True)
        p_values = rows["p_value"].to_numpy("float64")
        return rows.assign(
            p_adjusted=paired_tests.adjusted_within(rows, p_values, self.how.correction)
        )

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
            self._add(self.built_in("activity_group", None))
        if how.by_item is None and with_history:
            self._add(self.built_in(None, "popularity"))

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

    def built_in(self, by: str | None, by_item: str | None) -> list[Attribute]:
        """Return built-in attributes of users and of items."""
        of = self.planner
        by = by and f"{by}()"
        by_item = by_item and f"{by_item}()"
        return attributes_of(by, by_item, of.catalog, of.tables, of.user_keys)

    def is_unordered(self, attribute: str) -> bool:
        """Return whether an attribute is a column whose values have no order of their own."""
        return any(one.name == attribute and not one.is_ordered for one in self.attributes)

    @functools.cached_property
    def sliced(self) -> list[tuple[Attribute, Results]]:
        """Plan the sliced results: all metrics for user slices, supported ones for item slices.

        Slices of relevant items have only the first few metrics.
        """
        sliced: list[tuple[Attribute, Results]] = []
        few = sorted(self.of_users, key=lambda request: request != self.primary)[:PAIRED_METRICS]
        implied = [replace(one, spec=replace(one.spec, implied=True)) for one in few]
        for attribute in self.attributes if self.of_users else ():
            slicing = Slicing(self.planner, [attribute], False, self.primary.values)
            if attribute.of == "users":
                results = self.results.sliced(slicing).narrowed(self.of_users)
            else:
                try:
                    results = self.planned(implied, slicing)
                except UsageError:  # no metric supports slices of relevant items
                    if self.how.by_item is not None:
                        raise
                    continue
            sliced.append((attribute, results))
        # held tables have known sizes; without them, the engine may choose a slow join order
        self.hold([node for _, results in sliced for node in results.of_slices])
        return sliced


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
        known = [request.column for request in requests]
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
