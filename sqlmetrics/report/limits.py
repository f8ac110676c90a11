"""Limits of the report. `limited` cuts off what exceeds one, with a note."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd

SHOWN = 8  # models with a colour and a shape, the best ones
LISTED = 40  # models in charts that name each one beside its marks
PAIRED = 6  # models in pairwise comparisons
PAIRED_METRICS = 4  # metrics in pairwise comparisons
SHOWN_CUTOFFS = 20
SHOWN_SLICES = 20
ROWS = 50  # rows of a table on the page
HEARD = 24  # values in a text alternative; the table has all of them
MOST_COLUMNS = 4  # user columns to slice by, unless --by is given
FEW_VALUES = 12  # a user column with more distinct values is sliced by only on request
N_EXAMPLES = 3  # example users of each kind
SHOWN_TRUTH = 12  # relevant items shown for an example user
SHOWN_PLACES = 20  # items shown of an example list


def limited(
    rows: pd.DataFrame,
    column: str,
    known: Iterable[Any],
    kept: Iterable[Any],
    note: Callable[[Sequence[Any]], str],
) -> tuple[pd.DataFrame, str]:
    """Keep the rows with some of the values of a column.

    Args:
        rows: the rows.
        column: the column.
        known: all values that the column can have.
        kept: the values to keep.
        note: makes the note of the values that are omitted.

    Returns: the rows, and the note, which is empty if no value is omitted.
    """
    chosen = set(kept)
    omitted = [value for value in dict.fromkeys(known) if value not in chosen]
    if not len(rows) or not omitted:
        return rows, ""
    return rows[~rows[column].isin(omitted)].reset_index(drop=True), note(omitted)


def best_models(
    rows: pd.DataFrame, models: Sequence[str], most: int = SHOWN, verb: str = "shown"
) -> tuple[pd.DataFrame, str]:
    """Keep the rows of the first models, which are the best ones."""

    def note(omitted: Sequence[Any]) -> str:
        return f"Only the best {most} models are {verb}; {len(omitted):,} are omitted."

    return limited(rows, "model", models, models[:most], note)


def largest(
    rows: pd.DataFrame,
    column: str,
    sizes: pd.Series[Any],
    by_size: bool,
    what: str = "smaller slices",
) -> tuple[pd.DataFrame, str]:
    """Keep the rows of the largest slices or groups, sorted by these.

    Args:
        rows: the rows.
        column: the column with the slice.
        sizes: the size of every slice, in the order of the slices.
        by_size: sort the slices by size, instead of keeping their order.
        what: names the omitted slices in the note.
    """
    kept = sizes.sort_values(ascending=False, kind="stable").index[:SHOWN_SLICES]
    order = kept if by_size else sizes.index
    rows, note = limited(
        rows, column, sizes.index, kept, lambda omitted: f"{len(omitted):,} {what} are omitted."
    )
    return in_order(rows, column, order).reset_index(drop=True), note


def in_order(rows: pd.DataFrame, column: str, order: Iterable[Any]) -> pd.DataFrame:
    """Sort the rows by the places of a column's values in the given order; the sort is stable."""
    places = {value: place for place, value in enumerate(order)}
    return rows.sort_values(column, key=lambda values: values.map(places), kind="stable")


def joined(*notes: str) -> str:
    """Join the notes that are not empty."""
    return " ".join(filter(None, notes))
