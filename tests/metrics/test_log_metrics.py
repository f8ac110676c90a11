"""Metrics of logged decisions: propensities and intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev

import pyarrow as pa
import pytest

import sqlmetrics as sm
from tests.support.further_tables import (
    RANKED,
    SCORED,
    TRUTH,
    VALUES,
    WITHOUT,
    Evaluator,
    Z,
    close,
    left_out,
    value,
)

# ---------------------------------------------------------------- the default propensity


# of three items in the logs, each is taken as shown with probability 1/3
DEFAULT_PROPENSITY = {
    "ips": (3 * 1 + 0 + 3 * 1) / 4,
    "ips(divisor=weights)": (1 + 0 + 1) / 3,
    # scores 4, 3, 2, 1; the third recommended item is not in the logs
    "doubly_robust": ((4 + 3 * (1 - 4)) + (3 + 3 * (0 - 3)) + 2 + (1 + 3 * (1 - 1))) / 4,
}


@pytest.fixture
def logged() -> Iterator[sm.Evaluator]:
    """Logs without propensities; ranks without scores."""
    with Evaluator(RANKED, TRUTH, logs=WITHOUT) as evaluator:
        yield evaluator


@pytest.mark.parametrize("metric", DEFAULT_PROPENSITY)
def test_the_default_propensity_is_announced(metric: str) -> None:
    with pytest.warns(sm.SqlmetricsWarning) as warned:
        found = value(metric, recommendations=SCORED, logs=WITHOUT)
    (warning,) = warned
    for words in ("logs", "propensity", "1 / (number of items in the logs)",
                  "columns={'logs.propensity': …}"):  # fmt: skip
        assert words in str(warning.message)
    assert found == close(DEFAULT_PROPENSITY[metric])


def test_the_default_propensity_is_announced_once() -> None:
    with Evaluator(SCORED, TRUTH, logs=WITHOUT) as evaluator:
        for _ in range(2):  # of every result that rests on it
            with pytest.warns(sm.SqlmetricsWarning) as warned:
                evaluator.evaluate(
                    ["ips", "snips", "doubly_robust", "ips(max_weight=2)", "ctr"], k=[1, 2]
                )
            assert len(warned) == 1


def test_what_needs_no_propensity_does_not_announce_one(logged: sm.Evaluator) -> None:
    specs = ["ctr", "ctr(statistic=standard_error)", "mrr"]
    assert logged.evaluate(specs)["value"][0] == close(2 / 3)  # a warning would be an error here


def test_equal_terms_have_no_error_whatever_is_beyond_the_cutoff() -> None:
    """Six equal rewards at the first place, and others below it, far from them."""
    lists = {user: [10 * user, 10 * user + 1] for user in range(1, 7)}
    rows = [(u, 10 * u, 0.3, 0.7) for u in lists] + [(u, 10 * u + 1, 0.9 * u, 0.7) for u in lists]
    logs = [dict(zip(("user_id", "item_id", "reward", "propensity"), row, strict=True))
            for row in rows]  # fmt: skip
    specs = ["ctr(statistic=standard_error)", "ips(statistic=standard_error)"]
    with Evaluator(lists, logs=pa.Table.from_pylist(logs)) as evaluator:
        errors = evaluator.evaluate(specs, k=[1, 2])
    assert errors[errors["k"] == 1]["value"].tolist() == close([0.0, 0.0])
    assert (errors[errors["k"] == 2]["value"] > 0.1).all()


def test_a_warning_is_not_kept_for_the_next_call(logged: sm.Evaluator) -> None:
    with pytest.warns(sm.SqlmetricsWarning, match="propensity"):
        logged.evaluate("ips")
    logged.evaluate("ctr")
    with pytest.raises(sm.MissingTableError, match="score"):
        logged.evaluate(["ips", "doubly_robust"])
    logged.evaluate("ctr")
    logged.stage("hits")


def test_what_is_left_out_does_not_warn_of_its_propensity(logged: sm.Evaluator) -> None:
    with pytest.warns(sm.SqlmetricsWarning) as warned:
        logged.evaluate(["ctr", "doubly_robust"], skip_missing=True)
    (warning,) = warned
    assert set(left_out(str(warning.message))) == {"doubly_robust"}


def test_a_warning_points_at_the_caller(logged: sm.Evaluator, tmp_path: Path) -> None:
    with pytest.warns(sm.SqlmetricsWarning) as of_evaluate:
        logged.evaluate("ips")
    with pytest.warns(sm.SqlmetricsWarning) as of_sql:
        logged.sql("ips")
    with pytest.warns(sm.SqlmetricsWarning) as of_file:
        logged.write_parquet(tmp_path / "a.parquet", "ips")
    files = [warning.filename for warned in (of_evaluate, of_sql, of_file) for warning in warned]
    assert files == [__file__] * 3


# ---------------------------------------------------------------- intervals of estimates from logs


TERMS = [1 / 0.5, 0, 0, 1 / 1]  # of ips: reward / propensity of the four recommended items
WEIGHTS, REWARDS = [1 / 0.5, 1 / 0.25, 1 / 1], [1, 0, 1]
RATE = VALUES["ips(divisor=weights)"]
# scores 4, 3, 2, 1
ROBUST = [4 + 2 * (1 - 4), 3 + 4 * (0 - 3), 2, 1 + 1 * (1 - 1)]
ESTIMATES = {
    "ctr": (mean(REWARDS), stdev(REWARDS) / math.sqrt(3)),
    "ips": (mean(TERMS), stdev(TERMS) / math.sqrt(4)),
    "ips(divisor=weights)": (
        RATE,
        math.sqrt(sum((w * (r - RATE)) ** 2 for w, r in zip(WEIGHTS, REWARDS, strict=True)))
        / sum(WEIGHTS),
    ),
    "doubly_robust": (mean(ROBUST), stdev(ROBUST) / math.sqrt(4)),
}


@pytest.mark.parametrize("confidence", Z)
def test_the_interval_of_an_estimate(everything: sm.Evaluator, confidence: float) -> None:
    errors = [
        metric.replace(")", ", statistic=standard_error)") if metric.endswith(")")
        else f"{metric}(statistic=standard_error)"
        for metric in ESTIMATES
    ]  # fmt: skip
    result = everything.evaluate([*ESTIMATES, *errors], confidence=confidence)
    estimates, errors_found = result.iloc[: len(ESTIMATES)], result.iloc[len(ESTIMATES) :]
    for row, (estimate, error) in zip(estimates.itertuples(), ESTIMATES.values(), strict=True):
        half = Z[confidence] * error
        assert [row.value, row.ci_low, row.ci_high] == close(
            [estimate, estimate - half, estimate + half]
        )
    assert errors_found["value"].tolist() == close([error for _, error in ESTIMATES.values()])
    assert errors_found[["ci_low", "ci_high"]].isna().all(axis=None)
    assert result[["n_users", "std"]].isna().all(axis=None)
