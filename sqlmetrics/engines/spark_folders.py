"""Columns from folder names of Parquet files that Spark reads.

Spark reads such columns only if the parent folder is given. It then lets them replace columns of
the files, and omits files in other folders. Here the rule of `folders` applies to all paths: folder
names never replace a column of a file; they only add columns that the files lack.
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
from sqlmetrics.texts.wording import listed

AS_FILES = {"recursiveFileLookup": "true"}  # option of Spark: ignore columns of folder names


def read(
    frame: Any,
    read_with: Callable[[Mapping[str, str]], Any],
    types_of: Callable[[Any], Mapping[str, str]],
    label: str,
    shown: str,
    root: str,
) -> tuple[Any, Folders | None, list[str]]:
    """Read files, some of which may be in folders with columns in their names.

    Args:
        frame: the files as Spark reads them.
        read_with: function that reads them again with options of Spark's reader.
        types_of: function that returns the columns of a frame with their types.
        label, shown: the names of the table and the files, for messages.
        root: a prefix of the file paths that the user did not write, or "".

    Returns:
        The frame to use, the columns from folder names (None if there are none), and warnings.

    Raises:
        DataError: Spark cannot read the columns by this rule.
    """
    if not any(map(folders.columns_of, _files(frame, root))):
        return frame, None, []
    own = read_with(AS_FILES)
    files = _files(own, root)
    wanted, hidden = folders.to_add_and_to_hide([*map(folders.columns_of, files)], own.columns)
    warned = [
        f"{label}: the folders of {shown} are named {name}=…, but the files have a column {name}. "
        "The column of the files is used; to use the folders' values, export the files without it"
        for name in hidden
    ]
    if not wanted:
        return own, Folders(hidden=tuple(hidden)), warned
    if hidden:
        raise DataError(
            f"{label}: the folder names of {shown} have the columns {listed(hidden)}, which the "
            f"files also have, and {listed(wanted)}, which the files lack. Spark reads all of "
            f"these columns or none. Export the files without {listed(hidden)}, or pass a "
            "DataFrame"
        )
    added = frame if {*wanted} <= {*frame.columns} else read_with({"basePath": _above(files, root)})
    types = types_of(added)
    if absent := [name for name in wanted if name not in types]:
        raise DataError(
            f"{label}: the folder names of {shown} have the column {absent[0]}, which Spark "
            "does not read. Pass the folder above them, or a DataFrame"
        )
    return added, Folders(tuple(FolderColumn(name, types[name]) for name in wanted)), []


def _files(frame: Any, root: str) -> list[str]:
    """Return the files of a frame: local paths relative to a root, or URIs."""
    paths = (re.sub(r"\Afile:(//)?(?=/)", "", unquote(file)) for file in frame.inputFiles())
    return [path.removeprefix(root) for path in paths]


def _above(files: Sequence[str], root: str) -> str:
    """Return the parent of all folders with columns in their names."""
    above = [root + re.split(r"(?:\A|/)[^/=]+=[^/]*/", file)[0] for file in files]
    common = os.path.commonprefix([f"{folder}/" for folder in above])  # noqa: RUF071 - also of URIs
    return common.rpartition("/")[0] or "/"
