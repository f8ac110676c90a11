"""Plugin: the short run leaves out most cases of parametrised tests, and the marked tests.

Without --thorough, a test runs with its first case if it has two or three, and with every 48th
if it has more. With --thorough, it runs with all of two or three cases and with every 48th of more;
with --exhaustive, with all. Of tests with the mark `thorough`, --thorough runs all of up to three
cases and every third of more. Tests of other engines and of the browser, tests with the mark
`every_case`, and cases that docs/reference/coverage.md names by their id always run. Tests that it
names as a whole keep up to three cases in the short run, and every third of more with --thorough.
"""

from __future__ import annotations

import pytest

from tests.support.coverage_watch import COVERAGE, named_tests

FEW = 3
ONE_OF = 48  # cases, in tests with more than a few
ONE_OF_THOROUGH = 3  # cases, in thorough tests with more than a few
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
    usual = [item for item in items if not item.get_closest_marker("thorough")]
    for name, of_test in _cases(usual).items():
        if name.startswith(WHOLE) or (name in named and len(of_test) <= FEW):
            continue
        for number, item in enumerate(of_test):
            if number % ONE_OF and item.nodeid not in named:
                rare = len(of_test) > FEW and name not in named
                item.add_marker("exhaustive" if rare else "thorough")
    for of_test in _cases(items, "thorough").values():
        if len(of_test) > FEW:
            for number, item in enumerate(of_test):
                if number % ONE_OF_THOROUGH and item.nodeid not in named:
                    item.add_marker("exhaustive")


def _cases(items: list[pytest.Item], mark: str | None = None) -> dict[str, list[pytest.Item]]:
    """Return the cases of each test in order; only those with a mark, if one is given.

    Tests that run with every case, and cases that run only with --exhaustive, are omitted.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        always = item.get_closest_marker("every_case") or item.get_closest_marker("exhaustive")
        if not always and (mark is None or item.get_closest_marker(mark)):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return {name: sorted(of_test, key=_place) for name, of_test in cases.items()}


def _place(item: pytest.Item) -> tuple[int, ...]:
    """Return the place of a case in its test: items may have been shuffled before."""
    case = getattr(item, "callspec", None)
    return () if case is None else tuple(case.indices.values())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # runs before -m selects tests
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
