"""Fixtures of the whole suite, and its two options.

Everything runs, always, except the tests of other engines (tests/engines: --engines) and of the
report in a browser (tests/browser: --browser), which need packages of their own.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.further_tables import EVERYTHING, RANKED, TRUTH, Evaluator
from tests.support.paths import TESTS
from tests.support.worlds import world

OPTIONAL = {"engines": "engines", "browser": "report,browser"}
"""Folders of tests that run with an option of their name, and the extras that they need."""


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
    parser.addoption(
        "--renew",
        action="store_true",
        help="write the stored results that tests compare with: statements, records of engines",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    within = {collection_path, *collection_path.parents}
    left_out = [name for name in OPTIONAL if not config.getoption(name)]
    return True if any(TESTS / name in within for name in left_out) else None


def pytest_configure(config: pytest.Config) -> None:
    # nohup and jobs of a shell ignore Ctrl-C; processes that tests start and stop must not
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if getattr(config.option, "dist", "no") == "load":
        # neighbours stay in one process: their shared fixtures are made once
        config.option.dist = "worksteal"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    seed = getattr(config.option, "randomly_seed", None)  # with -q, its plugin does not print it
    if seed is not None and terminalreporter.stats.keys() & {"failed", "error"}:
        terminalreporter.write_line(f"the tests ran in a random order: --randomly-seed {seed}")
    for name, extras in OPTIONAL.items():
        if (TESTS / name).exists() and not config.getoption(name):
            terminalreporter.write_line(
                f"tests/{name} left out: run with --{name}; they need pip install -e '.[{extras}]'"
            )


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let `-k NAME` select a test of several metrics by each of their names."""
    call = getattr(item, "callspec", None)
    if call is not None:
        cases = (case for batch in call.params.get("calls", ()) for case in batch)
        item.extra_keyword_matches.update(case.metric for case in cases)
        item.extra_keyword_matches.update(map(str, call.params.get("names", ())))


def pytest_collection_finish() -> None:
    """Let the garbage collector look less often, and not at what is loaded by now.

    Otherwise it takes a tenth of the time: parsed queries are many small objects.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_unconfigure() -> None:
    gc.unfreeze()  # DuckDB names, on the terminal, what is left when the process ends


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a new folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled templates as always, but not where those of the user are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


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


@pytest.fixture(scope="module")
def everything() -> Iterator[sm.Evaluator]:
    """All tables, with all their columns."""
    with Evaluator(**EVERYTHING) as evaluator:
        yield evaluator


@pytest.fixture(scope="module")
def smallest() -> Iterator[sm.Evaluator]:
    """Ranks and a truth without relevance, nothing else."""
    with Evaluator(RANKED, TRUTH) as evaluator:
        yield evaluator


@pytest.fixture(scope="module")
def world_tables() -> dict[str, pd.DataFrame]:
    return world(1)


@pytest.fixture(scope="module")
def world_files(world_tables: dict[str, pd.DataFrame], tmp_path_factory: Any) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("tables")
    for name, frame in world_tables.items():
        frame.to_parquet(folder / f"{name}.parquet", row_group_size=97)
    return {name: str(folder / f"{name}.parquet") for name in world_tables}
