"""Conventions on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from tests.support.command_line import run
from tests.support.conventions import NAMES, exactly
from tests.support.notation import number


def records(*arguments: str) -> list[dict[str, Any]]:
    return json.loads(run(*arguments, "--format", "json").stdout)


def test_command_with_several(files: list[str]) -> None:
    names = ["--convention", "jurity,tutorial"]
    found = records("evaluate", "map@3", *files, *names)
    assert [row["convention"] for row in found] == ["jurity", "tutorial"]
    assert [row["value"] for row in found] == exactly(
        [number("(10/9 + 1/2) / 4"), number("(5/3 + 1/2) / 5")]
    )
    repeated = ["--convention", "jurity", "--convention", "tutorial"]
    again = records("evaluate", "map@3", *files, *repeated)
    assert [(row["convention"], row["n_users"]) for row in again] == [
        ("jurity", 4),
        ("tutorial", 5),
    ]
    assert [row["value"] for row in again] == exactly([row["value"] for row in found])
    users = records("per-user", "map@3", *files, *names)
    assert [row["convention"] for row in users] == ["jurity"] * 4 + ["tutorial"] * 5
    assert "jurity_map_at_3" in run("sql", "map@3", *files, *names).stdout


def test_command_with_a_file_of_ones_own(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a,b.toml"
    path.write_text('[settings]\naudience = "both"\n')
    (row,) = records("evaluate", "map@3", *files, "--convention", str(path))
    assert row["n_users"] == 4


def test_command_refuses_what_is_not_covered(files: list[str]) -> None:
    result = run("evaluate", "mrr@3", *files, "--convention", "jurity", code=2)
    assert "jurity does not cover mrr" in result.stderr
    fallback = ["--convention", "jurity", "--fallback", "standard"]
    (row,) = records("evaluate", "mrr@3", *files, *fallback)
    assert (row["convention"], row["value"]) == ("standard", 0.5)


def test_command_explain(files: list[str]) -> None:
    found = records("explain", "map@3", *files, "--from", "jurity", "--to", "standard")
    assert [row["setting"] for row in found] == [None, "audience"]
    assert found[0]["value"] + found[1]["change"] == exactly(found[1]["value"])
    assert "--from" in run("explain", "map@3", *files, code=2).stderr
    unknown = run("explain", "map@3", *files, "--from", "jurrity", code=2)
    assert "did you mean 'jurity'" in unknown.stderr


def test_command_explain_writes_files(files: list[str], tmp_path: Path) -> None:
    for name in ("steps.csv", "steps.parquet", "steps.md"):
        path = tmp_path / name
        run("explain", "map@3", *files, "--from", "jurity", "-o", str(path))
        assert path.stat().st_size > 0
    frame = pd.read_parquet(tmp_path / "steps.parquet")
    assert frame["setting"].isna().tolist() == [True, False]
    assert frame["setting"][1] == "audience"


def test_command_conventions() -> None:
    assert [row["convention"] for row in records("conventions")] == NAMES
    assert {row["divisor"] for row in records("conventions", "map")} >= {"k", "hits", "relevant"}
    assert "AveragePrecision" in run("conventions", "lenskit").stdout
    wrong = run("conventions", "lenskitt", code=2).stderr
    assert "lenskitt" in wrong
    assert "'lenskit'" in wrong
