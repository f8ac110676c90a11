"""The smallest difference that a comparison could have found, and the users that another needs.

The oracle integrates over the distribution of the standard deviation; statsmodels, which stops
earlier and leaves the other tail out, comes close.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.integrate
import scipy.stats

from sqlmetrics.errors import GateError, UsageError
from sqlmetrics.stats.decisions import ATTRIBUTE
from sqlmetrics.stats.power import smallest_difference, units_needed
from tests.support.evaluators import Evaluator


def power_of(difference: float, deviation: float, n: int, alpha: float) -> float:
    """Integrate the probability of a significant mean over s = (found / true deviation)."""
    freedom, shift = n - 1, difference / deviation * math.sqrt(n)
    critical = scipy.stats.t.ppf(1 - alpha / 2, freedom)

    def density(s: float) -> float:
        found = scipy.stats.norm.sf(critical * s - shift) + scipy.stats.norm.cdf(
            -critical * s - shift
        )
        return found * scipy.stats.chi.pdf(s * math.sqrt(freedom), freedom) * math.sqrt(freedom)

    end = 1 + 20 / math.sqrt(freedom)
    return scipy.integrate.quad(density, 0, end, points=[0.1, 1], limit=500, epsabs=1e-13)[0]


# deviation, users, level, power
CASES = [
    (0.2, 1000, 0.05, 0.8),
    (1.0, 5, 0.05, 0.8),
    (0.3, 30, 0.01, 0.9),
    (2.0, 12, 0.05 / 6, 0.5),
]


@pytest.mark.parametrize(("deviation", "n", "alpha", "power"), CASES)
def test_the_smallest_difference_has_the_power(
    deviation: float, n: int, alpha: float, power: float
) -> None:
    found = smallest_difference(deviation / math.sqrt(n), n, alpha, power)
    assert power_of(found, deviation, n, alpha) == pytest.approx(power, abs=1e-9)
    # with fewer users, a smaller difference has less
    needed = units_needed(found / 3, deviation, alpha, power)
    assert power_of(found / 3, deviation, int(needed), alpha) >= power
    assert power_of(found / 3, deviation, int(needed) - 1, alpha) < power
    assert units_needed(found, deviation, alpha, power) == n


def test_numbers_of_statsmodels() -> None:
    """A deviation of .2 and 1,000 users: .0177362, and 3,142 users for .01 (statsmodels 0.15)."""
    error = 0.2 / math.sqrt(1000)
    assert smallest_difference(error, 1000, 0.05, 0.8) == pytest.approx(0.0177362, rel=1e-4)
    assert units_needed(0.01, 0.2, 0.05, 0.8) == 3142
    from statsmodels.stats.power import TTestPower  # takes a second to import

    power = TTestPower()
    for deviation, n, alpha, share in CASES[:3]:
        expected = power.solve_power(nobs=n, alpha=alpha, power=share) * deviation
        found = smallest_difference(deviation / math.sqrt(n), n, alpha, share)
        assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("error", "n"), [(0.0, 10), (0.1, 1), (math.nan, 10), (math.nan, 0)])
def test_without_a_spread_nothing_is_known(error: float, n: int) -> None:
    assert math.isnan(smallest_difference(error, n, 0.05, 0.8))


def test_what_would_need_too_many_users_is_missing() -> None:
    assert math.isnan(units_needed(1e-9, 1, 0.05, 0.8))
    assert math.isnan(units_needed(0, 1, 0.05, 0.8))
    assert math.isnan(units_needed(0.1, 0, 0.05, 0.8))
    assert math.isnan(units_needed(0.1, math.nan, 0.05, 0.8))


# ---------------------------------------------------------------- comparisons


def models(n: int = 60) -> dict[str, pd.DataFrame]:
    draw = np.random.default_rng(1)
    base = draw.random(n)
    values = {"base": base, "same": base + draw.normal(0, 0.1, n), "better": base + 0.5}
    values["better"] = values["better"] + draw.normal(0, 0.1, n)
    frame = pd.DataFrame({"user_id": np.arange(n) // 2, "session": np.arange(n) % 2, "item_id": 1})
    return {model: frame.assign(score=of) for model, of in values.items()}


KEY = ["user_id", "session"]


def test_columns_of_power_in_a_comparison(given_metric: Path) -> None:
    with Evaluator(models(), key=KEY, templates=given_metric, baseline="base") as evaluator:
        plain = evaluator.compare("given")
        found = evaluator.compare("given", power=0.9, detect="5%", confidence=0.9)
        alone = evaluator.compare(
            "given", power=0.9, detect=0.05, confidence=0.9, correction="none"
        )
        clustered = evaluator.compare("given", power=0.8, detect=0.05, cluster="user_id")
        default = evaluator.compare("given", detect=0.05)
    same = [*plain.columns]
    assert [*found.columns] == [*same, "mde", "mde_relative", "users_needed"]
    assert [*clustered.columns] == [
        *same, "n_clusters", "mde", "mde_relative", "clusters_needed",
    ]  # fmt: skip
    for frame, level in ((found, 0.1 / 2), (alone, 0.1)):
        for row in frame.to_dict("records"):
            deviation, base = row["difference"] / row["effect_size"], row["baseline_value"]
            error = deviation / math.sqrt(60)
            assert row["mde"] == pytest.approx(smallest_difference(error, 60, level, 0.9))
            assert row["mde_relative"] == pytest.approx(row["mde"] / base)
            sought = 0.05 * base if frame is found else 0.05
            assert row["users_needed"] == units_needed(sought, deviation, level, 0.9)
    for row in clustered.to_dict("records"):
        half = (row["ci_high"] - row["ci_low"]) / 2
        error = half / scipy.stats.t.ppf(0.975, 29)
        assert row["mde"] == pytest.approx(smallest_difference(error, 30, 0.025, 0.8))
        assert row["clusters_needed"] == units_needed(0.05, error * math.sqrt(30), 0.025, 0.8)
    assert default["mde"].notna().all()


def test_gates_of_power(given_metric: Path) -> None:
    with Evaluator(models(), key=KEY, templates=given_metric, baseline="base") as evaluator:
        found = evaluator.compare("given", power=0.8).set_index("model")
        relative = found.loc["same", "mde_relative"]
        gate = f"same: given mde > {100 * relative * 1.001:.6f}%"
        evaluator.compare("given", power=0.8, fail_if=gate)
        gates = [f"same: given mde > {100 * relative * 0.999:.6f}%",
                 f"given mde_relative > {100 * relative * 0.999:.6f}%"]  # fmt: skip
        for failing in gates:
            with pytest.raises(GateError, match=r"same, given: mde.* is above"):
                evaluator.compare("given", power=0.8, fail_if=failing)
        for column, options, remedy in [
            ("mde", {}, "power="), ("users_needed", {"power": 0.8}, "detect="),
            ("n_clusters", {}, "cluster="),
        ]:  # fmt: skip
            with pytest.raises(
                UsageError, match=f"names {column}, which is not computed. Add {remedy}"
            ):
                evaluator.compare("given", **options, fail_if=f"given {column} > 1")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"power": 0}, "power must be between 0 and 1, not 0"),
    ({"power": 1.0}, "power must be between 0 and 1"),
    ({"power": "0.8"}, "power must be between 0 and 1, not '0.8'"),
    ({"detect": "one"}, "detect must be a difference above 0.*not 'one'"),
    ({"detect": -0.1}, "detect must be a difference above 0"),
    ({"detect": "0%"}, "detect must be a difference above 0"),
    ({"detect": "inf"}, "detect must be a difference above 0"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_powers_are_refused(
    options: dict[str, Any], message: str, given_metric: Path
) -> None:
    with (
        Evaluator(models(), key=KEY, templates=given_metric, baseline="base") as evaluator,
        pytest.raises(UsageError, match=message),
    ):
        evaluator.compare("given", **options)


# ---------------------------------------------------------------- sentences


def ranks(*places: int) -> pd.DataFrame:
    """Return lists with the relevant item 1 at these places; 0 is a miss."""
    rows = [
        (user, 1 if place == rank else 10 + rank, rank)
        for user, place in enumerate(places)
        for rank in range(1, 5)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def test_decisions_in_words() -> None:
    """Reciprocal ranks of 40 users.

    new loses 1/4 for half of them: a mean of -1/8, of a baseline of 3/4; its deviation is
    √(40/39) / 8. same is 1/2 above for 20 users and 1/2 below for the others.
    """
    live = ranks(*[1, 2] * 20)
    lists = {
        "live": live,
        "new": ranks(*[1, 4] * 20),
        "same": ranks(*[2, 1] * 20),
    }
    held = pd.DataFrame({"user_id": range(40), "item_id": 1})
    with Evaluator(lists, held, baseline="live") as evaluator:
        frame = evaluator.compare(["mrr", "mean_rank"], power=0.8)
        by_rank, by_mrr = frame.attrs[ATTRIBUTE][::-1]
        error = frame.set_index(["metric", "model"])["mde"]
        without = evaluator.compare("mrr")
    assert by_mrr == (
        "mrr: new is worse than live by 0.125 (17 %), interval -0.165 to -0.0845, p < 0.001; "
        "same is not significantly different from live (+0, interval -0.162 to +0.162); with these "
        f"40 users, only differences above {error['mrr', 'same']:.3g} "
        f"({100 * error['mrr', 'same'] / 0.75:.0f} %) would show "
        "(power 80 %, level 0.05 / 4)."
    )
    # a higher mean rank is worse
    assert "mean_rank: new is worse than live by 1 (67 %), interval +0.676 to +1.32" in by_rank
    assert "level 0.05 / 2" in without.attrs[ATTRIBUTE][0]
    assert "mde" not in without.columns


def test_decisions_about_models_that_cannot_be_compared() -> None:
    held = pd.DataFrame({"user_id": range(8), "item_id": 1})
    lists = {"live": ranks(1, 2, 1, 2), "none": ranks(1, 2).assign(user_id=[6] * 4 + [7] * 4)}
    settings = {"no_recommendations": "drop"}
    with Evaluator(lists, held, baseline="live", settings=settings) as evaluator:
        (sentence,) = evaluator.compare("mrr").attrs[ATTRIBUTE]
        lists["none"] = ranks(1)
    assert sentence == "mrr: none and live have no user in common."
    with Evaluator(lists, held, baseline="live", settings=settings) as evaluator:
        (sentence,) = evaluator.compare("mrr").attrs[ATTRIBUTE]
    assert sentence == "mrr: the difference of none is not tested."


def test_very_many_rows_are_no_decision() -> None:
    lists = {"a": ranks(1, 2, 3), "b": ranks(2, 2, 4)}
    held = pd.DataFrame({"user_id": range(3), "item_id": 1})
    with Evaluator(lists, held, baseline="a") as evaluator:
        assert len(evaluator.compare("mrr", k=range(1, 13)).attrs[ATTRIBUTE]) == 12
        assert evaluator.compare("mrr", k=range(1, 14)).attrs[ATTRIBUTE] == []
