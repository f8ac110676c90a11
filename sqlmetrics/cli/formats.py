"""The output formats of the command line: `FORMATS` has one object for each."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from sqlmetrics.cli import markdown, paper
from sqlmetrics.cli.tables import Marks, is_missing, table_text, texts_of
from sqlmetrics.errors import UsageError, suggestion
from sqlmetrics.rows import Rows, text_of, without_bytes
from sqlmetrics.stats.leaderboard import further_columns
from sqlmetrics.texts.terminal import one_line, visible_json
from sqlmetrics.texts.wording import rounded

if TYPE_CHECKING:
    import pandas as pd

    Result: TypeAlias = Rows | pd.DataFrame


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format of results.

    Attributes:
        name: the value of --format.
        suffixes: the suffixes of files in this format.
        lay_out: returns a result as text, given the number of decimal places or None for all; None
            for a format that only files have.
        of: the only results with this format, "values" of an evaluation or "verdicts" of gates;
            empty if all have it.
        kind: how `show` escapes the text.
    """

    name: str
    suffixes: tuple[str, ...] = ()
    lay_out: Callable[[Result, int | None], str] | None = None
    of: Literal["", "values", "verdicts"] = ""
    kind: ClassVar[Literal["data", "table"]] = "data"

    def render(self, result: Result, digits: int | None) -> str:
        """Return a result as text."""
        assert self.lay_out is not None, self.name
        return self.lay_out(result, digits)


@dataclass(frozen=True, kw_only=True)
class TableFormat(Format):
    """A format for people: tables of texts, with four decimal places by default.

    Attributes:
        table: lays out texts, with the marks of a leaderboard.
        board: lays out a leaderboard, if not as any other table; see `paper.paper_table`.
        best: the words for the best value in the legend of a leaderboard.
        note: the layout of a line below the table.
        escape: makes a name for the legend from a text.
        has_summary: whether verdicts of gates have signs, and a summary above them.
    """

    table: Callable[[Rows, Marks], str]
    board: Callable[..., str] | None = None
    best: str = "**bold** best"
    note: str = "\n{}\n"  # without the empty line, Markdown would join the lines
    escape: Callable[[str], str] = markdown.inline
    has_summary: bool = False
    kind: ClassVar[Literal["data", "table"]] = "table"

    def render(self, result: Result, digits: int | None) -> str:
        """Return a result as text."""
        return self.table(texts_of(Rows.of(result), digits), {})


def rendered(result: Result, name: str, digits: int | None) -> str:
    """Return a result as text in the format of a name."""
    return FORMATS[name].render(result, digits)


def with_columns(result: Result, names: str | None) -> Result:
    """Return a result with the columns of --columns: names between commas, None and "all" for all.

    A column of a leaderboard comes with those of its marks, intervals and spread.

    Raises:
        UsageError: there is no such column.
    """
    if names is None or names.strip().lower() == "all":
        return result
    there = list(map(str, result.names if isinstance(result, Rows) else result.columns))
    chosen: list[str] = []
    for name in dict.fromkeys(part.strip() for part in re.split(r",(?![^(]*\))", names)):
        if name not in there:
            raise UsageError(
                f"--columns: there is no column {name!r}{suggestion(name, there)}; the result has "
                + ", ".join(there)
            )
        chosen += [name, *(one for one in further_columns(name) if one in there)]
    chosen = list(dict.fromkeys(chosen))
    return result.only(chosen) if isinstance(result, Rows) else result[chosen]


def has_summary(name: str) -> bool:
    """Return whether verdicts have signs in a format, and a summary above them."""
    format_ = FORMATS[name]
    return isinstance(format_, TableFormat) and format_.has_summary


def formats_of(results: str = "") -> list[Format]:
    """Return the formats of some results: "values", "verdicts", or others."""
    return [one for one in FORMATS.values() if one.of in ("", results)]


def choices_of(results: str = "") -> list[str]:
    """Return the values of --format for some results."""
    return [one.name for one in formats_of(results) if one is not PARQUET]


def suffixes_of(results: str = "") -> list[str]:
    """Return the usual suffixes of files with some results."""
    return sorted(one.suffixes[0] for one in formats_of(results) if one.suffixes)


def format_of(path: Path, asked: str | None, results: str = "") -> str:
    """Return the format of an output file: `asked`, or else the format of its suffix.

    `results`: "values", "verdicts", or empty for others.

    Raises:
        UsageError: the suffix is unknown and `asked` is None, or the suffix is .parquet and `asked`
            is another format.
    """
    suffix = path.suffix.lower()
    found = next((one for one in formats_of(results) if suffix in one.suffixes), None)
    if asked is None and found is None:
        known = sorted(suffix for one in formats_of(results) for suffix in one.suffixes)
        raise UsageError(
            f"cannot tell the format of {path}; add --format, or use one of the suffixes "
            + ", ".join(known)
        )
    if found and found is PARQUET and asked is not None:
        raise UsageError(
            f"{path} has the suffix of Parquet, but --format is {asked}; change one of them"
        )
    return asked or found.name  # type: ignore[union-attr]


def _csv(result: Result, digits: int | None) -> str:
    """Lay out CSV, whose lines end in a line feed, with carriage returns only inside quotes.

    Before Python 3.13, the writer quotes a field only for characters of the terminator, but readers
    end a line at any carriage return.
    """

    def written(end: str) -> str:
        if not isinstance(result, Rows):
            places = None if digits is None else f"%.{digits}f"
            return str(
                without_bytes(result).to_csv(index=False, float_format=places, lineterminator=end)
            )
        text = io.StringIO()
        writer = csv.writer(text, lineterminator=end)
        writer.writerow(result.names)
        writer.writerows([_field(value, digits) for value in row] for row in result.values)
        return text.getvalue()

    text = written("\n")
    if "\r" not in text:
        return text
    parts = re.finditer(r'("(?:[^"]|"")*")|\r\n|[^"\r]+', written("\r\n"))
    return "".join("\n" if part[0] == "\r\n" else part[0] for part in parts)


def _field(value: Any, digits: int | None) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, list):  # the examples of a finding
        return json.dumps(value, ensure_ascii=False, default=text_of)
    if isinstance(value, float) and digits is not None:
        return f"{rounded(value, digits):.{digits}f}"
    return value


def json_text(value: Any, indent: int | None = None) -> str:
    """Write JSON, with control characters escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=text_of)
    return visible_json(text + "\n")


def records_of(result: Result, digits: int | None) -> list[dict[str, Any]]:
    """Return the rows of a result as JSON can hold them."""
    rows = Rows.of(result)
    return [
        {name: _plain(value, digits) for name, value in zip(rows.names, row, strict=True)}
        for row in rows.values
    ]


def _plain(value: Any, digits: int | None) -> Any:
    """Return a value that JSON can hold: no NaN, no infinity, no NumPy types."""
    if isinstance(value, dict):
        return {name: _plain(entry, digits) for name, entry in value.items()}
    if is_missing(value):
        return None
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and abs(value) == float("inf"):
        return None
    return rounded(value, digits) if isinstance(value, float) and digits is not None else value


def _tracked(name: str) -> Callable[[Result, int | None], str]:
    """Return a function that lays out the values of an evaluation as a tracker reads them."""

    def render(result: Result, digits: int | None) -> str:
        from sqlmetrics.stats import trackers

        return json_text(_plain(getattr(trackers, name)(result), digits), 2)

    return render


def _junit(result: Result, digits: int | None) -> str:
    from sqlmetrics.cli import junit

    return junit.suites(Rows.of(result), digits)


_MARKDOWN = TableFormat(name="markdown", suffixes=(".md",), table=markdown.table)
PARQUET = Format(name="parquet", suffixes=(".parquet",))
FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        TableFormat(
            name="table", suffixes=(".txt",), table=table_text,
            best="* best", note="{}\n", escape=one_line,
        ),
        Format(name="csv", suffixes=(".csv",), lay_out=_csv),
        Format(
            name="json", suffixes=(".json",),
            lay_out=lambda *result: json_text(records_of(*result), 2),
        ),
        Format(
            name="jsonl", suffixes=(".jsonl", ".ndjson"),
            lay_out=lambda *result: "".join(map(json_text, records_of(*result))),
        ),
        _MARKDOWN,
        replace(_MARKDOWN, name="github", suffixes=(), has_summary=True),
        TableFormat(
            name="latex", suffixes=(".tex",), table=paper.latex_table, board=paper.paper_table,
            best="bold best, underlined second best", note="% {}\n", escape=one_line,
        ),
        Format(name="mlflow", lay_out=_tracked("values_by_name"), of="values"),
        Format(name="dvc", lay_out=_tracked("nested_values"), of="values"),
        Format(name="junit", suffixes=(".xml",), lay_out=_junit, of="verdicts"),
        PARQUET,
    )
}  # fmt: skip
