"""Weights of the history in `calibration`: the latest items, or a column."""

from __future__ import annotations

import pandas as pd
import pytest

import sqlmetrics as sm

LISTS = pd.DataFrame({"user_id": [1, 2], "item_id": ["y1", "y1"], "rank": [1, 1]})
ITEMS = pd.DataFrame({"item_id": ["x1", "x2", "y1"], "category": ["x", "x", "y"]})


def history(**columns: list[object]) -> pd.DataFrame:
    """User 1 has x1 (twice), x2 and y1, user 2 has x1 and y1."""
    rows = {"user_id": [1, 1, 1, 1, 2, 2], "item_id": ["x1", "x1", "x2", "y1", "x1", "y1"]}
    return pd.DataFrame(rows | columns)


def days(*numbers: int | None) -> list[object]:
    return [None if n is None else pd.Timestamp(2024, 5, n) for n in numbers]


def per_user(past: pd.DataFrame, weight: str) -> list[float]:
    """Return the share of x in the history of each user, which only the history has."""
    spec = f"calibration(divergence=tv, history_weight={weight})"
    with sm.Evaluator(LISTS, history=past, items=ITEMS) as evaluator:
        return [float(value) for value in evaluator.per_user([spec], long=True).iloc[:, -1]]


def test_later_items_weigh_more() -> None:
    """x1 counts at its last time; items of the same time have the same place."""
    past = history(timestamp=days(1, 7, 7, 9, 3, 2))
    # user 1: y1 at the place 1, x1 and x2 at the place 2; user 2: x1 before y1
    expected = [(0.5 + 0.5) / (1 + 0.5 + 0.5), 1 / (1 + 0.5)]
    assert per_user(past, "recency, history_patience=0.5") == pytest.approx(expected, abs=1e-12)


def test_items_of_the_same_time_are_all_later_than_the_next() -> None:
    past = history(timestamp=days(1, 9, 9, 5, 3, 2))
    # user 1: no item is later than x1 and x2, both are later than y1; user 2: x1 before y1
    expected = [(1 + 1) / (1 + 1 + 0.25), 1 / (1 + 0.5)]
    assert per_user(past, "recency, history_patience=0.5") == pytest.approx(expected, abs=1e-12)


def test_a_patience_of_1_weighs_all_items_alike() -> None:
    past = history(timestamp=days(1, 7, 7, 9, 3, 2))
    found = per_user(past, "recency, history_patience=1")
    assert found == pytest.approx([2 / 3, 1 / 2], abs=1e-12)


def test_rows_without_a_time_come_last() -> None:
    past = history(timestamp=days(None, None, 7, 9, 3, None))
    expected = [(0.5 + 0.25) / (1 + 0.5 + 0.25), 1 / (1 + 0.5)]
    assert per_user(past, "recency, history_patience=0.5") == pytest.approx(expected, abs=1e-12)


def test_weights_of_a_column_are_added() -> None:
    """A row without a weight counts 0."""
    past = history(weight=[1.0, 2.0, None, 5.0, 0.25, 0.75])
    assert per_user(past, "column") == pytest.approx([3 / 8, 1 / 4], abs=1e-12)


def test_users_without_a_weight_are_undefined() -> None:
    past = history(weight=[0.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    found = per_user(past, "column")
    assert pd.isna(found[0])
    assert found[1] == pytest.approx(1 / 2, abs=1e-12)


def test_the_columns_are_needed() -> None:
    with pytest.raises(sm.MissingTableError, match="needs the column timestamp"):
        per_user(history(), "recency")
    with pytest.raises(sm.MissingTableError, match="needs the column weight"):
        per_user(history(), "column")


def test_negative_weights_are_refused() -> None:
    with pytest.raises(sm.DataError, match=r"history, column weight: 1 weight is negative"):
        per_user(history(weight=[1.0, 2.0, -1.0, 5.0, 1.0, 1.0]), "column")


def test_patience_needs_recency() -> None:
    with pytest.raises(sm.UsageError, match=r"history_patience=0.5 has no effect"):
        per_user(history(), "none, history_patience=0.5")
