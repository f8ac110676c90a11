"""Several runs of a model: means over runs, and the spread over them."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import scipy.stats

import sqlmetrics as sm
from sqlmetrics.errors import SqlmetricsWarning
from tests.support import command_line
from tests.support.further_tables import CATALOG, EVERYTHING, Evaluator
from tests.support.runs import (
    FRAMES,
    HIT,
    IN_A_COLUMN,
    MISS,
    OF_USERS,
    TRUTH,
    VALUES,
    evaluator,
)


def test_means_over_runs_worked_by_hand() -> None:
    with evaluator() as runs:
        result = runs.evaluate(["mrr", "coverage@1"])
        users = runs.per_user("mrr")
        compared = runs.compare("mrr", baseline="a").iloc[0]
    assert list(result.columns[-2:]) == ["n_runs", "std_runs"]
    assert result["n_runs"].tolist() == [3, 3, 3, 3]
    # items at the top, out of 4: a has 2, 1 and 2; b has 1 in every run
    assert result["value"].tolist() == pytest.approx([20 / 48, 5 / 12, 11 / 24, 1 / 4], abs=1e-15)
    assert result["std_runs"].tolist() == pytest.approx(
        [math.sqrt(57) / 48, math.sqrt(1 / 3) / 4, math.sqrt(3) / 24, 0], abs=1e-15
    )
    first = result.iloc[0]
    assert (first["n_users"], first["std"]) == (4, pytest.approx(math.sqrt(3) / 6, abs=1e-15))
    half = 1.959963984540054 * math.sqrt(3) / 6 / 2  # of the users, not of the runs
    assert first["ci_high"] == pytest.approx(20 / 48 + half, abs=1e-12)
    assert users["mrr"].tolist() == pytest.approx([*OF_USERS["a"], *OF_USERS["b"]], abs=1e-15)
    assert compared["difference"] == pytest.approx(1 / 24, abs=1e-15)
    assert compared[["wins", "ties", "losses", "n_users"]].tolist() == [2, 0, 2, 4]


def test_equal_runs_have_no_spread() -> None:
    """Every run has the same reciprocal ranks, of other users: their sums differ by rounding."""
    n = 97
    places = [range(1, n + 1), range(n, 0, -1), [1 + 5 * user % n for user in range(n)]]
    lists = pd.DataFrame(
        [
            (run, user, 0 if rank == place else rank, rank)
            for run, of_run in enumerate(places)
            for user, place in enumerate(of_run)
            for rank in range(1, place + 1)
        ],
        columns=["run", "user_id", "item_id", "rank"],
    )
    truth = pd.DataFrame({"user_id": range(n), "item_id": 0})
    with Evaluator(lists, truth) as runs:
        result = runs.evaluate("mrr")
    assert result["value"].tolist() == pytest.approx([sum(1 / r for r in range(1, n + 1)) / n])
    assert result["std_runs"].tolist() == [0]


def test_a_user_has_the_mean_over_the_runs_that_count_the_user() -> None:
    with evaluator(settings={"no_recommendations": "drop"}) as runs:
        row = runs.evaluate("mrr").iloc[1]
        users = runs.per_user("mrr")
    assert users["mrr"].tolist()[4:] == pytest.approx([2 / 3, 2 / 3, 3 / 8, 3 / 8], abs=1e-15)
    assert row["value"] == pytest.approx(25 / 48, abs=1e-15)
    assert (row["n_users"], row["n_runs"]) == (4, 3)
    assert row["std_runs"] == pytest.approx(math.sqrt(7) / 8, abs=1e-15)


def test_runs_of_one_model_without_a_name() -> None:
    lists = IN_A_COLUMN[IN_A_COLUMN["model"] == "a"].drop(columns="model")
    with evaluator(lists) as runs:
        result = runs.evaluate(["mrr", "coverage@1"])
    assert "model" not in result
    assert result["value"].tolist() == pytest.approx([20 / 48, 5 / 12], abs=1e-15)
    assert result["std_runs"].tolist() == pytest.approx(
        [math.sqrt(57) / 48, math.sqrt(1 / 3) / 4], abs=1e-15
    )


def test_every_metric_has_the_mean_of_its_runs() -> None:
    """Every template keeps the runs apart: the lists of run 2 are those of run 1 with other items.

    The values of the runs alone come from lists without the column.
    """
    first = EVERYTHING["recommendations"].to_pandas()
    second = first.assign(item_id=[11, 12, 13, 10])
    lists = pd.concat([first.assign(run="x"), second.assign(run="y")], ignore_index=True)
    tables = {**EVERYTHING, "settings": {"missing_attributes": "ignore"}}
    metrics = [name for name, metric in CATALOG.metrics.items() if metric.in_all]
    metrics.append("inter_list_diversity(sample_users=2, runs=2)")

    def result(recommendations: Any) -> pd.DataFrame:
        with Evaluator(**{**tables, "recommendations": recommendations}) as evaluator:
            return evaluator.evaluate(metrics, k=2, skip_missing=True)

    both, alone = result(lists), result({"one": first, "two": second})
    one, two = (alone[alone["model"] == name].reset_index(drop=True) for name in ("one", "two"))
    assert both["metric"].tolist() == one["metric"].tolist() == two["metric"].tolist()
    assert len(both) > 40
    values = np.array([one["value"], two["value"]], dtype="float64")
    # only then, the mean over users is the mean over runs
    same_users = one["n_users"].eq(two["n_users"]) & one["n_users"].eq(both["n_users"])
    whole = (same_users | both["n_users"].isna()).fillna(True).to_numpy("bool")
    means = both["value"].to_numpy("float64")
    assert means[whole] == pytest.approx(pd.DataFrame(values).mean()[whole], abs=1e-12, nan_ok=True)
    defined = ~np.isnan(values).any(axis=0)
    assert (both["n_runs"].to_numpy("int64") == (~np.isnan(values)).sum(axis=0)).all()
    spread = both["std_runs"].to_numpy("float64")
    assert spread[defined] == pytest.approx(values.std(axis=0, ddof=1)[defined], abs=1e-12)
    assert (spread[defined] > 0.01).sum() > 10


# ---- results -------------------------------------------------------------------------------------


ATTRIBUTES = {
    "items": pd.DataFrame({"item_id": [HIT, *MISS], "category": [*"xyyy"]}),
    "users": pd.DataFrame({"user_id": [1, 2, 3, 4], "country": [*"ppqq"]}),
}


def test_slices_of_users_worked_by_hand() -> None:
    """Users 3 and 4 have no list in run 3 of b. The printed statement finds the same.

    Runs of a: 3/4, 1/2, 1/2 in p and 1/8, 0, 5/8 in q; those of b: 1/2, 1/2, 1 and 1/2, 1/4.
    """
    tables = {"users": ATTRIBUTES["users"], "settings": {"no_recommendations": "drop"}}
    with evaluator(**tables) as runs, duckdb.connect() as connection:
        found = runs.evaluate("mrr", by="country")
        for name, frame in (
            ("recommendations", IN_A_COLUMN), ("interactions", TRUTH), ("users", tables["users"])
        ):  # fmt: skip
            connection.register(f"sqlmetrics_{name}", frame)
        printed = connection.execute(runs.sql("mrr", by="country")).df()
    for rows in (found, printed):
        names = ["model", "country", "n_users", "n_runs"]
        assert rows[names].to_numpy().tolist() == [
            ["a", "p", 2, 3], ["a", "q", 2, 3], ["b", "p", 2, 3], ["b", "q", 2, 2],
        ]  # fmt: skip
        assert rows["value"].tolist() == pytest.approx([7 / 12, 1 / 4, 2 / 3, 3 / 8], abs=1e-15)
        deviations = [math.sqrt(1 / 8), math.sqrt(1 / 72), 0, 0]
        assert rows["std"].tolist() == pytest.approx(deviations, abs=1e-12)
        spread = [math.sqrt(1 / 48), math.sqrt(7) / 8, math.sqrt(1 / 12), math.sqrt(1 / 32)]
        assert rows["std_runs"].tolist() == pytest.approx(spread, abs=1e-12)


def test_slices_of_items_and_resamples_work_with_runs() -> None:
    with evaluator(**ATTRIBUTES) as runs:
        of_items = runs.evaluate("mrr", by_item="category")
        resampled = runs.evaluate(
            ["mrr", "coverage@1"], by="country", ci="bootstrap", run_ci=True, resamples=20
        )
        wilcoxon = runs.compare("mrr", baseline="a", test="wilcoxon", by="country")
    assert of_items["value"].tolist() == pytest.approx([20 / 48, 11 / 24], abs=1e-15)
    assert of_items["n_runs"].tolist() == [3, 3]
    a_in_p = (OF_USERS["a"][0] + OF_USERS["a"][1]) / 2
    assert resampled["value"].iloc[0] == pytest.approx(a_in_p, abs=1e-15)
    assert resampled[["n_runs", "std_runs"]].notna().all(axis=None)
    assert resampled["ci_low"][resampled["metric"] == "mrr"].notna().all()
    assert wilcoxon["n_users"].tolist() == [2, 2]


BOOTSTRAP = {"ci": "bootstrap", "run_ci": True, "resamples": 20}


@pytest.mark.parametrize(
    "options",
    [
        {},
        BOOTSTRAP,
        {"by": "country"},
        {"by": "country", **BOOTSTRAP},
        {"by_item": "category", "ci": "bootstrap", "resamples": 20},
        {"settings": {"no_recommendations": "drop"}},
    ],
    ids=str,
)
def test_rows_by_run_are_those_of_each_run_alone(options: dict[str, Any]) -> None:
    metrics = ["mrr", "recall@1", *([] if "by_item" in options else ["coverage@1"])]
    asked = {name: value for name, value in options.items() if name != "settings"}
    of_all = {**ATTRIBUTES, "settings": options.get("settings")}
    by = asked.pop("by", None)
    with evaluator(**of_all) as runs:
        found = runs.evaluate(metrics, by=["run", by] if by else "run", **asked)
        users = runs.per_user("mrr", by="run")
    alone, of_users = [], []
    for model, frames in FRAMES.items():
        for run, frame in frames.items():
            with evaluator(frame, **of_all) as one:
                rows = one.evaluate(metrics, by=by, **asked)
                values = one.per_user("mrr")
            rows.insert(0, "model", model)
            rows.insert(1, "run", run)
            alone.append(rows)
            of_users.append(values.assign(model=model, run=run))
    expected = pd.concat(alone, ignore_index=True)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-13)
    assert {*found["run"]} == {1, 2, 3}
    in_order = pd.concat(of_users).sort_values(["model", "user_id", "run"], ignore_index=True)
    pd.testing.assert_frame_equal(users, in_order[[*users]], check_dtype=False)


# the items of two policies in their runs, for users 1, 2 and 3 with two rounds each
POLICIES = {
    "a": {1: {1: [1], 2: [2], 3: [2]}, 2: {1: [2], 2: [1], 3: [1]}},
    "b": {1: {1: [2], 2: [1], 3: [1]}, 2: {1: [2], 2: [1], 3: [2]}},
}
LOGS = pd.DataFrame({
    "round_id": range(6), "user_id": [1, 1, 2, 2, 3, 3], "item_id": [1, 2] * 3,
    "reward": [1.0, 0, 1, 0, 0, 1], "propensity": [1 / 2, 1 / 2, 1 / 4, 3 / 4, 1 / 2, 1 / 2],
})  # fmt: skip


def test_rows_by_run_of_policies() -> None:
    """The weights are 2, 4/3 and 2 in run 1 of a, and 2, 4 and 2 in the others."""
    with Evaluator(POLICIES, logs=LOGS) as runs:
        found = runs.evaluate(["ipw", "snipw"], by="run")
        rounds = runs.per_user("ipw", by="run")
        compared = {
            over: runs.compare("ipw", baseline="b", over=over).iloc[0]
            for over in ("runs", "paired_runs")
        }
    assert found["model"].tolist() == ["a"] * 4 + ["b"] * 4
    assert found["run"].tolist() == ["1", "1", "2", "2"] * 2
    of_weights = [4 / 6, 4 / (16 / 3), 4 / 6, 4 / 8, 4 / 6, 4 / 8, 6 / 6, 6 / 8]
    assert found["value"].tolist() == pytest.approx(of_weights, abs=1e-12)
    of_first = rounds[(rounds["model"] == "a") & (rounds["run"] == "1")]
    assert of_first["ipw"].tolist() == [2, 0, 0, 0, 0, 2]
    for over, row in compared.items():  # the differences of the pairs are 0 and -1/3
        assert row["difference"] == pytest.approx(-1 / 6, abs=1e-12), over
        assert row["n_runs"] == row["baseline_runs"] == 2
    pair = compared["paired_runs"]
    assert pair["p_value"] == pytest.approx(1 / 2, abs=1e-12)  # t = -1 with one degree of freedom


Z = 1.959963984540054


def test_ratios_of_sums_are_means_of_those_of_the_runs() -> None:
    """Run 1 of a has the ratio 4 / (16/3), the other ones 4 / 8, 4 / 8 and 6 / 8.

    A round has the influence w (reward - ratio) / Σw on a run. The means over both runs of a, in
    64ths, are 3, -4, 8, -6, -4, 3, and those of b 0, -10, 12, 0, -4, 2.
    """
    metrics = ["snipw", "ess", "importance_weight(aggregate=max)"]
    with Evaluator(POLICIES, logs=LOGS) as runs:
        found = runs.evaluate(metrics)
        with pytest.warns(SqlmetricsWarning, match="fewer than 30 clusters"):
            by_user = runs.evaluate("snipw", cluster="user_id").iloc[0]
        drawn = runs.evaluate("snipw", ci="bootstrap", resamples=2000).iloc[0]
        compared = runs.compare("snipw", baseline="b").iloc[0]
        over_runs = [runs.compare(metric, baseline="b", over="runs").iloc[0] for metric in metrics]
    with Evaluator({**POLICIES, "one": POLICIES["a"][1]}, logs=LOGS) as beside:
        one = beside.evaluate("snipw").iloc[-1]
    with Evaluator(POLICIES["a"][1], logs=LOGS) as single:
        alone = single.evaluate("snipw").iloc[0]
    of_weights = [(16 / 3) ** 2 / (8 + 16 / 9), 64 / 24]
    assert found["value"].tolist() == pytest.approx(
        [5 / 8, np.mean(of_weights), 3, 5 / 8, 64 / 24, 4], abs=1e-12
    )
    a = found.iloc[0]
    assert (a["n_users"], a["n_runs"]) == (6, 2)
    # √(Σ w (reward - ratio)² / Σw · 6/5) of both runs: 3/16 and 1/4 before 6/5
    assert a["std"] == pytest.approx((math.sqrt(9 / 40) + math.sqrt(3 / 10)) / 2, abs=1e-12)
    error = math.sqrt(9 + 16 + 64 + 36 + 16 + 9) / 64
    assert [a["ci_low"], a["ci_high"]] == pytest.approx(
        [5 / 8 - Z * error, 5 / 8 + Z * error], abs=1e-12
    )
    assert (drawn["ci_high"] - drawn["ci_low"]) / (2 * Z * error) == pytest.approx(1, abs=0.15)
    # users have -1, 2 and -1 of 64: √(3/2 · 6) / 64
    half = scipy.stats.t.ppf(0.975, 2) * 3 / 64
    assert by_user["ci_high"] == pytest.approx(5 / 8 + half, abs=1e-12)
    values = [compared["value"], compared["baseline_value"], compared["difference"]]
    assert values == pytest.approx([5 / 8, 5 / 8, 0], abs=1e-12)
    half = scipy.stats.t.ppf(0.975, 5) * math.sqrt((9 + 36 + 16 + 36 + 1) * 6 / 5) / 64
    assert compared["ci_high"] == pytest.approx(half, abs=1e-12)
    of_a = found["value"].iloc[:3].tolist()
    assert [row["value"] for row in over_runs] == pytest.approx(of_a, abs=1e-12)
    numbers = ["value", "n_users", "std", "ci_low", "ci_high"]
    assert one[numbers].tolist() == pytest.approx(alone[numbers].tolist(), abs=1e-12)


def test_slices_and_gaps_of_ratios() -> None:
    """In x, run 1 of a has the rewards 1 and 0 with the weights 2 and 4/3; in y only 1."""
    logs = LOGS.assign(half=[*"xxyxyy"])
    with (
        Evaluator({"a": POLICIES["a"]}, logs=logs) as runs,
        pytest.warns(SqlmetricsWarning, match="fewer than 30 users"),
    ):
        found = runs.evaluate(["ipw", "snipw"], by="half", gap="difference")
    rows = found[found["metric"] == "snipw"].set_index("half")
    of_slices = [(6 / 10 + 0) / 2, (1 + 4 / 6) / 2]
    assert rows["value"].tolist() == pytest.approx([*of_slices, np.ptp(of_slices)], abs=1e-12)
    assert rows["p_value"].isna().all()
    assert found["p_value"].notna().sum() == 1  # of the mean


def test_statistics_other_than_means_are_means_of_those_of_the_runs() -> None:
    """The reciprocal ranks of every run are in support/runs.py."""
    names = {"max": np.max, "median": np.median, "sum": np.sum}
    metrics = [f"mrr(aggregate={name})" for name in names]
    metrics.append("mrr(aggregate=half_width)")
    values = {m: [[v or 0 for v in row] for row in runs.values()] for m, runs in VALUES.items()}

    def half_width(row: list[float]) -> float:
        return Z * float(np.std(row, ddof=1)) / 2

    expected = np.array([
        [[of(row) for row in values[model]] for of in (*names.values(), half_width)]
        for model in "ab"
    ]).reshape(8, 3)  # fmt: skip
    users = pd.DataFrame({"user_id": [1, 2, 3, 4], "half": [*"xxyy"]})
    with evaluator(users=users) as runs:
        found = runs.evaluate(metrics)
        sliced = runs.evaluate("mrr(aggregate=max)", by="half")
        rows = runs.evaluate(metrics, by="run")
    assert found["value"].tolist() == pytest.approx(expected.mean(axis=1), abs=1e-12)
    spread = expected.std(axis=1, ddof=1)
    assert found["std_runs"].tolist() == pytest.approx(spread, abs=1e-12)
    means = rows.groupby(["model", "metric"], sort=False)["value"].mean()
    assert found["value"].tolist() == pytest.approx(means.tolist(), abs=1e-12)
    assert found[["ci_low", "ci_high"]].isna().all(axis=None)
    of_halves = [np.mean([max(row[of]) for row in values[m]]) for m in "ab"
                 for of in (slice(2), slice(2, 4))]  # fmt: skip
    assert sliced["value"].tolist() == pytest.approx(of_halves, abs=1e-12)
    one = IN_A_COLUMN[IN_A_COLUMN["model"] == "a"].drop(columns="model")
    with evaluator(one) as runs:
        alone = runs.evaluate(metrics)
    assert alone["value"].tolist() == pytest.approx(found["value"].tolist()[:4], abs=1e-12)


def test_rows_by_run_of_one_model_in_the_order_of_numbers(tmp_path: Path) -> None:
    lists = pd.concat([frame.assign(seed=run) for run, frame in FRAMES["a"].items()])
    lists["seed"] = lists["seed"].replace(3, 10)
    lists.to_csv(tmp_path / "lists.csv", index=False)
    TRUTH.to_csv(tmp_path / "test.csv", index=False)
    options = ["-r", str(tmp_path / "lists.csv"), "-i", str(tmp_path / "test.csv"), "--no-check"]
    options += ["--column", "recommendations.run=seed", "--format", "json", "--by", "run"]
    rows = json.loads(output("evaluate", "mrr", *options))
    assert [(row["run"], row["n_users"]) for row in rows] == [(1, 4), (2, 4), (10, 4)]
    assert [row["value"] for row in rows] == pytest.approx([21 / 48, 12 / 48, 27 / 48], abs=1e-15)
    assert "n_runs" not in rows[0]
    gate = output("evaluate", "mrr", *options, "--fail-if", "mrr < 0.3 where run=10")
    assert json.loads(gate) == rows


def test_leaderboards_show_the_spread_over_runs(tmp_path: Path) -> None:
    with evaluator() as runs:
        frame = runs.leaderboard(["mrr", "coverage@1"], ci="normal")
    assert list(frame.columns[:4]) == ["model", "n_users", "n_runs", "mrr"]
    assert frame["n_runs"].tolist() == [3, 3]
    assert frame["mrr std_runs"].tolist() == pytest.approx(
        [math.sqrt(3) / 24, math.sqrt(57) / 48], abs=1e-15
    )
    files = write_files(tmp_path, {**FRAMES, "fixed": {1: FRAMES["a"][2]}})
    latex = output("leaderboard", "mrr", *files, "--format", "latex").splitlines()
    assert r"b & 3 & \textbf{0.4583 $\pm$ 0.0722} \\" in latex
    assert any(line.startswith("fixed & 1 & 0.2500") for line in latex)
    assert "Model & Runs & MRR" in "\n".join(latex)
    assert latex[-1].endswith("± standard deviation over the runs of the model")
    with_intervals = output("leaderboard", "mrr", *files, "--format", "latex", "--ci", "normal")
    assert with_intervals.endswith("± half the width of the confidence interval\n")


def test_gates_on_runs() -> None:
    with (
        evaluator() as runs,
        pytest.raises(sm.GateError, match=r"a, mrr: std_runs 0\.1573 is above 0\.1"),
    ):
        runs.evaluate("mrr", fail_if=["mrr std_runs > 0.1", "mrr n_runs < 3"])
    with (
        evaluator(FRAMES["a"][1]) as one,
        pytest.raises(
            sm.UsageError, match=r"names n_runs, but .* no column run.*recommendations.run"
        ),
    ):
        one.evaluate("mrr", fail_if="mrr n_runs < 3")


# ---- sources -------------------------------------------------------------------------------------


def write_files(folder: Path, models: Any) -> list[str]:
    """Write the runs to files; return the options that read them."""
    for model, runs in models.items():
        (folder / "runs" / model).mkdir(parents=True)
        for run, lists in runs.items():
            lists.to_csv(folder / "runs" / model / f"seed-{run}.csv", index=False)
    TRUTH.to_csv(folder / "test.csv", index=False)
    pattern = str(folder / "runs" / "{model}" / "seed-{run}.csv")
    return ["-r", pattern, "-i", str(folder / "test.csv"), "--no-check"]


def output(*arguments: str) -> str:
    return command_line.run(*arguments).stdout


def test_runs_by_column_dict_and_path(tmp_path: Path) -> None:
    with evaluator() as runs:
        table = runs.evaluate("mrr")
    renamed = IN_A_COLUMN.rename(columns={"run": "seed"})
    for source, options in (
        (FRAMES, {}),
        (renamed, {"columns": {"recommendations.run": "seed"}}),
    ):
        with evaluator(source, **options) as runs:
            pd.testing.assert_frame_equal(runs.evaluate("mrr"), table)
            assert runs.models == ["a", "b"]
    files = write_files(tmp_path, FRAMES)
    from_files = pd.DataFrame(json.loads(output("evaluate", "mrr", *files, "--format", "json")))
    for name in ("value", "n_runs", "std_runs"):
        assert from_files[name].tolist() == pytest.approx(table[name].tolist(), abs=1e-15)
    one = ["-r", str(tmp_path / "runs" / "a" / "seed-{run}.csv"), *files[2:], "--format", "json"]
    (row,) = json.loads(output("evaluate", "mrr", *one))
    assert (row["value"], row["n_runs"]) == (pytest.approx(20 / 48), 3)


def test_a_model_without_runs_beside_models_with_runs() -> None:
    """A deterministic baseline has one run, whether the others have a column or sources."""
    fixed = FRAMES["a"][1]
    column = IN_A_COLUMN[IN_A_COLUMN["model"] == "a"].drop(columns="model")
    for source in (FRAMES["a"], column):
        with evaluator({"a": source, "fixed": fixed}) as runs:
            result = runs.evaluate("mrr")
        assert result["value"].tolist() == pytest.approx([20 / 48, 21 / 48], abs=1e-15)
        assert result["n_runs"].tolist() == [3, 1]
        assert result["std_runs"].isna().tolist() == [False, True]


def test_records_of_runs(tmp_path: Path) -> None:
    files, record = write_files(tmp_path, FRAMES), str(tmp_path / "record.json")
    first = output("evaluate", "mrr", *files, "--record", record, "--format", "csv")
    entries = json.loads(Path(record).read_text())
    assert [(entry["model"], entry["run"]) for entry in entries["sources"][:3]] == [
        ("a", "1"), ("a", "2"), ("a", "3")]  # fmt: skip
    assert [entry["run"] for entry in entries["users"]] == ["1", "2", "3", "1", "2", "3"]
    again = output(
        "evaluate", "--from-record", record, "--trust-record", "--no-check", "--format", "csv"
    )
    # means over users may differ in the last digit
    pd.testing.assert_frame_equal(
        *(pd.read_csv(io.StringIO(text)) for text in (again, first)), rtol=1e-12
    )


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "twice": (
        lambda: evaluator({"a": {1: FRAMES["a"][1], "1": FRAMES["a"][2]}}), "two runs have the"
    ),
    "blank": (lambda: evaluator({"a": {" ": FRAMES["a"][1]}}), "the name of a run is empty"),
    "empty": (
        lambda: evaluator({"a": {**FRAMES["a"], 4: FRAMES["a"][1][:0]}}).evaluate("mrr"),
        "recommendations of a, run 4: the table is empty",
    ),
    "report": (
        lambda: evaluator().report("mrr"), "single run of each model.*without the column run"
    ),
    "baseline": (
        lambda: evaluator(FRAMES, baseline="a").evaluate("unexpectedness"),
        "several baseline lists",
    ),
    "interactions": (
        lambda: Evaluator(IN_A_COLUMN, TRUTH.assign(run=1)),
        "interactions, column run: .*name it fold in both tables and make it part of the key",
    ),
    "compare": (
        lambda: evaluator().compare("mrr", baseline="a", by="run"),
        "means of users over all runs",
    ),
    "leaderboard": (
        lambda: evaluator().leaderboard("mrr", by="run"), "means of users over all runs"
    ),
    "gap": (lambda: evaluator().evaluate("mrr", by="run", gap="ratio"), "gap compares groups of"),
    "combinations": (lambda: evaluator().evaluate("mrr", by="run", combinations=True), "omit run"),
    "by_item": (lambda: evaluator().evaluate("mrr", by_item="run"), "use by instead"),
    "gate": (
        lambda: evaluator().evaluate("mrr", by="run", fail_if="mrr std_runs > 1"),
        "no means over runs.*rows are by run",
    ),
    "policy": (
        lambda: Evaluator(logs=LOGS, policy={"a": {"1": LOGS, "2": LOGS}}),
        "policy of a: only recommendations can have runs, .*: 1, 2.*model .* such as a-1",
    ),
    "remote": (lambda: evaluator("s3://bucket/{run}.parquet"), "{run} works for local files only"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what: str) -> None:
    call, message = REFUSED[what]
    with pytest.raises((sm.UsageError, sm.DataError), match=f"(?s){message}"):
        call()
