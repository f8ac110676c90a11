"""The page docs/reference/options.md: every command of the command line with its options."""

from __future__ import annotations

import inspect

import click
from conventions_page import escaped, table

from sqlmetrics.cli.commands import main

INTRODUCTION = """# Command line

`python docs/generate.py` writes this page from the commands themselves. `sqlmetrics COMMAND --help`
prints the common options, and `--help-all` all of them. [How to use the command
line](../how-to/command-line.md) has examples and the exit codes.
"""


def options_page() -> str:
    commands = [(name, main.commands[name]) for name in sorted(main.commands)]
    index = [
        [f"[`{name}`](#{name})", escaped(one.get_short_help_str(200))] for name, one in commands
    ]
    parts = [INTRODUCTION, table(["command", "purpose"], index) + "\n"]
    parent = click.Context(main, **main.context_settings)  # commands keep the names of its options
    for name, command in commands:
        context = click.Context(command, info_name=f"sqlmetrics {name}", parent=parent)
        help_text = inspect.cleandoc(command.help or "").replace("\b\n", "").replace("\f", "")
        usage = " ".join([f"sqlmetrics {name}", *command.collect_usage_pieces(context)])
        parts.append(f"## {name}\n\n```text\n{usage}\n```\n\n{escaped(help_text)}\n")
        rows = [
            [f"`{_names(record[0])}`", escaped(record[1])]
            for param in command.get_params(context)
            if isinstance(param, click.Option) and not param.is_eager
            for record in [param.get_help_record(context)]
            if record is not None
        ]
        if rows:
            parts.append(table(["option", "meaning"], rows) + "\n")
    return "\n".join(parts)


def _names(text: str) -> str:
    return text.replace("|", "/")
