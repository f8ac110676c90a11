"""Slices of users and of items, against what the definition says: filter the tables, evaluate.

A slice of users is compared with an evaluator over the rows of these users alone, a slice of items
with one whose interactions are those with the items of the slice and whose lists are whole. Tables
are filtered in pandas, and those evaluators know of no slices. The labels of derived slices (by
activity, popularity, month) are worked by hand.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

import sqlmetrics as sm
from sqlmetrics.errors import (
    DataError,
    MissingTableError,
    SqlmetricsError,
    TemplateError,
    UsageError,
)
from sqlmetrics.metrics.catalog import Catalog

Tables = dict[str, pd.DataFrame]

ITEMS = list("abcdefghijkl")
GENRES = {
    "a": ["rock", "pop"], "b": ["rock"], "c": ["pop"], "d": ["jazz", "pop"], "e": ["rock", "jazz"],
    "f": ["jazz"], "g": ["rock", "pop", "jazz"], "h": ["pop"], "i": ["rock", "rock"], "j": [],
    "k": None,
}  # fmt: skip
DECADES = [2000, 90, 90, 800, 2000, None, 800, 2000, 90, 90, None]
COUNTRIES = ["FR", "US", None, "DE"]
AGES = [100, 5, 18]
SETTINGS = {"missing_attributes": "ignore"}  # items lack prices and vectors
GRADED = ["err(max_grade=3)", "pfound(max_grade=3)", "kendall_tau", "spearman_rho"]
JUDGED = [  # metrics of the relevant items
    "ndcg", "ndcg(gain=exponential)", "ndcg(gain=linear, ideal=all_relevant)", "dcg(gain=linear)",
    "recall", "recall(divisor=min_k_relevant)", "precision", "precision(divisor=length)", "map",
    "map(divisor=all_positions)", "mar", "mrr", "r_precision", "hit_rate", "f_beta(beta=2)",
    "roc_auc", "alpha_ndcg", "money_recall", *GRADED,
]  # fmt: skip
LISTED = [  # metrics that also judge other items
    "popularity", "surprisal", "unexpectedness", "intra_list_diversity(over=category)",
    "money_precision",
]  # fmt: skip
OF_USERS = [  # of every kind, also those that are no means or are undefined for some
    "ndcg(gain=exponential)", "recall", "alpha_ndcg", "money_recall", "err(max_grade=3)",
    "kendall_tau", *LISTED, "recall(aggregate=median)", "precision(aggregate=max)",
]  # fmt: skip
OF_RUNS = [
    "coverage", "coverage(scale=count)", "inter_list_diversity",
    "inter_list_diversity(sample_users=3, runs=4)", "auc", "ctr", "ctr(statistic=support)", "ips",
    "snips", "doubly_robust",
]  # fmt: skip
EXACT = {"rtol": 1e-10, "atol": 1e-12}


def make_world() -> Tables:
    """Make lists of two models and truth with users on one side only, and all other tables."""
    draw = random.Random(11)
    lists, truth, history, baseline, logs = [], [], [], [], []
    for user in range(1, 41):
        for model in ("als", "popular"):
            if (user + len(model)) % 10 != 9:  # who lacks a list of one model has one of the other
                chosen = draw.sample(ITEMS, draw.choice([1, 3, 6, 9]))
                scores = draw.sample(range(100), len(chosen))
                lists += [(model, user, i, s / 8) for i, s in zip(chosen, scores, strict=True)]
        if user % 9 != 4:
            for item in draw.sample(ITEMS, draw.choice([2, 5, 8])):
                when = pd.Timestamp(2023, 12, 1) + pd.Timedelta(hours=draw.randrange(2000))
                truth.append((user, item, draw.randint(0, 3), when))
        if user % 5:
            history += [(user, item) for item in draw.sample(ITEMS[:-1], draw.randint(1, 6))]
        if user % 4:
            expected = draw.sample(ITEMS, 4)
            baseline += [(user, item, place) for place, item in enumerate(expected, start=1)]
        decided = draw.sample(ITEMS, 5)
        logs += [(user, item, draw.randint(0, 1), draw.uniform(0.1, 1)) for item in decided]
    items = pd.DataFrame({"item_id": list(GENRES), "category": list(GENRES.values())})
    items["price"] = [draw.choice([1.5, 3.0, 10.0]) for _ in GENRES]
    items["decade"] = pd.array(DECADES, dtype="Int64")
    users = pd.DataFrame({"user_id": range(-3, 38)})  # some nobody knows, and not all of the others
    users["country"] = [COUNTRIES[user % 4] for user in users["user_id"]]
    users["age"] = [AGES[user % 3] for user in users["user_id"]]
    aspects = [(item, aspect) for item in ITEMS[:10] for aspect in draw.sample("xyz", 2)]
    return {
        "recommendations": pd.DataFrame(lists, columns=["model", "user_id", "item_id", "score"]),
        "interactions": pd.DataFrame(
            truth, columns=["user_id", "item_id", "relevance", "timestamp"]
        ),
        "history": pd.DataFrame(history, columns=["user_id", "item_id"]),
        "items": items,
        "users": users,
        "aspects": pd.DataFrame(aspects, columns=["item_id", "aspect"]),
        "baseline": pd.DataFrame(baseline, columns=["user_id", "item_id", "rank"]),
        "logs": pd.DataFrame(logs, columns=["user_id", "item_id", "reward", "propensity"]),
    }


WORLD = make_world()
ALS = {
    **WORLD,
    "recommendations": WORLD["recommendations"].query("model == 'als'").drop(columns="model"),
}


MAIN = {  # what most tests need of it
    name: WORLD[name] for name in ("recommendations", "interactions", "history", "users")
}


def evaluate(tables: Mapping[str, Any], *asked: Any, **options: Any) -> pd.DataFrame:
    with sm.Evaluator(**tables, **options.pop("evaluator", {})) as evaluator:
        return evaluator.evaluate(*asked, **options)


# ---------------------------------------------------------------- what is expected


def labels_of_users(*columns: str) -> dict[int, tuple[str, ...]]:
    """Return the labels of every user of the world, from its table users."""
    known = WORLD["users"].set_index("user_id")[list(columns)].astype(object)
    nothing = dict.fromkeys(range(1, 41), ("(none)",) * len(columns))
    return nothing | {
        user: tuple("(none)" if pd.isna(value) else str(value) for value in row)
        for user, row in zip(known.index, known.to_numpy().tolist(), strict=True)
        if user in nothing
    }


def of_users(tables: Tables, users: Iterable[int]) -> Tables:
    """Keep these users in lists and truth; what is known of them and of items stays."""
    wanted = set(users)
    return {
        name: frame[frame["user_id"].isin(wanted)]
        if name in ("recommendations", "interactions")
        else frame
        for name, frame in tables.items()
        if name != "users"
    }


def of_items(tables: Tables, items: Iterable[str]) -> Tables:
    """Keep these items in the truth alone."""
    wanted = set(items)
    truth = tables["interactions"]
    return {**tables, "interactions": truth[truth["item_id"].isin(wanted)]}


def items_of(genre: str) -> list[str]:
    named = [item for item in ITEMS if genre in (GENRES.get(item) or ())]
    return named or [item for item in ITEMS if not GENRES.get(item)]


def items_of_decade(decade: str) -> list[str]:
    known = dict(zip(GENRES, DECADES, strict=True))
    return [item for item in ITEMS if str(known.get(item) or "(none)") == decade]


def stacked(
    parts: Mapping[Any, pd.DataFrame], *columns: str, before: str = "metric"
) -> pd.DataFrame:
    """Put results one below the other, in the order of the slices, with their labels."""
    frames = []
    for labels, frame in parts.items():
        labelled = frame.copy()
        place = labelled.columns.get_loc(before)
        texts = [labels] if isinstance(labels, str) else labels
        for number, (column, label) in enumerate(zip(columns, texts, strict=True)):
            labelled.insert(place + number, column, label)
        frames.append(labelled)
    rows = pd.concat(frames)
    if "model" in rows:
        rows = rows.sort_values("model", kind="stable")
    return rows.reset_index(drop=True)


def assert_same(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(found, expected, **EXACT)


class Parts:
    """Evaluators of the world, and of the parts of it that its slices stand for."""

    SLICES: ClassVar = {  # in the order of the results
        "country": ["DE", "FR", "US", "(none)"],
        "age": ["5", "18", "100", "(none)"],
        "category": ["jazz", "pop", "rock", "(none)"],
        "decade": ["90", "800", "2000", "(none)"],
    }

    def __init__(self) -> None:
        self.open: dict[tuple[str, str], sm.Evaluator] = {}

    def get(self, column: str, label: str) -> sm.Evaluator:
        """Return an evaluator of one slice."""
        if (column, label) not in self.open:
            if column in ("country", "age"):
                labels = labels_of_users(column)
                tables = of_users(WORLD, [user for user in labels if labels[user] == (label,)])
            elif column == "category":
                tables = of_items(WORLD, items_of(label))
            elif column == "decade":
                tables = of_items(WORLD, items_of_decade(label))
            else:
                tables = WORLD
            self.open[column, label] = sm.Evaluator(**tables, settings=SETTINGS)
        return self.open[column, label]

    def expected(self, column: str, get: Callable[[sm.Evaluator], pd.DataFrame]) -> pd.DataFrame:
        """Return what a table sliced by a column should be."""
        parts = {label: get(self.get(column, label)) for label in self.SLICES[column]}
        return stacked(parts, column)


@pytest.fixture(scope="module", name="parts")
def parts_of_the_world() -> Iterable[Parts]:
    parts = Parts()
    yield parts
    for evaluator in parts.open.values():
        evaluator.close()


@pytest.fixture(scope="module", name="world")
def evaluator_of_the_world(parts: Parts) -> sm.Evaluator:
    return parts.get("", "")


# ---------------------------------------------------------------- slices of users


@pytest.mark.thorough
def test_a_slice_has_the_values_of_its_users_alone(world: sm.Evaluator, parts: Parts) -> None:
    metrics = [*OF_USERS, *OF_RUNS]
    found = world.evaluate(metrics, k=4, by="country")
    assert_same(found, parts.expected("country", lambda part: part.evaluate(metrics, k=4)))
    assert found["value"].notna().mean() > 0.95

    labels = labels_of_users("country")
    truth = WORLD["interactions"].query("relevance > 0")
    n_users = truth.groupby(truth["user_id"].map(labels).str[0])["user_id"].nunique()
    recalls = found.query("metric == 'recall'")
    assert (recalls["n_users"] == recalls["country"].map(n_users)).all()
    nowhere = {user for user, label in labels.items() if label == ("(none)",)}
    assert {38, 39, 40} < nowhere  # not in the table users; the others have no country there


@pytest.mark.thorough
def test_one_model_is_sliced_as_several_are() -> None:
    metrics = ["dcg(gain=linear)", "popularity", "coverage", "inter_list_diversity", "auc", "ips"]
    labels = labels_of_users("age")
    expected = {
        age: evaluate(
            of_users(ALS, [user for user, label in labels.items() if label == (age,)]),
            metrics,
            k=3,
        )
        for age in Parts.SLICES["age"]
    }
    found = evaluate(ALS, metrics, k=3, by="age")
    assert_same(found, stacked(expected, "age"))
    assert "model" not in found


@pytest.mark.thorough
def test_intervals_are_those_of_the_users_alone(world: sm.Evaluator, parts: Parts) -> None:
    options: dict[str, Any] = {"ci": "bootstrap", "resamples": 40, "run_ci": True, "seed": 3}
    metrics = ["ndcg@5", "coverage@5"]
    found = world.evaluate(metrics, by="age", **options)
    assert_same(found, parts.expected("age", lambda part: part.evaluate(metrics, **options)))
    assert (found["ci_low"] < found["ci_high"]).mean() > 0.8


@pytest.mark.parametrize("option", [{"by": "country"}, {"by_item": "decade"}], ids=str)
@pytest.mark.thorough
def test_models_are_compared_inside_a_slice(
    world: sm.Evaluator, parts: Parts, option: dict[str, str]
) -> None:
    options: dict[str, Any] = {"baseline": "popular", "test": "wilcoxon", "correction": "none"}
    metrics = ["ndcg@5", "recall@5"]
    found = world.compare(metrics, **option, **options)
    (column,) = option.values()
    assert_same(found, parts.expected(column, lambda part: part.compare(metrics, **options)))


def test_several_columns_slice_by_the_pairs_that_there_are(world: sm.Evaluator) -> None:
    metrics = ["ndcg@5", "surprisal@5", "coverage@5", "auc"]
    found = world.evaluate(metrics, by=["country", "users.age"])
    labels = labels_of_users("country", "age")
    assert ("(none)", "(none)") in labels.values()  # and not the other pairs with one of them
    paired = pd.DataFrame({"user_id": list(labels), "both": list(map("/".join, labels.values()))})
    one = evaluate({**MAIN, "users": paired}, metrics, by="both")
    pairs = one.pop("both").str.split("/", expand=True)
    one.insert(1, "country", pairs[0])
    one.insert(2, "age", pairs[1])
    countries, ages = ["DE", "FR", "US", "(none)"], ["5", "18", "100", "(none)"]
    one = one.sort_values(
        ["model", "country", "age"],
        key=lambda column: column.map(
            {label: place for place, label in enumerate([*countries[:3], *ages])}
            if column.name != "model"
            else str
        ),
        kind="stable",
    ).reset_index(drop=True)
    assert_same(found, one)
    of_metric = found.query("model == 'als' and metric == 'ndcg'")
    assert len(of_metric) == 13  # 4 countries with 3 ages, and who is not in the table


@pytest.mark.thorough
def test_combinations_also_slice_by_fewer_columns(world: sm.Evaluator) -> None:
    metrics = ["ndcg@5", "surprisal@5", "coverage(scale=count)@2", "inter_list_diversity@5"]
    found = world.evaluate(metrics, by=["country", "age"], combinations=True)
    ages = ["5", "18", "100"]
    wanted = [(country, age) for country in ("DE", "FR", "US") for age in (*ages, "(all)")]
    wanted += [("(none)", age) for age in (*ages, "(none)", "(all)")]
    wanted += [("(all)", age) for age in (*ages, "(none)", "(all)")]
    for model, rows in found.groupby("model"):
        pairs = list(zip(rows["country"], rows["age"], strict=True))
        assert list(dict.fromkeys(pairs)) == wanted, model
        assert len(rows) == len(wanted) * len(metrics)

    fewer: list[dict[str, Any]] = [{"by": ["country", "age"]}, {"by": "country"}, {"by": "age"}, {}]
    for options in fewer:
        given = [name for name in ("country", "age") if name in options.get("by", ())]
        rows = found
        for name in ("country", "age"):
            is_all = found[name] == "(all)"
            rows = rows[(~is_all if name in given else is_all).loc[rows.index]]
        rows = rows.drop(columns={"country", "age"} - set(given)).reset_index(drop=True)
        assert_same(rows, world.evaluate(metrics, **options))

    counts = found.query("metric == 'coverage(scale=count)' and model == 'als'")
    counts = counts.set_index(["country", "age"])["value"]
    lists = ALS["recommendations"].sort_values("score", ascending=False)
    shown = lists.groupby("user_id").head(2)
    shown = shown[shown["item_id"].isin(set(WORLD["history"]["item_id"]))]
    assert counts["(all)", "(all)"] == shown["item_id"].nunique()  # not a sum over slices
    assert counts["(all)", "(all)"] < sum(counts[country, "(all)"] for country in ("DE", "FR"))
    french = [user for user, label in labels_of_users("country").items() if label == ("FR",)]
    assert counts["FR", "(all)"] == shown[shown["user_id"].isin(french)]["item_id"].nunique()


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (pd.array([9, 10, -1, 100, None, 9]), ["-1", "9", "10", "100", "(none)"]),
        ([2.5, 10.25, 2.5, None, 3e9, 0.5], ["0.5", "2.5", "10.25", "3000000000.0", "(none)"]),
        ([True, None, False, True, True, False], ["false", "true", "(none)"]),
        (["b", "B", "", "é", None, "10"], ["", "10", "B", "b", "é", "(none)"]),
        (
            [pd.Timestamp(2024, 1, 2).date(), pd.Timestamp(999, 5, 3).date()] * 3,
            ["0999-05-03", "2024-01-02"],
        ),
    ],
    ids=["whole numbers", "numbers", "booleans", "texts", "dates"],
)
def test_slices_come_in_the_order_of_their_values(values: Any, order: list[str]) -> None:
    users = pd.DataFrame({"user_id": [1, 2, 3, 4, 5, 6], "kind of user": values})
    lists = {user: ["a"] for user in range(1, 7)}
    with sm.Evaluator(lists, lists, users=users) as evaluator:
        found = evaluator.evaluate(["recall@1", "mrr"], by="kind of user")
    assert found["kind of user"].drop_duplicates().tolist() == order
    assert found["metric"].tolist() == ["recall", "mrr"] * len(order)
    counts = users["kind of user"].value_counts(dropna=False)
    assert sorted(found["n_users"][::2]) == sorted(counts)


@pytest.mark.parametrize("name", ["slice", "item_slice", "position_1", "label"])
def test_a_column_may_have_a_name_that_the_queries_use(name: str) -> None:
    users = pd.DataFrame({"user_id": [1, 2, 3], name: [10, 9, 100]})
    lists = {1: ["a"], 2: ["b"], 3: ["c"], 4: ["a"]}
    truth = {1: ["a"], 2: ["z"], 3: ["c"], 4: ["a"]}
    with sm.Evaluator(lists, truth, users=users, history=truth) as evaluator:
        found = evaluator.evaluate(["recall@1", "coverage(scale=count)@1"], by=name)
    assert found[name].tolist() == ["9", "9", "10", "10", "100", "100", "(none)", "(none)"]
    assert found["value"].tolist() == [0, 0, 1, 1, 1, 1, 1, 1]


# ---------------------------------------------------------------- columns of lists and of truth


def with_column(table: str, name: str, values: Mapping[int, Any]) -> Tables:
    frame = WORLD[table]
    return {**MAIN, table: frame.assign(**{name: frame["user_id"].map(values)})}


@pytest.mark.thorough
def test_a_column_of_lists_or_truth_is_one_of_their_users() -> None:
    metrics = ["ndcg@5", "coverage@5"]
    arms = {user: "ab"[user % 2] for user in range(1, 41)}
    as_users = pd.DataFrame({"user_id": list(arms), "arm": list(arms.values())})
    expected = evaluate({**MAIN, "users": as_users}, metrics, by="arm")
    assert expected["arm"].unique().tolist() == ["a", "b"]
    of_lists = with_column("recommendations", "arm", arms)  # every user has a list
    assert_same(evaluate(of_lists, metrics, by="arm"), expected)

    judged = set(WORLD["interactions"]["user_id"])
    as_users.loc[~as_users["user_id"].isin(judged), "arm"] = None
    expected = evaluate({**MAIN, "users": as_users}, metrics, by="arm")
    assert set(expected["arm"]) == {"a", "b", "(none)"}
    of_both = {**of_lists, "interactions": with_column("interactions", "arm", arms)["interactions"]}
    with sm.Evaluator(**of_both) as evaluator:
        with pytest.raises(UsageError, match=r"arm.*recommendations\.arm or interactions\.arm"):
            evaluator.evaluate(metrics, by="arm")
        assert_same(evaluator.evaluate(metrics, by="interactions.arm"), expected)


def uneven(table: str, values: Mapping[int, list[Any]]) -> Tables:
    """Repeat values over the rows of the users named; the others have the value 'same'."""
    tables = with_column(table, "arm", dict.fromkeys(range(1, 41), "same"))
    frame = tables[table]
    for user, column in values.items():
        rows = frame.index[frame["user_id"] == user]
        frame.loc[rows, "arm"] = (column * len(rows))[: len(rows)]
    return tables


@pytest.mark.parametrize("table", ["recommendations", "interactions"])
def test_a_user_with_several_values_is_refused(table: str) -> None:
    tables = uneven(table, {3: ["x", "y"], 17: ["x", None]})
    with pytest.raises(DataError) as caught:
        evaluate(tables, ["recall@5"], by="arm")
    lines = str(caught.value).splitlines()
    assert f"{table}, column arm: 2 users" in lines[0]
    assert [line.split() for line in lines[2:4]] == [["3", "x", "y"], ["17", "x", "NULL"]]
    trusted = evaluate(tables, ["recall@5"], by="arm", evaluator={"trust_input": True})
    assert set(trusted["arm"]) >= {"same", "x"}


def test_a_value_that_differs_between_models_is_refused() -> None:
    lists = WORLD["recommendations"]
    tables = {**MAIN, "recommendations": lists.assign(arm=lists["model"])}
    with pytest.raises(DataError, match=r"recommendations, column arm: \d+ users have several"):
        evaluate(tables, ["recall@5"], by="arm")


def test_rows_of_users_may_be_repeated_but_not_differ(world: sm.Evaluator) -> None:
    users = WORLD["users"]
    tables = {**MAIN, "users": pd.concat([users, users[::2]])}
    expected = world.evaluate(["recall@5"], by="country")
    assert_same(evaluate(tables, ["recall@5"], by="country"), expected)
    other = users[users["user_id"] == 4].assign(country="DE")
    with pytest.raises(DataError, match=r"users, column country: 1 users.*\n.*\n +4 +DE +FR\n"):
        evaluate({**MAIN, "users": pd.concat([users, other])}, ["recall@5"], by="country")


@pytest.mark.thorough
def test_a_user_may_have_several_key_columns(world: sm.Evaluator) -> None:
    def in_sessions(frame: pd.DataFrame) -> pd.DataFrame:
        if "user_id" not in frame:
            return frame
        sessions = frame["user_id"].map(lambda user: f"s{user % 2}")
        return frame.assign(session=sessions, user_id=frame["user_id"] // 2)

    tables = {name: in_sessions(frame) for name, frame in {**MAIN, "items": WORLD["items"]}.items()}
    metrics = ["ndcg@5", "surprisal@5", "coverage@5"]
    by: dict[str, Any] = {"by": ["country", "activity(warm_from=3)"], "combinations": True}
    by_item: dict[str, Any] = {"by": "age", "by_item": ["category", "month"]}
    with sm.Evaluator(**tables, key=("user_id", "session")) as evaluator:
        assert_same(evaluator.evaluate(metrics, **by), world.evaluate(metrics, **by))
        found = evaluator.per_user(["recall@5"], **by_item)
        found["user_id"] = found["user_id"] * 2 + (found.pop("session") == "s1")
        assert_same(found, world.per_user(["recall@5"], **by_item))

        doubled = pd.concat([tables["users"], tables["users"].query("user_id == 3")])
        doubled["country"] = [*tables["users"]["country"], "US", "US"]
    with (
        sm.Evaluator(**{**tables, "users": doubled}, key=("user_id", "session")) as evaluator,
        pytest.raises(DataError, match=r"user_id +session .*\n +3 +s0 .*\n +3 +s1 "),
    ):
        evaluator.evaluate(["recall@5"], by="country")


# ---------------------------------------------------------------- derived slices


Labels = Callable[[str], dict[str, Any]]


@contextlib.contextmanager
def labels_by(history: Mapping[str, list[str]]) -> Iterator[Labels]:
    """Yield what says the label of every user of a history, of nobody, and the order of labels."""
    users = [*history, "nobody"]
    lists = {user: ["a"] for user in users}
    rows = [(user, item) for user, items in history.items() for item in items]
    past = pd.DataFrame(rows, columns=["user_id", "item_id"])
    with sm.Evaluator(lists, lists, history=past) as evaluator:

        def labels(by: str) -> dict[str, Any]:
            name = by.partition("(")[0]
            frame = evaluator.per_user(["recall@1"], by=by)
            order = evaluator.evaluate(["recall@1"], by=by)[name].tolist()
            assert frame["user_id"].tolist() == sorted(users)
            return {**dict(zip(frame["user_id"], frame[name], strict=True)), "order": order}

        yield labels


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
    with sm.Evaluator({"u": judged}, {"u": judged}, history=past, items=set(judged)) as evaluator:
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
    with sm.Evaluator(
        {"u": ["c"]}, {"u": list("abz")}, history=history, trust_input=True
    ) as evaluator:
        found = evaluator.evaluate(["precision(divisor=length)@1", "recall@1"], by="popularity")
    assert found["popularity"].tolist() == ["head", "head", "tail", "tail", "new", "new"]
    assert found["n_users"].tolist() == [1] * 6
    assert found["value"].tolist() == [0] * 6  # c is in the list, and not relevant


@pytest.mark.thorough
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
    with sm.Evaluator(lists, truth, settings={"duplicate_interactions": "set"}) as evaluator:
        found = evaluator.per_user(["mrr"], by_item="month")
    assert found[["user_id", "month", "mrr"]].to_numpy().tolist() == [
        [1, "2024-01", 1], [1, "2024-03", 0.5], [2, "2023-12", 0.5],
    ]  # fmt: skip


def test_slices_inside_a_month_come_in_their_order() -> None:
    days = ["2024-01-20", "2024-01-10", "2024-01-01", "2024-02-02", "2024-02-01"]
    truth = pd.DataFrame({"user_id": [1, 2, 3, 1, 2], "item_id": ["a", "b", "c", "b", "a"],
                          "timestamp": [pd.Timestamp(day) for day in days]})  # fmt: skip
    lists = {user: ["a", "b", "c"] for user in (1, 2, 3)}
    with sm.Evaluator(lists, truth, history={9: ["a", "b"], 8: ["a"]}) as evaluator:
        found = evaluator.evaluate(
            ["recall"], by=["month", "popularity(head_share=0.5)"], combinations=True
        )
    # the earliest of January is new, the next of the tail
    assert list(zip(found["month"], found["popularity"], strict=True)) == [
        *[("2024-01", label) for label in ("head", "tail", "new", "(all)")],
        *[("2024-02", label) for label in ("head", "tail", "(all)")],
        *[("(all)", label) for label in ("head", "tail", "new", "(all)")],
    ]


# ---------------------------------------------------------------- slices of items


@pytest.mark.thorough
def test_items_of_a_genre_are_all_that_is_relevant(world: sm.Evaluator, parts: Parts) -> None:
    """Every metric that has slices of items; `l` is not in items, `j` and `k` have no genre."""
    assert items_of("(none)") == ["j", "k", "l"]
    assert items_of("rock") == ["a", "b", "e", "g", "i"]  # i, which has it twice, once
    found = world.evaluate(JUDGED, k=4, by_item="category")
    assert_same(found, parts.expected("category", lambda part: part.evaluate(JUDGED, k=4)))


@pytest.mark.thorough
def test_cutoffs_and_whole_lists_by_item(world: sm.Evaluator, parts: Parts) -> None:
    metrics = ["map@1", "map", "ndcg(gain=linear)", "roc_auc@6", "roc_auc"]
    found = world.evaluate(metrics, by_item="decade")
    assert_same(found, parts.expected("decade", lambda part: part.evaluate(metrics)))
    assert_same(world.evaluate(metrics, by="items.decade"), found)


def test_slices_of_items_for_one_model() -> None:
    found = evaluate(ALS, ["ndcg@3", "recall@3"], by_item="decade")
    tables = of_items(ALS, items_of_decade("90"))
    expected = evaluate(tables, ["ndcg@3", "recall@3"])
    rows = found[found["decade"] == "90"].reset_index(drop=True)
    assert_same(rows, stacked({"90": expected}, "decade"))
    assert found["decade"].tolist()[::2] == ["90", "800", "2000", "(none)"]


def test_lists_and_ranks_stay_as_they_are() -> None:
    lists, truth = {"u": list("abcd")}, {"u": ["b", "d", "z"]}
    items = pd.DataFrame({"item_id": list("abd"), "kind": ["x", "x", "y"]})
    with sm.Evaluator(lists, truth, items=items) as evaluator:
        found = evaluator.evaluate(["mrr", "recall@3", "precision@4"], by_item="kind")
    # b at place 2 is all that is relevant in x, d at place 4 in y, z is in no list
    rows = found.pivot(index="kind", columns="metric", values="value")
    assert rows.loc["x"].to_dict() == {"mrr": 1 / 2, "recall": 1, "precision": 1 / 4}
    assert rows.loc["y"].to_dict() == {"mrr": 1 / 4, "recall": 0, "precision": 1 / 4}
    assert rows.loc["(none)"].to_dict() == {"mrr": 0, "recall": 0, "precision": 0}


def test_the_highest_grade_is_that_of_all_slices() -> None:
    """A grade means the same in every slice: without max_grade, the highest of all there is."""
    truth = WORLD["interactions"].query("item_id == 'b' or relevance < 3")
    tables = {**MAIN, "interactions": truth, "items": WORLD["items"]}
    asked: list[dict[str, Any]] = [{"by": "country"}, {"by_item": "item_id"}]
    assert truth["relevance"].max() == 3
    with sm.Evaluator(**tables) as evaluator:
        for options in asked:
            found = evaluator.evaluate(["err@5", "pfound@5"], **options)
            graded = evaluator.evaluate(["err(max_grade=3)@5", "pfound(max_grade=3)@5"], **options)
            assert_same(found[["value", "n_users"]], graded[["value", "n_users"]])


def many_users() -> Tables:
    """Return lists of 100 for 900 users, with 20 interactions each in two of eight months."""
    random_numbers = np.random.default_rng(1)
    users = np.arange(900)
    lists = pd.DataFrame({"user_id": users.repeat(100)})
    lists["rank"] = np.tile(np.arange(1, 101), len(users))
    lists["item_id"] = lists["user_id"] * 7 % 1500 + lists["rank"]
    truth = pd.DataFrame({"user_id": users.repeat(20)})
    truth["item_id"] = truth["user_id"] * 7 % 1500 + np.tile(np.arange(1, 161, 8), len(users))
    month = truth["user_id"] % 8 + random_numbers.integers(0, 2, len(truth))
    truth["timestamp"] = pd.Timestamp("2024-01-15") + pd.to_timedelta(30 * month, unit="D")
    items = pd.DataFrame({"item_id": np.arange(1700)})
    items["category"] = [[f"c{i % 7}", f"d{i % 5}"] for i in items["item_id"]]
    return {
        "recommendations": lists, "interactions": truth, "items": items,
        "history": truth[["user_id", "item_id"]].iloc[::3],
    }  # fmt: skip


@pytest.mark.parametrize("by", [["month"], ["popularity", "items.category"]], ids=",".join)
def test_slices_of_items_fit_into_little_memory(by: list[str]) -> None:
    """Joined on the slice without the user, they would be a hundred million rows and more."""
    with sm.Evaluator(**many_users(), memory_limit="200MB", temp_limit="20MB") as evaluator:
        found = evaluator.evaluate("recall@10", by=by)
        whole = evaluator.evaluate("recall@10", by=by, combinations=True)
    assert len(whole) > len(found) > 8
    assert found["n_users"].min() > 0


@pytest.mark.parametrize("by", ["month", "popularity", "items.category"])
def test_the_user_and_the_slice_of_a_row_come_from_one_table(by: str) -> None:
    """From two tables, an engine may join all users of a slice with each other."""
    with sm.Evaluator(**many_users()) as evaluator:
        statement = sqlglot.parse_one(evaluator.sql(["recall@10", "ndcg@10"], by=by), "duckdb")
    queries = {cte.alias: cte.this for cte in statement.find_all(exp.CTE)}
    assert {"item_slices", "judged_by_item", "hit_ranks_by_item"} <= set(queries)
    for name in ("judged_by_item", "hit_ranks_by_item"):
        columns = {column.alias_or_name: column for column in queries[name].expressions}
        tables = {columns[key].table for key in ("user_id", "item_id", "item_slice")}
        assert tables == {"item_slices"}, name


@pytest.mark.thorough
def test_who_is_averaged_over_in_a_slice_of_items(world: sm.Evaluator, parts: Parts) -> None:
    choices = [
        "audience=recommended", "audience=judged", "audience=both", "audience=either",
        "no_recommendations=drop", "audience=judged, no_relevant=drop", "no_hits=drop",
        "relevant_from=2", "audience=recommended, no_relevant=drop",
    ]  # fmt: skip
    metrics = [f"recall({choice})@2" for choice in choices]
    found = world.evaluate(metrics, by_item="category")
    assert_same(found, parts.expected("category", lambda part: part.evaluate(metrics)))
    assert found["n_users"].nunique() > len(choices)  # they are different users


@pytest.mark.thorough
def test_repeated_interactions_in_a_slice_of_items() -> None:
    truth = WORLD["interactions"]
    repeated = pd.concat([truth, truth[::3].assign(relevance=1)])
    tables = {**MAIN, "interactions": repeated, "items": WORLD["items"]}
    metrics = [f"recall(duplicate_interactions={choice})@5" for choice in ("set", "bag")]
    found = evaluate(tables, metrics, by_item="decade")
    expected = {
        decade: evaluate(of_items(tables, items_of_decade(decade)), metrics)
        for decade in Parts.SLICES["decade"]
    }
    assert_same(found, stacked(expected, "decade"))


def test_combinations_of_columns_of_items(world: sm.Evaluator) -> None:
    metrics = ["ndcg@5", "recall@5"]
    found = world.evaluate(metrics, by_item=["category", "decade"], combinations=True)
    rows = found.query("category == '(all)' and decade == '(all)'")
    rows = rows.drop(columns=["category", "decade"]).reset_index(drop=True)
    assert_same(rows, world.evaluate(metrics))  # items in several genres count once
    rows = found.query("category == '(all)' and decade != '(all)'")
    rows = rows.drop(columns="category").reset_index(drop=True)
    assert_same(rows, world.evaluate(metrics, by_item="decade"))
    rows = found.query("category != '(all)' and decade == '(all)'")
    rows = rows.drop(columns="decade").reset_index(drop=True)
    assert_same(rows, world.evaluate(metrics, by_item="category"))
    rows = found.query("category == 'rock' and decade == '90'").reset_index(drop=True)
    both = set(items_of("rock")) & set(items_of_decade("90"))
    assert both == {"b", "i"}
    expected = evaluate(of_items(WORLD, both), metrics)
    assert_same(rows, stacked({("rock", "90"): expected}, "category", "decade"))


def test_users_and_items_are_sliced_together(world: sm.Evaluator, parts: Parts) -> None:
    metrics = ["ndcg@5", "recall@5"]
    both: dict[str, Any] = {"by": "country", "combinations": True}
    found = world.evaluate(metrics, by_item="category", **both)
    assert list(found.columns)[:4] == ["model", "country", "category", "metric"]
    by_country = {
        genre: parts.get("category", genre).evaluate(metrics, **both)
        for genre in Parts.SLICES["category"]
    }
    by_country["(all)"] = world.evaluate(metrics, **both)
    expected = {
        (country, genre): frame[frame["country"] == country].drop(columns="country")
        for country in (*Parts.SLICES["country"], "(all)")
        for genre, frame in by_country.items()
    }
    assert_same(found, stacked(expected, "country", "category"))


def test_metrics_of_other_items_have_no_slices_of_items(world: sm.Evaluator) -> None:
    metrics = Catalog.load().metrics.values()
    for metric in metrics:
        asked = next((one for one in (*LISTED, *OF_RUNS) if one.startswith(metric.name)), "")
        if not asked:
            assert any(one.startswith(metric.name) for one in JUDGED), metric.name
            continue
        with pytest.raises(UsageError) as caught:
            world.evaluate(["recall@5", f"{asked}@5"], by_item="category")
        message = str(caught.value)
        assert message.startswith(metric.name)
        assert "slices of items are for metrics of the relevant items alone" in message
        assert ("one value for all users together" in message) == (metric.grain == "run")
    with pytest.raises(UsageError, match=r"^coverage has one value for all users together"):
        world.evaluate(["recall@5", "coverage@5"], by="month")
    with pytest.raises(UsageError, match=r"^popularity reads"):
        world.per_user(["popularity@5"], by_item="popularity")


def test_an_audience_that_does_not_depend_on_the_slice_is_refused(world: sm.Evaluator) -> None:
    with pytest.raises(UsageError, match="baseline_users"):
        world.evaluate(["recall(audience=baseline)@5"], by_item="category")


def test_aspects_of_users_have_no_slices_of_items() -> None:
    own = WORLD["interactions"].assign(aspect="x")[["user_id", "item_id", "aspect"]]
    with sm.Evaluator(**MAIN, items=WORLD["items"], aspects=own) as evaluator:
        found = evaluator.evaluate(["alpha_ndcg@5"], by="country")
        assert found["country"].unique().tolist() == Parts.SLICES["country"]
        with pytest.raises(UsageError, match="alpha_ndcg reads aspects"):
            evaluator.evaluate(["alpha_ndcg@5"], by_item="decade")


# ---------------------------------------------------------------- conventions


@pytest.mark.parametrize(
    "options",
    [{"by": ["country", "activity(warm_from=4)"]}, {"by": "age", "by_item": "category"}],
    ids=["users", "items"],
)
@pytest.mark.thorough
def test_conventions_are_sliced_as_each_alone(options: dict[str, Any]) -> None:
    names = ["standard", "trec_eval", "recbole"]
    metrics = ["recall@5", "ndcg@5"]
    tables = {**MAIN, "items": WORLD["items"]}
    found = evaluate(tables, metrics, evaluator={"convention": names}, **options)
    assert list(found.columns)[:2] == ["model", "convention"]
    values = set()
    for name in names:
        rows = found[found["convention"] == name].drop(columns="convention").reset_index(drop=True)
        assert_same(rows, evaluate(tables, metrics, evaluator={"convention": name}, **options))
        values.add(tuple(rows["value"].round(9)))
    assert len(values) == len(names)  # they do differ here
    of_slice = found.groupby(["model", *found.columns[2:4]], sort=False)
    assert all(set(rows["convention"]) == set(names) for _, rows in of_slice)


# ---------------------------------------------------------------- values per user


def test_rows_of_users_say_their_slices(world: sm.Evaluator) -> None:
    labels = labels_of_users("country", "age")
    metrics = ["ndcg@3", "surprisal@5"]
    found = world.per_user(metrics, by=["country", "age"])
    plain = world.per_user(metrics)
    assert list(found.columns) == ["model", "user_id", "country", "age", "k", "ndcg", "surprisal"]
    for place, name in enumerate(("country", "age")):
        expected = [labels[user][place] for user in found["user_id"]]
        assert found[name].tolist() == expected
    assert_same(found.drop(columns=["country", "age"]), plain)


@pytest.mark.thorough
def test_rows_of_users_come_once_per_slice_of_items(world: sm.Evaluator, parts: Parts) -> None:
    found = world.per_user(["ndcg@5"], by="country", by_item="category")
    assert list(found.columns) == ["model", "user_id", "country", "category", "k", "ndcg"]

    expected = {
        genre: parts.get("category", genre).per_user(["ndcg@5"], by="country")
        for genre in Parts.SLICES["category"]
    }
    keys = ["model", "user_id", "category"]
    alone = stacked(expected, "category", before="k").sort_values(keys).reset_index(drop=True)
    assert_same(found.sort_values(keys).reset_index(drop=True), alone)
    assert not found.duplicated(keys).any()
    means = found.groupby(["model", "country", "category"], sort=False)["ndcg"].mean()
    table = world.evaluate(["ndcg@5"], by="country", by_item="category")
    indexed = table.set_index(["model", "country", "category"])["value"]
    np.testing.assert_allclose(indexed.sort_index(), means.sort_index(), rtol=1e-12)


# ---------------------------------------------------------------- slices of one's own

LENGTH = """
{#---
title = "short and long lists"
missing = "no list"

[params.long_from]
type = "number"
whole = true
default = 5
doc = "the number of items from which on a list is long"
---#}
-- one row per user with a list
SELECT
    {{ user_keys }},
    CASE WHEN max(n_recommended) >= {{ long_from }} THEN 'long' ELSE 'short' END AS label,
    -max(n_recommended) >= {{ -long_from + 1 }} AS position
FROM lists
GROUP BY {{ user_keys }}
"""
GRADE = """
{#---
title = "the grade"
of = "interactions"
---#}
-- one row per judged item of a user
SELECT
    {{ user_keys }},
    item_id,
    'grade ' || CAST(CAST(relevance AS INTEGER) AS VARCHAR) AS label,
    -relevance AS position
FROM judged
"""


def own_slices(folder: Path, **files: str) -> Path:
    (folder / "slices").mkdir()
    for name, text in files.items():
        (folder / "slices" / f"{name}.sql.j2").write_text(text.lstrip(), encoding="utf-8")
    return folder


@pytest.mark.thorough
def test_a_template_of_ones_own_slices(tmp_path: Path) -> None:
    evaluator = {"templates": own_slices(tmp_path, length=LENGTH, grade=GRADE)}
    metrics = ["recall@5", "coverage@5"]
    tables = {**MAIN, "recommendations": ALS["recommendations"]}
    sizes = tables["recommendations"].groupby("user_id").size()
    long_ = set(sizes[sizes >= 9].index)
    expected = {
        "long": evaluate(of_users(tables, long_), metrics),
        "short": evaluate(of_users(tables, set(sizes.index) - long_), metrics),
    }
    with sm.Evaluator(**tables, **evaluator) as own:
        found = own.evaluate(metrics, by="length(long_from=9)")
        assert found["length"].drop_duplicates().tolist() == ["long", "short", "no list"]
        with_list = found[found["length"] != "no list"].reset_index(drop=True)
        assert_same(with_list, stacked(expected, "length"))
        with pytest.raises(UsageError, match=r"length has no parameter 'long'; did you mean"):
            own.evaluate(metrics, by="length(long=9)")
        with pytest.raises(UsageError, match=r"nothing called 'lenght'.*did you mean 'length'"):
            own.evaluate(metrics, by="lenght")

    truth = tables["interactions"]
    of_grades = {
        f"grade {grade}": evaluate(
            {**tables, "interactions": truth[truth["relevance"] == grade]}, ["recall@5"]
        )
        for grade in (3, 2, 1)
    }
    found = evaluate(tables, ["recall@5"], by_item="grade", evaluator=evaluator)
    nobody = found["n_users"] == 0
    assert found[nobody]["grade"].tolist() == ["grade 0"]  # judged, and relevant to nobody
    assert found[nobody]["value"].isna().all()
    assert_same(found[~nobody].reset_index(drop=True), stacked(of_grades, "grade"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("activity", LENGTH, "there is already a slice activity"),
        ("other", GRADE.replace('"interactions"', '"lists"'), "of is 'users', 'items' or"),
        ("other", LENGTH.replace("missing", "mising"), "unknown entries in the front matter"),
    ],
)
def test_a_template_that_is_none(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        sm.Evaluator(**ALS, templates=own_slices(tmp_path, **{name: text}))


# ---------------------------------------------------------------- what is refused

ERRORS: list[tuple[dict[str, Any], type[SqlmetricsError], str]] = [
    ({"by": "contry"}, UsageError, r"nothing called 'contry'.*did you mean 'country'"),
    ({"by": "actvity"}, UsageError, r"nothing called 'actvity'.*did you mean 'activity'"),
    ({"by_item": "catgory"}, UsageError, r"nothing called 'catgory'.*did you mean 'category'"),
    ({"by": "users.contry"}, UsageError, r"users.*no column 'contry'.*'country'"),
    ({"by": "user.country"}, UsageError, r"'user'.*did you mean 'users'"),
    ({"by": "history.item_id"}, UsageError, r"not in 'history'"),
    ({"by": "category"}, UsageError, r"column of items: write items\.category"),
    ({"by_item": "country"}, UsageError, r"nothing called 'country'"),
    ({"by_item": "activity"}, UsageError, r"nothing called 'activity'"),
    ({"by": "shared"}, UsageError, r"users\.shared or recommendations\.shared"),
    ({"by": "users.user_id"}, UsageError, r"results have a column user_id"),
    ({"by": "std"}, UsageError, r"results have a column std"),
    ({"by": "P_Value"}, UsageError, r"results have a column P_Value"),
    ({"by_item": "metric"}, UsageError, r"results have a column metric"),
    ({"by": ["country", "country"]}, UsageError, r"country is there twice"),
    ({"by": ["country", "users.country"]}, UsageError, r"country is there twice"),
    ({"by": ["country", "COUNTRY"]}, UsageError, r"COUNTRY is there twice"),
    ({"by": ["activity", "activity(warm_from=3)"]}, UsageError, r"activity is there twice"),
    ({"by": "month", "by_item": "month"}, UsageError, r"month is there twice"),
    ({"combinations": True}, UsageError, r"combinations are of columns to slice by"),
    ({"by": [], "combinations": True}, UsageError, r"combinations are of columns to slice by"),
    ({"by": ""}, UsageError, r"'' is not the name"),
    ({"by": [3]}, UsageError, r"3 is not the name"),
    ({"by": "activity(warm_form=3)"}, UsageError, r"'warm_form'; did you mean 'warm_from'"),
    ({"by": "activity(warm_from=0)"}, UsageError, r"warm_from must be a whole number >= 1"),
    ({"by": "activity_group(groups=2.5)"}, UsageError, r"groups must be a whole number"),
    ({"by": "popularity(head_share=1.5)"}, UsageError, r"head_share must be .*<= 1"),
    ({"by": "popularity(head_share=0)"}, UsageError, r"head_share must be .*> 0"),
    ({"by": "month(first=1)"}, UsageError, r"month has no parameter 'first'"),
    ({"by": "activity@5"}, UsageError, r"a slice has no cutoff"),
    ({"by": "hobbies"}, DataError, r"users, column hobbies: .*\[\].*one value per row"),
    ({"by": "address"}, DataError, r"users, column address: .*STRUCT.*one value per row"),
    ({"by_item": "maker"}, DataError, r"items, column maker: .*STRUCT.*one value per row"),
]


@pytest.fixture(scope="module", name="odd")
def evaluator_with_odd_columns() -> Iterable[sm.Evaluator]:
    users = WORLD["users"].assign(
        std=1, P_Value=1, shared=1, hobbies=[["x"]] * 41, address=[{"city": "x"}] * 41
    )
    items = WORLD["items"].assign(metric=1, maker=[{"name": "x"}] * 11)
    lists = ALS["recommendations"].assign(shared=1)
    tables = {**ALS, "users": users, "items": items, "recommendations": lists}
    with sm.Evaluator(**tables) as evaluator:
        yield evaluator


@pytest.mark.parametrize(("options", "kind", "message"), ERRORS, ids=[str(e[0]) for e in ERRORS])
def test_what_cannot_be_sliced_by(
    odd: sm.Evaluator, options: dict[str, Any], kind: type[SqlmetricsError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        odd.evaluate(["recall@5"], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "users.country"}, r"users.country.*--users FILE"),
        ({"by": "items.category"}, r"items.category.*--items FILE"),
        ({"by": "activity"}, r"history.*--history FILE"),
        ({"by_item": "popularity"}, r"history.*--history FILE"),
        ({"by": "month"}, r"column timestamp.*interactions\.timestamp"),
    ],
    ids=str,
)
def test_a_table_or_column_that_was_not_given(options: dict[str, Any], message: str) -> None:
    with (
        sm.Evaluator({1: ["a"]}, {1: ["a"]}) as evaluator,
        pytest.raises(MissingTableError, match=message),
    ):
        evaluator.evaluate(["recall@5"], **options)


def test_a_table_that_was_not_given_is_named_for_a_bare_column() -> None:
    with sm.Evaluator({1: ["a"]}, {1: ["a"]}) as evaluator:
        with pytest.raises(UsageError, match=r"'country'.*users was not given \(--users FILE\)"):
            evaluator.evaluate(["recall@5"], by="country")
        with pytest.raises(UsageError, match=r"'category'.*items was not given \(--items FILE\)"):
            evaluator.evaluate(["recall@5"], by_item="category")


def test_a_timestamp_that_is_none_is_named() -> None:
    for times in ([1704067200, 1706745600], ["1 Jan 2024", "February"]):
        truth = pd.DataFrame({"user_id": [1, 1], "item_id": ["a", "b"], "timestamp": times})
        with (
            sm.Evaluator({1: ["a", "b"]}, truth) as evaluator,
            pytest.raises((DataError, UsageError), match=r"interactions.*timestamp"),
        ):
            evaluator.evaluate(["recall"], by="month")


def test_ids_of_users_that_are_of_another_type_are_refused() -> None:
    users = WORLD["users"].assign(user_id=WORLD["users"]["user_id"].astype(str))
    with pytest.raises(DataError, match=r"users.*different types"):
        evaluate({**MAIN, "users": users}, ["recall@5"], by="country")


def test_a_slice_in_which_a_model_has_no_list_has_all_rows() -> None:
    users = pd.DataFrame({"user_id": [1, 2, 3], "kind": ["x", "x", "y"]})
    rows = [("als", 1, "a", 1), ("als", 2, "b", 1), ("als", 3, "c", 1), ("new", 1, "b", 1)]
    lists = pd.DataFrame(rows, columns=["model", "user_id", "item_id", "rank"])
    truth = {1: ["b"], 2: ["b"], 3: ["c"]}
    metrics = ["recall@1", "coverage@1", "inter_list_diversity@1"]
    with sm.Evaluator(lists, truth, users=users, history={9: list("abcd")}) as evaluator:
        found = evaluator.evaluate(metrics, by="kind").set_index(["model", "kind"])
    values = {key: rows["value"].tolist() for key, rows in found.groupby(level=[0, 1])}
    assert values == {
        ("als", "x"): pytest.approx([1 / 2, 2 / 4, 1]),
        ("als", "y"): pytest.approx([1, 1 / 4, np.nan], nan_ok=True),
        ("new", "x"): pytest.approx([1 / 2, 1 / 4, np.nan], nan_ok=True),
        ("new", "y"): pytest.approx([0, 0, np.nan], nan_ok=True),
    }


def test_slices_where_nobody_is_averaged_over() -> None:
    users = pd.DataFrame({"user_id": [1, 2], "kind": ["x", "y"]})
    items = pd.DataFrame({"item_id": ["a", "b"], "genre": ["p", "q"]})
    truth = pd.DataFrame({"user_id": [1, 2], "item_id": ["a", "b"], "relevance": [0, 0]})
    tables = {"recommendations": {1: ["a"], 2: ["b"]}, "users": users, "items": items}
    with sm.Evaluator(**tables, interactions=truth) as evaluator:
        found = evaluator.evaluate(["recall@1"], by="kind")
        expected = evaluator.evaluate(["recall@1"])
        assert evaluator.per_user(["recall@1"], by="kind", by_item="genre").empty
    assert list(found.columns) == ["kind", *expected.columns]
    assert found["n_users"].sum() == expected["n_users"].sum() == 0
    assert found["value"].isna().all()


def test_a_user_whose_label_looks_like_a_total_counts_once() -> None:
    users = pd.DataFrame({"user_id": [1, 2], "kind": ["(all)", "x"]})
    lists, truth = {1: ["a"], 2: ["b"], 3: ["c"]}, {1: ["a"], 2: ["z"], 3: ["z"]}
    with sm.Evaluator(lists, truth, users=users, history=lists) as evaluator:
        found = evaluator.evaluate(["recall@1"], by="kind", combinations=True)
        expected = evaluator.evaluate(["recall@1"])
    total = found[found["kind"] == "(all)"]
    assert total["n_users"].max() == expected["n_users"].item() == 3
    assert expected["value"].item() in [pytest.approx(value) for value in total["value"]]


# ---------------------------------------------------------------- what holds for any slices


LABELS = st.lists(st.sampled_from(["a", "b", None, "absent"]), min_size=8, max_size=8)
TRUTHS = st.lists(st.sets(st.sampled_from("uvwxyz"), min_size=1), min_size=8, max_size=8)


@pytest.mark.thorough
@settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(labels=LABELS, truths=TRUTHS)
def test_slices_of_users_add_up(labels: list[str | None], truths: list[set[str]]) -> None:
    known = {user: label for user, label in enumerate(labels) if label != "absent"}
    users = pd.DataFrame({"user_id": [99, *known], "kind": ["never", *known.values()]})
    lists = {user: list("zyxwvu"[user % 3 :]) for user in range(7)}  # user 7 has none
    truth = {user: sorted(items) for user, items in enumerate(truths)}
    with sm.Evaluator(lists, truth, users=users) as evaluator:
        sliced = evaluator.evaluate(["ndcg@4", "recall@2"], by="kind")
        overall = evaluator.evaluate(["ndcg@4", "recall@2"])
    for _, row in overall.iterrows():
        parts = sliced[sliced["metric"] == row["metric"]]
        assert parts["n_users"].sum() == row["n_users"] == 8
        mean = (parts["value"] * parts["n_users"]).sum() / 8
        assert mean == pytest.approx(row["value"], abs=1e-12)


# ---------------------------------------------------------------- the statement


@pytest.fixture(scope="module", name="files")
def world_in_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("world")
    for name, frame in WORLD.items():
        frame.to_parquet(folder / f"{name}.parquet", row_group_size=50)
    return {name: str(folder / f"{name}.parquet") for name in WORLD}


STATEMENTS: list[dict[str, Any]] = [
    {"by": ["country", "activity_group(groups=3)"], "combinations": True, "runs": True},
    {"by_item": ["category", "popularity"], "combinations": True},
    {"by": "age", "by_item": "month"},
    {"by": "age", "by_item": "category", "per_user": True},
]


@pytest.mark.parametrize("options", STATEMENTS, ids=str)
@pytest.mark.thorough
def test_the_statement_runs_alone(
    files: dict[str, str], world: sm.Evaluator, options: dict[str, Any]
) -> None:
    asked = dict(options)
    metrics = ["ndcg@5", "recall@5"]
    if asked.pop("runs", False):
        metrics += ["coverage@5", "inter_list_diversity@5"]
    with sm.Evaluator(**files) as evaluator:
        statement = evaluator.sql(metrics, **asked)
    method = world.per_user if asked.pop("per_user", False) else world.evaluate
    expected = method(metrics, **asked)
    with duckdb.connect() as connection:
        found = connection.execute(statement).df()
    assert list(found.columns) == list(expected.columns)
    assert len(found) > 20
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, **EXACT)


@pytest.mark.parametrize("metric", ["ctr", "ips", "snips", "dr"])
def test_the_support_of_a_slice_without_lists_is_0(metric: str) -> None:
    # slice a: one of two items is in the logs; b: none is; c: judged, but without a list
    recs = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [1, 2, 1], "score": [0.9, 0.8, 0.7]})
    logs = pd.DataFrame({"user_id": [1], "item_id": [1], "reward": [1.0], "propensity": [0.5]})
    truth = pd.DataFrame({"user_id": [1, 2, 3], "item_id": [1, 2, 1]})
    users = pd.DataFrame({"user_id": [1, 2, 3], "part": ["a", "b", "c"]})
    calls = [
        "recall@2",
        *(f"{metric}(statistic={s})@2" for s in ("support", "effective_sample_size")),
    ]
    with sm.Evaluator(recs, truth, logs=logs, users=users) as evaluator:
        found = evaluator.evaluate(calls, by="part")
    values = found.assign(what=found["metric"].str.extract(r"statistic=(\w+)")[0])
    of = {(part, what): v for part, what, v in values[["part", "what", "value"]].to_numpy()}
    assert [of[part, "support"] for part in "abc"] == [1, 0, 0]
    assert of["a", "effective_sample_size"] == 1  # of nothing, it is undefined
    assert all(
        of[part, "effective_sample_size"] != of[part, "effective_sample_size"] for part in "bc"
    )
