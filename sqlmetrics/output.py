"""Results to files and terminals, in every format of the command line."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlmetrics.errors import DataError, UsageError

if TYPE_CHECKING:
    import pandas as pd


@contextlib.contextmanager
def whole_file(path: Path, force: bool) -> Iterator[Path]:
    """Hand out a temporary path; what is written there becomes `path`, whole or not at all.

    Raises:
        DataError: the file exists and `force` is not set, or its folder does not exist.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file to write to")
    if path.exists() and not force:
        raise DataError(f"{path} exists and is not overwritten; add --force to replace it")
    if not path.parent.is_dir():
        raise DataError(f"cannot write {path}: there is no folder {path.parent}")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        if force:
            os.replace(temporary, path)
        else:
            try:
                os.link(temporary, path)  # fails if somebody else wrote it meanwhile
            except FileExistsError:
                raise DataError(
                    f"{path} was written by somebody else meanwhile; it is left as it is"
                ) from None
            except OSError:  # a file system without links
                os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


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
    """Lay out a result as text ; `digits` rounds what is shown.

    Machine formats (csv, json, jsonl) have full precision unless `digits` is given; tables show
    four digits.
    """
    if digits is None and kind in ("table", "markdown", "latex"):
        digits = 4
    if kind in ("json", "jsonl"):
        records = [
            {name: _plain(value, digits) for name, value in zip(frame.columns, row, strict=True)}
            for row in frame.itertuples(index=False, name=None)
        ]
        if kind == "jsonl":
            return "".join(json.dumps(r, ensure_ascii=False, default=str) + "\n" for r in records)
        return json.dumps(records, ensure_ascii=False, indent=2, default=str) + "\n"
    if kind == "csv":
        rounded = None if digits is None else f"%.{digits}f"
        return str(frame.to_csv(index=False, float_format=rounded))
    cells = frame.astype(object).map(lambda value: _shown(value, digits or 0))
    if kind == "latex":
        return _latex(cells)
    if kind == "markdown":
        return _markdown(cells, frame)
    return _table(cells, frame)


def _plain(value: Any, digits: int | None) -> Any:
    """Return a value as JSON knows it: no NaN, no NumPy types."""
    if _is_missing(value):
        return None
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and abs(value) == float("inf"):
        return None  # JSON has no infinity
    return round(value, digits) if isinstance(value, float) and digits is not None else value


def _shown(value: Any, digits: int) -> str:
    if _is_missing(value):
        return ""
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def _is_missing(value: Any) -> bool:
    import pandas as pd

    return value is None or value is pd.NA or (isinstance(value, float) and value != value)


def _numeric(frame: pd.DataFrame) -> list[bool]:
    from pandas.api.types import is_numeric_dtype

    return [is_numeric_dtype(dtype) for dtype in frame.dtypes]


def _table(cells: pd.DataFrame, frame: pd.DataFrame) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold")
    for name, numeric in zip(cells.columns, _numeric(frame), strict=True):
        table.add_column(Text(name), justify="right" if numeric else "left", no_wrap=True)
    for row in cells.itertuples(index=False, name=None):
        table.add_row(*[Text(cell) for cell in row])
    width = Console().width if sys.stdout.isatty() else 10_000
    console = Console(width=width, force_terminal=sys.stdout.isatty())
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def _markdown(cells: pd.DataFrame, frame: pd.DataFrame) -> str:
    def line(row: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n"

    rule = ["---:" if numeric else "---" for numeric in _numeric(frame)]
    rows = cells.itertuples(index=False, name=None)
    return line(cells.columns) + line(rule) + "".join(line(row) for row in rows)


def _latex(cells: pd.DataFrame) -> str:
    escaped = {char: "\\" + char for char in "&%$#_{}"}
    escaped |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}

    def line(row: Iterable[str]) -> str:
        return " & ".join("".join(escaped.get(c, c) for c in cell) for cell in row) + " \\\\\n"

    rows = cells.itertuples(index=False, name=None)
    body = "\\hline\n" + line(cells.columns) + "\\hline\n" + "".join(map(line, rows)) + "\\hline\n"
    return f"\\begin{{tabular}}{{{'l' * len(cells.columns)}}}\n{body}\\end{{tabular}}\n"
