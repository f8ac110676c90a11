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

from sqlmetrics.cli import paper
from sqlmetrics.cli.tables import SIGNS, Marks, table_text
from sqlmetrics.errors import UsageError, example_rows
from sqlmetrics.rows import PROSE, TEXT, Rows
from sqlmetrics.stats.leaderboard import (
    BEST,
    interval_columns,
    marked_columns,
    marks_in,
    spread_columns,
)
from sqlmetrics.texts.terminal import one_line, visible, visible_json
from sqlmetrics.texts.wording import rounded

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


BEST_ONE = "the best"
# meanings of ± in leaderboards
_HALF_WIDTH = "half the width of the confidence interval"
_OVER_RUNS = "standard deviation over the runs of the model"


def render_leaderboard(
    frame: pd.DataFrame,
    kind: str,
    digits: int | None,
    how: str,
    than: str = BEST_ONE,
    names: Mapping[str, str] | None = None,
    blocks: Mapping[str, str] | None = None,
) -> str:
    """Lay out a leaderboard as text; formats and `digits` are those of `render_frame`.

    Machine formats show the frame unchanged. Other formats show the marks and intervals next to the
    values, with a legend below (a comment in LaTeX). Without intervals, they show the standard
    deviation over runs, if there are several.

    Args:
        how: describes the test in the legend, such as `t-test, Holm-adjusted p >= 0.05`.
        than: the model that the others were compared with.
        names: display names of columns in LaTeX, such as nDCG@10.
        blocks: the titles of blocks of columns in LaTeX, by column.
    """
    if kind not in _LAYOUTS:
        return render_frame(frame, kind, digits)
    columns, intervals = marked_columns(frame), interval_columns(frame)
    spread = spread_columns(frame)
    ends_of_intervals = (name for ends in intervals.values() for name in ends)
    hidden = [*columns.values(), *ends_of_intervals, *spread.values()]
    shown = frame.drop(columns=hidden)
    marks = {
        number: list(frame[columns[name]])
        for number, name in enumerate(shown.columns)
        if name in columns and any(frame[columns[name]])
    }
    cells = _cells(Rows.of_frame(shown), digits)
    halves = {name: (frame[high] - frame[low]) / 2 for name, (low, high) in intervals.items()}
    if not intervals:
        halves = {name: frame[column] for name, column in spread.items()}
    for name, numbers in halves.items():
        cells = _with_halves(cells, list(shown.columns).index(name), numbers.tolist(), digits)
    plus_minus = _HALF_WIDTH if intervals else _OVER_RUNS if spread else ""
    legend = _legend(marks, how, than, kind, plus_minus)
    if kind == "latex":
        seconds = {
            number: paper.second_best(frame, shown.columns[number], columns) for number in marks
        }
        return paper.paper_table(cells, marks, seconds, names or {}, legend, blocks or {})
    text = _LAYOUTS[kind](cells, marks)
    if not legend:
        return text
    # without the empty line, the legend would be a row of a Markdown table
    return f"{text}{'' if kind == 'table' else chr(10)}{legend}\n"


def _with_halves(cells: Rows, column: int, halves: Sequence[float], digits: int | None) -> Rows:
    """Add half the width of an interval, or a standard deviation, to the values of a column."""
    places = 4 if digits is None else digits
    texts = ["" if _is_missing(half) else f"{rounded(half, places):.{places}f}" for half in halves]
    width = max(map(len, texts), default=0)
    values = []
    for row, text in zip(cells.values, texts, strict=True):
        cell = f"{row[column]} ± {text.rjust(width)}" if text else row[column]
        values.append((*row[:column], cell, *row[column + 1 :]))
    return replace(cells, values=values)


_OF_BEST = {"table": "* best", "latex": "bold best, underlined second best"}


def _legend(marks: Marks, how: str, than: str, kind: str, plus_minus: str) -> str:
    """Return the legend of a leaderboard: the signs that its cells have.

    `plus_minus` is the meaning of ±, or "".
    """
    parts = []
    if marks:
        brackets = f" ({' '.join(how.split())})" if how.strip() else ""
        parts.append(_OF_BEST.get(kind, "**bold** best"))
        if than == BEST_ONE:
            parts.append(f"= not significantly worse than the best{brackets}")
        else:
            others = one_line(than) if kind in ("table", "latex") else markdown_text(than)
            parts.append(f"† significantly better, ‡ significantly worse than {others}{brackets}")
    if plus_minus:
        parts.append(f"± {plus_minus}")
    return "; ".join(parts)


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


def _rows(cells: Rows, marks: Marks, escape: Callable[[str], str]) -> list[list[str]]:
    """Return the rows with their marks in Markdown."""
    rows = [[escape(cell) for cell in row] for row in cells.values]
    for column, its_marks in marks.items():
        for row, cell in zip(rows, its_marks, strict=True):
            found = marks_in(cell)
            signs = "".join(SIGNS[mark] for mark in found if mark != BEST)
            value = f"**{row[column]}**" if BEST in found else row[column]
            row[column] = f"{value} {signs}".rstrip()
    return rows


# what Markdown or GitHub turns into markup, a link, an image, a mention or a formula
_LIVE = re.compile(
    r"[`\\\[\]<>*~$]|://|\bwww\.|:\w+:|&#?\w+;|\B@\w|@[\w.-]*\.\w|#\d|\bGH-\d|\b_|_\b",
    re.IGNORECASE,
)


def markdown_text(text: str) -> str:
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


def _markdown_cell(text: str) -> str:
    # a backslash in front would escape the backslash of the pipe, which would then end the cell
    return markdown_text(text).replace("\\|", r"\x5c|").replace("|", r"\|")


def _markdown(cells: Rows, marks: Marks) -> str:
    def line(row: Iterable[str]) -> str:
        return "| " + " | ".join(row) + " |\n"

    rule = ["---" if kind in (TEXT, PROSE) else "---:" for kind in cells.kinds]
    rows = _rows(cells, marks, _markdown_cell)
    return line(map(_markdown_cell, cells.names)) + line(rule) + "".join(map(line, rows))


_LAYOUTS: Mapping[str, Callable[[Rows, Marks], str]] = {
    "table": table_text,
    "markdown": _markdown,
    "github": _markdown,
    "latex": lambda cells, _: paper.latex_table(cells),
}
