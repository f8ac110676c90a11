"""Values kept between processes in the user's cache directory, such as compiled templates.

Values are pickled, and reading them runs code. Only regular files that belong to the user, and that
nobody else can write to, are read. A digest of their name and content detects damaged and exchanged
files, which count as missing. A process without a cache is only slower: all errors are ignored.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import platformdirs

from sqlmetrics import hashes
from sqlmetrics.version import __version__

_MOST_BYTES = 4_000_000  # of one value
_DIGEST = hashlib.sha256().digest_size


class DiskCache:
    """Values of one kind, such as compiled templates, by a text that distinguishes them.

    Nothing is written if Python does not write compiled modules either
    (`PYTHONDONTWRITEBYTECODE`).

    Args:
        kind: the name of the folder.
        made_by: everything that values depend on beside their key: versions and source files.
        most_files: the number of files to keep; the oldest are removed.
    """

    def __init__(
        self,
        kind: str,
        made_by: Iterable[str],
        most_files: int = 50,
    ) -> None:
        self._folder = folder() / kind
        self._made_by = (__version__, sys.version, *made_by)
        self._most_files = most_files

    def load(self, key: str) -> Any:
        """Return the value of a key; None if there is no intact and trusted file of it."""
        try:
            if not is_private(os.lstat(self._folder), stat.S_ISDIR):
                return None
            path = self._path(key)
            with open(path, "rb", opener=_opened) as file:
                if not is_private(os.fstat(file.fileno()), stat.S_ISREG):
                    return None
                content = file.read(_DIGEST + _MOST_BYTES)
            digest, pickled = content[:_DIGEST], content[_DIGEST:]
            if _digest(path, pickled) != digest:
                return None
            return pickle.loads(pickled)
        except Exception:
            return None

    def save(self, key: str, value: Any) -> None:
        """Write a value atomically, if the directory can be written to."""
        if sys.dont_write_bytecode or not hasattr(os, "geteuid"):
            return
        with contextlib.suppress(Exception):
            content = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
            if len(content) > _MOST_BYTES:
                return
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            if not is_private(os.lstat(self._folder), stat.S_ISDIR):
                return
            self._remove_oldest()
            path = self._path(key)
            self._write(path, _digest(path, content) + content)

    def _path(self, key: str) -> Path:
        return self._folder / f"{hashes.of_texts(*self._made_by, key)[:32]}.pickle"

    def _write(self, path: Path, content: bytes) -> None:
        handle, draft = tempfile.mkstemp(dir=self._folder)  # readable by the user only
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise

    def _remove_oldest(self) -> None:
        files = list(self._folder.iterdir())
        if (n_more := len(files) - self._most_files + 1) > 0:
            for file in sorted(files, key=lambda file: file.lstat().st_mtime)[:n_more]:
                file.unlink(missing_ok=True)


def folder() -> Path:
    """Return the user's cache directory for this package."""
    return platformdirs.user_cache_path("sqlmetrics", appauthor=False)


def is_private(found: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Return whether a file or folder belongs to the user, and nobody else can write to it."""
    return (
        hasattr(os, "geteuid")
        and is_kind(found.st_mode)
        and found.st_uid == os.geteuid()
        and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


@functools.cache
def state_of(*folders: Path) -> str:
    """Return a hash of the names, sizes and times of the source files in some folders.

    Python trusts its compiled modules by the same size and time.
    """
    return hashes.of_texts(*(line for one in folders for line in sorted(_states(str(one)))))


_NOT_SOURCES = ("__pycache__", ".pyc")


def _states(where: str) -> Iterator[str]:
    with os.scandir(where) as entries:
        for entry in entries:
            if entry.name.endswith(_NOT_SOURCES):
                continue
            if entry.is_dir():
                yield from _states(entry.path)
            else:
                found = entry.stat()
                yield f"{entry.path} {found.st_size} {found.st_mtime_ns}"


def _digest(path: Path, content: bytes) -> bytes:
    return hashlib.sha256(path.name.encode() + content).digest()


def _opened(path: str, flags: int) -> int:
    # without O_NONBLOCK, opening a FIFO would wait for a writer
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
