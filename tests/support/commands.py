"""Command lines for other processes, and their temporary files."""

from __future__ import annotations

import sys
from pathlib import Path

GROUP = 2_048  # rows of a row group; the lists have several of them


def temporary_files(place: Path) -> list[str]:
    """Name what is left of a run in the folder for temporary files."""
    return [path.name for path in (place.parent / "temporary").iterdir()]


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "sqlmetrics", *map(str, arguments)]
