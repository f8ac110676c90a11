"""The command `user`: one user explained, as text and JSON, and the users with extreme values."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from tests.support.command_line import run


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("tables")
    lists, truth, items = (folder / f"{name}.parquet" for name in ("lists", "truth", "items"))
    rows = {"user_id": [1, 1, 1, 2], "item_id": [10, 20, 30, 10], "rank": [1, 2, 3, 1]}
    pd.DataFrame(rows).to_parquet(lists)
    pd.DataFrame({"user_id": [1, 1, 2], "item_id": [20, 40, 10]}).to_parquet(truth)
    pd.DataFrame({"item_id": [20, 40], "title": ["Tea", "Mug"]}).to_parquet(items)
    return ["-r", str(lists), "-i", str(truth), "--items", str(items)]


def test_one_user(tables: list[str]) -> None:
    result = run("user", "1", "recall@2", "--show", "title", "--format", "markdown", *tables)
    assert result.stdout == (
        "\n## user_id 1\n\n"
        "\n### list\n\n"
        "| rank | item_id | title | recall@2 | recall@2 so far | hit |\n"
        "| ---: | ---: | --- | ---: | ---: | --- |\n"
        "| 1 | 10 |  |  |  |  |\n"
        "| 2 | 20 | Tea | 1.0000 | 1.0000 | yes |\n"
        "\nand 1 more item below rank 2\n"
        "\n### relevant items that are not in the top\n\n"
        "| item_id | title | rank |\n"
        "| ---: | --- | ---: |\n"
        "| 40 | Mug |  |\n"
        "\n### values\n\n"
        "- recall@2: hits in the top k 1 / divisor 2 = 0.5\n"
    )
    assert result.stderr == ""


def test_json(tables: list[str]) -> None:
    found = json.loads(run("user", "1", "recall@2", "--format", "json", *tables).stdout)
    assert found["user"] == {"user_id": 1}
    assert [row["item_id"] for row in found["list"]] == [10, 20, 30]
    assert found["missed"] == [{"item_id": 40, "rank": None}]
    assert found["values"][0]["value"] == 0.5


def test_whole_lists_without_a_cutoff(tables: list[str]) -> None:
    text = run("user", "1", "recall", "recall@1", *tables).stdout
    assert "more item" not in text
    assert len([line for line in text.splitlines() if line.startswith(("│", " "))]) >= 3


def test_ids_of_warehouses_keep_their_zeros() -> None:
    named = ["--recommendations-table", "a.recs", "--interactions-table", "a.clicks"]
    for word, condition in (("7", "user_id = 7"), ("007", "user_id = '007'")):
        arguments = ["user", word, "recall@2", "--sql", "--dialect", "bigquery", *named]
        assert condition in run(*arguments).stdout


def test_statements_for_a_warehouse_need_names(tables: list[str]) -> None:
    result = run("user", "1", "recall@2", "--sql", "--dialect", "bigquery", *tables, code=2)
    assert "bigquery cannot read" in result.stderr


def test_the_best_and_the_worst(tables: list[str]) -> None:
    worst = run("user", "--worst", "1", "recall@2", *tables).stdout
    assert "user_id 1" in worst
    assert "user_id 2" not in worst
    best = run("user", "--best", "1", "recall@2", *tables).stdout
    assert "user_id 2" in best
    assert "user_id 1" not in best
    both = json.loads(run("user", "--best", "5", "recall@2", "--format", "json", *tables).stdout)
    assert [one["user"]["user_id"] for one in both] == [2, 1]


def test_statements(tables: list[str]) -> None:
    text = run("user", "1", "recall@2", "--sql", *tables).stdout
    parts = ["-- list", "-- missed", "-- values"]
    assert [line for line in text.splitlines() if line in parts] == parts
    assert "WHERE ranked.user_id = 1" in text
    named = ["--recommendations-table", "a.recs", "--interactions-table", "a.clicks"]
    printed = run("user", "1", "recall@2", "--sql", "--dialect", "bigquery", *named)
    assert "a.recs" in printed.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["9", "recall@2"], "there is no user 9 in recommendations and interactions"),
        (["ann", "recall@2"], "user_id is a whole number"),
        (["1", "coverage@2"], "coverage@2 has one value for all users"),
        (["1", "recall@2", "--show", "titel"], "titel"),
        (["1", "recall@2", "--worst", "1", "--best", "1"], "--worst and --best"),
        (["1", "recall@2", "--dialect", "bigquery"], "--dialect applies to --sql only"),
        (["--worst", "1", "recall@2", "--sql"], "give an ID"),
    ],
)
def test_what_is_refused(tables: list[str], arguments: list[str], message: str) -> None:
    result = run("user", *arguments, *tables, code=2)
    assert message in result.stderr
    assert result.stdout == ""
