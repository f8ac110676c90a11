"""Template files: headers in TOML, read into the dataclasses that describe templates."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from sqlmetrics.errors import TemplateError, UsageError, suggestion
from sqlmetrics.messages import Unfilled, filled
from sqlmetrics.metrics.spec import Value, value_text

SUFFIX = ".sql.j2"
LEVELS = ("error", "warning", "note")  # of checks, the worst first
_FRONT_MATTER = re.compile(r"\A\{#---\n(?P<toml>.*?)---#\}\n?", re.DOTALL)
_OWN = ("name", "path", "body", "params")  # fields that are not entries of the header


@dataclass(frozen=True)
class Param:
    """A setting, as settings.toml or the header of a template declares it.

    `only_with`: other settings, and their values for which this setting has a meaning.
    `when_empty`: values of this setting, and the value of a user without rows for each of them.
    """

    name: str
    default: Value
    choices: tuple[str, ...] = field(default=(), metadata={"kind": "a list"})
    doc: str = ""
    optional: bool = False
    minimum: float | None = field(default=None, metadata={"entry": "min"})
    maximum: float | None = field(default=None, metadata={"entry": "max"})
    above: float | None = None
    whole: bool = False
    unlimited: bool = False  # takes -inf
    only_with: Mapping[str, Sequence[str]] = field(default_factory=dict)
    when_empty: Mapping[str, float] = field(default_factory=dict)

    def parse(self, value: Any, where: str) -> Value:
        """Return `value` as this setting understands it.

        Raises:
            UsageError: the value is not one of the choices, or not a number in the range.
        """
        if self.choices:
            text = str(value).strip().lower()
            if text in self.choices:
                return text
            raise UsageError(
                f"{where}: {self.name} cannot be {value!r}; it is one of "
                + ", ".join(self.choices)
                + suggestion(text, self.choices)
            )
        if self.optional and (value is None or str(value).lower() == "none"):
            return None
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = float("nan")
        if self.unlimited and number == float("-inf"):
            return number
        in_range = (
            abs(number) < float("inf")
            and not isinstance(value, bool)
            and (self.minimum is None or number >= self.minimum)
            and (self.maximum is None or number <= self.maximum)
            and (self.above is None or number > self.above)
            and (not self.whole or number.is_integer())
        )
        if not in_range:
            raise UsageError(f"{where}: {self.name} must be {self.range_text()}, not {value!r}")
        return int(number) if number.is_integer() and abs(number) < 2**53 else number

    def range_text(self) -> str:
        """Describe the values that are accepted."""
        if self.choices:
            return " | ".join(self.choices)
        limits = [
            text
            for limit, text in (
                (self.minimum, f">= {self.minimum}"),
                (self.above, f"> {self.above}"),
                (self.maximum, f"<= {self.maximum}"),
            )
            if limit is not None
        ]
        kind = "a whole number" if self.whole else "a number"
        number = " ".join([kind, " and ".join(limits)]).strip()
        if self.unlimited:
            number += ", -inf" if self.optional else " or -inf"
        return f"{number} or none" if self.optional else number

    def default_text(self) -> str:
        """Spell the default as a spec would."""
        return value_text(self.default)


@dataclass(frozen=True)
class Template:
    """A template file: its name, its body without front matter, and where it lies."""

    name: str
    path: Path
    body: str
    title: str
    params: Mapping[str, Param] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage(Template):
    """A named relation that metrics read.

    `keep`: small enough to be kept between calls. `cutoff`: the column that cutoffs apply to.
    `unique`: columns that no two rows share (`user` stands for the user's key columns).
    `constant`: columns that are the same in all rows of one user and model. `judged_only`: of the
    lists, it reads only items that are judged, so that it can be computed for a slice of them.
    `enough`: computed from some of the users, it has all rows that queries about these users read.
    """

    keep: bool = False
    cutoff: str | None = None
    unique: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    judged_only: bool = False
    enough: bool = False


@dataclass(frozen=True)
class Check(Template):
    """A query for the rows of a table that break a rule, and what to tell the user about them.

    It runs where `count`, a column of the totals of its table, is not 0, or whenever one of the
    tables and stages `on` is read; then its column `n_found` counts the rows. One with neither is
    no condition of any number: it runs only where everything is looked at, if all that it `needs`
    (tables, and columns as `table.column`) is there. `level`: "error", "warning" or "note".
    `of_all`: the rule is about all rows together, so that some of the users may break it.
    """

    table: str = ""
    level: str = "error"
    needs: tuple[str, ...] = ()
    count: str = ""
    on: tuple[str, ...] = ()
    column: str = ""
    found: str = ""
    remedy: str = ""
    order: int = 0
    of_all: bool = False

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            levels = ", ".join(map(repr, LEVELS))
            raise TemplateError(f"{self.path}: level is {levels}, not {self.level!r}")
        if self.at_the_door and self.level != "error":
            raise TemplateError(
                f"{self.path}: what is checked before numbers are computed is an error"
            )
        for text in (self.found, self.remedy):
            try:
                filled(text, Unfilled())
            except (ValueError, LookupError, AttributeError) as error:
                raise TemplateError(f"{self.path}: found and remedy: {error}") from error

    @property
    def at_the_door(self) -> bool:
        """Is it a condition of numbers, which are refused where it is broken?"""
        return bool(self.count or self.on)


@dataclass(frozen=True)
class Slice(Template):
    """A query for what users or judged items are sliced by: `label`, and `position` to sort it.

    `of`: "users" (a row per user), "items" (per item) or "interactions" (per user and item).
    `missing`: what stands for those without a row.
    """

    of: str = "users"
    missing: str = "(none)"

    def __post_init__(self) -> None:
        if self.of not in ("users", "items", "interactions"):
            raise TemplateError(
                f"{self.path}: of is 'users', 'items' or 'interactions', not {self.of!r}"
            )


@dataclass(frozen=True)
class Metric(Template):
    """A metric: a query of `{{ keys }}, k, value`, and all that is to be known about it.

    `when_empty`: the value of who has no row; None: undefined. `defined_for`: a stage with one row
    per user for whom the metric is defined (empty: for everybody). `undefined`: when a value is
    NULL, in words.
    """

    family: str = "custom"
    grain: str = "user"
    audience: str = "relevant"
    when_empty: float | None = field(default=None, metadata={"kind": "a number or 'undefined'"})
    defined_for: str = ""
    undefined: str = ""
    range: tuple[float, float] | None = None
    unbounded: str = ""  # why there is no range
    higher_is_better: bool | None = None
    in_default_set: bool = False
    formula: str = ""
    cite: str = ""
    aliases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.grain not in ("user", "run"):
            raise TemplateError(f"{self.path}: grain is 'user' or 'run', not {self.grain!r}")
        for name, value in self.aliases.items():
            if not isinstance(value, dict):
                raise TemplateError(
                    f"{self.path}: alias {name} is a table of what it sets, such as {{}}, "
                    f"not {value!r}"
                )


_T = TypeVar("_T", bound=Template)


def read_template(kind: type[_T], path: Path, **defaults: Any) -> _T:
    """Read a template file; the entries of its header are the fields of `kind`.

    Args:
        kind: the class of the template.
        path: the file.
        defaults: values of fields that the header may replace.

    Raises:
        TemplateError: the file cannot be read, or an entry is unknown or of the wrong kind.
    """
    name, entries, body = _split(path)
    params = {} if kind is Check else read_params(path, entries.pop("params", {}))
    values = _fields(kind, path, entries, "the front matter", _OWN)
    return kind(**{"title": name, **defaults, **values}, name=name, path=path, body=body,
                params=params)  # fmt: skip


def read_params(path: Path, entries: Any) -> dict[str, Param]:
    """Read the settings that a file declares.

    Raises:
        TemplateError: an entry is unknown or of the wrong kind, or a default is invalid.
    """
    if not isinstance(entries, dict):
        raise TemplateError(f"{path}: the front matter: params is a table, not {entries!r}")
    params = {}
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            raise TemplateError(f"{path}: param {name} is a table [params.{name}], not {entry!r}")
        rest = dict(entry)
        default = rest.pop("default", None)
        kind = rest.pop("type", "choice" if "choices" in rest else None)
        if kind not in ("choice", "number") or default is None:
            raise TemplateError(
                f"{path}: param {name} needs a default, and choices or type = 'number'"
            )
        values = _fields(Param, path, rest, f"param {name}", ("name", "default"))
        try:
            parsed = Param(name, default, **values).parse(default, "default")
        except UsageError as error:
            raise TemplateError(f"{path}: {error}") from error
        params[name] = Param(name, parsed, **values)
    return params


def _split(path: Path) -> tuple[str, dict[str, Any], str]:
    """Split a file into its name, its header and its body."""
    name = path.name.removesuffix(SUFFIX)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise TemplateError(f"{path}: a template's name is lower-case letters, digits and _")
    try:
        source = path.read_text(encoding="utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{path}: cannot be read: {error}") from error
    match = _FRONT_MATTER.match(source)
    if match is None:
        raise TemplateError(
            f"{path}: the file must start with front matter: a line {{#---, TOML, a line ---#}}"
        )
    try:
        meta = tomllib.loads(match["toml"])
    except tomllib.TOMLDecodeError as error:
        raise TemplateError(f"{path}: the front matter is not valid TOML: {error}") from error
    # blank lines keep the line numbers of error messages true
    return name, meta, "\n" * match[0].count("\n") + source[match.end() :]


def _fields(
    kind: type, path: Path, entries: Mapping[str, Any], where: str, own: Sequence[str]
) -> dict[str, Any]:
    """Convert the entries of a header to the fields of a dataclass.

    Raises:
        TemplateError: an entry is unknown or of the wrong kind.
    """
    known = {
        one.metadata.get("entry", one.name): one for one in fields(kind) if one.name not in own
    }
    if unknown := [name for name in entries if name not in known]:
        raise TemplateError(f"{path}: unknown entries in {where}: {', '.join(map(repr, unknown))}")
    found = {}
    for name, value in entries.items():
        described, read = _KINDS[known[name].metadata.get("kind", known[name].type)]
        try:
            found[known[name].name] = read(value)
        except (TypeError, ValueError) as error:
            raise TemplateError(f"{path}: {where}: {name} is {described}, not {value!r}") from error
    return found


def is_finite(value: Any) -> bool:
    """Return whether a value is a number, neither NaN nor infinite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308


def _of_type(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError
        return value

    return read


def _number(value: Any) -> Any:
    if not is_finite(value):
        raise ValueError
    return value


def _number_or_undefined(value: Any) -> float | None:
    return None if value == "undefined" else float(_number(value))


def _texts(value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
        raise TypeError
    return tuple(texts)


def _bounds(value: Any) -> tuple[float, float]:
    """Read a lower and an upper bound, which may be infinite."""
    low, high = _of_type(list)(value)
    if not all(is_finite(end) or abs(end) == float("inf") for end in (low, high)):
        raise ValueError
    return float(low), float(high)


def _lists_of_texts(value: Any) -> dict[str, Sequence[str]]:
    return {name: list(_texts(texts)) for name, texts in _of_type(dict)(value).items()}


def _numbers_by_name(value: Any) -> dict[str, float]:
    return {name: _number(number) for name, number in _of_type(dict)(value).items()}


# type of a field, or its "kind" -> how messages call the entry, and how it is read
_KINDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "str": ("a text", _of_type(str)),
    "str | None": ("a text", _of_type(str)),
    "bool": ("true or false", _of_type(bool)),
    "bool | None": ("true or false", _of_type(bool)),
    "int": ("a number", _number),
    "float | None": ("a number", _number),
    "a number or 'undefined'": ("a number or 'undefined'", _number_or_undefined),
    "tuple[float, float] | None": ("a list of two numbers", _bounds),
    "tuple[str, ...]": ("a text or a list of texts", _texts),
    "a list": ("a list", lambda value: tuple(map(str, _of_type(list)(value)))),
    "Mapping[str, Mapping[str, Any]]": ("a table", _of_type(dict)),
    "Mapping[str, Sequence[str]]": (
        "a table of settings and lists of their values", _lists_of_texts
    ),
    "Mapping[str, float]": (
        "a table of values of the param and the value of an empty group for each of them",
        _numbers_by_name,
    ),
}  # fmt: skip
