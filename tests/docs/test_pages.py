"""The pages of docs: commands print what the page shows, and links lead somewhere.

test_generated_parts.py compares the parts that `python docs/generate.py` writes (outputs of
commands and of Python). These tests run the blocks for a shell, and compare their output where the
page shows it. The block for Postgres runs in tests/engines/test_pages.py.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main as cli
from sqlmetrics.report.figures import KINDS
from sqlmetrics.sql.dialects import DIALECTS
from sqlmetrics.tables.schema import COLUMNS
from tests.support.pages import shell_blocks, shell_output
from tests.support.paths import EXAMPLES, ROOT, TESTS

DOCS = ROOT / "docs"
COMMAND_LINE = (DOCS / "how-to" / "command-line.md").read_text(encoding="utf-8")
WAREHOUSE = (DOCS / "how-to" / "warehouse.md").read_text(encoding="utf-8")
MEMORY = (DOCS / "how-to" / "memory.md").read_text(encoding="utf-8")
RECORD = (DOCS / "reference" / "record.md").read_text(encoding="utf-8")
REPORT = (DOCS / "how-to" / "report.md").read_text(encoding="utf-8")

# test_example_report.py runs the first command of the page, in another folder
((_OF_README, _),) = shell_blocks((EXAMPLES / "report" / "README.md").read_text(encoding="utf-8"))


def words(commands: str) -> str:
    return " ".join(commands.replace("\\\n", " ").split())


OF_EXAMPLE = words(_OF_README.replace("../data", "examples/data"))


@pytest.mark.parametrize(
    ("page", "blocks"),
    [(COMMAND_LINE, 9), (WAREHOUSE, 1), (MEMORY, 2), (RECORD, 2), (REPORT, 1)],
    ids=["command line", "warehouse", "memory", "record", "report"],
)
def test_shell_of_the_page(page: str, blocks: int, tmp_path: Path) -> None:
    found = shell_blocks(page)
    assert len(found) == blocks
    for commands, expected in found:
        if f"{words(commands)} --force" != OF_EXAMPLE:
            found_output = shell_output(commands, tmp_path, SQLMETRICS_CHECK="false")
            assert found_output == expected, commands
    assert (OF_EXAMPLE in [f"{words(commands)} --force" for commands, _ in found]) == (
        page is REPORT
    )
    if page is COMMAND_LINE:
        assert pq.read_table(tmp_path / "values_of_users.parquet").num_rows == 487


# ---------------------------------------------------------------- the report


def test_the_options_and_kinds_of_the_report_are_on_its_page() -> None:
    rows = [line.split("|")[1:3] for line in REPORT.splitlines() if line.startswith("| `")]
    options = {option for row in rows for option in re.findall("`(--?[a-z-]+)`", row[0])}
    by_command = {
        name: {
            option
            for param in cli.commands[name].params
            for option in [*param.opts, *param.secondary_opts]
        }
        for name in ("report", "per-user")
    }
    assert options <= by_command["report"]
    missing = by_command["report"] - by_command["per-user"] - options - {"--output", "metrics"}
    assert not missing
    kinds = [row[0].strip(" `") for row in rows if row[0].strip(" `") in KINDS]
    assert kinds == list(KINDS)
    assert re.findall(r"\(`([a-z_]+)`\) \|", REPORT) == list(KINDS)


# ---------------------------------------------------------------- what is refused

NAMED = ["--recommendations-table", "recs", "--interactions-table", "truth"]
REQUESTS = {
    "`normalise=ideal` of `alpha_ndcg`, `err_ia` and `nrbp` for whole lists": [
        *NAMED, "alpha_ndcg", "--aspects-table", "aspects",
    ],
    "a column of lists": [*NAMED, "recall@5", "-r", "lists.parquet"],
    "`--by 'month(unit=seconds)'`": [
        *NAMED, "recall@5", "--by", "month(unit=seconds)", "--column", "interactions.timestamp=at",
    ],
}  # fmt: skip


def refusals() -> list[tuple[str, set[str]]]:
    """Read the table of the page: what is refused, and by which dialects."""
    _, _, rest = WAREHOUSE.partition("<!-- refused -->\n")
    rows = [line.strip("|").split("|") for line in rest.partition("\n\n")[0].splitlines()[2:]]
    others = {"all": set(DIALECTS), "all but duckdb": set(DIALECTS) - {"duckdb"}}
    return [
        (what.strip(), others.get(by.strip()) or set(by.strip().split(", ")))
        for what, by, _ in rows
    ]


@pytest.mark.filterwarnings("ignore:postgres. items with equal scores")
def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = dict(refusals())
    assert len(expected) == 10
    assert set(REQUESTS) <= set(expected)
    monkeypatch.chdir(tmp_path)
    lists = pa.table({"user_id": ["a"], "item_id": [["x", "y"]]})
    pq.write_table(lists, tmp_path / "lists.parquet")
    found: dict[str, set[str]] = {}
    for what in expected:
        # what is written as a command is one
        request = REQUESTS.get(what) or [*NAMED, "recall@5", *what.strip("`").split()]
        if "score_type" in what:
            request = [*request, "--column", "recommendations.score=score"]
        found[what] = set()
        for dialect in DIALECTS:
            result = CliRunner().invoke(cli, ["sql", *request, "--dialect", dialect])
            if result.exit_code:
                assert (result.exit_code, result.stdout) in ((2, ""), (1, "")), result.output
                found[what].add(dialect)
    assert found == expected
    assert set().union(*expected.values()) == set(DIALECTS)


# ---------------------------------------------------------------- the pages together


PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*ROOT.glob("*.md"), *PAGES, *EXAMPLES.rglob("*.md")]


def test_every_page_is_in_the_navigation_and_in_the_index_of_its_folder() -> None:
    navigation = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    for page in PAGES:
        assert f'"{page.relative_to(DOCS).as_posix()}"' in navigation, page
        if page.name != "README.md":
            index = (page.parent / "README.md").read_text(encoding="utf-8")
            assert f"]({page.name})" in index, page


def test_every_page_of_the_navigation_is_there() -> None:
    navigation = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    for page in re.findall(r'"([\w/-]+\.md)"', navigation):
        assert (DOCS / page).is_file(), page


def test_old_and_new_code_print_the_same_numbers() -> None:
    """docs/generate.py runs the new code; the old code was run once, by its library."""
    pages = sorted((DOCS / "how-to/migrate").glob("[a-z]*.md"))
    assert pages
    for page in pages:
        printed = re.findall(r"```text\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        old, new = ([line.split()[-1] for line in text.splitlines()] for text in printed)
        assert old == new, page
        assert len(old) >= 2, page


@functools.cache
def anchors(page: Path) -> set[str]:
    """List what a link into a page may name: its headings, as they are written on the web."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere() -> None:
    wrong = []
    for page in TEXTS:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" in target:
                continue
            path, _, anchor = target.partition("#")
            linked = page.parent / path if path else page
            if not linked.exists() or (anchor and anchor not in anchors(linked)):
                wrong.append(f"{page.relative_to(ROOT)}: {target}")
    assert wrong == []


def test_named_files_are_there() -> None:
    """Paths of the repository, or of a package; NAME stands for any."""
    roots, wrong = (ROOT, ROOT / "sqlmetrics"), []
    for page in TEXTS:
        for path in re.findall(r"`(\w+(?:/[\w.-]+)+)`", page.read_text(encoding="utf-8")):
            there = [root for root in roots if (root / path.partition("/")[0]).is_dir()]
            if "NAME" not in path and there and not any((root / path).exists() for root in there):
                wrong.append(f"{page.relative_to(ROOT)}: {path}")
    assert wrong == []


def test_the_page_on_python_has_every_public_name() -> None:
    page = (DOCS / "reference" / "python-api.md").read_text(encoding="utf-8")
    assert {*sm.__all__} - {"__version__"} <= {*re.findall(r"^::: \S+\.(\w+)$", page, re.M)}


def test_the_readme_counts_the_releases() -> None:
    """Those whose numbers tests/peers/test_references.py compares."""
    stored = [*(TESTS / "references").glob("*.json")]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"the numbers of {len(stored)} releases of other libraries" in readme


def test_the_page_of_tables_has_every_column() -> None:
    page = (DOCS / "reference" / "tables.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    of_page = {row[1].strip(" `"): " ".join(re.findall("`(.*?)`", row[3])) for row in rows}
    found = {table: {*re.findall(r"\w+", names)} - {"user_id"} for table, names in of_page.items()}
    assert found == {table: {*one, *other} for table, (one, other) in COLUMNS.items()}
