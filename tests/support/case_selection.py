"""Plugin: the short run leaves out most cases of parametrised tests, and the marked tests.

Of a test with more than three cases, every fifth case runs without --thorough, about half of them
with it, all with --exhaustive. Tests of other engines and of the browser, tests with the mark
`every_case`, and tests and cases that docs/coverage.md names keep all their cases.
"""

from __future__ import annotations

import pytest

from tests.support.coverage_watch import COVERAGE, named_tests

MOST_CASES, SHARE = 3, 5
WHOLE = ("tests/engines/", "tests/browser/")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough",
        action="store_true",
        help="also slow tests that mostly overlap with faster ones; .ci/run does",
    )
    parser.addoption(
        "--exhaustive",
        action="store_true",
        help="all tests, for releases: also further cases of the --thorough tests",
    )


def _mark_further_cases(items: list[pytest.Item]) -> None:
    """Mark most cases of parametrised tests as thorough or exhaustive."""
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
