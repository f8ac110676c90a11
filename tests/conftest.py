"""Fixtures and collection of the whole suite; the plugins are modules of tests/support."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.plan import kept_plans
from sqlmetrics.sql import kept_texts
from tests.support.further_tables import EVERYTHING, RANKED, TRUTH, Evaluator
from tests.support.worlds import FEW, SOME, VARIANTS, values, world

pytest_plugins = (
    "tests.support.suites",
    "tests.support.coverage_watch",
    "tests.support.case_selection",
)

# the longest tests: a worker that starts one of them last would end long after the other
LONGEST = (
    "test_every_template_is_lint_clean",
    "test_rendered_queries_are_lint_clean",
    "test_fused_equals_alone_for_every_combination_of_settings",
    "test_templates_are_portable",
    "test_small_worlds_with_all_tables",
    "test_generated_parts_are_current",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--renew",
        action="store_true",
        help="write the stored results that tests compare with: statements, records of engines",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.name.partition("[")[0] not in LONGEST)


def pytest_configure(config: pytest.Config) -> None:
    if getattr(config.option, "dist", "no") == "load":
        # neighbours stay in one process: their shared fixtures are made once
        config.option.dist = "worksteal"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    seed = getattr(config.option, "randomly_seed", None)  # with -q, its plugin does not print it
    if seed is not None and terminalreporter.stats.keys() & {"failed", "error"}:
        terminalreporter.write_line(f"the tests ran in a random order: --randomly-seed {seed}")


def pytest_collection_finish() -> None:
    """Let the garbage collector look less often, and not at what is loaded by now.

    Otherwise it takes a tenth of the time: parsed queries are many small objects.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_unconfigure() -> None:
    gc.unfreeze()  # DuckDB names, on the terminal, what is left when the process ends


@pytest.fixture(scope="session", autouse=True)
def _nothing_kept() -> Iterator[None]:
    """Keep no plans and texts between processes: tests replace parts of the planner."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (kept_plans, kept_texts):
            patch.setattr(module, "_can_keep", lambda _: False)
        yield


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


@pytest.fixture(
    params=[
        SOME,
        pytest.param(FEW, marks=pytest.mark.exhaustive),
        pytest.param(VARIANTS, marks=pytest.mark.exhaustive),
    ],
    ids=len,
)
def world_specs(request: pytest.FixtureRequest) -> list[str]:
    found: list[str] = request.param
    return found


@pytest.fixture
def world_values(world_specs: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    return values(*world_specs)
