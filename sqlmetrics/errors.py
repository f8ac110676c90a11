"""The errors and warnings of sqlmetrics; any other exception is a bug."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from sqlmetrics.texts.messages import Argument, Message, joined, sentences
from sqlmetrics.texts.terminal import one_line


class _WithFields(BaseException):
    """An error or a warning: a message, and fields for programs.

    Args:
        parts: the parts of the message: texts, arguments and other messages.
        table, column: the table and column with the problem.
        examples: rows with the problem.
        remedy: how to solve the problem.
        after: a text to show below the message.

    Attributes:
        found: the message without examples and remedy.
        table, column, examples, remedy: as above; empty if they do not apply.
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
        """The whole message: problem, examples and remedy."""
        if not self.examples:
            return Message(sentences(self.found, self.remedy), self.after)
        shown = f", for example\n{example_rows(self.examples)}"
        remedy = Message("\nWhat to do: ", self.remedy, ".") if self.remedy else ""
        return Message(self.found, shown, remedy, self.after)

    def with_text(self, text: str) -> Self:
        """Return a copy of the error with a text below its message."""
        other = type(self)(*self.args)
        vars(other).update(vars(self), after=self.after + text)
        return other

    def __str__(self) -> str:
        """Spell the message for Python; `message.spelled` takes another spelling."""
        return str(self.message)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class SqlmetricsError(_WithFields, Exception):
    """Base class of all errors of the package, with fields for programs.

    `found`, `table`, `column`, `examples` and `remedy` are empty if they do not apply. `str` spells
    arguments for Python; the command line shows them as options. `exit_code` is the exit code of
    the command line.
    """

    exit_code = 1


class UsageError(SqlmetricsError, ValueError):
    """The request is wrong: an unknown metric, setting, value, convention or cutoff."""

    exit_code = 2


class TemplateError(UsageError):
    """A template cannot be read, rendered or parsed."""


class QueryError(TemplateError):
    """The engine rejects a query made from templates; the message does not name the template."""


class UndefinedNameError(TemplateError):
    """A template reads an undefined name, such as a setting of another metric."""

    def __init__(self, *parts: Any, name: str = "", **fields: Any) -> None:
        super().__init__(*parts, **fields)
        self.name = name


class MissingTableError(UsageError):
    """A metric or another part of a request reads a table or column that was not given.

    Attributes:
        what: a clause for messages about several metrics: the missing table or column, and the
            argument that gives it.
        need: the message without its subject; empty if the message names what reads the table.
    """

    def __init__(self, *parts: Any, need: str = "", what: Any = "", **fields: Any) -> None:
        alone = (f"the request {need}",) if need else ()
        super().__init__(*parts or alone, **fields)
        self.need = need
        self.what = Message(what or self)

    def of_metric(self, name: str, instead: str = "") -> MissingTableError:
        """Return this error as one of a metric, unless it names what reads the table.

        `instead`: how to request the metric from another table; empty if there is no other way.
        """
        if not self.need:
            return self
        skip = Message("; ", Argument("skip_missing", True), " omits such metrics")
        return MissingTableError(
            f"the metric {name} {self.need}",
            what=self.what,
            table=self.table,
            column=self.column,
            remedy=Message(self.remedy, f", or write {instead}" if instead else "", skip),
        )


class DataError(SqlmetricsError):
    """A table cannot be read or fails validation."""


class RowsError(DataError):
    """Rows of a table fail validation; `examples` has some of these rows."""


class UnreadableError(DataError):
    """The engine cannot read rows of a source; `reason` is the message of the engine."""

    def __init__(self, *parts: Any, reason: str = "", **fields: Any) -> None:
        super().__init__(*parts, **fields)
        self.reason = reason or str(self.found)


class EngineError(SqlmetricsError):
    """The engine failed to run a statement: out of memory or disk, or a damaged file."""


class GateError(SqlmetricsError):
    """A comparison fails a gate.

    Attributes:
        frame: the comparison, as `Evaluator.compare` would have returned it.
        reasons: a sentence for each failed gate and row.
    """

    exit_code = 3

    def __init__(
        self, *parts: Any, frame: Any = None, reasons: Sequence[str] = (), **fields: Any
    ) -> None:
        super().__init__(*parts, **fields)
        self.frame = frame
        self.reasons = list(reasons)


class SqlmetricsWarning(_WithFields, UserWarning):
    """Base class of all warnings of the package; they have the same fields as errors."""


class DataWarning(SqlmetricsWarning):
    """A warning of `check` about the tables of a result, which may be wrong or misleading.

    Attributes:
        check: the name of the check, for `accept`; empty if it is no check that can be accepted.
    """

    def __init__(self, *parts: Any, check: str = "", **fields: Any) -> None:
        super().__init__(*parts, **fields)
        self.check = check

    @property
    def in_brief(self) -> str:
        """The name of the check and what it found, without consequences and remedy, in one line."""
        if not self.check:
            return ""
        found = str(self.found).partition(": ")[2] or str(self.found)
        return f"warning {self.check}: {re.split('[:;] ', found)[0]}"


def left_out(missing: Iterable[tuple[str, MissingTableError]]) -> Message:
    """Describe the omitted metrics, grouped by the missing tables and columns.

    `missing` has the name of each metric, and the error that computing it would raise.
    """
    groups: dict[Message, list[str]] = {}
    for metric, error in missing:
        groups.setdefault(error.what, []).append(metric)
    texts = [
        Message("because ", what, f": {', '.join(dict.fromkeys(of))}")
        for what, of in groups.items()
    ]
    return Message("omitted ", joined("; ", texts))


def none_left(metric: str, error: MissingTableError) -> MissingTableError:
    """Return the error if all metrics would be omitted, of which `metric` is the first."""
    return MissingTableError(
        f"none of the requested metrics can be computed: {metric}, for example, because ",
        error.what,
        table=error.table,
        column=error.column,
    )


def check_choice(argument: str, chosen: object, known: Sequence[str]) -> None:
    """Check that the value of an argument is one of those known.

    Raises:
        UsageError: it is another value.
    """
    if chosen not in known:
        close = suggestion(str(chosen), known)
        raise UsageError(f"{argument} must be one of {', '.join(known)}, not {chosen!r}{close}")


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x' or 'y'?` with the names closest to `name`, or an empty text."""
    return meant(close_names(name, known))


def meant(close: Sequence[str]) -> str:
    """Return the question whether one of these names was meant; empty without a name."""
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the names closest to `name`, at most three, the closest first.

    First come slips, such as the same letters in another order, then what a name abbreviates, such
    as recommendations for recs.
    """
    import difflib

    wanted, lowered = name.lower(), {option.lower(): option for option in known}
    close = difflib.get_close_matches(wanted, lowered, n=len(lowered) or 1, cutoff=0.5)
    letters = sorted(wanted)
    slips = [option for option in close if sorted(option) == letters]
    slips += difflib.get_close_matches(wanted, close, cutoff=0.8)
    close = list(dict.fromkeys([*slips, *long_forms(wanted, lowered), *close]))[:3]
    return [lowered[match] for match in close]


def long_forms(name: str, known: Iterable[str]) -> list[str]:
    """Return what a name abbreviates: names that begin with two of its letters and have the others.

    The others are in their order, as in recs for recommendations.
    """
    wanted = name.lstrip("-")

    def is_long_form(option: str) -> bool:
        letters = iter(option)
        return (
            3 <= len(wanted) < len(option)
            and wanted[:2] == option[:2]
            and all(letter in letters for letter in wanted)
        )

    return [option for option in known if is_long_form(option.lstrip("-"))]


def same_letters(name: str, known: Iterable[str]) -> str | None:
    """Return the only name that has the letters of `name`, such as ItemID for item_id, if any."""
    letters = [option for option in known if _letters(option) == _letters(name)]
    return letters[0] if len(letters) == 1 else None


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def example_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Lay out example rows as a table of indented lines, to show under an error message."""
    cells = [["NULL" if value is None else str(value) for value in row.values()] for row in rows]
    table = [[one_line(cell) for cell in row] for row in (list(rows[0]), *cells)]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in table]
    return "\n".join("    " + line.rstrip() for line in lines)


def imported(module: str, needed: str, extra: str) -> Any:
    """Import a module of an optional package; `needed`: "the t-test needs scipy".

    Raises:
        UsageError: it cannot be imported.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{needed}, which cannot be imported ({error}); run pip install 'sqlmetrics[{extra}]'"
        ) from error


def issue(warning: SqlmetricsWarning) -> None:
    """Issue a warning at the line that called the package."""
    warnings.warn(warning, stacklevel=callers_level())


def callers_level() -> int:
    """Count the stack frames up to the caller of the package, for the line number of a warning."""
    # contextlib is on the stack when the package enters its own context managers
    ours = (str(Path(__file__).parent), contextlib.__file__)
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(ours):
        level, frame = level + 1, frame.f_back
    return level
