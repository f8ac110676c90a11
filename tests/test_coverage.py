"""docs/coverage.md is true: every test that it names exists, and ran (which conftest.py checks)."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COVERAGE, ENGINES, TESTS, cases_of, named_tests
from helpers import PATIENCE

TEXT = COVERAGE.read_text(encoding="utf-8")
TABLE_ROWS = [
    line
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith(("| item |", "| --- |"))
]


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


@pytest.mark.thorough
def test_every_named_test_exists() -> None:
    names = named_tests(TEXT)
    files = sorted({name.partition("::")[0] for name in names})
    assert [name for name in files if not (TESTS.parent / name).exists()] == []
    # those of other engines may need what is not installed here: not collected, but read
    on_engines = {name for name in files if (TESTS.parent / name).parent == ENGINES}
    files = [name for name in files if name not in on_engines]
    collected = run_pytest("--collect-only", "-q", *files, folder=TESTS.parent)
    assert collected.returncode == 0, collected.stdout
    node_ids = set(collected.stdout.splitlines())
    for file in on_engines:
        text = (TESTS.parent / file).read_text(encoding="utf-8")
        node_ids |= {f"{file}::{test}" for test in re.findall(r"^def (test_\w+)", text, re.M)}
    assert [name for name in names if not cases_of(name, node_ids)] == []


@pytest.mark.parametrize("row", TABLE_ROWS, ids=lambda row: row.split("|")[1].strip())
def test_every_row_names_a_place_and_a_test(row: str) -> None:
    item, place, tests = (cell.strip() for cell in row.strip("|").split(" | "))
    assert item
    assert place
    assert re.sub(r"`tests/[^`]+`|<br>|,", "", tests).strip() == ""
    assert named_tests(tests)


def test_every_test_of_the_documents_is_named() -> None:
    tree = ast.parse((TESTS / "test_documents.py").read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    named = {name.partition("::")[2].partition("[")[0] for name in named_tests(TEXT)}
    assert {name for name in functions if name.startswith("test_")} <= named


# ---------------------------------------------------------------- the plugin, on a small project

A_TEST = """\
import pytest

@pytest.mark.parametrize("number", [1, 2])
def test_passes(number):
    assert number

def test_is_sometimes_skipped():
    {line}
"""
ANOTHER = "def test_other(): pass\n"
DOCUMENT = """\
`tests/test_a.py::test_passes` `tests/test_a.py::test_passes[2]`
`tests/test_a.py::test_is_sometimes_skipped`
"""
COMPLAINT = "docs/coverage.md names tests that did not pass: "


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("tests", "docs"):
        (tmp_path / name).mkdir()
    shutil.copy(TESTS / "conftest.py", tmp_path / "tests")
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n', encoding="utf-8"
    )
    (tmp_path / "docs" / "coverage.md").write_text(DOCUMENT, encoding="utf-8")
    (tmp_path / "tests" / "test_b.py").write_text(ANOTHER, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("arguments", [[], ["-n", "2"], ["tests"]], ids=" ".join)
@pytest.mark.parametrize(
    ("line", "passes"), [("pass", True), ("pytest.skip('no')", False)], ids=["passes", "skipped"]
)
def test_a_whole_run(project: Path, arguments: list[str], line: str, passes: bool) -> None:
    (project / "tests" / "test_a.py").write_text(A_TEST.format(line=line), encoding="utf-8")
    result = run_pytest(*arguments, folder=project)
    assert result.returncode == (0 if passes else 1), result.stdout
    complaints = [text for text in result.stdout.splitlines() if COMPLAINT in text]
    assert complaints == (
        [] if passes else [f"{COMPLAINT}tests/test_a.py::test_is_sometimes_skipped"]
    )


@pytest.mark.parametrize("arguments", [[], ["-n", "2"], ["."]], ids=" ".join)
@pytest.mark.thorough
def test_a_file_that_is_skipped(project: Path, arguments: list[str]) -> None:
    skipped = "import pytest\npytest.importorskip('no_such_module')\n" + ANOTHER
    (project / "tests" / "test_a.py").write_text(skipped, encoding="utf-8")
    result = run_pytest(*arguments, folder=project)
    assert result.returncode == 1, result.stdout
    assert f"{COMPLAINT}tests/test_a.py::test_passes, " in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["tests/test_a.py"],
        ["tests/test_a.py::test_passes", "tests/test_b.py"],
        ["-k", "test_passes or test_other"],
        ["--deselect", "tests/test_a.py::test_is_sometimes_skipped"],
        ["--ignore", "tests/test_b.py"],
        ["--collect-only"],
    ],
    ids=" ".join,
)
def test_a_run_of_some_tests_is_not_judged(project: Path, arguments: list[str]) -> None:
    skipped = A_TEST.format(line="pytest.skip('no')")
    (project / "tests" / "test_a.py").write_text(skipped, encoding="utf-8")
    result = run_pytest(*arguments, folder=project)
    assert result.returncode == 0, result.stdout
    assert COMPLAINT not in result.stdout


def test_a_name_that_no_test_has(project: Path) -> None:
    (project / "tests" / "test_a.py").write_text(A_TEST.format(line="pass"), encoding="utf-8")
    renamed = DOCUMENT.replace("test_passes[2]", "test_passes[3]")
    (project / "docs" / "coverage.md").write_text(renamed, encoding="utf-8")
    result = run_pytest(folder=project)
    assert result.returncode == 1
    assert f"{COMPLAINT}tests/test_a.py::test_passes[3]" in result.stdout


# ---------------------------------------------------------------- the suite of other engines

ENGINE_TEST = """\
import no_such_package  # the extra is not installed

def test_engine(): pass
"""
LEFT_OUT = "tests of other engines left out: they run with --engines"


@pytest.fixture
def with_engines(project: Path) -> Path:
    (project / "tests" / "test_a.py").write_text(A_TEST.format(line="pass"), encoding="utf-8")
    (project / "tests" / "engines").mkdir()
    (project / "tests" / "engines" / "__init__.py").touch()
    file = project / "tests" / "engines" / "test_engine.py"
    file.write_text(ENGINE_TEST, encoding="utf-8")
    named = f"{DOCUMENT} `tests/engines/test_engine.py::test_engine`"
    (project / "docs" / "coverage.md").write_text(named, encoding="utf-8")
    return project


@pytest.mark.parametrize(
    ("arguments", "says"),
    [([], True), (["-n", "2"], True), (["tests"], True), (["tests/test_a.py"], False)],
    ids=str,
)
@pytest.mark.thorough
def test_engines_are_left_out_with_a_line(
    with_engines: Path, arguments: list[str], says: bool
) -> None:
    result = run_pytest(*arguments, folder=with_engines)
    assert result.returncode == 0, result.stdout
    assert result.stdout.count(LEFT_OUT) == says
    assert COMPLAINT not in result.stdout


@pytest.mark.parametrize("arguments", [[], ["tests/engines"]], ids=" ".join)
def test_a_missing_engine_is_a_failure_where_engines_are_asked_for(
    with_engines: Path, arguments: list[str]
) -> None:
    result = run_pytest(*arguments, "--engines", folder=with_engines)
    assert result.returncode == 2
    assert "No module named 'no_such_package'" in result.stdout
    assert LEFT_OUT not in result.stdout


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.thorough
def test_named_tests_of_engines_are_judged_where_they_run(with_engines: Path, passes: bool) -> None:
    line = "def test_engine(): pass" if passes else "def test_other(): pass"
    file = with_engines / "tests" / "engines" / "test_engine.py"
    file.write_text(f"{line}\n", encoding="utf-8")
    result = run_pytest("tests/engines", "--engines", folder=with_engines)
    assert result.returncode == (0 if passes else 1), result.stdout
    complaint = f"{COMPLAINT}tests/engines/test_engine.py::test_engine"
    assert (complaint in result.stdout) is not passes
