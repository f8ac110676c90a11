"""Reads the words of Spark's errors, which tell more than their classes; no other module does."""

from __future__ import annotations

import re

_MOST = 400  # characters of a message
_UNKNOWN_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "REQUIRES_SINGLE_PART_NAMESPACE")
_TAKEN = ("PATH_ALREADY_EXISTS", "TABLE_OR_VIEW_ALREADY_EXISTS")
_UNREADABLE = ("FAILED_READ_FILE", "CANNOT_READ", "PARQUET", "CAST_INVALID")


def is_of_spark(error: BaseException) -> bool:
    """Does the error come from Spark, or from the connection to it?"""
    return type(error).__module__.partition(".")[0] in ("pyspark", "py4j", "grpc") or isinstance(
        error, ConnectionError
    )


def java_did_not_start(error: Exception) -> bool:
    """Did the Java that runs Spark end at once?"""
    return "JAVA_GATEWAY_EXITED" in str(error)


def is_missing_path(error: Exception) -> bool:
    """Is there no file at a path?"""
    return _condition(error) == "PATH_NOT_FOUND"


def is_unknown_table(error: Exception) -> bool:
    """Does the catalog lack a table?"""
    return _condition(error) in _UNKNOWN_TABLE


def is_taken(error: Exception) -> bool:
    """Is there a path or a table of this name already?"""
    return _condition(error) in _TAKEN


def is_unreadable(error: Exception) -> bool:
    """Did Spark meet rows that it cannot read?"""
    return _condition(error).startswith(_UNREADABLE)


def is_refused(error: Exception) -> bool:
    """Does Spark refuse a query before it runs?"""
    return type(error).__name__ in ("AnalysisException", "ParseException")


def _condition(error: Exception) -> str:
    """Return Spark's name for the error, such as PATH_NOT_FOUND; empty where it has none."""
    match = re.search(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]", str(error))
    return match[1].partition(".")[0] if match else ""


def reason(error: Exception) -> str:
    """Return Spark's message in one line: no plan of the query, no stack of Java."""
    text = str(error).strip() or type(error).__name__
    text = re.split(r"\n\s*(?:at |'|==|JVM stacktrace|Caused by)|SQLSTATE|; line \d+ pos", text)[0]
    if caused := re.findall(r"Caused by: ([^\n]+)", str(error)):
        text = f"{text}: {caused[-1]}" if _condition(error) else caused[-1]
    return " ".join(text.split()).rstrip(" ;:")[:_MOST]
