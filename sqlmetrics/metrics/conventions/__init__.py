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
from typing import Any

from sqlmetrics.errors import UsageError, suggestion

STANDARD = "standard"
EVERY = "all"  # in place of a name: every convention that comes with the package
_FOLDER = Path(__file__).resolve().parent
_TEXTS = ("title", "release", "cite")
_TABLES = ("covers", "settings", "metrics")


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
    covers: Mapping[str, str] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    differs: tuple[Difference, ...] = ()
    implied: bool = field(default=False, compare=False)

    @classmethod
    def load(cls, name: str | Path) -> Convention:
        """Read a convention that comes with the package, by name, or a user's own, by path.

        Raises:
            UsageError: there is no such convention, or the file is not what it should be.
        """
        known = conventions()
        path = _path_of(name, known)
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"the convention {path} cannot be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"the convention {path} is not valid TOML: {error}") from error
        _check_form(data, path)
        return cls(
            name=path.stem,
            **{name: data.get(name, "") for name in _TEXTS},
            covers=data.get("covers"),
            settings=data.get("settings", {}),
            metrics=data.get("metrics", {}),
            differs=tuple(
                Difference(entry["there"], entry["here"], tuple(entry.get("metrics", ())))
                for entry in data.get("differs", [])
            ),
        )

    def differences(self, metric: str) -> list[Difference]:
        """Say what is not reproduced for one metric, apart from what concerns all."""
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
    found: dict[str, Convention] = {}
    for convention in named:
        if found.get(convention.name, convention) != convention:
            raise UsageError(
                f"two conventions have the name {convention.name}: the column convention could "
                "not tell them apart; rename one of the files"
            )
        found[convention.name] = convention
    return list(found.values())


def _path_of(name: str | Path, known: Mapping[str, Path]) -> Path:
    """Find the file of a convention."""
    if not isinstance(name, str | Path):
        raise UsageError(f"a convention is a name or the path of a .toml file, not {name!r}")
    text = str(name)
    if text in known:
        return known[text]
    there_are = ", ".join(known) + ", or the path of a .toml file of your own"
    if text in ("", ".", EVERY):
        found = "an empty name" if text != EVERY else "all stands for several"
        raise UsageError(f"{found} where one convention is wanted; there are {there_are}")
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


def _check_form(data: Mapping[str, Any], path: Path) -> None:
    """Check that a file has the entries of a convention, each of its kind.

    Raises:
        UsageError: names what is wrong.
    """
    problems = [repr(name) for name in data if name not in (*_TEXTS, *_TABLES, "differs")]
    problems += [f"a {name} that is no text" for name in _TEXTS if not _is_text(data, name)]
    for name in _TABLES:
        if not isinstance(data.get(name, {}), dict):
            problems.append(f"{name} that is no table")
    covers, metrics = data.get("covers", {}), data.get("metrics", {})
    if data.get("covers", {"": ""}) == {}:
        problems.append("a table [covers] without a metric (leave it out to cover every metric)")
    if isinstance(data.get("settings"), dict):
        nested = [name for name, value in data["settings"].items() if isinstance(value, dict)]
        problems += [f"a table in [settings] (write [metrics.{name}])" for name in nested]
    if isinstance(covers, dict) and not all(isinstance(spec, str) for spec in covers.values()):
        problems.append("an entry of [covers] that is no metric as text")
    if isinstance(metrics, dict) and not all(isinstance(table, dict) for table in metrics.values()):
        problems.append("an entry of [metrics] that is no table")
    differs = data.get("differs", [])
    if not isinstance(differs, list) or not all(map(_is_difference, differs)):
        problems.append("a [[differs]] without the texts there and here")
    if problems:
        raise UsageError(
            f"the convention {path} has {', '.join(problems)}; it holds title, release, cite, the "
            "tables [covers], [settings] and [metrics.NAME], and tables [[differs]]"
        )


def _is_text(data: Mapping[str, Any], name: str) -> bool:
    return isinstance(data.get(name, ""), str)


def _is_difference(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and {"there", "here"} <= set(entry) <= {"there", "here", "metrics"}
        and all(isinstance(entry[name], str) for name in ("there", "here"))
        and isinstance(entry.get("metrics", []), list)
        and all(isinstance(name, str) for name in entry.get("metrics", []))
    )
