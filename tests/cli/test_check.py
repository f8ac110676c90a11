"""The command `check`."""

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner, Result

from sqlmetrics.checks.survey import COLUMNS
from sqlmetrics.cli.commands import main as cli
from tests.support.survey import BROKEN, HISTORY, LISTS, TRUTH, pairs


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    LISTS.to_parquet(folder / "lists.parquet")
    TRUTH.to_parquet(folder / "truth.parquet")
    HISTORY.to_parquet(folder / "history.parquet")
    pairs((1, 12), (2, 14), (3, 11), (3, 13)).to_parquet(folder / "overlapping.parquet")
    BROKEN["recommendations"].to_parquet(folder / "broken.parquet")
    LISTS.astype({"user_id": str}).to_parquet(folder / "texts.parquet")
    return folder


def run(files: Path, command: str, lists: str = "lists", *options: str) -> Result:
    tables = ["-r", str(files / f"{lists}.parquet"), "-i", str(files / "truth.parquet")]
    metrics = ["mrr"] if command == "check" else []  # findings are about tables, of any metric
    return CliRunner().invoke(cli, [command, *metrics, *tables, *options])


def test_nothing_found(files: Path) -> None:
    result = run(files, "check", "lists", "-k", "2", "--format", "table", "--strict")
    assert (result.exit_code, result.stdout) == (0, "nothing found\n")
    assert run(files, "check", "lists", "-k", "2", "--format", "json").stdout == "[]\n"
    assert run(files, "check", "lists", "-k", "2").stdout == ",".join(COLUMNS) + "\n"


def test_exit_codes(files: Path) -> None:
    seen = ["--history", str(files / "overlapping.parquet"), "-k", "2"]
    assert run(files, "check", "lists", *seen).exit_code == 0
    assert run(files, "check", "lists", *seen, "--strict").exit_code == 1
    assert run(files, "check", "lists", "-k", "3", "--strict").exit_code == 0  # a note
    assert run(files, "check", "broken").exit_code == 1
    assert run(files, "check", "lists", "--set", "tis=item_asc").exit_code == 2
    assert run(files, "check", "lists", "-o", "found.parquet").exit_code == 2


def test_slices_of_few_users(files: Path) -> None:
    users = files / "users.csv"
    users.write_text("user_id,country\n1,A\n2,B\n", encoding="utf-8")
    sliced = ["-k", "2", "--users", str(users), "--by", "country", "--format", "json"]
    result = run(files, "check", "lists", *sliced)
    assert result.exit_code == 0, result.output
    (finding,) = json.loads(result.stdout)
    assert finding["check"] == "slices_small"
    assert finding["found"] == "2 of 2 slices by country have fewer than 30 users"
    assert finding["examples"] == [
        {"country": "A", "n_users": 1},
        {"country": "B", "n_users": 1},
    ]
    assert run(files, "check", "lists", *sliced, "--strict").exit_code == 1


def test_a_table_for_people(files: Path) -> None:
    result = run(files, "check", "broken", "--format", "table")
    assert result.stdout.startswith(
        "error: recommendations_duplicates\n"
        "  recommendations: 1 of 3 rows repeats an item of the same user and model\n"
        "    user_id  item_id  n_copies\n"
        "    1        11       2\n"
        "  -> remove the repeated rows, or choose how to handle them (keep, count_once, join, "
    ), result.stdout
    assert result.stdout.splitlines()[-1] == "2 errors"


def test_findings_for_machines(files: Path, tmp_path: Path) -> None:
    result = run(files, "check", "broken", "--format", "json")
    records = json.loads(result.stdout)
    assert [list(record) for record in records] == [list(COLUMNS)] * len(records)
    assert records[0]["examples"] == [{"user_id": 1, "item_id": 11, "n_copies": 2}]
    run(files, "check", "broken", "-o", str(tmp_path / "found.csv"))
    frame = pd.read_csv(tmp_path / "found.csv")
    assert [json.loads(text) for text in frame["examples"]] == [r["examples"] for r in records]
    markdown = run(files, "check", "broken", "--format", "markdown").stdout
    assert "recommendations_duplicates" in markdown
    assert "examples" not in markdown


def test_tables_that_cannot_be_read_are_findings(files: Path) -> None:
    for lists, found in {
        "nothing": "there is no file",
        "texts": "the ids in column user_id have different types",
    }.items():
        result = run(files, "check", lists, "--format", "json")
        (record,) = json.loads(result.stdout)
        assert (result.exit_code, record["level"], record["check"]) == (1, "error", "tables")
        assert found in record["found"]


def test_a_table_that_cannot_be_read_is_a_finding_among_others(files: Path) -> None:
    data = (files / "history.parquet").read_bytes()
    (files / "damaged.parquet").write_bytes(data[:4] + b"\0" * 60 + data[64:])
    options = ["--history", str(files / "damaged.parquet"), "-k", "3"]
    records = json.loads(run(files, "check", "lists", *options, "--format", "json").stdout)
    assert {"tables", "recommendations_short"} <= {record["check"] for record in records}
    result = run(files, "evaluate", "lists", "ndcg@2", *options[:2])
    assert result.exit_code == 0
    assert result.stdout.startswith("metric,k,value")
