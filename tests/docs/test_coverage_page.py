"""docs/reference/coverage.md names existing tests.

tests/support/coverage_watch.py checks that they pass.
"""

from __future__ import annotations

import ast
import re

import pytest

from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.definitions import Definitions
from tests.support.coverage_watch import COVERAGE, cases_of, named_tests
from tests.support.paths import ROOT, TESTS
from tests.support.pytest_process import run_pytest
from tests.support.suites import ENGINES

TEXT = COVERAGE.read_text(encoding="utf-8")
OF_DOCUMENTS, _, OF_OTHER_SYSTEMS = TEXT.partition("## Metrics of other systems")
TABLE_ROWS = [
    line
    for line in OF_DOCUMENTS.splitlines()
    if line.startswith("| ") and not line.startswith(("| item |", "| --- |"))
]


@pytest.mark.thorough
def test_every_named_test_exists() -> None:
    names = named_tests(TEXT)
    files = sorted({name.partition("::")[0] for name in names})
    assert [name for name in files if not (ROOT / name).exists()] == []
    # those of other engines may need what is not installed here: not collected, but read
    on_engines = {name for name in files if (ROOT / name).parent == ENGINES}
    files = [name for name in files if name not in on_engines]
    collected = run_pytest("--collect-only", "-q", *files, folder=ROOT)
    assert collected.returncode == 0, collected.stdout
    node_ids = set(collected.stdout.splitlines())
    for file in on_engines:
        text = (ROOT / file).read_text(encoding="utf-8")
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
    tree = ast.parse((TESTS / "peers" / "test_documents.py").read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    named = {name.partition("::")[2].partition("[")[0] for name in named_tests(TEXT)}
    assert {name for name in functions if name.startswith("test_")} <= named


def test_calls_of_the_matrix_exist() -> None:
    """Each call in the matrix of metrics can be resolved, and no metric is missing in it."""
    cells = [line.split("|")[3] for line in OF_OTHER_SYSTEMS.splitlines() if line[:2] == "| "]
    calls = [call for cell in cells for call in re.findall(r"`([^`]+)`", cell)]
    definitions = Definitions.load(Catalog.load(), "standard", None, {})
    requests = definitions.requests(definitions.specs(calls, 10))
    known = {request.metric.name for request in requests}
    assert known == set(Catalog.load().metrics)
