"""Ranges of users of about equal numbers of rows."""

from __future__ import annotations

import pytest

from sqlmetrics.partitions.bounds import Bounds
from sqlmetrics.partitions.sizing import RowGroup, ranges


def groups(*ends: tuple[object, object], rows: int = 10) -> list[RowGroup]:
    return [RowGroup(rows, low, high) for low, high in ends]


def test_lists_in_order_are_split_into_equal_ranges() -> None:
    in_order = groups((1, 5), (5, 9), (9, 14), (15, 20))
    assert ranges(in_order, 2) == [Bounds(None, 9), Bounds(9, None)]
    assert ranges(in_order[::-1], 4) == [
        Bounds(None, 5), Bounds(5, 9), Bounds(9, 15), Bounds(15, None)
    ]  # fmt: skip


def test_ranges_are_cut_where_row_groups_start() -> None:
    assert ranges(groups(("a", "c"), ("d", "f")), 9) == [Bounds(None, "d"), Bounds("d", None)]


def test_ranges_hold_about_equal_numbers_of_rows() -> None:
    uneven = [*groups((1, 2), rows=70), *groups((3, 4), (5, 6), (7, 8), rows=10)]
    assert ranges(uneven, 2) == [Bounds(None, 3), Bounds(3, None)]


@pytest.mark.parametrize(
    "lists",
    [
        groups((1, 20), (1, 19), (2, 20), (1, 20)),  # in no order
        groups((1, 9), (None, None)),  # a file that does not say
        groups((1, 9)),
        groups((1, 1), (1, 1)),  # one user
        [],
    ],
)
def test_lists_in_no_order_have_no_ranges(lists: list[RowGroup]) -> None:
    assert ranges(lists, 4) == []
