"""Messages that name arguments, spelled for Python or for the command line.

A message consists of texts and arguments: `Message("the table history was not given. Give it with
", give("history"))`. The argument is spelled `history=…` in Python and `--history FILE` on the
command line. `str` uses the Python spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any, TypeAlias

from sqlmetrics.texts.masking import masked
from sqlmetrics.texts.wording import by_number

TABLES = (
    "recommendations", "interactions", "history", "items", "users", "aspects", "baseline", "logs",
    "policy",
    "audit",
)  # fmt: skip
RANKED = ("recommendations", "baseline")  # tables of ranked lists
# the arguments that messages can name, of the evaluator and its methods, and others
ARGUMENTS = frozenset({
    *TABLES, *(f"{table}_table" for table in TABLES), "scored",
    "convention", "fallback", "settings", "columns", "key", "where", "connection", "engine",
    "threads", "memory_limit", "temp_directory", "temp_limit", "templates",
    "trust_input", "check", "accept", "record", "watch",
    "metrics", "k", "by", "by_item", "combinations", "gap", "skip_missing",
    "ci", "confidence", "resamples", "seed", "run_ci", "cluster", "power", "detect", "over", "test",
    "correction", "alpha",
    "past", "numbers", "nearest", "against", "primary", "title", "dialect", "per_user", "force",
    "master",
})  # fmt: skip
COMMANDS = frozenset({
    "evaluate", "per_user", "compare", "check", "sql", "write_per_user", "append", "split",
})  # fmt: skip

# Python code for arguments that only the command line has; {} is the value
_ONLY_OPTIONS = {
    "master": "SparkSession.builder.remote({})",
    **{f"{table}_table": f"{table}=TableName({{}}, like=…)" for table in TABLES},
}
# commands without a method of the same name
_CALLS = {
    "append": "sqlmetrics.append(…)",
    "split": "sqlmetrics.split(…)",
    "write_per_user": "Evaluator.write_parquet(folder, …, per_user=True)",
}


@dataclass(frozen=True)
class Argument:
    """An argument, with or without a value.

    `value` is None to name the argument alone, or `...` for a value that the reader chooses.
    `entry` is the name of one entry of an argument with several, such as a setting.
    """

    name: str
    value: Any = None
    entry: str = ""

    def __post_init__(self) -> None:
        if self.name not in ARGUMENTS:
            raise ValueError(f"messages cannot name the argument {self.name!r}")


@dataclass(frozen=True)
class Command:
    """A command of the command line, and the equivalent call in Python."""

    name: str

    def __post_init__(self) -> None:
        if self.name not in COMMANDS:
            raise ValueError(f"messages cannot name the command {self.name!r}")


Spelling: TypeAlias = Callable[[Argument | Command], str]


def give(table: str) -> Argument:
    """Return the argument that gives a table."""
    return Argument(table, ...)


def how_to_give(table: str) -> Message:
    """Return the message that names the arguments for a table, and for its name in a statement."""
    name = Argument(f"{table}_table", "NAME")
    return Message("give the table with ", give(table), " (for a statement, with ", name, ")")


def set_to(setting: str, value: Any = ...) -> Argument:
    """Return the argument that sets a setting."""
    return Argument("settings", value, setting)


def map_column(table: str, column: str, source: Any = ...) -> Argument:
    """Return the argument that maps a column of a source to a column of a table."""
    return Argument("columns", source, f"{table}.{column}")


SEVERAL_MODELS = Argument("recommendations", ..., "NAME")


_WORDS = {"true": "True", "false": "False"}  # as Python spells them


def in_python(named: Argument | Command) -> str:
    """Spell an argument or a command as Python code."""
    if isinstance(named, Command):
        return _CALLS.get(named.name, f"Evaluator.{named.name}(…)")
    value = "…" if named.value is ... else _WORDS.get(str(named.value), repr(named.value))
    if named.name in _ONLY_OPTIONS:
        return _ONLY_OPTIONS[named.name].format("…" if named.value is None else value)
    if named.entry:
        return f"{named.name}={{{named.entry!r}: {value}}}"
    return named.name if named.value is None else f"{named.name}={value}"


def in_files(named: Argument | Command) -> str:
    """Spell an argument or a command in a file that is the same for Python and the command line."""
    if isinstance(named, Command):
        return named.name
    if named.value is None:
        return named.entry or named.name
    return f"{named.entry or named.name}={'…' if named.value is ... else named.value}"


class Message:
    """A text that names arguments.

    Args:
        parts: texts, arguments, commands, other messages, and errors (for their messages).
    """

    def __init__(self, *parts: Any) -> None:
        self.parts: tuple[str | Argument | Command, ...] = tuple(_flat(parts))

    def spelled(self, spelling: Spelling) -> str:
        """Return the text, with every argument and command spelled by `spelling`."""
        texts = (part if isinstance(part, str) else spelling(part) for part in self.parts)
        return masked("".join(texts))

    def capitalised(self) -> Message:
        """Return the message with its first letter capitalised, if it starts with a text."""
        first, *rest = self.parts or ("",)
        return Message(first[:1].upper() + first[1:] if isinstance(first, str) else first, *rest)

    def __str__(self) -> str:
        return self.spelled(in_python)

    def __repr__(self) -> str:
        return f"Message({', '.join(map(repr, self.parts))})"

    def __bool__(self) -> bool:
        return bool(self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)


def _flat(parts: Iterable[Any]) -> Iterable[str | Argument | Command]:
    """Replace messages by their parts, convert other objects to text, and join adjacent texts.

    Joined texts make messages with equal text have equal parts. Secrets in URLs are hidden.
    """
    texts: list[str] = []
    for part in parts:
        message = getattr(part, "message", part)  # errors have a message
        for piece in message.parts if isinstance(message, Message) else (part,):
            if not isinstance(piece, Argument | Command):
                texts.append(str(piece))
                continue
            if text := "".join(texts):
                yield masked(text)
            texts.clear()
            yield piece
    if text := "".join(texts):
        yield masked(text)


def joined(separator: str, parts: Iterable[Any]) -> Message:
    """Join texts and messages, as `str.join` does."""
    between = [piece for part in parts for piece in (separator, part)]
    return Message(*between[1:])


def sentences(*parts: Any) -> Message:
    """Join texts and messages as sentences, with capitals and full stops.

    The last sentence gets no full stop, because it may end in a command to copy.
    """
    joined: list[Any] = []
    for message in filter(None, map(Message, parts)):
        if joined:
            last = str(joined[-1])
            joined += [" " if last.endswith((".", "?", "!")) else ". ", message.capitalised()]
        else:
            joined.append(message)
    return Message(*joined)


# ---- placeholders in templates -------------------------------------------------------------------


def _setting(text: str) -> Argument:
    name, _, value = text.partition("=")
    return set_to(name, value or ...)


def _column(text: str) -> Argument:
    name, _, source = text.partition("=")
    table, _, column = name.partition(".")
    return map_column(table, column, source or ...)


def _argument(text: str) -> Argument:
    name, _, value = text.partition("=")
    values = {"": ..., "True": True, "False": False}
    return Argument(name, int(value) if value.isdigit() else values.get(value, value))


def _where(text: str) -> Argument:
    table, _, condition = text.partition("=")
    return Argument("where", condition, table)


_PLACEHOLDERS: dict[str, Callable[[str], Argument | Command]] = {
    "set": _setting, "column": _column, "argument": _argument, "command": Command,
    "where": _where,
}  # fmt: skip


class Unfilled(dict[str, str]):
    """Values for a template text; placeholders of names without a value are kept."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


def filled(template: str, values: Mapping[str, Any]) -> Message:
    """Fill the placeholders of a text in a template's front matter.

    `{n}` stands for a value, which can be a message, and `{n:row has|rows have}` for one of two
    texts: the first if the value is 1. `{set:ties=item_desc}`,
    `{column:interactions.relevance}`, `{argument:skip_missing=True}` and `{command:check}` stand
    for arguments and commands, and `{where:recommendations=score IS NOT NULL}` for a condition.

    Raises:
        ValueError, LookupError: a placeholder is unknown.
    """
    formatter = Formatter()
    parts: list[str | Argument | Command] = []
    for text, name, spec, conversion in formatter.parse(template):
        parts.append(text)
        if name is None:
            continue
        spec = formatter.vformat(spec or "", (), values)
        if name in _PLACEHOLDERS:
            parts.append(_PLACEHOLDERS[name](spec))
        else:
            value = formatter.get_field(name, (), values)[0]
            if "|" in spec:
                value, spec = by_number(value, spec), ""
            if isinstance(value, Message):
                parts += value.parts
                continue
            value = formatter.convert_field(value, conversion)
            parts.append(formatter.format_field(value, spec))
    return Message(*parts)
