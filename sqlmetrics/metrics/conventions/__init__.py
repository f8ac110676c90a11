"""Convention files: what one release of a system chooses, and where it is not followed.

A convention is data. Its file says which of the system's metrics are which of ours (`[covers]`),
what the system chooses for all of them (`[settings]`) or for one (`[metrics.NAME]`), and what of it
is not reproduced (`[[differs]]`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from sqlmetrics.errors import UsageError, suggestion
from sqlmetrics.shapes import Constraint, ShapeError, made

STANDARD = "standard"
EVERY = "all"  # in place of a name: every convention that comes with the package
_FOLDER = Path(__file__).resolve().parent
_NOT_EMPTY = Constraint("a table with a metric (leave it out to cover every metric)", bool)
# settings of one metric have a table of their own
_SETTING = Constraint(
    "a value (write the settings of one metric as [metrics.NAME])",
    lambda value: not isinstance(value, dict),
)


@dataclass(frozen=True)
class Difference:
    """Something that a system does and its convention does not: what happens there, and here.

    `metrics` are those that it concerns; none: all.
    """

    there: str
    here: str
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Convention:
    """A full set of choices: values for all metrics, and for single metrics where they differ.

    `covers` names the system's metrics and the specs that compute them; None: every metric.
    `implied`: not asked for by name, but one of all.
    """

    name: str
    title: str = ""
    release: str = ""
    cite: str = ""
    covers: Annotated[Mapping[str, str], _NOT_EMPTY] | None = None
    settings: Mapping[str, Annotated[Any, _SETTING]] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    differs: tuple[Difference, ...] = ()
    implied: bool = field(default=False, compare=False)

    @classmethod
    def load(cls, name: str | Path) -> Convention:
        """Read a convention that comes with the package, by name, or a user's own, by path.

        Raises:
            UsageError: there is no such convention, or the file is not a valid convention.
        """
        known = conventions()
        path = _path_of(name, known)
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"the convention {path} cannot be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"the convention {path} is not valid TOML: {error}") from error
        try:
            return made(data, cls, name=path.stem, implied=False)
        except ShapeError as error:
            raise UsageError(f"the convention {path}: {error}") from error

    def differences(self, metric: str) -> list[Difference]:
        """Return the differences from the system for one metric, without those of all metrics."""
        return [difference for difference in self.differs if metric in difference.metrics]


def conventions() -> dict[str, Path]:
    """Return the conventions that come with the package: name -> file, `standard` first."""
    paths = {path.stem: path for path in sorted(_FOLDER.glob("*.toml"), key=lambda p: p.stem)}
    return {STANDARD: paths.pop(STANDARD), **paths}


def load_all(names: str | Path | Iterable[str | Path]) -> list[Convention]:
    """Read one convention or several, each once; `all` stands for those of the package.

    Raises:
        UsageError: there is no such convention, or two files have one name.
    """
    if not isinstance(names, str | Path | Iterable):
        raise UsageError(f"conventions are names or paths of .toml files, not {names!r}")
    given = [names] if isinstance(names, str | Path) else list(names)
    if not given:
        raise UsageError("no convention named; leave it out for the standard")
    named = [Convention.load(name) for name in given if str(name) != EVERY]
    if len(named) < len(given):
        of_all = [replace(Convention.load(name), implied=True) for name in conventions()]
        explicit = {convention.name for convention in named}
        named = [c for c in of_all if c.name not in explicit] + named
    by_name: dict[str, Convention] = {}
    for convention in named:
        if by_name.get(convention.name, convention) != convention:
            raise UsageError(
                f"two conventions have the name {convention.name}: the column convention could "
                "not tell them apart; rename one of the files"
            )
        by_name[convention.name] = convention
    return list(by_name.values())


def _path_of(name: str | Path, known: Mapping[str, Path]) -> Path:
    """Find the file of a convention."""
    if not isinstance(name, str | Path):
        raise UsageError(f"a convention is a name or the path of a .toml file, not {name!r}")
    text = str(name)
    if text in known:
        return known[text]
    there_are = ", ".join(known) + ", or the path of a .toml file of your own"
    if text in ("", ".", EVERY):
        problem = "an empty name" if text != EVERY else "all stands for several"
        raise UsageError(f"{problem} where one convention is wanted; there are {there_are}")
    path = Path(name)
    if path.suffix != ".toml":
        if path.exists():
            raise UsageError(f"{path} is no convention: the name of such a file ends in .toml")
        raise UsageError(
            f"unknown convention {text!r}; there are {there_are}{suggestion(text, known)}"
        )
    if path.stem in known:
        raise UsageError(
            f"the convention {path} has the name of one that comes with the package, and so would "
            "its results; rename the file"
        )
    return path
