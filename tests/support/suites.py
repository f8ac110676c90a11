"""Plugin: the suites with dependencies of their own, which run only with an option.

The tests of other engines (tests/engines) take minutes and need the extra `engines`; they run with
--engines. The tests of the report in a browser (tests/browser) need the extra `browser`; they run
with --browser. A run without them says so in one line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.paths import TESTS

ENGINES = TESTS / "engines"
BROWSER = TESTS / "browser"

_TEXTS = {
    ENGINES: "tests of other engines left out: they run with --engines,"
    " and need pip install -e '.[engines]'",
    BROWSER: "tests in a browser left out: they run with --browser,"
    " and need pip install -e '.[report,browser]'",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engines",
        action="store_true",
        help="also tests/engines: needs pip install -e '.[engines]'; .ci/run does",
    )
    parser.addoption(
        "--spark-connect",
        action="store_true",
        help="with --engines, for tests/engines/test_metrics.py -k spark: through Spark Connect",
    )
    parser.addoption(
        "--browser",
        action="store_true",
        help="also tests/browser: needs pip install -e '.[report,browser]'; .ci/run does",
    )


def asked_for(config: pytest.Config) -> dict[Path, bool]:
    """Return the folders of the optional suites, and whether their option is given."""
    return {ENGINES: config.option.engines, BROWSER: config.option.browser}


def suite_of(file: Path) -> Path:
    """Return the folder of the suite that a file belongs to."""
    return next((folder for folder in (ENGINES, BROWSER) if folder in file.parents), TESTS)


def roots(config: pytest.Config) -> set[Path]:
    """Return the files and folders that the command line names."""
    return {(config.invocation_params.dir / argument).resolve() for argument in config.args}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    within = {collection_path, *collection_path.parents}
    left_out = any(folder in within for folder, asked in asked_for(config).items() if not asked)
    return True if left_out else None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for folder, asked in asked_for(config).items():
        # a file in it, named, is collected
        within = roots(config) & {folder, *folder.parents}
        if folder.exists() and within and not asked:
            terminalreporter.write_line(_TEXTS[folder])
