"""Makes a virtual environment per system, once, from its pinned requirements."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from .registry import REFERENCE, System

ROOT = Path(__file__).resolve().parents[2]

#: The oldest Python that the pinned packages can be installed with.
OLDEST_PYTHON = (3, 11)


class NotInstalledError(Exception):
    """Says why a system cannot be installed."""


def environment(system: System, folder: Path, given: Mapping[str, str]) -> Path:
    """Return the interpreter of a system's environment, which is made where it is missing.

    An environment whose requirements have changed since is made anew. That of sqlmetrics always
    gets the package as it is in this checkout.

    Args:
        system: whose environment it is.
        folder: that holds the environments, one per folder of systems/.
        given: {folder of a system: interpreter} to make environments with.

    Raises:
        NotInstalledError: there is no interpreter for it, or a package cannot be installed.
    """
    place = folder / system.folder
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    made_of, wanted = place / "made_of.txt", system.requirements.read_text(encoding="utf-8")
    if not made_of.exists() or made_of.read_text(encoding="utf-8") != wanted:
        print(f"making the environment {place}", flush=True)
        _run([_interpreter(system, given), "-m", "venv", "--clear", str(place)])
        _install(python, "-r", str(system.requirements))
        made_of.write_text(wanted, encoding="utf-8")
    if system.folder == REFERENCE:
        _install(python, "--no-deps", "--force-reinstall", str(ROOT))
    return python


def version(system: System, python: Path) -> str:
    """Return the version of the system in its environment."""
    code = f"import importlib.metadata as m; print(m.version({system.package!r}))"
    return _run([str(python), "-c", code]).strip()


def _interpreter(system: System, given: Mapping[str, str]) -> str:
    if system.folder in given:
        return given[system.folder]
    for candidate in _candidates():
        if OLDEST_PYTHON <= _python_version(candidate) <= system.newest_python:
            return candidate
    oldest, newest = (".".join(map(str, v)) for v in (OLDEST_PYTHON, system.newest_python))
    raise NotInstalledError(
        f"no Python {oldest} to {newest}; name one with --python {system.folder}=PATH"
    )


def _candidates() -> Iterator[str]:
    yield sys.executable
    for minor in range(20, OLDEST_PYTHON[1] - 1, -1):
        if found := shutil.which(f"python3.{minor}"):
            yield found


def _python_version(python: str) -> tuple[int, int]:
    """Return major and minor version; (0, 0) of what does not run, such as a pyenv shim."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        major, minor = _run([python, "-c", code]).split()
    except NotInstalledError:
        return 0, 0
    return int(major), int(minor)


def _install(python: Path, *what: str) -> None:
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what])


def _run(command: list[str]) -> str:
    """Run a command and return its output."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except OSError as error:
        raise NotInstalledError(str(error)) from error
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines or ["no message"]
        raise NotInstalledError(errors[0].removeprefix("ERROR: ")) from error
