"""JSON files: lines and arrays, types of ids."""

from __future__ import annotations

import gzip
import json
import uuid
from datetime import date
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.source_rows import check, lists_table, truth_table, values, write_jsonl


def test_json_lines_and_arrays(tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.ndjson", "a.json"):
        lists = write_jsonl(tmp_path / name, lists_table("score"))
        check(values(lists, write_jsonl(tmp_path / f"truth-{name}", truth_table())))
    (tmp_path / "a.json").write_text(json.dumps(lists_table().to_pylist()))
    check(values(tmp_path / "a.json"))
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    check(values(packed))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2020-01-01", "2020-1-1"),
        ("12:30", "12:30:00"),
        ("2020-01-01 10:00", "2020-01-01 10:00:00"),
        ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B810-9dad-11d1-80b4-00c04fd430c8"),
    ],
)
def test_text_ids_of_json_stay_what_they_are(tmp_path: Path, one: str, other: str) -> None:
    """The engine would read both as the same date, time or UUID."""
    rows = [{"user_id": "u", "item_id": item, "rank": n} for n, item in enumerate((one, other), 1)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "b.json").write_text(json.dumps([{"user_id": "v", "item_id": "x", "rank": 1}]))
    whole = tmp_path / "c.json"  # the list in one row
    whole.write_text(json.dumps([{"user_id": "u", "item_id": [one, other]}]))
    for lists in (path, [path, tmp_path / "b.json"], [tmp_path / "b.json", path], whole):
        with Evaluator(lists, {"u": [other]}) as evaluator:
            assert evaluator.per_user("mrr")["mrr"].tolist() == [0.5]


def test_dates_of_json_that_are_spelled_as_such_are_dates(tmp_path: Path) -> None:
    rows = [{"user_id": 1, "item_id": f"2020-01-0{n}", "rank": n} for n in (1, 2)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    truth = pa.table({"user_id": [1], "item_id": [date(2020, 1, 2)]})
    with Evaluator(path, truth) as evaluator:
        assert evaluator.per_user("mrr")["mrr"].tolist() == [0.5]


def test_uuids_of_json_are_texts(tmp_path: Path) -> None:
    ids = [str(uuid.UUID(int=n)) for n in range(3)]
    lists = pd.DataFrame({"user_id": ids, "item_id": "a", "score": 1.0})
    lists.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    with Evaluator(tmp_path / "a.jsonl", {key: ["a"] for key in ids}) as evaluator:
        assert evaluator.evaluate("recall@1")["value"].item() == 1


@pytest.mark.parametrize(
    "content",
    [
        {"u1": {"a": 0.9, "b": 0.8}},
        {f"u{n}": {"a": 0.9} for n in range(300)},  # the engine reads many keys as a map
        {"u1": ["a", "b"], "u2": ["b"]},
        {"u1": ["a", "b"], "u2": {"b": 1}},
        {"user_id": {"0": "u1"}, "item_id": {"0": "a"}, "rank": {"0": 1}},  # frame.to_json()
        {"columns": ["user_id", "item_id"], "index": [0], "data": [["u1", "a"]]},
    ],
)
def test_an_object_that_is_no_row_is_told(tmp_path: Path, content: object) -> None:
    """The same dicts are sources in Python."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    told = r"the objects in \S+ are not rows: .* json\.load .* orient='records'"
    with pytest.raises(sm.DataError, match=told):
        Evaluator(path, {"u1": ["a"]})


def test_what_to_do_about_an_object_that_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"u1": {"a": 0.8, "b": 0.9}}))
    with Evaluator(json.loads(path.read_text()), {"u1": ["a"]}) as evaluator:
        assert evaluator.evaluate("mrr")["value"].item() == 1 / 2
    frame = pd.DataFrame({"user_id": ["u1", "u1"], "item_id": ["b", "a"], "rank": [1, 2]})
    frame.to_json(path, orient="records")
    with Evaluator(path, {"u1": ["a"]}) as evaluator:
        assert evaluator.evaluate("mrr")["value"].item() == 1 / 2
