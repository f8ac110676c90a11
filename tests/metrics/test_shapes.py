"""Plain values are read by the shapes that types declare, or refused with the name of the entry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from sqlmetrics.metrics.shapes import Constraint, ShapeError, entries_of, made, read


class Source(TypedDict):
    table: str
    files: NotRequired[int]


@dataclass(frozen=True)
class Range:
    low: float
    high: float = 1.0
    notes: tuple[str, ...] = field(default=())


EVEN = Constraint("an even number", lambda number: number % 2 == 0)
ROWS = list[list[str | int | float | bool | None]]

RIGHT: list[tuple[Any, Any, Any]] = [
    ("a", str, "a"),
    (3, int, 3),
    (3, float, 3.0),
    (True, bool, True),
    (None, str | None, None),
    ("a", Literal["a", "b"], "a"),
    (1, bool | Literal[0, 1], 1),
    (4, Annotated[int, EVEN], 4),
    (["a"], list[str], ["a"]),
    (["a"], tuple[str, ...], ("a",)),
    ([0, 1], tuple[float, float], (0.0, 1.0)),
    ({"a": 1}, dict[str, int], {"a": 1}),
    ({"table": "x"}, Source, {"table": "x"}),
    ({"table": "x", "files": 2}, Source, {"table": "x", "files": 2}),
    ({"low": 0, "notes": ["a"]}, Range, Range(0.0, 1.0, ("a",))),
    ({"k": 1}, {"k": int, "ci": str}, {"k": 1}),
    ([[1, 0.5, "a", None, True]], ROWS, [[1, 0.5, "a", None, True]]),
    ({"anything": [1]}, Any, {"anything": [1]}),
]

WRONG: list[tuple[Any, Any, str]] = [
    (3, str, "x must be a text, not 3"),
    (True, int, "x must be a whole number, not true"),
    (True, float, "x must be a number, not true"),
    (1.5, int, "x must be a whole number, not 1.5"),
    (1, bool, "x must be true or false, not 1"),
    (10**400, float, "x must be a number, not 1000"),
    (None, str, "x must be a text, not null"),
    (2, bool | Literal[0, 1], "x must be true or false or 0 or 1, not 2"),
    ("c", Literal["a", "b"], "x must be 'a' or 'b', not \"c\""),
    (3, Annotated[int, EVEN], "x must be an even number, not 3"),
    ("a", list[str], 'x must be a list of texts, not "a"'),
    (["a", 1], list[str], "x[1] must be a text, not 1"),
    ([1], list[str] | None, "x[0] must be a text, not 1"),
    ([1], str | list[str], "x must be a text or a list of texts, not [1]"),
    ([1], tuple[float, float], "x must be a list of 2 numbers, not [1]"),
    ([], dict[str, int], "x must be a table of named entries, not []"),
    ({"a": "b"}, dict[str, int], 'x.a must be a whole number, not "b"'),
    ({"files": 1}, Source, "x.table is missing"),
    ({"table": "a", "file": 1}, Source, 'unknown entry "x.file" (known: table, files)'),
    ({"table": "a", "files": "b"}, Source, 'x.files must be a whole number, not "b"'),
    ({"high": 1}, Range, "x.low is missing"),
    ({"low": 1, "hihg": 2}, Range, 'unknown entry "x.hihg" (known: low, high, notes)'),
    ([{"low": "a"}], list[Range], 'x[0].low must be a number, not "a"'),
    ({"key": 1}, {"k": int}, 'unknown entry "x.key" (known: k)'),
    ([[{}]], ROWS, "x[0][0] must be a text or a whole number or a number or true or false or null"),
]


@pytest.mark.parametrize(("value", "shape", "expected"), RIGHT)
def test_values_of_a_shape(value: Any, shape: Any, expected: Any) -> None:
    found = read(value, shape, "x")
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("value", "shape", "message"), WRONG)
def test_values_of_another_shape(value: Any, shape: Any, message: str) -> None:
    with pytest.raises(ShapeError) as caught:
        read(value, shape, "x")
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 200


def test_fields_of_our_own_are_no_entries() -> None:
    assert made({"low": 0}, Range, high=2.0) == Range(0.0, 2.0)
    with pytest.raises(ShapeError, match=r'unknown entry "high" \(known: low, notes\)'):
        made({"low": 0, "high": 1}, Range, high=2.0)


def test_the_whole_value_is_no_table() -> None:
    with pytest.raises(ShapeError, match=r"the value must be a table of named entries, not \[\]"):
        entries_of([], Source)
