"""Combine the typed options of a command with those of the record of --from-record."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from sqlmetrics.errors import UsageError
from sqlmetrics.texts.messages import TABLES
from sqlmetrics.texts.terminal import say


def as_recorded(
    result: str, metrics: tuple[str, ...], options: Mapping[str, Any]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the options, with those that were not typed taken from the record of --from-record.

    Raises:
        UsageError: the record does not exist, needs an option that was not typed, or names files
            that the user does not want to read.
        DataError: the record is damaged.
    """
    path = options["from_record"]
    if path is None:
        if options["trust_record"]:
            raise UsageError(
                "--trust-record applies to --from-record FILE only; add that option or remove "
                "--trust-record"
            )
        return metrics, dict(options)
    from sqlmetrics.cli.replay import again, damaged, read

    context, record = click.get_current_context(), read(path, result)
    before = {**options, "metrics": metrics}

    def is_typed(name: str) -> bool:
        source = context.get_parameter_source(name)
        # older versions of click also report no METRICS as typed
        return source is not ParameterSource.DEFAULT and before.get(name) != ()

    replayed, reads = again(record, before, is_typed)
    for param in context.command.params:
        name = str(param.name)
        value = replayed.get(name)
        if value is not before.get(name) and name not in TABLES:
            try:
                replayed[name] = param.type_cast_value(context, value)
            except (click.BadParameter, AttributeError, TypeError, ValueError) as error:
                raise damaged(path, f"{name} is {value!r}: {error}") from error
    let_read(path, f"--from-record {path}", reads, options["trust_record"], "--trust-record")
    return replayed.pop("metrics"), {**replayed, "recorded": record}


def let_read(path: str, what: str, reads: Mapping[str, str], trusted: bool, trusting: str) -> None:
    """List the files that a record or a file of tests names, and ask the user whether to read them.

    Args:
        path: the record or the file of tests.
        what: its name in the error.
        reads: the names of the files by their purpose, as in `Reads`.
        trusted: whether to read them without asking.
        trusting: the option that does so.

    Raises:
        UsageError: the user declines, or there is no terminal.
    """
    if not reads:
        return
    say("\n".join([f"files named by {path}:", *(f"  {use}: {reads[use]}" for use in reads)]))
    if trusted:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        say("Read these files? [y/N]")
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    raise UsageError(
        f"{what}: these files were not read; add {trusting} to read them, or give your own files "
        "with -r, -i and the other table options"
    )
