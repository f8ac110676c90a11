"""Lay out verdicts of gates as Markdown for pull requests and job summaries of GitHub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlmetrics.cli.layout import code, markdown_text, render_rows
from sqlmetrics.rows import TEXT, Rows

if TYPE_CHECKING:
    from sqlmetrics.stats.gates import Verdict

PASSED, FAILED = "✅", "❌"


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
        f"- {markdown_text(f'{verdict.place}: {verdict.problem}')} ({code(verdict.gate.text)})"
        for verdict in verdicts
        if verdict.problem
    ]
    if n_warnings:
        reasons.append(f"- data warnings: {n_warnings}")
    head = summary(len(failed) + bool(n_warnings), len(gates) + bool(n_warnings), "gate")
    return "\n".join([head, render_rows(marked, "github", digits), *reasons]).rstrip() + "\n"


def summary(n_failed: int, n_all: int, noun: str) -> str:
    """Return the line `**❌ 1 of 3 gates failed**`."""
    nouns = noun if n_all == 1 else f"{noun}s"
    found = f"{n_failed} of {n_all} {nouns} failed" if n_failed else f"{n_all} {nouns} passed"
    return f"**{FAILED if n_failed else PASSED} {found}**\n"
