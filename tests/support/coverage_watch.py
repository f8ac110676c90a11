"""Plugin: a run of the whole suite fails if a test that the page of coverage names did not pass.

docs/reference/coverage.md names the tests that prove each item of five documents, in backticks, as
`tests/FOLDER/FILE.py::test_NAME`; a name without [id] stands for all cases of the test.
tests/docs/test_coverage_page.py checks that these tests exist. This plugin checks that they passed,
at the end of a run of all files of a suite (see suites.py) without a choice among tests. A named
test that failed, was skipped or is not there makes the exit status 1, with one line that names it.
With pytest-xdist, only the controller does this: the reports of all workers come to it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import suites
from tests.support.paths import ROOT, TESTS

COVERAGE = ROOT / "docs" / "reference" / "coverage.md"
_CHOICES = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise")


def named_tests(text: str) -> list[str]:
    """Return the tests that a document names in backticks, each once, in their order."""
    return list(dict.fromkeys(re.findall(r"`(tests/[^`:]+\.py::[^`]+)`", text)))


def cases_of(name: str, node_ids: set[str]) -> set[str]:
    """Return the node ids that a name stands for: itself, or all cases of a test with ids."""
    return {node_id for node_id in node_ids if node_id == name or node_id.startswith(f"{name}[")}


def _complete_suites(config: pytest.Config) -> set[Path]:
    """Return the suites all of whose tests the command line asks for."""
    if any(getattr(config.option, name, None) for name in (*_CHOICES, "collectonly")):
        return set()
    roots = suites.roots(config)
    absent = {folder for folder, asked in suites.asked_for(config).items() if not asked}
    partial = {
        suites.suite_of(file)
        for file in TESTS.rglob("test_*.py")
        if not roots & {file, *file.parents}
    }
    return {TESTS, suites.ENGINES, suites.BROWSER} - absent - partial


class CoverageWatch:
    """Collect how the tests of a run ended, and compare with the tests that the document names."""

    def __init__(self, config: pytest.Config) -> None:
        self.suites = _complete_suites(config)
        self.passed: set[str] = set()
        self.not_passed: set[str] = set()
        self.problem = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.not_passed.add(report.nodeid)
        elif report.when == "call":
            self.passed.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if session.shouldstop or session.shouldfail or exitstatus not in (0, 1):
            return
        clean = self.passed - self.not_passed
        missing = [
            name
            for name in named_tests(COVERAGE.read_text(encoding="utf-8"))
            if suites.suite_of(ROOT / name.partition("::")[0]) in self.suites
            if not cases_of(name, clean) or cases_of(name, self.not_passed)
        ]
        if missing:
            names = ", ".join(missing)
            self.problem = f"docs/reference/coverage.md names tests that did not pass: {names}"
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.problem:
            terminalreporter.write_line(self.problem, red=True)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(CoverageWatch(config), "coverage-watch")
