"""Charts in files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlmetrics.errors import UsageError
from sqlmetrics.files import whole_file
from sqlmetrics.report.page import require_packages

_SUFFIXES = (".html", ".png", ".svg")


def check_chart(path: str | Path) -> None:
    """Check that a chart can be written to a file of this name.

    Raises:
        UsageError: the suffix is unknown, or a package for charts is missing.
    """
    if Path(path).suffix.lower() not in _SUFFIXES:
        raise UsageError(f"{path}: a chart is written as {', '.join(_SUFFIXES)}")
    require_packages()


def save_chart(chart: Any, path: str | Path, force: bool) -> None:
    """Write a chart to a file that `check_chart` allows.

    Raises:
        DataError: the file exists and `force` is not set, or the file cannot be written.
    """
    with whole_file(Path(path), force) as temporary:
        chart.save(str(temporary), format=Path(path).suffix.lower()[1:])
