"""Selection of the models, metrics, slices and cutoffs that a figure shows.

Functions that omit something also return a note for the figure: what is omitted, and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlmetrics.report.analysis import LISTED, PAIRED, PAIRED_METRICS, SHOWN, SHOWN_SLICES, Study
from sqlmetrics.texts.wording import listed

if TYPE_CHECKING:
    import pandas as pd


def with_colours(study: Study, rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Keep the rows of the models that have a colour."""
    return _of_models(study, rows, study.shown, SHOWN)


def with_names(study: Study, rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Keep the rows of the models that charts can name beside the marks."""
    return _of_models(study, rows, study.listed, LISTED)


def _of_models(
    study: Study, rows: pd.DataFrame, models: Sequence[str], most: int
) -> tuple[pd.DataFrame, str]:
    left = len(study.models) - len(models)
    if not len(rows) or not left:
        return rows, ""
    kept = rows[rows["model"].isin(models)].reset_index(drop=True)
    return kept, f"Only the best {most} models are shown; {left:,} are omitted."


def paired_models(study: Study) -> str:
    """Return the note on models that are in no pair."""
    left = len(study.models) - len(study.paired)
    return f"Only the best {PAIRED} models are paired; {left} are omitted." if left > 0 else ""


def paired_metrics(study: Study, drawn: Iterable[str]) -> str:
    """Return the note on metrics whose differences are not drawn.

    Args:
        study: the values of the run.
        drawn: the labels of the metrics with differences.
    """
    known = set(drawn)
    omitted = [name for name in study.labels(study.compared) if name not in known]
    if not omitted:
        return ""
    return (
        f"Only {PAIRED_METRICS} metrics are drawn, the primary one first; omitted: "
        f"{listed(omitted)}."
    )


def fitting(rows: pd.DataFrame, column: str, most: int) -> tuple[pd.DataFrame, str]:
    """Keep the first values of a column, at least one, with at most `most` rows together."""
    sizes = rows.groupby(column, sort=False).size()
    kept = list(sizes.index[sizes.cumsum() <= most]) or [sizes.index[0]]
    omitted = [str(name) for name in sizes.index if name not in set(kept)]
    note = ""
    if omitted and column == "label":
        note = (
            f"Omitted to limit the size of the page: {listed(omitted)}. Pass fewer metrics to "
            "show them."
        )
    elif omitted:
        note = f"{len(omitted):,} pairs of models are omitted to limit the size of the page."
    return rows[rows[column].isin(kept)].reset_index(drop=True), note


def largest_slices(
    rows: pd.DataFrame, n_users: pd.Series[Any], by_size: bool
) -> tuple[dict[str, int], int]:
    """Return the largest slices with their numbers of users, and the number of other slices.

    The slices are sorted by size if `by_size`, and keep their order otherwise.
    """
    sizes = n_users.groupby(rows["slice"], sort=False).max().fillna(0)
    largest = sizes.sort_values(ascending=False, kind="stable").index[:SHOWN_SLICES]
    order = list(largest) if by_size else [name for name in sizes.index if name in set(largest)]
    return {name: int(sizes[name]) for name in order}, len(sizes) - len(order)


def in_slices(rows: pd.DataFrame, slices: Iterable[str]) -> pd.DataFrame:
    """Keep the rows of these slices, in the order given."""
    places = {name: place for place, name in enumerate(slices)}
    rows = rows[rows["slice"].isin(places)]
    return rows.sort_values("slice", key=lambda names: names.map(places), kind="stable")


def named_slices(rows: pd.DataFrame, sizes: Mapping[str, int]) -> pd.DataFrame:
    """Keep the rows of these slices, and append the number of users to their names."""
    rows = in_slices(rows, sizes)
    return rows.assign(slice=[f"{name} ({sizes[name]:,})" for name in rows["slice"]])


def smaller_slices(left: int, what: str = "smaller slices") -> str:
    """Return the note on slices with fewer users than those shown."""
    return f"{left:,} {what} are omitted." if left else ""


def some_cutoffs(known: Iterable[int], main: int | None, most: int) -> set[int]:
    """Choose at most `most` evenly spaced cutoffs, and the main cutoff."""
    ordered = sorted({int(k) for k in known})
    if len(ordered) <= most:
        return set(ordered)
    step = (len(ordered) - 1) / (most - 1)
    chosen = {ordered[round(number * step)] for number in range(most)}
    return chosen | ({main} & set(ordered) if main is not None else set())


def joined(*notes: str) -> str:
    """Join the notes that are not empty."""
    return " ".join(filter(None, notes))
