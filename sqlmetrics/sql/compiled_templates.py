"""Compiled templates, kept between processes in the user's cache directory."""

from __future__ import annotations

import contextlib
import os
import sys

import jinja2
import platformdirs
from jinja2.bccache import Bucket, FileSystemBytecodeCache


class CompiledTemplates(FileSystemBytecodeCache):
    """Keeps compiled templates per version of Jinja and Python.

    A template whose text has changed is compiled again, as is one whose file cannot be read. Errors
    while writing are ignored: a process without a cache is only slower. Nothing is written if
    Python does not write compiled modules either (`PYTHONDONTWRITEBYTECODE`).
    """

    def __init__(self) -> None:
        versions = f"templates-jinja-{jinja2.__version__}-{sys.implementation.cache_tag}"
        folder = platformdirs.user_cache_path("sqlmetrics", appauthor=False) / versions
        super().__init__(str(folder), "%s")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a template, unless there is no intact file of it."""
        try:
            super().load_bytecode(bucket)
        except Exception:
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write a template, if the directory can be written to."""
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):
                os.makedirs(self.directory, mode=0o700, exist_ok=True)
                super().dump_bytecode(bucket)
