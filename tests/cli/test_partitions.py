"""Partitions on the command line, and the commands of docs/how-to/partitioned.md."""

from __future__ import annotations

import re
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from sqlmetrics.cli.commands import main as cli
from tests.support.partitions import DATA, MODELS
from tests.support.paths import ROOT


def called(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


FILES = ["-r", str(MODELS["als"]), "-i", str(DATA / "interactions.parquet")]


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = str(tmp_path / "parts")
    monkeypatch.setenv("SQLMETRICS_DIGITS", "6")  # does not concern parts
    for number in (1, 2):
        asked = ["evaluate", "recall@5", *FILES, "--partition", f"{number}/2", "-o", parts]
        assert called(*asked) == ""
    monkeypatch.delenv("SQLMETRICS_DIGITS")
    found = pd.read_csv(StringIO(called("reduce", parts)))
    gated = ["reduce", parts, "--fail-if", "recall@5 > 2", "--fail-if", "recall n_users >= 300"]
    failed = CliRunner().invoke(cli, [*gated, "--format", "github"])
    assert failed.exit_code == 3
    assert "1 of 2 gates failed" in failed.stdout
    sentence = f"recall@5: n_users {found['n_users'][0]} is at or above 300"
    assert f'{sentence}; gate "recall n_users >= 300"' in failed.stderr
    path = tmp_path / "failed.parquet"
    assert CliRunner().invoke(cli, [*gated, "-o", str(path)]).exit_code == 3
    assert list(pd.read_parquet(path)["metric"]) == ["recall"]
    for end in (".json", ".parquet"):
        path = tmp_path / f"result{end}"
        called("reduce", parts, "-o", str(path), "--threads", "1")
        result = pd.read_json(path) if end == ".json" else pd.read_parquet(path)
        assert result["value"][0] == pytest.approx(found["value"][0], abs=1e-12)
        again = CliRunner().invoke(cli, ["reduce", parts, "-o", str(path)])
        assert again.exit_code == 1
        assert "--force" in again.stderr
    users = pd.read_csv(StringIO(called("per-user", "recall@5", *FILES, "--partition", "1/2")))
    assert 0 < len(users) < found["n_users"][0]


def test_command_line_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    to_parts = ["-o", "parts"]
    for more, code, message in (
        ([], 2, "name the folder"),
        (["-o", "-"], 2, "name the folder"),
        ([*to_parts, "--partition", "5/2"], 2, "e.g. '3/8'"),
        ([*to_parts, "--format", "csv"], 2, "--format does not apply to --partition"),
        ([*to_parts, "--digits", "3"], 2, "--digits does not apply to --partition"),
        (
            [*to_parts, "--fail-if", "recall < 1"],
            2,
            "--fail-if does not apply to --partition; pass it to sqlmetrics reduce",
        ),
        (["-o", "no/parts"], 1, "there is no folder no"),
    ):
        command = ["evaluate", "recall@5", *FILES, "--partition", "1/2", *more]
        result = CliRunner().invoke(cli, command)
        assert (result.exit_code, list(tmp_path.iterdir())) == (code, [])
        assert message in result.stderr


def test_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "how-to" / "partitioned.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DATA, tmp_path / "examples" / "data")
    commands = []
    for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL):
        for line in re.findall(r"^ *sqlmetrics (.*)$", block.replace("\\\n", " "), re.MULTILINE):
            loops = re.search(r"for i in ([\d ]+)", block)
            for number in loops[1].split() if loops else [""]:
                commands.append(line.replace("$i", number))
    assert len(commands) >= 5
    for command in commands:
        called(*command.split())
    shown = re.search(r"```console\n\$ sqlmetrics (reduce .*?)\n(.*?)\n```", page, re.DOTALL)
    assert shown is not None
    assert called(*shown[1].split(), "--format", "table").rstrip() == shown[2]
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    assert len(names["result"]) == 2
