"""Aggregates other than the mean."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.further_tables import CATALOG, EVERYTHING, Evaluator, Z, evaluate
from tests.support.resampling import ONE_MODEL, lists_of, skewed

# reciprocal ranks 1, 1/2, 1/3, and 0 of a user without a list
FOUR = {
    "recommendations": {1: [10], 2: [11, 10], 3: [11, 12, 10]},
    "interactions": {user: [10] for user in (1, 2, 3, 4)},
}
RECIPROCALS = [1, 1 / 2, 1 / 3, 0]
AGGREGATES = {
    "mean": mean(RECIPROCALS),
    "sum": sum(RECIPROCALS),
    "geometric_mean": (1 / 2 * 1 / 3 * 1e-5) ** (1 / 4),  # 0 counts as 0.00001
    "median": (1 / 2 + 1 / 3) / 2,
    "median_low": 1 / 3,
    "quantile": (1 / 2 + 1 / 3) / 2,  # 0.5 by default
    "quantile_low": 1 / 3,
    "min": 0,
    "max": 1,
    "half_width": Z[0.9] * stdev(RECIPROCALS) / math.sqrt(4),
}


def test_every_aggregate_is_tested() -> None:
    """Weighted means have tests of their own."""
    choices = CATALOG.stage_params["aggregate"].choices
    assert {*AGGREGATES, "weighted_mean"} == set(choices), "AGGREGATES of this file"


@pytest.mark.parametrize(
    ("how", "aggregate"),
    [
        *(("setting", aggregate) for aggregate in AGGREGATES),
        ("setting of the metric", "median_low"),
        ("convention", "median"),
    ],
)
def test_aggregate(aggregate: str, how: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(f'[settings]\naggregate = "{aggregate}"\n')
    options: dict[str, Any] = {
        "setting": {"settings": {"aggregate": aggregate}},
        "setting of the metric": {"settings": {"mrr.aggregate": aggregate}},
        "convention": {"convention": tmp_path / "mine.toml"},
    }[how]
    row = evaluate("mrr", **FOUR, confidence=0.9, **options).iloc[0]
    assert row["value"] == pytest.approx(AGGREGATES[aggregate], abs=1e-15)
    assert row["n_users"] == 4
    assert row["std"] == pytest.approx(stdev(RECIPROCALS), abs=1e-15)
    half = AGGREGATES["half_width"]
    if aggregate == "mean":
        low, high = AGGREGATES["mean"] - half, AGGREGATES["mean"] + half
        assert [row["ci_low"], row["ci_high"]] == pytest.approx([low, high], abs=1e-15)
    else:
        assert row[["ci_low", "ci_high"]].isna().all()


def test_aggregates_in_specs() -> None:
    specs = ["mrr", *(f"mrr(aggregate={name})" for name in AGGREGATES if name != "mean")]
    result = evaluate(specs, **FOUR)
    expected = {**AGGREGATES, "half_width": Z[0.95] * stdev(RECIPROCALS) / math.sqrt(4)}
    assert result["metric"].tolist() == specs
    assert result["value"].tolist() == pytest.approx(list(expected.values()), abs=1e-15)
    assert result["ci_low"].isna().tolist() == [False, *[True] * (len(AGGREGATES) - 1)]


def test_geometric_mean_floors_small_values_and_omits_undefined_values() -> None:
    lists = {
        1: [10, 9],
        2: [9, 8, 7, 10],
        3: [9],
    }  # average precision 1/2 of two items, 1/4, 0
    relevant = {1: [10, 11], 2: [10], 3: [10]}
    specs = ["map(aggregate=geometric_mean)", "map(aggregate=geometric_mean,no_hits=drop)"]
    result = evaluate(specs, lists, relevant)
    floored = math.exp((math.log(0.5) + math.log(0.25) + math.log(1e-5)) / 3)  # 0.010772
    assert result["value"].tolist() == pytest.approx([floored, math.sqrt(1 / 8)], abs=1e-15)


def test_aggregate_is_of_each_model_and_leaves_users_as_they_are() -> None:
    models = {"four": FOUR["recommendations"], "none": {1: [99]}}
    with Evaluator(models, FOUR["interactions"], settings={"aggregate": "median"}) as evaluator:
        result = evaluator.evaluate("mrr")
        users = evaluator.per_user("mrr")
    assert result.set_index("model")["value"].to_dict() == {
        "four": pytest.approx(AGGREGATES["median"], abs=1e-15), "none": 0}  # fmt: skip
    assert users["mrr"].tolist() == pytest.approx([*RECIPROCALS, 0, 0, 0, 0], abs=1e-15)


RUN_METRICS = [name for name, metric in CATALOG.metrics.items() if metric.grain == "run"]


def test_aggregates_of_metrics_without_users(smallest: sm.Evaluator) -> None:
    wrong = {}
    for metric in RUN_METRICS:
        for spec in (f"{metric}(aggregate=median)", f"{metric}(aggregate=half_width)@5"):
            with pytest.raises(sm.UsageError) as caught:
                smallest.evaluate(spec)
            words = (spec, "aggregate", "one value for all users")
            message = str(caught.value)
            if isinstance(caught.value, sm.MissingTableError) or any(
                w not in message for w in words
            ):
                wrong[spec] = message
        setting = f"{metric}.aggregate"
        with pytest.raises(sm.UsageError, match="one value for all users") as caught:
            evaluate(metric, settings={setting: "median"})
        if setting not in str(caught.value):
            wrong[setting] = str(caught.value)
    assert wrong == {}


def test_a_setting_aggregate_is_for_metrics_with_users(everything: sm.Evaluator) -> None:
    of_runs = [name for name in RUN_METRICS if CATALOG.metrics[name].in_all]
    assert len(of_runs) > 3
    plain = everything.evaluate([*of_runs, "mrr"])
    median = evaluate([*of_runs, "mrr"], **EVERYTHING, settings={"aggregate": "median"})
    pd.testing.assert_frame_equal(plain.iloc[:-1], median.iloc[:-1])
    assert plain["ci_low"].notna().iloc[-1]
    assert median["ci_low"].isna().iloc[-1]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 19, 100])
def test_quantiles_are_those_of_numpy(n: int, given_metric: Path) -> None:
    values = skewed(n, n)
    shares = [0.0, 0.05, 0.1, 0.25, 0.7, 0.9, 0.95, 1.0]
    kinds = {"quantile": "linear", "quantile_low": "inverted_cdf"}
    calls = {
        f"given(aggregate={kind}, quantile={share})": np.quantile(values, share, method=method)
        for kind, method in kinds.items()
        for share in shares
    }
    calls |= {
        "given(aggregate=quantile)": np.median(values),
        "given(aggregate=quantile_low)": np.quantile(values, 0.5, method="inverted_cdf"),
        "given(aggregate=median_low)": np.quantile(values, 0.5, method="inverted_cdf"),
        "given(aggregate=min)": values.min(),
        "given(aggregate=max)": values.max(),
    }
    with Evaluator(lists_of(values), templates=given_metric) as evaluator:
        found = evaluator.evaluate(list(calls))
    assert found["value"].tolist() == pytest.approx(list(calls.values()), rel=1e-12, abs=1e-15)
    assert found[["ci_low", "ci_high"]].isna().all(axis=None)


def test_the_lower_quantile_is_exact_where_a_share_is_a_whole_number_of_users(
    given_metric: Path,
) -> None:
    """0.29 of 100 users are 29, though 0.29 · 100 is 28.999999999999996 in floating point."""
    for n, share in ((100, "0.29"), (100, "0.57"), (20, "0.55"), (30, "0.1"), (10, "0.3")):
        values = np.arange(1.0, n + 1)
        place = math.ceil(Fraction(share) * n)
        with Evaluator(lists_of(values), templates=given_metric) as evaluator:
            call = f"given(aggregate=quantile_low, quantile={share})"
            assert evaluator.evaluate(call)["value"].tolist() == [place]


def test_aggregates_leave_out_undefined_values() -> None:
    with Evaluator(**ONE_MODEL) as evaluator:
        values = (
            evaluator.per_user("mrr(no_hits=drop)@2", long=True).dropna().iloc[:, -1].to_numpy()
        )
        found = evaluator.evaluate(
            [f"mrr(no_hits=drop, aggregate={name})@2" for name in ("min", "median", "max")]
        )
    assert 1 < len(values) < 70
    assert (found["n_users"] == len(values)).all()
    expected = [values.min(), np.median(values), values.max()]
    assert found["value"].tolist() == pytest.approx(expected, rel=1e-12)


# weights of the users in FOUR, whose reciprocal ranks are 1, 1/2, 1/3 and 0
WEIGHTS = pd.DataFrame({"user_id": [1, 2, 3, 4], "weight": [2, 1, 0.5, 0.5]})
WEIGHTED = "mrr(aggregate=weighted_mean)"


def test_weighted_mean_with_its_deviation_and_interval() -> None:
    row = evaluate(WEIGHTED, **FOUR, users=WEIGHTS).iloc[0]
    mean_ = (2 * 1 + 1 / 2 + 0.5 / 3) / 4  # 2/3
    squares = [(1 / 3) ** 2, (1 / 6) ** 2, (1 / 3) ** 2, (2 / 3) ** 2]
    std = math.sqrt((2 * squares[0] + squares[1] + 0.5 * (squares[2] + squares[3])) / 4 * 4 / 3)
    error = math.sqrt((4 * squares[0] + squares[1] + 0.25 * (squares[2] + squares[3])) * 4 / 3) / 4
    assert row[["value", "std"]].tolist() == pytest.approx([mean_, std], abs=1e-15)
    assert row["n_users"] == 4
    low, high = mean_ - Z[0.95] * error, mean_ + Z[0.95] * error
    assert row[["ci_low", "ci_high"]].tolist() == pytest.approx([low, high], abs=1e-15)


@pytest.mark.parametrize("ci", ["normal", "bootstrap"])
@pytest.mark.parametrize("weight", [1, 3, 1e-9, 1e12])
def test_equal_weights_do_not_change_the_mean(weight: float, ci: str) -> None:
    values = skewed(40, 40)
    lists = {user: [*range(round(value * 8)), 99] for user, value in enumerate(values)}
    tables = {"recommendations": lists, "interactions": {user: [99] for user in lists}}
    users = pd.DataFrame({"user_id": [*lists], "weight": weight})
    with Evaluator(**tables, users=users) as evaluator:
        result = evaluator.evaluate(["mrr", WEIGHTED], ci=ci)
    columns = ["value", "n_users", "std", "ci_low", "ci_high"]
    plain, weighted = result[columns].astype(float).to_numpy()
    assert weighted.tolist() == pytest.approx(plain.tolist(), rel=1e-12)


def test_a_user_of_weight_two_counts_as_two_users() -> None:
    weights = {1: 2.0, 2: 1.0, 3: 0.0, 4: 3.0}
    users = pd.DataFrame({"user_id": [*weights], "weight": [*weights.values()]})
    several = {
        (user, copy): user for user, weight in weights.items() for copy in range(int(weight))
    }
    repeated = {
        name: {str(new): rows[old] for new, old in several.items() if old in rows}
        for name, rows in FOUR.items()
    }
    found = evaluate([WEIGHTED, "recall(aggregate=weighted_mean)@1"], **FOUR, users=users)
    expected = evaluate(["mrr", "recall@1"], **repeated)
    assert found["value"].tolist() == pytest.approx(expected["value"].tolist(), abs=1e-15)
    assert found["n_users"].tolist() == [4, 4]  # a user of weight 0 is one of them


def test_weights_of_models_and_slices() -> None:
    models = {"four": FOUR["recommendations"], "one": {1: [10], 4: [10]}}
    users = WEIGHTS.assign(country=["a", "a", "b", "b"])
    with Evaluator(models, FOUR["interactions"], users=users) as evaluator:
        result = evaluator.evaluate([WEIGHTED, "mrr"], by="country")
        whole = evaluator.evaluate(WEIGHTED)
    weighted = result[result["metric"] == WEIGHTED].set_index(["model", "country"])["value"]
    assert weighted.to_dict() == pytest.approx(
        {("four", "a"): 2.5 / 3, ("four", "b"): 1 / 6, ("one", "a"): 2 / 3, ("one", "b"): 1 / 2}
    )
    assert whole["value"].tolist() == pytest.approx([2 / 3, 5 / 8])


@pytest.mark.parametrize(
    ("users", "words"),
    [
        (None, ["needs the table users", "aggregate=weighted_mean"]),
        (WEIGHTS.drop(columns="weight"), ["needs the column weight of the table users"]),
        (WEIGHTS.assign(weight=list("abcd")), ["has as VARCHAR, not as numbers"]),
        (WEIGHTS.iloc[:3], ["1 user has no weight", "4"]),
        (WEIGHTS.assign(weight=[1, None, 1, 1]), ["1 user has no weight", "2"]),
        (WEIGHTS.assign(weight=[None] * 4), ["4 users have no weight"]),
        (WEIGHTS.assign(weight=[1, -1, 1, math.inf]), ["2 weights are negative, NaN, infinite, "]),
        (
            WEIGHTS.assign(weight=[1e-170, 1e-99, 1e99, 1e160]),
            ["2 weights are ", "above 1e100, or below 1e-100 but not 0", "1e-170", "1e+160"],
        ),
        (pd.concat([WEIGHTS, WEIGHTS.assign(weight=2)]), ["3 users have several weights"]),
        (WEIGHTS.assign(weight=0), ["all evaluated users (4) have a weight of 0"]),
        (
            pd.concat([WEIGHTS.assign(weight=0), pd.DataFrame({"user_id": [9], "weight": [1]})]),
            ["all evaluated users (4) have a weight of 0"],
        ),
    ],
)
def test_weights_that_a_weighted_mean_rejects(users: pd.DataFrame | None, words: list[str]) -> None:
    more = {} if users is None else {"users": users}
    with pytest.raises((sm.DataError, sm.MissingTableError)) as caught:
        evaluate(WEIGHTED, **FOUR, **more)
    for word in words:
        assert word in str(caught.value)


def test_weights_of_a_csv_file_that_begins_with_empty_ones(tmp_path: Path) -> None:
    """The engine detects texts in a file without a number."""
    (tmp_path / "a.csv").write_text("user_id,weight\n4,\n")
    with pytest.raises(sm.DataError, match="4 users have no weight"):
        evaluate(WEIGHTED, **FOUR, users=tmp_path)
    (tmp_path / "b.csv").write_text("user_id,weight\n1,2.5\n2,2.5\n3,0\n")
    with pytest.raises(sm.DataError, match="1 user has no weight"):
        evaluate(WEIGHTED, **FOUR, users=tmp_path)


def test_a_text_called_weight_is_an_attribute() -> None:
    users = WEIGHTS.assign(weight=["light", "light", "heavy", "heavy"])
    with Evaluator(**FOUR, users=users) as evaluator:
        assert evaluator.evaluate("mrr", by="weight")["value"].tolist() == pytest.approx(
            [1 / 6, 3 / 4]
        )
