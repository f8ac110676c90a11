"""Column mappings and keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.source_rows import check, lists_table, truth_table, values, write_parquet


def test_mapping_for_all_tables_and_for_one() -> None:
    lists = lists_table().rename_columns(["uid", "movie", "place"])
    truth = truth_table().rename_columns(["uid", "film"])
    mapping = {
        "user_id": "uid",
        "item_id": "film",
        "recommendations.item_id": "movie",
        "rank": "place",
    }
    check(values(lists, truth, columns=mapping))


def test_a_mapping_wins_over_a_column_of_that_name() -> None:
    table = lists_table()
    lists = table.append_column("item_number", table["item_id"])
    lists = lists.set_column(1, "item_id", pa.array(range(10)))
    check(values(lists, columns={"recommendations.item_id": "item_number"}))


def test_names_of_columns_in_other_cases() -> None:
    check(values(lists_table().rename_columns(["USER_ID", "Item_Id", "Rank"])))


AWKWARD = [
    "select", 'a"b', "k", "value", "rank", "with space", "model", "ünï", "1", "a.b", "a'b", "hits",
    "row_number", "sqlmetrics_row", "users", "x -- y", "{{ x }}", "=", "%s", "order",
]  # fmt: skip


def test_awkward_names_of_columns(tmp_path: Path) -> None:
    """A column that is mapped to one name is not read under its own name as well."""
    for name in AWKWARD:
        lists = lists_table("score").rename_columns(["user_id", name, "score"])
        truth = truth_table().rename_columns([name, "item_id"])
        path = write_parquet(tmp_path / "a.parquet", lists)
        columns = {"recommendations.item_id": name, "interactions.user_id": name}
        check(values(path, truth, columns=columns))


def test_score_from_a_column_called_rank() -> None:
    lists = lists_table("score").rename_columns(["user_id", "item_id", "rank"])
    check(values(lists, columns={"score": "rank"}, settings={"order": "score"}))


def two_keys(table: pa.Table) -> pa.Table:
    """Split the user n into (n / 2, n mod 2)."""
    users = table["user_id"].to_pylist()
    table = table.drop_columns(["user_id"])
    table = table.append_column("user_id", pa.array([user // 2 for user in users]))
    return table.append_column("session", pa.array([f"s{user % 2}" for user in users]))


@pytest.mark.parametrize("key", [["user_id", "session"], ("session", "user_id")])
def test_several_keys(key: Any, order: str) -> None:
    found = values(two_keys(lists_table(order)), two_keys(truth_table()), keys=tuple(key), key=key)
    position = list(key).index("user_id")
    check({2 * user[position] + int(user[1 - position][1]): v for user, v in found.items()})


def test_awkward_keys() -> None:
    for key in ("visit", "select", 'a"b', "with space", "hits", "Visit"):
        lists = lists_table("score").rename_columns([key, "item_id", "score"])
        truth = truth_table().rename_columns([key, "item_id"])
        check(values(lists, truth, key=key, keys=(key,)))


def test_keys_with_the_name_of_another_column_are_refused() -> None:
    taken = ["k", "rank", "model", "item_id", "score", "value", "n_relevant", "n_rows"]
    for key in [*taken, "hit_number"]:
        names = [key if name == "user_id" else name for name in ("user_id", "item_id", "score")]
        if len(set(names)) < 3:
            names = [key, *(f"other_{name}" for name in names[1:])]
        lists = lists_table("score").rename_columns(names)
        truth = truth_table().rename_columns(names[:2])
        with pytest.raises(sm.UsageError, match=key):
            values(lists, truth, key=key, keys=(key,))


def test_exchanged_names_are_answered_with_the_right_mapping() -> None:
    """A dict of pandas' `rename` maps the other way round."""
    for given, right in (
        ({"customer": "user_id"}, r"columns=\{'user_id': 'customer'\}"),
        ({"interactions.sku": "item_id"}, r"columns=\{'interactions.item_id': 'sku'\}"),
    ):
        with pytest.raises(sm.UsageError, match=f"the names are exchanged: write {right}$"):
            Evaluator({1: [2]}, {1: [2]}, columns=given)


def test_a_column_is_mapped_to_one_name() -> None:
    """Only features may have several columns."""
    for column in ([], ["sku"], None, 1.5):
        with pytest.raises(sm.UsageError, match="'item_id' must be mapped to a column name, not"):
            Evaluator({1: [2]}, {1: [2]}, columns={"item_id": column})
    with pytest.raises(
        sm.UsageError, match="'features' must be mapped to a column name, not to None"
    ):
        Evaluator({1: [2]}, {1: [2]}, columns={"features": None})


def test_a_message_lists_ten_of_many_columns() -> None:
    lists = pa.table({f"feature_{n}": [1] for n in range(1600)})
    with pytest.raises(sm.DataError, match=r"feature_9 and 1,590 more\. Map") as caught:
        Evaluator(lists, {1: [1]})
    assert len(str(caught.value)) < 400


def test_a_list_of_structs_per_user(tmp_path: Path) -> None:
    """Spark's ALS writes a column of type array<struct<item, rating>>."""
    pairs = [[{"item": "a", "rating": 0.9}, {"item": "b", "rating": 0.8}],
             [{"item": "c", "rating": 0.9}, {"item": "a", "rating": 0.1}]]  # fmt: skip
    frame = pa.table({"user_id": ["u1", "u2"], "Recs": pa.array(pairs)})
    path = tmp_path / "als.parquet"
    pq.write_table(frame, path)
    truth = {"u1": ["b"], "u2": ["c", "d"]}
    mapping = {"recommendations.item_id": "item", "recommendations.score": "rating"}
    for source in (frame, path):
        for columns in ({}, {"recommendations.item_id": "Recs"}):
            with pytest.raises(sm.DataError, match="one row per struct with") as raised:
                Evaluator(source, truth, columns=columns)
        of_query = re.search(r"SELECT .* FROM (frame|\S+\('[^']*'\))", str(raised.value))
        assert of_query is not None
        query = of_query[0] if source is path else duckdb.sql(of_query[0])
        with Evaluator(query, truth, columns=mapping) as evaluator:
            assert evaluator.evaluate("mrr")["value"].tolist() == [0.75]
