"""Folders of partitions: files, versions, checks."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.engines.duckdb import DuckDBEngine
from sqlmetrics.partitions.split import Partition
from sqlmetrics.sql.query_graph import Plan
from tests.support.evaluators import Evaluator
from tests.support.partitions import DATA, assert_same, frame, in_parts, world, written

# ---------------------------------------------------------------- folders of partitions


def test_the_statement_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "parts [of] *"
    metrics = ["recall", "coverage", "inter_list_diversity"]
    with Evaluator(**world()) as evaluator:
        found = in_parts(evaluator, folder, 2, metrics, [2, 4])
        assert_same(found, evaluator.evaluate(metrics, [2, 4]))
    passed = ["recall n_users < 1", "coverage@4 value < 0"]
    assert_same(sm.reduce(folder, fail_if=passed), found)
    with pytest.raises(
        sm.GateError, match=r"the evaluation fails\n  one, coverage@2: value"
    ) as failed:
        sm.reduce(folder, fail_if=["recall < 0", "coverage@2 <= 1"])
    assert_same(failed.value.frame, found)
    with pytest.raises(sm.UsageError, match="'ndcg', which is not computed; computed: recall"):
        sm.reduce(folder, fail_if="ndcg < 0")
    text = (folder / "reduce.sql").read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    monkeypatch.chdir(folder)
    rows = duckdb.sql(text).df()
    pd.testing.assert_frame_equal(rows, found, check_dtype=False)


def test_every_job_writes_the_same_statement(tmp_path: Path) -> None:
    """Also one of another process, whose hashes of texts have another seed."""
    with Evaluator(
        DATA / "recommendations_als.parquet", DATA / "interactions.parquet"
    ) as evaluator:
        evaluator.write_partition(tmp_path / "parts", "1/2", ["recall", "auc"], 5)
    before = (tmp_path / "parts" / "reduce.sql").read_text(encoding="utf-8")
    command = [
        sys.executable, "-m", "sqlmetrics", "evaluate", "recall", "auc", "-k", "5",
        "-r", str(DATA / "recommendations_als.parquet"), "-i", str(DATA / "interactions.parquet"),
        "--partition", "2/2", "-o", str(tmp_path / "parts"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert (tmp_path / "parts" / "reduce.sql").read_text(encoding="utf-8") == before
    assert len(sm.reduce(tmp_path / "parts")) == 2


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_part_is_not_overwritten(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/2", "2/2")
    before = files_in(folder)
    with pytest.raises(sm.DataError, match=r"already has part 2/2.*force=True"):
        written(folder, "2/2")
    assert files_in(folder) == before
    written(folder, "2/2", force=True)
    assert files_in(folder).keys() == before.keys()
    assert len(sm.reduce(folder)) == 2


def test_parts_of_other_requests_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "parts", "1/2")
    for asked in ({"metrics": ["ndcg", "map"]}, {"ci": "none"}):
        with pytest.raises(sm.DataError, match=r"parts of different requests.*1/2 of recall@3"):
            written(folder, "2/2", **asked)
    with pytest.raises(sm.DataError, match=r"different numbers of partitions \(1/2 of 2 part"):
        written(folder, "2/3")
    assert not [name for name in files_in(folder) if Path(name).name.startswith("part-0002")]
    with monkeypatch.context() as patched:  # before anything is computed
        patched.setattr("sqlmetrics.engines.duckdb.DuckDBEngine.write_rows", None)
        with pytest.raises(sm.DataError, match="different requests"):
            written(folder, "2/2", metrics="map")
    written(folder, "2/2", metrics=["ndcg", "map"], force=True)
    with pytest.raises(sm.DataError, match=r"1/2 of recall@3; 2/2 of ndcg@3 map@3"):
        sm.reduce(folder)


def test_missing_parts_are_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/9", "4/9")
    with pytest.raises(
        sm.DataError, match=r"7 of 9 parts are missing: 2/9, 3/9, 5/9, 6/9, 7/9 and 2 more; run"
    ):
        sm.reduce(folder)


def test_a_folder_without_parts(tmp_path: Path) -> None:
    with pytest.raises(sm.DataError, match=r"has no parts. .*write_partition"):
        sm.reduce(tmp_path)
    with pytest.raises(sm.DataError, match="there is no folder"):
        sm.reduce(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(sm.DataError, match="is a file"):
        written(tmp_path / "file", "1/1")
    with pytest.raises(sm.DataError, match="there is no folder"):
        written(tmp_path / "no" / "where", "1/1")


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    entries = json.loads(path.read_text(encoding="utf-8"))
    change(entries)
    path.write_text(json.dumps(entries), encoding="utf-8")


def test_versions_are_not_mixed(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/2", "2/2")
    first, second = sorted(folder.glob("*.json"))
    changed(second, lambda entries: entries["versions"].update(duckdb="1.9.9"))
    with pytest.raises(sm.DataError, match=r"different versions \(1/2 of .*2/2 of .*1\.9\.9\)"):
        sm.reduce(folder)
    changed(first, lambda entries: entries["versions"].update(duckdb="1.9.9"))
    with pytest.raises(sm.DataError, match=r"written by .*1\.9\.9, but this is .*use the same"):
        sm.reduce(folder)


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/1")
    (folder / "reduce.sql").write_text("SELECT 1", encoding="utf-8")
    with pytest.raises(sm.DataError, match=r"reduce\.sql does not match the statement"):
        sm.reduce(folder)
    (folder / "reduce.sql").unlink()
    with pytest.raises(sm.DataError, match=r"reduce\.sql cannot be read"):
        sm.reduce(folder)
    (folder / "part-0001-of-0001.json").write_text("{", encoding="utf-8")
    with pytest.raises(sm.DataError, match=r"part-0001-of-0001\.json cannot be read"):
        sm.reduce(folder)


def test_manifests_with_entries_of_other_types_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/1")
    path = folder / "part-0001-of-0001.json"
    right = path.read_text(encoding="utf-8")
    wrong: list[tuple[str, Any]] = [
        ("plan", 3), ("asked", "recall"), ("asked", [1]), ("sliced_by", [{"name": "a"}]),
        ("sliced_by", [1]), ("versions", []), ("versions", {"duckdb": 2}), ("tables", {}),
        ("files", []), ("files", {"per_user": 3}), ("files", {"../per_user": {}}),
        ("data", {"interactions": None}), ("partition", 1), ("partition", "1/2"), ("more", 1),
    ]  # fmt: skip
    for name, value in wrong:
        changed(path, lambda entries, name=name, value=value: entries.update({name: value}))
        with pytest.raises(
            sm.DataError, match=r"part-0001-of-0001\.json cannot be read \(.*delete"
        ):
            sm.reduce(folder)
        path.write_text(right, encoding="utf-8")
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(sm.DataError, match=r"cannot be read \(it must be a table"):
        sm.reduce(folder)


def test_files_of_parts_are_those_that_were_written(tmp_path: Path) -> None:
    folder = written(tmp_path / "parts", "1/2", "2/2")
    wanted = sm.reduce(folder)
    first, second = sorted((folder / "per_user").glob("*.parquet"))
    right = first.read_bytes()
    entries = json.loads((folder / "part-0001-of-0002.json").read_text(encoding="utf-8"))
    ((count,),) = duckdb.sql(f"SELECT count(*) FROM read_parquet('{first}')").fetchall()
    assert entries["files"]["per_user"]["rows"] == count
    first.write_bytes(second.read_bytes() + b" ")
    with pytest.raises(sm.DataError, match=r"part-0001-of-0002\.parquet has \d+ bytes, but its"):
        sm.reduce(folder)
    first.write_bytes(right[:-20] + b"x" + right[-19:])
    with pytest.raises(sm.DataError, match=r"0001-of-0002\.parquet has other content.* part 1/2 a"):
        sm.reduce(folder)
    first.unlink()
    with pytest.raises(sm.DataError, match=r"0001-of-0002\.parquet is missing. Run .* part 1/2 ag"):
        sm.reduce(folder)
    first.write_bytes(right)
    shutil.copy(second, folder / "per_user" / "part-0003-of-0002.parquet")  # one too many
    assert_same(sm.reduce(folder), wanted)


def test_the_statement_alone_misses_a_file_and_reads_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "parts", "1/2", "2/2")
    text = (folder / "reduce.sql").read_text(encoding="utf-8")
    monkeypatch.chdir(folder)
    wanted = duckdb.sql(text).df()
    shutil.copy("per_user/part-0002-of-0002.parquet", "per_user/part-0003-of-0002.parquet")
    pd.testing.assert_frame_equal(duckdb.sql(text).df(), wanted)
    Path("per_user/part-0002-of-0002.parquet").unlink()
    with pytest.raises(duckdb.IOException, match="part-0002-of-0002"):
        duckdb.sql(text).df()


def test_folders_that_look_like_columns(tmp_path: Path) -> None:
    """Parts are no Hive partitions, whatever their folder is called."""
    with Evaluator(**world()) as evaluator:
        found = in_parts(evaluator, tmp_path / "model=als", 2, "ndcg", 3)
        assert_same(found, evaluator.evaluate("ndcg", 3))


def test_parts_of_other_data_are_refused(tmp_path: Path) -> None:
    tables = world()
    others = {**tables, "interactions": tables["interactions"].assign(relevance=2)}

    def write(partition: str, of: dict[str, Any], folder: str, force: bool = False) -> None:
        with Evaluator(**of) as evaluator:
            evaluator.write_partition(tmp_path / folder, partition, "ndcg", 3, force=force)

    def saved(of: dict[str, Any], folder: str) -> dict[str, Any]:
        (tmp_path / folder).mkdir()
        paths = {name: tmp_path / folder / f"{name}.parquet" for name in of}
        for name, path in paths.items():
            of[name].to_parquet(path)
        return paths

    write("1/2", tables, "frames")
    with pytest.raises(sm.DataError, match=r"parts of different data: interactions differ \(1/2"):
        write("2/2", others, "frames")
    write("2/2", others, "frames", force=True)
    with pytest.raises(sm.DataError, match="different data: interactions differ"):
        sm.reduce(tmp_path / "frames")

    files = saved(tables, "here")
    write("1/2", files, "files")
    with pytest.raises(sm.DataError, match=r"parts of different data: interactions differ"):
        write("2/2", saved(others, "there"), "files")
    write("2/2", saved(tables, "copied"), "files")  # the same files, elsewhere
    assert len(sm.reduce(tmp_path / "files")) == 2


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "reduce.sql").write_text("SELECT 1", encoding="utf-8")
    for force in (False, True):
        with pytest.raises(sm.DataError, match=r"reduce\.sql was not written by sqlmetrics"):
            written(folder, "1/1", force=force)
    assert files_in(folder) == {"reduce.sql": b"SELECT 1"}
    (folder / "reduce.sql").rename(folder / "notes.txt")
    with pytest.raises(
        sm.DataError, match=r"has no parts but other files \(notes\.txt\).*force=True"
    ):
        written(folder, "1/2")
    written(folder, "1/2", force=True)
    written(folder, "2/2")  # there are parts now
    assert len(sm.reduce(folder)) == 2
    for manifest in folder.glob("*.json"):  # as where a job was stopped before its end
        manifest.unlink()
    (folder / "notes.txt").unlink()
    written(folder, "1/2")


def test_a_job_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = DuckDBEngine.write_rows, itertools.count()

    def fail_at_the_second(self: DuckDBEngine, plan: Plan, *rest: Any) -> None:
        if next(calls):
            raise sm.EngineError("the disk is full")
        real(self, plan, *rest)

    monkeypatch.setattr(DuckDBEngine, "write_rows", fail_at_the_second)
    with pytest.raises(sm.EngineError, match="full"):
        written(tmp_path / "parts", "1/1", metrics=["recall", "coverage"])
    assert files_in(tmp_path / "parts") == {}


def test_a_part_that_is_being_replaced_is_missing_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "parts", "1/1")
    replace = os.replace

    def fail_at_the_part(source: Path, target: Path) -> None:
        if target.name == "part-0001-of-0001.parquet":
            raise OSError("gone")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_at_the_part)
    with pytest.raises(OSError, match="gone"):
        written(folder, "1/1", force=True)
    with pytest.raises(sm.DataError, match="has no parts"):
        sm.reduce(folder)


def test_partitions_that_are_none() -> None:
    text: Any
    for text in ("0/3", "4/3", "3", "a/b", "1/0", "-1/3", "1/10000", "", (1, 3)):
        with pytest.raises(sm.UsageError, match=r"e.g. '3/8'"):
            Partition.parse(text)
    assert str(Partition.parse(" 3 / 8 ")) == "3/8"


# ---------------------------------------------------------------- checks of the rows of a partition


def test_rows_of_a_partition_are_checked(tmp_path: Path) -> None:
    """A rule that one user breaks fails the one job that has the user."""
    tables = world()
    lists = tables["recommendations"]
    twice = lists[(lists["model"] == "one") & (lists["user_id"] == 7)].head(1)
    tables["recommendations"] = pd.concat([lists, twice])
    failed = []
    with Evaluator(**tables) as evaluator:
        for number in range(1, 5):
            try:
                evaluator.write_partition(tmp_path / "parts", f"{number}/4", "recall", 3)
            except sm.DataError as error:
                failed.append(str(error))
    (message,) = failed
    assert message.startswith("recommendations")


def test_rules_about_whole_tables_hold_in_every_partition(tmp_path: Path) -> None:
    empty = frame([], "user_id", "item_id", "rank").astype("int64")
    some = frame([(1, 1, 1)], "user_id", "item_id", "rank")
    pairs = frame([(1, 1)], "user_id", "item_id")
    for recommendations, interactions, message in (
        (some, pairs.assign(user_id=2), "no user in common"),
        ({"m": some, "n": empty}, pairs, "empty"),
    ):
        with Evaluator(recommendations, interactions) as evaluator:
            for partition in ("1/3", "2/3", "3/3"):
                with pytest.raises(sm.DataError, match=message):
                    evaluator.write_partition(tmp_path / "parts", partition, "recall", 3)


def test_an_item_in_common_is_looked_for_among_all_users(tmp_path: Path) -> None:
    users = range(6)
    lists = frame([(user, user, 1) for user in users], "user_id", "item_id", "rank")
    parts = [f"{number}/5" for number in range(1, 6)]  # most have one user, or none
    # the list of each user has what another user wants
    others = frame([(user, (user + 1) % 6) for user in users], "user_id", "item_id")
    with Evaluator(lists, others) as evaluator:
        for part in parts:
            evaluator.write_partition(tmp_path / "parts", part, "recall", 3)
    messages = []
    with Evaluator(lists, others.assign(item_id=others["item_id"] + 100)) as evaluator:
        for part in parts:
            try:
                evaluator.write_partition(tmp_path / "none", part, "recall", 3)
            except sm.DataError as error:
                messages.append(str(error))
    assert len(messages) >= 2  # of the partitions that have a user
    assert all("none of the recommended items (6 rows)" in message for message in messages)


def test_nobody_has_a_value_of_a_column(tmp_path: Path) -> None:
    """What `evaluate` warns of, the reduction warns of: no job can know it."""
    tables = world()
    tables["users"] = frame([(100, "a")], "user_id", "kind")
    with Evaluator(**tables) as evaluator:
        for partition in ("1/2", "2/2"):
            evaluator.write_partition(tmp_path / "parts", partition, "recall", 3, by="kind")
    with pytest.warns(sm.SqlmetricsWarning, match="no user has a value of kind in the table users"):
        sm.reduce(tmp_path / "parts")
