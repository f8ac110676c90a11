"""Reject folders that jobs of Hadoop, Hive and Spark have not finished.

A job writes below `_temporary` or a staging folder and moves its files when it ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from sqlmetrics.errors import DataError

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
