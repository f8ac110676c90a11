"""The Jinja environment of the templates."""

from __future__ import annotations

import contextlib
import functools
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket, FileSystemBytecodeCache
from jinja2.sandbox import SandboxedEnvironment

from sqlmetrics.errors import DataError, UndefinedNameError, UsageError
from sqlmetrics.metrics.front_matter import template_root
from sqlmetrics.sql.quoting import identifier, literal, path_literal
from sqlmetrics.texts.messages import Message, filled, set_to

DEMO = "demo"  # macros that evaluations do not use and that are not compiled for them


class _Undefined(jinja2.StrictUndefined):
    """A name that is undefined in a template; its use raises an error with the name."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        name = self._undefined_name or ""
        error: Any = functools.partial(UndefinedNameError, name=name)  # called like a class
        self._undefined_exception = error


class _Compiled(FileSystemBytecodeCache):
    """Jinja's cache of compiled templates; a process that cannot write it is only slower."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with contextlib.suppress(OSError):
            super().dump_bytecode(bucket)


def _compiled() -> _Compiled | None:
    """Return the cache in the user's cache directory, unless others can write to it.

    Reading compiled code runs it, so the directory must be the user's own.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sqlmetrics"
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: there is no home directory
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        others = stat.S_IWGRP | stat.S_IWOTH
        if hasattr(os, "getuid") and found.st_uid == os.getuid() and not found.st_mode & others:
            return _Compiled(str(folder), f"jinja-{jinja2.__version__}-%s.cache")
    return None


def new_environment() -> jinja2.Environment:
    """Build the environment that renders every template; macros and quoting are its globals."""
    root = template_root()
    env = SandboxedEnvironment(
        loader=jinja2.FileSystemLoader(root),
        undefined=_Undefined,
        autoescape=False,  # SQL, not HTML: names and values pass through ident() and literal()
        keep_trailing_newline=True,
        bytecode_cache=_compiled(),
    )
    env.globals.update(
        ident=identifier,
        literal=literal,
        path_literal=path_literal,
        refuse=_refuse,
        refuse_setting=_refuse_setting,
    )
    for path in sorted((root / "macros").glob("*.sql")):
        if path.stem != DEMO:
            env.globals.update(macros_of(env, path.stem))
    return env


def macros_of(env: jinja2.Environment, file: str) -> dict[str, Any]:
    """Return the macros of a file of `sql_templates/macros`."""
    module = env.get_template(f"macros/{file}.sql").module
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


@jinja2.pass_context
def _refuse(
    context: jinja2.runtime.Context, message: str, remedy: str = "", settings: bool = False
) -> str:
    """Let a template reject tables under its settings, or reject the settings alone.

    A template that is only described has no tables to reject. `remedy` has placeholders for
    arguments, as the remedies of checks do.
    """
    if not settings and context.get("is_described"):
        return ""
    raise (UsageError if settings else DataError)(message, remedy=filled(remedy, {}))


def _refuse_setting(name: str, value: str, choices: Sequence[str], why: str) -> str:
    """Let a template reject values of a setting that have no meaning for it."""
    if value in choices:
        own = set_to(f"METRIC.{name}")
        raise UsageError(
            f"{name}={value} has no meaning for {why}",
            remedy=Message("choose another value with ", own),
        )
    return ""
