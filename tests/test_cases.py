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

import tomllib
from pathlib import Path
from typing import Any

import oracle
import pytest
from helpers import (
    aspect_rows,
    further_frames,
    interaction_rows,
    item_rows,
    log_rows,
    number,
    recommendation_rows,
    run,
    spec,
)

import sqlmetrics as sm
from sqlmetrics.catalog import Catalog

CASES = Path(__file__).parent / "cases"
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


def load() -> list[Any]:
    found = []
    for path in sorted(CASES.glob("*.toml")):
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        assert document["metric"] == path.stem
        for case in document["case"]:
            assert set(case) <= KEYS, f"{path.name}, {case['name']}: {set(case) - KEYS}"
            case["metric"] = path.stem
            found.append(pytest.param(case, id=f"{path.stem}: {case['name']}"))
    return found


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


@pytest.mark.parametrize("case", ALL)
def test_package_gives_the_hand_worked_numbers(case: dict[str, Any]) -> None:
    arguments = tables(case)
    settings = arguments["settings"]
    if "row" not in (settings.get("order"), settings.get("ties")):
        # Only rank or score may give the order, so the rows come the other way round.
        for rows in arguments.values():
            if isinstance(rows, list):
                rows.reverse()
    of_users = "per_user" in case
    result = run(**arguments, users=of_users)
    tolerance = case.get("tolerance", 1e-12)
    assert result.mean == expected_mean(case, tolerance)
    if of_users:
        assert result.users == pytest.approx(expected_users(case), rel=0, abs=tolerance)
        assert result.n_users == len(case["per_user"])
        assert result.undefined == set(case.get("undefined", []))


@pytest.mark.parametrize("case", [case for case in ALL if "settings" in case.values[0]])
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


def test_every_metric_has_cases() -> None:
    assert {path.stem for path in CASES.glob("*.toml")} == set(Catalog.load().metrics)


@pytest.mark.parametrize("text", ["__import__('os')", "a + 1", "log2(2, 3)", "[1]", "'1'", "-a"])
def test_only_arithmetic_is_evaluated(text: str) -> None:
    with pytest.raises(ValueError, match="not arithmetic"):
        number(text)
