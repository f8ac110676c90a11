"""p-values, intervals, effect sizes and corrections, from statistics that numpy sums up here.

They are worked by hand; `test_compare.py` compares whole comparisons with scipy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from sqlmetrics.stats.paired_tests import TESTS, adjusted, finished

NAN = math.nan
NUMBERS = ["value", "baseline_value", "difference", "std", "wins", "ties", "losses"]
RANKS = ["n_nonzero", "positive_ranks", "negative_ranks", "tie_term"]


def row_of(d: Any, baseline_value: float = 0.5, **more: Any) -> dict[str, Any]:
    """Sum differences up as SQL does."""
    d = np.asarray(d, dtype=float)
    sizes = np.abs(d[d != 0])
    ranks = scipy.stats.rankdata(sizes)
    _, counts = np.unique(sizes, return_counts=True)
    mean = d.mean() if len(d) else NAN
    return {
        "metric": "ndcg",
        "k": 10,
        "model": "als",
        "baseline": "popular",
        "n_users": len(d),
        "value": baseline_value + mean,
        "baseline_value": baseline_value,
        "difference": mean,
        "std": d.std(ddof=1) if len(d) > 1 else NAN,
        "wins": (d > 0).sum(),
        "ties": (d == 0).sum(),
        "losses": (d < 0).sum(),
        "n_nonzero": len(sizes),
        "positive_ranks": ranks[d[d != 0] > 0].sum(),
        "negative_ranks": ranks[d[d != 0] < 0].sum(),
        "tie_term": (counts.astype(float) ** 3 - counts).sum(),
        # backwards; what is in it for more than 50 must not matter
        "few_ranks": (2 * ranks * np.sign(d[d != 0])).astype(int)[::-1]
        if len(sizes) <= 50
        else np.array([1]),
        **more,
    }


NOBODY = {
    **row_of([]),
    **dict.fromkeys([*NUMBERS, *RANKS, "few_ranks", "n_extreme", "n_resamples"]),
}


def result(*rows: dict[str, Any], **asked: Any) -> pd.DataFrame:
    defaults = {"test": "t", "interval": "none", "confidence": 0.95, "correction": "none"}
    return finished(pd.DataFrame(list(rows)), **{**defaults, **asked})


def one(d: Any, **asked: Any) -> pd.Series:
    return result(row_of(d), **asked).iloc[0]


# ---- the paired t-test and its interval --------------------------------------------------------


def test_equal_differences_and_single_users() -> None:
    found = result(
        row_of([0, 0, 0]),
        row_of([0.25, 0.25]),
        row_of([-0.25] * 3),
        {**row_of([0.1] * 3), "std": 1e-18},  # what summing up in another order may leave
        row_of([0.25]),
        row_of([0]),
        NOBODY,
        interval="normal",
    )
    assert_allclose(found["p_value"], [1, 0, 0, 0, NAN, NAN, NAN])
    assert_allclose(found["effect_size"], [0, NAN, NAN, NAN, NAN, NAN, NAN])
    assert_allclose(found["ci_low"], [0, 0.25, -0.25, 0.1, NAN, NAN, NAN])
    assert_allclose(found["ci_high"], [0, 0.25, -0.25, 0.1, NAN, NAN, NAN])


# ---- Wilcoxon's signed-rank test ---------------------------------------------------------------


def test_wilcoxon_by_hand() -> None:
    # of 8 patterns of signs, one has all ranks above 0 and one none: p = 2 / 8
    assert one([1, 2, 3], test="wilcoxon")["p_value"] == pytest.approx(0.25)
    # sizes 1, 2, 2, 4 have the ranks 1, 2.5, 2.5, 4; above 0 are 1 and 2.5, below 2.5 and 4: of 16
    # patterns, the sums 0, 1, 2.5, 2.5, 3.5, 3.5 are not larger
    tied = one([1, 2, -2, 0, -4], test="wilcoxon")
    assert tied["effect_size"] == pytest.approx(-3 / 10)
    assert tied["p_value"] == pytest.approx(2 * 6 / 16)


def test_wilcoxon_where_nothing_differs_and_where_nobody_is() -> None:
    found = result(row_of([0, 0]), NOBODY, row_of([0]), row_of([2]), test="wilcoxon")
    assert_allclose(found["p_value"], [1, NAN, 1, 1])
    assert_allclose(found["effect_size"], [0, NAN, 0, 1])


def test_wilcoxon_does_not_depend_on_the_order_of_users() -> None:
    d = np.random.default_rng(5).normal(0.2, 0.1, 13)
    d[3] = -d[7]
    there, back = (result(row_of(order), test="wilcoxon") for order in (d, d[::-1]))
    pd.testing.assert_frame_equal(
        there[["p_value", "effect_size"]], back[["p_value", "effect_size"]], check_exact=True
    )


# ---------------------------------------------------------------- resampling


@pytest.mark.parametrize("test", ["randomization", "bootstrap"])
def test_resamples_are_counted_with_the_observed_one(test: str) -> None:
    d = [1, 2, 0, -1]
    found = result(
        row_of(d, n_extreme=0, n_resamples=999),
        row_of(d, n_extreme=49, n_resamples=99),
        row_of(d, n_extreme=99, n_resamples=99),
        {**NOBODY, "n_extreme": 0, "n_resamples": 99},
        test=test,
    )
    assert_allclose(found["p_value"], [1 / 1000, 50 / 100, 1, NAN])
    d_of_cohen = 0.5 / math.sqrt((0.25 + 2.25 + 0.25 + 2.25) / 3)  # the mean is 0.5
    assert_allclose(found["effect_size"], [d_of_cohen] * 3 + [NAN])


# ---------------------------------------------------------------- corrections


def p_adjusted(p_values: list[float], correction: str) -> list[float]:
    return list(adjusted(np.array(p_values), correction))


def test_holm_by_hand() -> None:
    # 0.005 * 4, 0.01 * 3, 0.03 * 2 = 0.06, and 0.04 * 1 is raised to 0.06
    assert p_adjusted([0.01, 0.04, 0.03, 0.005], "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # 0.6 * 2 is cut to 1, and 0.7 raised to it
    assert p_adjusted([0.7, 0.6], "holm") == [1, 1]
    assert p_adjusted([0.02, 0.02, 0.02], "holm") == pytest.approx([0.06] * 3)


def test_bh_by_hand() -> None:
    # 0.005 * 4/1, 0.01 * 4/2, 0.03 * 4/3, 0.04 * 4/4
    assert p_adjusted([0.01, 0.04, 0.03, 0.005], "bh") == pytest.approx([0.02, 0.04, 0.04, 0.02])
    # 0.01 * 3/1 = 0.03 and 0.02 * 3/2 = 0.03 are lowered to 0.021 * 3/3
    assert p_adjusted([0.01, 0.02, 0.021], "bh") == pytest.approx([0.021] * 3)


@pytest.mark.parametrize(("correction", "expected"), [("holm", 2), ("bh", 2), ("none", 1)])
def test_missing_p_values_do_not_count(correction: str, expected: float) -> None:
    rows = [
        row_of([1, 2], n_extreme=9, n_resamples=999),  # p = 0.01, the smaller of two
        {**NOBODY, "n_extreme": None, "n_resamples": None},
        row_of([1, 2], n_extreme=499, n_resamples=999),
    ]
    found = result(*rows, test="randomization", correction=correction)
    assert_allclose(found["p_value"], [0.01, NAN, 0.5])
    assert_allclose(found["p_adjusted"], [0.01 * expected, NAN, 0.5])
    assert p_adjusted([NAN], correction) == pytest.approx([NAN], nan_ok=True)
    assert p_adjusted([], correction) == []


# ---------------------------------------------------------------- the table


def test_relative_is_missing_where_the_baseline_is_0() -> None:
    found = result(row_of([1, 2], 3.0), row_of([1, 2], 0.0), row_of([1, 2], -3.0))
    assert_allclose(found["relative"], [0.5, NAN, -0.5])


@pytest.mark.parametrize("test", TESTS)
def test_a_table_without_rows_has_the_columns_of_others(test: str) -> None:
    rows = pd.DataFrame([row_of([1, 2], n_extreme=1, n_resamples=9)])
    asked = {"test": test, "interval": "normal", "confidence": 0.95, "correction": "holm"}
    found, nothing = (finished(some, **asked) for some in (rows, rows[:0]))
    assert list(nothing.columns) == list(found.columns)
    assert len(nothing) == 0
