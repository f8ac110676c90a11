"""Run pytest in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.processes import PATIENCE


def run_pytest(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run pytest in a process of its own, which knows nothing of the one around it.

    Of the plugins only what is asked for: to load them all takes longer than most of these runs.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    xdist = ["-p", "xdist"] if "-n" in arguments else []
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *xdist, *arguments],
        cwd=folder,
        env={**env, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
    )
