"""Plans are kept between processes, and read back only if they are private, intact and current."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics import catalog
from sqlmetrics.plan import kept_plans, planner
from sqlmetrics.plan.planner import Planner

LISTS = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [10, 11, 10], "score": [0.5, 0.4, 0.3]})
TRUTH = pd.DataFrame({"user_id": [1, 2], "item_id": [11, 10], "relevance": [2.0, 3.0]})
CAN_KEEP = kept_plans._can_keep  # before tests/conftest.py replaces it
METRICS = ["ndcg(gain=exponential)@2", "recall@1", "user_coverage@2"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the directory of plans; plans are written to it."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: tmp_path / "cache")
    monkeypatch.setattr(kept_plans, "_can_keep", CAN_KEEP)
    kept_plans._cache.cache_clear()
    yield tmp_path / "cache" / "plans"
    kept_plans._cache.cache_clear()


def evaluated(monkeypatch: pytest.MonkeyPatch) -> tuple[pd.DataFrame, str, int]:
    """Evaluate as a new process would; return the result, its statement and the parsed queries."""
    planner._recent.clear()
    parsed: list[object] = []
    usual = Planner.text

    def counted(self: Planner, *args: object, **more: object) -> object:
        parsed.append(args)
        return usual(self, *args, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Planner, "text", counted)
        with sm.Evaluator(LISTS, TRUTH) as evaluator:
            result = evaluator.evaluate(METRICS)
        n_parsed = len(parsed)
        with sm.Evaluator(LISTS, TRUTH) as evaluator:
            return result, evaluator.sql(METRICS, physical=True), n_parsed


def test_a_later_process_reads_the_plans(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, statement, n_parsed = evaluated(monkeypatch)
    assert n_parsed > 0
    again, same_statement, none = evaluated(monkeypatch)
    assert none == 0
    pd.testing.assert_frame_equal(again, result, check_exact=True)
    assert same_statement == statement
    (file,) = folder.iterdir()
    assert folder.stat().st_mode & 0o077 == file.stat().st_mode & 0o077 == 0


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def write_another_value(file: Path) -> None:
    content = pickle.dumps(5)
    file.write_bytes(hashlib.sha256(file.name.encode() + content).digest() + content)


@pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="plans are kept only where files have owners"
)
@pytest.mark.parametrize(
    "change",
    [
        damage,
        write_another_value,
        lambda file: file.write_bytes(file.read_bytes()[:100]),
        lambda file: file.write_bytes(b""),
        lambda file: file.chmod(0o622),
        lambda file: file.parent.chmod(0o770),
        lambda file: file.symlink_to(file.rename(file.parent.parent / "elsewhere")),
    ],
    ids=[
        "damaged",
        "another value",
        "cut",
        "empty",
        "others can write",
        "others can add files",
        "a link",
    ],
)
def test_a_file_that_cannot_be_trusted_is_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    result, _, n_parsed = evaluated(monkeypatch)
    (file,) = folder.iterdir()
    change(file)
    again, _, n_again = evaluated(monkeypatch)
    assert n_again == n_parsed
    pd.testing.assert_frame_equal(again, result, check_exact=True)


def test_other_versions_and_sources_are_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, n_parsed = evaluated(monkeypatch)
    for changed, other in (
        ("sqlmetrics.plan.kept_plans.version", lambda _: "another"),  # of sqlglot and Jinja
        ("sqlmetrics.disk_cache.__version__", "another"),
    ):
        kept_plans._cache.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(changed, other)
            assert evaluated(patch)[2] == n_parsed
    kept_plans._cache.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(kept_plans, "state_of_sources", lambda: "a template was edited")
        assert evaluated(patch)[2] == n_parsed
    assert len(list(folder.iterdir())) == 4


def test_plans_of_own_templates_are_not_kept(folder: Path, tmp_path: Path) -> None:
    template = (catalog.template_root() / "metrics/accuracy/recall.sql.j2").read_text()
    own = tmp_path / "own"
    own.mkdir()
    (own / "my_recall.sql.j2").write_text(template)
    with sm.Evaluator(LISTS, TRUTH, templates=own) as evaluator:
        evaluator.evaluate("my_recall@2")
    assert not folder.exists()


def test_plans_that_read_databases_are_not_kept(folder: Path) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE recs AS SELECT * FROM LISTS")
    with sm.Evaluator("recs", TRUTH, connection=connection) as evaluator:
        evaluator.evaluate("recall@2")
    assert not folder.exists()


def test_nothing_is_written_if_python_writes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    evaluated(monkeypatch)
    assert not folder.exists()


def test_no_cache_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.parent.write_text("a file, where the directory would be")
    assert evaluated(monkeypatch)[2] > 0
