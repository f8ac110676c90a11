"""Settings, sources and statements in records."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import UsageError
from sqlmetrics.record import fingerprints
from tests.support.evaluators import Evaluator
from tests.support.recorded import LISTS, TRUTH, several_files, shuffled


def test_a_record_has_contents(expected: list[fingerprints.Content]) -> None:
    entries = [
        {
            "table": "interactions",
            "model": None,
            "columns": ["item_id", "user_id"],
            "rows": 40,
            "fingerprint": expected[0].fingerprint,
        },
        {
            "table": "recommendations",
            "model": None,
            "columns": ["item_id", "score", "user_id"],
            "rows": 120,
            "fingerprint": expected[1].fingerprint,
        },
    ]
    more: list[dict[str, Any]] = [{}, {"threads": 1}, {"memory_limit": "1GB"}]
    for options in more:
        with Evaluator(LISTS, TRUTH, record=True, **options) as evaluator:
            evaluator.rows("hit_rate@2")
            assert evaluator.last_record is not None
            assert evaluator.last_record["contents"] == entries


def test_settings_of_every_metric() -> None:
    with Evaluator(
        LISTS,
        TRUTH.append_column("relevance", pa.array([1] * len(TRUTH))),
        convention=iter(["rectools", "standard"]),
        settings={"map.divisor": "relevant", "relevant_from": float("-inf")},
    ) as evaluator:
        frame = evaluator.evaluate((m for m in ["ndcg(gain=exponential)@5", "map"]), k=iter([2, 3]))
    record = frame.attrs["sqlmetrics"]
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["given"]["convention"] == ["rectools", "standard"]
    assert record["asked"]["metrics"] == ["ndcg(gain=exponential)@5", "map"]
    assert record["asked"]["k"] == [2, 3]
    assert record["asked"]["seed"] == 1
    assert record["versions"].keys() == {"sqlmetrics", "python", "duckdb"}
    metrics = {(one["metric"], one["convention"]): one for one in record["metrics"]}
    assert metrics["map", "rectools"]["k"] == [2, 3]
    for one in metrics.values():
        resolved = {**record["settings"], **one["settings"]}
        assert resolved["relevant_from"] == "-inf"
        assert resolved.get("gain", "exponential") == "exponential"
        assert {"audience", "order", "ties", "aggregate"} <= resolved.keys()
        assert resolved["divisor" if one["metric"] == "map" else "gain"]
    assert metrics["map", "standard"]["settings"]["divisor"] == "relevant"


def test_sources_are_named_as_they_were_given(tmp_path: Path) -> None:
    path, copy = tmp_path / "lists.parquet", tmp_path / "copy.parquet"
    pq.write_table(LISTS, path)
    pq.write_table(LISTS, copy)
    connection = duckdb.connect()
    connection.register("truth", TRUTH)
    with Evaluator(
        {"file": path, "files": [path, str(copy)], "frame": LISTS.to_pandas()},
        "truth",
        items={"i1"},
        history={1: ["i1"]},
        connection=connection,
        settings={"duplicate_recommendations": "dedup_then_cut"},
    ) as evaluator:
        frame = evaluator.evaluate("hit_rate@1")
    assert [tuple(one.values()) for one in frame.attrs["sqlmetrics"]["sources"]] == [
        ("recommendations", "file", str(path), "parquet", 1),
        ("recommendations", "files", [str(path), str(copy)], "parquet", 2),
        ("recommendations", "frame", None, "pandas.DataFrame"),
        ("interactions", None, "truth", "table"),
        ("history", None, None, "dict"),
        ("items", None, None, "set"),
    ]


def test_the_hash_of_the_sql(tmp_path: Path) -> None:
    def of(recommendations: Any, metrics: str, **more: Any) -> str:
        with Evaluator(recommendations, TRUTH, **more) as evaluator:
            return str(evaluator.evaluate(metrics).attrs["sqlmetrics"]["sql"])

    one = of(LISTS, "ndcg@3")
    assert of(several_files(tmp_path), "ndcg@3") == one  # paths, and how many, do not matter
    assert of(LISTS.to_pandas(), "ndcg@3") == one
    others = [
        of(LISTS, "ndcg@2"),
        of(LISTS, "map@3"),
        of(LISTS, "ndcg@3", settings={"ties": "item_desc"}),
        of(LISTS, "ndcg@3", where={"recommendations": "score > 0"}),
        of(LISTS, "ndcg@3", where={"recommendations": "score > 1"}),
    ]
    assert len({one, *others}) == len(others) + 1


def test_frames_carry_their_records(tmp_path: Path) -> None:
    models = {"als": LISTS, "other": shuffled(LISTS).slice(3)}
    with Evaluator(models, TRUTH) as evaluator:
        results = {
            "evaluate": evaluator.evaluate("hit_rate@2"),
            "per_user": evaluator.per_user("hit_rate@2", long=True),
            "compare": evaluator.compare("hit_rate@2", baseline="als", test="randomization"),
            "leaderboard": evaluator.leaderboard("hit_rate@2", test="randomization"),
        }
    for name, frame in results.items():
        record = frame.attrs["sqlmetrics"]
        assert record["result"] == name
        assert not {"contents", "users", "rows"} & record.keys()  # they cost a pass over tables
        assert record["metrics"][0]["k"] == [2]
        # pandas copies attrs, compares them and writes them as JSON
        pd.testing.assert_frame_equal(frame, frame.copy())
        assert pd.concat([frame, frame.copy()]).attrs == frame.attrs
        other = results["per_user" if name == "evaluate" else "evaluate"]
        assert len(pd.concat([frame, other])) == len(frame) + len(other)
        frame.to_parquet(tmp_path / "a.parquet")
        assert pd.read_parquet(tmp_path / "a.parquet").attrs == frame.attrs
        assert frame.head(1).attrs == frame.attrs
        assert frame.head(1).attrs["sqlmetrics"] is record  # a copy would take longer than head
        assert type(pickle.loads(pickle.dumps(frame)).attrs["sqlmetrics"]) is dict
        assert len(json.loads(frame.to_json(orient="records"))) == len(frame)


def test_a_record_only_where_it_is_asked_for() -> None:
    with Evaluator(LISTS, TRUTH) as evaluator:
        assert evaluator.last_record is None
        evaluator.evaluate("hit_rate@2")
        assert evaluator.last_record is not None
        evaluator.rows("hit_rate@1")
        assert evaluator.last_record is None  # not that of another result
        with pytest.raises(TypeError, match="evaluate has no argument 'cutoff'"):
            evaluator.evaluate("hit_rate@2", cutoff=3)  # type: ignore[call-arg]
        with pytest.raises(UsageError, match="unknown metric"):
            evaluator.evaluate("hit_rat")
        assert evaluator.evaluate("hit_rate@3").attrs["sqlmetrics"]["metrics"][0]["k"] == [3]


@pytest.mark.filterwarnings("ignore::sqlmetrics.DataWarning")
def test_findings_of_the_data_checks() -> None:
    """The history has a only after user 1 held it out, and ends after that."""
    truth = pd.DataFrame({"user_id": [1, 2], "item_id": ["a", "b"], "timestamp": [5, 9]})
    past = pd.DataFrame({"user_id": [1, 2, 2], "item_id": ["b", "b", "a"], "timestamp": [1, 2, 7]})
    tables = {"recommendations": {1: ["a", "b"], 2: ["b"]}, "interactions": truth, "history": past}
    records = {}
    for check in (None, False):
        with sm.Evaluator(**tables, record=True, check=check) as evaluator:
            records[check] = evaluator.evaluate("ndcg@2").attrs["sqlmetrics"]
    found = {one["check"]: one for one in records[None]["findings"]}
    assert found["truth_before_end_of_history"]["level"] == "warning"
    assert found["items_from_the_future"]["level"] == "note"
    assert found["items_from_the_future"]["found"].startswith("1 of 2 held-out items")
    assert records[False]["findings"] == []
    assert "skipped" in records[False]["unknown"]["findings"]
