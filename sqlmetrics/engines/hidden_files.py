"""Handle the files that jobs leave beside their rows, by the convention of Hadoop, Hive and Spark.

Names that begin with `_` or `.` do not belong to a table, except folders such as `_day=1/`. A job
writes below `_temporary` or a staging folder and moves its files when it ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from sqlmetrics.errors import DataError
from sqlmetrics.texts.wording import and_more

_UNFINISHED = re.compile(r"_temporary|\.(hive|spark)-staging.*")


def check_finished(label: str, shown: str, folders: Iterable[str]) -> None:
    """Check that no job is writing into local folders.

    Args:
        label: the name of the table, for messages.
        shown: the path that the user gave.
        folders: the folders to examine, without the folders in them.

    Raises:
        DataError: a folder has an entry that jobs remove when they end.
    """
    for folder in folders:
        entries = os.listdir(folder) if os.path.isdir(folder) else []
        left = sorted(entry for entry in entries if _UNFINISHED.fullmatch(entry))
        if left:
            raise DataError(
                f"{label}: {shown} is incomplete: {os.path.join(folder, left[0])} is the folder of "
                "a job that is writing these files or was stopped. Wait until the job ends; if it "
                "was stopped, run it again"
            )


def folders_between(base: str, paths: Iterable[str]) -> list[str]:
    """Return a folder and all folders from it down to files in it."""
    above = {parent for path in paths for parent in Path(path).parents}
    return sorted({base or ".", *(str(p) for p in above if p.is_relative_to(base or "."))})


def without_hidden(
    label: str, base: str, paths: Sequence[str], are_rows: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Omit hidden files, and those in hidden folders, below a folder.

    Args:
        label: the name of the table, for messages.
        base: the folder; its own name does not count.
        paths: the files.
        are_rows: those whose suffix is one of files with rows, to warn about.

    Returns:
        The other files, and warnings.
    """
    kept = [path for path in paths if not any(map(_is_hidden, _parts_below(base, path)))]
    omitted = sorted({*paths} & {*are_rows} - {*kept})
    if not omitted:
        return kept, []
    return kept, [
        f"{label}: {and_more(omitted)} {'is' if len(omitted) == 1 else 'are'} not read, because "
        "names that begin with _ or . do not belong to a table; to read such a file, give its "
        "path"
    ]


def _parts_below(base: str, path: str) -> tuple[str, ...]:
    return Path(os.path.relpath(path, base or ".")).parts


def _is_hidden(part: str) -> bool:
    return part[0] == "." or (part[0] == "_" and "=" not in part)
