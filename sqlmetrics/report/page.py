"""Render a report as one self-contained HTML file.

Text from the user's tables (names of models, items and slices, conditions, SQL) is always escaped:
Jinja escapes the markup, `_as_json` the data of charts. A content security policy allows only the
page's own scripts, by their hashes, so text from a table cannot run as a script even if the
escaping has a bug.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from sqlmetrics.errors import UsageError, imported
from sqlmetrics.report.content import Cell, Content, FigureTable, Leaderboard, Score
from sqlmetrics.texts.wording import rounded, with_significant

_FOLDER = Path(__file__).parent
_DIGITS = 4


def page(content: Content) -> str:
    """Return the complete page as HTML, to be saved in UTF-8.

    Raises:
        UsageError: altair or vl-convert-python is missing, or their versions are incompatible.
            Only reports with charts need these packages.
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
        "half": _half,
        "places": _places_of_columns,
        "places_of_scores": _places_of_scores,
        "breakable": _breakable,
        "json": _as_json,
        "numeric": _numeric,
    }
    html = env.get_template("page.html.j2").render(
        content=content,
        style=Markup(_file("page.css")),
        scripts=[Markup(script) for script in scripts],
        policy=_policy(scripts),
    )
    return html.lstrip()  # remove the empty lines that macro definitions leave


def shown(value: Cell, places: int | None = None) -> str:
    """Format a table cell: 4 significant digits, grouped thousands, `–` for missing values.

    A float keeps its trailing zeros (0.25 is 0.2500), because they show its precision. `places` are
    the decimal places of the column; numbers that would be rounded to 0 have significant digits.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        text = f"{value:,}"
    elif places is not None and (value == 0 or 0.5 * 10**-places <= abs(value) < math.inf):
        text = f"{rounded(value, places):,.{places}f}"
    elif value == 0:
        text = "0"
    elif math.isinf(value):
        text = "∞" if value > 0 else "-∞"
    else:
        text = _significant(value)
    return text.replace("-", "\N{MINUS SIGN}")


def _significant(value: float) -> str:
    """Round to significant digits; keep every digit before the point, spell small values as powers.

    The power is that of the rounded value: 0.99999 has one digit before the point.
    """
    short = with_significant(value, _DIGITS)
    power = int(f"{short:e}".partition("e")[2])
    if power < -_DIGITS or power > 14:
        return f"{short:.{_DIGITS - 1}e}"
    digits = max(0, _DIGITS - 1 - power)
    return f"{rounded(value, digits):,.{digits}f}"


def _places(values: Iterable[Cell]) -> int | None:
    """Return the decimal places that show the largest number of a column with 4 digits."""
    numbers = [abs(value) for value in values if isinstance(value, float) and math.isfinite(value)]
    largest = with_significant(max(numbers, default=0.0), _DIGITS)
    power = int(f"{largest:e}".partition("e")[2])
    return None if largest == 0 or power < -_DIGITS else max(0, _DIGITS - 1 - power)


def _places_of_columns(rows: Sequence[Sequence[Cell]]) -> list[int | None]:
    return [_places(column) for column in zip(*rows, strict=True)]


def _places_of_scores(board: Leaderboard) -> list[int | None]:
    rows = [[score.value for score in scores] for _, _, scores in board.rows]
    return _places_of_columns(rows)


def _half(score: Score, places: int | None) -> str:
    """Return half the width of an interval; the intervals of a leaderboard are symmetric."""
    assert score.low is not None
    assert score.high is not None
    half = (score.high - score.low) / 2
    return shown(half if places is None else round(half, places), places)


def _breakable(text: str) -> Markup:
    """Let the name of a metric break before its cutoff and after underscores."""
    return Markup(re.sub(r"(_|(?=@))", r"\1<wbr>", str(escape(text))))


def _numeric(table: FigureTable) -> list[bool]:
    """Return for every column whether it is numeric, and thus right-aligned."""
    columns = [[row[n] for row in table.rows] for n in range(len(table.columns))]
    return [
        any(cell is not None for cell in cells) and not any(isinstance(cell, str) for cell in cells)
        for cells in columns
    ]


_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def _as_json(value: Mapping[str, Any]) -> Markup:
    """Return JSON that cannot close the HTML element around it.

    The escaped characters occur only in JSON strings, where escapes do not change the value.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPED))


@cache
def _file(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _script(text: str) -> str:
    """Escape sequences in strings of a script that would end the HTML element around it."""
    text = text.replace("\r\n", "\n")  # browsers normalise line ends before they compute the hash
    return re.sub(r"<(?=/script|!--|script)", r"\\x3c", text, flags=re.IGNORECASE)


def _policy(scripts: Sequence[str]) -> str:
    """Return the content security policy: only these scripts, inline styles and data images."""
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _vega() -> str:
    """Return the scripts of the Vega-Lite version that Altair writes; takes seconds."""
    altair, vl_convert = _imported("altair"), _imported("vl_convert")
    version = ".".join(str(altair.SCHEMA_VERSION).lstrip("v").split(".")[:2])
    known = vl_convert.get_vegalite_versions()
    if version not in known:
        raise UsageError(
            f"altair writes charts for Vega-Lite {version}, but vl-convert-python supports only "
            f"{', '.join(known)}; upgrade both with pip install --upgrade 'sqlmetrics[report]'"
        )
    return _script(_bundle(version))


def _bundle(version: str) -> str:
    """Bundle the scripts in another process.

    The call takes seconds and holds the interpreter lock, so in this process Ctrl-C would wait.
    """
    code = "import sys, vl_convert; print(vl_convert.javascript_bundle(vl_version=sys.argv[1]))"
    command = [sys.executable, "-X", "utf8", "-c", code, version]
    try:
        # in a new session, so that Ctrl-C in the terminal reaches only this process
        bundled = subprocess.run(command, capture_output=True, check=True, start_new_session=True)
    except (OSError, subprocess.CalledProcessError):  # such as where Python is embedded
        return str(_imported("vl_convert").javascript_bundle(vl_version=version))
    return bundled.stdout.decode().rstrip("\n")


def require_packages() -> None:
    """Check that the packages for reports are installed, before values are computed.

    Raises:
        UsageError: a package is missing.
    """
    for name in ("altair", "vl_convert"):
        _imported(name)


def _imported(name: str) -> Any:
    return imported(name, "reports need altair and vl-convert-python", "report")
