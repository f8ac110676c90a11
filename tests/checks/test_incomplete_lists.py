"""`unlisted=error`: lists that lack items of the catalogue are rejected."""

from __future__ import annotations

import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator

TRUTH = {"u1": ["a"], "u2": ["b"]}
HISTORY = {"u1": ["d"], "u2": [], "x": ["a", "b", "c", "d"]}


@pytest.mark.parametrize("metric", ["gauc(unlisted=error)", "auc(scope=catalogue,unlisted=error)"])
@pytest.mark.parametrize("more", [[], ["z"]], ids=["short", "an item outside of the catalogue"])
def test_lists_that_lack_items_of_the_catalogue(metric: str, more: list[str]) -> None:
    lists = {"u1": ["a", "b", "c"], "u2": ["b", "a", "c", *more]}
    evaluator = Evaluator(lists, TRUTH, history=HISTORY)
    found = "1 list lacks items of the catalogue"
    with evaluator, pytest.raises(sm.DataError, match=found) as caught:
        evaluator.evaluate(metric)
    assert "u2" in str(caught.value)
    assert "u1" not in str(caught.value)  # d is in the history of u1


def test_complete_lists_and_lists_that_may_be_short() -> None:
    lists = {"u1": ["b", "a", "c"], "u2": ["b", "a", "c", "d"]}
    with Evaluator(lists, TRUTH, history=HISTORY) as evaluator:
        values = evaluator.evaluate(["gauc(unlisted=error)", "auc(scope=catalogue,unlisted=error)"])
    assert values["value"].tolist() == [(1 / 2 + 1) / 2] * 2
    with Evaluator({"u1": ["b"]}, TRUTH, history=HISTORY) as evaluator:
        assert evaluator.evaluate("gauc")["value"].item() == 0
