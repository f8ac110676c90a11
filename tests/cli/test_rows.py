"""Results without a data frame: the same rows, columns and texts as with one."""

from __future__ import annotations

import json
import math
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.cli.formats import formats_of, json_text, rendered
from sqlmetrics.rows import COUNT, NUMBER, TEXT, Rows
from tests.support.evaluators import Evaluator

FORMATS = [one.name for one in formats_of() if one.name != "parquet"]
LISTS = {1: ["a", "b", "c"], 2: ["b", "a"], 3: ["c"]}
TRUTH = {1: ["a"], 2: ["c", "a"], 3: ["b"]}
USERS = pd.DataFrame({"user_id": [1, 2], "country": ['"DE", old', "a|b_{\n"]})


def two_models(names: list[Any]) -> pd.DataFrame:
    """Return the same lists for each model, the second without the last user."""
    rows = [
        (model, user, item, rank)
        for number, model in enumerate(names)
        for user, items in list(LISTS.items())[: 3 - number]
        for rank, item in enumerate(items, start=1)
    ]
    return pd.DataFrame(rows, columns=["model", "user_id", "item_id", "rank"])


@pytest.mark.parametrize("names", [["als", "popular"], [10, 9], [1.5, 0.5]])
def test_texts_are_those_of_the_frame(names: list[Any]) -> None:
    """With missing values, and characters that formats escape."""
    with Evaluator(two_models(names), TRUTH, users=USERS, threads=1) as evaluator:
        for asked in ({"by": "country"}, {"metrics": ["ndcg", "inter_list_diversity@2"]}):
            frame, rows = evaluator.evaluate(**asked), evaluator.rows(**asked)
            assert len(rows) == len(frame) > 0
            for kind in FORMATS:
                for digits in (None, 2):
                    assert rendered(rows, kind, digits) == rendered(frame, kind, digits)


def test_columns_without_any_value_keep_their_kind() -> None:
    with Evaluator(LISTS, TRUTH) as evaluator:
        frame = evaluator.evaluate("hit_rate", ci="none")
        rows = evaluator.rows("hit_rate", ci="none")
    assert list(rows.names) == list(frame.columns)
    assert list(rows.kinds) == [TEXT, COUNT, NUMBER, COUNT, NUMBER, NUMBER, NUMBER]
    assert rows["k"] == [None]
    assert rows["ci_low"] == [None]
    assert rendered(rows, "table", None) == rendered(frame, "table", None)


def test_errors_and_warnings_are_those_of_evaluate() -> None:
    with Evaluator(LISTS, TRUTH, users=USERS.assign(user_id=[7, 8])) as evaluator:
        with pytest.raises(sm.UsageError, match="unknown metric 'ndgc'; did you mean 'ndcg'"):
            evaluator.rows("ndgc@10")
        with pytest.raises(TypeError, match="evaluate has no argument 'cutoff'"):
            evaluator.rows("ndcg", cutoff=10)
        with pytest.warns(sm.SqlmetricsWarning, match="no user has a value of country"):
            evaluator.rows("ndcg@10", by="country")


def test_no_user_has_a_value_to_slice_by() -> None:
    told = "country in the table users. Check that the table has rows, and that its ids match"
    others = USERS.assign(user_id=[7, 8])
    for method, options in (
        ("evaluate", {}),
        ("evaluate", {"combinations": True}),
        ("compare", {"baseline": "a"}),
        ("report", {}),
    ):
        with (
            Evaluator({"a": LISTS, "b": LISTS}, TRUTH, users=others) as evaluator,
            pytest.warns(sm.SqlmetricsWarning, match=f"no user has a value of {told}"),
        ):
            getattr(evaluator, method)("ndcg@10", by="country", **options)


def test_bytes_in_json_are_the_texts_of_the_engine() -> None:
    blob = b"a\x00'\\"
    ((text,),) = duckdb.execute("SELECT CAST(?::BLOB AS VARCHAR)", [blob]).fetchall()
    assert json.loads(json_text({"user_id": blob})) == {"user_id": text}


def test_missing_values() -> None:
    rows = Rows(
        ["name", "k", "value"], [TEXT, COUNT, NUMBER], [("x", None, math.nan), (None, 2, math.inf)]
    )
    assert rendered(rows, "csv", None) == "name,k,value\nx,,\n,2,inf\n"
    assert rendered(rows, "jsonl", None) == (
        '{"name": "x", "k": null, "value": null}\n{"name": null, "k": 2, "value": null}\n'
    )
    assert rendered(rows, "markdown", None) == (
        "| name | k | value |\n| --- | ---: | ---: |\n| x |  |  |\n|  | 2 | inf |\n"
    )


def test_records() -> None:
    rows = Rows.of_records([{"name": "x", "n": 1}, {"name": None, "n": 2}])
    assert rows == Rows(["name", "n"], [TEXT, COUNT], [("x", 1), (None, 2)])
    assert len(rows) == 2
