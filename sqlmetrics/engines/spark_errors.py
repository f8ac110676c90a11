"""Interpret the text of Spark's errors, which is more specific than their classes."""

from __future__ import annotations

import re

_MOST = 400  # characters of a message
# conditions of errors
MISSING_PATH = "PATH_NOT_FOUND"
UNKNOWN_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")
TAKEN = ("PATH_ALREADY_EXISTS", "TABLE_OR_VIEW_ALREADY_EXISTS")
UNREADABLE = ("FAILED_READ_FILE", "CANNOT_READ", "PARQUET", "CAST_INVALID")  # beginnings


def is_of_spark(error: BaseException) -> bool:
    """Return whether the error comes from Spark or from the connection to it."""
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j", "grpc") or isinstance(
        error, ConnectionError
    )


def condition(error: Exception) -> str:
    """Return Spark's condition for the error, such as PATH_NOT_FOUND; empty if it has none."""
    match = re.search(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]", str(error))
    return match[1].partition(".")[0] if match else ""


def reason(error: Exception) -> str:
    """Return Spark's message in one line, without query plan and Java stack trace."""
    text = str(error).strip() or type(error).__name__
    text = re.split(r"\n\s*(?:at |'|==|JVM stacktrace|Caused by)|SQLSTATE|; line \d+ pos", text)[0]
    if caused := re.findall(r"Caused by: ([^\n]+)", str(error)):
        text = f"{text}: {caused[-1]}" if condition(error) else caused[-1]
    return " ".join(text.split()).rstrip(" ;:")[:_MOST]
