"""A slice of the cases of fuzz_numbers.py, and its findings in their smallest form."""

from __future__ import annotations

import random

import pytest

from sqlmetrics.errors import UsageError
from tests.robustness import fuzz_numbers
from tests.robustness.fuzz_numbers import (
    CATALOG,
    OF_THE_FUZZ,
    Case,
    Figures,
    batch,
    one_alone,
    values_of,
)
from tests.support import oracle

# A cutoff beyond every list, in one call with whole lists, had NULL in place of a value: the sums
# over positions ended with the longest list.
BEYOND_EVERY_LIST = {
    "cutoffs": [20, None],
    "models": {"": [(11, 2, 0.0)]},
    "interactions": [(11, 2, 1.0)],
    "worlds": {11: 0},
}
FOUND = {
    "all positions beside whole lists": Case(
        calls=[("map", {"divisor": "all_positions"})], **BEYOND_EVERY_LIST
    ),
    "an ideal of all k beside whole lists": Case(
        calls=[("ndcg", {"ideal": "all_k"})], **BEYOND_EVERY_LIST
    ),
    "the same with graded gains": Case(
        calls=[("ndcg", {"ideal": "all_k", "gain": "exponential"})], **BEYOND_EVERY_LIST
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    assert fuzz_numbers.disagreements(FOUND[name]) == []


def slice_of_the_fuzz(first: int, batches: int, worlds: int, alone: int) -> Figures:
    figures = Figures()
    for seed in range(first, first + batches):
        figures.add(batch(seed, worlds))
    for seed in range(first, first + alone):
        figures.add(one_alone(seed))
    assert figures.problems == [], "\n".join(figures.problems)
    return figures


@pytest.mark.thorough
def test_a_slice_of_the_fuzz() -> None:
    figures = slice_of_the_fuzz(first=1, batches=2, worlds=30, alone=6)
    assert figures.cases > 50
    assert figures.numbers > 1500
    assert figures.refused > 0


@pytest.mark.thorough
def test_more_of_the_fuzz() -> None:
    assert slice_of_the_fuzz(first=1000, batches=6, worlds=30, alone=15).cases > 150


@pytest.mark.thorough
def test_every_metric_and_setting_is_drawn() -> None:
    """A new metric, parameter or setting is drawn by itself, and the oracle has to know it."""
    assert set(CATALOG.stage_params) <= set(oracle.STANDARD) | OF_THE_FUZZ
    figures = Figures()
    for seed in range(12000):
        case = fuzz_numbers.make_case(random.Random(seed), 1, 6)
        fuzz_numbers.count_drawn(case, figures)
    wanted = set(CATALOG.metrics)
    owners = {"": CATALOG.stage_params, **{m.name: m.params for m in CATALOG.metrics.values()}}
    for owner, params in owners.items():
        for name, param in params.items():
            found = {fuzz_numbers.value_text(value) for value in values_of(param)}
            if len(found) == 1:
                assert name in fuzz_numbers.NOT_DRAWN, name
                continue
            wanted |= {f"{owner}.{name}={value}".lstrip(".") for value in found}
    assert wanted - set(figures.drawn) == set()


def test_the_fuzz_notices_a_wrong_number(monkeypatch: pytest.MonkeyPatch) -> None:
    case = FOUND["all positions beside whole lists"]
    right = oracle.value_for_user
    monkeypatch.setattr(oracle, "value_for_user", lambda *args: right(*args) + 2e-9)
    # of both cutoffs: the user's value, and the mean
    assert len(fuzz_numbers.disagreements(case)) == 4


def test_the_fuzz_notices_what_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_numbers, "reasons", lambda _: ["none that is true"])
    monkeypatch.setattr(fuzz_numbers, "shrunk", lambda case, *_: case)
    assert any(
        "not refused, though" in problem
        for seed in range(1, 50)
        for problem in one_alone(seed).problems
    )


def test_the_fuzz_notices_what_is_refused_for_no_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Case) -> None:
        raise UsageError("no")

    monkeypatch.setattr(fuzz_numbers, "run", refuse)
    monkeypatch.setattr(fuzz_numbers, "reasons", lambda _: [])
    assert "refused without a reason: no" in one_alone(1).problems[0]


def test_a_case_is_shrunk_to_what_matters() -> None:
    case = fuzz_numbers.make_case(random.Random(4), 3, 4)
    wanted = case.interactions[5]
    small = fuzz_numbers.shrunk(case, lambda one: wanted in one.interactions)
    assert small.interactions == [wanted]
    assert len(small.calls) == len(small.cutoffs) == len(small.worlds) == 1
    assert not any(small.models.values())
    assert not small.settings
    assert eval(str(small), {"Case": Case, "float": float}) == small
