"""Put saved leaderboards of several datasets side by side: `sqlmetrics table NAME=FILE …`."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlmetrics.cli.formats import FORMATS, TableFormat
from sqlmetrics.cli.layout import BEST_ONE, render_leaderboard
from sqlmetrics.cli.paper import display_names
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.files import check_not_read
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.stats.datasets import joined
from sqlmetrics.stats.leaderboard import BETTER, COUNTS, WORSE, marked_columns, marks_in
from sqlmetrics.stats.ranks import BLOCK, Ranks
from sqlmetrics.texts.terminal import one_line

if TYPE_CHECKING:
    import pandas as pd

_SUFFIXES = (".csv", ".json", ".parquet")


@dataclass(frozen=True)
class Datasets:
    """The leaderboards of several datasets, by the name of the dataset.

    `with_ranks`: whether the table has the mean ranks of models over the datasets.
    """

    boards: Mapping[str, pd.DataFrame]
    with_ranks: bool = False

    @classmethod
    def read(
        cls,
        arguments: Sequence[str],
        output: str | None,
        with_ranks: bool = False,
        plot: str | None = None,
    ) -> Datasets:
        """Read NAME=FILE arguments; `output` and `plot` are the files to be written, if any.

        Raises:
            UsageError: an argument has no name, two have the same name, or the output is read; a
                dataset has the name of the columns of ranks; or the chart cannot be made.
            DataError: a file cannot be read.
        """
        if plot is not None:
            from sqlmetrics.report.chart_file import check_chart

            if not with_ranks:
                raise UsageError("--plot draws the ranks; add --ranks")
            check_chart(plot)
        boards: dict[str, pd.DataFrame] = {}
        for argument in arguments:
            name, equals, path = (part.strip() for part in argument.partition("="))
            if not (name and equals and path):
                raise UsageError(f"{argument}: write NAME=FILE, e.g. ML-1M={argument or 'ml.csv'}")
            if with_ranks and name == BLOCK:
                raise UsageError(f"--ranks adds columns called {BLOCK}; rename this dataset")
            if name in boards:
                raise UsageError(f"two datasets have the name {name}; rename one")
            if output:
                check_not_read(Path(output), {path: name})
            boards[name] = _read(path)
        return cls(boards, with_ranks)

    @functools.cached_property
    def ranks(self) -> Ranks | None:
        """The ranks of the models, if the table has them."""
        return Ranks.of(self.boards) if self.with_ranks else None

    def frame(self) -> pd.DataFrame:
        """Return the joined table, with the columns of ranks at its end."""
        table = joined(self.boards)
        return table if self.ranks is None else table.assign(**self.ranks.columns())

    def save_chart(self, path: str | None, force: bool) -> None:
        """Write the chart of the ranks to a file, if a file is given.

        Raises:
            DataError: the file exists and `force` is not set, or the file cannot be written.
        """
        if path is not None and self.ranks is not None:
            from sqlmetrics.report.chart_file import save_chart
            from sqlmetrics.report.ranks import chart_of_ranks

            save_chart(chart_of_ranks(self.ranks), path, force)

    def render(self, frame: pd.DataFrame, kind: str, digits: int | None) -> str:
        """Lay out the joined table; machine formats show it unchanged."""
        format_ = FORMATS[kind]
        if not isinstance(format_, TableFormat):
            return format_.render(frame, digits)
        counts = [
            f"{name} {count}"
            for name, board in self.boards.items()
            for count in COUNTS
            if count in board
        ]
        columns = self.ranks.columns() if self.ranks else {}
        tests = [name for name, cells in columns.items() if not isinstance(cells, list)]
        text = render_leaderboard(
            frame.drop(columns=[*counts, *tests]),  # they are in the notes
            kind,
            digits,
            how="",
            than="the baseline" if self.is_against_one else BEST_ONE,
            names=self.names(Catalog.load()),
            blocks=self.blocks(),
        )
        return text + "".join(format_.note.format(one_line(line)) for line in self.notes())

    @property
    def is_against_one(self) -> bool:
        """Return whether marks compare with one model rather than with the best.

        Raises:
            UsageError: they do in some datasets only.
        """
        kinds = {name: self._against(board) for name, board in self.boards.items()}
        if len(set(kinds.values()) - {None}) > 1:
            one = next(name for name, kind in kinds.items() if kind)
            raise UsageError(
                f"the marks of {one} compare with one model (--against), those of other datasets "
                "with the best model; compute all leaderboards in the same way"
            )
        return True in kinds.values()

    @staticmethod
    def _against(board: pd.DataFrame) -> bool | None:
        cells = (cell for mark in marked_columns(board).values() for cell in board[mark])
        found = {mark for cell in cells for mark in marks_in(cell)} - {"best"}
        return bool(found & {BETTER, WORSE}) if found else None

    def names(self, catalog: Catalog) -> dict[str, str]:
        """Map the columns to their names in papers, such as nDCG@10."""
        return {"model": "Model"} | {
            f"{name} {column}": shown
            for name, board in self._blocks.items()
            for column, shown in {
                **{column: column for column in marked_columns(board)},
                **display_names(catalog, board),
            }.items()
        }

    def blocks(self) -> dict[str, str]:
        """Map the columns of values to their datasets, and those of ranks to a title."""
        return {
            f"{name} {column}": "Mean rank" if name == BLOCK else name
            for name, board in self._blocks.items()
            for column in marked_columns(board)
        }

    @property
    def _blocks(self) -> Mapping[str, pd.DataFrame]:
        """The leaderboards by the first word of their columns; that of ranks has the same ones."""
        return {**self.boards, BLOCK: next(iter(self.boards.values()))}

    def notes(self) -> list[str]:
        """Return what the caption has to say: numbers of users and runs, missing models, tests."""
        notes = []
        for count in COUNTS:
            numbers = {
                name: sorted({int(n) for n in board[count].dropna()})
                for name, board in self.boards.items()
                if count in board
            }
            texts = [
                f"{name} {' to '.join(map(str, dict.fromkeys((n[0], n[-1]))))}"
                for name, n in numbers.items()
                if n
            ]
            if texts:
                notes.append(f"{count.removeprefix('n_')}: {', '.join(texts)}")
        models = dict.fromkeys(model for board in self.boards.values() for model in board["model"])
        for name, board in self.boards.items():
            absent = [model for model in models if model not in set(board["model"])]
            if absent:
                notes.append(f"empty cells: {name} has no results of {', '.join(absent)}")
        return notes if self.ranks is None else [*notes, *self.ranks.sentences()]


def _read(path: str) -> pd.DataFrame:
    import pandas as pd

    suffix = Path(path).suffix.lower()
    try:
        if suffix == ".csv":
            frame = pd.read_csv(path, dtype={"model": str}, keep_default_na=False, na_values=[""])
        elif suffix == ".json":
            frame = pd.read_json(path, dtype={"model": str})
        elif suffix == ".parquet":
            frame = pd.read_parquet(path)
        else:
            raise DataError(f"{path}: a leaderboard is read from {', '.join(_SUFFIXES)}")
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    marks = list(marked_columns(frame).values())
    frame[marks] = frame[marks].astype(object).fillna("")
    return frame
