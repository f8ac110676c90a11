"""Results as text, in every format of the command line."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sqlmetrics.errors import UsageError, example_rows
from sqlmetrics.rows import NUMBER, TEXT, Rows
from sqlmetrics.stats.leaderboard import BEST, NOT_WORSE, marked_columns
from sqlmetrics.terminal import one_line, visible, visible_json
from sqlmetrics.wording import rounded

if TYPE_CHECKING:
    import pandas as pd


_BY_SUFFIX = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".md": "markdown",
    ".tex": "latex",
    ".txt": "table",
    ".parquet": "parquet",
}


def format_of(path: Path, asked: str | None) -> str:
    """Tell the format to write a file in: the one asked for, else the one its name says.

    Raises:
        UsageError: the name says nothing, or Parquet and another format was asked for.
    """
    by_name = _BY_SUFFIX.get(path.suffix.lower())
    if asked is None and by_name is None:
        raise UsageError(
            f"cannot tell the format of {path}; add --format, or end its name in "
            + ", ".join(_BY_SUFFIX)
        )
    if by_name == "parquet" and asked is not None:
        raise UsageError(f"{path} would be written as Parquet, not as {asked}; drop one of the two")
    return asked or str(by_name)


def render_frame(frame: pd.DataFrame, kind: str, digits: int | None) -> str:
    """Lay out a result as text; formats and `digits` are those of `render_rows`."""
    if kind == "csv":
        rounded = None if digits is None else f"%.{digits}f"

        def written(end: str) -> str:
            return str(frame.to_csv(index=False, float_format=rounded, lineterminator=end))

        return _quoted_breaks(written)
    return render_rows(Rows.of_frame(frame), kind, digits)


def render_rows(rows: Rows, kind: str, digits: int | None) -> str:
    """Lay out a result as text; `digits` rounds what is shown.

    Machine formats (csv, json, jsonl) have full precision unless `digits` is given; tables show
    four digits.
    """
    if kind in ("json", "jsonl"):
        records = [
            {name: _plain(value, digits) for name, value in zip(rows.names, row, strict=True)}
            for row in rows.values
        ]
        if kind == "jsonl":
            lines = (
                json.dumps(record, ensure_ascii=False, default=str) + "\n" for record in records
            )
            return visible_json("".join(lines))
        return visible_json(json.dumps(records, ensure_ascii=False, indent=2, default=str) + "\n")
    if kind == "csv":
        return _csv(rows, digits)
    return _LAYOUTS[kind](_cells(rows, digits), {})


def render_leaderboard(frame: pd.DataFrame, kind: str, digits: int | None, how: str) -> str:
    """Lay out a leaderboard as text; formats and `digits` are those of `render_frame`.

    Machine formats have the frame as it is. In the others the marks stand at the values, and a line
    below says what they mean, if there are any; in LaTeX it is a comment. `how` says there how it
    was tested, such as `t-test, Holm-adjusted p >= 0.05`.
    """
    if kind not in _LAYOUTS:
        return render_frame(frame, kind, digits)
    columns = marked_columns(frame)
    shown = frame.drop(columns=list(columns.values()))
    marks = {
        number: list(frame[columns[name]])
        for number, name in enumerate(shown.columns)
        if name in columns and any(frame[columns[name]])
    }
    text = _LAYOUTS[kind](_cells(Rows.of_frame(shown), digits), marks)
    if not marks:
        return text
    brackets = f" ({' '.join(how.split())})" if how.strip() else ""
    return text + _LEGENDS[kind] + f" not significantly worse than the best{brackets}\n"


def render_findings(rows: Rows, kind: str, digits: int | None) -> str:
    """Lay out the findings of `check` as text; formats and `digits` are those of `render_rows`.

    A table has a paragraph for each finding; in CSV, the examples are JSON; Markdown and LaTeX
    leave them out.
    """
    if kind in ("json", "jsonl"):
        return render_rows(rows, kind, digits)
    records = [dict(zip(rows.names, row, strict=True)) for row in rows.values]
    if kind == "table":
        return "\n".join([*map(_finding, records), _counts(records)]) + "\n"
    for record in records:
        record["examples"] = json.dumps(record["examples"], ensure_ascii=False, default=str)
    names = [n for n in rows.names if kind == "csv" or n not in ("examples", "remedy")]
    kinds = [rows.kinds[rows.names.index(name)] for name in names]
    values = [tuple(record[name] for name in names) for record in records]
    return render_rows(Rows(names, kinds, values), kind, digits)


def _finding(record: Mapping[str, Any]) -> str:
    """Lay out a finding: the problem, its place, some rows and the remedy."""
    where = one_line(", column ".join(filter(None, (record["table"], record["column"]))))
    head = one_line(f"{record['level']}: {record['check']}")
    text = "\n".join(f"  {line}" for line in visible(record["found"]).splitlines())
    text = f"{head}\n  {where + ': ' if where else ''}{text.lstrip()}\n"
    if record["examples"]:
        text += example_rows(record["examples"]) + "\n"
    return text + (f"  -> {visible(record['remedy'])}\n" if record["remedy"] else "")


def _counts(records: Sequence[Mapping[str, Any]]) -> str:
    """Count findings by level, such as `1 error, 2 warnings`."""
    levels = [record["level"] for record in records]
    counts = {level: levels.count(level) for level in dict.fromkeys(levels)}
    texts = [f"{n} {level}{'s' * (n > 1)}" for level, n in counts.items()]
    return ", ".join(texts) or "nothing found"


def _csv(rows: Rows, digits: int | None) -> str:
    def cell(value: Any) -> Any:
        if _is_missing(value):
            return None
        if isinstance(value, float) and digits is not None:
            return f"{rounded(value, digits):.{digits}f}"
        return value

    def written(end: str) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator=end)
        writer.writerow(rows.names)
        writer.writerows([cell(value) for value in row] for row in rows.values)
        return text.getvalue()

    return _quoted_breaks(written)


def _quoted_breaks(written: Callable[[str], str]) -> str:
    """Return CSV with lines that end in a line feed, and a carriage return only in quotes.

    `written` writes it with a given end of lines. Before Python 3.13, only characters of that end
    make a field be quoted, and readers take any carriage return for one.
    """
    text = written("\n")
    if "\r" not in text:
        return text
    parts = re.finditer(r'("(?:[^"]|"")*")|\r\n|[^"\r]+', written("\r\n"))
    return "".join("\n" if part[0] == "\r\n" else part[0] for part in parts)


def _cells(rows: Rows, digits: int | None) -> Rows:
    """Spell every name and value as tables show it."""
    places = 4 if digits is None else digits
    values = [tuple(_shown(value, places) for value in row) for row in rows.values]
    return replace(rows, names=[one_line(str(name)) for name in rows.names], values=values)


def _plain(value: Any, digits: int | None) -> Any:
    """Return a value as JSON knows it: no NaN, no NumPy types."""
    if _is_missing(value):
        return None
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and abs(value) == float("inf"):
        return None  # JSON has no infinity
    if isinstance(value, float) and digits is not None:
        return rounded(value, digits)
    return value


def _shown(value: Any, digits: int) -> str:
    if _is_missing(value):
        return ""
    if not isinstance(value, float):
        return one_line(str(value))
    if 0 < abs(value) < 0.5 * 10**-digits:
        return f"{value:.1e}"  # a p-value is not 0
    return f"{rounded(value, digits):.{digits}f}"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


Marks: TypeAlias = Mapping[int, Sequence[str]]
"""Number of a column -> the mark of each of its cells: `best`, `not worse` or empty."""

_SIGNS = {  # before and after a value
    "table": {BEST: ("", " *"), NOT_WORSE: ("", " ="), "": ("", "  ")},
    "markdown": {BEST: ("**", "**"), NOT_WORSE: ("", " ="), "": ("", "")},
    "latex": {BEST: (r"\textbf{", "}"), NOT_WORSE: (r"\underline{", "}"), "": ("", "")},
}
_LEGENDS = {
    "table": "* best; =",
    "markdown": "\n**bold** best; =",  # right below, it would be a row of the table
    "latex": "% bold best; underlined",
}


def _rows(
    cells: Rows, marks: Marks, kind: str, escape: Callable[[str], str] = str
) -> list[list[str]]:
    """Return the rows with their marks."""
    rows = [[escape(cell) for cell in row] for row in cells.values]
    for column, its_marks in marks.items():
        for row, mark in zip(rows, its_marks, strict=True):
            before, after = _SIGNS[kind][mark]
            row[column] = before + row[column] + after
    return rows


def _table(cells: Rows, marks: Marks) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    names, rows = list(cells.names), _rows(cells, marks, "table")
    # what a row is about stands before the first number with a point
    leading = cells.kinds.index(NUMBER) if NUMBER in cells.kinds else len(names)
    styles = [[""] * len(names) for _ in rows]
    justify: list[Literal["left", "right"]] = [
        "left" if kind == TEXT else "right" for kind in cells.kinds
    ]
    for column, its_marks in marks.items():
        # set by hand: where rich sets to the right, it drops the space that stands for no mark
        justify[column] = "left"
        width = max(len(line[column]) for line in [names, *rows])
        for line in [names, *rows]:
            line[column] = line[column].rjust(width)
        for row_styles, mark in zip(styles, its_marks, strict=True):
            row_styles[column] = "bold" if mark == BEST else ""
    width = Console().width if sys.stdout.isatty() else 10_000
    console = Console(width=width, force_terminal=sys.stdout.isatty())
    widths = [max(len(line[column]) for line in [names, *rows]) + 3 for column in range(len(names))]
    with console.capture() as capture:
        for columns in _blocks(widths, leading, width - 1):
            table = Table(header_style="bold")
            for column in columns:
                table.add_column(Text(names[column]), justify=justify[column], no_wrap=True)
            for row, row_styles in zip(rows, styles, strict=True):
                table.add_row(*[Text(row[column], row_styles[column]) for column in columns])
            console.print(table)
    return capture.get()


def _blocks(widths: Sequence[int], leading: int, room: int) -> list[list[int]]:
    """Split columns into tables that fit into the room, each with the leading columns."""
    first = list(range(leading))
    blocks = [[*first]]
    for column in range(leading, len(widths)):
        taken = sum(widths[known] for known in blocks[-1])
        if taken + widths[column] > room and len(blocks[-1]) > leading:
            blocks.append([*first])
        blocks[-1].append(column)
    return blocks


def _markdown(cells: Rows, marks: Marks) -> str:
    def escape(cell: str) -> str:
        return cell.replace("|", "\\|")

    def line(row: Iterable[str]) -> str:
        return "| " + " | ".join(row) + " |\n"

    rule = ["---" if kind == TEXT else "---:" for kind in cells.kinds]
    rows = _rows(cells, marks, "markdown", escape)
    return line(map(escape, cells.names)) + line(rule) + "".join(map(line, rows))


def _latex(cells: Rows, marks: Marks) -> str:
    escaped = {char: "\\" + char for char in "&%$#_{}"}
    escaped |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    # in the default fonts, other characters are in their places
    escaped |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}

    def escape(cell: str) -> str:
        return "".join(escaped.get(char, char) for char in cell)

    def line(row: Iterable[str]) -> str:
        text = " & ".join(row) + " \\\\\n"
        # after the end of the row above, these would be its length, or its star
        return "{}" + text if text.startswith(("[", "*")) else text

    sides = "".join("l" if kind == TEXT else "r" for kind in cells.kinds)
    rows = map(line, _rows(cells, marks, "latex", escape))
    header = line(map(escape, cells.names))
    body = "\\hline\n" + header + "\\hline\n" + "".join(rows) + "\\hline\n"
    return f"\\begin{{tabular}}{{{sides}}}\n{body}\\end{{tabular}}\n"


_LAYOUTS = {"table": _table, "markdown": _markdown, "latex": _latex}
