"""Sorted scores of lists with a hit, and whole ranked lists, give the same hits."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sqlmetrics as sm
from sqlmetrics.sql.templates import environment
from tests.support.evaluators import Evaluator

READS_WHOLE_LISTS = "surprisal"
TIES = ["item_asc", "item_desc", "item_asc_text", "item_desc_text", "row"]


def lists(seed: int, scores: int, text: bool = False, users: int = 60) -> dict[str, pd.DataFrame]:
    """Draw lists whose scores are one of so many, and what is relevant."""
    draw = random.Random(seed)
    spell = (lambda item: f"item {item:02}") if text else (lambda item: item)
    rows, truth = [], []
    for user in range(users):
        found = draw.sample(range(60), draw.choice([0, 1, 4, 30]))
        rows += [(user, spell(item), draw.randrange(scores) / 8 - 1) for item in found]
        wanted = draw.sample(range(60), draw.choice([0, 1, 12]))
        truth += [(user, spell(item), draw.randint(0, 3)) for item in wanted]
    return {
        "recommendations": pd.DataFrame(rows, columns=["user_id", "item_id", "score"]),
        "interactions": pd.DataFrame(truth, columns=["user_id", "item_id", "relevance"]),
        "history": pd.DataFrame({"user_id": [0], "item_id": [spell(0)]}),
    }


def hits(tables: dict[str, Any], whole: bool, **options: Any) -> pd.DataFrame:
    """Look at the hits that are found in whole ranked lists, or without them."""
    with Evaluator(**tables, **options) as evaluator:
        metrics = ["ndcg", READS_WHOLE_LISTS] if whole else ["ndcg"]
        statement = evaluator.sql(metrics, physical=True)
        assert ("sorted_lists" in statement) != whole
        if whole:
            evaluator.evaluate(["ndcg", READS_WHOLE_LISTS])
        else:
            evaluator.evaluate(["ndcg"])
        found = evaluator.stage("hits")
    keys = [column for column in ("model", "user_id", "shop", "rank") if column in found]
    return found.sort_values(keys).reset_index(drop=True)


def test_both_ways_find_the_same() -> None:
    tables = lists(1, 20, text=True)
    for settings in ({"ties": "item_asc", "score_type": "float"}, *({"ties": t} for t in TIES)):
        options = {"settings": settings}
        ours, whole = (hits(tables, way, **options) for way in (False, True))
        assert len(ours) > 10
        pd.testing.assert_frame_equal(ours, whole)


def test_repeated_items_that_are_kept() -> None:
    tables = lists(4, 10**9)
    lists_ = tables["recommendations"]
    again = lists_.sample(frac=0.3, random_state=1).assign(score=lambda rows: rows["score"] / 2)
    tables["recommendations"] = pd.concat([lists_, again])
    options = {"settings": {"duplicate_recommendations": "keep"}}
    ours, whole = (hits(tables, way, **options) for way in (False, True))
    assert len(ours) > len(hits(lists(4, 10**9), whole=False))
    pd.testing.assert_frame_equal(ours, whole)


@pytest.mark.parametrize("missing", [None, float("nan"), float("-inf")])
def test_scores_that_nobody_checked(missing: float | None) -> None:
    """What cannot be compared is last, as in whole lists; NaN counts as the highest number."""
    tables = lists(5, 10**9)
    scores = tables["recommendations"].pop("score").tolist()
    scores[::5] = [missing] * len(scores[::5])
    rows = pa.Table.from_pandas(tables["recommendations"], preserve_index=False)
    tables["recommendations"] = rows.append_column("score", pa.array(scores, pa.float64()))
    ours, whole = (hits(tables, way, trust_input=True) for way in (False, True))
    pd.testing.assert_frame_equal(ours, whole)


def test_what_is_kept_of_hits_serves_both_ways() -> None:
    with Evaluator(**lists(6, 20)) as evaluator:
        evaluator.evaluate(["ndcg"])
        kept = set(evaluator.engine.kept())
        evaluator.evaluate(["ndcg", READS_WHOLE_LISTS])
        evaluator.evaluate(["map"])
        assert {name for name in evaluator.engine.kept() if "hits" in name} <= kept


def test_equal_hashes_are_not_repeated_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where hashes have 3 bits, items of every list look equal; the items themselves decide."""
    monkeypatch.setitem(
        environment().globals,
        "sorted_hashes",
        lambda item, n_rows: f"max(CAST(hash({item}) >> 61 AS BIGINT), {n_rows})",
    )
    tables = lists(7, 10**9)
    with Evaluator(**tables) as evaluator:
        plan = evaluator.stage("repeated_recommendations")
        assert plan["n_repeats"].sum() > 100
        assert len(evaluator.evaluate("ndcg")) == 1
    tables["interactions"] = pd.concat([tables["interactions"], tables["interactions"].head(2)])
    with Evaluator(**tables) as evaluator, pytest.raises(sm.DataError, match="repeat an item"):
        evaluator.evaluate("ndcg")


@pytest.mark.parametrize("wanted", [1000, 1001])
def test_lists_with_many_hits(wanted: int) -> None:
    """From so many on, hits are not looked up one by one."""
    draw = random.Random(8)
    rows = [(0, item, draw.randrange(500) / 8) for item in range(1500)] + [(1, 3, 1.0)]
    tables = {
        "recommendations": pd.DataFrame(rows, columns=["user_id", "item_id", "score"]),
        "interactions": pd.DataFrame(
            [(0, item, 1) for item in range(wanted)] + [(1, 3, 1)],
            columns=["user_id", "item_id", "relevance"],
        ),
        "history": pd.DataFrame({"user_id": [0], "item_id": [0]}),
    }
    ours, whole = (hits(tables, way) for way in (False, True))
    assert len(ours) == wanted + 1
    pd.testing.assert_frame_equal(ours, whole)


@pytest.mark.parametrize("size", [999_999, 1_000_000])
def test_the_longest_lists(size: int) -> None:
    rows = pa.table(
        {
            "user_id": np.repeat([1, 2], [size, 2]),
            "item_id": np.append(np.arange(size), [5, 6]),
            "score": np.append(-(np.arange(size) // 2), [1.0, 0.0]),
        }
    )
    truth = pa.table({"user_id": [1, 1, 1, 2], "item_id": [2, 1001, size - 1, 6]})
    ours = hits({"recommendations": rows, "interactions": truth}, whole=False)
    assert ours["rank"].tolist() == [3, 1002, size, 2]
    again = pa.concat_tables([rows, rows.slice(7, 1)])
    with Evaluator(again, truth) as evaluator, pytest.raises(sm.DataError, match="1 of"):
        evaluator.evaluate("ndcg")
