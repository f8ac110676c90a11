"""The hand-worked cases of tests/cases, one file per metric, against the package and the oracle.

A case has `recommendations` ({"u1": "a b c"}: best first, as ranks; {"u1": "a:5 b:4"}: scores),
`interactions` ({"u1": "a c"}, or with grades {"u1": "a:3 c:0"}), `history`, `k` (none: the whole
list), `largest_k` (a second cutoff of the same call), `params` of the metric, `settings`, and the
numbers worked by hand: `per_user` (exactly the audience) and `mean`, with the arithmetic in `why`.
Users of the audience without a value stand in `undefined`; a mean over nobody is "undefined". The
package comes to within `tolerance` of these numbers, which is 1e-12 where nothing else is said.

More tables: `items` ({a = {price=3, category=["x", "y"], features=[1, 0]}}), `aspects`
({a = "x y"}, or {u1 = {a = "x y"}}), `baseline` (as `recommendations`) and `logs`
({u1 = "a:1 b:0"}: rewards; {u1 = "a:1@0.5"}: reward and propensity)."""

import functools
import tomllib
from typing import Any

import pytest

from sqlmetrics.metrics.catalog import Catalog
from tests.support import oracle
from tests.support.calls import Result, run, run_calls, spec
from tests.support.cases import tables
from tests.support.notation import (
    number,
)
from tests.support.paths import TESTS

CASES = TESTS / "cases"
KEYS = {
    "name", "why", "call", "k", "largest_k", "ids", "params", "settings",
    "recommendations", "interactions", "history", "items", "aspects", "baseline", "logs",
    "per_user", "undefined", "mean", "tolerance",
}  # fmt: skip
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
    tolerance = case.get("tolerance", 1e-12)
    if "per_user" in case or not users:
        assert users == pytest.approx(expected_users(case), rel=0, abs=tolerance)
    assert mean == expected_mean(case, tolerance)


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
    return list(found.values())[::6]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.*there is no column relevance")
@pytest.mark.parametrize("case", one_for_each_settings())
def test_everything_inside_the_spec_gives_the_same(case: dict[str, Any]) -> None:
    arguments = tables(case)
    inside = spec(arguments.pop("metric"), arguments.pop("params") | arguments.pop("settings"))
    result = run(**arguments, metric=inside, users=False)
    assert result.mean == expected_mean(case, case.get("tolerance", 1e-12))


def test_every_metric_has_cases() -> None:
    assert {path.stem for path in CASES.glob("*.toml")} == set(Catalog.load().metrics)


@pytest.mark.parametrize("text", ["__import__('os')", "a + 1", "log2(2, 3)", "[1]", "'1'", "-a"])
def test_only_arithmetic_is_evaluated(text: str) -> None:
    with pytest.raises(ValueError, match="not arithmetic"):
        number(text)
