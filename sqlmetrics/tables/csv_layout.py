"""How a CSV file is laid out: what separates its values, and where its header is.

The engine guesses both from the rows, and leaves out rows that do not fit its guess: as comments,
or as lines above the header. So the header says what separates values, and a row with more or fewer
of them is refused.
"""

from __future__ import annotations

import csv
import gzip
import io
from typing import BinaryIO, cast

from sqlmetrics.engines.relation import Layout

PACKED = (".gz", ".zst")
SEPARATORS = ",\t;|"


def opened(path: str) -> BinaryIO:
    """Open a file to read its bytes, unpacked."""
    if path.lower().endswith(".gz"):
        return cast(BinaryIO, gzip.open(path))
    if path.lower().endswith(".zst"):
        import pyarrow as pa

        return cast(BinaryIO, io.BufferedReader(pa.CompressedInputStream(path, "zstd")))
    return open(path, "rb")


def layout(path: str) -> Layout | None:
    """Tell the layout of a local file from its header; None: it has one column.

    Blank lines and comments (`# …`) may stand above the header.
    """
    with opened(path) as file:
        lines = file.read(65536).decode("utf-8-sig", errors="replace").splitlines()
    n_above = next(
        (n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0
    )
    header = lines[n_above] if lines else ""
    best = max(SEPARATORS, key=lambda separator: len(_values(header, separator)))
    return Layout(best, n_above) if len(_values(header, best)) > 1 else None


def broken_line(path: str, of: Layout) -> str:
    """Describe the first line of a local file that has not the values that its header names.

    Returns:
        A sentence without its subject, such as `has a line whose …`; empty: all lines are fine.
    """
    with opened(path) as binary, io.TextIOWrapper(binary, "utf-8-sig", "replace", "") as text:
        for _ in range(of.n_above):
            next(text)
        rows = csv.reader(text, delimiter=of.separator, strict=True)
        header: list[str] = []
        line = of.n_above + 1
        try:
            for row in rows:
                if not header:
                    header = row
                elif row and len(row) != len(header):
                    shown = of.separator.join(row)
                    return (
                        f"has a line whose number of values is not that of its header: {len(row)} "
                        f"instead of {len(header)} in line {line}, {shown[:80]!r}. Mend the line; "
                        f"double quotes enclose a value that has a {of.separator!r}"
                    )
                line = of.n_above + rows.line_num + 1
        except csv.Error:
            return (
                f"has a quote that is not closed, in or after line {line}. Close it; in a value "
                "that has quotes, double them and enclose the value in quotes"
            )
    return ""


def _values(header: str, separator: str) -> list[str]:
    return next(csv.reader([header], delimiter=separator), [])
