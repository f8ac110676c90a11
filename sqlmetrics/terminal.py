"""All that the command line writes to stdout and stderr, with control characters made visible.

Ids, names of columns, models and files, and texts of templates come from others: an escape sequence
in them could rewrite the screen, rename the window or hide a line. It is written as a person can
read it, such as `\\x1b[31m`. Files keep the data as it is.
"""

from __future__ import annotations

import contextlib
import re
import sys

# C0 without tab and line feed (a carriage return before one belongs to it), DEL and C1; marks that
# turn the direction of text; halves of surrogate pairs, which no encoding has
_CONTROLS = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
)
_CONTROL = re.compile(rf"[{_CONTROLS}]|\r(?!\n)")
_CONTROL_OR_BREAK = re.compile(rf"[{_CONTROLS}\t\n\r\u2028\u2029]")

_LAID_OUT = ("table", "markdown", "latex")  # `sqlmetrics.output` has cleaned every cell


def visible(text: str) -> str:
    """Write control characters as escapes; line feeds and tabs stay."""
    return _CONTROL.sub(_escape, text)


def one_line(text: str) -> str:
    """Write control characters as escapes, and all that breaks a line or a column."""
    return _CONTROL_OR_BREAK.sub(_escape, text)


def visible_json(text: str) -> str:
    """Write control characters in JSON as its own escapes, which leave its values as they are."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def say(message: object) -> None:
    """Write a message of the command line to stderr."""
    import click

    with contextlib.suppress(OSError):  # where nobody reads it, the exit code says it too
        click.echo(visible(f"sqlmetrics: {message}"), err=True)


def show(text: str, kind: str = "text") -> None:
    """Write a result to stdout.

    `kind`: "text" is for people, and shows control characters as escapes everywhere. What programs
    read (csv, json, jsonl, sql, html, path) keeps them, except on a terminal. Of tables that are
    laid out (table, markdown, latex) the layout has done so.
    """
    import click

    if kind == "text" or (kind not in _LAID_OUT and sys.stdout.isatty()):
        text = visible(text)
    click.echo(text, nl=False, color=True)  # else click drops escape sequences from the data
