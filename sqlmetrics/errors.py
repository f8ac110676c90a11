"""Every error that sqlmetrics raises on purpose; anything else is a bug."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlmetrics.terminal import one_line


class SqlmetricsError(Exception):
    """Base of all errors of this package. `exit_code` is what the command line ends with."""

    exit_code = 1


class UsageError(SqlmetricsError, ValueError):
    """The request itself is wrong: an unknown metric, setting, value, convention or cutoff."""

    exit_code = 2


class TemplateError(UsageError):
    """A template cannot be read, rendered or parsed."""


class MissingTableError(UsageError):
    """A metric reads a table, or a column of one, that was not given.

    `what` says which one, and how to give it, where a message is about several metrics.
    """

    def __init__(self, message: str, what: str = "") -> None:
        super().__init__(message)
        self.what = what or message


class DataError(SqlmetricsError):
    """A table cannot be read or breaks a rule that the numbers rest on."""


class RowsError(DataError):
    """Rows of a table break a rule; the message shows some of them."""


class UnreadableError(DataError):
    """The engine met rows of a source that it cannot read."""


class EngineError(SqlmetricsError):
    """The engine failed while it ran a statement: memory, disk, a damaged file."""


class GateError(SqlmetricsError):
    """A comparison ran and a gate fails it.

    Attributes:
        frame: the comparison, as `Evaluator.compare` would have returned it.
        reasons: a sentence for each gate and row that fails it.
    """

    exit_code = 3

    def __init__(self, message: str, frame: Any = None, reasons: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.frame = frame
        self.reasons = list(reasons)


class SqlmetricsWarning(UserWarning):
    """Something that a result rests on and that its reader should know."""


class DataWarning(SqlmetricsWarning):
    """What `check` finds in the tables behind a result: the numbers are hard to trust, or wrong."""


def left_out(missing: Iterable[tuple[str, MissingTableError]]) -> str:
    """Say which metrics are left out, grouped by what they lack.

    `missing`: the name of each metric, and the error that computing it would raise.
    """
    groups: dict[str, list[str]] = {}
    for metric, error in missing:
        groups.setdefault(error.what, []).append(metric)
    texts = [f"since {what}: {', '.join(dict.fromkeys(of))}" for what, of in groups.items()]
    return "left out, " + "; ".join(texts)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x' or 'y'?` for the names closest to `name`, or an empty text."""
    import difflib

    lowered = {option.lower(): option for option in known}
    close = difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.5)
    if not close:
        return ""
    return "; did you mean " + " or ".join(repr(lowered[match]) for match in close) + "?"


def example_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Lay out offending rows as indented text under an error message, each in one line."""
    cells = [["NULL" if value is None else str(value) for value in row.values()] for row in rows]
    table = [[one_line(cell) for cell in row] for row in (list(rows[0]), *cells)]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in table]
    return "\n".join("    " + line.rstrip() for line in lines)


def callers_level() -> int:
    """Count the frames up to the code that called the package, for its line in a warning."""
    # a context manager of ours is entered by way of contextlib
    ours = (str(Path(__file__).parent), contextlib.__file__)
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(ours):
        level, frame = level + 1, frame.f_back
    return level
