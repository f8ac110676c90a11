"""Mean ranks of models over several datasets, and tests of their differences.

The tests are those of J. Demšar, Statistical comparisons of classifiers over multiple data sets,
Journal of Machine Learning Research 7 (2006): Friedman's test, its correction by Iman and
Davenport, and the critical difference of Nemenyi. Each dataset is one observation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.stats.leaderboard import BEST, marked_columns, marks_in, to_compare
from sqlmetrics.stats.student import scipy_module, special
from sqlmetrics.texts.wording import listed

if TYPE_CHECKING:
    import pandas as pd

BLOCK = "rank"  # the first word of the columns
ALPHA = 0.05  # of the critical difference
_NEEDED_BY = "a test of ranks"


@dataclass(frozen=True)
class RanksOf:
    """The ranks of the models by one metric, and the tests whether they differ.

    Attributes:
        means: the mean rank of every model; 1 is the best.
        friedman_p: the p-value of Friedman's test with its correction for ties; 1 if the models
            are equal in every dataset.
        iman_davenport_p: the p-value of the F-test that Iman and Davenport derive from it; 0 if all
            datasets have the same ranks.
    """

    means: Mapping[str, float]
    friedman_p: float
    iman_davenport_p: float

    def from_best(self) -> list[str]:
        """Return the models, the best first."""
        return sorted(self.means, key=lambda model: self.means[model])

    def span(self, models: Sequence[str]) -> tuple[float, float]:
        """Return the smallest and the largest mean rank of some models."""
        means = [self.means[model] for model in models]
        return min(means), max(means)


@dataclass(frozen=True)
class Ranks:
    """The ranks of models in several datasets.

    Attributes:
        models, n_datasets: the models, and the number of datasets.
        metrics: the ranks by metric, such as `ndcg@10`.
        unranked: the metrics without a best value, which have no ranks.
    """

    models: Sequence[str]
    n_datasets: int
    metrics: Mapping[str, RanksOf]
    unranked: Sequence[str]

    @classmethod
    def of(cls, boards: Mapping[str, pd.DataFrame]) -> Ranks:
        """Rank the models of leaderboards with the same columns, by the name of the dataset.

        The values that are marked as best tell whether high or low values are better. Values that
        agree in 12 digits are equal, and have the mean of their ranks.

        Raises:
            UsageError: there are fewer than two datasets or models, no metric has a best value, or
                scipy is not installed.
            DataError: a dataset has no value of a model.
        """
        first = next(iter(boards.values()))
        models = list(dict.fromkeys(model for board in boards.values() for model in board["model"]))
        if len(boards) < 2 or len(models) < 2:
            raise UsageError(
                f"ranks need at least two datasets and two models, not {len(boards)} and "
                f"{len(models)}"
            )
        metrics, unranked = dict[str, RanksOf](), []
        for metric, mark in marked_columns(first).items():
            if all(_best(board, mark) for board in boards.values()):
                ranks = [
                    _ranks(name, board, metric, mark, models) for name, board in boards.items()
                ]
                metrics[metric] = _tested(models, ranks)
            else:
                unranked.append(metric)
        if not metrics:
            raise UsageError(
                f"ranks need a metric with a best value, and no model is marked as the best by "
                f"{' or '.join(unranked)}"
            )
        return cls(models, len(boards), metrics, unranked)

    @property
    def smallest_p(self) -> float:
        """Return the probability that all datasets have the same ranks by chance, without ties.

        No exact test of ranks has a smaller p-value: (k!)^(1 - N) for k models and N datasets.
        """
        orders: int = math.factorial(len(self.models)) ** (self.n_datasets - 1)
        return 1 / orders

    @property
    def critical_difference(self) -> float:
        """Return the difference of mean ranks from which on two models differ (Nemenyi)."""
        n_models = len(self.models)
        return _range_quantile(n_models) * math.sqrt(
            n_models * (n_models + 1) / (12 * self.n_datasets)
        )

    def columns(self) -> dict[str, Any]:
        """Return columns for a table of the models: mean ranks, and numbers that all rows share."""
        columns: dict[str, Any] = {}
        for metric, ranks in self.metrics.items():
            columns[f"{BLOCK} {metric}"] = [ranks.means[model] for model in self.models]
            columns[f"{BLOCK} {metric} friedman_p"] = ranks.friedman_p
            columns[f"{BLOCK} {metric} iman_davenport_p"] = ranks.iman_davenport_p
        return columns | {
            f"{BLOCK} smallest_p": self.smallest_p,
            f"{BLOCK} critical_difference": self.critical_difference,
        }

    def sentences(self) -> list[str]:
        """Return the results of the tests in words."""
        texts = [
            f"{metric}: Friedman p = {ranks.friedman_p:.2g}, Iman-Davenport p = "
            f"{ranks.iman_davenport_p:.2g}; {self._verdict(ranks)}"
            for metric, ranks in self.metrics.items()
        ]
        given = f"{len(self.models)} models and {self.n_datasets} datasets"
        smallest = f"smallest p that {given} can give exactly: {self.smallest_p:.2g}"
        if self.smallest_p >= ALPHA:
            smallest += "; so few cannot show a difference"
        difference = (
            f"critical difference of mean ranks: {self.critical_difference:.3f} "
            f"(Nemenyi, alpha {ALPHA:g})"
        )
        unranked = [f"no ranks, because no value is marked as the best: {', '.join(self.unranked)}"]
        return [*texts, smallest, difference, *(unranked if self.unranked else [])]

    def groups(self, metric: str) -> list[list[str]]:
        """Return the largest groups of models, the best first, whose ranks do not differ.

        The mean ranks of a group are less than the critical difference apart. All models are a
        group if the test finds no difference. A model that differs from all others is in none.
        """
        ranks, found = self.metrics[metric], list[list[str]]()
        order = ranks.from_best()
        if not self._differ(ranks):
            return [order]
        for place, model in enumerate(order):
            end = ranks.means[model] + self.critical_difference
            group = [model, *(one for one in order[place + 1 :] if ranks.means[one] < end)]
            if len(group) > 1 and not (found and found[-1][-1] == group[-1]):
                found.append(group)
        return found

    def _differ(self, ranks: RanksOf) -> bool:
        """Return whether the test finds a difference; only then do pairs of models count."""
        return max(ranks.iman_davenport_p, self.smallest_p) < ALPHA

    def _verdict(self, ranks: RanksOf) -> str:
        if not self._differ(ranks):
            return "no significant difference"
        best = ranks.from_best()[0]
        limit = ranks.means[best] + self.critical_difference
        worse = [model for model, mean in ranks.means.items() if mean >= limit]
        return f"{listed(worse) or 'no model'} significantly worse than {best}"


def _ranks(
    name: str, board: pd.DataFrame, metric: str, mark: str, models: Sequence[str]
) -> list[Fraction]:
    """Return the ranks of the models in a dataset."""
    import pandas as pd

    values = dict(zip(board["model"], map(to_compare, board[metric].astype(float)), strict=True))
    for model in models:
        if math.isnan(values.get(model, math.nan)):
            raise DataError(
                f"{name} has no {metric} of {model}; ranks need a value of every model in every "
                "dataset",
                remedy="add the missing results, or omit the dataset",
            )
    own = pd.Series([values[model] for model in models])
    low_is_good = values[_best(board, mark)[0]] < own.max()
    return list(map(Fraction, own.rank(ascending=low_is_good)))


def _best(board: pd.DataFrame, mark: str) -> list[str]:
    cells = zip(board["model"], board[mark], strict=True)
    return [model for model, cell in cells if BEST in marks_in(cell)]


def _tested(models: Sequence[str], ranks: Sequence[Sequence[Fraction]]) -> RanksOf:
    """Test whether ranks differ between models; `ranks` has a row per dataset.

    The statistic of Friedman, in the form that needs no correction for ties, is (k - 1) times the
    sum of squares between models over that of all ranks (Conover, Practical Nonparametric
    Statistics, 5.8). Exact fractions show whether all datasets have the same ranks.
    """
    n, k = len(ranks), len(models)
    zero, middle = Fraction(0), Fraction(k + 1, 2)
    sums = [sum((row[place] for row in ranks), zero) for place in range(k)]
    between = sum(((total - n * middle) ** 2 for total in sums), zero)
    whole = sum(((rank - middle) ** 2 for row in ranks for rank in row), zero)
    means = {model: float(total / n) for model, total in zip(models, sums, strict=True)}
    if whole == 0:
        return RanksOf(means, 1.0, 1.0)
    statistic, largest = (k - 1) * between / whole, n * (k - 1)
    distributions = special(_NEEDED_BY)
    f_p = 0.0
    if statistic < largest:
        f = (n - 1) * statistic / (largest - statistic)
        f_p = float(distributions.fdtrc(k - 1, (k - 1) * (n - 1), float(f)))
    return RanksOf(means, float(distributions.chdtrc(k - 1, float(statistic))), f_p)


@functools.cache
def _range_quantile(n_models: int) -> float:
    """Return the quantile of the range of as many values with a normal distribution."""
    distribution = scipy_module("stats", _NEEDED_BY).studentized_range
    return float(distribution.ppf(1 - ALPHA, n_models, math.inf))
