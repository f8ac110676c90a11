"""Lays out a report as one HTML file that reads nothing from elsewhere.

What comes from tables (names of models, items and segments, texts, SQL) stands in the page only as
text: markup goes through Jinja's escaping, the data of charts through `_as_json`. A content
security policy allows the page's own scripts by their hashes and nothing else, so that a mistake in
the escaping would still run nothing.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from sqlmetrics import interrupts
from sqlmetrics.errors import UsageError
from sqlmetrics.report.content import Cell, Content, Example, FigureTable
from sqlmetrics.wording import with_significant

_FOLDER = Path(__file__).parent
_DIGITS = 4


def page(content: Content) -> str:
    """Return the whole page as HTML, to be written in UTF-8.

    Raises:
        UsageError: altair or vl-convert-python is missing, or they do not fit together; only a
            report with charts needs them.
    """
    scripts = [_script(_file("page.js"))]
    if any(figure.chart is not None for section in content.sections for figure in section.figures):
        scripts.append(_vega())
    env = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {
        "cell": shown,
        "json": _as_json,
        "numeric": _numeric,
        "by_kind": _by_kind,
    }
    html = env.get_template("page.html.j2").render(
        content=content,
        style=Markup(_file("page.css")),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts),
    )
    return html.lstrip()  # the lines of macros


def shown(value: Cell) -> str:
    """Spell a cell of a table: four significant digits, counts in groups of three, `–` for nothing.

    A float keeps its zeros (0.25 is 0.2500): they say how precise it is.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        text = f"{value:,}"
    elif value == 0:
        text = "0"
    elif math.isinf(value):
        text = "∞" if value > 0 else "-∞"
    else:
        text = _significant(value)
    return text.replace("-", "\N{MINUS SIGN}")


def _significant(value: float) -> str:
    """Round to significant digits; no digit before the point is lost, small values get a power."""
    value = with_significant(value, _DIGITS)  # first: 0.99999 has one digit before the point
    power = int(f"{value:.{_DIGITS - 1}e}".partition("e")[2])
    if power < -_DIGITS or power > 14:
        return f"{value:.{_DIGITS - 1}e}"
    return f"{value:,.{max(0, _DIGITS - 1 - power)}f}"


def _numeric(table: FigureTable) -> list[bool]:
    """Tell of every column whether it has numbers, which are set to the right."""
    columns = [[row[n] for row in table.rows] for n in range(len(table.columns))]
    return [
        any(cell is not None for cell in cells) and not any(isinstance(cell, str) for cell in cells)
        for cells in columns
    ]


def _by_kind(examples: Sequence[Example]) -> list[tuple[str, list[Example]]]:
    """Return the examples of every kind, the kinds as they come first."""
    kinds = list(dict.fromkeys(example.kind for example in examples))
    ordered = sorted(examples, key=lambda example: kinds.index(example.kind))
    return [(kind, list(of_kind)) for kind, of_kind in groupby(ordered, lambda e: e.kind)]


_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def _as_json(value: Mapping[str, Any]) -> Markup:
    """Return JSON that cannot end the element it stands in.

    The characters that could are only in strings, where their escapes mean the same.

    Raises:
        ValueError: a number is NaN or infinite, which JSON does not have.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPED))


@cache
def _file(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _script(text: str) -> str:
    """Return a script that the element it stands in cannot misread; strings mean the same."""
    text = text.replace("\r\n", "\n")  # as the browser reads it, whose hash is taken
    return re.sub(r"<(?=/script|!--|script)", r"\\x3c", text, flags=re.IGNORECASE)


def _policy(scripts: Sequence[str]) -> str:
    """Return the content security policy: these scripts, our style, and nothing from elsewhere."""
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _vega() -> str:
    """Return the scripts that draw charts, of the Vega-Lite that altair writes; takes seconds."""
    altair, vl_convert = _imported("altair"), _imported("vl_convert")
    version = ".".join(str(altair.SCHEMA_VERSION).lstrip("v").split(".")[:2])
    known = vl_convert.get_vegalite_versions()
    if version not in known:
        raise UsageError(
            f"altair writes charts for Vega-Lite {version}, which vl-convert-python does not have "
            f"(it has {', '.join(known)}); install newer ones with "
            "pip install --upgrade 'sqlmetrics[report]'"
        )
    return _script(_bundle(version))


_BUNDLE = """
import sys, vl_convert
sys.stdout.buffer.write(vl_convert.javascript_bundle(vl_version=sys.argv[1]).encode())
"""


def _bundle(version: str) -> str:
    """Let another process put the scripts together.

    The call takes seconds and holds the interpreter for as long: Ctrl-C would wait for it.
    """
    command = [sys.executable, "-c", _BUNDLE, version]
    try:
        # a session of its own: Ctrl-C in the terminal goes to this process alone
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as process:
            interrupts.add(process.kill)
            try:
                text, _ = process.communicate()
            except BaseException:
                process.kill()
                raise
            finally:
                interrupts.drop(process.kill)
        if process.returncode == 0:
            return text.decode()
    except OSError:  # there is no interpreter to start, as where Python is embedded
        pass
    return str(_imported("vl_convert").javascript_bundle(vl_version=version))


def require_packages() -> None:
    """Check that a page can be made, before the numbers in it are computed.

    Raises:
        UsageError: names what is not installed.
    """
    for name in ("altair", "vl_convert"):
        _imported(name)


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"a report needs altair and vl-convert-python, which cannot be imported ({error}); "
            "install them with pip install 'sqlmetrics[report]'"
        ) from error
