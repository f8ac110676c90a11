"""Slices by activity, popularity and month; their labels are worked by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from tests.support.evaluators import Evaluator
from tests.support.sliced_world import MAIN, WORLD, assert_same, evaluate, stacked

Labels = Callable[[str], dict[str, Any]]


@contextlib.contextmanager
def labels_by(history: Mapping[str, list[str]]) -> Iterator[Labels]:
    """Yield what says the label of every user of a history, of nobody, and the order of labels."""
    users = [*history, "nobody"]
    lists = {user: ["a"] for user in users}
    rows = [(user, item) for user, items in history.items() for item in items]
    past = pd.DataFrame(rows, columns=["user_id", "item_id"])
    with Evaluator(lists, lists, history=past) as evaluator:

        def labels(by: str) -> dict[str, Any]:
            name = by.partition("(")[0]
            frame = evaluator.per_user(["recall@1"], by=by, long=True)
            order = evaluator.evaluate(["recall@1"], by=by)[name].tolist()
            assert frame["user_id"].tolist() == sorted(users)
            return {**dict(zip(frame["user_id"], frame[name], strict=True)), "order": order}

        yield labels


@pytest.mark.parametrize("name", Catalog.load().slices)
def test_built_in_slices_divide_users_or_relevant_items(name: str, world: sm.Evaluator) -> None:
    """Each user, or each relevant item of a user, is in one slice."""
    slice_ = Catalog.load().slices[name]
    found = world.evaluate("n_relevant(aggregate=sum)", by=name)
    counted = "n_users" if slice_.of == "users" else "value"
    whole = world.evaluate("n_relevant(aggregate=sum)").set_index("model")[counted]
    assert found.groupby("model")[counted].sum().to_dict() == whole.to_dict()
    assert {*found[name]} - {slice_.missing}


def test_activity_counts_different_items_of_the_history() -> None:
    history = {
        "u19": [f"i{n}" for n in range(19)],
        "u20": [f"i{n}" for n in range(20)],
        "twice": [f"i{n % 19}" for n in range(38)],  # 38 rows, 19 items
        "one": ["i3"],
    }
    with labels_by(history) as labels:
        assert labels("activity") == {
            "u19": "cold", "u20": "warm", "twice": "cold", "one": "cold", "nobody": "new",
            "order": ["cold", "warm", "new"],
        }  # fmt: skip
        of_19 = labels("activity(warm_from=19)")
        assert [of_19[user] for user in history] == ["warm", "warm", "warm", "cold"]
        assert labels("activity(warm_from=1)")["order"] == ["warm", "new"]


def test_activity_groups_are_even_but_do_not_divide_equals() -> None:
    sizes = [3, 1, 1, 4, 1, 2, 6, 5]
    history = {f"u{n}": [f"i{m}" for m in range(size)] for n, size in enumerate(sizes)}
    # sorted: 1 1 | 1 2 | 3 4 | 5 6, where the third user with 1 item stays with its equals
    quarters = {1: "1: 1 to 1 items", 2: "2: 2 to 2 items", 3: "3: 3 to 4 items",
                4: "3: 3 to 4 items", 5: "4: 5 to 6 items", 6: "4: 5 to 6 items"}  # fmt: skip
    with labels_by(history) as labels:
        found = labels("activity_group")
        assert found.pop("order") == [*sorted(set(quarters.values())), "new"]
        assert found.pop("nobody") == "new"
        assert found == {f"u{n}": quarters[size] for n, size in enumerate(sizes)}
        halves = labels("activity_group(groups=2)")
        assert halves["order"] == ["1: 1 to 2 items", "2: 3 to 6 items", "new"]


def test_activity_groups_without_ties_differ_in_size_by_one_at_most() -> None:
    history = {f"u{n:02}": [f"i{m}" for m in range(n + 1)] for n in range(23)}
    with labels_by(history) as labels:
        found = labels("activity_group(groups=11)")
    order = found["order"]
    assert [label.partition(":")[0] for label in order] == [*map(str, range(1, 12)), "new"]
    of_users = [found[user] for user in history]
    assert {of_users.count(label) for label in order[:-1]} == {2, 3}  # 23 users in 11 groups
    places = [order.index(label) for label in of_users]
    assert places == sorted(places)


def popularity_labels(
    history: list[tuple[str, str]], shares: Iterable[float], new: str
) -> Iterator[dict[str, str]]:
    """Yield the labels of the items of a history, and of another one, for every share."""
    judged = [*sorted({item for _, item in history}), new]
    past = pd.DataFrame(history, columns=["user_id", "item_id"])
    with Evaluator({"u": judged}, {"u": judged}, history=past, items=set(judged)) as evaluator:
        for share in shares:
            by_item = [f"popularity(head_share={share})", "item_id"]
            frame = evaluator.evaluate(["recall"], by_item=by_item)
            order = list(dict.fromkeys(frame["popularity"]))
            assert order == [one for one in ("head", "tail", "new") if one in order]
            yield dict(zip(frame["item_id"], frame["popularity"], strict=True))


def test_popularity_divides_head_tail_and_new_items() -> None:
    # users with the item: a 4, b 3, c 3, d 2, e to j 1; 10 items in the history
    popular = zip("abcd", (4, 3, 3, 2), strict=True)
    history = [(f"u{user}", item) for item, n in popular for user in range(n)]
    history += [("u9", item) for item in "efghij"]
    history += [("u9", "e")] * 8  # rows do not make an item popular
    heads = {0.09: "a", 0.1: "a", 0.2: "abc", 0.3: "abc", 0.31: "abcd", 0.5: "abcdefghij"}
    for labels, head in zip(popularity_labels(history, heads, "z"), heads.values(), strict=True):
        expected = {item: "head" if item in head else "tail" for item in "abcdefghij"}
        assert labels == {**expected, "z": "new"}


def test_a_share_of_items_is_exact() -> None:
    history = [(f"u{user}", f"i{item:03}") for item in range(100) for user in range(100 - item)]
    (labels,) = popularity_labels(history, [0.29], "z")
    assert list(labels.values()).count("head") == 29
    assert 0.29 * 100 < 29  # in binary fractions


def test_the_head_is_a_fifth_of_the_items() -> None:
    # no item is in common, which the checks refuse
    history = {"v": list("abcde"), "w": list("a")}
    with Evaluator(
        {"u": ["c"]}, {"u": list("abz")}, history=history, trust_input=True
    ) as evaluator:
        found = evaluator.evaluate(["precision(divisor=length)@1", "recall@1"], by="popularity")
    assert found["popularity"].tolist() == ["head", "head", "tail", "tail", "new", "new"]
    assert found["n_users"].tolist() == [1] * 6
    assert found["value"].tolist() == [0] * 6  # c is in the list, and not relevant


def test_month_is_that_of_the_interaction(world: sm.Evaluator) -> None:
    metrics = ["ndcg@5", "kendall_tau@5"]
    truth = WORLD["interactions"]
    months = truth["timestamp"].dt.strftime("%Y-%m")
    expected = {
        month: evaluate({**MAIN, "interactions": truth[months == month]}, metrics)
        for month in ("2023-12", "2024-01", "2024-02")
    }
    assert set(months) == set(expected)
    assert_same(world.evaluate(metrics, by_item="month"), stacked(expected, "month"))
    assert_same(world.evaluate(metrics, by="month"), stacked(expected, "month"))


def test_month_of_repeated_interactions_is_the_first() -> None:
    days = ["2024-02-29", "2024-01-31 23:59:59", "2024-03-01", "2023-12-31"]
    truth = pd.DataFrame({"user_id": [1, 1, 1, 2], "item_id": ["a", "a", "b", "a"],
                          "timestamp": [pd.Timestamp(day) for day in days]})  # fmt: skip
    lists = {1: ["a", "b"], 2: ["b", "a"]}
    with Evaluator(lists, truth, settings={"duplicate_interactions": "set"}) as evaluator:
        found = evaluator.per_user(["mrr"], by_item="month")
    assert found[["user_id", "month", "mrr"]].to_numpy().tolist() == [
        [1, "2024-01", 1], [1, "2024-03", 0.5], [2, "2023-12", 0.5],
    ]  # fmt: skip


KNOWN = {"u1": ["a", "b"], "u2": ["a"]}
REPEATED = {
    "recommendations": {"u1": ["a", "b", "c"], "u2": ["a", "c", "b"], "u3": ["b", "c", "d"]},
    "interactions": {"u1": ["a", "c", "d"], "u2": ["b", "c"], "u3": ["a", "b"]},
}


def test_repeat_divides_relevant_items_by_the_history_of_their_user() -> None:
    """u1 knows a, which is found, and finds c, but not d. u2 finds both, u3 one of two."""
    with Evaluator(**REPEATED, history=KNOWN) as evaluator:
        found = evaluator.evaluate("recall@3", by="repeat")
        users = evaluator.per_user("recall@3", by="repeat", long=True)
    rows = dict(
        zip(found["repeat"], zip(found["value"], found["n_users"], strict=True), strict=True)
    )
    assert rows == {"repeat": (1, 1), "new": (pytest.approx(2 / 3), 3)}
    values = {(user, slice_): value for user, slice_, value
              in zip(users["user_id"], users["repeat"], users["recall"], strict=True)}  # fmt: skip
    assert values == {("u1", "repeat"): 1, ("u1", "new"): 0.5, ("u2", "new"): 1, ("u3", "new"): 0.5}


def test_repeat_counts_repeated_rows_once() -> None:
    twice = {user: items * 2 for user, items in KNOWN.items()}
    truth = {user: items * 2 for user, items in REPEATED["interactions"].items()}
    with Evaluator(
        REPEATED["recommendations"],
        truth,
        history=twice,
        settings={"duplicate_interactions": "set"},
    ) as evaluator:
        found = evaluator.evaluate("n_relevant", by_item="repeat")
    assert dict(zip(found["repeat"], found["value"], strict=True)) == {
        "repeat": 1, "new": pytest.approx(2),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "metric"), [({"drop_seen": "true"}, "recall@3"), ({}, "recall(drop_seen=true)@3")]
)
def test_repeat_needs_lists_with_seen_items(settings: Any, metric: str) -> None:
    with Evaluator(**REPEATED, history=KNOWN, settings=settings) as evaluator:
        with pytest.raises(
            sm.UsageError, match=r"repeat has no meaning for .* drop_seen=true remo"
        ):
            evaluator.evaluate(metric, by="repeat")
        found = evaluator.evaluate("recall(drop_seen=false)@3", by="repeat")
    assert set(found["repeat"]) == {"repeat", "new"}


def test_slices_inside_a_month_come_in_their_order() -> None:
    days = ["2024-01-20", "2024-01-10", "2024-01-01", "2024-02-02", "2024-02-01"]
    truth = pd.DataFrame({"user_id": [1, 2, 3, 1, 2], "item_id": ["a", "b", "c", "b", "a"],
                          "timestamp": [pd.Timestamp(day) for day in days]})  # fmt: skip
    lists = {user: ["a", "b", "c"] for user in (1, 2, 3)}
    with Evaluator(lists, truth, history={9: ["a", "b"], 8: ["a"]}) as evaluator:
        found = evaluator.evaluate(
            ["recall"], by=["month", "popularity(head_share=0.5)"], combinations=True
        )
    # the earliest of January is new, the next of the tail
    assert list(zip(found["month"], found["popularity"], strict=True)) == [
        *[("2024-01", label) for label in ("head", "tail", "new", "(all)")],
        *[("2024-02", label) for label in ("head", "tail", "(all)")],
        *[("(all)", label) for label in ("head", "tail", "new", "(all)")],
    ]
