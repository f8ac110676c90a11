"""One user explained: lists and missed items worked by hand, and the arithmetic of every metric."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.paths import DATA
from tests.support.worlds import OF_LISTS

LISTS = {"ann": ["apple", "bread", "cake", "date"], "bob": ["date"], "O'Neil": ["cake"]}
RELEVANT = {"ann": ["bread", "date", "fig"], "bob": ["apple"], "eve": ["apple"]}
ITEMS = pd.DataFrame(
    {"item_id": ["apple", "bread", "fig"], "title": ["An apple", "Some bread", "A fig"]}
)
OF_USERS = [
    name
    for name, one in OF_LISTS.items()
    if one.grain == "user" and name != "item_age"  # the lists of the example have no times
]


@pytest.fixture(scope="module")
def shop() -> sm.Evaluator:
    return Evaluator(LISTS, RELEVANT, items=ITEMS)


def test_list_and_its_sums(shop: sm.Evaluator) -> None:
    ann = shop.user("ann", ["ndcg@3", "recall@4"])
    assert ann.user == {"user_id": "ann"}
    assert ann.list["item_id"].tolist() == LISTS["ann"]
    assert ann.list["rank"].tolist() == [1, 2, 3, 4]
    assert ann.list["hit"].tolist() == [False, True, False, True]
    # bread at rank 2; date at rank 4 is beyond the cutoff of ndcg@3
    assert ann.list["ndcg@3"].dropna().tolist() == pytest.approx([1 / math.log2(3)])
    assert ann.list["ndcg@3 so far"].tolist()[1:] == pytest.approx([1 / math.log2(3)] * 3)
    assert ann.list["recall@4 so far"].tolist()[1:] == [1, 1, 2]
    best = 1 + 1 / math.log2(3) + 1 / 2
    assert ann.values["value"].tolist() == pytest.approx([1 / math.log2(3) / best, 2 / 3])
    assert ann.values["arithmetic"].tolist() == [
        "DCG@k 0.6309 / DCG of the best possible list 2.131 = 0.2961",
        "hits in the top k 2 / divisor 3 = 0.6667",
    ]


def test_items_that_are_missed(shop: sm.Evaluator) -> None:
    missed = shop.user("ann", ["ndcg@3"], show="items.title").missed
    assert missed["item_id"].tolist() == ["date", "fig"]
    assert missed["rank"].fillna(0).tolist() == [4, 0]
    assert missed["title"].fillna("").tolist() == ["", "A fig"]


def test_columns_of_items(shop: sm.Evaluator) -> None:
    titles = shop.user("ann", "ndcg@3", show="title").list["title"]
    assert titles.fillna("").tolist() == ["An apple", "Some bread", "", ""]


def test_a_user_without_a_list(shop: sm.Evaluator) -> None:
    eve = shop.user("eve", "recall@2")
    assert eve.list.empty
    assert eve.missed["item_id"].tolist() == ["apple"]
    assert eve.values["value"].tolist() == [0]


def test_a_user_who_is_not_judged(shop: sm.Evaluator) -> None:
    other = shop.user("O'Neil", "recall@2")
    assert other.list["item_id"].tolist() == ["cake"]
    assert other.values.empty or other.values["value"].isna().all()


def test_two_models_with_grades() -> None:
    lists = {"new": {1: ["a", "b"]}, "old": {1: ["c"]}}
    truth = pd.DataFrame({"user_id": [1, 1], "item_id": ["b", "c"], "relevance": [3.0, 1.0]})
    with Evaluator(lists, truth) as evaluator:
        one = evaluator.user(1, "dcg(gain=linear)@2")
    assert one.list[["model", "item_id"]].to_numpy().tolist() == [
        ["new", "a"], ["new", "b"], ["old", "c"],
    ]  # fmt: skip
    assert one.list["gain"].fillna(0).tolist() == [0, 3, 1]
    assert one.missed[["model", "item_id"]].to_numpy().tolist() == [["new", "c"], ["old", "b"]]
    assert one.values["value"].tolist() == pytest.approx([3 / math.log2(3), 1])


def test_several_key_columns() -> None:
    rows = {"user_id": [1, 1], "day": ["mon", "tue"], "item_id": [5, 6]}
    recommended = pd.DataFrame({**rows, "rank": [1, 1]})
    with Evaluator(recommended, pd.DataFrame(rows), key=["user_id", "day"]) as evaluator:
        for named in ((1, "tue"), "1,tue", {"user_id": 1, "day": "tue"}):
            assert evaluator.user(named, "recall@1").list["item_id"].tolist() == [6]
        with pytest.raises(sm.UsageError, match="2 keys user_id and day, not 1"):
            evaluator.user(1, "recall@1")
        with pytest.raises(sm.UsageError, match="keys user_id and day, not user_id"):
            evaluator.user({"user_id": 1}, "recall@1")


@pytest.mark.parametrize("ids", [["a\0001", "a"], ["'\0", "\0"], [b"a", b"\x00'\xff"]])
def test_ids_with_nul_characters_and_bytes(ids: list[Any]) -> None:
    table = pa.table({"user_id": ids, "item_id": [1, 2], "rank": [1, 1]})
    with Evaluator(table, table.slice(0, 1).drop_columns("rank")) as evaluator:
        users = evaluator.per_user("n_recommended")["user_id"].tolist()
        assert users == sorted(ids)
        for user, items in zip(ids, ([1], [2]), strict=True):
            one = evaluator.user(user, "hit_rate@1")
            assert (one.user, one.list["item_id"].tolist()) == ({"user_id": user}, items)


def test_keys_with_commas() -> None:
    lists = pd.DataFrame({"user_id": ["a", "a"], "s": ["b,c", 'b"'], "item_id": 1, "rank": 1})
    truth = lists.drop(columns="rank")
    with Evaluator(lists, truth, key=["user_id", "s"]) as evaluator:
        for named, s in (('a,"b,c"', "b,c"), ('a, "b,c"', "b,c"), ('a, b"', 'b"')):
            assert evaluator.user(named, "recall@1").user == {"user_id": "a", "s": s}
        with pytest.raises(sm.UsageError, match="2 keys user_id and s, not 3") as raised:
            evaluator.user("a,b,c", "recall@1")
        assert str(raised.value.remedy).endswith("""as in CSV: 'a,"b,c"'""")


def test_metrics_with_other_lists_are_explained_alone() -> None:
    tied = pd.DataFrame({"user_id": 1, "item_id": [1, 2, 3, 4], "score": [1, 1, 1, 0.5]})
    truth = pd.DataFrame({"user_id": 1, "item_id": [3, 4], "relevance": [1, 2]})
    with (
        Evaluator(tied, truth, convention=["standard", "trec_eval"]) as evaluator,
        pytest.raises(sm.UsageError, match="under standard and trec_eval order lists"),
    ):
        evaluator.user(1, "recall@2")
    with Evaluator(tied, truth) as evaluator:
        with pytest.raises(sm.UsageError, match="order lists in different ways"):
            evaluator.user(1, ["ndcg@3", "ndcg(ties=worst)@3"])
        with pytest.raises(sm.UsageError, match="choose relevant items in different ways"):
            evaluator.user(1, ["recall@4", "recall(relevant_from=2)@4"])
        with pytest.raises(sm.UsageError, match="unjudged=best"):
            evaluator.user(1, "precision(unjudged=best)@2")
        worst = evaluator.user(1, "ndcg(ties=worst)@3").list
        assert worst["item_id"].tolist() == [1, 2, 3, 4]
        assert worst["ndcg(ties=worst)@3"].notna().tolist() == [False, False, True, False]


def test_conventions_with_the_same_list() -> None:
    with Evaluator(LISTS, RELEVANT, convention=["standard", "jurity"]) as evaluator:
        ann = evaluator.user("ann", "recall@4")
    assert {"standard recall@4", "jurity recall@4"} <= {*ann.list.columns}
    assert ann.values["convention"].tolist() == ["standard", "jurity"]


def test_runs_are_refused() -> None:
    runs = {"m": {"s1": LISTS, "s2": LISTS}}
    with (
        Evaluator(runs, RELEVANT) as evaluator,
        pytest.raises(sm.UsageError, match="a column run"),
    ):
        evaluator.user("ann", "recall@2")


def test_repeated_rows_of_items_count_once() -> None:
    items = pd.concat([ITEMS, ITEMS])
    with Evaluator(LISTS, RELEVANT, items=items) as evaluator:
        ann = evaluator.user("ann", "recall@4", show="title")
    assert ann.list["rank"].tolist() == [1, 2, 3, 4]
    assert ann.list["recall@4 so far"].dropna().iloc[-1] == 2


def test_without_a_hit(shop: sm.Evaluator) -> None:
    values = shop.user("bob", ["recall@1", "mrr@1"]).values
    assert values["arithmetic"].tolist() == [
        "0, because hits in the top k is 0", "1 / rank of the first hit in the top k = 0",
    ]  # fmt: skip


def test_what_is_refused(shop: sm.Evaluator) -> None:
    with pytest.raises(sm.UsageError, match="no user 'zoe' in recommendations and interactions"):
        shop.user("zoe", "recall@2")
    with pytest.raises(sm.UsageError, match="coverage@2 has one value for all users"):
        shop.user("ann", "coverage@2")
    with pytest.raises(sm.UsageError, match="title"):
        shop.user("ann", "recall@2", show="titel")
    with pytest.raises(sm.UsageError, match="no column 'popularity'"):
        shop.user("ann", "recall@2", show="popularity")
    for n in (0, -1, True, "2"):
        with pytest.raises(sm.UsageError, match="n must be a whole number"):
            shop.extreme_users("recall@2", n)
    with pytest.raises(sm.UsageError, match="user_id of a user is missing"):
        shop.user(None, "recall@2")
    with pytest.raises(sm.UsageError, match="one metric"):
        shop.extreme_users(["recall@2", "ndcg@2"])
    with Evaluator({1: [2]}, {1: [2]}) as numbers:
        for wrong in ("ann", 1.7, True, float("inf")):
            with pytest.raises(sm.UsageError, match="user_id is a whole number"):
                numbers.user(wrong, "recall@2")
        assert numbers.user(1.0, "recall@2").user == {"user_id": 1}


def test_columns_that_the_list_has_itself() -> None:
    items = pd.DataFrame({"item_id": ["bread"], "gain": [1], "tags": [["a"]]})
    with Evaluator(LISTS, RELEVANT, items=items) as evaluator:
        with pytest.raises(sm.UsageError, match="gain is also a column of the list"):
            evaluator.user("ann", "recall@2", show="gain")
        with pytest.raises(sm.UsageError, match=r"tags of items has the type VARCHAR\[\]"):
            evaluator.user("ann", "recall@2", show="tags")


def test_extreme_users(shop: sm.Evaluator) -> None:
    best = shop.extreme_users("recall@4", 1, highest=True)
    assert best["user_id"].tolist() == ["ann"]
    assert best["value"].tolist() == pytest.approx([2 / 3])
    assert shop.extreme_users("recall@4", 2)["user_id"].tolist() == ["bob", "eve"]
    models = {"a": LISTS, "b": {**LISTS, "ann": []}}
    with Evaluator(models, RELEVANT) as evaluator:
        best_of_each = evaluator.extreme_users("recall@4", 1, highest=True)
    assert best_of_each[["model", "user_id"]].to_numpy().tolist() == [["a", "ann"], ["b", "ann"]]


@pytest.fixture(scope="module")
def demo() -> sm.Evaluator:
    tables = {name: DATA / f"{name}.parquet" for name in ("history", "items", "users", "aspects")}
    return Evaluator(
        DATA / "recommendations_als.parquet",
        DATA / "interactions.parquet",
        baseline=DATA / "recommendations_popular.parquet",
        **tables,
        settings={"relevant_from": 2},
    )


def test_every_metric_has_the_value_of_its_user(demo: sm.Evaluator) -> None:
    metrics = [f"{name}@5" for name in OF_USERS]
    every = demo.per_user(metrics, long=True).set_index("user_id")
    for user in (1, 17):
        values = demo.user(user, metrics).values.set_index("metric")["value"]
        expected = every.loc[user][values.index].astype(float)
        pd.testing.assert_series_equal(values.astype(float), expected, check_names=False)


def test_the_sums_and_sides_give_the_value(demo: sm.Evaluator) -> None:
    """The sides of a fraction give the value; a single sum ends with the upper side."""
    metrics = [f"{name}@5" for name in OF_USERS]
    one = demo.user(1, metrics)
    checked = 0
    for row in one.values.itertuples():
        sides = _sides(row.arithmetic)
        if sides is not None:
            assert sides[0] / sides[1] == pytest.approx(row.value, rel=2e-3)
            so_far = one.list.get(f"{row.metric}@5 so far")
            if so_far is not None and row.metric in ("ndcg", "map", "recall", "precision"):
                assert so_far.dropna().iloc[-1] == pytest.approx(sides[0], rel=1e-3)
            checked += 1
    assert checked > 10


def _sides(arithmetic: str) -> tuple[float, float] | None:
    """Return the last numbers before a division and before the result, if both are there."""
    found = arithmetic.rpartition(" = ")[0].rpartition(" / ")
    above, below = (side.rpartition(" ")[2] for side in (found[0], found[2]))
    try:
        return float(above), float(below)
    except ValueError:
        return None


def test_statements_run_alone(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE recs AS SELECT 1 AS user_id, 2 AS item_id, 1 AS rank")
        connection.execute("CREATE TABLE clicks AS SELECT 1 AS user_id, 2 AS item_id")
        with Evaluator("recs", "clicks", connection=connection) as evaluator:
            text = evaluator.user_sql(1, "ndcg@1")
        rows: list[Any] = [
            connection.execute(statement).fetchall() for statement in text.split(";\n")[:-1]
        ]
    assert rows[0] == [(1, 2, 1.0, 1.0, True)]
    assert rows[1] == []
    assert rows[2][0][-3:] == (1.0, 1.0, 1.0)
