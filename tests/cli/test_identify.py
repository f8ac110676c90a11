"""Reported numbers on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from click.testing import Result

from tests.support.command_line import run
from tests.support.conventions import exactly


def identify(*arguments: str, code: int = 0) -> Result:
    return run("identify", *arguments, code=code)


def test_matches_as_json(files: list[str]) -> None:
    result = identify("map@3=0.4028", "ndcg@3=34.50%", *files, "--format", "json")
    rows = json.loads(result.stdout)
    assert [(row["metric"], row["convention"], row["n_matched"]) for row in rows] == [
        ("map", "jurity", 2),
        ("map", "recommenders", 1),
        ("ndcg", "jurity", 2),
    ]
    first = rows[0]
    assert first["matches"] is True
    assert first["k"] == 3
    assert first["reported"] == "0.4028"
    assert first["settings"] == "audience=both"
    assert first["value"] == exactly((10 / 9 + 1 / 2) / 4)
    assert result.stderr == "" or "omitted" in result.stderr


def test_nothing_matches(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "found.csv"
    options = ["--convention", "jurity,rectools", "--nearest", "1"]
    result = identify("map@3=0.99", *files, *options, "-o", str(path), code=4)
    assert result.stdout == ""
    assert "no convention gives map@3=0.99" in result.stderr
    frame = pd.read_csv(path)
    assert set(frame["rank"]) == {1}
    assert not frame["matches"].any()
    one_of_two = ["map@3=0.99", "map@3=0.2500", "--convention", "rectools"]
    found = identify(*one_of_two, *files, "--format", "csv", "--digits", "2")
    assert ",0.25," in found.stdout


MISTYPED = [
    (["map@3", "=", "0.4"], "'map@3' has no number; write METRIC@K=NUMBER without spaces"),
    (["mpa@3=0.4"], "did you mean 'map' or"),
    (["map(divisor=j)@3=0.4"], "divisor cannot be 'j'"),
    (["map@3=0.4", "--convention", "jurrity"], "did you mean 'jurity'"),
    (["mrr@3=0.4", "--convention", "jurity"], "mrr is not a metric of jurity"),
    (["als: map@3=0.4"], "name them with -r NAME=FILE"),
    (["surprisal@3=0.4"], "--history FILE"),
    (["map@3=0.4", "--nearest", "0"], "--nearest"),
    ([], "NUMBERS"),
]


def test_mistyped(files: list[str]) -> None:
    for arguments, message in MISTYPED:
        result = identify(*arguments, *files, code=2)
        assert message in result.stderr
        assert result.stdout == ""


def test_settings_and_columns_of_the_user(files: list[str]) -> None:
    """(5/9 + 1/2 + 5/9) / 4 for everybody, since --set wins over every convention."""
    renamed = ["--column", "interactions.relevance=relevance", "--set", "audience=both"]
    result = identify("map@3=0.4028", *files, *renamed, "--convention", "standard,recbole",
                      "--format", "jsonl")  # fmt: skip
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["convention"] for row in rows] == ["standard", "recbole"]
    assert rows[0]["settings"] == ""


def test_a_table_fits_into_a_terminal(files: list[str]) -> None:
    """A match needs no change, so the last column is the name in the convention."""
    asked = ["map@3=0.4028", *files, "--convention", "jurity,recommenders", "--format", "table"]
    lines = identify(*asked).stdout.splitlines()
    assert lines[1].replace("┃", " ").split() == ["number", "convention", "value", "theirs"]
    assert max(map(len, lines)) <= 80
    assert "map@3=0.4028" in lines[3]
    nearest = ["map@3=0.99", "--convention", "rectools", *files, "--format", "table"]
    assert "change" in identify(*nearest, code=4).stdout.splitlines()[1]
    chosen = identify(*asked, "--columns", "value,settings").stdout.splitlines()
    assert chosen[1].replace("┃", " ").split() == ["value", "settings"]


def test_conventions_with_one_answer_are_one_row(files: list[str]) -> None:
    result = identify("map@3=0.2500", *files, "--format", "table")
    rows = [line for line in result.stdout.splitlines() if "0.2500 " in line]
    assert len(rows) == 1
    cells = [cell.strip() for cell in rows[0].strip("│").split("│")]
    assert cells[0] == "map@3=0.2500"
    assert cells[1] == "evidently, ir_measures, ranx, … (6)"
    assert len(json.loads(identify("map@3=0.2500", *files, "--format", "json").stdout)) == 6


def test_a_failure_has_the_nearest_ways(files: list[str]) -> None:
    result = identify("map@3=0.99", *files, "--format", "table", code=4)
    assert len([line for line in result.stdout.splitlines() if "map@3" in line]) == 3
