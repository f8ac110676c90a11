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
    "support/case_selection.py",
    "support/coverage_watch.py",
    "support/paths.py",
    "support/suites.py",
]
CONFTEST = """\
pytest_plugins = (
    "tests.support.suites",
    "tests.support.coverage_watch",
    "tests.support.case_selection",
)
"""
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
`tests/stats/test_a.py::test_passes` `tests/stats/test_a.py::test_passes[2]`
`tests/stats/test_a.py::test_is_sometimes_skipped`
"""
COMPLAINT = "docs/reference/coverage.md names tests that did not pass: "


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    (tmp_path / "tests" / "support").mkdir(parents=True)
    for name in PLUGINS:
        shutil.copy(TESTS / name, tmp_path / "tests" / name)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n', encoding="utf-8"
    )
    (tmp_path / "docs" / "reference" / "coverage.md").write_text(DOCUMENT, encoding="utf-8")
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "tests" / "stats").mkdir()
    (tmp_path / "tests" / "stats" / "__init__.py").touch()
    (tmp_path / "tests" / "test_b.py").write_text(ANOTHER, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("arguments", [[], ["-n", "2"], ["tests"]], ids=" ".join)
@pytest.mark.parametrize(
    ("line", "passes"), [("pass", True), ("pytest.skip('no')", False)], ids=["passes", "skipped"]
)
def test_a_whole_run(project: Path, arguments: list[str], line: str, passes: bool) -> None:
    (project / "tests" / "stats" / "test_a.py").write_text(
        A_TEST.format(line=line), encoding="utf-8"
    )
    result = run_pytest(*arguments, folder=project)
    assert result.returncode == (0 if passes else 1), result.stdout
    complaints = [text for text in result.stdout.splitlines() if COMPLAINT in text]
    assert complaints == (
        [] if passes else [f"{COMPLAINT}tests/stats/test_a.py::test_is_sometimes_skipped"]
    )


@pytest.mark.parametrize("arguments", [[], ["-n", "2"], ["."]], ids=" ".join)
@pytest.mark.thorough
def test_a_file_that_is_skipped(project: Path, arguments: list[str]) -> None:
    skipped = "import pytest\npytest.importorskip('no_such_module')\n" + ANOTHER
    (project / "tests" / "stats" / "test_a.py").write_text(skipped, encoding="utf-8")
    result = run_pytest(*arguments, folder=project)
    assert result.returncode == 1, result.stdout
    assert f"{COMPLAINT}tests/stats/test_a.py::test_passes, " in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["tests/stats/test_a.py"],
        ["tests/stats/test_a.py::test_passes", "tests/test_b.py"],
        ["-k", "test_passes or test_other"],
        ["--deselect", "tests/stats/test_a.py::test_is_sometimes_skipped"],
        ["--ignore", "tests/test_b.py"],
        ["--collect-only"],
    ],
    ids=" ".join,
)
def test_a_run_of_some_tests_is_not_judged(project: Path, arguments: list[str]) -> None:
    skipped = A_TEST.format(line="pytest.skip('no')")
    (project / "tests" / "stats" / "test_a.py").write_text(skipped, encoding="utf-8")
    result = run_pytest(*arguments, folder=project)
    assert result.returncode == 0, result.stdout
    assert COMPLAINT not in result.stdout


def test_a_name_that_no_test_has(project: Path) -> None:
    (project / "tests" / "stats" / "test_a.py").write_text(
        A_TEST.format(line="pass"), encoding="utf-8"
    )
    renamed = DOCUMENT.replace("test_passes[2]", "test_passes[3]")
    (project / "docs" / "reference" / "coverage.md").write_text(renamed, encoding="utf-8")
    result = run_pytest(folder=project)
    assert result.returncode == 1
    assert f"{COMPLAINT}tests/stats/test_a.py::test_passes[3]" in result.stdout


# ---------------------------------------------------------------- the suite of other engines

ENGINE_TEST = """\
import no_such_package  # the extra is not installed

def test_engine(): pass
"""
LEFT_OUT = "tests of other engines left out: they run with --engines"


@pytest.fixture
def with_engines(project: Path) -> Path:
    (project / "tests" / "stats" / "test_a.py").write_text(
        A_TEST.format(line="pass"), encoding="utf-8"
    )
    (project / "tests" / "engines").mkdir()
    (project / "tests" / "engines" / "__init__.py").touch()
    file = project / "tests" / "engines" / "test_engine.py"
    file.write_text(ENGINE_TEST, encoding="utf-8")
    named = f"{DOCUMENT} `tests/engines/test_engine.py::test_engine`"
    (project / "docs" / "reference" / "coverage.md").write_text(named, encoding="utf-8")
    return project


@pytest.mark.parametrize(
    ("arguments", "says"),
    [([], True), (["-n", "2"], True), (["tests"], True), (["tests/stats/test_a.py"], False)],
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
