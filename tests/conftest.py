"""Fixtures of the whole suite, and what keeps docs/coverage.md true.

docs/coverage.md names the tests that prove each item of the five documents, in backticks, as
`tests/FILE.py::test_NAME`. That they exist is checked in test_coverage.py. That they ran and passed
can only be said at the end of a run, and only of a run of the whole suite: all files, and no choice
among tests on the command line. Then a named test that did not pass (it failed, was skipped, was
expected to fail, or is not there) makes the exit status 1, with one line that names it. A name
without [id] stands for all cases of the test. With pytest-xdist only the controller, to which the
reports of all workers come, does this.

The tests of other engines (tests/engines) are a suite of their own: they take minutes, need the
extra `engines`, and run with --engines. A run without it says in one line that they are left out;
the names of their tests are judged in a run of all of them. So are those of the report in a browser
(tests/browser, the extra `browser`), which run with --browser.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlmetrics as sm

TESTS = Path(__file__).resolve().parent
ENGINES = TESTS / "engines"
BROWSER = TESTS / "browser"
COVERAGE = TESTS.parent / "docs" / "coverage.md"


@pytest.fixture(scope="session", autouse=True)
def _no_data_warnings() -> Iterator[None]:
    """Have evaluators look for data warnings only in the tests that ask for it, with check=….

    The tables of most tests are tiny, so that checks would warn of them, and checking takes a
    third of the time of evaluating. Commands check as they always do.
    """
    defaults = sm.Evaluator.__init__.__kwdefaults__
    assert defaults["check"] is None
    defaults["check"] = False
    yield
    defaults["check"] = None


def named_tests(text: str) -> list[str]:
    """Return the tests that a document names in backticks, each once, in their order."""
    return list(dict.fromkeys(re.findall(r"`(tests/[^`:]+\.py::[^`]+)`", text)))


def cases_of(name: str, node_ids: set[str]) -> set[str]:
    """Return the node ids that a name stands for: itself, or all cases of a test with ids."""
    return {node_id for node_id in node_ids if node_id == name or node_id.startswith(f"{name}[")}


def _roots(config: pytest.Config) -> set[Path]:
    """Return the files and folders that the command line asks for."""
    return {(config.invocation_params.dir / argument).resolve() for argument in config.args}


def _apart(config: pytest.Config) -> dict[Path, bool]:
    """Return the folders that are suites of their own, and whether their option is given."""
    return {ENGINES: config.option.engines, BROWSER: config.option.browser}


def _suites_asked_for(config: pytest.Config) -> set[Path]:
    """Return the folders all of whose tests the command line asks for."""
    choices = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "stepwise")
    if any(getattr(config.option, name, None) for name in (*choices, "collectonly")):
        return set()
    roots = _roots(config)
    return {
        folder
        for folder in (TESTS, *(folder for folder, asked in _apart(config).items() if asked))
        if all(roots & {file, *file.parents} for file in folder.glob("test_*.py"))
    }


class CoverageWatch:
    """Collects how the tests of a run ended; runs in the controller, or where there is only one."""

    def __init__(self, config: pytest.Config) -> None:
        self.suites = _suites_asked_for(config)
        self.passed: set[str] = set()
        self.not_passed: set[str] = set()
        self.problem = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.not_passed.add(report.nodeid)
        elif report.when == "call":
            self.passed.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        stopped = session.shouldstop or session.shouldfail or exitstatus not in (0, 1)
        if stopped:
            return
        clean = self.passed - self.not_passed
        missing = [
            name
            for name in named_tests(COVERAGE.read_text(encoding="utf-8"))
            if (TESTS.parent / name.partition("::")[0]).parent in self.suites
            if not cases_of(name, clean) or cases_of(name, self.not_passed)
        ]
        if missing:
            self.problem = f"docs/coverage.md names tests that did not pass: {', '.join(missing)}"
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.problem:
            terminalreporter.write_line(self.problem, red=True)


# the longest tests: a worker that starts one of them last would end long after the other
LONGEST = (
    "test_every_template_is_lint_clean",
    "test_rendered_queries_are_lint_clean",
    "test_fused_equals_alone_for_every_combination_of_settings",
    "test_small_worlds_with_all_tables",
    "test_generated_parts_are_current",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough",
        action="store_true",
        help="also the tests that take long and say little that others do not; .ci/run does",
    )
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help="all tests, for releases: also further cases of what --thorough runs",
    )
    parser.addoption(
        "--engines",
        action="store_true",
        help="also tests/engines: needs pip install -e '.[engines]'; .ci/run does",
    )
    parser.addoption(
        "--browser",
        action="store_true",
        help="also tests/browser: needs pip install -e '.[report,browser]'; .ci/run does",
    )
    parser.addoption(
        "--renew",
        action="store_true",
        help="write what is stored and compared with: printed statements, the record of engines",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    within = {collection_path, *collection_path.parents}
    left_out = any(folder in within for folder, asked in _apart(config).items() if not asked)
    return True if left_out else None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    seed = getattr(config.option, "randomly_seed", None)  # with -q, its plugin does not say it
    if seed is not None and terminalreporter.stats.keys() & {"failed", "error"}:
        terminalreporter.write_line(f"the tests ran in a random order: --randomly-seed {seed}")
    texts = {
        ENGINES: "tests of other engines left out: they run with --engines,"
        " and need pip install -e '.[engines]'",
        BROWSER: "tests in a browser left out: they run with --browser,"
        " and need pip install -e '.[report,browser]'",
    }
    for folder, asked in _apart(config).items():
        # a file in it, named, is collected
        within = _roots(config) & {folder, *folder.parents}
        if folder.exists() and within and not asked:
            terminalreporter.write_line(texts[folder])


# of a test with more cases, every fifth runs without --thorough, and about half of them with it
MOST_CASES, SHARE = 3, 5
WHOLE = ("tests/test_documents.py", "tests/engines/", "tests/browser/")


def _mark_further_cases(items: list[pytest.Item]) -> None:
    """Mark most cases of parametrised tests as thorough or exhaustive.

    Tests of the documents, of other engines and of the browser, tests and cases that
    docs/coverage.md names, and tests with the mark `every_case` keep all cases.
    """
    named = set(named_tests(COVERAGE.read_text(encoding="utf-8")))
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not item.get_closest_marker("thorough") and not item.get_closest_marker("every_case"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, of_test in cases.items():
        if len(of_test) > MOST_CASES and name not in named and not name.startswith(WHOLE):
            for number, item in enumerate(of_test):
                if number % SHARE and item.nodeid not in named:
                    item.add_marker("thorough" if number % 2 else "exhaustive")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # runs before -m selects tests and before the order is shuffled
    _mark_further_cases(items)
    absent = ["exhaustive", "thorough"]
    if config.getoption("--exhaustive"):
        absent = []
    elif config.getoption("--thorough"):
        absent = ["exhaustive"]
    left_out = [item for item in items if any(map(item.get_closest_marker, absent))]
    if left_out:
        items[:] = [item for item in items if not any(map(item.get_closest_marker, absent))]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=lambda item: item.name.partition("[")[0] not in LONGEST)


def pytest_configure(config: pytest.Config) -> None:
    if getattr(config.option, "dist", "no") == "load":
        # neighbours stay in one process: what they share is made once
        config.option.dist = "worksteal"
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(CoverageWatch(config), "coverage-watch")


def pytest_collection_finish() -> None:
    """Let the garbage collector look less often, and not at what is loaded by now.

    Otherwise it takes a tenth of the time: parsed queries are many small objects.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_unconfigure() -> None:
    gc.unfreeze()  # DuckDB names, on the terminal, what is left when the process ends


_GIVEN = """
{#---
title = "The score of the only item of a list"
audience = "recommended"
---#}
SELECT
    {{ keys_of("ranked") }},
    cutoffs.k,
    max(ranked.score) AS value
FROM ranked
CROSS JOIN cutoffs
GROUP BY {{ keys_of("ranked") }}, cutoffs.k
"""


@pytest.fixture(scope="session")
def given_metric(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the metric `given`: of every user, the score of the only item."""
    folder = tmp_path_factory.mktemp("templates")
    (folder / "given.sql.j2").write_text(_GIVEN.lstrip(), encoding="utf-8")
    return folder
