"""Lay out tables and verdicts of gates as Markdown, for documents and for GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlmetrics.cli.tables import SIGNS, Marks, texts_of
from sqlmetrics.rows import PROSE, TEXT, Rows
from sqlmetrics.stats.leaderboard import BEST, marks_in
from sqlmetrics.texts.terminal import one_line
from sqlmetrics.texts.wording import by_number

if TYPE_CHECKING:
    from sqlmetrics.stats.gates import Verdict

PASSED, FAILED = "✅", "❌"


# what Markdown or GitHub turns into markup, a link, an image, a mention or a formula
_LIVE = re.compile(
    r"[`\\\[\]<>*~$]|://|\bwww\.|:\w+:|&#?\w+;|\B@\w|@[\w.-]*\.\w|#\d|\bGH-\d|\b_|_\b",
    re.IGNORECASE,
)


def inline(text: str) -> str:
    """Return a text as Markdown shows it, in one line; a text with live parts becomes code.

    Nothing is live in code: backslashes would not stop mentions and links to issues.
    """
    text = one_line(text)
    return code(text) if _LIVE.search(text) else text


def code(text: str) -> str:
    """Return a text as a code span of Markdown."""
    text = one_line(text)
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def in_cell(text: str) -> str:
    """Return a text as a cell of a table."""
    # a backslash in front would escape the backslash of the pipe, which would then end the cell
    return inline(text).replace("\\|", r"\x5c|").replace("|", r"\|")


def table(cells: Rows, marks: Marks) -> str:
    """Lay out a table of texts; the best values of a leaderboard are bold."""

    def line(row: Iterable[str]) -> str:
        return "| " + " | ".join(row) + " |\n"

    rows = [list(map(in_cell, row)) for row in cells.values]
    for column, its_marks in marks.items():
        for row, cell in zip(rows, its_marks, strict=True):
            found = marks_in(cell)
            signs = "".join(SIGNS[mark] for mark in found if mark != BEST)
            value = f"**{row[column]}**" if BEST in found else row[column]
            row[column] = f"{value} {signs}".rstrip()
    rule = ["---" if kind in (TEXT, PROSE) else "---:" for kind in cells.kinds]
    return line(map(in_cell, cells.names)) + line(rule) + "".join(map(line, rows))


def with_verdicts(
    rows: Rows, verdicts: Sequence[Verdict], digits: int | None, n_warnings: int = 0
) -> str:
    """Return the rows of a result with a column of verdicts, below a summary of the gates.

    Args:
        rows: the rows that the gates judged.
        verdicts: the verdicts of the gates.
        digits: the decimal places of numbers.
        n_warnings: the number of data warnings that fail the command.
    """
    signs = {verdict.row: PASSED for verdict in verdicts}
    signs |= {verdict.row: FAILED for verdict in verdicts if verdict.problem}
    marked = Rows(
        ["verdict", *rows.names],
        [TEXT, *rows.kinds],
        [(signs.get(number, ""), *row) for number, row in enumerate(rows.values)],
    )
    gates = {verdict.gate.text: None for verdict in verdicts}
    failed = {verdict.gate.text: None for verdict in verdicts if verdict.problem}
    reasons = [
        f"- {inline(f'{verdict.place}: {verdict.problem}')} ({code(verdict.gate.text)})"
        for verdict in verdicts
        if verdict.problem
    ]
    if n_warnings:
        reasons.append(f"- data warnings: {n_warnings}")
    head = summary(len(failed) + bool(n_warnings), len(gates) + bool(n_warnings), "gate")
    return "\n".join([head, table(texts_of(marked, digits), {}), *reasons]).rstrip() + "\n"


def summary(n_failed: int, n_all: int, noun: str) -> str:
    """Return the line `**❌ 1 of 3 gates failed**`."""
    nouns = by_number(n_all, f"{noun}|{noun}s")
    found = f"{n_failed} of {n_all} {nouns} failed" if n_failed else f"{n_all} {nouns} passed"
    return f"**{FAILED if n_failed else PASSED} {found}**\n"
