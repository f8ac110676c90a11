"""Template files: read their TOML headers into dataclasses."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from sqlmetrics.errors import TemplateError, UsageError, suggestion
from sqlmetrics.metrics.shapes import Constraint, ShapeError, made
from sqlmetrics.metrics.spec import Value, value_text
from sqlmetrics.texts.messages import Unfilled, filled

SUFFIX = ".sql.j2"
Level = Literal["error", "warning", "note"]  # of checks, the worst first
LEVELS: tuple[Level, ...] = get_args(Level)
_FRONT_MATTER = re.compile(r"\A\{#---\n(?P<toml>.*?)---#\}\n?", re.DOTALL)
# entries that accept a text or a list of texts
_TEXTS = ("unique", "constant", "needs", "on", "reads", "exact", "printed_for")

_FINITE = Constraint("a finite number", lambda number: bool(abs(number) < float("inf")))
_NOT_NAN = Constraint("a number", lambda number: bool(number == number))
_GRAIN = Constraint("'user', 'round' or 'run'", ("user", "round", "run").__contains__)
Finite = Annotated[int | float, _FINITE]


@dataclass(frozen=True)
class Param:
    """A setting, declared in settings.toml or in the header of a template.

    `doc`: a title; further lines explain one value each (`VALUE: text`). `only_with`: other
    settings, and the values with which this setting has an effect. `when_empty`: values of this
    setting, and for each of them the metric value without rows. `reverses`: values of this setting
    with which the other direction of the metric is better than with its default. `mistakes`:
    values that are a known mistake, and for each of them what is wrong. `tried`: numbers that
    `identify` tries.
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
    unlimited: bool = False  # accepts -inf
    only_with: Mapping[str, Sequence[str]] = field(default_factory=dict)
    when_empty: Mapping[str, Finite] = field(default_factory=dict)
    reverses: tuple[str, ...] = ()
    mistakes: Mapping[str, str] = field(default_factory=dict)
    tried: tuple[Finite, ...] = ()

    def parse(self, value: Any, where: str) -> Value:
        """Return the parsed value of this setting.

        Raises:
            UsageError: the value is not one of the choices, or not a number in the range.
        """
        if self.choices:
            text = str(value).strip().lower()
            if text in self.choices:
                return text
            raise UsageError(
                f"{where}: {self.name} cannot be {value!r}; choose one of "
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
        """Describe the accepted values."""
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
        """Format the default as in a spec."""
        return value_text(self.default)


@dataclass(frozen=True)
class Template:
    """A template file: its name, path, front matter, and body."""

    name: str
    path: Path
    body: str
    title: str
    params: Mapping[str, Param] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage(Template):
    """A named relation that metrics read.

    `keep`: small enough to cache between calls. `cutoff`: the column that cutoffs apply to.
    `unique`: the columns of a unique key (`user` stands for the user's key columns). `constant`:
    columns with one value per user and model. `judged_only`: reads only the judged items of lists,
    so that it can be computed for a slice of items. `slices_of`: a stage that its SELECT joins, and
    from which its rows take their slice of items. `every_slice`: about whole lists, which are the
    same in every slice of items. `columns`: descriptions of computed columns. `exact`: columns with
    exact sums in the physical plan, which do not depend on the order of rows.
    """

    keep: bool = False
    cutoff: str | None = None
    unique: tuple[str, ...] = ()
    constant: tuple[str, ...] = ()
    judged_only: bool = False
    slices_of: str = ""
    every_slice: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    exact: tuple[str, ...] = ()


@dataclass(frozen=True)
class Alternative(Template):
    """Another query for the rows of a stage or `results/` template with the same name.

    `engine`: the dialect of its engine; empty for all. `when`: settings and the values that allow
    it. `spares`: a stage that it avoids; it is used only if nothing else reads that stage.
    `printed_for`: dialects that also print it, as they do not support the other query.
    `in_memory`: it keeps rows of all lists in memory, so it is used only if they fit.
    `exact`: as in a stage.
    """

    engine: str = ""
    when: Mapping[str, Sequence[str | float]] = field(default_factory=dict)
    spares: str = ""
    printed_for: tuple[str, ...] = ()
    in_memory: bool = False
    exact: tuple[str, ...] = ()

    @property
    def template_path(self) -> str:
        """The path in `sql_templates`, without the suffix."""
        parts = [part for part in ("physical", self.engine, self.name) if part]
        return "/".join(parts)


@dataclass(frozen=True)
class Check(Template):
    """A query for the rows of a table that break a rule, with messages for the user.

    An input validation runs if `count`, a column of the totals of its table, is not 0, or whenever
    one of the tables and stages in `on` is read; its column `n_found` then counts the rows. A check
    with neither is a data check: it runs only with `check`, if all its `needs` (tables, and columns
    as `table.column`) were given; with a result, also only if a metric of the result reads one of
    the tables and stages in `reads`. `level`: "error", "warning" or "note". `implied_by`: a
    cheaper query of this folder that returns a row only if no row breaks the rule; it runs first.
    `of_result`: it runs only with a result, or for named metrics that read one of `reads`.
    `in_report`: a note that reports and records also have.
    `bounds`: a setting, ties or gain; the finding names the values of a metric with its other
    values. `when`: a condition in Jinja without which the check does not apply.
    """

    table: str = ""
    level: Level = "error"
    needs: tuple[str, ...] = ()
    count: str = ""
    on: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    column: str = ""
    found: str = ""
    remedy: str = ""
    order: int = 0
    implied_by: str = ""
    bounds: str = ""
    when: str = ""
    of_result: bool = False
    in_report: bool = False

    def __post_init__(self) -> None:
        if self.at_the_door and self.level != "error":
            raise TemplateError(f"{self.path}: a check with count or on must have the level error")
        for text in (self.found, self.remedy):
            try:
                filled(text, Unfilled())
            except (ValueError, LookupError, AttributeError) as error:
                raise TemplateError(f"{self.path}: found and remedy: {error}") from error

    @property
    def at_the_door(self) -> bool:
        """Whether the check is an input validation, which rejects tables before results."""
        return bool(self.count or self.on)


@dataclass(frozen=True)
class Slice(Template):
    """A query for the slices of users or judged items: `label`, and `position` as the sort key.

    `of`: "users" (a row per user), "items" (per item) or "interactions" (per user and item).
    `missing`: the label of users or items without a row. `only_with`: settings that metrics need,
    each with its `value`, and `why`.
    """

    of: Literal["users", "items", "interactions"] = "users"
    missing: str = "(none)"
    only_with: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Metric(Template):
    """A metric: a query for `{{ keys }}, k, value`, and its description.

    `grain`: whether there is a value per user, per round of the logs, or per run. Values of rounds
    are expressions over the rows of one stage, the `audience`; with a further column `weight` of
    the query, their mean is weighted. `aggregate`: what sums values up, if not their mean.
    `when_empty`: the value of a user (or model) without a row; None: undefined. `defined_for`: a
    stage with one row per user for whom the metric is defined; empty for all users. `undefined`: a
    description of the cases with a NULL value. `tex`: the formula in TeX for the documentation, one
    equation per line. `exact`: columns with exact sums in the physical plan, which do not depend on
    the order of rows. `averages_ties`: the value is a sum over hits of gain times weight of rank,
    so that the setting ties=average applies. `unjudged`: the choices of the setting of that name,
    besides nonrelevant, that apply; by default all for metrics of relevant items. `in_all`:
    whether `all` includes the metric; false for metrics that need columns that few tables have.
    `in_report`: whether reports show a metric beyond accuracy by default; a page has few columns.
    """

    family: str = "custom"
    short: str = ""  # the name in headers of tables for papers, if the title is long
    grain: Annotated[str, _GRAIN] = "user"
    audience: str = "relevant"
    aggregate: str = "mean"
    when_empty: Annotated[float, _FINITE] | None = None
    defined_for: str = ""
    undefined: str = ""
    range: tuple[Annotated[float, _NOT_NAN], Annotated[float, _NOT_NAN]] | None = None
    unbounded: str = ""  # describes the range if it has no fixed bounds
    higher_is_better: bool | None = None
    in_default_set: bool = False
    in_all: bool = True
    in_report: bool = True
    formula: str = ""
    tex: str = ""
    cite: str = ""
    aliases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    exact: tuple[str, ...] = ()
    averages_ties: bool = False
    unjudged: tuple[str, ...] | None = None

    @property
    def is_of_relevant_items(self) -> bool:
        """Whether the values of users depend on where relevant items are in their lists."""
        return self.grain == "user" and self.audience == "relevant"

    @property
    def unjudged_items(self) -> tuple[str, ...]:
        """Return the choices of unjudged, besides nonrelevant, that apply to the metric."""
        if self.unjudged is not None:
            return self.unjudged
        return ("drop", "best") if self.is_of_relevant_items else ()

    @property
    def can_be_best_without_relevant(self) -> bool:
        """Whether the setting no_relevant=one applies: 1 is the best value of a user."""
        return self.is_of_relevant_items and self.range == (0, 1) and self.higher_is_better is True


_T = TypeVar("_T", bound=Template)


def template_root() -> Path:
    """Return the path of `sql_templates`, in the installed package or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for root in (package / "sql_templates", package.parent / "sql_templates"):
        if (root / "metrics").is_dir():
            return root
    raise TemplateError(f"the installation is damaged: no folder sql_templates beside {package}")


@functools.cache
def _shared_params() -> dict[str, Param]:
    """Read the settings that several metrics declare."""
    path = template_root() / "metric_settings.toml"
    return read_params(path, tomllib.loads(path.read_text(encoding="utf-8")))


def read_template(kind: type[_T], path: Path, **defaults: Any) -> _T:
    """Read a template file, whose header has the fields of `kind`.

    Args:
        kind: the class of the template.
        path: the file.
        defaults: default values of fields.

    Raises:
        TemplateError: the file cannot be read, or an entry is unknown or has a wrong type.
    """
    name, entries, body = _split(path)
    params: dict[str, Param] = {}
    if kind is not Check:
        params = _used_params(path, entries.pop("use", []))
        params |= read_params(path, entries.pop("params", {}))
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


def _used_params(path: Path, names: Any) -> dict[str, Param]:
    """Return the settings of `metric_settings.toml` that a template takes over."""
    known = _shared_params()
    for name in names:
        if name not in known:
            hint = suggestion(str(name), known)
            raise TemplateError(f"{path}: use: no shared setting is called {name!r}", hint)
    return {known[name].name: known[name] for name in names}


def read_params(path: Path, entries: Any) -> dict[str, Param]:
    """Read the settings that a file declares, by the names of their tables.

    Raises:
        TemplateError: an entry is unknown or has a wrong type, or a default is invalid.
    """
    if not isinstance(entries, dict) or not all(
        isinstance(entries[name], dict) for name in entries
    ):
        raise TemplateError(
            f"{path}: invalid front matter; write a table [params.NAME] for each param"
        )
    params = {}
    for name, entry in entries.items():
        rest = dict(entry)
        default = rest.pop("default", None)
        kind = rest.pop("type", "choice" if "choices" in rest else None)
        if kind not in ("choice", "number") or default is None:
            raise TemplateError(
                f"{path}: param {name} needs a default, and either choices or type = 'number'"
            )
        if isinstance(rest.get("choices"), list):
            rest["choices"] = list(map(str, rest["choices"]))
        try:
            param = made({"name": name, **rest}, Param, default=default)
            params[name] = replace(param, default=param.parse(default, "default"))
        except (ShapeError, UsageError) as error:
            raise TemplateError(f"{path}: param {name}: {error}") from error
    return params


def _split(path: Path) -> tuple[str, dict[str, Any], str]:
    """Split a file into its name, its header and its body."""
    name = path.name.removesuffix(SUFFIX)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise TemplateError(
            f"{path}: invalid template name; use only lower-case letters, digits and _"
        )
    try:
        source = path.read_text(encoding="utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"cannot read {path}: {error}") from error
    match = _FRONT_MATTER.match(source)
    if match is None:
        raise TemplateError(
            f"{path}: the file must start with front matter: a line {{#---, TOML, a line ---#}}"
        )
    try:
        meta = tomllib.loads("\n" + match["toml"])  # so that errors have the lines of the file
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TemplateError(f"{path}: the front matter is not valid TOML: {error}") from error
    # blank lines preserve the line numbers in error messages
    return name, meta, "\n" * match[0].count("\n") + source[match.end() :]
