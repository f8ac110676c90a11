"""Compiled templates, kept between processes in the user's cache directory."""

from __future__ import annotations

import contextlib

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

from sqlmetrics.disk_cache import DiskCache

_MOST_FILES = 1000  # more than there are templates


class CompiledTemplates(BytecodeCache):
    """Keeps compiled templates per version of Jinja and Python.

    A template whose text has changed is compiled again.
    """

    def __init__(self) -> None:
        self._cache = DiskCache("compiled", [jinja2.__version__], most_files=_MOST_FILES)

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a template, unless there is no intact file of it."""
        with contextlib.suppress(Exception):
            bucket.bytecode_from_string(self._cache.load(bucket.key))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write a template, if the directory can be written to."""
        self._cache.save(bucket.key, bucket.bytecode_to_string())
