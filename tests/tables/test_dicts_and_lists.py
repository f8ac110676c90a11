"""Dicts, list columns and standard input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import sqlmetrics as sm
from sqlmetrics.cli.commands import main
from tests.support.command_line import run
from tests.support.evaluators import Evaluator
from tests.support.source_rows import (
    CHECKED,
    EXPECTED,
    LISTS,
    TRUTH,
    check,
    lists_table,
    packed,
    ranked,
    trec_run,
    truth_table,
    values,
    write_csv,
    write_jsonl,
    write_parquet,
)


def test_dict_of_lists() -> None:
    check(values(LISTS, TRUTH))
    check(values(LISTS, {user: set(items) for user, items in TRUTH.items()}))
    check(values({user: tuple(items) for user, items in LISTS.items()}, TRUTH))
    check(values({user: np.array(items) for user, items in LISTS.items()}, TRUTH))


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "category", "string"])
def test_dict_of_arrays_of_pandas(kind: str) -> None:
    """`series.values` is such an array for texts, and was taken for the source of a model."""
    lists = {user: pd.array(items).astype(kind) for user, items in LISTS.items()}
    truth = {user: pd.Series(items).astype(kind).values for user, items in TRUTH.items()}
    check(values(lists, truth))
    found = values({"als": lists}, truth, keys=("model", "user_id"))
    check({user: value for (_, user), value in found.items()})


def test_dict_of_scores() -> None:
    scores = {u: {i: -float(n) for n, i in enumerate(items)} for u, items in LISTS.items()}
    check(values(scores, {user: dict.fromkeys(items, 1) for user, items in TRUTH.items()}))


def test_dict_of_text() -> None:
    lists = {str(user): [str(item) for item in items] for user, items in LISTS.items()}
    truth = {str(user): {str(item): 1 for item in items} for user, items in TRUTH.items()}
    check(values(lists, truth), str)


def test_dict_with_users_without_items() -> None:
    check(values({**LISTS, 8: []}, {**TRUTH, 9: []}))


def test_dict_as_history() -> None:
    with Evaluator(LISTS, TRUTH, history={1: [11, 16], 2: [17]}) as evaluator:
        assert evaluator.evaluate("coverage@1")["value"].item() == pytest.approx(0)


def test_list_columns(tmp_path: Path) -> None:
    lists = pa.table({"user_id": list(LISTS), "item_id": list(LISTS.values())})
    truth = pa.table({"user_id": list(TRUTH), "item_id": list(TRUTH.values())})
    check(values(lists, truth, **CHECKED))
    check(values(lists.to_pandas(), truth.to_pandas()))
    check(values(pl.from_arrow(lists), truth))
    check(values(write_parquet(tmp_path / "a.parquet", lists), truth))
    check(values(write_jsonl(tmp_path / "a.jsonl", lists), truth))
    large = lists.cast(pa.schema({"user_id": pa.int64(), "item_id": pa.large_list(pa.int64())}))
    check(values(large, truth))


def test_list_columns_with_scores() -> None:
    scores = [[float(i) for i in range(len(items))] for items in LISTS.values()]
    items = [items[::-1] for items in LISTS.values()]
    check(values(pa.table({"user_id": list(LISTS), "item_id": items, "score": scores})))


def test_list_columns_of_fixed_size() -> None:
    table = pa.table(
        {
            "user_id": [1, 2],
            "item_id": pa.array([[14, 11, 12], [12, 14, 16]], pa.list_(pa.int64(), 3)),
        }
    )
    assert values(table)[1] == pytest.approx(1 / 3)


def test_list_columns_with_empty_and_missing_lists() -> None:
    lists = pa.table({"user_id": [*LISTS, 8, 9], "item_id": [*LISTS.values(), [], None]})
    check(values(lists))


def test_stdin(tmp_path: Path) -> None:
    lists = lists_table()
    contents = {
        "parquet": write_parquet(tmp_path / "a.parquet", lists).read_bytes(),
        "csv": write_csv(tmp_path / "a.csv", lists).read_bytes(),
        "jsonl": write_jsonl(tmp_path / "a.jsonl", lists).read_bytes(),
        "trec": trec_run(ranked()).encode(),
    }
    for kind, content in contents.items():
        convert = str if kind == "trec" else int
        truth = write_parquet(tmp_path / "truth.parquet", truth_table(convert))
        arguments = ["per-user", "mrr@3", "-r", "-", "-i", truth, "--format", "json"]
        result = run(*arguments, input=content)
        found = {row["user_id"]: row["mrr@3"] for row in json.loads(result.stdout)}
        assert found == pytest.approx({convert(user): v for user, v in EXPECTED.items()})


def test_lists_beside_single_values_are_refused() -> None:
    item: dict[str, list[object]]
    for item in (
        {"item_id": [["a", "b"]], "score": [0.1]},
        {"item_id": ["a"], "score": [[0.1, 0.2]]},
    ):
        with pytest.raises(sm.DataError, match="score"):
            Evaluator(pd.DataFrame({"user_id": ["u"], **item}), {"u": ["a"]})


def test_dicts_beside_mapped_columns() -> None:
    """A dict has no names of columns, so that mappings are about the other tables."""
    truth = truth_table().rename_columns(["customer", "sku"])
    check(values(LISTS, truth, columns={"user_id": "customer", "item_id": "sku"}))
    check(values(LISTS, truth, columns={"item_id": "sku"}, key="customer", keys=("customer",)))
    check(values(LISTS, truth_table(), columns={"recommendations.item_id": "sku"}))


@pytest.mark.parametrize(
    ("content", "command"),
    [
        (packed(b"user_id,item_id,rank\n"), "gunzip -c FILE"),
        (pa.compress(b"user_id,item_id,rank\n", "zstd", asbytes=True), "zstd -dc FILE"),
    ],
)
def test_stdin_that_is_compressed(content: bytes, command: str) -> None:
    """It has no name to add a suffix to."""
    asked = ["evaluate", "mrr", "-r", "-", "-i", "truth.csv"]
    result = CliRunner().invoke(main, asked, input=content)
    assert f"Decompress it: {command} | sqlmetrics" in result.stderr
