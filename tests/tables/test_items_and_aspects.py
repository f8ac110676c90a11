"""Items and aspects: short forms, features of several columns, missing attributes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.further_tables import (
    ASPECTS,
    ASPECTS_OF_USERS,
    BY_CATEGORY,
    DIVERSITY,
    ITEMS,
    PLANE,
    RANKED,
    TRUTH,
    VALUES,
    changed,
    check_refused,
    close,
    evaluate,
    more,
    value,
    without,
)

# ---------------------------------------------------------------- missing attributes, left out


@pytest.mark.parametrize(("metric", "column"), [(DIVERSITY, "features"), (BY_CATEGORY, "category")])
def test_items_with_an_empty_list_are_left_out(metric: str, column: str) -> None:
    """As those without a value, of which tests/cases has cases: user 1 is left without a pair."""
    settings = {"missing_attributes": "ignore"}
    row = evaluate(metric, items=changed(ITEMS, column, 1, []), settings=settings).iloc[0]
    assert row["value"] == close(1 - 1 / math.sqrt(2))
    assert row["n_users"] == 1


def test_items_are_left_out_of_the_metric_that_says_so() -> None:
    some = changed(changed(ITEMS, "price", 1, None), "features", 1, None)
    options = {"items": some, "settings": {"money_precision.missing_attributes": "ignore"}}
    spec = f"{DIVERSITY}(missing_attributes=ignore)"
    expected = [(1 + 4 / 7) / 2, 1 - 1 / math.sqrt(2)]
    assert evaluate(["money_precision", spec], **options)["value"].tolist() == close(expected)
    with pytest.raises(sm.DataError, match=r"items, column features.*\n.*\n +11\n"):
        evaluate(["money_precision", DIVERSITY], **options)


def test_items_that_nobody_is_shown_may_lack_anything() -> None:
    nothing = {"item_id": 14, "price": None, "category": None, "features": None}
    metrics = ["money_precision", "money_recall", DIVERSITY, BY_CATEGORY, "alpha_ndcg"]
    items, aspects = more(without(ITEMS, 13), nothing), without(ASPECTS, 11)
    result = evaluate(metrics, items=items, aspects=aspects)
    assert result["value"].tolist() == close([VALUES[metric] for metric in metrics])


# ---------------------------------------------------------------- grades, keys, several columns


HIGH = pa.table({"user_id": [1, 2], "item_id": [10, 12], "relevance": [3, 1]})


def test_a_relevance_above_the_highest_grade() -> None:
    metrics = ["err", "pfound"]
    with Evaluator(RANKED, HIGH) as evaluator:
        for metric, grade in itertools.product(metrics, ("2", "2.5")):
            check_refused(
                lambda: evaluator.evaluate(f"{metric}(max_grade={grade})"),  # noqa: B023
                "interactions", "relevance", "1 row has a relevance above max_grade",
                {"user_id": 1, "item_id": 10, "relevance": 3.0}, "a larger max_grade",
            )  # fmt: skip
        given = evaluator.evaluate([f"{metric}(max_grade=3)" for metric in metrics])
        assert evaluator.evaluate(metrics)["value"].tolist() == given["value"].tolist()
    with Evaluator(RANKED, HIGH, settings={"max_grade": 2}) as evaluator:
        for metric in metrics:
            with pytest.raises(sm.DataError, match="max_grade"):
                evaluator.evaluate(metric)
        # a metric without that setting has no highest grade
        assert evaluator.evaluate("dcg(gain=linear)@1")["value"].item() == close((3 + 0) / 2)


def with_session(table: pa.Table, sessions: list[int] | None = None) -> pa.Table:
    return table.append_column("session", pa.array(sessions or [7] * table.num_rows))


def test_aspects_with_some_of_several_keys() -> None:
    tables = {
        "recommendations": with_session(RANKED), "interactions": with_session(TRUTH),
        "key": ["user_id", "session"],
    }  # fmt: skip
    full = with_session(ASPECTS_OF_USERS)
    for absent in ("session", "user_id"):
        with pytest.raises(sm.DataError) as caught:
            evaluate("alpha_ndcg", **tables, aspects=full.drop_columns(absent))
        for words in ("aspects: ", f"'{absent}'", f"columns={{'aspects.{absent}': …}}"):
            assert words in str(caught.value)
    for repaired in (full, ASPECTS):  # all keys, or none
        assert value("alpha_ndcg", **tables, aspects=repaired) == close(VALUES["alpha_ndcg"])
    # aspects of another session are not those of this one: user 2 is left with nothing
    other = with_session(ASPECTS_OF_USERS, [7, 7, 8])
    (row,) = evaluate("alpha_ndcg(missing_attributes=ignore)", **tables, aspects=other).itertuples()
    assert (row.value, row.n_users) == (1, 1)


def test_aspects_with_the_column_of_another_key() -> None:
    """A column user_id that is not the key would be passed over in silence."""
    tables = {
        "recommendations": RANKED.rename_columns(["visitor", "item_id", "rank"]),
        "interactions": TRUTH.rename_columns(["visitor", "item_id"]),
    }
    with pytest.raises(sm.DataError, match=r"aspects: .*visitor.*\'aspects\.visitor\'"):
        evaluate("alpha_ndcg", **tables, key="visitor", aspects=ASPECTS_OF_USERS)
    mapped = value("alpha_ndcg", **tables, key="visitor", aspects=ASPECTS_OF_USERS,
                   columns={"aspects.visitor": "user_id"})  # fmt: skip
    of_dict = value("alpha_ndcg", **tables, key="visitor", aspects={1: [{10}, {11}], 2: [{12}]})
    assert mapped == of_dict == close(VALUES["alpha_ndcg"])


def test_features_from_several_columns() -> None:
    columns: Any
    for columns in ("f1,f2", " f1 , F2 ", ["f1", "f2"]):
        found = value(DIVERSITY, items=PLANE, columns={"items.features": columns})
        assert found == close(VALUES[DIVERSITY])


def test_features_from_one_column_of_numbers() -> None:
    """A vector of one component: 1, 0 and 1; a zero vector has the cosine 0 with everything."""
    expected = (1 + 0) / 2
    named = PLANE.rename_columns(["item_id", "features", "f2"])
    for items, columns in ((PLANE, {"items.features": "f1"}), (named, {})):
        assert value(DIVERSITY, items=items, columns=columns) == close(expected)


FEATURES_THAT_ARE_NONE: dict[str, tuple[pa.Table, str, list[str]]] = {
    "a column that is not there": (PLANE, "f1,f3",
     ["items: ", "'f3'", "did you mean", "item_id, f1, f2", "columns={'items.features': …}"]),
    "an empty name": (PLANE, "f1,", ["items: ", "''", "columns={'items.features': …}"]),
    "a column of lists": (ITEMS, "price,features",
     ["items, column features: ", "features of the table given as items has lists",
      "several columns of numbers"]),
    "a column of text": (PLANE.set_column(2, "f2", pa.array(list("abc"))), "f1,f2",
     ["items, column features", "f2", "VARCHAR", "not a number"]),
    "lists of text": (PLANE.set_column(2, "f2", pa.array([["a"], ["b"], ["c"]])), "f2",
     ["items, column features", "f2", "VARCHAR[]", "not a number"]),
    "lists of lists": (PLANE.set_column(2, "f2", pa.array([[[1]], [[2]], [[3]]])), "f2",
     ["items, column features", "f2", "BIGINT[][]", "not a number"]),
}  # fmt: skip


def test_features_that_are_none() -> None:
    for items, columns, words in FEATURES_THAT_ARE_NONE.values():
        with pytest.raises(sm.DataError) as caught:
            evaluate(DIVERSITY, items=items, columns={"items.features": columns})
        assert [word for word in words if word not in str(caught.value)] == []


def test_a_number_that_is_missing_in_one_of_several_columns() -> None:
    options = {"columns": {"items.features": "f1,f2"}}
    check_refused(
        lambda: evaluate(DIVERSITY, items=changed(PLANE, "f2", 1, None), **options),
        "items", "features", r"features \(f1, f2\): 1 value is NULL",
        {"item_id": 11, "dimension": 2, "value": "NULL"}, "fix these vectors",
    )  # fmt: skip


# ---------------------------------------------------------------- items in short forms


NAMED = {"recommendations": {"u": ["a", "b"]}, "interactions": None}
BARE_ITEMS: list[Any] = [
    {10, 11, 12, 13},
    frozenset({10, 11, 12, 13}),
    [10, 11, 12, 13],
    (10, 11, 12, 13),
    pd.Series([10, 11, 12, 13]),
    pd.Series([10, 11, 12, 13], index=list("abcd"), name="item"),
    pd.Index([10, 11, 12, 13]),
    pl.Series([10, 11, 12, 13]),
    pa.array([10, 11, 12, 13]),
    ITEMS["item_id"],
    np.array([10, 11, 12, 13]),
    {np.int64(10), np.int64(11), np.int64(12), np.int64(13)},
    ITEMS.select(["item_id"]),
]


def test_a_bare_catalogue() -> None:
    for items in BARE_ITEMS:
        found = value("coverage(catalogue=items)", interactions=None, items=items)
        assert found == 3 / 4, repr(items)
    for items in ({"a", "b", "c"}, pd.Series(list("abc")), np.array(list("abc")), pa.array("abc")):
        assert value("coverage(catalogue=items)", **NAMED, items=items) == 2 / 3, repr(items)


def test_a_bare_catalogue_has_no_attributes() -> None:
    with pytest.raises(sm.MissingTableError, match=r"money_precision.*column price.*items"):
        evaluate("money_precision", items={10, 11, 12})


def test_a_list_of_texts_is_a_list_of_files() -> None:
    with pytest.raises(sm.DataError) as caught:
        evaluate("coverage(catalogue=items)", **NAMED, items=["a", "b", "c"])
    for words in ("items: ", "no file a", "ids", "set"):
        assert words in str(caught.value)


NO_CATALOGUE: list[tuple[Any, list[str]]] = [
    (set(), ["empty"]),
    ([], ["empty"]),
    (pd.Series([], dtype="int64"), ["empty"]),
    (pa.array([], pa.int64()), ["empty"]),
    ([10, "a"], ["item_id", "different types", "'a'"]),
    ({10, None}, ["item_id", "NULL"]),
    (np.array([[10, 11], [12, 13]]), ["list"]),
    ({"10", "11"}, ["item_id", "BIGINT", "VARCHAR"]),
]


def test_a_bare_catalogue_that_is_none() -> None:
    for items, words in NO_CATALOGUE:
        with pytest.raises(sm.SqlmetricsError) as caught:
            evaluate("coverage(catalogue=items)", items=items)
        assert [word for word in ("items", *words) if word not in str(caught.value)] == []


# ---------------------------------------------------------------- aspects as a dict


def test_aspects_as_a_dict() -> None:
    aspects: Any
    for aspects in (
        {1: [{10}, {11}], 2: [{12}]},
        {1: [[10], [11]], 2: [[12, 12]]},
        {1: ({10}, (11,)), 2: (frozenset({12}),)},
        {1: [np.array([10])], 2: [pd.Series([12]), []]},
        {1: [{10, 12}], 2: [{12}], 9: [{10}]},  # more than is wanted
    ):
        assert value("alpha_ndcg", aspects=aspects) == close(VALUES["alpha_ndcg"]), aspects


def test_aspects_as_a_dict_are_those_of_the_user() -> None:
    """User 1 wants 10 (aspects 1 and 2) and 11 (aspect 1): first 10 for 2, then 11 for 1/2."""
    found = value(
        "alpha_ndcg", recommendations={1: [11, 10]}, interactions={1: [10, 11]},
        aspects={1: [{10, 11}, {10}], 2: [{11}, {11}]},
    )  # fmt: skip
    second = 1 / math.log2(3)
    assert found == pytest.approx((1 + (1 / 2 + 1) * second) / (2 + 1 / 2 * second), abs=1e-12)


WRONG_ASPECTS: list[tuple[Any, list[str]]] = [
    ({1: "abc"}, ["user 1", "'abc'", "one set per aspect"]),
    ({1: b"abc"}, ["user 1", "b'abc'"]),
    ({1: 5}, ["user 1", "5"]),
    ({1: None}, ["user 1", "None"]),
    ({1: {10: "x"}}, ["user 1", "{10: 'x'}"]),
    ({1: [10, 11]}, ["user 1", "aspect 1", "10", "set of items"]),
    ({1: {10, 11}}, ["user 1", "aspect 1", "set of items"]),
    ({1: ["x", "y"]}, ["user 1", "aspect 1", "'x'", "set of items"]),
    ({1: [{10}, {11: 1}]}, ["user 1", "aspect 2", "{11: 1}"]),
    ({}, ["empty"]),
    ({1: []}, ["empty"]),
    ({1: [set()]}, ["empty"]),
    ({1: [{10}], 2: [{"a"}]}, ["item_id", "different types", "'a'"]),
    ({1: [{10}], "b": [{12}]}, ["user_id", "different types", "'b'"]),
    ({1: [[10, None]], 2: [{12}]}, ["NULL", "What to do"]),
    ({"1": [{"10"}]}, ["recommendations and aspects", "BIGINT", "VARCHAR"]),
]


def test_aspects_in_a_wrong_shape() -> None:
    for aspects, words in WRONG_ASPECTS:
        with pytest.raises(sm.DataError) as caught:
            evaluate("alpha_ndcg", aspects=aspects)
        assert [word for word in ("aspects", *words) if word not in str(caught.value)] == []


def test_lists_without_values_are_lists_of_numbers() -> None:
    nothing = pa.array([[], []], pa.list_(pa.null()))
    items = pa.table({"item_id": ["a", "b"], "features": nothing})
    with (
        Evaluator({"u": ["a", "b"]}, {"u": ["a"]}, items=items) as evaluator,
        pytest.raises(sm.DataError, match="2 recommended items have no features"),
    ):
        evaluator.evaluate("intra_list_diversity")
    lists = pa.table(
        {"user_id": ["u"], "item_id": [["a"]], "score": pa.array([[None]], pa.list_(pa.null()))}
    )
    with (
        Evaluator(lists, {"u": ["a"]}) as evaluator,
        pytest.raises(sm.DataError, match="1 of 1 scores is NULL"),
    ):
        evaluator.evaluate("mrr")
