"""Columns that folders are called after, among Parquet files that Spark reads.

Spark reads such columns only if it is given the folder above them. Then they replace columns of the
files, and files in other folders are left out. Here the rule is that of `folders`, for every way to
name the files: a column of a file is never replaced, and folders tell of the columns that it lacks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from sqlmetrics.engines import folders
from sqlmetrics.engines.relation import FolderColumn, Folders
from sqlmetrics.errors import DataError

AS_FILES = {"recursiveFileLookup": "true"}  # an option of Spark's reader: no columns of folders


def read(
    frame: Any,
    read_with: Callable[[Mapping[str, str]], Any],
    types_of: Callable[[Any], Mapping[str, str]],
    label: str,
    shown: str,
    root: str,
) -> tuple[Any, Folders | None, list[str]]:
    """Read files of which some may be in folders that are called after columns.

    Args:
        frame: the files, as Spark reads them.
        read_with: reads them again, with options of Spark's reader.
        types_of: returns the columns of a frame and their types.
        label, shown: name the table and the files.
        root: what the paths of the files begin with and the user has not written, or "".

    Returns:
        The frame to use, the columns that are read of folders (None: no folder is called after
        one), and warnings.

    Raises:
        DataError: Spark cannot read the columns by this rule.
    """
    if not any(map(folders.columns_of, _files(frame, root))):
        return frame, None, []
    own = read_with(AS_FILES)
    files = _files(own, root)
    wanted, hidden = folders.to_add_and_to_hide([*map(folders.columns_of, files)], own.columns)
    warned = [
        f"{label}: folders of {shown} are called {name}=…, and the files have a column {name}. "
        "The column of the files is read; to read the folders' values, export the files without it"
        for name in hidden
    ]
    if not wanted:
        return own, Folders(hidden=tuple(hidden)), warned
    if hidden:
        raise DataError(
            f"{label}: folders of {shown} are called after the columns {', '.join(hidden)}, which "
            f"the files have, and {', '.join(wanted)}, which they lack. Spark reads all columns of "
            f"folders or none. Export the files without {', '.join(hidden)}, or give a DataFrame"
        )
    added = frame if {*wanted} <= {*frame.columns} else read_with({"basePath": _above(files, root)})
    types = types_of(added)
    if absent := [name for name in wanted if name not in types]:
        raise DataError(
            f"{label}: folders of {shown} are called after the column {absent[0]}, which Spark "
            "does not read. Give the folder above them, or a DataFrame"
        )
    return added, Folders(tuple(FolderColumn(name, types[name]) for name in wanted)), []


def _files(frame: Any, root: str) -> list[str]:
    """Return the files of a frame: paths of this machine, relative to a root, or URIs."""
    paths = (re.sub(r"\Afile:(//)?(?=/)", "", unquote(file)) for file in frame.inputFiles())
    return [path.removeprefix(root) for path in paths]


def _above(files: Sequence[str], root: str) -> str:
    """Return the folder above all folders that are called after columns."""
    above = [root + re.split(r"(?:\A|/)[^/=]+=[^/]*/", file)[0] for file in files]
    common = os.path.commonprefix([f"{folder}/" for folder in above])  # noqa: RUF071 - also of URIs
    return common.rpartition("/")[0] or "/"
