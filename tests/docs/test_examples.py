"""The examples of each environment run; tests/engines/test_dbt.py builds the dbt project."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from tests.support.command_line import run
from tests.support.pages import shell_output
from tests.support.paths import EXAMPLES, ROOT

DATA = EXAMPLES / "data"
README = (EXAMPLES / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def expected() -> pd.DataFrame:
    """Return nDCG and recall of the model als."""
    lists, truth = DATA / "recommendations_als.parquet", DATA / "interactions.parquet"
    with sm.Evaluator(lists, truth, check=False) as evaluator:
        return evaluator.evaluate(["ndcg@10", "recall@10"])


def test_the_page_names_every_folder() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()} - {"data"}
    assert set(re.findall(r"^\| \[(\w+)\]\(", README, re.MULTILINE)) == folders
    for path in re.findall(r"\]\(([^)]+)\)", README):
        assert (EXAMPLES / path).exists(), path


def test_the_script_prints_the_numbers(expected: pd.DataFrame) -> None:
    script = [sys.executable, str(EXAMPLES / "python" / "evaluate.py"), str(DATA)]
    printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    for value in expected["value"]:
        assert f"{value:.6f}" in printed


def test_the_marimo_notebook_runs(expected: pd.DataFrame) -> None:
    pytest.importorskip("marimo", reason="in the extra ci")
    script = [sys.executable, str(EXAMPLES / "marimo" / "app.py")]
    printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    for value in expected["value"]:
        assert f"{value:.4f}" in printed


@pytest.mark.parametrize(
    ("path", "tables"),
    [
        (
            "duckdb/metrics.sql",
            "-r examples/data/recommendations_als.parquet -i examples/data/interactions.parquet",
        ),
        (
            "dbt/models/metrics.sql",
            """--recommendations-table "{{ ref('recs') }}" --column recommendations.score=score """
            """--interactions-table "{{ ref('held_out') }}" """
            "--column interactions.relevance=relevance",
        ),
    ],
)
def test_the_statements_are_what_is_printed(path: str, tables: str, tmp_path: Path) -> None:
    printed = shell_output(f"sqlmetrics sql ndcg@10 recall@10 {tables}", tmp_path)
    stored = (EXAMPLES / path).read_text(encoding="utf-8")
    assert stored.rstrip("\n;") == printed.rstrip("\n;")


def test_the_statement_for_duckdb_runs(
    expected: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    with duckdb.connect() as shell:
        found = shell.execute((EXAMPLES / "duckdb" / "metrics.sql").read_text("utf-8")).df()
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-12)


@pytest.mark.parametrize(("new", "code"), [("als", 0), ("popular", 3)], ids=["better", "worse"])
def test_the_workflow_judges_the_new_lists(
    new: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    workflow = (EXAMPLES / "github" / "recommendations.yml").read_text(encoding="utf-8")
    ((command, block),) = re.findall(r"command: (\w+)\n +arguments: \|\n((?: {12}.*\n)+)", workflow)
    arguments = [line.strip() for line in block.splitlines()]
    if new == "popular":
        lists = [one.partition("=")[2] for one in arguments if one.startswith(("live=", "new="))]
        arguments = [
            re.sub("=.*", f"={lists.pop()}", one) if one.startswith(("live=", "new=")) else one
            for one in arguments
        ]
    run(command, *arguments, "--format", "github", "--no-check", code=code)


def test_the_nightly_job_keeps_a_history(tmp_path: Path) -> None:
    """The second night shows the first, too, and the same lists have not changed."""
    commands = (EXAMPLES / "nightly" / "nightly.sh").read_text(encoding="utf-8")
    nights = ["2026-11-26", "2026-11-27"]
    for night in nights:
        given = f"set -- examples/data metrics.duckdb {night}\n"
        shown = shell_output(given + commands, tmp_path, SQLMETRICS_CHECK="false")
    assert re.findall(r"date=([\d-]+)", shown) == nights
    history = sm.trend(tmp_path / "metrics.duckdb:results", "ndcg@10")
    assert history["change"].tolist()[1:] == [0.0]
