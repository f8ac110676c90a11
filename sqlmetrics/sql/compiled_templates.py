"""Compiled templates, kept between processes in the user's cache directory."""

from __future__ import annotations

import contextlib
import os
import stat
import sys

import jinja2
from jinja2.bccache import Bucket, FileSystemBytecodeCache

from sqlmetrics import disk_cache


class CompiledTemplates(FileSystemBytecodeCache):
    """Keeps compiled templates per version of Jinja and Python.

    A template whose text has changed is compiled again, as is one whose file cannot be read or is
    in a directory that others can write to. Errors while writing are ignored: a process without a
    cache is only slower. Nothing is written if Python does not write compiled modules either
    (`PYTHONDONTWRITEBYTECODE`).
    """

    def __init__(self) -> None:
        versions = f"templates-jinja-{jinja2.__version__}-{sys.implementation.cache_tag}"
        super().__init__(str(disk_cache.folder() / versions), "%s")
        self._is_trusted: bool | None = None  # of an existing directory

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a template, unless there is no intact file of it."""
        try:
            if self._is_trusted is None and hasattr(os, "geteuid"):
                found = os.lstat(self.directory)
                self._is_trusted = disk_cache.is_private(found, stat.S_ISDIR)
            if self._is_trusted is not False:
                super().load_bytecode(bucket)
        except Exception:
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write a template, if the directory can be written to."""
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):
                os.makedirs(self.directory, mode=0o700, exist_ok=True)
                super().dump_bytecode(bucket)
