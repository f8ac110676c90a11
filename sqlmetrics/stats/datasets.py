"""Join the leaderboards of several datasets into one table, with a block of columns for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.stats.leaderboard import COUNTS, marked_columns

if TYPE_CHECKING:
    import pandas as pd


def joined(boards: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join leaderboards by model.

    Args:
        boards: the results of `Evaluator.leaderboard`, by the name of the dataset.

    Returns:
        One row per model of any dataset, in the order of the first one. Every column except
        `model` begins with the name of its dataset: `ml ndcg@10`. Values of models that a dataset
        does not have are missing, and their marks are empty.

    Raises:
        DataError: a table is not a leaderboard, or has several rows for a model.
        UsageError: the datasets have different metrics, cutoffs or intervals.
    """
    import pandas as pd

    blocks = []
    first, columns = next(iter(boards)), list[str]()
    for name, board in boards.items():
        check(name, board)
        own = [column for column in board.columns if column not in ("model", *COUNTS)]
        columns = columns or own
        if own != columns:
            raise UsageError(
                f"{first} and {name} have different columns: {_difference(columns, own)}; compute "
                "both leaderboards with the same metrics, cutoffs and intervals, in the same order"
            )
        block = board.set_index("model")
        blocks.append(block.rename(columns={column: f"{name} {column}" for column in block}))
    models = list(dict.fromkeys(model for block in blocks for model in block.index))
    table = pd.concat([block.reindex(models) for block in blocks], axis=1)
    for name, board in boards.items():
        marks = [f"{name} {mark}" for mark in marked_columns(board).values()]
        table[marks] = table[marks].fillna("")
        counts = [f"{name} {count}" for count in COUNTS if count in board]
        table[counts] = table[counts].astype("Int64")
    return table.reset_index(names="model")


def check(name: str, board: pd.DataFrame) -> None:
    """Check that a table is a leaderboard without slices and conventions.

    Raises:
        DataError: it is another table, or has several rows for a model.
    """
    if "model" not in board.columns or not marked_columns(board):
        raise DataError(
            f"{name} is not a leaderboard: it lacks the columns model and 'METRIC mark'; save the "
            "result of leaderboard"
        )
    groups = list(board.columns[1 : list(board.columns).index("n_users")])
    if groups or board.columns[0] != "model":
        raise DataError(
            f"{name} has rows for {' and '.join(map(str, groups))}; write a leaderboard without "
            "slices and with one convention"
        )
    repeated = board["model"][board["model"].duplicated()]
    if len(repeated):
        raise DataError(f"{name} has several rows for the model {repeated.iloc[0]}; keep one")


def _difference(ours: list[str], theirs: list[str]) -> str:
    odd = [column for column in (*ours, *theirs) if (column in ours) != (column in theirs)]
    return ", ".join(odd) or "their order differs"
