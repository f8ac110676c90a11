"""Values of an evaluation for experiment trackers: MLflow, DVC and others that log numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import UsageError
from sqlmetrics.rows import Rows

if TYPE_CHECKING:
    import pandas as pd


def values_by_name(result: pd.DataFrame | Rows) -> dict[str, float]:
    """Return the values of an evaluation under names that trackers accept.

    Args:
        result: the result of `Evaluator.evaluate`.

    Returns:
        The value of every row: `{"ndcg_at_10": 0.19}`. If there are several models, conventions or
        slices, they come first: `"als/country_DE/ndcg_at_10"`. Other characters than letters,
        digits, `_`, `-`, `.` and blanks are replaced by `_`. Missing values are omitted.

    Raises:
        UsageError: the result is not that of `evaluate`, or two rows have the same name.
    """
    named: dict[str, float] = {}
    for where, metric, k, value in _values(result):
        cutoff = "" if k is None else f"_at_{k}"
        name = "/".join([*map(_part, where), _part(metric) + cutoff])
        if name in named:
            raise UsageError(
                f"two values have the same name for trackers, {name!r}; rename a model or a slice"
            )
        named[name] = value
    return named


def nested_values(result: pd.DataFrame | Rows) -> dict[str, Any]:
    """Return the values of an evaluation as nested dicts, the form of the metrics files of DVC.

    Returns:
        `{"als": {"country=DE": {"ndcg@10": 0.19}}}`, without the levels that the result lacks.
    """
    nested: dict[str, Any] = {}
    for where, metric, k, value in _values(result):
        level = nested
        for name in where:
            level = level.setdefault(name, {})
        level[metric if k is None else f"{metric}@{k}"] = value
    return nested


def _part(text: str) -> str:
    """Return a part of a name, without characters that trackers reject."""
    part = re.sub(r"[^\w.\- ]+ *", "_", text).strip("_ ")
    return "_" if part in ("", ".", "..") else part


def _values(result: pd.DataFrame | Rows) -> Iterator[tuple[list[str], str, int | None, float]]:
    """Yield the model and slices, the metric, the cutoff and the value of every row."""
    rows = Rows.of(result)
    if not {"metric", "k", "value", "std"} <= set(rows.names):
        raise UsageError("trackers take results of evaluate: metric, k, value, n_users, std, …")
    slices = rows.names[: rows.names.index("metric")]
    for values in rows.values:
        row = dict(zip(rows.names, values, strict=True))
        value = row["value"]
        if value is None or value != value:
            continue
        where = [
            str(row[name]) if name in ("model", "convention") else f"{name}={row[name]}"
            for name in slices
        ]
        yield where, str(row["metric"]), None if row["k"] is None else int(row["k"]), float(value)
