"""Columns in single precision give the numbers of the same values in double precision."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator

N_USERS = 10
N_ITEMS = 20
OF_SCORES = ["pearson", "kendall_tau", "ndpm", "mae", "rmse", "r2", "explained_variance"]
OF_GRADES = ["ndcg", "dcg(gain=linear)", "err", "rbp(gain=linear)", "pwa", "relevance_position"]
METRICS = [*OF_SCORES, *OF_GRADES]


def evaluator(type_: pa.DataType, largest: float) -> sm.Evaluator:
    """Scores and grades of several magnitudes, up to `largest`, which fit single precision."""
    draw = random.Random(1)
    keys = [(user, item) for user in range(N_USERS) for item in range(N_ITEMS)]

    def numbers() -> pa.Array:
        drawn = [largest * draw.random() ** draw.choice([1, 9]) for _ in keys]
        return pa.array(drawn, pa.float32()).cast(type_)

    ids = {"user_id": [user for user, _ in keys], "item_id": [item for _, item in keys]}
    return Evaluator(
        pa.table({**ids, "score": numbers()}), pa.table({**ids, "relevance": numbers()})
    )


@pytest.mark.parametrize("largest", [1, 1000])
def test_single_precision_loses_no_digits(largest: float) -> None:
    # differences of scores, for pearson, and quotients of grades need all digits of a double
    with evaluator(pa.float32(), largest) as single, evaluator(pa.float64(), largest) as double:
        found = single.evaluate(METRICS, [5, N_ITEMS])
        expected = double.evaluate(METRICS, [5, N_ITEMS])
    for column in ("value", "std", "ci_low", "ci_high"):
        assert found[column].tolist() == pytest.approx(
            expected[column].tolist(), rel=1e-12, abs=1e-12, nan_ok=True
        )
