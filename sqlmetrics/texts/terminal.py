"""Write to stdout and stderr, with control characters and commands of CI runners escaped.

Ids, names of columns, models and files, and texts of templates are untrusted: an escape sequence in
them could rewrite the screen, rename the window or hide a line. They are therefore shown escaped,
such as `\\x1b[31m`. The runners of GitHub and Azure also execute commands in the output of a step:
`::stop-commands::x` at the start of a line, and `##[…]` anywhere in it. Files contain the data
unchanged.
"""

from __future__ import annotations

import contextlib
import re
import sys
from typing import Literal

from sqlmetrics.texts.masking import masked

# C0 except tab, line feed and CR LF; DEL and C1; marks that change the direction of text; lone
# surrogates, which cannot be encoded
_CONTROLS = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
)
_CONTROL = re.compile(rf"[{_CONTROLS}]|\r(?!\n)")
_CONTROL_OR_BREAK = re.compile(rf"[{_CONTROLS}\t\n\r\u2028\u2029]")

# of a command at the start of a line, which may be indented, and of one anywhere
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|#(?=#\w*\[)", re.MULTILINE)


def visible(text: str) -> str:
    """Escape control characters, except line feeds and tabs, and commands of runners."""
    return without_commands(_CONTROL.sub(_escape, text))


def one_line(text: str) -> str:
    """Escape control characters, including line breaks and tabs, and commands of runners."""
    return without_commands(_CONTROL_OR_BREAK.sub(_escape, text))


def without_commands(text: str) -> str:
    """Escape what a runner of GitHub or Azure would execute."""
    return _COMMAND.sub(lambda match: r"\x23" if match[0] == "#" else rf"{match[1]}\x3a", text)


def visible_json(text: str) -> str:
    """Escape both in JSON text by JSON escapes, which keep the values unchanged."""
    text = _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return _COMMAND.sub(r"\\u0023", text)  # only ##[: a line of JSON does not start with a colon


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def say(message: object) -> None:
    """Write a message of the command line to stderr."""
    import click

    with contextlib.suppress(OSError):  # if stderr is closed, the exit code still tells
        click.echo(visible(masked(f"sqlmetrics: {message}")), err=True)


def show(text: str, kind: Literal["people", "data", "table"] = "people") -> None:
    """Write a result to stdout.

    `kind` decides about control characters. Texts for people are always escaped, data for programs
    (such as CSV, SQL and HTML) on a terminal only. In a table, the layout has already escaped them,
    but it may break a line before a command of a runner.
    """
    import click

    if kind == "table":
        text = without_commands(text)
    elif kind == "people" or sys.stdout.isatty():
        text = visible(text)
    click.echo(text, nl=False, color=True)  # color: click must not drop escape sequences of data
