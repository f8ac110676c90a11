"""Create one virtual environment per system from its pinned requirements."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from .registry import REFERENCE, System

ROOT = Path(__file__).resolve().parents[2]

#: The oldest Python that all pinned packages support.
OLDEST_PYTHON = (3, 11)


class NotInstalledError(Exception):
    """A system cannot be installed; the message gives the reason."""


def environment(system: System, folder: Path, given: Mapping[str, str]) -> Path:
    """Return the interpreter of a system's environment, and create the environment if missing.

    An environment is created again if its requirements have changed. The environment of sqlmetrics
    always contains the package of this checkout.

    Args:
        system: the system.
        folder: the parent folder of the environments, one per folder of systems/.
        given: {folder of a system: interpreter} for new environments.

    Raises:
        NotInstalledError: no interpreter is suitable, or a package cannot be installed.
    """
    place = folder / system.folder
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    made_of, wanted = place / "made_of.txt", system.requirements.read_text(encoding="utf-8")
    if not made_of.exists() or made_of.read_text(encoding="utf-8") != wanted:
        print(f"creating the environment {place}", flush=True)
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
        f"no Python {oldest} to {newest} found; pass one with --python {system.folder}=PATH"
    )


def _candidates() -> Iterator[str]:
    yield sys.executable
    for minor in range(20, OLDEST_PYTHON[1] - 1, -1):
        if found := shutil.which(f"python3.{minor}"):
            yield found


def _python_version(python: str) -> tuple[int, int]:
    """Return the major and minor version; (0, 0) if it does not run, like some pyenv shims."""
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
