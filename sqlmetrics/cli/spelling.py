"""Spell the arguments in messages as command-line options."""

from __future__ import annotations

import functools
import re
import shlex

import click

from sqlmetrics.cli.options import TABLES
from sqlmetrics.texts.messages import Argument, Command, Message, in_python

# the option of each table, as shown in messages about options
OPTIONS = {
    "recommendations": "-r FILE",
    **{table: f"{names[0]} FILE" for table, names, _ in TABLES},
}
# Python arguments without an option
ONLY_IN_PYTHON = frozenset({"connection", "watch"})
# methods that correspond to an option of another command
_COMMANDS = {
    "append": "evaluate … -o FILE.duckdb:TABLE --append",
    "write_per_user": "per-user -o FOLDER",
}
# arguments whose click parameter has a different name
PARAMETERS = {"k": "cutoffs", "convention": "conventions"}
# arguments that several options make
_FORMS = {"past": "-o FILE.duckdb:TABLE --append"}
_commands: dict[str, click.Command] = {}  # all commands by name; their group registers them


def register(name: str, command: click.Command) -> None:
    """Make the options of a command known to messages."""
    _commands[name] = command


def spelled(message: object) -> str:
    """Spell a message, error or warning for the command line; convert other objects with `str`."""
    text = getattr(message, "message", message)
    return text.spelled(on_command_line) if isinstance(text, Message) else str(message)


def on_command_line(named: Argument | Command) -> str:
    """Spell an argument as an option, and a command as the user types it."""
    if isinstance(named, Command):
        return f"sqlmetrics {_COMMANDS.get(named.name, named.name.replace('_', '-'))}"
    if named.name in ONLY_IN_PYTHON:
        return f"{in_python(named)} in Python"
    if named.name in _FORMS:
        return _FORMS[named.name]
    parameter = parameters()[PARAMETERS.get(named.name, named.name)]
    several = isinstance(named.value, list)
    if isinstance(parameter, click.Argument):
        return shlex.join(named.value) if several else str(parameter.name).upper()
    assert isinstance(parameter, click.Option)
    if named.value is False:
        return parameter.secondary_opts[0]
    option = parameter.opts[0]
    if named.value is None or named.value is True:
        return option
    if named.entry and not parameter.multiple:  # a table of several models
        return f"{option} {{model}}.csv"
    text = ",".join(map(str, named.value)) if several else str(named.value)
    value = _metavar(parameter) if named.value is ... else shlex.quote(text)
    return f"{option} {named.entry}={value}" if named.entry else f"{option} {value}"


def _metavar(option: click.Option) -> str:
    """Return the placeholder of the value: FILE for `[NAME=]FILE`, COLUMN for `NAME=COLUMN`."""
    return re.sub(r"^(\[[^]]*\]|[^=]*=)", "", option.metavar or "VALUE")


@functools.cache
def parameters() -> dict[str, click.Parameter]:
    """Map the names of all options and arguments to the parameter of the first command with it."""
    by_name: dict[str, click.Parameter] = {}
    for command in _commands.values():
        for parameter in command.params:
            by_name.setdefault(str(parameter.name), parameter)
    return by_name


def commands_with(option: str) -> list[str]:
    """List the commands that have an option, such as --no-check."""
    return [
        name
        for name, command in _commands.items()
        if any(option in (*one.opts, *one.secondary_opts) for one in command.params)
    ]
