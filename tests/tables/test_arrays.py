"""Arrays of users, items and scores as a table of recommendations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator


def rows(table: Any) -> list[list[Any]]:
    return [list(row.values()) for row in table.to_pylist()]


def test_lists_of_items() -> None:
    table = sm.from_arrays([7, 8], [[1, 2], [2, 3]])
    assert table.column_names == ["user_id", "item_id", "rank"]
    assert rows(table) == [[7, 1, 1], [7, 2, 2], [8, 2, 1], [8, 3, 2]]


def test_indices_with_ids_and_scores() -> None:
    table = sm.from_arrays(
        [0, 1],
        np.array([[1, 0], [0, 1]]),
        np.array([[0.9, 0.5], [0.8, 0.1]], dtype="float32"),
        k=1,
        user_ids=["ann", "bob"],
        item_ids={0: "apple", 1: "bread"},
    )
    assert [row[:3] for row in rows(table)] == [["ann", "bread", 1], ["bob", "apple", 1]]
    assert table["score"].to_pylist() == pytest.approx([0.9, 0.8])


@pytest.mark.parametrize(
    ("items", "scores"),
    [
        ([[0, 1, 2]], [[0.3, -np.inf, 0.1]]),
        ([[0, 1, 2]], np.array([[0.3, np.finfo("float32").min, 0.1]], dtype="float32")),
        ([[0, -1, 2]], None),
        (np.ma.array([[0, 1, 2]], mask=[[False, True, False]]), None),
    ],
)
def test_places_without_an_item(items: Any, scores: Any) -> None:
    table = sm.from_arrays([5], items, scores, item_ids=["a", "b", "c"])
    assert [row[:3] for row in rows(table)] == [[5, "a", 1], [5, "c", 2]]


def test_a_score_for_every_item() -> None:
    scores = np.array([[0.1, 0.5, 0.5], [0.3, 0.2, 0.1]])
    table = sm.from_arrays(["ann", "bob"], scores=scores, k=2, item_ids=["x", "y", "z"])
    assert rows(table) == [
        ["ann", "y", 1, 0.5], ["ann", "z", 2, 0.5], ["bob", "x", 1, 0.3], ["bob", "y", 2, 0.2],
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["uint8", "int64", "bool", "float32"])
def test_scores_of_any_type_are_ordered(kind: str) -> None:
    table = sm.from_arrays([5], scores=np.array([[1, 5, 0]]).astype(kind), k=2)
    assert table["item_id"].to_pylist() == ([0, 1] if kind == "bool" else [1, 0])


def test_masked_scores_are_not_recommended() -> None:
    scores = np.ma.array([[1, 5, 2]], mask=[[False, True, False]])
    assert sm.from_arrays([5], scores=scores, k=3)["item_id"].to_pylist() == [2, 0]


def test_the_table_is_evaluated() -> None:
    with Evaluator(sm.from_arrays([1], [[4, 5]]), {1: [5]}) as evaluator:
        assert evaluator.evaluate("mrr")["value"].tolist() == [0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"users": [1, 2], "items": [[1]]}, r"a row for each of the 2 users"),
        ({"users": [[1]], "items": [[1]]}, "one dimension"),
        ({"users": [1]}, "give items"),
        ({"users": [1], "scores": [[0.1]]}, "and k"),
        ({"users": [1], "items": [[1]], "k": 0}, "k must be a whole number of at least 1"),
        ({"users": [1, 2], "items": [[1], [1, 2]]}, "rows of one length"),
        ({"users": [1], "items": [[1, 2]], "scores": [[0.1]]}, r"\(1, 2\), scores \(1, 1\)"),
        ({"users": [1], "items": [[1]], "scores": [[np.nan]]}, "row 0 are NaN"),
        ({"users": [1], "items": [[3]], "item_ids": ["a"]}, "item 3 has no id in item_ids"),
        ({"users": [1], "items": [[0]], "user_ids": {0: "ann"}}, "user 1 has no id in user_ids"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sm.UsageError, match=message):
        sm.from_arrays(**arguments)


def test_an_array_is_answered_with_the_function() -> None:
    with pytest.raises(sm.UsageError, match="from_arrays"):
        Evaluator(np.array([[1, 2]]), {1: [2]})
