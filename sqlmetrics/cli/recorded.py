"""Commands that run again from a record: options that were typed, and those of the record."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from sqlmetrics.errors import UsageError
from sqlmetrics.messages import TABLES
from sqlmetrics.terminal import say


def as_recorded(
    result: str, metrics: tuple[str, ...], options: Mapping[str, Any]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Take all options that were not typed from the record of --from-record.

    Raises:
        UsageError: there is no record, it needs what was not typed, or it may not be read.
        DataError: the record is damaged.
    """
    path = options["from_record"]
    if path is None:
        if options["trust_record"]:
            raise UsageError("--trust-record is about the record of --from-record FILE")
        return metrics, dict(options)
    from sqlmetrics.cli.replay import again, damaged, read

    context, record = click.get_current_context(), read(path, result)
    before = {**options, "metrics": metrics}

    def is_typed(name: str) -> bool:
        source = context.get_parameter_source(name)
        # older versions of click say so of no METRICS too
        return source is not ParameterSource.DEFAULT and before.get(name) != ()

    replayed = again(record, before, is_typed)
    for param in context.command.params:
        name = str(param.name)
        value = replayed.options.get(name)
        if value is not before.get(name) and name not in TABLES:
            try:
                replayed.options[name] = param.type_cast_value(context, value)
            except (click.BadParameter, AttributeError, TypeError, ValueError) as error:
                raise damaged(path, f"{name} is {value!r}: {error}") from error
    _let_read(path, replayed.reads, options["trust_record"])
    return replayed.options.pop("metrics"), {**replayed.options, "recorded": record}


def _let_read(path: str, reads: Mapping[str, str], trusted: bool) -> None:
    """List the files that a record names, and ask whether to read them.

    Raises:
        UsageError: the answer is no, or there is no terminal to ask on.
    """
    if not reads:
        return
    say("\n".join([f"files named by {path}:", *(f"  {what}: {reads[what]}" for what in reads)]))
    if trusted:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        say("Read these files? [y/N]")
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
    raise UsageError(
        f"--from-record {path}: these files were not read; add --trust-record to read the files "
        "that the record names, or name your own with -r, -i and the other options"
    )
