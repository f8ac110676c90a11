"""Formats for trackers, and the action of GitHub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from sqlmetrics.cli.commands import main
from tests.support.paths import ROOT

LISTS = "user_id,item_id,rank\n1,11,1\n1,12,2\n2,12,1\n2,11,2\n"
TABLES = ["-r", "new=lists.csv", "-i", "truth.csv", "--no-check"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("lists.csv").write_text(LISTS, encoding="utf-8")
    Path("truth.csv").write_text("user_id,item_id,city\n1,11,A|B\n2,11,<b>\n", encoding="utf-8")
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == code, result.output
    return result


def test_values_for_trackers() -> None:
    asked = ["evaluate", "mrr@2", "hit_rate", *TABLES]
    assert json.loads(run(*asked, "--format", "mlflow").stdout) == {
        "new/mrr_at_2": 0.75,
        "new/hit_rate": 1.0,
    }
    run(*asked, "--format", "dvc", "--digits", "1", "-o", "metrics.json")
    values = json.loads(Path("metrics.json").read_text(encoding="utf-8"))
    assert values == {"new": {"mrr@2": 0.8, "hit_rate": 1.0}}
    assert "'mlflow' is not one of" in run("list", "--format", "mlflow", code=2).stderr


def test_verdicts_for_github() -> None:
    gates = ["--fail-if", "mrr < 0.6 where city=<b>", "--fail-if", "mrr < 0.1"]
    result = run("evaluate", "mrr@2", *TABLES, "--by", "city", *gates, "--format", "github", code=3)
    head, rest = result.stdout.split("\n\n", 1)
    assert head == "**❌ 1 of 2 gates failed**"
    table, reasons = rest.split("\n\n")
    assert [line.split(" | ")[:3] for line in table.splitlines()] == [
        ["| verdict", "model", "city"],
        ["| ---", "---", "---"],
        ["| ❌", "new", "&lt;b>"],
        ["| ✅", "new", "A\\|B"],
    ]
    assert reasons == (
        "- new, mrr@2, city=&lt;b>: value 0.5 is below 0.6 (`mrr < 0.6 where city=<b>`)\n"
    )
    passed = run("evaluate", "mrr@2", *TABLES, "--fail-if", "mrr < 0.1", "--format", "github")
    assert passed.stdout.startswith("**✅ 1 gate passed**\n\n| verdict | model |")
    plain = run("evaluate", "mrr@2", *TABLES, "--format", "github").stdout
    assert plain == run("evaluate", "mrr@2", *TABLES, "--format", "markdown").stdout


GATES = """
recommendations = { "new" = "lists.csv" }
interactions = "truth.csv"
check = false
[evaluate]
metrics = "mrr@2"
fail-if = ["mrr < 0.9", "mrr > 1"]
"""


def step(name: str) -> dict[str, Any]:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (found,) = [one for one in action["runs"]["steps"] if one.get("name") == name]
    return dict(found)


def test_the_action_of_github(tmp_path: Path) -> None:
    """The script of the action, with its inputs as arguments that a shell would split."""
    Path("my gates.toml").write_text(GATES, encoding="utf-8")
    binary = tmp_path / "bin" / "sqlmetrics"
    binary.parent.mkdir()
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sqlmetrics "$@"\n', encoding="utf-8")
    binary.chmod(0o755)
    script = step("Run sqlmetrics")
    assert set(script["env"]) == {"COMMAND", "ARGUMENTS"}
    assert "${{" not in script["run"]  # inputs are data, not code
    summary = tmp_path / "summary.md"
    environment = {
        **os.environ,
        "PATH": f"{binary.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COMMAND": "test",
        "ARGUMENTS": "my gates.toml\n--trust-file\n--fail-if\nmrr < 0.8\n",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]  # as GitHub runs bash
    done = subprocess.run([*shell, script["run"]], env=environment, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert summary.read_text(encoding="utf-8") == done.stdout
    assert done.stdout.startswith("**❌ 1 of 1 test failed**\n\n| verdict | test |")
    assert "| ❌ | evaluate | new, mrr@2 | value | 0.7500 | mrr &lt; 0.8 |" in done.stdout
