"""Texts of macros, kept between processes in the user's cache directory.

Every run needs the FROM clauses of its files before it can look for a kept plan. Importing Jinja
and compiling its templates would take a tenth of a small run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sqlmetrics.disk_cache import DiskCache, state_of
from sqlmetrics.files import PREFIX
from sqlmetrics.metrics.catalog import template_root
from sqlmetrics.sql.templates import macro


def kept_macro(name: str, keep: bool = True) -> Callable[..., str]:
    """Return a macro whose texts are kept; they depend only on the arguments and their `repr`.

    With `keep=False`, texts are not kept: those of many files would take the place of others.
    """

    def text(*args: Any, **options: Any) -> str:
        key = repr((name, args, options))
        if not keep or not _can_keep(key):
            return str(macro(name)(*args, **options))
        found = _cache().load(key)
        if not isinstance(found, str):
            found = str(macro(name)(*args, **options))
            _cache().save(key, found)
        return found

    return text


def _can_keep(key: str) -> bool:
    """Return whether a text names neither an address, which may contain a password, nor a
    temporary file, which no later process reads."""
    return "://" not in key and PREFIX not in key


@functools.cache
def state_of_sources() -> str:
    """Return a hash of the state of the code and the templates."""
    return state_of(Path(__file__).resolve().parents[1], template_root())


@functools.cache
def _cache() -> DiskCache:
    return DiskCache("sources", [version("jinja2"), state_of_sources()])
