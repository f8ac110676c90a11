"""Convention files: the choices of one release of a system, and the differences from it.

A convention is data. Its file maps the metrics of the system to specs (`[covers]`) and the
system's names of parameters to settings (`[parameters]`), lists the system's settings for all
metrics (`[settings]`) and for single ones (`[metrics.NAME]`), and names the behaviour that it does
not reproduce (`[[differs]]`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from sqlmetrics.errors import UsageError, suggestion
from sqlmetrics.metrics.shapes import Constraint, ShapeError, made

STANDARD = "standard"
EVERY = "all"  # as a name: every convention of the package
_FOLDER = Path(__file__).resolve().parent
_NOT_EMPTY = Constraint("a table with a metric (omit it to cover every metric)", bool)
# settings of one metric belong in a table of their own
_SETTING = Constraint(
    "a value (write the settings of one metric as [metrics.NAME])",
    lambda value: not isinstance(value, dict),
)


@dataclass(frozen=True)
class Difference:
    """A behaviour of a system (`there`) that its convention does not reproduce (`here`).

    `metrics`: the affected metrics; empty for all.
    """

    there: str
    here: str
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Convention:
    """A complete set of choices: settings for all metrics, and deviations for single metrics.

    `covers`: the metrics of the system and the specs that compute them; None: every metric.
    `before_cutoff`: characters that the system writes between a name and a cutoff, such as the `_`
    of `P_10`.
    `parameters`: the system's names of parameters and the settings that they stand for.
    `implied`: not requested by name, but through `all`.
    """

    name: str
    title: str = ""
    release: str = ""
    cite: str = ""
    covers: Annotated[Mapping[str, str], _NOT_EMPTY] | None = None
    before_cutoff: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Annotated[Any, _SETTING]] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    differs: tuple[Difference, ...] = ()
    implied: bool = field(default=False, compare=False)

    @classmethod
    def load(cls, name: str | Path) -> Convention:
        """Read a convention of the package by name, or a user-defined one by path.

        Raises:
            UsageError: there is no such convention, or the file is not a valid convention.
        """
        known = conventions()
        path = _path_of(name, known)
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"cannot read the convention {path}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"the convention {path} is not valid TOML: {error}") from error
        try:
            return made(data, cls, name=path.stem, implied=False)
        except ShapeError as error:
            raise UsageError(f"the convention {path}: {error}") from error

    def differences(self, metric: str) -> list[Difference]:
        """Return the differences from the system that affect this metric in particular."""
        return [difference for difference in self.differs if metric in difference.metrics]


def conventions() -> dict[str, Path]:
    """Return the conventions of the package as name -> file, `standard` first."""
    paths = {path.stem: path for path in sorted(_FOLDER.glob("*.toml"), key=lambda p: p.stem)}
    return {STANDARD: paths.pop(STANDARD), **paths}


def load_all(names: str | Path | Iterable[str | Path]) -> list[Convention]:
    """Read one or several conventions, each once; `all` stands for those of the package.

    Raises:
        UsageError: there is no such convention, or two files have the same name.
    """
    if not isinstance(names, str | Path | Iterable):
        raise UsageError(f"conventions must be names or paths of .toml files, not {names!r}")
    given = [names] if isinstance(names, str | Path) else list(names)
    if not given:
        raise UsageError("the list of conventions is empty; omit it for the convention standard")
    named = [Convention.load(name) for name in given if str(name) != EVERY]
    if len(named) < len(given):
        of_all = [replace(Convention.load(name), implied=True) for name in conventions()]
        explicit = {convention.name for convention in named}
        named = [c for c in of_all if c.name not in explicit] + named
    by_name: dict[str, Convention] = {}
    for convention in named:
        if by_name.get(convention.name, convention) != convention:
            raise UsageError(
                f"two conventions have the name {convention.name}, which must be unique; rename "
                "one of the files"
            )
        by_name[convention.name] = convention
    return list(by_name.values())


def _path_of(name: str | Path, known: Mapping[str, Path]) -> Path:
    if not isinstance(name, str | Path):
        raise UsageError(f"a convention must be a name or the path of a .toml file, not {name!r}")
    text = str(name)
    if text in known:
        return known[text]
    there_are = ", ".join(known) + ", or the path of your own .toml file"
    if text in ("", ".", EVERY):
        problem = "the name is empty" if text != EVERY else "all stands for several"
        raise UsageError(f"one convention is needed, but {problem}; choose one of {there_are}")
    path = Path(name)
    if path.suffix != ".toml":
        if path.exists():
            raise UsageError(
                f"{path} is not a convention: the name of a convention file must end in .toml"
            )
        close = suggestion(text, known) or f"; choose one of {there_are}"
        raise UsageError(f"unknown convention {text!r}{close}")
    if path.stem in known:
        raise UsageError(
            f"the convention {path} has the same name as a convention of the package; rename the "
            "file"
        )
    return path
