"""Every error that sqlmetrics raises on purpose; anything else is a bug."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from sqlmetrics.messages import Message, joined, sentences
from sqlmetrics.terminal import one_line


class _WithFields(BaseException):
    """An error or a warning: a message, and fields for programs.

    Args:
        parts: the message: texts, arguments that it names, and other messages.
        table, column: where something was found.
        examples: rows that show it.
        remedy: the way to solve it.
        after: a text below all the others.

    Attributes:
        found: the message without examples and remedy.
        table, column, examples, remedy: as above; empty where they do not apply.
    """

    def __init__(
        self,
        *parts: Any,
        table: str = "",
        column: str = "",
        examples: Sequence[Mapping[str, Any]] = (),
        remedy: Any = "",
        after: str = "",
    ) -> None:
        self.found = Message(*parts)
        self.table, self.column, self.examples = table, column, examples
        self.remedy = Message(remedy)
        self.after = after
        super().__init__(*self.found.parts)

    @property
    def message(self) -> Message:
        """The whole message: the problem, examples, and the remedy."""
        if not self.examples:
            return Message(sentences(self.found, self.remedy), self.after)
        shown = f", for example\n{example_rows(self.examples)}"
        remedy = Message("\nWhat to do: ", self.remedy, ".") if self.remedy else ""
        return Message(self.found, shown, remedy, self.after)

    def with_text(self, text: str) -> Self:
        """Return the same error with a text below its message."""
        other = type(self)(*self.args)
        vars(other).update(vars(self), after=self.after + text)
        return other

    def __str__(self) -> str:
        """Spell the message for Python; `message.spelled` spells it for others."""
        return str(self.message)


class SqlmetricsError(_WithFields, Exception):
    """Base of all errors of this package, with fields for programs.

    `found`, `table`, `column`, `examples` and `remedy` are empty where they do not apply. `str`
    spells arguments for Python; the command line shows its options in their place. `exit_code` is
    what the command line ends with.
    """

    exit_code = 1


class UsageError(SqlmetricsError, ValueError):
    """The request itself is wrong: an unknown metric, setting, value, convention or cutoff."""

    exit_code = 2


class TemplateError(UsageError):
    """A template cannot be read, rendered or parsed."""


class QueryError(TemplateError):
    """The engine refuses a query that was made of templates; the message names none of them."""


class UndefinedNameError(TemplateError):
    """A template reads a name that it does not know, such as a setting of another metric."""

    def __init__(self, *parts: Any, name: str = "", **fields: Any) -> None:
        super().__init__(*parts, **fields)
        self.name = name


class MissingTableError(UsageError):
    """A metric reads a table, or a column of one, that was not given.

    `what` says which one, and how to give it, where a message is about several metrics.
    """

    def __init__(self, *parts: Any, what: Any = "", **fields: Any) -> None:
        super().__init__(*parts, **fields)
        self.what = Message(what or self)


class DataError(SqlmetricsError):
    """A table cannot be read or breaks a rule that the numbers rest on."""


class RowsError(DataError):
    """Rows of a table break a rule; `examples` are some of them."""


class UnreadableError(DataError):
    """The engine cannot read rows of a source; `reason` is the message of the engine."""

    def __init__(self, *parts: Any, reason: str = "", **fields: Any) -> None:
        super().__init__(*parts, **fields)
        self.reason = reason or str(self.found)


class EngineError(SqlmetricsError):
    """The engine failed while it ran a statement: memory, disk, a damaged file."""


class GateError(SqlmetricsError):
    """A comparison ran and a gate fails it.

    Attributes:
        frame: the comparison, as `Evaluator.compare` would have returned it.
        reasons: a sentence for each gate and row that fails it.
    """

    exit_code = 3

    def __init__(
        self, *parts: Any, frame: Any = None, reasons: Sequence[str] = (), **fields: Any
    ) -> None:
        super().__init__(*parts, **fields)
        self.frame = frame
        self.reasons = list(reasons)


class SqlmetricsWarning(_WithFields, UserWarning):
    """Something that a result rests on and that its reader should know; fields as of errors."""


class DataWarning(SqlmetricsWarning):
    """A finding of `check` in the tables of a result: the numbers may mislead or be wrong."""


def left_out(missing: Iterable[tuple[str, MissingTableError]]) -> Message:
    """Describe the omitted metrics, grouped by the tables and columns that they lack.

    `missing`: the name of each metric, and the error that computing it would raise.
    """
    groups: dict[Message, list[str]] = {}
    for metric, error in missing:
        groups.setdefault(error.what, []).append(metric)
    texts = [
        Message("since ", what, f": {', '.join(dict.fromkeys(of))}") for what, of in groups.items()
    ]
    return Message("left out, ", joined("; ", texts))


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
