"""Mean ranks of models over datasets, and their tests, against scipy and published numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.stats.ranks import Ranks


def board(values: Sequence[float], high: bool = True, metric: str = "ndcg@10") -> pd.DataFrame:
    """Return a leaderboard of the models a, b, …, whose first best value is marked."""
    best = values.index(max(values) if high else min(values))
    marks = ["best" if place == best else "" for place in range(len(values))]
    models = list("abcdefghij"[: len(values)])
    return pd.DataFrame({"model": models, "n_users": 9, metric: values, f"{metric} mark": marks})


def ranks_of(rows: Sequence[Sequence[float]], high: bool = True) -> Ranks:
    return Ranks.of({f"set {number}": board(row, high) for number, row in enumerate(rows)})


# ranks 1 2 3 three times, 1 3 2 and 2 1 3: sums of 6, 10 and 14
WORKED = [[0.9, 0.8, 0.7], [0.5, 0.4, 0.1], [3.0, 2.0, 1.0], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]]


def test_worked_numbers() -> None:
    ranks = ranks_of(WORKED)
    of = ranks.metrics["ndcg@10"]
    assert of.means == {"a": 1.2, "b": 2.0, "c": 2.8}
    # Friedman: 2 · (16 + 0 + 16) / 10 = 6.4; chi-square with 2 degrees of freedom is exponential
    assert of.friedman_p == pytest.approx(math.exp(-6.4 / 2), rel=1e-12)
    # F = 4 · 6.4 / (10 - 6.4) = 64 / 9 with 2 and 8 degrees of freedom: (1 + 2 F / 8)^-4
    assert of.iman_davenport_p == pytest.approx((1 + 16 / 9) ** -4, rel=1e-12)
    assert ranks.critical_difference == pytest.approx(1.4822864012855947, abs=1e-12)
    assert ranks.smallest_p == pytest.approx(1 / 6**4, rel=1e-12)


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        (WORKED, "c significantly worse than a"),  # 2.8 - 1.2 > 1.48 > 2 - 1.2
        # mean ranks 1, 2.75, 2.5 and 3.75, and a critical difference of 2.569 sqrt(20 / 24) = 2.35
        ([[4.0, 3, 2, 1], [4.0, 2, 3, 1], [4.0, 3, 2, 1], [4.0, 1, 3, 2]], "d significantly worse"),
        ([[3.0, 2, 1]] * 2, "no significant difference"),  # an exact p-value is at least 1 / 6
        ([[3.0, 2, 1], [2.0, 3, 1], [3.0, 2, 1]], "no model significantly worse than a"),
        ([[3.0, 2, 1], [1.0, 2, 3], [2.0, 3, 1]], "no significant difference"),
    ],
    ids=["worked", "four models", "two datasets", "close", "random"],
)
def test_sentences(rows: Sequence[Sequence[float]], verdict: str) -> None:
    """Pairs are compared only if the models differ, and no exact test would deny it."""
    assert f"; {verdict}" in ranks_of(rows).sentences()[0]


@pytest.mark.parametrize(
    ("rows", "groups"),
    [
        (WORKED, ["ab", "bc"]),  # 1.2, 2 and 2.8; the critical difference is 1.48
        # 1, 2.75, 2.5 and 3.75; 2.35
        ([[4.0, 3, 2, 1], [4.0, 2, 3, 1], [4.0, 3, 2, 1], [4.0, 1, 3, 2]], ["acb", "cbd"]),
        ([[3.0, 2, 1]] * 2, ["abc"]),
        ([[3.0, 2, 1], [1.0, 2, 3], [2.0, 3, 1]], ["bac"]),  # 5/3, 2 and 7/3
        ([[2.0, 1]] * 6, []),  # 1.960 sqrt(6 / 36) = 0.8
        ([[1.0, 2, 3, 0, -1]] * 12, ["cb", "ba", "ad", "de"]),  # 2.728 sqrt(30 / 72) = 1.76
    ],
)
def test_groups_of_models_that_do_not_differ(rows: list[list[float]], groups: list[str]) -> None:
    assert ["".join(group) for group in ranks_of(rows).groups("ndcg@10")] == groups


def test_low_values_are_best_where_they_are_marked() -> None:
    of = ranks_of(WORKED, high=False).metrics["ndcg@10"]
    assert of.means == {"a": 2.8, "b": 2.0, "c": 1.2}
    assert of.friedman_p == ranks_of(WORKED).metrics["ndcg@10"].friedman_p


@pytest.mark.parametrize(
    ("n_models", "quantile"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (8, 3.031), (10, 3.164)],
)
def test_critical_differences_of_the_paper(n_models: int, quantile: float) -> None:
    """Demšar 2006, table 5(a), whose example has 4 models, 14 datasets and a difference of 1.25."""
    ranks = ranks_of([list(range(n_models))] * 14)
    expected = quantile * math.sqrt(n_models * (n_models + 1) / (6 * 14))
    assert ranks.critical_difference == pytest.approx(expected, abs=5e-4)
    if n_models == 4:
        assert round(ranks.critical_difference, 2) == 1.25


_VALUES = st.integers(0, 3)  # with many ties


@settings(deadline=None, max_examples=60)
@given(
    st.integers(3, 6).flatmap(
        lambda k: st.lists(st.lists(_VALUES, min_size=k, max_size=k), min_size=2, max_size=7)
    )
)
def test_friedman_is_that_of_scipy(rows: list[list[int]]) -> None:
    of = ranks_of([[float(value) for value in row] for row in rows]).metrics["ndcg@10"]
    expected = [stats.rankdata([-value for value in row]) for row in rows]
    means = [sum(column) / len(rows) for column in zip(*expected, strict=True)]
    assert list(of.means.values()) == pytest.approx(means, rel=1e-12)
    if all(len(set(row)) == 1 for row in rows):  # undefined in scipy
        assert (of.friedman_p, of.iman_davenport_p) == (1, 1)
        return
    statistic, p_value = stats.friedmanchisquare(*zip(*rows, strict=True))
    assert of.friedman_p == pytest.approx(p_value, rel=1e-9)
    n, k = len(rows), len(rows[0])
    below = n * (k - 1) - statistic
    f_p = stats.f.sf((n - 1) * statistic / below, k - 1, (k - 1) * (n - 1)) if below > 1e-9 else 0
    assert of.iman_davenport_p == pytest.approx(f_p, rel=1e-6)


@pytest.mark.parametrize(("n_models", "n_datasets"), [(2, 2), (2, 5), (3, 3), (4, 2)])
def test_no_exact_p_value_is_smaller(n_models: int, n_datasets: int) -> None:
    """The smallest p-value is the share of all orders in which the datasets agree most."""
    orders = list(itertools.permutations(range(n_models)))
    spreads = []
    for rows in itertools.product(orders, repeat=n_datasets):
        sums = [sum(column) for column in zip(*rows, strict=True)]
        spreads.append(sum(total**2 for total in sums))
    share = spreads.count(max(spreads)) / len(spreads)
    same = ranks_of([[float(-place) for place in range(n_models)]] * n_datasets)
    assert same.smallest_p == pytest.approx(share, rel=1e-12)
    assert same.metrics["ndcg@10"].iman_davenport_p == 0
    assert any("cannot show" in text for text in same.sentences()) == (share >= 0.05)


def test_values_that_differ_by_rounding_are_equal() -> None:
    noise = 0.1 + 0.2  # 0.30000000000000004
    of = ranks_of([[0.3, noise, 0.1], [noise, 0.3, 0.1]]).metrics["ndcg@10"]
    assert of.means == {"a": 1.5, "b": 1.5, "c": 3.0}
    # the first of equal values is marked, although the second is larger by rounding
    marked = board([0.3, noise, 0.1]).assign(**{"ndcg@10 mark": ["best", "", ""]})
    assert Ranks.of({"x": marked, "y": marked}).metrics["ndcg@10"].means["c"] == 3


def test_metrics_without_a_best_value_have_no_ranks() -> None:
    both = board([0.3, 0.2]).assign(**{"popularity@10": [1.0, 2.0], "popularity@10 mark": ["", ""]})
    ranks = Ranks.of({"x": both, "y": both})
    assert (list(ranks.metrics), ranks.unranked) == (["ndcg@10"], ["popularity@10"])
    assert ranks.sentences()[-1].endswith("marked as the best: popularity@10")
    none = both.assign(**{"ndcg@10 mark": ["", ""]})
    with pytest.raises(UsageError, match="no model is marked as the best by ndcg@10 or popularity"):
        Ranks.of({"x": none, "y": none})


@pytest.mark.parametrize(
    ("boards", "error", "message"),
    [
        ({"x": board([0.3, 0.2])}, UsageError, "two datasets and two models, not 1 and 2"),
        ({"x": board([0.3]), "y": board([0.3])}, UsageError, "not 2 and 1"),
        ({"x": board([0.3, 0.2]), "y": board([0.3])}, DataError, "y has no ndcg@10 of b"),
        ({"x": board([0.3, math.nan]), "y": board([1.0, 0.2])}, DataError, "x has no ndcg@10 of b"),
    ],
    ids=["one dataset", "one model", "absent", "missing"],
)
def test_refusals(boards: dict[str, pd.DataFrame], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Ranks.of(boards)
