"""The page docs/reference/options.md: every command of the command line with its options."""

from __future__ import annotations

from collections import Counter

import click
from conventions_page import escaped, table

from sqlmetrics.cli.commands import main
from sqlmetrics.cli.options import GROUPS, Option

INTRODUCTION = """# Command line

Every command and option. [Options of several commands](#options-of-several-commands) are listed
once, by group. `sqlmetrics COMMAND --help` explains a command and prints its common options,
`--help-all` all of them. [How to use the command line](../how-to/command-line.md) has examples and
exit codes.
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

    having = {record: [name for name in names if record in options[name]] for record in shared}
    users = {
        group: {name for record, of in shared.items() if of == group for name in having[record]}
        for group in GROUPS
    }
    special = {
        record: commands
        for record, commands in having.items()
        if len(commands) <= len(users[shared[record]]) / 2
    }
    parts = [INTRODUCTION]
    for name in names:
        command = main.commands[name]
        purpose = escaped((command.help or "").strip().partition("\n\n")[0])
        usage = " ".join([f"sqlmetrics {name}", *command.collect_usage_pieces(contexts[name])])
        parts.append(f"## {name}\n\n```text\n{usage}\n```\n\n{purpose}\n")
        own = [record for record in options[name] if record not in shared]
        if own:
            parts.append(_table(own))
        groups = [
            f"[{group}](#{group.lower().replace(' ', '-')}){_differs(has, general)}"
            for group in GROUPS
            if (has := [record for record in options[name] if shared.get(record) == group])
            and (general := [one for one in shared if shared[one] == group and one not in special])
        ]
        if groups:
            parts.append(f"Groups of options: {', '.join(groups)}\n")
    parts.append("## Options of several commands\n")
    for group in GROUPS:
        rows = [
            (record[0], f"{record[1]} Only {', '.join(special[record])}.")
            if record in special
            else record
            for record, of in shared.items()
            if of == group
        ]
        if rows:
            parts.append(f"### {group}\n")
            parts.append(_table(_without_repetition(rows)))
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


def _differs(has: list[Record], general: list[Record]) -> str:
    """Name the options of a group that a command has or lacks, whichever are fewer."""
    there = [f"`{_shortest(names)}`" for names, _ in general if (names, _) in has]
    lacking = [f"`{_shortest(names)}`" for names, _ in general if (names, _) not in has]
    if not lacking or not there:
        return ""
    return (
        f" (only {', '.join(there)})"
        if len(there) < len(lacking)
        else f" (without {', '.join(lacking)})"
    )


def _without_repetition(rows: list[Record]) -> list[Record]:
    """Put the options --history-table, --items-table, … into one row: they have one meaning."""
    same = [row for row in rows if ", in the same way" in row[1]]
    if not same:
        return rows
    names = ", ".join(name.removesuffix(" TABLE") for name, _ in same) + " TABLE"
    meaning = "Names of the other tables" + same[0][1][same[0][1].index(", in the same way") :]
    return [*(row for row in rows if row not in same), (names, meaning)]


def _shortest(names: str) -> str:
    """Return one name of an option: `-r` of `-r, --recommendations FILE`."""
    return names.split(",")[0].split(" ")[0]
