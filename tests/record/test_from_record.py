"""Runs of recorded results (`--from-record`): the same again, differences, options."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sqlmetrics.cli import replay
from sqlmetrics.cli.commands import main
from sqlmetrics.errors import DataError, UsageError
from sqlmetrics.record import diff
from sqlmetrics.record import record as records
from sqlmetrics.rows import Rows
from tests.support.command_line import run
from tests.support.evaluators import Evaluator
from tests.support.recorded import (
    COMMANDS,
    LISTS,
    ONE,
    TRUTH,
    TWO,
    again,
)

# ---------------------------------------------------------------- running again


@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_again(command: str, folder: Path) -> None:
    first = run(command, *COMMANDS[command], "--record", "a.json", "--format", "csv")
    second = run(command, *again("a.json"), "--record", "b.json", "--format", "csv")
    assert second.stdout.splitlines()[0] == first.stdout.splitlines()[0]
    assert len(second.stdout.splitlines()) == len(first.stdout.splitlines())
    head, *files, last = second.stderr.splitlines()
    assert head == "sqlmetrics: files named by a.json:"
    assert all(line.endswith(".parquet") for line in files)
    assert last == "sqlmetrics: the same as in a.json"
    one, other = (json.loads((folder / name).read_text()) for name in ("a.json", "b.json"))
    for name in ("metrics", "settings", "sources", "sql", "contents", "users", "columns"):
        assert one[name] == other[name], name
    assert len(one["rows"]) == len(first.stdout.splitlines()) - 1


@pytest.mark.usefixtures("folder")
def test_what_differs_is_said() -> None:
    run("evaluate", *TWO, "recall@2", "mrr@2", "--record", "a.json")
    pq.write_table(LISTS.slice(4), "als.parquet")
    truth = TRUTH.set_column(1, "item_id", [["none", *TRUTH["item_id"].to_pylist()[1:]]])
    pq.write_table(truth, "truth.parquet")
    again_with_record = [*again("a.json"), "--record", "b.json"]
    result = run("evaluate", *again_with_record, "--format", "csv", code=1)
    assert Path("b.json").exists()  # the new result has its record
    assert result.stdout.startswith("model,metric,k,value")  # the result is there nevertheless
    lines = result.stderr.splitlines()[4:]  # after the files
    assert lines[:4] == [
        "sqlmetrics: error: not the same as in a.json:",
        "  interactions: different values in item_id, user_id",
        "  recommendations of als: 116 rows, were 120",
        "  users of recall and 1 more, als, without recommendations: 11, was 10",
    ]
    # user 0, whose item i0 stood first, has one of 40 hits less
    values = {line.split("@")[0].strip(): line for line in lines[4:]}
    assert values.keys() == {"recall", "mrr"}
    for line in values.values():
        assert "value differs by up to 0.025 (als:" in line


def test_options_replace_what_the_record_says(folder: Path) -> None:
    run("evaluate", *TWO, "recall@2", "--record", "a.json", "--set", "ties=item_desc",
        "--set", "relevant_from=1")  # fmt: skip
    (folder / "als.parquet").rename(folder / "moved.parquet")
    missing = run("evaluate", *again("a.json"), code=1)
    assert "there is no file als.parquet" in missing.stderr
    moved = run("evaluate", *again("a.json"), "-r", "als=moved.parquet")
    assert "sqlmetrics: the same as in a.json" in moved.stderr  # paths do not matter
    one = ("-r", "als=moved.parquet", *again("a.json"), "--record", "b.json", "--force")
    run("evaluate", *one, "map@3", code=1)
    record = json.loads((folder / "b.json").read_text())
    assert [(entry["metric"], entry["k"]) for entry in record["metrics"]] == [("map", [3])]
    result = run("evaluate", *one, "--set", "ties=item_asc", code=0)
    assert "\n  recall (standard), ties: item_asc, was item_desc\n" in result.stderr
    assert "\n  the SQL differs" in result.stderr
    given = json.loads((folder / "b.json").read_text())["given"]
    assert given["settings"] == {"relevant_from": "1", "ties": "item_asc"}


def test_versions_alone_are_no_failure(folder: Path) -> None:
    run("evaluate", *ONE, "recall@2", "--record", "a.json")
    record = json.loads((folder / "a.json").read_text())
    record["versions"]["duckdb"] = "1.0.0"
    (folder / "a.json").write_text(json.dumps(record))
    result = run("evaluate", *again("a.json"))
    ours = duckdb.__version__
    assert result.stderr.endswith(f", except duckdb: {ours}, was 1.0.0\n")


def test_attrs_are_a_record(folder: Path) -> None:
    with Evaluator("als.parquet", "truth.parquet", trust_input=True) as evaluator:
        record = evaluator.evaluate(["recall@2"]).attrs["sqlmetrics"]
    (folder / "a.json").write_text(json.dumps(record))
    result = run("evaluate", *again("a.json"))
    for what in ("the contents of tables", "counts of users", "values"):
        assert f"\n  not compared: {what} (not in the record)" in result.stderr


def test_results_in_files(folder: Path) -> None:
    run("evaluate", *ONE, "recall@2", "--record", "a.json", "-o", "a.parquet")
    result = run("evaluate", *again("a.json"), "-o", "a.csv", "--record", "b.json")
    assert "sqlmetrics: the same as in a.json" in result.stderr
    rows = [json.loads((folder / name).read_text())["rows"] for name in ("a.json", "b.json")]
    assert rows[0] == rows[1] == [list(pq.read_table("a.parquet").to_pylist()[0].values())]


def test_long_results_are_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_ROWS", 20)
    for target in ([], ["-o", "a.parquet"]):
        run("per-user", *ONE, "recall@2", "--record", "a.json", "--force", *target)
        record = json.loads((folder / "a.json").read_text())
        assert "rows" not in record
        why = "the result has 40 rows; a record stores at most 20"
        skipped = "Data checks were skipped because of trust_input=True."
        assert record["unknown"] == {"rows": why, "findings": skipped}
    result = run("per-user", *again("a.json"))
    why = "the result has 40 rows; a record stores at most 20"
    assert result.stderr.endswith(f", except not compared: values ({why})\n")


def test_a_record_is_written_whole_or_not_at_all(folder: Path) -> None:
    (folder / "a.json").write_text("mine")
    result = run("evaluate", *ONE, "recall@2", "--record", "a.json", code=1)
    assert "a.json exists and is not overwritten. Add --force" in result.stderr
    assert result.stdout == ""  # said before anything is computed
    assert (folder / "a.json").read_text() == "mine"
    run("evaluate", "-r", "als.parquet", "-i", "none.parquet", "recall@2", "--record", "a.json",
        "--force", code=1)  # fmt: skip
    assert (folder / "a.json").read_text() == "mine"
    run("evaluate", *ONE, "recall@2", "--record", "a.json", "--force")
    assert json.loads((folder / "a.json").read_text())["record"] == records.FORMAT
    assert sorted(path.name for path in folder.iterdir()) == [
        "a.json", "als.parquet", "other.parquet", "truth.parquet"
    ]  # fmt: skip
    for target in ("", "-"):
        result = run("evaluate", *ONE, "recall@2", "--record", target, code=2)
        assert "--record: pass a file name" in result.stderr
    result = run("evaluate", *ONE, "recall@2", "--record", "b.json", "-o", "b.json", code=2)
    assert "--record: pass a file name" in result.stderr


# ---------------------------------------------------------------- records that cannot be run


def of_frames(folder: Path) -> dict[str, Any]:
    with Evaluator(LISTS, "truth.parquet", record=True) as evaluator:
        record: dict[str, Any] = evaluator.evaluate("recall@2").attrs["sqlmetrics"]
    (folder / "a.json").write_text(json.dumps(record))
    return record


def test_tables_of_duckdb_files_and_queries(folder: Path) -> None:
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE recs AS FROM 'als.parquet'")
        connection.execute("CREATE TABLE truth AS FROM 'truth.parquet'")
    run("evaluate", "recall@2", "--database", "shop.duckdb", "-r", "recs", "-i", "truth",
        "--trust-input", "--record", "a.json")  # fmt: skip
    result = run("evaluate", *again("a.json"), "--format", "csv")
    assert result.stderr.splitlines() == [
        "sqlmetrics: files named by a.json:",
        "  recommendations: shop.duckdb:recs",
        "  interactions: shop.duckdb:truth",
        "sqlmetrics: the same as in a.json",
    ]
    queries = ["-r", "shop.duckdb:FROM recs", "-i", "SELECT * FROM 'truth.parquet'"]
    run("evaluate", "recall@2", *queries, "--record", "b.json")
    for n, text in enumerate(['"shop.duckdb:FROM recs"', "pass it with -i QUERY"]):
        refused = run("evaluate", *again("b.json"), *queries[: 2 * n], code=2).stderr
        assert text in refused
        assert "which is not run, because somebody else may have written the record" in refused
    assert "the same as" in run("evaluate", *again("b.json"), *queries).stderr
    (folder / "shop.duckdb").unlink()
    missing = run("evaluate", *again("a.json"), code=1)
    assert "there is no file shop.duckdb:recs" in missing.stderr


def test_what_cannot_be_read_again_has_to_be_given(folder: Path) -> None:
    of_frames(folder)
    result = run("evaluate", *again("a.json"), code=2)
    assert (
        "recommendations: the source in the record is pyarrow.Table, which cannot be"
        in result.stderr
    )
    assert "give the table with -r FILE" in result.stderr
    run("evaluate", *again("a.json"), "-r", "als.parquet")
    text = (folder / "a.json").read_text()
    run("evaluate", "-r", "als.parquet", "-i", "-", "recall@2", "--record", "b.json",
        input=(folder / "truth.parquet").read_bytes())  # fmt: skip
    result = run("evaluate", *again("b.json"), code=2)
    assert "interactions: the source in the record is stdin" in result.stderr
    assert "-i FILE" in result.stderr
    assert (folder / "a.json").read_text() == text


def test_what_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for content, message in (
        (None, "the file cannot be read"),
        (b"{", "the file is not JSON"),
        (b"[1]", "the file is not a record"),
        (b'{"a": 1}', "the file is not a record"),
        (b'{"record": 2, "versions": "x"}', "the record has format 2"),
        (b"\xff\xfe", "the file is not JSON"),
        (b"[" * 100_000, "the file is not JSON"),
    ):
        if content is not None:
            path.write_bytes(content)
        result = run("evaluate", "--from-record", str(path), code=2)
        assert message in result.stderr
        assert len(result.stderr) < 1000


def test_a_record_of_another_command(folder: Path) -> None:
    of_frames(folder)
    result = run("per-user", *again("a.json"), code=2)
    assert (
        "the record is of the command evaluate; run sqlmetrics evaluate --from-record a.json"
        in result.stderr
    )


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """Find the place of everything in a record."""
    yield ()
    inner = list(enumerate(value)) if isinstance(value, list) else []
    for key, entry in value.items() if isinstance(value, dict) else inner:
        yield from ((key, *rest) for rest in places(entry))


def with_junk(record: Any, place: tuple[Any, ...], junk: Any) -> Any:
    damaged = copy.deepcopy(record)
    inner = damaged
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = junk
    return damaged


def test_damaged_records_are_refused(folder: Path) -> None:
    """Whatever stands anywhere in a record: an error of ours, or options, never a traceback."""
    record = records.with_result(of_frames(folder), Rows(["metric", "k", "value"], [], [
        ("recall", 2, 0.5), ("map", None, None)]))  # fmt: skip
    record["sources"][0].update(source=["a.parquet", "b.parquet"], kind="parquet")
    path = folder / "b.json"
    typed = {"recommendations": (), "settings": (), "columns": (), "where": (), "by": (),
             "by_item": (), "metrics": (), "cutoffs": None, "engine": "duckdb", "baseline": None,
             "conventions": (), "key": "user_id", "templates": (), "fallback": None,
             **dict.fromkeys(replay.OPTIONS)}  # fmt: skip
    refused = taken = longest = 0
    for place in [place for place in places(record) if place]:
        for junk in (None, -1.5, "x", [None], {"a": {}}):
            damaged = with_junk(record, place, junk)
            path.write_text(json.dumps(damaged))
            try:
                read = replay.read(path, "evaluate")
                replay.again(read, typed, lambda _: False)
            except (UsageError, DataError) as error:
                refused += 1
                longest = max(longest, len(str(error)))
                continue
            taken += 1
            for pair in ((read, record), (record, read)):
                assert diff.message("b.json", diff.differences(*pair))
    assert refused > 250
    assert taken > 50
    assert longest < 600


def test_damaged_arguments_are_refused(folder: Path) -> None:
    """By the command as by the functions above: no traceback."""
    run("leaderboard", *TWO, "recall@2", "--test", "bootstrap", "--record", "a.json")
    record = json.loads((folder / "a.json").read_text())
    codes = set()
    for place in (("asked", "metrics"), ("asked", "test"), ("asked", "k"), ("given", "settings")):
        for junk in (5, "x", [None], {"a": 1}):
            (folder / "b.json").write_text(json.dumps(with_junk(record, place, junk)))
            result = CliRunner().invoke(main, ["leaderboard", "--from-record", "b.json"])
            assert isinstance(result.exception, SystemExit | None), (place, junk)
            codes.add(result.exit_code)
    assert {2} <= codes <= {0, 1, 2}
