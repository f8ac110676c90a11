"""Interpret the text of DuckDB's errors, which is more specific than their classes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb

from sqlmetrics.texts.masking import masked

_NOT_WRITTEN = re.compile(r'Could not write file \\?"(.+?)\\?": ([^"]+)')
_OF_PARQUET = re.compile(r"parquet|decompress|corrupt|Failed to read file", re.IGNORECASE)
# of Python packages that read remote files, with the class of the error
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(?:[\w.]+: )?")
_MOST = 400  # characters of a message


def not_written(error: duckdb.Error) -> tuple[Path, str] | None:
    """Return the file that could not be written, and the reason; None for other errors."""
    match = _NOT_WRITTEN.search(str(error))
    return (Path(match[1]), match[2]) if match else None


def may_be_damage(error: duckdb.Error) -> bool:
    """Return whether a damaged Parquet file may have caused the error."""
    return bool(_OF_PARQUET.search(reason(error)))


def execute(connection: duckdb.DuckDBPyConnection, statement: str) -> duckdb.DuckDBPyConnection:
    """Run a statement, and replace errors that DuckDB raises with unsuitable classes.

    Raises:
        KeyboardInterrupt: replaces the RuntimeError that DuckDB raises in the main thread.
        duckdb.InvalidInputException: replaces the RuntimeError of DuckDB 1.4 for a damaged file.
    """
    try:
        return connection.execute(statement)
    except duckdb.Error:
        raise
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from error
        raise duckdb.InvalidInputException(str(error)) from error


def has_zoned_times(description: Any) -> bool:
    """Return whether a result with this description has columns of times with a zone."""
    return any("WITH TIME ZONE" in str(kind) for _, kind, *_ in description)


def reason(error: Exception) -> str:
    """Return the engine's message in one line, without its configuration hints."""
    text = _TRACEBACK.sub("", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    kept: list[str] = []
    for line in lines or [type(error).__name__]:
        if line.startswith(
            ("LINE ", "Possible ", "* ", "Candidate ", "file =", "^", "The search space")
        ):
            break
        kept.append(line)
    return re.sub(r"^[A-Z][A-Za-z ]+ Error: ", "", masked(" ".join(kept)))[:_MOST]


def remedy_of(reason: str) -> str:
    """Return how to solve the problem of a source that cannot be read, or an empty text."""
    if re.search("not utf-8|invalid (unicode|utf-?8)", reason, re.IGNORECASE):
        return "convert the file from its encoding to UTF-8, e.g. with iconv -f LATIN1 -t UTF-8"
    if "file system operations are disabled" in reason:
        return (
            "a view of a DuckDB file that reads other files is read by a query, e.g. "
            "shop.duckdb:FROM recs for the view recs"
        )
    return ""


def reason_alone(error: Exception) -> str:
    """Return the engine's message without the hint at its end."""
    return re.split(r" Did you mean|\. This limit", reason(error))[0].rstrip("!.")
