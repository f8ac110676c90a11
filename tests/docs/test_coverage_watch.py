"""The plugin for docs/reference/coverage.md, and the optional suites, on a small project."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.paths import TESTS
from tests.support.pytest_process import run_pytest

PLUGINS = [
    "__init__.py",
    "support/__init__.py",
    "support/coverage_watch.py",
    "support/paths.py",
    "support/suites.py",
]
CONFTEST = 'pytest_plugins = ("tests.support.suites", "tests.support.coverage_watch")\n'
A_TEST = """\
import pytest

@pytest.mark.parametrize("number", [1, 2])
def test_passes(number):
    assert number

def test_is_skipped():
    pytest.skip("no")
"""
SKIPPED_FILE = "import pytest\npytest.importorskip('no_such_module')\ndef test_other(): pass\n"
GOOD = ["tests/stats/test_a.py::test_passes", "tests/stats/test_a.py::test_passes[2]"]
BAD = [
    "tests/stats/test_a.py::test_is_skipped",
    "tests/stats/test_a.py::test_passes[3]",
    "tests/test_b.py::test_other",
]
COMPLAINT = "docs/reference/coverage.md names tests that did not pass: "
LEFT_OUT = "tests of other engines left out: they run with --engines"


def name_tests(project: Path, names: list[str]) -> None:
    text = " ".join(f"`{name}`" for name in names)
    (project / "docs" / "reference" / "coverage.md").write_text(text, encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    (tmp_path / "tests" / "support").mkdir(parents=True)
    for name in PLUGINS:
        shutil.copy(TESTS / name, tmp_path / "tests" / name)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n', encoding="utf-8"
    )
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    for folder in ("stats", "engines"):
        (tmp_path / "tests" / folder).mkdir()
        (tmp_path / "tests" / folder / "__init__.py").touch()
    (tmp_path / "tests" / "stats" / "test_a.py").write_text(A_TEST, encoding="utf-8")
    (tmp_path / "tests" / "test_b.py").write_text(SKIPPED_FILE, encoding="utf-8")
    engine = "import no_such_package  # the extra is not installed\n"
    (tmp_path / "tests" / "engines" / "test_engine.py").write_text(engine, encoding="utf-8")
    name_tests(tmp_path, [*GOOD, *BAD, "tests/engines/test_engine.py::test_engine"])
    return tmp_path


@pytest.mark.parametrize("arguments", [[], ["-n", "2", "tests"]], ids=" ".join)
def test_a_whole_run_fails_over_each_named_test_that_did_not_pass(
    project: Path, arguments: list[str]
) -> None:
    result = run_pytest(*arguments, folder=project)
    assert result.returncode == 1, result.stdout
    complaints = [line for line in result.stdout.splitlines() if COMPLAINT in line]
    assert complaints == [COMPLAINT + ", ".join(BAD)]
    assert result.stdout.count(LEFT_OUT) == 1


def test_a_whole_run_in_which_they_pass(project: Path) -> None:
    name_tests(project, GOOD)
    result = run_pytest(folder=project)
    assert result.returncode == 0, result.stdout
    assert COMPLAINT not in result.stdout


@pytest.mark.parametrize(
    "arguments", [["tests/stats/test_a.py"], ["-k", "test_passes or test_other"]], ids=" ".join
)
def test_a_run_of_some_tests_is_not_judged(project: Path, arguments: list[str]) -> None:
    result = run_pytest(*arguments, folder=project)
    assert result.returncode == 0, result.stdout
    assert COMPLAINT not in result.stdout


def test_a_missing_engine_is_a_failure_where_engines_are_asked_for(project: Path) -> None:
    result = run_pytest("tests/engines", "--engines", folder=project)
    assert result.returncode == 2
    assert "No module named 'no_such_package'" in result.stdout
    assert LEFT_OUT not in result.stdout


def test_named_tests_of_engines_are_judged_where_they_run(project: Path) -> None:
    file = project / "tests" / "engines" / "test_engine.py"
    file.write_text("def test_other(): pass\n", encoding="utf-8")
    result = run_pytest("tests/engines", "--engines", folder=project)
    assert result.returncode == 1, result.stdout
    assert f"{COMPLAINT}tests/engines/test_engine.py::test_engine" in result.stdout
