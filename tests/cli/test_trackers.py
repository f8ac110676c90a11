"""Formats for trackers, and the action of GitHub."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sqlmetrics.cli.markdown import in_cell, inline
from sqlmetrics.texts.terminal import one_line
from tests.support.command_line import run
from tests.support.paths import ROOT

LISTS = "user_id,item_id,rank\n1,11,1\n1,12,2\n2,12,1\n2,11,2\n"
TABLES = ["-r", "new=lists.csv", "-i", "truth.csv", "--no-check"]


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    Path("lists.csv").write_text(LISTS, encoding="utf-8")
    Path("truth.csv").write_text("user_id,item_id,city\n1,11,A|B\n2,11,<b>\n", encoding="utf-8")
    return here


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
        ["| ❌", "new", "`<b>`"],
        ["| ✅", "new", "A\\|B"],
    ]
    assert reasons == (
        "- `new, mrr@2, city=<b>: value 0.5 is below 0.6` (`mrr < 0.6 where city=<b>`)\n"
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


SHELL = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]  # as GitHub runs bash


def act(tmp_path: Path, arguments: str, command: str = "test") -> tuple[int, str, str, str]:
    """Run the script of the action; return its exit code, stdout, stderr and the summary."""
    binary = tmp_path / "bin" / "sqlmetrics"
    binary.parent.mkdir(exist_ok=True)
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sqlmetrics "$@"\n', encoding="utf-8")
    binary.chmod(0o755)
    summary = tmp_path / "summary.md"
    summary.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "PATH": f"{binary.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COMMAND": command,
        "ARGUMENTS": arguments,
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    script = step("Run sqlmetrics")["run"]
    done = subprocess.run([*SHELL, script], env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr, summary.read_text(encoding="utf-8")


def test_the_action_of_github(tmp_path: Path) -> None:
    """The script of the action, with its inputs as arguments that a shell would split."""
    Path("my gates.toml").write_text(GATES, encoding="utf-8")
    assert set(step("Run sqlmetrics")["env"]) == {"COMMAND", "ARGUMENTS"}
    arguments = "my gates.toml\n--trust-file\n--fail-if\nmrr < 0.8\n"
    code, stdout, stderr, summary = act(tmp_path, arguments)
    assert code == 3, stderr
    assert summary == stdout
    assert stdout.startswith("**❌ 1 of 1 test failed**\n\n| verdict | test |")
    assert "| ❌ | evaluate | new, mrr@2 | value | 0.7500 | `mrr < 0.8` |" in stdout
    assert "error: 1 of 1 test failed" in stderr


def test_the_summary_of_a_command_that_fails(tmp_path: Path) -> None:
    """Exit codes 1 and 2 have no result; the message is code, of which nothing is live."""
    Path("gates.toml").write_text(GATES, encoding="utf-8")
    Path("twice.csv").write_text(LISTS + "1,11,1\n", encoding="utf-8")
    for arguments, code in {
        "![a](//e.example)`<img>.toml": 2,
        "gates.toml\n--trust-file\n-r\ntwice.csv": 1,
    }.items():
        found, stdout, stderr, summary = act(tmp_path, arguments)
        assert (found, stdout) == (code, "")
        indented = "".join(f"    {line}\n" for line in stderr.splitlines())
        assert summary == f"\n**❌ sqlmetrics failed with exit code {code}**\n\n{indented}"
        assert "error: " in summary
    found, stdout, _, summary = act(tmp_path, "-r\ntwice.csv\n-i\ntruth.csv", "check")
    assert (found, summary) == (1, stdout)  # the findings


def test_inputs_of_the_action_are_data(tmp_path: Path) -> None:
    """Every input reaches a script as an environment variable; extras can be empty."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    for one in action["runs"]["steps"]:
        assert "${{" not in one.get("run", "")
    pip = tmp_path / "pip"
    pip.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    pip.chmod(0o755)
    for extras, asked in {"": "/a b", "stats": "/a b[stats]", "$(x)": "/a b[$(x)]"}.items():
        environment = {
            "PATH": f"{tmp_path}:{os.environ['PATH']}", "EXTRAS": extras,
            "GITHUB_ACTION_PATH": "/a b",
        }  # fmt: skip
        script = step("Install sqlmetrics")["run"]
        done = subprocess.run([*SHELL, script], env=environment, capture_output=True, text=True)
        assert done.stdout == f"install {asked}\n", done.stderr


LIVE = [
        "![a](https://e.example/a.png)", "[a](//e.example)", "<img src=x>", "<!-- a", "https://a.b",
        "www.a.b", "a@b.example", "@octocat", "x @octocat", "fixes #1", "o/r#1", "GH-1", "**a**",
        "_a_", "~~a~~", "$a$", ":tada:", "&#64;a", "`![a](b)`", "``a`", "a\\", "a\nb",
        "\\|![a](b)", "[a]: b", "a|`b", "\u202ea",
    ]  # fmt: skip


def test_nothing_is_live_in_markdown() -> None:
    """Everything is in a code span that no backtick of the text ends, in one cell of a table."""
    for text in LIVE:
        cell = in_cell(text)
        assert one_line(text) in inline(text)
        fence = re.match("`+", cell)
        assert fence is not None, text
        inner = cell[fence.end() : -fence.end()]
        assert cell == fence[0] + inner + fence[0]
        assert fence[0] not in re.findall("`+", inner)
        assert inner[0] != "`" != inner[-1]
        assert "\n" not in cell
        assert not re.search(r"(?<!\\)(\\\\)*\|", cell)  # a pipe that would end the cell
    for text in ("als", "n_users", "ndcg(gain=exponential)", "mrr@2: 0.5", "a:b"):
        assert inline(text) == in_cell(text) == text


def test_names_in_markdown() -> None:
    """Names of models, columns and slices, the baseline in a legend, and the text of a gate."""
    image, column = "![a](//e.example)", "<img>"
    Path("truth.csv").write_text(f"user_id,item_id,{column}\n1,11,{image}\n2,11,b\n")
    tables = ["-r", f"{image}=lists.csv", "-r", "b=lists.csv", "-i", "truth.csv", "--no-check"]
    gate = f"mrr < 2 where {column}={image}"
    options = [*tables, "mrr@2", "--by", column, "--format", "github"]
    evaluated = run("evaluate", *options, "--fail-if", gate, code=3).stdout
    against = run("leaderboard", *options, "--against", image).stdout
    for text in (evaluated, against):
        assert image in text
        assert not re.search(r"!\[|<img", re.sub("`[^`]*`", "", text))
    assert f"than `{image}`" in against
