"""Split a table of events: `sqlmetrics split`, and the statements of `sqlmetrics sql split`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlmetrics.cli.arguments import names_of, notes_on_stderr, pairs_of
from sqlmetrics.cli.output import show_rows
from sqlmetrics.errors import UsageError
from sqlmetrics.rows import PROSE, TEXT, Rows
from sqlmetrics.texts.terminal import say, show

_RULE = ("by", "at", "share", "rounding", "gap", "seed", "core_of")
_ENGINE = ("threads", "memory_limit", "temp_directory", "temp_limit")
_UNSHOWN = ("sqlmetrics", "asked", "leak")  # parts of the report that are no numbers


def split_events(events: str | None, options: Mapping[str, Any]) -> None:
    """Split events, or print the statements.

    Raises:
        UsageError: options contradict each other.
    """
    from sqlmetrics.engines.relation import TableName
    from sqlmetrics.run.splitting import split, split_sql

    core = None if options["core"] is None else names_of([options["core"]])
    asked: dict[str, Any] = {
        **{name: options[name] for name in _RULE},
        "drop": names_of(options["drop"]),
        "core": core,
        "columns": pairs_of("--column", options["columns"]),
        "where": pairs_of("--where", options["where"]),
        "key": names_of([options["key"]]),
    }
    table, folder = options["interactions_table"], options["output"]
    if events is None and table is None:
        raise UsageError("EVENTS is missing: give a file with the events to split")
    for name in ("dialect", "interactions_table"):
        if options[name] and not options["as_sql"]:
            raise UsageError(f"--{name.replace('_', '-')} applies to sqlmetrics sql split only")
    with notes_on_stderr():
        if options["as_sql"]:
            if folder is not None:
                raise UsageError("-o does not apply to statements, which are printed; remove it")
            source = events if table is None else TableName(table, events)
            show(split_sql(source, dialect=options["dialect"], **asked), "data")
            return
        if not folder:
            raise UsageError("-o is missing: name the folder for the files")
        limits = {name: options[name] for name in _ENGINE}
        report = split(events, folder, force=options["force"], **asked, **limits)
    if "leak" in report:
        say(f"warning: {report['leak']}")
    numbers = [(name, value) for name, value in report.items() if name not in _UNSHOWN]
    show_rows(Rows(["name", "value"], [TEXT, PROSE], numbers), None)
