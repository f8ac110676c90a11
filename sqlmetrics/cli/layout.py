"""Lay out results as text, in every format of the command line."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.cli.tables import Marks, table_text
from sqlmetrics.errors import UsageError, example_rows
from sqlmetrics.rows import PROSE, TEXT, Rows
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
    """Return the format of an output file: `asked`, or else the format of its suffix.

    Raises:
        UsageError: the suffix is unknown and `asked` is None, or the suffix is .parquet and `asked`
            is another format.
    """
    by_name = _BY_SUFFIX.get(path.suffix.lower())
    if asked is None and by_name is None:
        raise UsageError(
            f"cannot tell the format of {path}; add --format, or use one of the suffixes "
            + ", ".join(_BY_SUFFIX)
        )
    if by_name == "parquet" and asked is not None:
        raise UsageError(
            f"{path} has the suffix of Parquet, but --format is {asked}; change one of them"
        )
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
    """Lay out a result as text; `digits` sets the number of decimal places.

    By default, machine formats (csv, json, jsonl) have full precision, and tables have four decimal
    places.
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
    if kind in ("mlflow", "dvc"):
        from sqlmetrics.stats.trackers import nested_values, values_by_name

        values: Any = values_by_name(rows) if kind == "mlflow" else nested_values(rows)
        return visible_json(
            json.dumps(_rounded(values, digits), ensure_ascii=False, indent=2) + "\n"
        )
    if kind == "csv":
        return _csv(rows, digits)
    return _LAYOUTS[kind](_cells(rows, digits), {})


def render_leaderboard(frame: pd.DataFrame, kind: str, digits: int | None, how: str) -> str:
    """Lay out a leaderboard as text; formats and `digits` are those of `render_frame`.

    Machine formats show the frame unchanged. Other formats show the marks next to the values, with
    a legend below if there is any mark (a comment in LaTeX). `how` describes the test in the
    legend, such as `t-test, Holm-adjusted p >= 0.05`.
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

    The table format has a paragraph per finding. CSV holds the examples as JSON; Markdown and LaTeX
    omit examples and remedies.
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
    """Lay out a finding: the problem, its table and column, example rows and the remedy."""
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
    """Return CSV whose lines end in a line feed, with carriage returns only inside quotes.

    `written` returns the CSV with a given line terminator. Before Python 3.13, the writer quotes
    a field only for characters of the terminator, but readers end a line at any carriage return.
    """
    text = written("\n")
    if "\r" not in text:
        return text
    parts = re.finditer(r'("(?:[^"]|"")*")|\r\n|[^"\r]+', written("\r\n"))
    return "".join("\n" if part[0] == "\r\n" else part[0] for part in parts)


def _cells(rows: Rows, digits: int | None) -> Rows:
    """Convert every name and value to the text that tables show."""
    places = 4 if digits is None else digits
    values = [tuple(_shown(value, places) for value in row) for row in rows.values]
    return replace(rows, names=[one_line(str(name)) for name in rows.names], values=values)


def _rounded(values: Any, digits: int | None) -> Any:
    """Round the numbers of nested dicts."""
    if isinstance(values, dict):
        return {name: _rounded(value, digits) for name, value in values.items()}
    return _plain(values, digits)


def _plain(value: Any, digits: int | None) -> Any:
    """Return a value that JSON can hold: no NaN, no NumPy types."""
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
        return f"{value:.1e}"  # do not show a small p-value as 0
    return f"{rounded(value, digits):.{digits}f}"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


_SIGNS = {  # text before and after a value
    "markdown": {BEST: ("**", "**"), NOT_WORSE: ("", " ="), "": ("", "")},
    "latex": {BEST: (r"\textbf{", "}"), NOT_WORSE: (r"\underline{", "}"), "": ("", "")},
}
_LEGENDS = {
    "table": "* best; =",
    "markdown": "\n**bold** best; =",  # without the empty line, it would be a table row
    "latex": "% bold best; underlined",
}
_LEGENDS["github"] = _LEGENDS["markdown"]


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


def markdown_text(text: str) -> str:
    """Escape a text for Markdown, also for a cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def _markdown(cells: Rows, marks: Marks) -> str:
    def line(row: Iterable[str]) -> str:
        return "| " + " | ".join(row) + " |\n"

    rule = ["---" if kind in (TEXT, PROSE) else "---:" for kind in cells.kinds]
    rows = _rows(cells, marks, "markdown", markdown_text)
    return line(map(markdown_text, cells.names)) + line(rule) + "".join(map(line, rows))


def _latex(cells: Rows, marks: Marks) -> str:
    escaped = {char: "\\" + char for char in "&%$#_{}"}
    escaped |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    # the default fonts print other characters for these
    escaped |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}

    def escape(cell: str) -> str:
        return "".join(escaped.get(char, char) for char in cell)

    def line(row: Iterable[str]) -> str:
        text = " & ".join(row) + " \\\\\n"
        # LaTeX would read [ or * as an argument of the \\ that ends the row above
        return "{}" + text if text.startswith(("[", "*")) else text

    sides = "".join("l" if kind in (TEXT, PROSE) else "r" for kind in cells.kinds)
    rows = map(line, _rows(cells, marks, "latex", escape))
    header = line(map(escape, cells.names))
    body = "\\hline\n" + header + "\\hline\n" + "".join(rows) + "\\hline\n"
    return f"\\begin{{tabular}}{{{sides}}}\n{body}\\end{{tabular}}\n"


_LAYOUTS = {
    "table": table_text, "markdown": _markdown, "github": _markdown, "latex": _latex,
}  # fmt: skip
