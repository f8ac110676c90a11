"""Gaps between slices: values by definition, p-values by enumeration, intervals by theory."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import GateError, SqlmetricsWarning, UsageError
from tests.support.evaluators import Evaluator
from tests.support.sliced_world import SETTINGS, WORLD

GAPS = ["difference", "ratio", "mad", "std"]

# the groups of these tests are small
pytestmark = pytest.mark.filterwarnings("ignore:gap. .* have fewer than 30 users")


def mean_difference(values: Sequence[float]) -> float:
    return statistics.fmean(abs(a - b) for a, b in itertools.combinations(values, 2))


DEFINITIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "difference": lambda values: max(values) - min(values),
    "ratio": lambda values: min(values) / max(values),
    "mad": mean_difference,
    "std": statistics.pstdev,
}


def tables_of(values: Mapping[str, Sequence[float]]) -> dict[str, pd.DataFrame]:
    """Users of teams, each with a value of recall@10: tenths, for ten relevant items."""
    numbered = enumerate((team, value) for team, own in values.items() for value in own)
    recommended, relevant, users = [], [], []
    for user, (team, value) in numbered:
        users.append((user, team))
        recommended += [(user, item, item + 1) for item in range(10)]
        relevant += [(user, item + 10 - round(10 * value)) for item in range(10)]
    return {
        "recommendations": pd.DataFrame(recommended, columns=["user_id", "item_id", "rank"]),
        "interactions": pd.DataFrame(relevant, columns=["user_id", "item_id"]),
        "users": pd.DataFrame(users, columns=["user_id", "team"]),
    }


def teams_of(values: Mapping[str, Sequence[float]]) -> sm.Evaluator:
    return Evaluator(**tables_of(values), trust_input=True)


def gaps_of(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows of gaps, by gap."""
    rows = frame[frame[column].isin([f"({gap})" for gap in GAPS])]
    return rows.assign(gap=rows[column].str.strip("()"))


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("by", "slices"),
    [({"by": "country"}, ["country"]), ({"by": ["country", "age"]}, ["country", "age"]),
     ({"by_item": "category"}, ["category"])],
    ids=["users", "two columns", "items"],
)  # fmt: skip
def test_gaps_are_those_of_the_rows_above(
    world: sm.Evaluator, by: dict[str, Any], slices: list[str]
) -> None:
    metrics = ["recall", "ndcg", *(["coverage"] if "by" in by else [])]
    found = world.evaluate(metrics, k=[2, 4], gap=GAPS, **by)
    gaps = gaps_of(found, slices[0])
    above = found.drop(gaps.index)
    plain = world.evaluate(metrics, k=[2, 4], **by)
    pd.testing.assert_frame_equal(above[plain.columns].reset_index(drop=True), plain)
    named = above[~above[slices].eq("(none)").any(axis=1)]
    assert len(named) < len(above)
    labels = ["model", "metric", "k"]
    values = {labels: list(rows["value"].dropna()) for labels, rows in named.groupby(labels)}
    assert len(gaps) == len(GAPS) * len(values)
    for row in gaps.itertuples():
        expected = DEFINITIONS[row.gap](values[row.model, row.metric, row.k])
        assert row.value == pytest.approx(expected, rel=1e-12, abs=1e-15)
        assert all(getattr(row, name) == f"({row.gap})" for name in slices)
    assert gaps[["n_users", "std", "ci_low", "ci_high"]].isna().all(axis=None)


def test_two_groups_of_a_shop() -> None:
    # worked by hand: recall .5 and 1 in g1 (mean .75), 1 and 1 in g2
    lists = {"u1": ["c", "d", "e"], "u2": ["b", "d", "e"], "u3": ["c", "e", "f"],
             "u4": ["b", "c", "d"]}  # fmt: skip
    truth = {"u1": ["d", "f"], "u2": ["b"], "u3": ["e", "f"], "u4": ["d"]}
    groups = pd.DataFrame({"user_id": [*lists], "team": ["g1", "g1", "g2", "g2"]})
    with Evaluator(lists, truth, users=groups) as evaluator:
        found = evaluator.evaluate("recall@3", by="team", gap=GAPS)
    assert dict(zip(found["team"], found["value"], strict=True)) == pytest.approx(
        {"g1": 0.75, "g2": 1, "(difference)": 0.25, "(ratio)": 0.75, "(mad)": 0.25, "(std)": 0.125}
    )


def test_a_gap_needs_two_slices_with_values() -> None:
    with teams_of({"a": [0.5, 0.2]}) as evaluator:
        found = gaps_of(evaluator.evaluate("recall@10", by="team", gap=GAPS), "team")
    assert found["value"].isna().all()
    assert found["p_value"].isna().all()


def test_a_ratio_needs_a_value_above_0() -> None:
    with teams_of({"a": [0, 0], "b": [0, 0]}) as evaluator:
        found = evaluator.evaluate("recall@10", by="team", gap=["ratio", "difference"])
    values = gaps_of(found, "team").set_index("gap")["value"]
    assert math.isnan(values["ratio"])
    assert values["difference"] == 0


# ---------------------------------------------------------------- p-values


@pytest.mark.parametrize("gap", GAPS)
def test_p_values_are_those_of_all_permutations(gap: str) -> None:
    teams = {"a": [0.9, 0.6, 0.7], "b": [0.1, 0.4, 0.5], "c": [0.3, 0.8]}
    values = [value for own in teams.values() for value in own]

    def gap_of(order: Sequence[float]) -> float:
        rest, means = list(order), []
        for own in teams.values():
            means.append(statistics.fmean(rest[: len(own)]))
            rest = rest[len(own) :]
        return DEFINITIONS[gap](means)

    least, sign = gap_of(values), -1 if gap == "ratio" else 1
    every = [gap_of(order) for order in itertools.permutations(values)]
    exact = statistics.fmean(sign * (one - least) >= -1e-12 for one in every)
    with teams_of(teams) as evaluator:
        found = evaluator.evaluate("recall@10", by="team", gap=gap, resamples=4000)
    (p_value,) = gaps_of(found, "team")["p_value"]
    assert p_value == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 4000))


def test_slices_of_items_and_runs_have_no_p_value(world: sm.Evaluator) -> None:
    of_items = world.evaluate("recall", k=4, by_item="category", gap="difference")
    of_runs = world.evaluate("coverage", k=4, by="country", gap="difference")
    assert of_items["p_value"].isna().all()
    assert of_runs["p_value"].isna().all()


# ---------------------------------------------------------------- intervals


def test_intervals_of_two_groups_are_those_of_theory() -> None:
    draw = random.Random(3)
    teams = {
        "a": [draw.choice([0.1, 0.5, 0.9]) for _ in range(300)],
        "b": [draw.choice([0.3, 0.4, 0.5]) for _ in range(200)],
    }
    with teams_of(teams) as evaluator:
        found = evaluator.evaluate("recall@10", by="team", gap=GAPS, ci="bootstrap", resamples=2000)
    rows = gaps_of(found, "team").set_index("gap")
    means = [statistics.fmean(own) for own in teams.values()]
    errors = [statistics.stdev(own) / math.sqrt(len(own)) for own in teams.values()]
    error = 1.96 * math.hypot(*errors)
    relative = 1.96 * math.hypot(*(e / m for e, m in zip(errors, means, strict=True)))
    # two values: their mean difference is their difference, and their deviation half of it
    for gap, width in {"difference": error, "mad": error, "std": error / 2}.items():
        row = rows.loc[gap]
        assert row["ci_high"] - row["value"] == pytest.approx(width, rel=0.05)
        assert row["ci_low"] == pytest.approx(max(2 * row["value"] - row["ci_high"], 0), abs=1e-12)
    row = rows.loc["ratio"]
    assert row["ci_low"] == pytest.approx(row["value"] * math.exp(-relative), rel=0.01)
    assert row["ci_high"] == pytest.approx(min(row["value"] * math.exp(relative), 1), rel=0.01)


def test_an_interval_ends_at_no_gap() -> None:
    draw = random.Random(5)
    teams = {name: [draw.random() for _ in range(30)] for name in "abcd"}
    with teams_of(teams) as evaluator:
        found = evaluator.evaluate("recall@10", by="team", gap=GAPS, ci="bootstrap", resamples=300)
    rows = gaps_of(found, "team").set_index("gap")
    assert rows.loc["ratio", "ci_high"] == 1
    assert (rows.loc[["difference", "mad", "std"], "ci_low"] == 0).all()


def test_intervals_of_runs_need_run_ci(world: sm.Evaluator) -> None:
    asked: dict[str, Any] = {"k": 4, "by": "country", "gap": "difference", "ci": "bootstrap"}
    without = gaps_of(world.evaluate("coverage", resamples=50, **asked), "country")
    assert without["ci_low"].isna().all()
    found = gaps_of(world.evaluate("coverage", resamples=50, run_ci=True, **asked), "country")
    assert (found["ci_low"] <= found["value"]).all()
    assert (found["value"] <= found["ci_high"]).all()


# ---------------------------------------------------------------- every way to a result


ASKED: dict[str, Any] = {
    "by": "country", "gap": ["difference", "mad"], "ci": "bootstrap", "resamples": 50,
}  # fmt: skip


def test_the_printed_statement_has_the_rows(tmp_path: Path) -> None:
    paths = {}
    for name, frame in tables_of({"a": [0.1, 0.2, 0.9], "b": [0.3, 0.8]}).items():
        paths[name] = tmp_path / f"{name}.parquet"
        frame.to_parquet(paths[name])
    with Evaluator(**paths) as evaluator:
        asked: dict[str, Any] = {"by": "team", "gap": GAPS, "ci": "bootstrap", "resamples": 50}
        expected = evaluator.evaluate("recall@10", **asked)
        found = duckdb.sql(evaluator.sql("recall@10", **asked).rstrip(";\n")).df()
    assert found["team"].tolist() == expected["team"].tolist()
    for column in ("value", "ci_low", "ci_high", "p_value"):
        assert found[column].tolist() == pytest.approx(expected[column].tolist(), nan_ok=True)


def test_several_runs(world: sm.Evaluator) -> None:
    lists = WORLD["recommendations"]
    als = lists[lists["model"] == "als"]
    runs = pd.concat([als.assign(run=run) for run in (1, 2)])
    metrics = ["recall@3", "coverage@3"]
    with Evaluator(**{**WORLD, "recommendations": runs}, settings=SETTINGS) as evaluator:
        found = evaluator.evaluate(metrics, **ASKED, run_ci=True)
    expected = world.evaluate(metrics, **ASKED, run_ci=True)
    of_als = expected[expected["model"] == "als"]
    for column in ("value", "ci_low", "ci_high", "p_value"):
        assert found[column].tolist() == pytest.approx(of_als[column].tolist(), nan_ok=True)
    assert gaps_of(found, "country")["n_runs"].isna().all()


def test_gates_judge_gaps() -> None:
    with teams_of({"a": [0.1, 0.2], "b": [0.7, 0.9]}) as evaluator:
        asked: dict[str, Any] = {"by": "team", "gap": "difference"}
        gate = "recall@10 > {} where team=(difference)"
        evaluator.evaluate("recall@10", fail_if=gate.format(0.7), **asked)
        with pytest.raises(GateError, match=r"\(difference\)"):
            evaluator.evaluate("recall@10", fail_if=gate.format(0.6), **asked)


def test_small_slices_are_named() -> None:
    with teams_of({"a": [0.1] * 40, "b": [0.7] * 29, "c": [0.2] * 3}) as evaluator:
        with pytest.warns(SqlmetricsWarning, match="gap: 2 of 3 slices .*such as team=c with 3"):
            evaluator.evaluate("recall@10", by="team", gap="difference", resamples=10)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            evaluator.evaluate("recall@10", by="team")


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "country", "gap": "diference"}, r"gap must be one of .* 'diference'.*difference"),
        ({"gap": "ratio"}, r"gap needs slices whose values differ.*by="),
        ({"by": "country", "gap": "mad", "combinations": True}, "cannot compare combinations"),
        ({"by": "country", "by_item": "category", "gap": "std"}, "slices of users or slices of"),
    ],
)
def test_refusals(world: sm.Evaluator, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        world.evaluate("recall@3", **options)
