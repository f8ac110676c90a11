"""Lay out tables for a terminal, without shortening a name, key or number.

A table that is too wide for the terminal has narrower borders; then its prose is wrapped. If it is
still too wide, a result is split into tables of some columns, so that its rows can be compared, and
a list with prose is shown as records, one below the other.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sqlmetrics.rows import NUMBER, PROSE, TEXT, Rows
from sqlmetrics.stats.leaderboard import BEST, BETTER, NOT_WORSE, WORSE, marks_in
from sqlmetrics.texts.terminal import one_line
from sqlmetrics.texts.wording import rounded

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Marks: TypeAlias = Mapping[int, Sequence[str]]
"""Marks by column number: for each cell of the column, its marks, separated by commas."""

SIGNIFICANT = "significant"  # a difference in a comparison
SIGNS = {SIGNIFICANT: "*", BEST: "*", NOT_WORSE: "=", BETTER: "†", WORSE: "‡"}

_UNLIMITED = 10_000  # columns of a file or a pipe
_BORDER, _GAP = 3, 2  # columns between two cells, with and without lines
_INDENT = "  "


def table_text(cells: Rows, marks: Marks, width: int | None = None) -> str:
    """Lay out a table of texts for people.

    Args:
        cells: the texts.
        marks: the marks of a leaderboard.
        width: the columns of the terminal; by default those of standard output. A table for a file
            or a pipe is as wide as it needs to be.
    """
    from rich.console import Console

    is_terminal = sys.stdout.isatty()
    if width is None:
        width = Console().width if is_terminal else _UNLIMITED
    # the console would shorten the names of a table that no layout makes narrow enough
    console = Console(width=_UNLIMITED, force_terminal=is_terminal)
    table = _Cells(cells, marks)
    room = width - 1  # some terminals break a line that reaches the last column
    with console.capture() as capture:
        if table.total(_BORDER) + 4 <= room:  # with the outer border
            console.print(table.drawn(range(len(table.names))))
        elif widths := table.fitted(room):
            console.print(table.drawn(range(len(table.names)), widths))
        elif PROSE in cells.kinds:
            table.print_records(console, room)
        else:
            for columns in table.blocks(room):
                console.print(table.drawn(columns))
    return capture.get()


def texts_of(rows: Rows, digits: int | None) -> Rows:
    """Convert every name and value to the text that tables show."""
    places = 4 if digits is None else digits
    values = [tuple(_shown(value, places) for value in row) for row in rows.values]
    return replace(rows, names=[one_line(str(name)) for name in rows.names], values=values)


def _shown(value: Any, digits: int) -> str:
    if is_missing(value):
        return ""
    if not isinstance(value, float):
        return one_line(str(value))
    if 0 < abs(value) < 0.5 * 10**-digits:
        return f"{value:.1e}"  # do not show a small p-value as 0
    return f"{rounded(value, digits):.{digits}f}"


def is_missing(value: Any) -> bool:
    """Return whether a value is None or NaN."""
    return value is None or (isinstance(value, float) and value != value)


class _Cells:
    """The texts of a table, with their widths.

    Attributes:
        names, rows: the header and the rows, with marks and aligned by them.
        leading: the number of columns that identify a row: those before the first number.
        widths: the width of each column.
    """

    def __init__(self, cells: Rows, marks: Marks) -> None:
        self.names, self.kinds = list(cells.names), cells.kinds
        self.rows = [list(row) for row in cells.values]
        self.leading = cells.kinds.index(NUMBER) if NUMBER in cells.kinds else 1
        self.styles = [[""] * len(self.names) for _ in self.rows]
        self.justify: list[Literal["left", "right"]] = [
            "left" if kind in (TEXT, PROSE) else "right" for kind in cells.kinds
        ]
        for column, its_marks in marks.items():
            # aligned here: rich, aligning to the right, drops the spaces of an empty mark
            self.justify[column] = "left"
            signs = ["".join(SIGNS[mark] for mark in marks_in(cell)) for cell in its_marks]
            longest = max(map(len, signs))
            for row, sign in zip(self.rows, signs, strict=True):
                row[column] += " " + sign.ljust(longest)
            width = self._width(column)
            for line in [self.names, *self.rows]:
                line[column] = line[column].rjust(width)
            for styles, mark in zip(self.styles, its_marks, strict=True):
                styles[column] = "bold" if BEST in marks_in(mark) else ""
        self.widths = [self._width(column) for column in range(len(self.names))]

    def _width(self, column: int) -> int:
        from rich.cells import cell_len

        return max(cell_len(line[column]) for line in [self.names, *self.rows])

    def total(self, gap: int) -> int:
        """Return the width of the table without its outer border."""
        return sum(self.widths) + gap * (len(self.widths) - 1)

    def fitted(self, room: int) -> list[int] | None:
        """Return the widths of a table without lines, with prose wrapped.

        Returns None if the table is wider than `room` even so.
        """
        from rich.cells import cell_len

        widths = list(self.widths)
        for column, kind in enumerate(self.kinds):
            if kind == PROSE:
                texts = [self.names[column], *(row[column] for row in self.rows)]
                pieces = [
                    piece for text in texts for word in text.split() for piece in _pieces(word)
                ]
                widths[column] = max(map(cell_len, pieces), default=0)
        left = room - sum(widths) - _GAP * (len(widths) - 1)
        if left < 0:
            return None
        wrapped = [column for column, width in enumerate(widths) if width < self.widths[column]]
        while left and wrapped:  # the column that lacks the largest part of its width comes first
            column = min(wrapped, key=lambda column: widths[column] / self.widths[column])
            widths[column], left = widths[column] + 1, left - 1
            wrapped = [column for column in wrapped if widths[column] < self.widths[column]]
        return widths

    def drawn(self, columns: Sequence[int], widths: Sequence[int] | None = None) -> Table:
        """Draw some columns; with `widths`, without lines between them."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(header_style="bold")
        if widths:
            table.box, table.show_edge, table.pad_edge = box.SIMPLE_HEAD, False, False
            table.collapse_padding = True
        for column in columns:
            width = widths[column] if widths else None
            table.add_column(
                Text(self.names[column]),
                justify=self.justify[column],
                no_wrap=width in (None, self.widths[column]),
                width=width,
            )
        for row, styles in zip(self.rows, self.styles, strict=True):
            cells = [
                _wrapped(row[column], widths[column])
                if widths and self.kinds[column] == PROSE
                else row[column]
                for column in columns
            ]
            table.add_row(
                *[Text(cell, styles[column]) for cell, column in zip(cells, columns, strict=True)]
            )
        return table

    def blocks(self, room: int) -> list[list[int]]:
        """Split the columns into tables of at most `room`, each with the leading columns."""
        first = list(range(self.leading))
        blocks = [[*first]]
        for column in range(self.leading, len(self.widths)):
            taken = sum(self.widths[known] + _BORDER for known in blocks[-1])
            is_full = taken + self.widths[column] + _BORDER + 1 > room
            if is_full and len(blocks[-1]) > self.leading:
                blocks.append([*first])
            blocks[-1].append(column)
        return blocks

    def print_records(self, console: Console, room: int) -> None:
        """Print every row as a record: the columns that identify it, then the others below."""
        from rich.text import Text

        keys, others = range(self.leading), range(self.leading, len(self.names))
        lines: list[list[int]] = [[]]
        for column in others:
            taken = sum(
                len(self.names[known]) + 1 + self.widths[known] + _GAP for known in lines[-1]
            )
            needed = len(self.names[column]) + 1 + self._value_width(column)
            if lines[-1] and len(_INDENT) + taken + needed > room:
                lines.append([])
            lines[-1].append(column)
        for row in self.rows:
            head = "  ".join(f"{self.names[column]}={row[column]}" for column in keys)
            console.print(Text(head, "bold"), soft_wrap=True)
            for columns in lines:
                text = _INDENT
                for column in columns:
                    value, width = row[column], self._value_width(column)
                    is_number = self.justify[column] == "right"
                    padded = value.rjust(width) if is_number else value.ljust(width)
                    text += f"{self.names[column]} {padded}" + " " * _GAP
                console.print(Text(text.rstrip()), soft_wrap=True)

    def _value_width(self, column: int) -> int:
        from rich.cells import cell_len

        return max((cell_len(row[column]) for row in self.rows), default=0)


def _pieces(word: str) -> list[str]:
    """Split a word after its underscores."""
    return re.findall(r"[^_]*_+|[^_]+", word)


def _wrapped(text: str, width: int) -> str:
    """Wrap a text between words, and words that are too long after underscores."""
    from rich.cells import cell_len

    lines = [""]
    for word in text.split():
        pieces = [word] if cell_len(word) <= width else _pieces(word)
        for number, piece in enumerate(pieces):
            line = lines[-1] + (" " if lines[-1] and number == 0 else "") + piece
            if cell_len(line) <= width:
                lines[-1] = line
            else:
                lines.append(piece)
    return "\n".join(lines)
