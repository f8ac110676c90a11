"""Tables of recommendations from arrays, as libraries of models return them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sqlmetrics.errors import UsageError

Ids: TypeAlias = "Sequence[Any] | Mapping[int, Any] | np.ndarray[Any, Any]"


def from_arrays(
    users: Any,
    items: Any = None,
    scores: Any = None,
    *,
    k: int | None = None,
    user_ids: Ids | None = None,
    item_ids: Ids | None = None,
) -> pa.Table:
    """Turn arrays of recommendations into a table that an `Evaluator` takes.

    Args:
        users: the user of each row, n ids or indices.
        items: n lists, the best item first: an array of n rows and k columns of ids or indices, as
            `recommend` of implicit returns it. Without it, `scores` has a column for every item.
        scores: the scores of `items`, in the same shape; without `items`, an array of n rows with a
            score for every item, of which the best `k` are recommended, equal scores in the order
            of the columns.
        k: the length of the lists; needed without `items`, otherwise all columns.
        user_ids, item_ids: the ids of indices: a sequence (index 0 first) or a dict.

    Entries of a masked array, negative indices where `item_ids` is given, and scores of minus
    infinity (or the lowest number of their type) are places without an item.

    Returns:
        An Arrow table with `user_id, item_id, rank`, and `score` if scores are given: one row per
        user and recommended item.

    Raises:
        UsageError: the shapes do not match, an index has no id, or a score of a list is NaN.
    """
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise UsageError(f"k must be a whole number of at least 1, not {k!r}")
    users = np.asarray(users)
    if users.ndim != 1:
        raise UsageError(f"users must have one dimension, not the shape {users.shape}")
    given = None if scores is None else _matrix("scores", scores, len(users))
    if items is None:
        if given is None or k is None:
            raise UsageError(
                "give items, the recommended items of each user, or scores for every item and k"
            )
        ordered: np.ndarray[Any, Any] = -np.ma.filled(
            np.ma.asanyarray(given, dtype="float64"), -np.inf
        )
        order = np.argsort(ordered, axis=1, kind="stable")[:, :k]
        picked, given = np.ma.array(order), given[np.arange(len(order))[:, None], order]
        item_ids = range(_width(scores)) if item_ids is None else item_ids
    else:
        picked = _matrix("items", items, len(users))[:, :k]
        if given is not None:
            given = given[:, :k]
    if given is not None and given.shape != picked.shape:
        raise UsageError(f"items has the shape {picked.shape}, scores {given.shape}")
    absent = np.ma.getmaskarray(picked).copy()
    if item_ids is not None and picked.dtype.kind in "if":
        absent |= picked.data < 0
    if given is not None:
        numbers = given.data.astype("float64")
        absent |= np.ma.getmaskarray(given) | _is_lowest(given.data)
        if np.isnan(numbers[~absent]).any():
            row = int(np.argwhere(np.isnan(numbers) & ~absent)[0][0])
            raise UsageError(f"scores of row {row} are NaN; mask the places without an item")
    kept = ~absent
    columns: dict[str, Any] = {
        "user_id": _named("user", np.repeat(users, kept.sum(axis=1)), user_ids),
        "item_id": _named("item", picked.data[kept], item_ids),
        "rank": np.cumsum(kept, axis=1)[kept],
    }
    if given is not None:
        columns["score"] = given.data[kept]
    return pa.table(columns)


def _matrix(name: str, given: Any, n_rows: int) -> np.ma.MaskedArray[Any, Any]:
    """Return an argument as a masked array with a row for each user."""
    try:
        matrix: np.ma.MaskedArray[Any, Any] = np.ma.asanyarray(given)
    except ValueError:
        raise UsageError(
            f"{name} must have rows of one length; mask the places without an item"
        ) from None
    if matrix.ndim != 2 or len(matrix) != n_rows:
        raise UsageError(
            f"{name} must have a row for each of the {n_rows} users, not the shape {matrix.shape}"
        )
    return matrix


def _width(matrix: Any) -> int:
    return int(matrix.shape[1]) if hasattr(matrix, "shape") else len(matrix[0])


def _is_lowest(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return which scores mark a place without an item: implicit fills lists with the lowest."""
    if scores.dtype.kind != "f":
        return np.zeros(scores.shape, dtype=bool)
    lowest: np.ndarray[Any, Any] = scores <= np.finfo(scores.dtype).min
    return lowest


def _named(what: str, indices: np.ndarray[Any, Any], ids: Ids | None) -> Any:
    """Return the ids of indices; the indices themselves, if there are no ids."""
    if ids is None:
        return indices
    distinct, places = np.unique(indices, return_inverse=True)
    by_index = ids if isinstance(ids, Mapping) else dict(enumerate(ids))
    unknown = [index for index in distinct.tolist() if index not in by_index]
    if unknown:
        raise UsageError(f"{what} {unknown[0]!r} has no id in {what}_ids, which has {len(ids)} ids")
    return np.asarray([by_index[index] for index in distinct.tolist()])[places]
