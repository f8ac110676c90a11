"""The pages call things by the names of the product; .ci/run checks the style with proselint."""

from __future__ import annotations

import re

import pytest

from tests.support.paths import ROOT

# wrong name -> the name
NAMES = {
    r"\b[Ii]tems? catalogs?\b|\b[Cc]atalogs? (?:of items|coverage)\b": "catalogue",
    r"\b[Cc]ut-offs?\b": "cutoff",
    r"\b[Hh]eldout\b|\b[Hh]eld out (?:interactions|items)\b": "held-out",
    r"\b[Tt]ie breaking\b|\b[Tt]ie-?breakers?\b": "tie-breaking",
    r"\b[Pp]er user values?\b": "per-user values",
    r"\b(?:nDcg|Ndcg|NDcg|ndCG|NDCG)\b": "nDCG, or `ndcg` in code",
    r"\b(?:Duckdb|DuckDb|duckDB|Duck DB)\b": "DuckDB",
    r"\b(?:Clickhouse|Click House|Bigquery|Big Query)\b": "ClickHouse, BigQuery",
}
CODE = re.compile(r"^(`{3,}).*?^\1|<!--.*?-->|(?<=\])\([^)]*\)|`[^`]+`", re.DOTALL | re.MULTILINE)


def wrong_names(page: str) -> list[str]:
    """Find wrong names in a page, but not in its code and addresses."""
    text = CODE.sub("", page)
    return [
        f"{found.group()}: write {name}"
        for pattern, name in NAMES.items()
        for found in re.finditer(pattern.replace(" ", r"\s+"), text)
    ]


def test_things_are_called_by_their_names() -> None:
    files = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "GLOSSARY.md"]
    files += (ROOT / "docs").rglob("*.md")
    found = {str(file): wrong_names(file.read_text(encoding="utf-8")) for file in files}
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The catalog\nof items", ["catalog\nof items: write catalogue"]),
        ("`NDCG` in [Duckdb](Duckdb.md)", ["Duckdb: write DuckDB"]),
        ("```sql\nClickhouse\n```\n<!-- cut-off -->", []),
    ],
)
def test_wrong_names_are_found_outside_of_code(text: str, found: list[str]) -> None:
    assert wrong_names(text) == found
