"""The page docs/reference/options.md: every command of the command line with its options."""

from __future__ import annotations

import inspect
from collections import Counter

import click
from conventions_page import escaped, table

from sqlmetrics.cli.commands import main
from sqlmetrics.cli.options import GROUPS, Option

INTRODUCTION = """# Command line

Every command and option. [Options of several commands](#options-of-several-commands) are listed
once, by group. `sqlmetrics COMMAND --help` prints the common options of a command, and `--help-all`
all of them. [How to use the command line](../how-to/command-line.md) has examples and exit codes.
"""
_SEVERAL = 3  # commands with the same option: it is then listed by group

Record = tuple[str, str]  # the names and the help of an option


def options_page() -> str:
    """Return the page; `python docs/generate.py` writes it from the commands themselves."""
    names = sorted(main.commands)
    parent = click.Context(main, **main.context_settings)  # commands keep the names of its options
    contexts = {
        name: click.Context(main.commands[name], info_name=f"sqlmetrics {name}", parent=parent)
        for name in names
    }
    options = {name: _options(main.commands[name], contexts[name]) for name in names}
    uses = Counter(record for of_command in options.values() for record in of_command)
    shared = {
        record: group
        for of_command in options.values()
        for record, group in of_command.items()
        if uses[record] >= _SEVERAL
    }
    index = [
        [f"[`{name}`](#{name})", escaped(main.commands[name].get_short_help_str(200))]
        for name in names
    ]
    parts = [INTRODUCTION, table(["command", "purpose"], index) + "\n"]
    for name in names:
        command = main.commands[name]
        help_text = inspect.cleandoc(command.help or "").replace("\b\n", "").replace("\f", "")
        usage = " ".join([f"sqlmetrics {name}", *command.collect_usage_pieces(contexts[name])])
        parts.append(f"## {name}\n\n```text\n{usage}\n```\n\n{escaped(help_text)}\n")
        own = [record for record in options[name] if record not in shared]
        if own:
            parts.append(_table(own))
        for group in GROUPS:
            given = [record[0] for record in options[name] if shared.get(record) == group]
            if given:
                anchor = group.lower().replace(" ", "-")
                listed = ", ".join(f"`{_shortest(names)}`" for names in given)
                parts.append(f"[{group}](#{anchor}): {listed}\n")
    parts.append("## Options of several commands\n")
    for group in GROUPS:
        parts.append(f"### {group}\n")
        parts.append(_table([record for record, of in shared.items() if of == group]))
    return "\n".join(parts)


def _options(command: click.Command, context: click.Context) -> dict[Record, str]:
    """Return the options of a command, each with its group in the help text."""
    return {
        record: param.group if isinstance(param, Option) else GROUPS[-1]
        for param in command.get_params(context)
        if isinstance(param, click.Option) and not param.is_eager
        if (record := param.get_help_record(context)) is not None
    }


def _table(records: list[Record]) -> str:
    rows = [[f"`{names.replace('|', '/')}`", escaped(meaning)] for names, meaning in records]
    return table(["option", "meaning"], rows) + "\n"


def _shortest(names: str) -> str:
    """Return one name of an option: `-r` of `-r, --recommendations FILE`."""
    return names.split(",")[0].split(" ")[0]
