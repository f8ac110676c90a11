"""Reads and runs the blocks for a shell of the pages in docs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.paths import EXAMPLES

_BLOCK = re.compile(
    r"(?:<!-- (\w+) -->\n)?```sh\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL
)  # what it prints may stand right below
_START = 'set -euo pipefail; sqlmetrics() { "$PYTHON" -m sqlmetrics "$@"; }\n'


def shell_blocks(page: str, mark: str = "") -> list[tuple[str, str]]:
    """Return the blocks for a shell that have a mark (without one: those that have none).

    Each with what it prints, as the page says: an empty text where it says nothing.
    """
    return [(text, shown) for found, text, shown in _BLOCK.findall(page) if found == mark]


def shell_output(commands: str, folder: Path, **environment: str) -> str:
    """Run commands in a folder with the examples, and return what they print."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(EXAMPLES)
    done = subprocess.run(
        ["bash", "-c", _START + commands],
        cwd=folder,
        env={**os.environ, "PYTHON": sys.executable, "LC_ALL": "C.UTF-8", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
