"""Damaged files, and files that change: one clear message that names the file."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from tests.support.evaluators import Evaluator


# ---------------------------------------------------------------- damaged files
def damaged(
    source: Path, target: Path, group: int, column: int, change: Callable[[int], int]
) -> Path:
    """Copy a Parquet file, with other bytes in one column of one row group."""
    where = pq.ParquetFile(source).metadata.row_group(group).column(column)
    start = where.data_page_offset
    if where.has_dictionary_page:
        start = min(start, where.dictionary_page_offset)
    content = bytearray(source.read_bytes())
    for position in range(start, start + where.total_compressed_size):
        content[position] = change(content[position])
    target.write_bytes(content)
    return target


CHANGES: dict[str, Callable[[int], int]] = {"zeros": lambda _: 0, "noise": lambda x: 31 * x % 256}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("table", ["recommendations", "interactions", "history"])
def test_damage_in_a_later_row_group_names_the_file(
    data: Path, tmp_path: Path, table: str, change: str
) -> None:
    """The start of the file and its end are whole, so only a query finds out."""
    whole = data / ("truth.parquet" if table == "interactions" else "ranks.parquet")
    last = pq.ParquetFile(whole).metadata.num_row_groups - 1
    assert last > 0 or table == "interactions"
    tables: dict[str, Any] = {
        "recommendations": data / "ranks.parquet",
        "interactions": data / "truth.parquet",
        "history": data / "ranks.parquet",
        table: damaged(whole, tmp_path / "broken.parquet", last, 1, CHANGES[change]),
    }
    for trust_input in (False, True):
        with (
            Evaluator(**tables, trust_input=trust_input) as evaluator,
            pytest.raises(sm.DataError, match=rf"^{table}: \S+broken\.parquet cannot be read") as e,
        ):
            evaluator.evaluate(["ndcg@10", "surprisal@10"])
        assert "it is damaged" in str(e.value)
        assert "copy it again" in str(e.value)


@pytest.mark.parametrize("share", [0.999, 0.5, 0.001])
def test_a_truncated_file(data: Path, tmp_path: Path, share: float) -> None:
    content = (data / "ranks.parquet").read_bytes()
    path = tmp_path / "cut.parquet"
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(sm.DataError, match=r"^recommendations: \S*cut\.parquet cannot be read"):
        Evaluator(path, data / "truth.parquet")


def test_a_wrong_query_is_no_damaged_file(data: Path, tmp_path: Path) -> None:
    """Errors of other kinds keep their own message."""
    (tmp_path / "bad.sql.j2").write_text(
        '{#---\ntitle = "Fails"\n---#}\n'
        "SELECT {{ keys }}, k, max(error('no value')) AS value FROM hits GROUP BY {{ keys }}, k"
    )
    with (
        Evaluator(data / "ranks.parquet", data / "truth.parquet", templates=tmp_path) as evaluator,
        pytest.raises(sm.SqlmetricsError, match="no value") as caught,
    ):
        evaluator.evaluate("bad@3")
    assert "damaged" not in str(caught.value)


# ---------------------------------------------------------------- files that change
def copied(data: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(data / "ranks.parquet", tmp_path / "lists.parquet"))


def replaced(path: Path, data: Path) -> None:
    """Put another table in its place, as an export does: with a rename."""
    other = path.with_name("new")
    pq.write_table(pq.read_table(data / "ranks.parquet").slice(0, 4_000), other)
    os.replace(other, path)


CHANGED: dict[str, Callable[[Path, Path], None]] = {
    "replaced": replaced,
    "shortened": lambda path, _: os.truncate(path, path.stat().st_size // 2),
    "emptied": lambda path, _: path.write_bytes(b"") and None,
    "deleted": lambda path, _: path.unlink(),
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_file_that_changes_between_runs_is_refused(
    data: Path, tmp_path: Path, change: str
) -> None:
    """Stages that are kept would be of one version, and what is read again of another."""
    path = copied(data, tmp_path)
    with Evaluator(path, data / "truth.parquet") as evaluator:
        evaluator.evaluate("recall@10")
        CHANGED[change](path, data)
        what = "is gone" if change == "deleted" else "changed"
        for call in (
            lambda: evaluator.evaluate("ndcg@10"),
            lambda: evaluator.per_user("ndcg@10", long=True),
            lambda: evaluator.write_parquet(tmp_path / "out.parquet", "ndcg@10"),
        ):
            with pytest.raises(sm.DataError, match=rf"recommendations: \S+lists\.parquet {what}"):
                call()
    assert not (tmp_path / "out.parquet").exists()


def test_a_file_that_changes_during_a_run(data: Path, tmp_path: Path) -> None:
    """Which row groups are of which version is the engine's luck, and nobody would notice."""
    path = copied(data, tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "slow.sql.j2").write_text(
        '{#---\ntitle = "Takes a second"\naudience = "recommended"\n---#}\n'
        "SELECT {{ keys }}, k, max((SELECT sum(hash(a.range * b.range)) FROM range(20000) AS a, "
        "range(5000) AS b)) AS value FROM listed GROUP BY {{ keys }}, k"
    )
    change = threading.Timer(0.2, lambda: replaced(path, data))
    with Evaluator(path, data / "truth.parquet", templates=tmp_path / "own") as evaluator:
        evaluator.evaluate("precision@10")  # checks are done
        change.start()
        with pytest.raises(sm.DataError, match=r"recommendations: \S+lists\.parquet changed"):
            evaluator.evaluate("slow@10")
        change.join()


NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        (
            "c.toml",
            f"[settings]\nties = {NESTED}",
            "evaluate mrr -r l.csv -i l.csv --convention c.toml",
        ),
        ("s.toml", f"[evaluate]\nmetrics = {NESTED}", "test s.toml"),
        (
            "late.sql.j2",
            f"{{#---\ngrain = {NESTED}\n---#}}\nSELECT 1",
            "evaluate late -r l.csv -i l.csv --templates .",
        ),
        ("r.json", NESTED, "evaluate --from-record r.json"),
        ("l.json", f'[{{"user_id": {NESTED}}}]', "evaluate mrr -r l.json -i l.csv"),
    ],
)
def test_deep_nesting_is_no_traceback(name: str, text: str, command: str) -> None:
    Path("l.csv").write_text("user_id,item_id,rank\n1,2,1\n")
    Path(name).write_text(text)
    result = CliRunner().invoke(main, command.split())
    assert isinstance(result.exception, SystemExit)
    assert "maximum recursion depth" in result.output
    assert name.removesuffix(".toml") in result.output
