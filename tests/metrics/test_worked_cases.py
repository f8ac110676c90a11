"""The hand-worked cases of tests/cases, all of them: the package gives the numbers worked by hand.

tests/support/cases.py describes the files, and evaluates many cases in one call.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from sqlmetrics.metrics.definitions import Definitions
from sqlmetrics.metrics.spec import parse_spec
from tests.support.cases import CASES, CATALOG, Case, batches, load, wrong
from tests.support.notation import number
from tests.support.paths import ROOT, TESTS

ALL = load()


def in_groups(found: list[list[Case]]) -> list[Any]:
    """Put the calls with cases of one metric only together, for fewer tests."""
    groups: dict[str, list[list[Case]]] = {}
    for batch in found:
        names = sorted({case.metric for case in batch})
        label = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        groups.setdefault(label, []).append(batch)
    return [pytest.param(of_group, id=label) for label, of_group in groups.items()]


@pytest.mark.parametrize("calls", in_groups(batches(ALL)))
def test_package_gives_the_hand_worked_numbers(calls: list[list[Case]]) -> None:
    problems = [text for batch in calls for text in wrong(batch)]
    assert not problems, "\n".join(["not as worked by hand:", *problems])


def test_settings_inside_the_call_are_those_of_the_evaluator() -> None:
    """Cases that share a call have their settings inside it, so both ways must mean the same."""
    inside = Definitions.load(CATALOG, "standard", None, {}).first
    with_settings = [case for case in ALL if case.settings]
    assert len({repr(case.settings) for case in with_settings}) > 50
    for case in with_settings:
        given = Definitions.load(CATALOG, "standard", None, case.settings).first
        of_evaluator = given.request(parse_spec(case.call())).values
        assert inside.request(parse_spec(case.call(with_settings=True))).values == of_evaluator


def test_every_metric_has_cases() -> None:
    there = {path.stem for path in CASES.glob("*.toml")}
    assert there == set(CATALOG.metrics), "each metric has a file tests/cases/NAME.toml"


def test_a_metric_selects_its_cases_and_queries() -> None:
    """They are in tests of several metrics: CONTRIBUTING.md says to run `-k NAME`."""
    folders = [str(TESTS / folder) for folder in ("metrics/test_worked_cases.py", "by_hand")]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-k", "lrap", *folders]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    for name in ("hand_worked_numbers", "queries_by_hand_return_the_rows"):
        assert name in listed


def test_a_wrong_number_is_named() -> None:
    """A case with a wrong digit is found among others, and the message leads to its line."""
    batch = next(b for b in batches(ALL) if 20 < len(b) < 50 and b[3].users)
    user, value = next((u, v) for u, v in batch[3].given["per_user"].items())
    changed = batch[3].given | {"per_user": batch[3].given["per_user"] | {user: f"{value} + 0.001"}}
    (problem,) = wrong([*batch[:3], replace(batch[3], given=changed), *batch[4:]])
    assert problem.startswith(f"{batch[3].label}: {batch[3].call()}: user {user}: ")


@pytest.mark.parametrize("text", ["__import__('os')", "a + 1", "log2(2, 3)", "[1]", "'1'", "-a"])
def test_only_arithmetic_is_evaluated(text: str) -> None:
    with pytest.raises(ValueError, match="not arithmetic"):
        number(text)
