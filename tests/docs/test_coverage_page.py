"""Lists of what others have: items of documents with their tests, and metrics with their calls.

tests/peers/documents.md names existing tests, and every item of the documents has one;
docs/reference/coverage.md has the metrics of other systems.
"""

from __future__ import annotations

import ast
import re

from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.definitions import Definitions
from tests.support.paths import ROOT, TESTS

OF_DOCUMENTS = (TESTS / "peers" / "documents.md").read_text(encoding="utf-8")
OF_OTHER_SYSTEMS = (ROOT / "docs" / "reference" / "coverage.md").read_text(encoding="utf-8")
TABLE_ROWS = [
    line
    for line in OF_DOCUMENTS.splitlines()
    if line.startswith("| ") and not line.startswith(("| item |", "| --- |"))
]


def named_tests(text: str) -> list[str]:
    """Return the tests that a document names in backticks, each once, in their order."""
    return list(dict.fromkeys(re.findall(r"`(tests/[^`:]+\.py::[^`]+)`", text)))


def test_every_named_test_exists() -> None:
    absent = []
    for name in named_tests(OF_DOCUMENTS):
        file, _, test = name.partition("::")
        path, function = ROOT / file, test.partition("[")[0]
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if not re.search(rf"^def {function}\(", text, re.MULTILINE):
            absent.append(name)
    assert absent == []


def test_every_row_names_a_place_and_a_test() -> None:
    wrong = []
    for row in TABLE_ROWS:
        item, place, tests = (cell.strip() for cell in row.strip("|").split(" | "))
        rest = re.sub(r"`tests/[^`]+`|<br>|,", "", tests).strip()
        if not item or not place or rest or not named_tests(tests):
            wrong.append(row)
    assert TABLE_ROWS
    assert wrong == []


def test_every_test_of_the_documents_is_named() -> None:
    tree = ast.parse((TESTS / "peers" / "test_documents.py").read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    named = {name.partition("::")[2].partition("[")[0] for name in named_tests(OF_DOCUMENTS)}
    assert {name for name in functions if name.startswith("test_")} <= named


def test_calls_of_the_matrix_exist() -> None:
    """Each call in the matrix of metrics can be resolved."""
    cells = [line.split("|")[2] for line in OF_OTHER_SYSTEMS.splitlines() if line[:2] == "| "]
    calls = [call for cell in cells for call in re.findall(r"`([^`]+)`", cell)]
    definitions = Definitions.load(Catalog.load(), "standard", None, {})
    requests = definitions.requests(definitions.specs(calls, 10))
    assert len({request.metric.name for request in requests}) > 100


def test_the_matrix_says_how_many_rows_it_has() -> None:
    rows = [line.split("|") for line in OF_OTHER_SYSTEMS.splitlines() if line[:2] == "| "][2:]
    rows = [row for row in rows if "**" not in row[1]]
    with_calls = [row for row in rows if "`" in row[2]]
    assert f"\n{len(rows)} metrics of " in OF_OTHER_SYSTEMS
    assert f": {len(with_calls)} rows have one." in OF_OTHER_SYSTEMS
