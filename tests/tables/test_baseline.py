"""One of the models as the baseline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.further_tables import (
    BASELINE,
    BASELINE_SCORES,
    HISTORY,
    RANKED,
    SCORED,
    TRUTH,
    Evaluator,
    evaluate,
)

POPULAR = {1: [10, 13], 2: [11]}  # the lists of BASELINE
ALS = {1: [10, 11], 2: [10, 12]}  # those of RANKED


MODELS: list[dict[Any, Any]] = [
    {"a": {1: [10, 11], 2: [12]}, "b": {1: [11, 10]}},
    {"a": {1: (10, 11), 2: (12,)}, "b": {1: [11, 10], 2: []}},
    {"a": {1: {10: 2.0, 11: 1.0}, 2: {12: 0.5}}, "b": {1: {11: 0.2, 10: 0.1}}},
    {"a": {1: np.array([10, 11]), 2: np.array([12])}, "b": {1: np.array([11, 10])}},
    {"a": {1: pd.Series([10, 11]), 2: pd.Series([12])}, "b": {1: pd.Series([11, 10])}},
]


def test_models_as_dicts_of_dicts() -> None:
    for models in MODELS:
        result = evaluate(["mrr", "coverage"], models, history=HISTORY)
        values = result.set_index(["model", "metric"])["value"].to_dict()
        assert values == {
            ("a", "mrr"): (1 + 1) / 2,
            ("a", "coverage"): 3 / 4,
            ("b", "mrr"): (1 / 2 + 0) / 2,
            ("b", "coverage"): 2 / 4,
        }


def test_models_as_dicts_of_dicts_with_texts() -> None:
    models: Any
    for models, expected in (
        ({"a": {"u": ["x", "y"]}, "b": {"u": ["y", "x"]}}, {"a": 1, "b": 1 / 2}),
        ({"a": {"u": ["x", "y"]}}, {"a": 1}),
        ({"a": {"u": {"x": 1.0, "y": 2.0}}}, {"a": 1 / 2}),
    ):
        result = evaluate("mrr", models, {"u": ["x"]})
        assert result.set_index("model")["value"].to_dict() == expected


def test_a_model_without_lists() -> None:
    some = {"u": ["x"]}
    empty: Any
    for empty in ({}, {"u": []}):  # no user, no item
        for models in ({"als": empty, "knn": some}, {"knn": some, "als": empty}):
            with pytest.raises(sm.DataError, match=r"recommendations.*als.*empty"):
                evaluate("mrr", models, some)


@pytest.mark.parametrize("kind", ["dicts", "tables", "scores"])
def test_one_of_the_models_is_the_baseline(kind: str) -> None:
    models: dict[str, Any] = {"als": ALS, "popular": POPULAR}
    if kind == "tables":
        models = {"als": RANKED, "popular": BASELINE}
    elif kind == "scores":
        models = {"als": SCORED.drop_columns("rank"), "popular": BASELINE_SCORES}
    result = evaluate(["unexpectedness", "mrr(audience=baseline)"], models, baseline="popular", k=2)
    values = result.set_index(["model", "metric"])["value"].to_dict()
    assert values == {
        ("als", "unexpectedness"): ((1 - 1 / 2) + 1) / 2,
        ("als", "mrr(audience=baseline)"): (1 + 1 / 2) / 2,
        ("popular", "unexpectedness"): 0,
        ("popular", "mrr(audience=baseline)"): (1 + 0) / 2,
    }
    assert result["n_users"].tolist() == [2] * 4


def test_a_model_that_is_the_baseline_and_lacks_a_user() -> None:
    models = {"als": ALS, "popular": {1: [10, 13]}}
    with Evaluator(models, TRUTH, baseline="popular") as evaluator:
        frame = evaluator.per_user(["unexpectedness", "unexpectedness(audience=baseline)"])
    values = frame.set_index(["model", "user_id"])
    assert values["unexpectedness"].dropna().to_dict() == {
        ("als", 1): 1 / 2, ("als", 2): 1, ("popular", 1): 0}  # fmt: skip
    only = values["unexpectedness(audience=baseline)"].dropna().to_dict()
    assert only == {("als", 1): 1 / 2, ("popular", 1): 0}


def test_a_baseline_that_is_none_of_the_models() -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate("unexpectedness", {"als": ALS, "popular": POPULAR}, baseline="populr")
    for words in ("baseline", "populr", "did you mean", "'popular'"):
        assert words in str(caught.value)
