"""Plans that evaluators share are those of equal requests over equal columns."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tests.support.evaluators import Evaluator

LISTS = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [10, 11, 10], "rank": [1, 2, 1]})
TRUTH = pd.DataFrame({"user_id": [1, 2], "item_id": [11, 12]})
ANSWER = pd.DataFrame({"user_id": [1, 2], "item_id": [10, 10]})


def value(truth: pd.DataFrame, *metrics: str, lists: Any = LISTS, **options: Any) -> list[float]:
    with Evaluator(lists, truth, check=False, **options) as evaluator:
        found: list[float] = evaluator.evaluate(list(metrics) or "precision@1")["value"].tolist()
        return found


def test_new_rows_of_the_same_columns() -> None:
    assert value(TRUTH) == [0.0]
    assert value(ANSWER) == [1.0]


def test_slices() -> None:
    def of_slices(truth: pd.DataFrame, by: str, **options: Any) -> dict[str, float]:
        users = pd.DataFrame({"user_id": [1, 2], "age": [20, 40]})
        with Evaluator(LISTS, truth, users=users, check=False, **options) as evaluator:
            found = evaluator.evaluate("precision@1", by=by)
        return dict(zip(found.iloc[:, 0], found["value"], strict=True))

    assert of_slices(TRUTH, "age") == {"20": 0.0, "40": 0.0}
    assert of_slices(ANSWER.iloc[:1], "age") == {"20": 1.0}
    assert of_slices(ANSWER, "age(bins=30)") == {"below 30": 1.0, "30 or more": 1.0}
    assert of_slices(ANSWER, "age(bins=50)") == {"below 50": 1.0}
    assert of_slices(TRUTH, "age(bins=50)", settings={"no_relevant": "drop"}) == {"below 50": 0.0}


def test_other_requests_and_columns_are_planned_anew() -> None:
    assert value(TRUTH, "precision@1", "precision@2") == [0.0, 0.25]
    assert value(TRUTH, "precision@2", settings={"precision.divisor": "length"}) == [0.25]
    assert value(TRUTH, "precision(divisor=length)@2", "precision@2") == [0.25, 0.25]
    assert value(ANSWER, "precision(divisor=length)@2", "precision@2") == [0.75, 0.5]
    by_score = LISTS.assign(rank=-LISTS["rank"]).rename(columns={"rank": "score"})
    assert value(TRUTH, lists=by_score) == [0.0]
    assert value(ANSWER, lists=by_score) == [1.0]
    assert value(ANSWER, where={"interactions": "user_id = 1"}) == [1.0]


def test_conventions_with_the_same_name_are_told_apart(tmp_path: Any) -> None:
    own = tmp_path / "own.toml"
    for divisor, expected in (("k", 0.5), ("length", 0.75)):
        own.write_text(f'[metrics.precision]\ndivisor = "{divisor}"\n', encoding="utf-8")
        assert value(ANSWER, "precision@2", convention=own) == [expected]
