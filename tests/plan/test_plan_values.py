"""A plan is a value: it can be pickled and compared, and making or printing it changes nothing."""

from __future__ import annotations

import pickle
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.plan.request import PlannedRun, Request
from sqlmetrics.run import path
from sqlmetrics.stats.intervals import Interval
from tests.support.evaluators import Evaluator

LISTS = pd.DataFrame(
    {"user_id": [1, 1, 2, 2], "item_id": [1, 2, 1, 3], "score": [0.9, 0.5, 0.7, 0.1]}
)
TRUTH = pd.DataFrame({"user_id": [1, 2], "item_id": [2, 3], "relevance": [1, 2]})
USERS = pd.DataFrame({"user_id": [1, 2], "country": ["nl", "de"]})
TABLES: dict[str, Any] = {
    "recommendations": {"a": LISTS, "b": LISTS.assign(score=-LISTS["score"])},
    "interactions": TRUTH,
    "history": TRUTH,
    "users": USERS,
}
KINDS = [
    Request(["ndcg", "map(divisor=k)", "coverage"], [1, 2]),
    Request(["ndcg@1", "recall"], per_user=True),
    Request(["ndcg"], [1], by="country", interval=Interval("bootstrap", resamples=20)),
    Request(["recall"], [1], by_item="popularity"),
]


def planned(asked: Request, **options: Any) -> PlannedRun:
    with Evaluator(**TABLES, **options) as evaluator:
        return path.plan(evaluator._session, asked)


@pytest.mark.parametrize("asked", KINDS, ids=["means", "per user", "by user", "by item"])
def test_plans_are_pickled_and_compared(asked: Request) -> None:
    made = planned(asked)
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert again.plan.statement() == made.plan.statement()
    assert planned(asked) == made
    assert planned(asked, settings={"ties": "item_desc"}) != made


def test_planning_and_printing_leave_plans_as_they_were() -> None:
    with Evaluator(**TABLES) as evaluator:
        session = evaluator._session
        first = path.plan(session, KINDS[0])
        text = first.plan.statement()
        evaluator.evaluate(["ndcg", "popularity", "coverage"], [1, 5])
        evaluator.sql(["ndcg"], 3)
        assert path.plan(session, KINDS[0]) == first
        assert first.plan.statement() == text


def test_warnings_belong_to_the_plan_that_they_are_about() -> None:
    logs = pd.DataFrame({"user_id": [1, 2], "item_id": [1, 1], "reward": [1, 0]})
    with Evaluator(LISTS, TRUTH, logs=logs) as evaluator:
        assumed = path.plan(evaluator._session, Request("ips@1")).plan.warnings
        assert any("no column propensity" in str(warning) for warning in assumed)
        assert path.plan(evaluator._session, Request("ndcg@1")).plan.warnings == []
        for _ in range(2):  # a plan that is made again says the same again
            with pytest.warns(sm.SqlmetricsWarning, match="no column propensity"):
                evaluator.evaluate("ips@1")
