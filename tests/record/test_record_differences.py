"""Differences between records, which are written by hand here."""

from __future__ import annotations

from typing import Any

import pytest

from sqlmetrics.record.diff import Differences, differences, message


def record(**changed: Any) -> dict[str, Any]:
    return {
        "versions": {"sqlmetrics": "1"},
        "given": {"convention": "standard", "threads": 1, "key": None},
        "asked": {"metrics": ["recall"], "k": 2, "by": []},
        "settings": {"ties": "item_asc"},
        "metrics": [
            {"metric": "recall", "convention": "standard", "k": [2], "settings": {}},
        ],
        "sql": "q1",
        "contents": [
            {"table": "interactions", "model": None, "columns": ["item_id", "user_id"],
             "rows": 1000, "fingerprint": "f1"},
        ],
        "users": [
            {"model": "als", "convention": "standard", "metrics": ["recall", "map"],
             "evaluated": 3, "without_recommendations": 0, "without_truth": None},
        ],
        "columns": ["model", "metric", "k", "value", "n_users"],
        "rows": [["als", "recall", 2, 0.5, 3], ["knn", "recall", 2, 0.25, 3]],
        **changed,
    }  # fmt: skip


def test_the_same() -> None:
    assert differences(record(), record()) == Differences([], [], [])
    how = {"convention": "standard", "threads": 9, "key": []}
    assert differences(record(), record(given=how)) == Differences([], [], [])
    assert message("a.json", differences(record(), record())) == "the same as in a.json"


def test_requests_that_differ() -> None:
    changed: dict[str, Any]
    for changed, line in (
        ({"versions": {"sqlmetrics": "2"}}, "sqlmetrics: 2, was 1"),
        ({"given": {"convention": ["a", "b"]}}, 'convention: ["a", "b"], was standard'),
        ({"given": {}}, "convention: not given, was standard"),
        ({"asked": {"by": ["country"]}}, 'by: ["country"], was not given'),
        ({"settings": {"ties": "row"}}, "recall (standard), ties: row, was item_asc"),
        ({"metrics": []}, "recall (standard): no longer computed"),
        ({"sql": "q2"}, "the SQL differs"),
    ):
        assert differences(record(), record(**changed)) == Differences([], [line], [])


def test_a_metric_more() -> None:
    found = differences(record(metrics=[]), record())
    assert found.others == ["recall (standard): not computed before"]


def test_tables_and_users_that_differ() -> None:
    users = "users of recall and 1 more, als"
    changed: dict[str, Any]
    for entry, changed, line in (
        ("contents", {"rows": 2000}, "interactions: 2,000 rows, were 1,000"),
        ("contents", {"fingerprint": "f2"}, "interactions: different values in item_id, user_id"),
        ("users", {"evaluated": 4}, f"{users}, evaluated: 4, was 3"),
        ("users", {"without_recommendations": 1}, f"{users}, without recommendations: 1, was 0"),
    ):
        (before,) = record()[entry]
        found = differences(record(), record(**{entry: [{**before, **changed}]}))
        assert found.results == [line]


def test_columns_that_are_read() -> None:
    (before,) = record()["contents"]
    found = differences(record(), record(contents=[{**before, "columns": ["item_id"]}]))
    assert found.results == [
        "interactions: columns no longer read: item_id, user_id",
        "interactions: columns not read before: item_id",
    ]


def of_rows(old: list[list[Any]], new: list[list[Any]], columns: list[str]) -> list[str]:
    found = differences(record(columns=columns, rows=old), record(columns=columns, rows=new))
    return list(found.results)


LONG = ["model", "metric", "k", "value", "n_users"]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ([["a", "map", 2, 0.5, 3]], [["a", "map", 2, 0.5 + 1e-12, 3]], []),
        # the row with the largest difference, and its first column
        (
            [["a", "map", 2, 0.5, 3], ["b", "map", 2, 0.5, 3]],
            [["a", "map", 2, 0.4, 4], ["b", "map", 2, 0.1, 3]],
            ["map@2 value differs by up to 0.4 (b: 0.1, was 0.5)"],
        ),
        (
            [["a", "map", None, 0.5, 3]],
            [["a", "map", None, 0.5, 4]],
            ["map n_users differs by up to 1 (a: 4, was 3)"],
        ),
        (
            [["a", "map", 2, 0.5, 3]],
            [["a", "map", 2, None, 3]],
            ["map@2 value: (a: missing, was 0.5)"],
        ),
        (
            [["a", "map", 2, 0.5, 3]],
            [["a", "map", 2, 0.5, 3], ["b", "map", 2, 0.5, 3]],
            ["new rows: 1, e.g. map@2 b"],
        ),
        (
            [["a", "map", 2, 0.5, 3], ["a", "map", 5, 0.5, 3]],
            [["a", "map", 2, 0.5, 3]],
            ["missing rows: 1, e.g. map@5 a"],
        ),
        # rows that are about the same are told apart by their order
        (
            [["a", "map", 2, 0.5, 3], ["a", "map", 2, 0.25, 3]],
            [["a", "map", 2, 0.5, 3], ["a", "map", 2, 0.125, 3]],
            ["map@2 value differs by up to 0.12 (a: 0.125, was 0.25)"],
        ),
    ],
)
def test_values_that_differ(old: list[Any], new: list[Any], lines: list[str]) -> None:
    assert of_rows(old, new, LONG) == lines


def test_values_of_users_that_differ() -> None:
    columns = ["user_id", "k", "map", "recall"]
    old = [[1, 2, 0.5, 0.5], [2, 2, 0.5, 0.5]]
    new = [[1, 2, 0.25, 0.5], [2, 2, 0.0, 1.0]]
    assert of_rows(old, new, columns) == [
        "map differs by up to 0.5 (@2, 2: 0, was 0.5)",
        "recall differs by up to 0.5 (@2, 2: 1, was 0.5)",
    ]


def test_columns_that_differ() -> None:
    old = record(columns=["metric", "value"], rows=[["map", 0.5]])
    new = record(columns=["metric", "mean"], rows=[["map", 0.5]])
    assert differences(old, new).results == ["columns: value is missing, mean is new"]


def test_rows_that_do_not_fit_their_columns() -> None:
    found = differences(record(), record(rows=[["als"]]))
    assert found.results == [
        "values: the record is damaged: its rows have more or fewer values than columns"
    ]


def test_long_messages_are_cut() -> None:
    old = [["a", f"m{number}", 1, 0.5, 3] for number in range(30)]
    new = [["a", f"m{number}", 1, 0.25, 3] for number in range(30)]
    found = differences(record(columns=LONG, rows=old), record(columns=LONG, rows=new))
    lines = message("a.json", found).splitlines()
    assert lines[0] == "not the same as in a.json:"
    assert len(lines) == 1 + 20 + 1
    assert lines[-1] == "  and 10 more"
