"""Find the quote characters of CSV files, unclosed quotes and broken lines."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from sqlmetrics.engines.base import Engine
from sqlmetrics.engines.relation import Layout, Relation
from sqlmetrics.errors import DataError
from sqlmetrics.sql.templates import render_file
from sqlmetrics.tables import csv_layout
from sqlmetrics.tables.csv_layout import PACKED, mixed_ends

_QUOTE = '"'  # quote character of CSV files


def common_layout(
    label: str, paths: Sequence[str], shown: Sequence[str], heads: Sequence[bytes]
) -> Layout | None:
    """Return the common layout of CSV files, or None if the engine has to detect it.

    `heads` has the first bytes of each file, decompressed.

    Raises:
        DataError: two files have different layouts.
    """
    if any("://" in path for path in paths):
        return None
    first, *others = map(csv_layout.layout, paths, heads)
    for name, other in zip(shown[1:], others, strict=True):
        if other != first:
            raise DataError(
                f"{label}: {shown[0]} and {name} have different separators, or a different number "
                "of lines before the header. Write all files in the same format"
            )
    return first


def check_lines(
    label: str,
    paths: Sequence[str],
    shown: Sequence[str],
    layout: Layout | None,
    error: Exception,
) -> None:
    """Look for lines with a wrong number of values or an unclosed quote, and mixed line ends.

    Files without a layout are those of TREC, which have no quotes.

    Raises:
        DataError: names the file and the line.
    """
    for path, name in zip(paths, shown, strict=True):
        if "://" in path:
            continue
        if fault := csv_layout.broken_line(path, layout) if layout else mixed_ends(path):
            raise DataError(f"{label}: {name}{fault}") from error


@contextlib.contextmanager
def lines_checked(engine: Engine, table: str, relation: Relation) -> Iterator[None]:
    """Name the broken line of a CSV file whose rows the engine cannot read.

    Raises:
        DataError: names the table, the file and the line.
    """
    try:
        yield
    except DataError as error:
        shown = [engine.shown(path) for path in relation.files]
        if relation.layout:
            check_lines(table, relation.files, shown, relation.layout, error)
        raise


def quotes_of_files(engine: Engine, label: str, paths: Sequence[str], layout: Layout | None) -> str:
    """Return the quote and escape characters of CSV files, or "" if the engine detects them.

    The engine detects them in the first file only, so that quotes in other files would become part
    of their values. It may also detect apostrophes, which are part of values, as quotes in any
    file.
    """
    if not any(_may_break(path, b"\"'") for path in paths):
        return ""
    detected = ""
    for path in paths:
        character, escape = _quotes(engine, label, path, layout)
        if character == _QUOTE:
            return "" if len(paths) == 1 else character + (escape or character)
        detected += character
    return _QUOTE * 2 if detected else ""


def _quotes(engine: Engine, label: str, path: str, layout: Layout | None) -> tuple[str, str]:
    """Return the quote and escape characters that the engine detects in a CSV file.

    A character that the engine does not detect is an empty text.
    """
    query = render_file("inputs/quotes", {"files": path, "layout": layout})
    (row,) = engine.query(query, f"{label}: {path}")
    quote, escape = (
        str(row[f"{what}_character"]).replace("(empty)", "") for what in ("quote", "escape")
    )
    return quote, escape


def check_quotes(
    engine: Engine, table: str, relation: Relation, columns: Sequence[str]
) -> list[str]:
    """Check that no unclosed quote or NUL byte has changed an id in a CSV file.

    Returns:
        Warnings about ids with line breaks.

    Raises:
        DataError: names the file, and the line of the quote or the id with the NUL byte.
    """
    texts = [
        name
        for name in columns
        if relation.types[name] == "VARCHAR" and name not in relation.of_folders
    ]
    if relation.format != "csv" or not texts or not any(map(_may_break, relation.files)):
        return []
    query = render_file("inputs/broken_ids", {"columns": texts, "relation": relation.sql})
    with lines_checked(engine, table, relation):
        (row,) = engine.query(query, relation.label)
    warned = []
    for number, column in enumerate(texts, start=1):
        where = f"{table}, column {column}: {relation.label}"
        with_quote, with_nul, lines = (
            row[f"{kind}_{number}"] for kind in ("quote", "nul", "lines")
        )
        if with_nul is not None:
            raise DataError(
                f"{where} has an id with a NUL byte, e.g. {with_nul[:80]!r}; the file is damaged. "
                "Export or copy the file again"
            )
        if with_quote is not None and (
            fault := _unclosed_quote(engine, relation, f"in the id {with_quote[:80]!r}")
        ):
            raise DataError(f"{table}: {fault}")
        if lines is not None:
            warned.append(
                f"{where} has an id with line breaks, e.g. {lines[:80]!r}. If these lines are "
                "separate rows, close the quote before them"
            )
    return warned


def _may_break(path: str, characters: bytes = b'"\0') -> bool:
    """Return whether a CSV file may contain a quote or a NUL byte, or one of `characters`.

    The search is much faster than reading the ids. It returns True for compressed and remote files.
    """
    if "://" in path or path.lower().endswith(PACKED):
        return True
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            if any(character in block for character in characters):
                return True
    return False


def _unclosed_quote(engine: Engine, relation: Relation, place: str) -> str:
    """Return the name and fault of the first CSV file with an unclosed quote, or an empty text.

    A file without a fault may reach this point, because the engine may detect single quotes, or
    none, although all double quotes are closed. `place` describes the fault of a file that only the
    engine can read.
    """
    of = relation.layout
    for path in filter(_may_break, relation.files):
        if _quotes(engine, relation.label, path, of)[0] != _QUOTE:
            fault = csv_layout.broken_line(path, of) if of else csv_layout.unclosed_quote(place)
            if fault:
                return f"{engine.shown(path)}{fault}"
    return ""
