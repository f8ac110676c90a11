"""Tell the format of a file from its name and its first bytes."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from pathlib import PurePath

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
# the words of a line
_TREC = {
    "trec_run": "a TREC run (query Q0 item rank score tag)",
    "trec_qrels": "TREC qrels (query 0 item relevance)",
}
_KNOWN_FORMATS = f".parquet, .csv, .tsv, .json or .jsonl, {' or '.join(_TREC.values())}"
_FIRST_TIME = 1e8  # a larger number is a Unix time, not a relevance
_HEAD = 65536  # bytes
_FIRST_OF_TEXT = 9  # the tab; a text has no byte below it
_DECOMPRESS = "decompress the file; sqlmetrics reads gzip (.gz) and Zstandard (.zst)"
_EXPORT = "read the file in Python and pass its rows, or export the rows as Parquet"
_ENCODING = "convert the file from this encoding to UTF-8, e.g. with iconv -f UTF-16 -t UTF-8"
_ADD_GZ, _ADD_ZST = "add .gz to its name", "add .zst to its name"
_UNPACK = {_ADD_GZ: "gunzip -c", _ADD_ZST: "zstd -dc"}  # programs for stdin, which has no name
# first bytes of files that are not read -> what they are, and the remedy
_OTHERS = {
    b"BZh": ("is compressed with bzip2", _DECOMPRESS),
    b"\xfd7zXZ\0": ("is compressed with xz", _DECOMPRESS),
    b"\x04\x22\x4d\x18": ("is compressed with LZ4", _DECOMPRESS),
    b"7z\xbc\xaf": ("is a 7z archive", _DECOMPRESS),
    b"\x1f\x8b": ("is compressed with gzip", _ADD_GZ),
    b"\x28\xb5\x2f\xfd": ("is compressed with Zstandard", _ADD_ZST),
    b"PK\x03\x04": (
        "is a ZIP archive (also .xlsx and .npz are)",
        "extract it, or read it in Python and pass its rows",
    ),
    b"\xd0\xcf\x11\xe0": ("is an Excel file", _EXPORT),
    b"\x80\x02": ("is a pickle", _EXPORT),
    b"\x80\x03": ("is a pickle", _EXPORT),
    b"\x80\x04": ("is a pickle", _EXPORT),
    b"\x80\x05": ("is a pickle", _EXPORT),
    b"\x93NUMPY": ("is a NumPy array", _EXPORT),
    b"ARROW1": ("is an Arrow (Feather) file", _EXPORT),
    b"\xff\xff\xff\xff": ("is an Arrow stream", _EXPORT),
    b"FEA1": ("is a Feather file", _EXPORT),
    b"ORC": ("is an ORC file", _EXPORT),
    b"Obj\x01": ("is an Avro file", _EXPORT),
    b"\x89HDF": ("is an HDF5 file", _EXPORT),
    b"SQLite format 3\0": ("is an SQLite database", _EXPORT),
    b"\xff\xfe": ("is encoded in UTF-16", _ENCODING),
    b"\xfe\xff": ("is encoded in UTF-16", _ENCODING),
}


def head_of(label: str, path: str, shown: str) -> bytes:
    """Return the first bytes of a local file, decompressed; an empty value for a remote file.

    Raises:
        DataError: the file cannot be read.
    """
    if "://" in path:
        return b""
    is_packed = path.lower().endswith(PACKED)
    try:
        with csv_layout.opened(path) as file:
            start = file.read(_HEAD)
            # to its end, because the engine does not detect a truncated file of zstd
            while path.lower().endswith(".zst") and file.read(1 << 22):
                pass
            return start
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


def format_of(label: str, path: str, shown: str, head: bytes) -> str:
    """Return the format of a file by its suffix or, for an unknown suffix, by its first bytes.

    Raises:
        DataError: the file has no rows, its format is not supported, or its suffix does not match
            its format.
    """
    by_name = format_by_name(path)
    if "://" in path:
        return by_name or "parquet"
    if not head.strip():
        raise DataError(f"{label}: {shown} is empty")
    is_parquet = head[:4] == b"PAR1"
    _check_start(label, shown, head)
    if not is_parquet and by_name in (None, "csv"):
        lines = lines_of(head)
        if kind := _trec_format(label, shown, lines, by_name):
            return kind
        if by_name == "csv" and is_header_only(head):
            of = csv_layout.layout(path, head)
            if names := csv_layout.names_like_values(head, of):
                raise csv_layout.no_header(label, shown, of, [*names.values()])
            raise DataError(f"{label}: {shown} is empty: the file has a header but no rows")
    if by_name is None:
        by_start = "parquet" if is_parquet else _text_format(head)
        if by_start is None:
            raise _unknown(label, shown, head)
        return by_start
    if (by_name == "parquet") != is_parquet and not path.lower().endswith(PACKED):
        actual = "a Parquet file" if is_parquet else f"not a Parquet file (it starts {head[:8]!r})"
        raise DataError(f"{label}: {shown} is {actual}; rename the file to match its format")
    return by_name


def format_by_name(path: str) -> str | None:
    """Return the format of a file by its suffix, or None for an unknown suffix."""
    name = path.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return next((kind for end, kind in _FORMATS.items() if name.endswith(end)), None)


def is_header_only(head: bytes) -> bool:
    """Return whether the head of a file is a single line."""
    return len(head) < _HEAD and len(lines_of(head)) == 1


def lines_of(head: bytes) -> list[str]:
    """Return the lines at the start of a file that are not blank, without one that is cut off."""
    text = head.decode("utf-8-sig", errors="replace")
    lines = text.splitlines()[:-1] if len(head) == _HEAD else text.splitlines()
    return [line for line in lines or [text] if line.strip()]


def _check_start(label: str, shown: str, head: bytes) -> None:
    """Check the first bytes of a file for formats and encodings that are not read."""
    found = next(
        (
            what
            for start, what in _OTHERS.items()
            if head.startswith(start) and (not start.isalnum() or min(head) < _FIRST_OF_TEXT)
        ),
        None,
    )
    if head[:2].count(0) == 1:  # without a byte order mark
        found = _OTHERS[b"\xff\xfe"]
    if head[257:262] == b"ustar":
        found = ("is a tar archive", "extract it")
    if found:
        what, remedy = found
        if shown == "stdin" and (program := _UNPACK.get(remedy)):
            remedy = f"decompress it: {program} FILE | sqlmetrics …"
        raise DataError(f"{label}: {shown} {what}, which cannot be read", remedy=remedy)


def _text_format(start: bytes) -> str | None:
    if _JSON.match(start.decode("utf-8-sig", errors="replace")):
        return "json"
    first = lines_of(start)[0]
    return "csv" if "," in first or "\t" in first else None


def _trec_format(label: str, shown: str, lines: Sequence[str], by_name: str | None) -> str | None:
    """Return the format of a TREC file; None for other files.

    The second column of a TREC file has one value, such as Q0 or 0. A file of ratings without a
    header (user, item, rating, time) has as many columns, and its second column has many values.
    """
    words = [line.split() for line in lines]
    kinds = [*map(_kind_of_line, words)]
    kind, first = kinds[0], words[0]
    if kind:
        second = {line[1] for line, other in zip(words, kinds, strict=True) if other == kind}
        is_time = kind == "trec_qrels" and float(first[3]) >= _FIRST_TIME
        if by_name == "csv":
            return kind if {*map(str.upper, second)} in ({"0"}, {"Q0"}) else None
        is_named = "qrels" in PurePath(shown).name.lower()  # its iterations may differ
        if (len(second) == 1 or is_named) and not is_time:
            return kind
        raise DataError(
            f"{label}: {shown} has no header, and is not {_TREC[kind]}, because its "
            + ("fourth column has times" if is_time else "second column has several values")
            + f": {lines[0]!r}",
            remedy=csv_layout.with_names(shown, "\t" if "\t" in lines[0] else " "),
        )
    later = next((k for k, line in zip(kinds, words, strict=True) if k and _is_marked(line)), None)
    if by_name is None and (_is_marked(first, "Q0") or (later and "\t" not in lines[0])):
        wanted = later or ("trec_qrels" if len(first) == 4 else "trec_run")
        numbers = "rank and score are numbers"
        if wanted == "trec_qrels":
            numbers = "the relevance is a number"
        raise DataError(
            f"{label}: {shown}, line 1 is not a line of {_TREC[wanted]}, where {numbers}: "
            f"{lines[0][:80]!r}",
            remedy="correct the line, or remove it if it is a header or a comment",
        )
    return None


def _kind_of_line(words: Sequence[str]) -> str | None:
    """Return the TREC format that a line with these words has; None for other lines."""
    if len(words) == 6 and csv_layout.is_number(words[3]) and csv_layout.is_number(words[4]):
        return "trec_run"
    if len(words) == 4 and csv_layout.is_number(words[3]) and words[0][-1] not in ",;|":
        return "trec_qrels"
    return None


def _is_marked(words: Sequence[str], *marks: str) -> bool:
    """Return whether the second word is that of TREC files."""
    return len(words) > 1 and words[1].upper() in (marks or ("Q0", "0"))


def _unknown(label: str, shown: str, head: bytes) -> DataError:
    first = lines_of(head)[0]
    separator = "::" if "::" in first else " "
    is_data = any(map(csv_layout.is_number, first.split(None if separator == " " else separator)))
    return DataError(
        f"{label}: cannot tell the format of {shown}, whose first line is {first[:80]!r}; "
        f"supported are {_KNOWN_FORMATS}",
        remedy=csv_layout.with_names(shown, separator) if is_data else "",
    )


def hides_rows(kind: str, columns: Iterable[str]) -> str:
    """Return the first column whose name hides the engine's row numbers, or an empty text."""
    known = _ROW_NUMBERS.get(kind, ())
    return next((name for name in columns if name.lower() in known), "")
