"""Comparisons over runs against scipy, and parts of variance against worked numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import sqlmetrics as sm
from sqlmetrics.errors import GateError, SqlmetricsWarning, UsageError
from sqlmetrics.stats.decisions import ATTRIBUTE
from tests.support.command_line import run
from tests.support.runs import FRAMES, IN_A_COLUMN, TRUTH, VALUES, evaluator, frame_of

OF_RUNS = {  # means over users, of the table in support/runs.py
    model: [np.mean([value or 0 for value in values]) for values in runs.values()]
    for model, runs in VALUES.items()
}


@pytest.mark.parametrize(
    ("over", "test", "oracle"),
    [
        ("runs", "welch", scipy.stats.ttest_ind(OF_RUNS["b"], OF_RUNS["a"], equal_var=False)),
        ("paired_runs", "paired", scipy.stats.ttest_rel(OF_RUNS["b"], OF_RUNS["a"])),
    ],
)
def test_a_comparison_over_runs(over: Any, test: str, oracle: Any) -> None:
    with evaluator() as runs:
        (row,) = runs.compare("mrr", baseline="a", over=over).to_dict("records")
        narrow = runs.compare("mrr", baseline="a", over=over, confidence=0.5).iloc[0]
    assert (row["test"], row["n_runs"], row["baseline_runs"]) == (test, 3, 3)
    assert row["value"] == pytest.approx(np.mean(OF_RUNS["b"]), abs=1e-12)
    assert row["baseline_value"] == pytest.approx(np.mean(OF_RUNS["a"]), abs=1e-12)
    assert row["difference"] == pytest.approx(1 / 24, abs=1e-12)
    assert row["p_value"] == row["p_adjusted"] == pytest.approx(oracle.pvalue, rel=1e-10)
    assert [row["ci_low"], row["ci_high"]] == pytest.approx([*oracle.confidence_interval()])
    assert [narrow["ci_low"], narrow["ci_high"]] == pytest.approx(
        [*oracle.confidence_interval(0.5)]
    )


def test_several_metrics_models_and_slices() -> None:
    """Every slice and metric is compared alone; p-values are corrected over all rows."""
    third = IN_A_COLUMN[IN_A_COLUMN["model"] == "a"].assign(model="c")
    third = third[(third["user_id"] > 1) | (third["run"] > 1)]
    users = pd.DataFrame({"user_id": [1, 2, 3, 4], "half": ["x", "x", "y", "y"]})
    lists = pd.concat([IN_A_COLUMN, third])
    with evaluator(lists, users=users) as runs:
        found = runs.compare(["mrr", "coverage@1"], baseline="b", over="runs")
        sliced = runs.compare("mrr", baseline="b", over="runs", by="half")
        values = runs.evaluate("mrr", by=["run", "half"])
    assert found["metric"].tolist() == ["mrr", "mrr", "coverage", "coverage"]
    assert found["model"].tolist() == ["a", "c", "a", "c"]
    adjusted = scipy.stats.false_discovery_control(found["p_value"], method="bh")
    with evaluator(lists) as runs:
        bh = runs.compare(["mrr", "coverage@1"], baseline="b", over="runs", correction="bh")
    assert bh["p_adjusted"].tolist() == pytest.approx(adjusted.tolist())
    for (half, model), of_it in sliced.groupby(["half", "model"]):
        of_half = values[values["half"] == half]
        mine, others = (of_half[of_half["model"] == one]["value"] for one in (model, "b"))
        p_value = scipy.stats.ttest_ind(mine, others, equal_var=False).pvalue
        assert of_it["p_value"].tolist() == pytest.approx([p_value]), (half, model)
    assert len(sliced) == 4


def test_equal_runs_and_single_runs() -> None:
    runs = {"a": FRAMES["b"][1], "b": {1: FRAMES["b"][1], 2: FRAMES["b"][1]}}
    same = {"a": {1: FRAMES["b"][2], 2: FRAMES["b"][2]}, "b": runs["b"]}
    with evaluator(same) as equal:
        assert equal.compare("mrr", baseline="a", over="runs")["p_value"].tolist() == [0]
        assert equal.compare("mrr", baseline="a", over="paired_runs")["p_value"].tolist() == [0]
    with (
        evaluator(runs) as single,
        pytest.warns(SqlmetricsWarning, match="not tested for models with a single run: a$"),
    ):
        row = single.compare("mrr", baseline="a", over="runs").iloc[0]
    assert row[["p_value", "ci_low", "ci_high"]].isna().all()
    assert row["difference"] == 0


def reciprocal_ranks(ranks: Any) -> dict[int, list[int]]:
    """Return a list for every user, with the relevant item 1 at a rank."""
    return {user: [*range(2, rank + 1), 1] for user, rank in enumerate(ranks)}


@pytest.mark.parametrize("over", ["runs", "paired_runs"])
def test_rounding_is_no_difference(over: Any) -> None:
    """Every run has the same reciprocal ranks, of other users: their sums differ by rounding.

    Those of c are all 1/2: equal differences say nothing about others.
    """
    draw = np.random.default_rng(0)
    ranks = draw.integers(1, 8, 40)
    lists = {
        "a": {run: reciprocal_ranks(ranks) for run in range(4)},
        "b": {run: reciprocal_ranks(draw.permutation(ranks)) for run in range(4)},
        "c": {run: reciprocal_ranks([2] * 40) for run in range(4)},
    }
    truth = pd.DataFrame({"user_id": range(40), "item_id": 1})
    with sm.Evaluator(lists, truth, check=False) as runs:
        values = runs.evaluate("mrr", by="run")["value"].tolist()
        frame = runs.compare("mrr", baseline="b", over=over, detect=0.1)
    assert len({*values[:8]}) > 1  # only by rounding
    same, better = frame.to_dict("records")
    assert (same["difference"], same["p_value"]) == (0, 1)
    difference = 1 / 2 - np.mean(1 / ranks)
    assert better["difference"] == pytest.approx(difference, abs=1e-12)
    assert (better["ci_low"], better["ci_high"]) == (better["difference"],) * 2
    assert better["p_value"] == 0
    assert frame[["mde", "mde_relative", "runs_needed"]].isna().all(axis=None)
    (sentence,) = frame.attrs[ATTRIBUTE]
    assert "a is not significantly different from b (+0" in sentence


def test_gates() -> None:
    with evaluator() as runs:
        for gate in ("mrr p_value > 0.05", "mrr mde > 1%", "mrr runs_needed > 3"):
            with pytest.raises(GateError):
                runs.compare("mrr", baseline="a", over="runs", detect="5%", fail_if=gate)
        runs.compare("mrr", baseline="a", over="runs", detect="5%", fail_if="mrr runs_needed < 3")
        with pytest.raises(GateError, match="n_runs 3 is at or above 2"):
            runs.compare("mrr", baseline="a", over="runs", fail_if="mrr n_runs >= 2")
    single = {"a": FRAMES["a"], "b": {1: FRAMES["b"][1]}}
    words = "mrr: p_value is missing, with the runs: 1 of b"
    with (
        evaluator(single) as runs,
        pytest.warns(SqlmetricsWarning),
        pytest.raises(GateError, match=words),
    ):
        runs.compare("mrr", baseline="a", over="runs", fail_if="mrr p_value > 0.05")


# ---------------------------------------------------------------- power and decisions


def power_of(difference: float, error: float, freedom: float, alpha: float) -> float:
    critical = scipy.stats.t.ppf(1 - alpha / 2, freedom)
    found = scipy.stats.nct(freedom, difference / error)
    return float(found.sf(critical) + found.cdf(-critical))


def test_power_of_a_comparison_over_runs() -> None:
    """The error and the degrees of freedom are those of scipy's tests."""
    b, a = OF_RUNS["b"], OF_RUNS["a"]
    with evaluator() as runs:
        welch = runs.compare("mrr", baseline="a", over="runs", power=0.9, detect="20%").iloc[0]
        paired = runs.compare("mrr", baseline="a", over="paired_runs", detect=0.1).iloc[0]
    assert [*welch.index[-3:]] == [*paired.index[-3:]] == ["mde", "mde_relative", "runs_needed"]
    assert welch["mde_relative"] == pytest.approx(welch["mde"] / np.mean(a))
    difference, others = np.mean(b) - np.mean(a), (np.var(b, ddof=1), np.var(a, ddof=1))
    for row, oracle, power in (
        (welch, scipy.stats.ttest_ind(b, a, equal_var=False), 0.9),
        (paired, scipy.stats.ttest_rel(b, a), 0.8),
    ):
        error = difference / oracle.statistic
        assert power_of(row["mde"], error, oracle.df, 0.05) == pytest.approx(power, abs=1e-9)

    def of_welch(n: int) -> float:
        squares = sum((variance / n) ** 2 for variance in others)
        freedom = (sum(others) / n) ** 2 / (squares / (n - 1))
        return power_of(0.2 * np.mean(a), np.sqrt(sum(others) / n), freedom, 0.05)

    def of_pairs(n: int) -> float:
        deviation = np.std(np.subtract(b, a), ddof=1)
        return power_of(0.1, deviation / np.sqrt(n), n - 1, 0.05)

    for needed, of_runs, power in (
        (welch["runs_needed"], of_welch, 0.9),
        (paired["runs_needed"], of_pairs, 0.8),
    ):
        assert of_runs(needed - 1) < power <= of_runs(needed), needed


def test_decisions_over_runs() -> None:
    """All users have the same reciprocal rank, which is the value of the run.

    The mean of live is 5/12, and 1/2, 1/2, 1/4 have the standard deviation √(1/48).
    """
    values: dict[str, list[float | None]] = {
        "live": [1 / 2, 1 / 2, 1 / 4],
        "good": [1, 1, 1],
        "same": [1 / 2, 1 / 4, 1 / 2],
    }
    lists = {
        model: frame_of({run: [value] * 4 for run, value in enumerate(of_runs, start=1)})
        for model, of_runs in values.items()
    }
    with evaluator(lists) as runs:
        frame = runs.compare("mrr", baseline="live", over="runs", power=0.8)
        (sentence,) = frame.attrs[ATTRIBUTE]
        without = runs.compare("mrr", baseline="live", over="paired_runs")
    mde = frame.set_index("model")["mde"]["same"]
    low = 7 / 12 - scipy.stats.t.ppf(0.975, 2) / 12
    assert sentence == (
        f"mrr, over runs: good is better than live by 0.583 (140 %), interval +{low:.3g} to "
        f"+{7 / 6 - low:.3g}, p = 0.04; same is not significantly different from live (+0, "
        f"interval -0.327 to +0.327); with these 3 and 3 runs, only differences above {mde:.3g} "
        f"({240 * mde:.0f} %) would show (power 80 %, level 0.05 / 2)."
    )
    assert "mde" not in without.columns
    (paired,) = without.attrs[ATTRIBUTE]
    assert "with these 3 pairs of runs, only differences above" in paired
    single = {**lists, "same": {1: lists["same"][1]}}
    with evaluator(single) as runs, pytest.warns(SqlmetricsWarning, match="single run"):
        frame = runs.compare("mrr", baseline="live", over="runs", detect=0.1)
    (sentence,) = frame.attrs[ATTRIBUTE]
    assert "; the difference of same is not tested." in sentence
    assert frame[["mde", "runs_needed"]].isna().to_numpy().tolist() == [[False] * 2, [True] * 2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test": "wilcoxon"}, "cannot be combined with test"),
        ({"ci": "bootstrap"}, "cannot be combined with ci"),
        ({"cluster": "user_id"}, "cannot be combined with cluster"),
        ({"power": 2}, "power must be between 0 and 1"),
        ({"by": "run"}, "omit run"),
        ({"fail_if": "mrr n_users < 9"}, "names n_users, which a comparison over runs lacks"),
        ({"fail_if": "mrr mde > 9"}, "names mde, which is not computed"),
        ({"fail_if": "mrr users_needed > 9", "detect": 0.1}, "users_needed, which is not computed"),
        ({"fail_if": "mrr runs_needed > 9"}, "not computed. Add detect=…"),
        (
            {"fail_if": "mrr runs_needed > 9", "over": "users"},
            "runs_needed, which is not computed. Add over=… and detect=…",
        ),
        ({"fail_if": "mrr n_runs > 9", "over": "users"}, "not computed. Add over=…"),
        ({"fail_if": "ndcg < 9"}, "names the metric 'ndcg', which is not compared"),
        ({"over": "seeds"}, "over must be one of users, runs, paired_runs"),
        ({"baseline": "z"}, "there is no model 'z'"),
    ],
)
def test_requests_that_are_refused(options: dict[str, Any], words: str) -> None:
    asked = {"baseline": "a", "over": "runs", **options}
    with evaluator() as runs, pytest.raises(UsageError) as caught:
        runs.compare("mrr", **asked)
    assert words in str(caught.value)


def test_runs_that_are_no_pairs_and_models_without_runs() -> None:
    other = {"a": FRAMES["a"], "b": {1: FRAMES["b"][1], 2: FRAMES["b"][2], 4: FRAMES["b"][3]}}
    with (
        evaluator(other) as runs,
        pytest.raises(UsageError, match="b and a have different runs: 3"),
    ):
        runs.compare("mrr", baseline="a", over="paired_runs")
    plain = {model: runs[1] for model, runs in FRAMES.items()}
    with evaluator(plain) as single, pytest.raises(UsageError, match="needs several runs"):
        single.compare("mrr", baseline="a", over="runs")


def test_a_run_without_a_value_is_no_pair() -> None:
    """No user of run 2 has a list; a run that has no value for both models is omitted."""
    strangers = FRAMES["a"][2].assign(user_id=lambda rows: rows["user_id"] + 10)
    drop = {"settings": {"no_recommendations": "drop"}}
    lists = {"a": {**FRAMES["a"], 2: strangers}, "b": FRAMES["b"]}
    words = r"run 2 of {} has no value of mrr@3.* run 2 of {}\. Omit run 2 of both"
    for baseline in "ab":
        with (
            evaluator(lists, **drop) as runs,
            pytest.raises(UsageError, match=words.format("a", "b")),
        ):
            runs.compare("mrr@3", baseline=baseline, over="paired_runs")
    lists["b"] = {**FRAMES["b"], 2: strangers}
    with evaluator(lists, **drop) as runs:
        row = runs.compare("mrr@3", baseline="a", over="paired_runs").iloc[0]
    assert row["n_runs"] == row["baseline_runs"] == 2


def test_the_command_line(tmp_path: Any) -> None:
    IN_A_COLUMN.to_csv(tmp_path / "lists.csv", index=False)
    TRUTH.to_csv(tmp_path / "truth.csv", index=False)
    arguments = ["compare", "mrr", "-r", f"{tmp_path}/lists.csv", "-i", f"{tmp_path}/truth.csv"]
    arguments += ["--baseline", "a", "--no-check", "--format", "table"]
    text = " ".join(run(*arguments, "--over", "runs").stdout.split())
    assert "Welch's t-test over runs, Holm-adjusted p < 0.05" in text
    assert "mrr, over runs: b is not significantly different from a" in text


# ---------------------------------------------------------------- parts of variance

# 4 users, 3 runs; mean squares of users, of runs, and of the rest
A = [[0.1, 0.2, 0.3], [0.3, 0.2, 0.4], [0.5, 0.5, 0.5], [0.8, 0.7, 0.6]]  # .1475, .0025, 11/1200
B = [[0.0, 0.1, 0.2], [0.2, 0.2, 0.2], [0.4, 0.4, 0.4], [0.7, 0.8, 0.6]]  # .21, .0025, 7/1200


def rows_of(table: Any) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"user_id": user, "run": run, "ndcg@10": value}
            for user, values in enumerate(table)
            for run, value in enumerate(values)
        ]
    )


def test_parts_of_variance() -> None:
    """Against the mean squares of an analysis of variance by statsmodels."""
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    draw = np.random.default_rng(5)
    strong = draw.normal(size=(30, 1)) + draw.normal(size=(1, 6)) + draw.normal(size=(30, 6)) / 2
    for table in (A, strong):
        rows = rows_of(table)
        (row,) = sm.variance_parts(rows).to_dict("records")
        fitted = ols("value ~ C(user_id) + C(run)", rows.rename(columns={"ndcg@10": "value"})).fit()
        squares = anova_lm(fitted)["mean_sq"]
        n, r = np.shape(table)
        rest = squares["Residual"]
        of_users, of_runs = (squares["C(user_id)"] - rest) / r, (squares["C(run)"] - rest) / n
        found = [row["var_users"], row["var_runs"], row["var_rest"]]
        assert found == pytest.approx([of_users, of_runs, rest])
        assert (row["n_users"], row["n_runs"]) == (n, r)
        assert row["value"] == pytest.approx(np.mean(table))
        users, runs = max(0, of_users) / n, max(0, of_runs) / r
        assert row["se"] ** 2 == pytest.approx(users + runs + rest / (n * r))
        assert row["se_users"] ** 2 == pytest.approx(users + rest / (n * r))
        assert row["se_runs"] ** 2 == pytest.approx(runs + rest / (n * r))
    of_means = np.std(np.mean(A, axis=1), ddof=1) / 2
    assert sm.variance_parts(rows_of(A)).loc[0, "se_users"] == pytest.approx(of_means)


@pytest.mark.parametrize(
    ("table", "users", "runs", "rest", "error"),
    [
        (A, 0.046111111111111124, -1 / 600, 0.009166666666666667, 0.11086778913041727),
        (B, 0.06805555555555552, -1 / 1200, 0.005833333333333334, 0.13228756555322949),
    ],
)
def test_parts_of_variance_worked_exactly(
    table: Any, users: float, runs: float, rest: float, error: float
) -> None:
    """The parts of users are (.1475 - 11/1200) / 3 and (.21 - 7/1200) / 3, and so on."""
    (row,) = sm.variance_parts(rows_of(table)).to_dict("records")
    found = [row["var_users"], row["var_runs"], row["var_rest"], row["se"], row["se_users"]]
    assert found == pytest.approx([users, runs, rest, error, error], abs=1e-12)


def test_parts_of_variance_of_per_user_values() -> None:
    with evaluator() as runs:
        found = sm.variance_parts(runs.per_user(["mrr", "recall@1"], by="run"))
    assert found[["model", "metric"]].to_numpy().tolist() == [
        ["a", "mrr"], ["a", "recall@1"], ["b", "mrr"], ["b", "recall@1"]
    ]  # fmt: skip
    assert found["value"].tolist()[::2] == pytest.approx([20 / 48, 11 / 24])


def test_columns_of_an_evaluation_bound_the_error_for_users_and_runs(tmp_path: Any) -> None:
    """They count the variance of the rest twice: docs/how-to/runs.md."""
    path = str(tmp_path / "values.parquet")
    with evaluator() as runs:
        found = runs.evaluate("mrr").set_index("model")
        runs.write_parquet(path, "mrr", per_user=True, by="run")
    parts = sm.variance_parts(pd.read_parquet(path)).set_index("model")
    for model, row in found.iterrows():
        bound = row["std"] ** 2 / row["n_users"] + row["std_runs"] ** 2 / row["n_runs"]
        of = parts.loc[model]
        users, of_runs = of["var_users"] / 4, of["var_runs"] / 3
        assert bound == pytest.approx(users + of_runs + 2 * of["var_rest"] / 12), model
        assert of["se"] ** 2 < bound


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (rows_of(A).drop(columns="run"), "a row per user and run"),
        (rows_of(A)[1:], "4 users and 3 runs with 11 values"),
        (rows_of([[0.5], [0.4]]), "2 users and 1 runs"),
        (rows_of(A).assign(country="FR"), "without the columns country"),
        (pd.concat([rows_of(A), rows_of(A)[:1]]), "one row per user and run"),
    ],
)
def test_tables_without_parts_of_variance(rows: pd.DataFrame, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        sm.variance_parts(rows)
    assert words in str(caught.value)
