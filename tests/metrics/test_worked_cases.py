"""The hand-worked cases of tests/cases, one file per metric, against the package and the oracle.

A case has `recommendations` ({"u1": "a b c"}: best first, as ranks; {"u1": "a:5 b:4"}: scores),
`interactions` ({"u1": "a c"}, or with grades {"u1": "a:3 c:0"}), `history`, `k` (none: the whole
list), `largest_k` (a second cutoff of the same call), `params` of the metric, `settings`, and the
numbers worked by hand: `per_user` (exactly the audience) and `mean`, with the arithmetic in `why`.
Users of the audience without a value stand in `undefined`; a mean over nobody is "undefined". The
package comes to within `tolerance` of these numbers, which is 1e-12 where nothing else is said.

More tables: `items` ({a = {price=3, category=["x", "y"], features=[1, 0]}}), `aspects`
({a = "x y"}, or {u1 = {a = "x y"}}), `baseline` (as `recommendations`) and `logs`
({u1 = "a:1 b:0"}: rewards; {u1 = "a:1@0.5"}: reward and propensity).
"""

import functools
import math
import tomllib
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from tests.support import oracle
from tests.support.calls import Result, run, run_calls, spec
from tests.support.notation import (
    aspect_rows,
    further_frames,
    interaction_frame,
    interaction_rows,
    item_rows,
    log_rows,
    number,
    recommendation_rows,
)
from tests.support.paths import TESTS

CASES = TESTS / "cases"
KEYS = {
    "name", "why", "call", "k", "largest_k", "ids", "params", "settings",
    "recommendations", "interactions", "history", "items", "aspects", "baseline", "logs",
    "per_user", "undefined", "mean", "tolerance",
}  # fmt: skip
MORE_TABLES = {
    "items": item_rows,
    "aspects": aspect_rows,
    "baseline": recommendation_rows,
    "logs": log_rows,
}
# what cases of one run differ in; they share tables, settings and cutoffs, and an alias is alone
OWN = {"metric", "name", "why", "params", "per_user", "undefined", "mean", "tolerance"}


def load() -> list[Any]:
    """Read the cases; those that can share a run stand beside each other, for one worker."""
    found = []
    for path in sorted(CASES.glob("*.toml")):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        assert document["metric"] == path.stem
        for case in document["case"]:
            assert set(case) <= KEYS, f"{path.name}, {case['name']}: {set(case) - KEYS}"
            case["metric"] = path.stem
            found.append(pytest.param(case, id=f"{path.stem}: {case['name']}"))
    runs = list(dict.fromkeys(run_of(*param.values) for param in found))
    return sorted(found, key=lambda param: runs.index(run_of(*param.values)))


def run_of(case: dict[str, Any]) -> str:
    return repr(sorted((name, value) for name, value in case.items() if name not in OWN))


ALL = load()


def tables(case: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that `run` and the oracle share."""
    item = int if case.get("ids") == "integer" else str
    history = interaction_rows(case["history"], item) if "history" in case else None
    interactions = interaction_rows(case["interactions"], item) if "interactions" in case else None
    more = {name: read(case[name], item) for name, read in MORE_TABLES.items() if name in case}
    return more | {
        "recommendations": recommendation_rows(case["recommendations"], item),
        "interactions": interactions,
        "metric": case.get("call", case["metric"]),
        "k": case.get("k"),
        "params": case.get("params", {}),
        "settings": case.get("settings", {}),
        "history": history and [row[:2] for row in history],
        "largest_k": case.get("largest_k"),
    }


def expected_users(case: dict[str, Any]) -> dict[str, float]:
    return {user: number(value) for user, value in case.get("per_user", {}).items()}


def expected_mean(case: dict[str, Any], tolerance: float = 1e-12) -> Any:
    if case["mean"] == "undefined":
        return None
    return pytest.approx(number(case["mean"]), rel=0, abs=tolerance)


@pytest.mark.parametrize("case", ALL)
def test_oracle_gives_the_hand_worked_numbers(case: dict[str, Any]) -> None:
    arguments = tables(case)
    arguments["interactions"] = arguments["interactions"] or []
    mean, users = oracle.evaluate(**arguments)
    assert users == pytest.approx(expected_users(case), rel=0, abs=1e-12)
    assert mean == expected_mean(case)


def call_of(case: dict[str, Any]) -> str:
    return spec(case.get("call", case["metric"]), case.get("params"))


@functools.cache
def results(run: str) -> dict[str, Result]:
    """Evaluate all cases of a run in one call: most of the time goes into what they share."""
    cases = [case for param in ALL for case in param.values if run_of(case) == run]
    arguments = tables(cases[0])
    del arguments["metric"], arguments["params"]
    settings = arguments["settings"]
    if "row" not in (settings.get("order"), settings.get("ties")):
        # Only rank or score may give the order, so the rows come the other way round.
        for rows in arguments.values():
            if isinstance(rows, list):
                rows.reverse()
    of_users = {call_of(case) for case in cases if "per_user" in case}
    return run_calls(**arguments, calls={c: c in of_users for c in map(call_of, cases)})


@pytest.mark.filterwarnings("ignore:.*there is no column relevance")  # thresholds change nothing
@pytest.mark.parametrize("case", ALL)
def test_package_gives_the_hand_worked_numbers(case: dict[str, Any]) -> None:
    of_users = "per_user" in case
    result = results(run_of(case))[call_of(case)]
    tolerance = case.get("tolerance", 1e-12)
    assert result.mean == expected_mean(case, tolerance)
    if of_users:
        assert result.users == pytest.approx(expected_users(case), rel=0, abs=tolerance)
        assert result.n_users == len(case["per_user"])
        assert result.undefined == set(case.get("undefined", []))


def one_for_each_settings() -> list[Any]:
    """Return the first case of a metric with the settings that it has, of every third of these."""
    found = {}
    for param in ALL:
        (case,) = param.values
        if "settings" in case:
            key = case["metric"], str(case["settings"]), str(case.get("params"))
            found.setdefault(key, param)
    return list(found.values())[::3]


@pytest.mark.thorough
@pytest.mark.parametrize("case", one_for_each_settings())
def test_everything_inside_the_spec_gives_the_same(case: dict[str, Any]) -> None:
    arguments = tables(case)
    inside = spec(arguments.pop("metric"), arguments.pop("params") | arguments.pop("settings"))
    result = run(**arguments, metric=inside, users=False)
    assert result.mean == expected_mean(case, case.get("tolerance", 1e-12))


def test_only_calls_that_divide_by_propensities_warn_that_there_are_none() -> None:
    logs = further_frames("auto", logs=log_rows({"u1": "a:1"}))["logs"]
    lists, truth = {"u1": ["a"]}, {"u1": ["a"]}
    with sm.Evaluator(lists, truth, logs=logs) as evaluator:
        for call in ("ips", "ips", "snips"):
            with pytest.warns(sm.SqlmetricsWarning, match="no column propensity"):
                evaluator.evaluate([call], k=1)
        for call in ("hit_rate", "hit_rate", "ctr"):  # warnings are errors here
            evaluator.evaluate([call], k=1)
        evaluator.per_user(["hit_rate"], k=1)


COPIES = {"u1": ["a", "a", "b"]}


@pytest.mark.parametrize(
    ("call", "settings"),
    [
        ("ndcg(gain=linear)", {"duplicate_recommendations": "join"}),
        ("ndcg(gain=exponential, ideal=all_relevant)", {"duplicate_recommendations": "join"}),
        ("alpha_ndcg", {"duplicate_recommendations": "join"}),
        ("auc", {"duplicate_recommendations": "join"}),
        ("kendall_tau", {"duplicate_recommendations": "count_once"}),
        ("auc", {"duplicate_recommendations": "count_once"}),
        ("inter_list_diversity", {"duplicate_recommendations": "count_once"}),
    ],
)
def test_what_copies_mean_nothing_for(call: str, settings: dict[str, str]) -> None:
    truth = interaction_frame([("u1", "a", 2), ("u1", "b", 1)])
    aspects = pd.DataFrame({"item_id": ["a"], "aspect": ["x"]})
    with (
        sm.Evaluator(COPIES, truth, aspects=aspects, settings=settings) as evaluator,
        pytest.raises(sm.UsageError, match="has no meaning for"),
    ):
        evaluator.evaluate([call], k=2)


@pytest.mark.parametrize("threshold", ["none", -0.5, "-inf"])
@pytest.mark.parametrize("call", ["dcg", "ndcg", "ndcg(ideal=all_k)"])
def test_gains_from_the_threshold_need_one(call: str, threshold: str | float) -> None:
    settings = {"relevant_from": threshold, "gain": "exponential_from"}
    with (
        sm.Evaluator({"u1": ["a"]}, {"u1": {"a": 1}}, settings=settings) as evaluator,
        pytest.raises(sm.SqlmetricsError, match=f"needs a number from 0 up .*, not {threshold}:"),
    ):
        evaluator.evaluate([call], k=2)


@pytest.mark.parametrize("value", ["-inf", "-Infinity", -math.inf])
def test_no_lower_limit_has_one_spelling(value: str | float) -> None:
    truth = interaction_frame([("u1", "a", -1), ("u1", "b", 1)])
    with sm.Evaluator({"u1": ["a"]}, truth) as evaluator:
        (row,) = evaluator.evaluate([f"recall(relevant_from={value})@1"]).to_dict("records")
        assert (row["metric"], row["value"]) == ("recall(relevant_from=-inf)", 0.5)
        assert "inf" not in evaluator.sql(["recall@1"]).lower()
    with sm.Evaluator({"u1": ["a"]}, truth, settings={"relevant_from": value}) as evaluator:
        assert "inf" not in evaluator.sql(["recall@1", "auc@1"]).lower()
        assert evaluator.evaluate(["recall@1"])["value"].tolist() == [0.5]


@pytest.mark.parametrize("value", ["inf", math.inf, "nan", math.nan])
def test_other_limits_are_no_numbers(value: str | float) -> None:
    with pytest.raises(sm.UsageError, match="relevant_from must be a number, -inf or none, not"):
        sm.Evaluator({"u1": ["a"]}, {"u1": ["a"]}, settings={"relevant_from": value})


def test_counting_all_items_reads_no_catalogue() -> None:
    with sm.Evaluator({"u1": ["a", "b"]}, {"u1": ["a"]}) as evaluator:
        assert "catalogue" not in evaluator.sql(["coverage(counted=all, scale=count)@2"])
        for call in ("coverage(counted=all)@2", "coverage(scale=count)@2"):
            with pytest.raises(sm.UsageError, match="needs the table history"):
                evaluator.evaluate([call])


@pytest.mark.parametrize("metric", ["interactions", "recommendations"])
def test_what_to_do_with_copies_is_said_in_full(metric: str) -> None:
    tables = {"recommendations": {"u1": ["a"]}, "interactions": {"u1": ["a"]}} | {metric: COPIES}
    choices = Catalog.load().stage_params[f"duplicate_{metric}"].choices[1:]
    with sm.Evaluator(**tables) as evaluator, pytest.raises(sm.DataError) as caught:
        evaluator.evaluate(["recall@1"])
    assert f"--set duplicate_{metric}={' | '.join(choices)}" in str(caught.value)


def test_every_metric_has_cases() -> None:
    assert {path.stem for path in CASES.glob("*.toml")} == set(Catalog.load().metrics)


@pytest.mark.parametrize("text", ["__import__('os')", "a + 1", "log2(2, 3)", "[1]", "'1'", "-a"])
def test_only_arithmetic_is_evaluated(text: str) -> None:
    with pytest.raises(ValueError, match="not arithmetic"):
        number(text)
