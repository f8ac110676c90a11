"""A leaderboard: one row per model, one column per metric and cutoff, and marks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.metrics.spec import labelled, unique
from sqlmetrics.stats.paired_tests import adjusted_within
from sqlmetrics.texts.messages import SEVERAL_MODELS, Message

if TYPE_CHECKING:
    import pandas as pd

Key: TypeAlias = tuple[str, int | None]
"""A column of the leaderboard: a metric and its cutoff, None for whole lists."""

Group: TypeAlias = tuple[Hashable, ...]
"""The convention and slices of a row; models are ranked separately within each group."""

Row: TypeAlias = tuple[Group, str]
"""A row of the leaderboard: its group and its model."""

# marks; a cell with several has them separated by commas
BEST = "best"
NOT_WORSE = "not worse"  # not significantly worse than the best model
BETTER, WORSE = "better", "worse"  # significantly better or worse than a chosen model

COUNTS = ("n_users", "n_clusters", "n_runs")  # columns that leaderboards show once per row


def best_models(
    values: pd.DataFrame, better: Mapping[str, bool | None]
) -> dict[str, list[tuple[str, int | None]]]:
    """Find the best model of each column; these models are the baselines for `leaderboard`.

    Args:
        values: a summary of several models, as for `leaderboard`.
        better: the directions of the metrics, as for `leaderboard`.

    Returns:
        Model -> the metrics and cutoffs for which the model is best, both in table order. Among
        models with equal values, the first of the table is best. Metrics without a direction or
        without values have no best model. With conventions or slices, a metric is listed for every
        model that is best in at least one of them.

    Raises:
        UsageError, DataError: as for `leaderboard`.
    """
    board = _Board.read(values)
    higher = {metric: _direction(metric, better) for metric, _ in board.keys}
    winners = [
        (best, key)
        for key in board.keys
        for group in board.groups
        if (best := _best(board.at(group, key), higher[key[0]])) is not None
    ]
    return {
        model: unique(key for best, key in winners if best == model)
        for model in board.models
        if any(best == model for best, _ in winners)
    }


def leaderboard(
    values: pd.DataFrame,
    comparisons: pd.DataFrame,
    better: Mapping[str, bool | None],
    alpha: float = 0.05,
    correction: str = "none",
    against: str | None = None,
    intervals: bool = False,
) -> pd.DataFrame:
    """Return one row per model with marks for the best model and those not significantly worse.

    Args:
        values: the result of `Evaluator.evaluate`: `model`, then the grouping columns
            (`convention`, slices), then `metric`, `k`, `value`, `n_users`, and `n_runs` and
            `std_runs` if models have several runs; other columns are ignored.
        comparisons: the result of `Evaluator.compare` for the same request, with the models of
            `best_models` as baselines. Rows with other baselines are ignored. It may be empty.
        better: for every metric, whether higher values are better; None if neither direction is. A
            metric with parameters is looked up with them (`ndcg(gain=exponential)`), then without.
        alpha: a model is significantly worse than the best if its corrected p-value is below alpha.
        correction: the correction of p-values (`adjusted`), over the comparisons with the best.
        against: a model that is the baseline of all comparisons, instead of the best models.
        intervals: add the columns `ndcg@10 ci_low` and `ndcg@10 ci_high`.

    Returns:
        One row per model and group: `model`, the grouping columns, `n_users`, and for every metric
        and cutoff, in table order, its value (`ndcg@10`; `ndcg` for whole lists) and its mark
        (`ndcg@10 mark`):

        - `best`: the best value; among equal values, the first of the table;
        - `not worse`: a value equal to the best one, a corrected p-value of at least `alpha`, or a
          difference in the model's favour, over the users that have values of both models;
        - empty: significantly worse, not tested (no such comparison, or no p-value), or a metric
          without a direction;
        - with `against`: `better` or `worse` if the difference from that model is significant,
          instead of `not worse`; a cell can be `best, better`.

        With clusters, `n_clusters` follows `n_users`. With several runs, `n_runs` follows, and the
        standard deviation of the runs (`ndcg@10 std_runs`) follows the mark.

        `n_users`, `n_clusters` and `n_runs` (Int64) are missing if the metrics have different
        numbers; metrics without a number of users are ignored. Groups are in table order. Rows in a
        group are sorted by the first metric with a direction, best model first, models without a
        value last, and then by name. Values are equal if they agree in 12 digits, because
        multi-threaded sums may differ in further digits.

    Raises:
        UsageError: the column `model` is missing, the two tables have different groups, `better`
            lacks a metric, `alpha` is not between 0 and 1, or a grouping column has the name of a
            column of the result.
        DataError: `values` has several rows for a model, group, metric and cutoff.
    """
    import pandas as pd

    if not isinstance(alpha, int | float) or not 0 < alpha < 1:
        raise UsageError(f"alpha must be between 0 and 1, not {alpha!r}")
    board = _Board.read(values)
    higher = {metric: _direction(metric, better) for metric, _ in board.keys}
    labels = {key: labelled(*key) for key in board.keys}
    own = [name for label in labels.values() for name in (label, *further_columns(label))]
    several_runs = "n_runs" in values.columns
    taken = {*board.counts, *own}
    if clash := taken.intersection(board.columns):
        raise UsageError(
            f"the slice column {min(clash)!r} has the name of a column of the leaderboard; rename "
            "it in its table"
        )
    baselines = {
        (group, key): _best(board.at(group, key), higher[key[0]]) if against is None else against
        for group in board.groups
        for key in board.keys
    }
    tested = _tested(comparisons, board.columns, baselines, correction)
    rows = _sorted_rows(board, higher)
    columns: dict[str, Any] = {
        name: pd.array([_only(numbers.get(row, set())) for row in rows], dtype="Int64")
        for name, numbers in board.counts.items()
    }
    for key, label in labels.items():
        marks = _marks(board, key, higher[key[0]], tested, alpha, against)
        shown = [board.at(group, key).get(model) for group, model in rows]
        columns[label] = pd.array(shown, dtype="float64")
        columns[_mark_of(label)] = [marks.get(row, "") for row in rows]
        ends = zip(_ends_of(label), ("ci_low", "ci_high"), strict=True) if intervals else ()
        spread = ((_spread_of(label), "std_runs"),) if several_runs else ()
        for name, source in (*ends, *spread):
            at = dict(zip(board.cells, values[source], strict=True))
            columns[name] = pd.array([at.get((*row, key)) for row in rows], dtype="float64")
    leading = values[["model", *board.columns]].iloc[[board.rows[row] for row in rows]]
    return pd.concat([leading.reset_index(drop=True), pd.DataFrame(columns)], axis=1)


def marks_in(cell: str) -> list[str]:
    """Return the marks of a cell."""
    return cell.split(", ") if cell else []


def marked_columns(frame: pd.DataFrame) -> dict[str, str]:
    """Map the columns of a leaderboard that have marks to the columns with these marks."""
    return {name: mark for name, mark in pairwise(frame.columns) if mark == _mark_of(name)}


def interval_columns(frame: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Map the columns of a leaderboard that have intervals to the columns with their ends."""
    ends = {name: _ends_of(name) for name in frame.columns}
    return {name: pair for name, pair in ends.items() if set(pair) <= set(frame.columns)}


def spread_columns(frame: pd.DataFrame) -> dict[str, str]:
    """Map the columns of a leaderboard to those with the standard deviation over runs, if any."""
    spread = {name: _spread_of(name) for name in frame.columns}
    return {name: column for name, column in spread.items() if column in frame.columns}


def _mark_of(label: str) -> str:
    return f"{label} mark"


def _ends_of(label: str) -> tuple[str, str]:
    return f"{label} ci_low", f"{label} ci_high"


def _spread_of(label: str) -> str:
    return f"{label} std_runs"


def further_columns(label: str) -> tuple[str, ...]:
    """Return the columns that belong to a column of values."""
    return _mark_of(label), *_ends_of(label), _spread_of(label)


@dataclass(frozen=True)
class _Board:
    """The parts of the table of values.

    `columns` are the grouping columns; `rows` maps groups and models to their first row in the
    table. `values` has no missing values, so a model may be absent from a metric. `cells` has the
    group, model and column of every row of the table. `counts` has the numbers of users, and of
    runs if the table has them, of every row.
    """

    columns: list[str]
    groups: list[Group]
    models: list[str]
    keys: list[Key]
    rows: dict[Row, int]
    values: dict[tuple[Group, Key], dict[str, float]]
    counts: dict[str, dict[Row, set[int]]]
    cells: list[tuple[Group, str, Key]]

    @classmethod
    def read(cls, frame: pd.DataFrame) -> _Board:
        import pandas as pd

        if "model" not in frame.columns:
            raise UsageError(
                "a leaderboard needs several models, and these recommendations name no model",
                remedy=Message("name each model with ", SEVERAL_MODELS, ", or add a column model"),
            )
        columns = _group_columns(frame, ("model",))
        rows: dict[Row, int] = {}
        values: dict[tuple[Group, Key], dict[str, float]] = {}
        counts = {name: dict[Row, set[int]]() for name in COUNTS if name in frame.columns}
        seen: set[tuple[Group, str, Key]] = set()
        keys = keys_of(frame)
        groups = _groups(frame, columns)
        cells = zip(groups, frame["model"], keys, frame["value"], strict=True)
        for number, (group, model, key, value) in enumerate(cells):
            if (group, model, key) in seen:
                raise DataError(
                    f"{model} has several values of {labelled(*key)}"
                    + "".join(f", {n}={v}" for n, v in zip(columns, group, strict=True))
                    + "; pass one row per model, metric and cutoff"
                )
            seen.add((group, model, key))
            rows.setdefault((group, model), number)
            if not pd.isna(value):
                values.setdefault((group, key), {})[model] = float(value)
        models = unique(frame["model"])
        places = list(zip(groups, frame["model"], keys, strict=True))
        for name, numbers in counts.items():
            for (group, model, _), n in zip(places, frame[name], strict=True):
                if not pd.isna(n):
                    numbers.setdefault((group, model), set()).add(int(n))
        return cls(columns, unique(groups), models, unique(keys), rows, values, counts, places)

    def at(self, group: Group, key: Key) -> dict[str, float]:
        """Return the values of the models, in table order."""
        return self.values.get((group, key), {})


def _only(numbers: set[int]) -> int | None:
    """Return the number of users or runs if all metrics have the same one, else None."""
    return next(iter(numbers)) if len(numbers) == 1 else None


def _group_columns(frame: pd.DataFrame, others: Sequence[str]) -> list[str]:
    """Return the columns before `metric`, without `others`."""
    names = list(frame.columns)
    return [name for name in names[: names.index("metric")] if name not in others]


def _groups(frame: pd.DataFrame, columns: Sequence[str]) -> list[Group]:
    """Return the group of every row, with None for any missing value."""
    import pandas as pd

    rows = zip(*(frame[name] for name in columns), strict=True) if columns else [()] * len(frame)
    return [tuple(None if pd.isna(value) else value for value in row) for row in rows]


def keys_of(frame: pd.DataFrame) -> list[Key]:
    """Return the metric and the cutoff of every row of a result."""
    import pandas as pd

    pairs = zip(frame["metric"], frame["k"], strict=True)
    return [(metric, None if pd.isna(k) else int(k)) for metric, k in pairs]


def _direction(metric: str, better: Mapping[str, bool | None]) -> bool | None:
    name = metric if metric in better else metric.partition("(")[0]
    if name not in better:
        raise UsageError(
            f"`better` does not list the metric {metric}; add whether higher values are better, "
            "or None if neither direction is"
        )
    return better[name]


def _best(values: Mapping[str, float], higher: bool | None) -> str | None:
    """Return the model with the best value; among equal values, the first model."""
    if higher is None or not values:
        return None
    choose = max if higher else min
    return choose(values, key=lambda model: to_compare(values[model]))


def to_compare(value: float) -> float:
    """Round a value so that values that differ by the order of their sums are equal."""
    return float(f"{value:.12g}")


def _tested(
    comparisons: pd.DataFrame,
    columns: Sequence[str],
    baselines: Mapping[tuple[Group, Key], str | None],
    correction: str,
) -> dict[tuple[Group, Key, str, str], tuple[float, float]]:
    """Read the corrected p-values and differences of all comparisons with the baselines."""
    if comparisons.empty:
        return {}
    theirs = _group_columns(comparisons, ("model", "baseline"))
    if set(theirs) != set(columns):
        raise UsageError(
            f"the values are grouped by {', '.join(columns) or 'nothing'}, but the comparisons by "
            f"{', '.join(theirs) or 'nothing'}; compute both with the same slices and conventions"
        )
    who = list(
        zip(
            _groups(comparisons, columns),
            keys_of(comparisons),
            comparisons["model"].astype(str),
            comparisons["baseline"].astype(str),
            strict=True,
        )
    )
    # for example, ignore comparisons with a model that is not the best of their slice
    used = [baselines.get((group, key)) == baseline for group, key, _, baseline in who]
    rows = comparisons[used]
    p_values = adjusted_within(rows, rows["p_adjusted"].to_numpy("float64"), correction)
    numbers = zip(p_values.tolist(), rows["difference"].astype("float64").tolist(), strict=True)
    return dict(
        zip(
            [comparison for comparison, is_used in zip(who, used, strict=True) if is_used],
            numbers,
            strict=True,
        )
    )


def _sorted_rows(board: _Board, higher: Mapping[str, bool | None]) -> list[Row]:
    """Sort the rows by group, by the first metric with a direction, and by name."""
    first = next((key for key in board.keys if higher[key[0]] is not None), None)

    def place(row: Row) -> tuple[int, bool, float, str]:
        group, model = row
        number = board.groups.index(group)
        value = None if first is None else board.at(group, first).get(model)
        if first is None or value is None:
            return number, True, 0.0, model
        return number, False, -to_compare(value) if higher[first[0]] else to_compare(value), model

    return sorted(board.rows, key=place)


def _marks(
    board: _Board,
    key: Key,
    higher: bool | None,
    tested: Mapping[tuple[Group, Key, str, str], tuple[float, float]],
    alpha: float,
    against: str | None,
) -> dict[Row, str]:
    """Mark the best model of every group and the models that are not significantly worse.

    With `against`, mark the models that differ significantly from that model instead.
    """
    marks: dict[Row, str] = {}
    for group in board.groups:
        values = board.at(group, key)
        best = _best(values, higher)
        if best is None:
            continue
        for model, value in values.items():
            if against is not None:
                test = tested.get((group, key, model, against))
                found = [BEST] if model == best else []
                if test is not None and test[0] < alpha:
                    found.append(BETTER if (test[1] > 0) == higher else WORSE)
                marks[group, model] = ", ".join(found)
            elif model == best:
                marks[group, model] = BEST
            elif to_compare(value) == to_compare(values[best]) or _stands(
                tested.get((group, key, model, best)), bool(higher), alpha
            ):
                marks[group, model] = NOT_WORSE
    return marks


def _stands(test: tuple[float, float] | None, higher: bool, alpha: float) -> bool:
    """Return whether a model was compared with the best one and is not significantly worse.

    A comparison uses only users with values of both models. If a metric has a different audience
    for each model, the comparison may find that the best model of the leaderboard is the worse one.
    """
    if test is None:
        return False
    p_adjusted, difference = test
    return p_adjusted >= alpha or (
        p_adjusted < alpha and (difference > 0 if higher else difference < 0)
    )
