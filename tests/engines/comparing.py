"""Comparison of the rows of an engine with those of DuckDB."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {name: None if pd.isna(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same(found: object, expected: object, tolerance: float = 1e-12) -> bool:
    if found is None or expected is None:
        return found is expected
    if is_number(found) and is_number(expected):
        return math.isclose(float(found), float(expected), rel_tol=1e-9, abs_tol=tolerance)  # type: ignore[arg-type]
    return found == expected


def check(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Compare rows: those of a summary in their order, with all their columns."""
    assert expected
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert list(one) == list(other)
        wrong = [name for name in other if not same(one[name], other[name])]
        assert not wrong, f"{wrong}: {one}, expected {other}"


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sort rows by what they are about."""
    numbers = ("value", "n_users", "std", "ci_low", "ci_high")
    return sorted(rows, key=lambda row: [str(row[name]) for name in row if name not in numbers])
