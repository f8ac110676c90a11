"""Write to stdout and stderr, with control characters escaped.

Ids, names of columns, models and files, and texts of templates are untrusted: an escape sequence in
them could rewrite the screen, rename the window or hide a line. They are therefore shown escaped,
such as `\\x1b[31m`. Files contain the data unchanged.
"""

from __future__ import annotations

import contextlib
import re
import sys

# C0 except tab, line feed and CR LF; DEL and C1; marks that change the direction of text; lone
# surrogates, which cannot be encoded
_CONTROLS = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
)
_CONTROL = re.compile(rf"[{_CONTROLS}]|\r(?!\n)")
_CONTROL_OR_BREAK = re.compile(rf"[{_CONTROLS}\t\n\r\u2028\u2029]")

_LAID_OUT = ("table", "markdown", "github", "latex")  # their layout has escaped every cell


def visible(text: str) -> str:
    """Escape control characters, except line feeds and tabs."""
    return _CONTROL.sub(_escape, text)


def one_line(text: str) -> str:
    """Escape control characters, including line breaks and tabs."""
    return _CONTROL_OR_BREAK.sub(_escape, text)


def visible_json(text: str) -> str:
    """Escape control characters in JSON text by JSON escapes, which keep the values unchanged."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def say(message: object) -> None:
    """Write a message of the command line to stderr."""
    import click

    with contextlib.suppress(OSError):  # if stderr is closed, the exit code still tells
        click.echo(visible(f"sqlmetrics: {message}"), err=True)


def show(text: str, kind: str = "text") -> None:
    """Write a result to stdout.

    `kind` decides about control characters. "text", for people, always escapes them. Formats for
    programs (csv, json, jsonl, sql, html, path) escape them on a terminal only. In tables (table,
    markdown, latex), the layout has already escaped them.
    """
    import click

    if kind == "text" or (kind not in _LAID_OUT and sys.stdout.isatty()):
        text = visible(text)
    click.echo(text, nl=False, color=True)  # color: click must not drop escape sequences of data
