"""Metrics of arrays of labels and scores, for training libraries and scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import DataError, DataWarning, UsageError, issue
from sqlmetrics.evaluator import Evaluator
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.definitions import Definitions

if TYPE_CHECKING:
    import numpy as np

_BYTES = 8  # of the longest number that Arrow has
_OF_IDS = "if group has an id of the list for each label, write qid= instead of group="


def metric(
    name: str, *, convention: str = "standard", settings: Mapping[str, Any] | None = None
) -> ArrayMetric:
    """Return a metric as a function of labels and scores.

    Args:
        name: one metric with at most one cutoff, such as `"ndcg@10"`.
        convention: the definitions to use, such as `"sklearn"` or `"lightgbm"`.
        settings: values that override the convention.

    Raises:
        UsageError: the metric, convention or a setting is unknown, or `name` stands for several
            metrics.

    Example:
        >>> import sqlmetrics as sm
        >>> ndcg = sm.metric("ndcg@2", convention="sklearn")
        >>> ndcg([0, 1, 0, 1], [0.9, 0.4, 0.1, 0.8], group=[3, 1])
        0.815464876785729
    """
    return ArrayMetric(name, convention, settings or {})


class ArrayMetric:
    """A metric of arrays: call it with labels and scores.

    Attributes:
        name: the name as given, such as `ndcg@10`.
        higher_is_better: whether higher values are better; None if neither is.
    """

    def __init__(self, name: str, convention: str, settings: Mapping[str, Any]) -> None:
        definitions = Definitions.load(Catalog.load(), convention, None, settings)
        requests = definitions.requests(definitions.specs(name, None))
        if len(requests) != 1:
            raise UsageError(f"{name!r} stands for several metrics; give one, such as 'ndcg@10'")
        self.name = name
        self.__name__ = name  # how libraries name a metric in their logs
        self.higher_is_better = requests[0].higher_is_better
        self._convention, self._settings = convention, dict(settings)

    def __repr__(self) -> str:
        return f"sqlmetrics.metric({self.name!r}, convention={self._convention!r})"

    def __call__(self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None) -> float:
        """Compute the mean of the metric over lists.

        Args:
            y_true: the labels, from 0. With two dimensions, each row is a list.
            y_score: the scores, in the shape of `y_true`. The highest is first; equal scores are
                ordered by the convention.
            group: the lengths of the lists in one dimension, in order, as in LightGBM. Without
                it, one dimension is one list.
            qid: instead of `group`, the id of the list for each label, in any order, as in XGBoost.

        Returns:
            The mean; NaN if no list has a value, for example without any relevant item.

        Raises:
            DataError: the shapes differ, the lengths do not add up, or a score or an id is missing.

        Warns:
            DataWarning: `group` makes every row a list, so that it may have ids of lists.
        """
        import pyarrow as pa

        labels, scores = _numbers("labels", y_true), _numbers("scores", y_score)
        lists, items = _places(labels, scores, group, qid)
        rows = {"user_id": pa.array(lists), "item_id": pa.array(items)}
        lists_table = pa.table({**rows, "score": pa.array(scores.ravel())})
        truth = pa.table({**rows, "relevance": pa.array(labels.ravel())})
        with Evaluator(
            lists_table,
            truth,
            convention=self._convention,
            settings=self._settings,
            check=False,
        ) as evaluator:
            found = evaluator.rows(self.name)
        value = found.values[0][found.names.index("value")]
        return float("nan") if value is None else float(value)

    def lightgbm(self, y_score: Any, data: Any) -> tuple[str, float, bool]:
        """Compute the metric as `feval` of LightGBM.

        Raises:
            UsageError: neither high nor low values of the metric are better.
        """
        if self.higher_is_better is None:
            raise UsageError(f"{self.name}: neither high nor low values are better")
        value = self(data.get_label(), y_score, group=data.get_group())
        return self.name, value, self.higher_is_better

    def xgboost(self, y_score: Any, data: Any) -> tuple[str, float]:
        """Compute the metric as `custom_metric` of XGBoost."""
        import numpy as np

        bounds = data.get_uint_info("group_ptr")
        group = np.diff(bounds) if len(bounds) else None
        return self.name, self(data.get_label(), y_score, group=group)


def _numbers(what: str, values: Any) -> np.ndarray:
    import numpy as np

    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(
            f"{what}: the lists have different lengths",
            remedy="give all values in one dimension, np.concatenate(lists), and the lengths with "
            "group=[len(items) for items in lists]",
        ) from error
    if array.dtype.kind in "biuf" and array.dtype.itemsize <= _BYTES:
        return array
    try:
        return array.astype(float, casting="unsafe" if array.dtype.kind in "fOSU" else "safe")
    except (TypeError, ValueError) as error:
        raise DataError(f"{what}: not all values are numbers: {error}") from error


def _places(labels: np.ndarray, scores: np.ndarray, group: Any, qid: Any) -> tuple[Any, Any]:
    """Return the number of the list and of the item of each value."""
    import numpy as np

    if labels.shape != scores.shape or labels.ndim not in (1, 2) or not labels.size:
        raise DataError(
            f"labels have the shape {labels.shape} and scores {scores.shape}; give two arrays of "
            "the same shape, with one or two dimensions"
        )
    if group is not None and qid is not None:
        raise DataError("group and qid both say where the lists are; omit one")
    if labels.ndim == 2:
        if group is not None or qid is not None:
            name = "qid" if group is None else "group"
            raise DataError(
                f"{name}: each row of labels with two dimensions is a list; give labels and scores "
                f"with one dimension, or omit {name}"
            )
        n_lists, length = labels.shape
        return np.repeat(np.arange(n_lists), length), np.tile(np.arange(length), n_lists)
    if qid is not None:
        return _numbers_of(qid, len(labels)), np.arange(len(labels))
    lengths = np.array([len(labels)]) if group is None else _lengths(group, len(labels))
    return np.repeat(np.arange(len(lengths)), lengths), np.arange(len(labels))


def _numbers_of(qid: Any, n_labels: int) -> np.ndarray:
    """Return the number of the list of each label, from its id."""
    import numpy as np
    import pandas as pd

    ids = np.asarray(qid)
    if ids.shape != (n_labels,):
        raise DataError(f"qid has the shape {ids.shape}, but there are {n_labels} labels")
    numbers: np.ndarray = pd.factorize(ids)[0]
    if (numbers < 0).any():
        raise DataError(f"qid: the id of row {int(np.argmax(numbers < 0))} is missing")
    return numbers


def _lengths(group: Any, n_labels: int) -> np.ndarray:
    import numpy as np

    lengths = np.asarray(group).ravel()
    problem = ""
    try:
        numbers = lengths.astype(float)
        whole = np.floor(numbers)
        odd = lengths[(numbers != whole) | (numbers < 0) | np.isinf(numbers)]
    except (TypeError, ValueError):
        odd = lengths
    if len(odd):
        problem = f"{odd.tolist()[0]!r} is not the length of a list"
    elif whole.sum() != n_labels:
        problem = (
            f"the lengths of the lists add up to {whole.sum():g}, but there are {n_labels} labels"
        )
    if problem:
        raise DataError(f"group: {problem}", remedy=_OF_IDS)
    if len(lengths) == n_labels > 1:
        problem = f"group: there are as many lists as labels ({n_labels:,})"
        issue(DataWarning(problem, remedy=_OF_IDS, after="."))
    found: np.ndarray = whole.astype(np.int64)
    return found
