"""The layout of a CSV file: its separator and the line of its header.

DuckDB infers both from the rows, and skips rows that do not match as comments or as lines before
the header. This module infers the separator from the header, so that a row with a different number
of values is an error.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import BinaryIO, cast

from sqlmetrics.engines.relation import Layout
from sqlmetrics.errors import DataError
from sqlmetrics.sql.quoting import identifier, literal

PACKED = (".gz", ".zst")
SEPARATORS = ",\t;|"
_ABOVE = re.compile(r'#|"?sep=.?"?$')  # lines before a header


def opened(path: str) -> BinaryIO:
    """Open a file for reading and decompress it."""
    if path.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path))
    if path.lower().endswith(".zst"):
        import pyarrow as pa

        return cast(BinaryIO, io.BufferedReader(pa.CompressedInputStream(path, "zstd")))
    return open(path, "rb")


def layout(path: str, head: bytes) -> Layout:
    """Return the layout of a local file from its first bytes, decompressed.

    If the header has one column, the suffix decides: the separator is a tab for .tsv, otherwise a
    comma. Blank lines, comments (`# …`) and the separator for Excel (`sep=;`) before the header are
    skipped.
    """
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    n_above = next(
        (n for n, line in enumerate(lines) if line.strip() and not _ABOVE.match(line)), 0
    )
    header = lines[n_above] if lines else ""
    of_suffix = "\t" if ".tsv" in PurePath(path).suffixes else ","
    best = max(of_suffix + SEPARATORS, key=lambda separator: len(_values(header, separator)))
    return Layout(best, n_above)


def broken_line(path: str, of: Layout) -> str:
    """Find the first line of a local file with a wrong number of values or an unclosed quote.

    If there is none, look for rows that end in different ways, which the engine cannot read.

    Returns:
        The line and the problem, to append to the name of the file; empty if all lines are valid.
    """
    with opened(path) as binary, io.TextIOWrapper(binary, "utf-8-sig", "replace", "") as text:
        ends = {_end(next(text)) for _ in range(of.n_above)}
        last = [""]  # the last line that was read
        rows = csv.reader(_noted(text, last), delimiter=of.separator, strict=True)
        header: list[str] = []
        line = of.n_above + 1
        try:
            for row in rows:
                if not header:
                    header = row
                elif row and len(row) != len(header):
                    shown = of.separator.join(row)
                    return (
                        f", line {line} should have {len(header)} values, as the header has, "
                        f"but has {len(row)}: {shown[:80]!r}. Correct the line; enclose values "
                        f"that contain {of.separator!r} in double quotes"
                    )
                line = of.n_above + rows.line_num + 1
                ends.add(_end(last[0]))
        except csv.Error:
            return unclosed_quote(f"in or after line {line}")
    return _if_mixed(ends)


def mixed_ends(path: str) -> str:
    """Describe the line ends of a local file without quotes if they are mixed; else empty."""
    with opened(path) as binary, io.TextIOWrapper(binary, "utf-8", "replace", "") as text:
        return _if_mixed({*map(_end, text)})


def _if_mixed(ends: set[str]) -> str:
    if len(ends - {""}) < 2:
        return ""
    return (
        " has mixed line ends: some lines end in LF, others in CRLF or CR. Write all lines with "
        "the same ends, e.g. with tr -s '\\r' '\\n' < FILE > NEW_FILE"
    )


def _noted(lines: Iterable[str], last: list[str]) -> Iterator[str]:
    for last[0] in lines:
        yield last[0]


def _end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def unclosed_quote(place: str) -> str:
    """Return the message about an unclosed quote, to append to the name of the file."""
    return (
        f" has an unclosed quote {place}. Close the quote; in values that contain quotes, double "
        "them and enclose the value in quotes"
    )


def names_like_values(head: bytes, of: Layout) -> dict[int, str]:
    """Return the positions of columns whose names in the header look like values, and the names.

    Such a name is a number, or a value of its own column in one of the first rows. The header of a
    frame without names has the numbers from 0; a name without digits, above values that all have
    digits, shows that the first line is a header.
    """
    header, *rows = _rows(head, of)
    numbers = [name for name in header if is_number(name)]
    from_zero = bool(numbers) and numbers == [*map(str, range(len(numbers)))]
    columns = [[row[n] for row in rows if n < len(row)] for n in range(len(header))]
    is_header = any(
        name and values and not _has_digit(name) and all(map(_has_digit, values))
        for name, values in zip(header, columns, strict=True)
    )
    if is_header or from_zero:
        return {}
    named = enumerate(zip(header, columns, strict=True))
    return {n: name for n, (name, held) in named if is_number(name) or (name and name in held)}


def repeated_names(head: bytes, of: Layout) -> dict[int, str]:
    """Return the positions and names of columns whose name, in any letter case, others have."""
    header = next(_rows(head, of), [])
    lowered = [name.lower() for name in header]
    named = enumerate(header)
    return {n: name for n, name in named if name and lowered.count(name.lower()) > 1}


def _rows(head: bytes, of: Layout) -> Iterator[list[str]]:
    lines = head.decode("utf-8-sig", errors="replace").splitlines()[of.n_above :]
    return filter(None, csv.reader(lines, delimiter=of.separator))


def no_header(label: str, shown: str, of: Layout, names: Sequence[str]) -> DataError:
    """Return the error for a file whose first line has values, such as `names`."""
    return DataError(
        f"{label}: {shown} has no header: its first line has values, e.g. {names[0]!r}",
        remedy="add a first line with the names of the columns, or "
        + with_names(shown, of.separator),
    )


def with_names(path: str, separator: str) -> str:
    """Return the remedy that reads a file without a header."""
    named = query([path], separator, "header = false, names = ['user_id', …]")
    return f"list the names of the columns in a query: {named}"


def query(paths: Sequence[str], separator: str, options: str) -> str:
    """Return a query that reads files with further options of DuckDB's reader."""
    delimiter = "\\t" if separator == "\t" else separator
    given = literal(paths[0] if len(paths) == 1 else [*paths])
    return f"FROM read_csv({given}, delim = '{delimiter}', {options})"


def read_with_commas(
    paths: Sequence[str], of: Layout, column: str, of_thousands: bool, are_decimal: bool
) -> str:
    """Return the remedy for numbers with commas, which may separate thousands or be decimal."""
    name = identifier(column)
    as_text = query(paths, of.separator, f"types = {{{literal(column)}: 'VARCHAR'}}")
    without = f"SELECT * REPLACE (CAST(replace({name}, ',', '') AS DOUBLE) AS {name}) {as_text}"
    with_points = query(paths, of.separator, "decimal_separator = ','")
    if of_thousands and are_decimal:
        return (
            "write numbers with a decimal point and no other separator, or read them with a "
            f"query. If the commas are decimal: {with_points}; if they separate thousands: "
            f"{without}"
        )
    remedy = "write numbers with a decimal point and no other separator"
    queries = {without: of_thousands, with_points: are_decimal}
    fits = "".join(f", or read them with a query: {text}" for text in queries if queries[text])
    return remedy + fits


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _values(header: str, separator: str) -> list[str]:
    return next(csv.reader([header], delimiter=separator), [])
