"""Packages that short commands import, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.support.paths import DATA

INPUT = ["-r", str(DATA / "recommendations_als.parquet"), "-i", str(DATA / "interactions.parquet")]
INPUT += ["--no-check"]

FRAMES = {"numpy", "pandas", "polars", "pyarrow"}
ENGINES = {"duckdb", "pyspark"}
DRAWING = {"altair", "vl_convert", "sqlmetrics.report"}
HEAVY = FRAMES | ENGINES | DRAWING | {"jinja2", "rich", "scipy", "sqlglot"}

_SAY = f"print(*sorted({HEAVY | {'click'}} & set(sys.modules)), file=sys.stderr)"
_RUN = f"""
import json, os, sys
from sqlmetrics.cli.commands import main
for arguments, variables in json.loads(sys.argv[1]):
    os.environ.update(variables)
    try:
        main(arguments, prog_name="sqlmetrics")
    except SystemExit as end:
        assert not end.code, end.code
{_SAY}
"""


def loaded(code: str, *commands: tuple[list[str], dict[str, str]], **variables: str) -> set[str]:
    """Run commands in a new process; return the packages that it has imported in the end."""
    result = subprocess.run(
        [sys.executable, "-c", code, json.dumps(commands)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )
    assert result.returncode == 0, result.stderr
    return set(result.stderr.split())


def test_the_package_alone_loads_none_of_its_dependencies() -> None:
    assert loaded(f"import sys, sqlmetrics; {_SAY}") == set()


def test_short_commands_and_completion_need_only_click() -> None:
    commands = [["--help"], ["--version"], ["evaluate", "--help"], ["report", "--help"]]
    commands += [["list"], ["list", "--slices"]]
    typed = {"COMP_WORDS": "sqlmetrics evaluate --conv", "COMP_CWORD": "2"}
    completed = [
        ([], {"_SQLMETRICS_COMPLETE": "bash_source"}),
        ([], {"_SQLMETRICS_COMPLETE": "bash_complete", **typed}),
    ]
    assert loaded(_RUN, *((one, {}) for one in commands), *completed) == {"click"}


def test_an_evaluation_needs_no_data_frame() -> None:
    asked = ["evaluate", *INPUT, "--history", str(DATA / "history.parquet"), "ndcg@10"]
    asked += ["coverage@10", "--format"]
    found = loaded(_RUN, ([*asked, "csv"], {}), ([*asked, "json", "--by", "activity"], {}))
    assert found == {"click", "duckdb", "jinja2", "sqlglot"}
