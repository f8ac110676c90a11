"""Template files: headers in TOML, read into the dataclasses that describe templates."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from sqlmetrics.errors import TemplateError, UsageError, suggestion
from sqlmetrics.messages import Unfilled, filled
from sqlmetrics.metrics.spec import Value, value_text
from sqlmetrics.shapes import Constraint, ShapeError, made

SUFFIX = ".sql.j2"
Level = Literal["error", "warning", "note"]  # of checks, the worst first
LEVELS: tuple[Level, ...] = get_args(Level)
_FRONT_MATTER = re.compile(r"\A\{#---\n(?P<toml>.*?)---#\}\n?", re.DOTALL)
# entries that are a text or a list of texts
_TEXTS = ("unique", "constant", "needs", "on", "exact", "printed_for")

_FINITE = Constraint("a finite number", lambda number: bool(abs(number) < float("inf")))
_NOT_NAN = Constraint("a number", lambda number: bool(number == number))
_GRAIN = Constraint("'user' or 'run'", ("user", "run").__contains__)
Finite = Annotated[int | float, _FINITE]


@dataclass(frozen=True)
class Param:
    """A setting, as settings.toml or the header of a template declares it.

    `only_with`: other settings, and their values for which this setting has a meaning.
    `when_empty`: values of this setting, and the value of a user without rows for each of them.
    """

    name: str
    default: Value
    choices: tuple[str, ...] = ()
    doc: str = ""
    optional: bool = False
    min: Finite | None = None
    max: Finite | None = None
    above: Finite | None = None
    whole: bool = False
    unlimited: bool = False  # takes -inf
    only_with: Mapping[str, Sequence[str]] = field(default_factory=dict)
    when_empty: Mapping[str, Finite] = field(default_factory=dict)

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
            and (self.min is None or number >= self.min)
            and (self.max is None or number <= self.max)
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
                (self.min, f">= {self.min}"),
                (self.above, f"> {self.above}"),
                (self.max, f"<= {self.max}"),
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
    `enough`: computed for some of the users, it has every row that queries about them need.
    `columns`: descriptions of the columns that it computes. `exact`: columns whose sums do not
    depend on the order of rows, where an engine runs the query.
    """

    keep: bool = False
    cutoff: str | None = None
    unique: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    judged_only: bool = False
    enough: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    exact: tuple[str, ...] = ()


@dataclass(frozen=True)
class Alternative(Template):
    """Another way to the rows of a stage or of a template of `results/`, which has the same name.

    `engine`: the dialect of the engine that it is for; empty: all. `when`: settings, and their
    values for which it may be used. `spares`: a stage that it does without; where something else
    reads that, there is nothing to be gained. `printed_for`: dialects whose printed statements have
    it too, as they lack what the other query needs. `exact`: as that of a stage.
    """

    engine: str = ""
    when: Mapping[str, Sequence[str]] = field(default_factory=dict)
    spares: str = ""
    printed_for: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()

    @property
    def template_path(self) -> str:
        """The path in `sql_templates`, without the ending."""
        parts = [part for part in ("physical", self.engine, self.name) if part]
        return "/".join(parts)


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
    level: Level = "error"
    needs: tuple[str, ...] = ()
    count: str = ""
    on: tuple[str, ...] = ()
    column: str = ""
    found: str = ""
    remedy: str = ""
    order: int = 0
    of_all: bool = False

    def __post_init__(self) -> None:
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

    of: Literal["users", "items", "interactions"] = "users"
    missing: str = "(none)"


@dataclass(frozen=True)
class Metric(Template):
    """A metric: a query of `{{ keys }}, k, value`, and all that is to be known about it.

    `when_empty`: the value of who has no row; None: undefined. `defined_for`: a stage with one row
    per user for whom the metric is defined (empty: for everybody). `undefined`: when a value is
    NULL, in words. `exact`: columns whose sums do not depend on the order of rows, where an engine
    runs the query. `in_all`: does `all` stand for it, too? Metrics that few tables have the columns
    for are left to those who name them.
    """

    family: str = "custom"
    grain: Annotated[str, _GRAIN] = "user"
    audience: str = "relevant"
    when_empty: Annotated[float, _FINITE] | None = None
    defined_for: str = ""
    undefined: str = ""
    range: tuple[Annotated[float, _NOT_NAN], Annotated[float, _NOT_NAN]] | None = None
    unbounded: str = ""  # why there is no range
    higher_is_better: bool | None = None
    in_default_set: bool = False
    in_all: bool = True
    formula: str = ""
    cite: str = ""
    aliases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    exact: tuple[str, ...] = ()


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
    if entries.get("when_empty") == "undefined":
        entries["when_empty"] = None
    for entry in _TEXTS:
        if isinstance(entries.get(entry), str):
            entries[entry] = [entries[entry]]
    entries = {"title": name, **defaults, **entries}
    try:
        return made(entries, kind, name=name, path=path, body=body, params=params)
    except ShapeError as error:
        raise TemplateError(f"{path}: the front matter: {error}") from error


def read_params(path: Path, entries: Any) -> dict[str, Param]:
    """Read the settings that a file declares.

    Raises:
        TemplateError: an entry is unknown or of the wrong kind, or a default is invalid.
    """
    if not isinstance(entries, dict) or not all(
        isinstance(entries[name], dict) for name in entries
    ):
        raise TemplateError(f"{path}: the front matter: write a table [params.NAME] for each param")
    params = {}
    for name, entry in entries.items():
        rest = dict(entry)
        default = rest.pop("default", None)
        kind = rest.pop("type", "choice" if "choices" in rest else None)
        if kind not in ("choice", "number") or default is None:
            raise TemplateError(
                f"{path}: param {name} needs a default, and choices or type = 'number'"
            )
        if isinstance(rest.get("choices"), list):
            rest["choices"] = list(map(str, rest["choices"]))
        try:
            param = made(rest, Param, name=name, default=default)
            params[name] = replace(param, default=param.parse(default, "default"))
        except (ShapeError, UsageError) as error:
            raise TemplateError(f"{path}: param {name}: {error}") from error
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
