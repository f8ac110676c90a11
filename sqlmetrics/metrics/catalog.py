"""Finds templates, built in and in the user's folders, and reads their front matter."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlmetrics.errors import TemplateError, UsageError, suggestion
from sqlmetrics.metrics.spec import Value, value_text

SUFFIX = ".sql.j2"
LEVELS = ("error", "warning", "note")  # of checks, the worst first
EVERYTHING = "all"  # in place of a metric: every metric there is
# what the entries of front matter hold, of templates and of their params
_KINDS_OF_ENTRIES: dict[str, tuple[str, ...]] = {
    "a text": (
        "title", "grain", "audience", "defined_for", "undefined", "unbounded", "formula", "cite",
        "family", "cutoff", "of", "missing", "table", "level", "count", "column", "found", "remedy",
        "type", "doc",
    ),
    "true or false": (
        "higher_is_better", "in_default_set", "keep", "judged_only", "enough", "optional", "whole",
        "unlimited", "of_all",
    ),
    "a number": ("min", "max", "above", "order"),
    "a list of two numbers": ("range",),
    "a list": ("choices",),
    "a text or a list of texts": ("unique", "constant", "on", "needs"),
    "a table": ("params", "aliases", "only_with"),
}  # fmt: skip
_FRONT_MATTER = re.compile(r"\A\{#---\n(?P<toml>.*?)---#\}\n?", re.DOTALL)


def template_root() -> Path:
    """Find `sql_templates`: inside an installed package, else beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for root in (package / "sql_templates", package.parent / "sql_templates"):
        if (root / "metrics").is_dir():
            return root
    raise TemplateError(f"the installation is damaged: no sql_templates beside {package}")


@dataclass(frozen=True)
class Param:
    """One setting, as the front matter of its owner declares it.

    `only_with`: other settings, and the values of them with which this one means anything.
    `when_empty`: values with which a metric has another value for who has no row.
    """

    name: str
    default: Value
    choices: tuple[str, ...] = ()
    doc: str = ""
    optional: bool = False
    minimum: float | None = None
    maximum: float | None = None
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
    when_empty: float | None = None
    defined_for: str = ""
    undefined: str = ""
    range: tuple[float, float] | None = None
    unbounded: str = ""  # why there is no range
    higher_is_better: bool | None = None
    in_default_set: bool = False
    formula: str = ""
    cite: str = ""
    aliases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Catalog:
    """All templates of a run, by name."""

    def __init__(
        self,
        metrics: Iterable[Metric],
        stages: Iterable[Stage],
        checks: Iterable[Check],
        slices: Iterable[Slice] = (),
    ):
        self.metrics: dict[str, Metric] = {}
        self.stages = {stage.name: stage for stage in stages}
        self.checks = {check.name: check for check in sorted(checks, key=lambda c: c.order)}
        self.slices = {one.name: one for one in slices}
        self.aliases: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for metric in metrics:
            self._add(metric)
        self.stage_params = {
            name: param for stage in self.stages.values() for name, param in stage.params.items()
        }

    @classmethod
    def load(cls, folders: Iterable[str | Path] = ()) -> Catalog:
        """Read the built-in templates and those of the user's folders.

        A file `NAME.sql.j2` of a user's folder is a metric, in a sub-folder `stages` a stage, in
        `slices` a slice, in `checks` a check.

        Raises:
            TemplateError: a folder or its front matter cannot be read, or a name is taken.
        """
        built_in = _built_in()
        catalog = cls(built_in.metrics, built_in.stages, built_in.checks, built_in.slices)
        catalog.stage_params.update(built_in.params)
        for folder in map(Path, folders):
            if not folder.is_dir():
                raise TemplateError(f"the folder of templates {folder} does not exist")
            for path in _files(folder):
                if path.parent.name == "stages":
                    stage = _read_stage(path)
                    if stage.name in catalog.stages:
                        raise TemplateError(f"{path}: there is already a stage {stage.name}")
                    catalog.stages[stage.name] = stage
                    catalog.stage_params.update(stage.params)
                elif path.parent.name == "slices":
                    one = _read_slice(path)
                    if one.name in catalog.slices:
                        raise TemplateError(f"{path}: there is already a slice {one.name}")
                    catalog.slices[one.name] = one
                elif path.parent.name == "checks":
                    check = _read_check(path)
                    if check.name in catalog.checks:
                        raise TemplateError(f"{path}: there is already a check {check.name}")
                    catalog.checks[check.name] = check
                else:
                    catalog._add(_read_metric(path, "custom"))
        return catalog

    def _add(self, metric: Metric) -> None:
        for name in (metric.name, *metric.aliases):
            if name == EVERYTHING:
                raise TemplateError(f"{metric.path}: the name {name} stands for every metric")
            if name in self.metrics or name in self.aliases:
                raise TemplateError(
                    f"{metric.path}: the name {name} is already taken by another metric"
                )
        self.metrics[metric.name] = metric
        for alias, params in metric.aliases.items():
            for name, value in params.items():
                if name not in metric.params:
                    raise TemplateError(f"{metric.path}: alias {alias} sets {name}, not a param")
                metric.params[name].parse(value, f"{metric.path}: alias {alias}")
            self.aliases[alias] = (metric.name, params)

    def metric(self, name: str) -> tuple[Metric, Mapping[str, Any]]:
        """Find a metric by its name or an alias; an alias may fix parameters.

        Raises:
            UsageError: there is no such metric; the closest names are in the message.
        """
        canonical, params = self.aliases.get(name.lower(), (name.lower(), {}))
        if canonical not in self.metrics:
            known = [*self.metrics, *self.aliases]
            raise UsageError(
                f"unknown metric {name!r}{suggestion(name, known)} (`sqlmetrics list` shows all)"
            )
        return self.metrics[canonical], params

    def default_set(self) -> list[str]:
        """Names of the metrics that are computed when none is named."""
        return [metric.name for metric in self.metrics.values() if metric.in_default_set]

    def known_settings(self) -> set[str]:
        """Names of all settings, of stages and of metrics."""
        own = {name for metric in self.metrics.values() for name in metric.params}
        return own | set(self.stage_params)


@dataclass(frozen=True)
class _BuiltIn:
    """The templates of the package, and the settings of its summaries."""

    metrics: Sequence[Metric]
    stages: Sequence[Stage]
    checks: Sequence[Check]
    slices: Sequence[Slice]
    params: Mapping[str, Param]


@functools.cache
def _built_in() -> _BuiltIn:
    """Read the templates of the package, once per process."""
    root = template_root()
    params: dict[str, Param] = {}
    for name in ("filled", "totals"):
        summary = root / "summaries" / f"{name}{SUFFIX}"
        _, meta, _ = _read(summary)
        params.update(_params(summary, meta))
        _no_more(summary, meta, "the front matter")
    return _BuiltIn(
        metrics=[_read_metric(path, path.parent.name) for path in _files(root / "metrics")],
        stages=[_read_stage(path) for path in _files(root / "stages")],
        checks=[_read_check(path) for path in _files(root / "checks")],
        slices=[_read_slice(path) for path in _files(root / "slices")],
        params=params,
    )


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{SUFFIX}"))


def _read(path: Path) -> tuple[str, dict[str, Any], str]:
    """Split a file into its name, its front matter and its body."""
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
    _check_kinds(path, meta, "the front matter")
    # blank lines keep the line numbers of error messages true
    return name, meta, "\n" * match[0].count("\n") + source[match.end() :]


def _params(path: Path, meta: dict[str, Any]) -> dict[str, Param]:
    params = {}
    for name, entry in meta.pop("params", {}).items():
        if not isinstance(entry, dict):
            raise TemplateError(f"{path}: param {name} is a table [params.{name}], not {entry!r}")
        _check_kinds(path, entry, f"param {name}")
        entry = dict(entry)
        when_empty = entry.pop("when_empty", {})
        if not (isinstance(when_empty, dict) and all(map(_is_finite, when_empty.values()))):
            raise TemplateError(
                f"{path}: param {name}: when_empty is a table of values of the param and the "
                f"numbers that an empty group gets with them, not {when_empty!r}"
            )
        kind = entry.pop("type", "choice" if "choices" in entry else None)
        if kind not in ("choice", "number") or "default" not in entry:
            raise TemplateError(
                f"{path}: param {name} needs a default, and choices or type = 'number'"
            )
        default = entry.pop("default")
        try:
            param = Param(
                name=name,
                default=default,
                choices=tuple(str(choice) for choice in entry.pop("choices", ())),
                doc=entry.pop("doc", ""),
                optional=entry.pop("optional", False),
                minimum=entry.pop("min", None),
                maximum=entry.pop("max", None),
                above=entry.pop("above", None),
                whole=entry.pop("whole", False),
                unlimited=entry.pop("unlimited", False),
                only_with=entry.pop("only_with", {}),
                when_empty=when_empty,
            )
            default = param.parse(default, "default")
        except UsageError as error:
            raise TemplateError(f"{path}: {error}") from error
        _no_more(path, entry, f"param {name}")
        params[name] = Param(**{**vars(param), "default": default})
    return params


def _check_kinds(path: Path, entries: Mapping[str, Any], where: str) -> None:
    """Check that what stands in front matter is of its kind.

    Raises:
        TemplateError: names the entry, what it is and what it has to be.
    """
    for kind, names in _KINDS_OF_ENTRIES.items():
        for name in names:
            if name in entries and not _is_of_kind(entries[name], kind):
                raise TemplateError(f"{path}: {where}: {name} is {kind}, not {entries[name]!r}")
    for name, value in entries.get("aliases", {}).items():
        if not isinstance(value, dict):
            raise TemplateError(
                f"{path}: alias {name} is a table of what it sets, such as {{}}, not {value!r}"
            )
    for name, value in entries.get("only_with", {}).items():
        if not _is_of_kind(value, "a text or a list of texts"):
            raise TemplateError(
                f"{path}: {where}: only_with is a table of settings and lists of their values; "
                f"{name} is {value!r}"
            )


def _is_of_kind(value: Any, kind: str) -> bool:
    if kind == "a text or a list of texts":
        texts = [value] if isinstance(value, str) else value
        return isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    if kind == "a list of two numbers":
        # an end may be infinite
        ends = value if isinstance(value, list) else []
        return len(ends) == 2 and all(_is_finite(one) or abs(one) == float("inf") for one in ends)
    if kind == "a number":
        return _is_finite(value)
    types = {"a text": str, "true or false": bool, "a list": list, "a table": dict}
    return isinstance(value, types[kind])


def _is_finite(value: Any) -> bool:
    """Is it a number, neither NaN nor infinite?"""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308


def _texts(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _no_more(path: Path, rest: Mapping[str, Any], where: str) -> None:
    if rest:
        raise TemplateError(f"{path}: unknown entries in {where}: {', '.join(map(repr, rest))}")


def _read_metric(path: Path, family: str) -> Metric:
    name, meta, body = _read(path)
    params = _params(path, meta)
    grain = meta.pop("grain", "user")
    if grain not in ("user", "run"):
        raise TemplateError(f"{path}: grain is 'user' or 'run', not {grain!r}")
    when_empty = meta.pop("when_empty", "undefined")
    if when_empty != "undefined" and not _is_finite(when_empty):
        raise TemplateError(f"{path}: when_empty is a number or 'undefined', not {when_empty!r}")
    bounds = meta.pop("range", None)
    metric = Metric(
        name=name,
        path=path,
        body=body,
        title=meta.pop("title", name),
        params=params,
        family=meta.pop("family", family),
        grain=grain,
        audience=meta.pop("audience", "relevant"),
        when_empty=None if when_empty == "undefined" else float(when_empty),
        defined_for=meta.pop("defined_for", ""),
        undefined=meta.pop("undefined", ""),
        unbounded=meta.pop("unbounded", ""),
        range=None if bounds is None else (float(bounds[0]), float(bounds[1])),
        higher_is_better=meta.pop("higher_is_better", None),
        in_default_set=meta.pop("in_default_set", False),
        formula=meta.pop("formula", ""),
        cite=meta.pop("cite", ""),
        aliases=meta.pop("aliases", {}),
    )
    _no_more(path, meta, "the front matter")
    return metric


def _read_stage(path: Path) -> Stage:
    name, meta, body = _read(path)
    stage = Stage(
        name=name,
        path=path,
        body=body,
        params=_params(path, meta),
        title=meta.pop("title", name),
        keep=meta.pop("keep", False),
        cutoff=meta.pop("cutoff", None),
        unique=tuple(meta.pop("unique", ())),
        constant=tuple(meta.pop("constant", ())),
        judged_only=meta.pop("judged_only", False),
        enough=meta.pop("enough", False),
    )
    _no_more(path, meta, "the front matter")
    return stage


def _read_slice(path: Path) -> Slice:
    name, meta, body = _read(path)
    one = Slice(
        name=name,
        path=path,
        body=body,
        params=_params(path, meta),
        title=meta.pop("title", name),
        of=meta.pop("of", "users"),
        missing=meta.pop("missing", Slice.missing),
    )
    if one.of not in ("users", "items", "interactions"):
        raise TemplateError(f"{path}: of is 'users', 'items' or 'interactions', not {one.of!r}")
    _no_more(path, meta, "the front matter")
    return one


def _read_check(path: Path) -> Check:
    name, meta, body = _read(path)
    check = Check(
        name=name,
        path=path,
        body=body,
        title=meta.pop("title", name),
        table=meta.pop("table", ""),
        level=meta.pop("level", "error"),
        needs=_texts(meta.pop("needs", ())),
        count=meta.pop("count", ""),
        on=_texts(meta.pop("on", ())),
        column=meta.pop("column", ""),
        found=meta.pop("found", ""),
        remedy=meta.pop("remedy", ""),
        order=meta.pop("order", 0),
        of_all=meta.pop("of_all", False),
    )
    if check.level not in LEVELS:
        raise TemplateError(f"{path}: level is {', '.join(map(repr, LEVELS))}, not {check.level!r}")
    if check.at_the_door and check.level != "error":
        raise TemplateError(f"{path}: what is checked before numbers are computed is an error")
    _no_more(path, meta, "the front matter")
    return check
