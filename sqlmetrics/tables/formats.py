"""Tell the format of a file from its name and its first bytes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable

from sqlmetrics.errors import DataError
from sqlmetrics.tables import csv_layout
from sqlmetrics.tables.csv_layout import PACKED

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
# columns with row numbers; a column of a file with such a name hides that of the engine
_ROW_NUMBERS = {
    "parquet": ("file_index", "file_row_number", "sqlmetrics_row"),
    "csv": ("sqlmetrics_row",),
}
# an object or an array of objects, but not the name of a column, such as {x}
_JSON = re.compile(r"\s*(\{\s*[\"}]|\[\s*[\]{])")
_KNOWN_FORMATS = ".parquet, .csv, .tsv or .jsonl, a TREC run (6 columns) or qrels (4 columns)"


def head_of(label: str, path: str, shown: str) -> bytes:
    """Return the first bytes of a local file, decompressed; an empty value for a remote file.

    Raises:
        DataError: the file cannot be read, or is empty.
    """
    if "://" in path:
        return b""
    is_packed = path.lower().endswith(PACKED)
    try:
        head = _start_of(path)
    except (EOFError, zlib.error) as error:
        raise DataError(
            f"{label}: {shown} cannot be read; the file is damaged or incomplete: {error}"
        ) from error
    except OSError as error:
        if is_packed and error.errno is None:  # raised by the decompressor
            raise DataError(
                f"{label}: {shown} cannot be read; the file is damaged or incomplete: {error}"
            ) from error
        raise DataError(f"{label}: {shown} cannot be read: {error.strerror}") from error
    if not head.strip():
        raise DataError(f"{label}: {shown} is empty")
    return head


def format_of(label: str, path: str, shown: str, head: bytes) -> str:
    """Return the format of a file by its suffix or, for an unknown suffix, by its first bytes.

    Raises:
        DataError: the file has no rows, or its suffix does not match its format.
    """
    by_name = format_by_name(path)
    if "://" in path:
        return by_name or "parquet"
    is_parquet = head[:4] == b"PAR1"
    if by_name == "csv" and len(head.strip().splitlines()) == 1:
        raise DataError(f"{label}: {shown} is empty: the file has a header but no rows")
    if by_name is None:
        by_start = "parquet" if is_parquet else _text_format(head)
        if by_start is None:
            raise DataError(
                f"{label}: cannot tell the format of {shown}; supported are {_KNOWN_FORMATS}"
            )
        return by_start
    if (by_name == "parquet") != is_parquet and not path.lower().endswith(PACKED):
        actual = "a Parquet file" if is_parquet else f"not a Parquet file (it starts {head[:8]!r})"
        raise DataError(f"{label}: {shown} is {actual}; rename the file to match its format")
    return by_name


def _start_of(path: str) -> bytes:
    """Return the first bytes of a file, decompressed.

    A file compressed by zstd is read to its end, because the engine does not detect a truncated
    file.
    """
    with csv_layout.opened(path) as file:
        start = file.read(65536)
        if path.lower().endswith(".zst"):
            while file.read(1 << 22):
                pass
        return start


def format_by_name(path: str) -> str | None:
    """Return the format of a file by its suffix, or None for an unknown suffix."""
    name = path.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return next((kind for end, kind in _FORMATS.items() if name.endswith(end)), None)


def _text_format(start: bytes) -> str | None:
    text = start.decode("utf-8", errors="replace")
    if _JSON.match(text):
        return "json"
    lines = [line for line in text.splitlines() if line.strip()]
    words = lines[0].split()
    if len(words) == 6 and _is_number(words[3]) and _is_number(words[4]):
        return "trec_run"
    if len(words) == 4 and _is_number(words[3]):
        return "trec_qrels"
    return "csv" if "," in lines[0] or "\t" in lines[0] else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def hides_rows(kind: str, columns: Iterable[str]) -> str:
    """Return the first column whose name hides the engine's row numbers, or an empty text."""
    known = _ROW_NUMBERS.get(kind, ())
    return next((name for name in columns if name.lower() in known), "")
