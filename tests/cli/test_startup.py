"""Packages that short commands import, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from tests.support.paths import DATA
from tests.support.processes import without_check

INPUT = ["-r", str(DATA / "recommendations_als.parquet"), "-i", str(DATA / "interactions.parquet")]

FRAMES = {"numpy", "pandas", "polars", "pyarrow"}
ENGINES = {"duckdb", "pyspark"}
HEAVY = FRAMES | ENGINES | {"jinja2", "rich", "scipy", "sqlglot"}

_SAY = f"print(*sorted({HEAVY | {'click'}} & set(sys.modules)), file=sys.stderr)"
_RUN = f"""
import sys
from sqlmetrics.cli.commands import main
try:
    main(prog_name="sqlmetrics")
except SystemExit as end:
    assert not end.code, end.code
{_SAY}
"""


def loaded(code: str, *arguments: str, **variables: str) -> set[str]:
    """Run code in a new process; return the packages that it has imported in the end."""
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )
    assert result.returncode == 0, result.stderr
    return set(without_check(result.stderr).split())


def test_the_package_alone_loads_none_of_its_dependencies() -> None:
    assert loaded(f"import sys, sqlmetrics; {_SAY}") == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["evaluate", "--help"]])
def test_what_the_command_line_says_of_itself_needs_only_click(arguments: list[str]) -> None:
    assert loaded(_RUN, *arguments) == {"click"}


def test_completion_needs_only_click() -> None:
    typed = {"COMP_WORDS": "sqlmetrics evaluate --conv", "COMP_CWORD": "2"}
    assert loaded(_RUN, _SQLMETRICS_COMPLETE="bash_source") == {"click"}
    assert loaded(_RUN, _SQLMETRICS_COMPLETE="bash_complete", **typed) == {"click"}


def test_an_evaluation_with_a_kept_plan_parses_no_sql(tmp_path: Path) -> None:
    """It prints the SQL of the plan and the clauses that read files as they were kept."""
    cache = {"XDG_CACHE_HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    arguments = ("evaluate", "ndcg@10", *INPUT, "--no-check")
    assert "sqlglot" in loaded(_RUN, *arguments, **cache)
    assert loaded(_RUN, *arguments, **cache) == {"click", "duckdb"}


@pytest.mark.every_case
@pytest.mark.parametrize("command", [["list"], ["list", "--slices"]])
def test_lists_need_only_click(command: list[str]) -> None:
    assert loaded(_RUN, *command) == {"click"}


@pytest.mark.parametrize("how", [["--format", "csv"], ["--format", "json", "--by", "activity"]])
def test_an_evaluation_needs_no_data_frame(how: list[str]) -> None:
    history = ["--history", str(DATA / "history.parquet")]
    found = loaded(_RUN, "evaluate", *INPUT, *history, "ndcg@10", "coverage@10", *how)
    of_plans = {"jinja2", "sqlglot"}  # unless the plan was kept
    assert found | of_plans == {"click", "duckdb", *of_plans}


def test_the_package_says_that_it_is_typed() -> None:
    assert resources.files("sqlmetrics").joinpath("py.typed").is_file()
