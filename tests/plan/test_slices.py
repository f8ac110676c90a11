"""Slices of users and of items, against what the definition says: filter the tables, evaluate.

A slice of users is compared with an evaluator over the rows of these users alone, a slice of items
with one whose interactions are those with the items of the slice and whose lists are whole. Tables
are filtered in pandas, and those evaluators know of no slices. The labels of derived slices (by
activity, popularity, month) are worked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sqlmetrics as sm
from sqlmetrics.errors import (
    DataError,
    MissingTableError,
    RowsError,
    SqlmetricsError,
    TemplateError,
    UsageError,
)
from tests.support.evaluators import Evaluator
from tests.support.sliced_world import (
    ALS,
    EXACT,
    LISTED,
    MAIN,
    OF_RUNS,
    WORLD,
    Parts,
    Tables,
    assert_same,
    evaluate,
    labels_of_users,
    of_users,
    stacked,
)

OF_USERS = [  # of every kind, also those that are no means or are undefined for some
    "ndcg(gain=exponential)", "recall", "alpha_ndcg", "money_recall", "err(max_grade=3)",
    "kendall_tau", *LISTED, "recall(aggregate=median)", "precision(aggregate=max)",
]  # fmt: skip


# ---------------------------------------------------------------- slices of users


def test_a_slice_has_the_values_of_its_users_alone(world: sm.Evaluator, parts: Parts) -> None:
    # the popularity that debiased limits is that among all users
    metrics = [*OF_USERS, *(one for one in OF_RUNS if not one.startswith("debiased"))]
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


def test_debiased_limits_the_popularity_among_all_users() -> None:
    truth = {f"v{n}": ["p"] for n in (0, 7, 8, 9)} | {
        f"v{n}": ["p", own] for n, own in enumerate("abccdd", start=1)
    }
    lists = {"v1": ["p", "x"], "v2": ["b", "x"], "v7": ["p", "y"], "v8": ["x", "y"]}
    users = pd.DataFrame(
        {"user_id": list(truth), "country": ["A" if u == "v1" else "B" for u in truth]}
    )
    with Evaluator(lists, truth, users=users) as evaluator:
        found = evaluator.evaluate("debiased(of=precision)@2", by="country")
    # The items have 1, 1, 2, 2 and 10 users: quartiles 1 and 2, border 3, and p is left with 3/10.
    # v1 has a hit of p at 2 places, and a is left. In B: b of v2 and p of v7; v2 to v6 have an item
    # that is left, and v0, v7, v8 and v9 have p alone.
    expected = [3 / 10 / 2 / 1, (1 + 3 / 10) / 2 / (5 + 4 * 3 / 10)]
    assert found["value"].to_list() == pytest.approx(expected, rel=1e-12)


def test_debiased_recall_of_more_than_a_hundred_relevant_items() -> None:
    own = [f"i{n}" for n in range(100)]
    truth = {"u": ["p", *own]} | {f"v{n}": ["p"] for n in range(9)}
    # p has ten users, every other item one: border 1, and p is left with 1/10. Nine users have p
    # alone. Of u, 100 + 1/10 items are left on average; one of them is i0, so m is 1 + 99 + 1/10.
    kept, m = 1 / 10, 100.1
    for item, hit in (("p", kept / 101), ("i0", 1 / m + kept * (1 - kept) / m**3)):
        with Evaluator({"u": [item]}, truth) as evaluator:
            found = evaluator.evaluate("debiased(of=recall)@1")["value"].item()
        assert found == pytest.approx(hit / (1 + 9 * kept), rel=1e-12)


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


def test_intervals_are_those_of_the_users_alone(world: sm.Evaluator, parts: Parts) -> None:
    options: dict[str, Any] = {"ci": "bootstrap", "resamples": 40, "run_ci": True, "seed": 3}
    metrics = ["ndcg@5", "coverage@5"]
    found = world.evaluate(metrics, by="age", **options)
    assert_same(found, parts.expected("age", lambda part: part.evaluate(metrics, **options)))
    assert (found["ci_low"] < found["ci_high"]).mean() > 0.8


@pytest.mark.parametrize("option", [{"by": "country"}, {"by_item": "decade"}], ids=str)
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
    with Evaluator(lists, lists, users=users) as evaluator:
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
    with Evaluator(lists, truth, users=users, history=truth) as evaluator:
        found = evaluator.evaluate(["recall@1", "coverage(scale=count)@1"], by=name)
    assert found[name].tolist() == ["9", "9", "10", "10", "100", "100", "(none)", "(none)"]
    assert found["value"].tolist() == [0, 0, 1, 1, 1, 1, 1, 1]


# ---------------------------------------------------------------- columns of lists and of truth


def with_column(table: str, name: str, values: Mapping[int, Any]) -> Tables:
    frame = WORLD[table]
    return {**MAIN, table: frame.assign(**{name: frame["user_id"].map(values)})}


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
    with Evaluator(**of_both) as evaluator:
        with pytest.raises(UsageError, match=r"arm.*recommendations\.arm or interactions\.arm"):
            evaluator.evaluate(metrics, by="arm")
        assert_same(evaluator.evaluate(metrics, by="interactions.arm"), expected)


@pytest.mark.parametrize(
    ("table", "arguments"),
    [("users", {"by": "arm"}), ("items", {"by_item": "items.arm"})],
)
def test_the_name_of_rows_without_a_value_is_not_a_value(
    table: str, arguments: dict[str, str]
) -> None:
    column = "user_id" if table == "users" else "item_id"
    given = pd.DataFrame({column: sorted(set(WORLD["interactions"][column]))})
    given["arm"] = ["(none)", "(none)", None, *["a"] * (len(given) - 3)]
    with pytest.raises(RowsError, match=r"arm: 2 rows have the text \(none\)") as error:
        evaluate({**MAIN, table: given}, ["recall@10"], **arguments)
    assert error.value.table == table


def test_a_column_run_of_users_is_a_slice_where_models_have_no_runs() -> None:
    users = pd.DataFrame({"user_id": [1, 2], "run": ["a", "b"]})
    lists = pd.DataFrame({"user_id": [1, 2], "item_id": [5, 6], "rank": [1, 1]})
    truth = pd.DataFrame({"user_id": [1, 2], "item_id": [5, 7]})
    found = sm.Evaluator(lists, truth, users=users).evaluate("recall@1", by="run")
    assert dict(zip(found["run"], found["value"], strict=True)) == {"a": 1, "b": 0}


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
    with pytest.raises(DataError, match=r"users, column country: 1 user has.*\n.*\n +4 +DE +FR\n"):
        evaluate({**MAIN, "users": pd.concat([users, other])}, ["recall@5"], by="country")


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
    with Evaluator(**tables, key=("user_id", "session")) as evaluator:
        assert_same(evaluator.evaluate(metrics, **by), world.evaluate(metrics, **by))
        found = evaluator.per_user(["recall@5"], **by_item, long=True)
        found["user_id"] = found["user_id"] * 2 + (found.pop("session") == "s1")
        assert_same(found, world.per_user(["recall@5"], **by_item, long=True))

        doubled = pd.concat([tables["users"], tables["users"].query("user_id == 3")])
        doubled["country"] = [*tables["users"]["country"], "US", "US"]
    with (
        Evaluator(**{**tables, "users": doubled}, key=("user_id", "session")) as evaluator,
        pytest.raises(DataError, match=r"user_id +session .*\n +3 +s0 .*\n +3 +s1 "),
    ):
        evaluator.evaluate(["recall@5"], by="country")


# ---------------------------------------------------------------- conventions


@pytest.mark.parametrize(
    "options",
    [{"by": ["country", "activity(warm_from=4)"]}, {"by": "age", "by_item": "category"}],
    ids=["users", "items"],
)
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
    found = world.per_user(metrics, by=["country", "age"], long=True)
    plain = world.per_user(metrics, long=True)
    assert list(found.columns) == ["model", "user_id", "country", "age", "k", "ndcg", "surprisal"]
    for place, name in enumerate(("country", "age")):
        expected = [labels[user][place] for user in found["user_id"]]
        assert found[name].tolist() == expected
    assert_same(found.drop(columns=["country", "age"]), plain)


def test_rows_of_users_come_once_per_slice_of_items(world: sm.Evaluator, parts: Parts) -> None:
    found = world.per_user(["ndcg@5"], by="country", by_item="category", long=True)
    assert list(found.columns) == ["model", "user_id", "country", "category", "k", "ndcg"]

    expected = {
        genre: parts.get("category", genre).per_user(["ndcg@5"], by="country", long=True)
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
    with Evaluator(**tables, **evaluator) as own:
        found = own.evaluate(metrics, by="length(long_from=9)")
        assert found["length"].drop_duplicates().tolist() == ["long", "short", "no list"]
        with_list = found[found["length"] != "no list"].reset_index(drop=True)
        assert_same(with_list, stacked(expected, "length"))
        with pytest.raises(UsageError, match=r"length has no parameter 'long'; did you mean"):
            own.evaluate(metrics, by="length(long=9)")
        with pytest.raises(
            UsageError, match=r"unknown column or slice 'lenght'.*did you mean 'length'"
        ):
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
        ("activity", LENGTH, "a slice activity already exists"),
        ("other", GRADE.replace('"interactions"', '"lists"'), "of must be 'users' or 'items' or"),
        ("other", LENGTH.replace("missing", "mising"), "the front matter: unknown entry"),
    ],
)
def test_a_template_that_is_none(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        Evaluator(**ALS, templates=own_slices(tmp_path, **{name: text}))


# ---------------------------------------------------------------- what is refused


ERRORS: list[tuple[dict[str, Any], type[SqlmetricsError], str]] = [
    ({"by": "contry"}, UsageError, r"unknown column or slice 'contry'.*did you mean 'country'"),
    ({"by": "actvity"}, UsageError, r"unknown column or slice 'actvity'.*did you mean 'activity'"),
    (
        {"by_item": "catgory"},
        UsageError,
        r"unknown column or slice 'catgory'.*did you mean 'category'",
    ),
    ({"by": "users.contry"}, UsageError, r"users.*no column 'contry'.*'country'"),
    ({"by": "user.country"}, UsageError, r"'user'.*did you mean 'users'"),
    ({"by": "history.item_id"}, UsageError, r"not in 'history'"),
    ({"by": "category"}, UsageError, r"column of items: write items\.category"),
    ({"by_item": "country"}, UsageError, r"unknown column or slice 'country'"),
    ({"by_item": "activity"}, UsageError, r"unknown column or slice 'activity'"),
    ({"by": "shared"}, UsageError, r"users\.shared or recommendations\.shared"),
    ({"by": "users.user_id"}, UsageError, r"user_id is also the name of a result"),
    ({"by": "std"}, UsageError, r"std is also the name of a result"),
    ({"by": "P_Value"}, UsageError, r"P_Value is also the name of a result"),
    ({"by_item": "metric"}, UsageError, r"metric is also the name of a result"),
    ({"by": ["country", "country"]}, UsageError, r"country is given twice"),
    ({"by": ["country", "users.country"]}, UsageError, r"country is given twice"),
    ({"by": ["country", "COUNTRY"]}, UsageError, r"COUNTRY is given twice"),
    ({"by": ["activity", "activity(warm_from=3)"]}, UsageError, r"activity is given twice"),
    ({"by": "month", "by_item": "month"}, UsageError, r"month is given twice"),
    ({"combinations": True}, UsageError, r"combinations needs columns to slice by"),
    ({"by": [], "combinations": True}, UsageError, r"combinations needs columns to slice by"),
    (
        {"by": [f"column_{n}" for n in range(11)], "combinations": True},
        UsageError,
        r"combinations of 11 columns would be 2,048 kinds of slices; name at most 10 columns",
    ),
    ({"by": ""}, UsageError, r"'' is not the name"),
    ({"by": [3]}, UsageError, r"3 is not the name"),
    ({"by": "activity(warm_form=3)"}, UsageError, r"'warm_form'; did you mean 'warm_from'"),
    ({"by": "activity(warm_from=0)"}, UsageError, r"warm_from must be a whole number >= 1"),
    ({"by": "activity_group(groups=2.5)"}, UsageError, r"groups must be a whole number"),
    ({"by": "popularity(head_share=1.5)"}, UsageError, r"head_share must be .*<= 1"),
    ({"by": "popularity(head_share=0)"}, UsageError, r"head_share must be .*> 0"),
    ({"by": "month(first=1)"}, UsageError, r"month has no parameter 'first'"),
    ({"by": "activity@5"}, UsageError, r"slices have no cutoffs"),
    ({"by": "hobbies"}, DataError, r"users, column hobbies: .*\[\].*one value per row"),
    ({"by": "address"}, DataError, r"users, column address: .*STRUCT.*one value per row"),
    ({"by_item": "maker"}, DataError, r"items, column maker: .*STRUCT.*one value per row"),
]


def test_many_columns_are_few_slices() -> None:
    """Their subsets, two to the power of 40, are asked for with `combinations` only."""
    names = [f"column_{n}" for n in range(40)]
    users = WORLD["users"].assign(**dict.fromkeys(names, "x"))
    with Evaluator(**{**ALS, "users": users}) as evaluator:
        found = evaluator.evaluate("recall@5", by=names)
        expected = evaluator.evaluate("recall@5", by=names[0])
    assert found.columns[: len(names)].tolist() == names
    # a mean may differ in its last digit, by the order in which the engine reads the users
    assert found["value"].tolist() == pytest.approx(expected["value"].tolist(), rel=1e-12)


def test_what_cannot_be_sliced_by() -> None:
    users = WORLD["users"].assign(
        std=1, P_Value=1, shared=1, hobbies=[["x"]] * 41, address=[{"city": "x"}] * 41,
        **{f"column_{n}": 1 for n in range(11)},
    )  # fmt: skip
    items = WORLD["items"].assign(metric=1, maker=[{"name": "x"}] * 11)
    lists = ALS["recommendations"].assign(shared=1)
    tables = {**ALS, "users": users, "items": items, "recommendations": lists}
    with Evaluator(**tables) as evaluator:
        for options, kind, message in ERRORS:
            with pytest.raises(kind, match=message):
                evaluator.evaluate(["recall@5"], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "users.country"}, r"users.country.*users=…"),
        ({"by": "items.category"}, r"items.category.*items=…"),
        ({"by": "activity"}, r"history.*history=…"),
        ({"by_item": "popularity"}, r"history.*history=…"),
        ({"by": "month"}, r"column timestamp.*interactions\.timestamp"),
    ],
    ids=str,
)
def test_a_table_or_column_that_was_not_given(options: dict[str, Any], message: str) -> None:
    with (
        Evaluator({1: ["a"]}, {1: ["a"]}) as evaluator,
        pytest.raises(MissingTableError, match=message),
    ):
        evaluator.evaluate(["recall@5"], **options)


def test_a_table_that_was_not_given_is_named_for_a_bare_column() -> None:
    with Evaluator({1: ["a"]}, {1: ["a"]}) as evaluator:
        with pytest.raises(UsageError, match=r"'country'.*users was not given \(users=…\)"):
            evaluator.evaluate(["recall@5"], by="country")
        with pytest.raises(UsageError, match=r"'category'.*items was not given \(items=…\)"):
            evaluator.evaluate(["recall@5"], by_item="category")


TIMES = pd.to_datetime(["2024-01-01", "2024-02-01"])


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_months_of_times_with_a_zone_are_those_of_utc(unit: Any) -> None:
    truth = pd.DataFrame({"user_id": [1, 1], "item_id": ["a", "b"]})
    truth["timestamp"] = TIMES.tz_localize("UTC").as_unit(unit)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'America/New_York'")
    with Evaluator({1: ["a", "b"]}, truth, connection=connection) as evaluator:
        assert evaluator.rows("n_relevant", by="month")["month"] == ["2024-01", "2024-02"]


@pytest.mark.parametrize(
    ("every", "labels"),
    [
        ("day", ["2023-12-31", "2024-01-01", "2024-01-07", "2024-04-08"]),
        # the last day of 2023 is a Sunday
        ("week", ["2023-12-25", "2024-01-01", "2024-04-08"]),
        ("month", ["2023-12", "2024-01", "2024-04"]),
        ("quarter", ["2023-Q4", "2024-Q1", "2024-Q2"]),
    ],
)
@pytest.mark.parametrize("unit", ["timestamp", "seconds"])
def test_days_weeks_months_and_quarters(every: str, labels: list[str], unit: str) -> None:
    days = ["2023-12-31 00:00", "2024-01-01 00:00", "2024-01-07 23:59", "2024-04-08 12:00"]
    times = pd.to_datetime(days)
    truth = pd.DataFrame({"user_id": 1, "item_id": ["a", "b", "c", "d"], "timestamp": times})
    if unit == "seconds":
        truth["timestamp"] = times.astype("datetime64[s]").astype("int64")
    with Evaluator({1: ["b", "c", "d"]}, truth) as evaluator:
        found = evaluator.evaluate("recall@3", by=f"time(every={every},unit={unit})")
    assert found["time"].tolist() == labels
    assert found["value"].tolist() == [0, *[1] * (len(labels) - 1)]


def test_a_slice_declares_a_column_of_a_table_that_is_only_named() -> None:
    tables: dict[str, Any] = {
        "recommendations": sm.TableName("a.recs"),
        "users": sm.TableName("a.users"),
    }
    with Evaluator(interactions=sm.TableName("a.clicks"), **tables) as evaluator:
        text = evaluator.sql("recall@5", by="country", dialect="bigquery")
        assert "FROM a.users" in text
        assert "AS country" in text
        with pytest.raises(UsageError, match="did you mean 'activity_group'"):
            evaluator.sql("recall@5", by="activty_group", dialect="bigquery")
    del tables["users"]
    with Evaluator(interactions=sm.TableName("a.clicks"), **tables) as evaluator:
        with pytest.raises(UsageError, match=r"write recommendations.country or interactions"):
            evaluator.sql("recall@5", by="country", dialect="bigquery")
        text = evaluator.sql("recall@5", by="recommendations.country", dialect="bigquery")
        assert "country" in text


@pytest.mark.parametrize(
    ("times", "by", "message"),
    [
        (TIMES, "month(unit=seconds)", r"TIMESTAMP, not numbers of seconds. Remove unit: month"),
        (TIMES.tz_localize("UTC"), "month(unit=milliseconds)", r"TIME ZONE, not .*. Remove unit"),
        (TIMES.date, "month(unit=milliseconds)", r"DATE, not numbers of milliseconds. Remove unit"),
        ([1704067200, 1706745600], "month", r"BIGINT, not timestamps. Write month\(unit=seconds\)"),
        ([0.5, 1.5], "month", r"DOUBLE, not timestamps. Write month\(unit=seconds\)"),
        (["1 Jan", "May"], "month", r"VARCHAR, not timestamps. Export the column as timestamps"),
        (
            ["1 Jan", "May"],
            "month(unit=seconds)",
            r"VARCHAR, not numbers of seconds. Export the column",
        ),
    ],
)
def test_months_of_columns_of_another_type_are_refused(times: Any, by: str, message: str) -> None:
    truth = pd.DataFrame({"user_id": [1, 1], "item_id": ["a", "b"], "at": times})
    start = (
        r"interactions, column timestamp \(at\): the type in the table given as interactions is "
    )
    with (
        Evaluator({1: ["a", "b"]}, truth, columns={"interactions.timestamp": "at"}) as evaluator,
        pytest.raises(DataError, match=start + f".*{message}"),
    ):
        evaluator.evaluate(["recall"], by=by)


@pytest.mark.parametrize(
    ("times", "by", "message"),
    [
        ([1704067200000], "month", "BIGINT, not timestamps. Export the column"),
        (["1 Jan"], "time(every=week)", "VARCHAR, not timestamps. Export the column"),
    ],
)
def test_statements_by_time_refuse_an_export_with_times_of_another_type(
    times: Any, by: str, message: str
) -> None:
    """ClickHouse casts any number to a date: the first one was in 2106-02.

    A unit is no remedy: statements refuse units.
    """
    truth = pd.DataFrame({"user_id": [1], "item_id": ["a"], "timestamp": times})
    lists = sm.TableName("ml.lists", like=pd.DataFrame({"user_id": [1], "item_id": "a", "rank": 1}))
    with (
        Evaluator(lists, sm.TableName("clicks", like=truth)) as evaluator,
        pytest.raises(DataError, match=f"the type in the table clicks is {message}"),
    ):
        evaluator.sql("recall", by=by, dialect="clickhouse")


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
    with Evaluator(lists, truth, users=users, history={9: list("abcd")}) as evaluator:
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
    with Evaluator(**tables, interactions=truth) as evaluator:
        found = evaluator.evaluate(["recall@1"], by="kind")
        expected = evaluator.evaluate(["recall@1"])
        assert evaluator.per_user(["recall@1"], by="kind", by_item="genre", long=True).empty
    assert list(found.columns) == ["kind", *expected.columns]
    assert found["n_users"].sum() == expected["n_users"].sum() == 0
    assert found["value"].isna().all()


def test_a_user_whose_label_looks_like_a_total_counts_once() -> None:
    users = pd.DataFrame({"user_id": [1, 2], "kind": ["(all)", "x"]})
    lists, truth = {1: ["a"], 2: ["b"], 3: ["c"]}, {1: ["a"], 2: ["z"], 3: ["z"]}
    with Evaluator(lists, truth, users=users, history=lists) as evaluator:
        found = evaluator.evaluate(["recall@1"], by="kind", combinations=True)
        expected = evaluator.evaluate(["recall@1"])
    total = found[found["kind"] == "(all)"]
    assert total["n_users"].max() == expected["n_users"].item() == 3
    assert expected["value"].item() in [pytest.approx(value) for value in total["value"]]


# ---------------------------------------------------------------- what holds for any slices


LABELS = st.lists(st.sampled_from(["a", "b", None, "absent"]), min_size=8, max_size=8)
TRUTHS = st.lists(st.sets(st.sampled_from("uvwxyz"), min_size=1), min_size=8, max_size=8)


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
    with Evaluator(lists, truth, users=users) as evaluator:
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
def test_the_statement_runs_alone(
    files: dict[str, str], world: sm.Evaluator, options: dict[str, Any]
) -> None:
    asked = dict(options)
    metrics = ["ndcg@5", "recall@5"]
    if asked.pop("runs", False):
        metrics += ["coverage@5", "inter_list_diversity@5"]
    with Evaluator(**files) as evaluator:
        statement = evaluator.sql(metrics, **asked)
    method = world.per_user if asked.pop("per_user", False) else world.evaluate
    expected = method(metrics, **asked)
    with duckdb.connect() as connection:
        found = connection.execute(statement).df()
    assert list(found.columns) == list(expected.columns)
    assert len(found) > 20
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, **EXACT)


@pytest.mark.parametrize("metric", ["ctr", "ips", "snips", "doubly_robust"])
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
    with Evaluator(recs, truth, logs=logs, users=users) as evaluator:
        found = evaluator.evaluate(calls, by="part")
    values = found.assign(what=found["metric"].str.extract(r"statistic=(\w+)")[0])
    of = {(part, what): v for part, what, v in values[["part", "what", "value"]].to_numpy()}
    assert [of[part, "support"] for part in "abc"] == [1, 0, 0]
    assert of["a", "effective_sample_size"] == 1  # of nothing, it is undefined
    assert all(
        of[part, "effective_sample_size"] != of[part, "effective_sample_size"] for part in "bc"
    )


def test_a_metric_called_like_a_slice_of_items_is_refused_for_it() -> None:
    with (
        Evaluator({1: ["a"]}, {1: ["a"]}, history={1: ["a"]}) as evaluator,
        pytest.raises(UsageError, match="reads listed_rows in popularity; slices of items support"),
    ):
        evaluator.evaluate("popularity(counted=rows)@1", by="popularity")


@pytest.mark.parametrize("models", [["a"], ["a", "b"]])
def test_a_run_without_a_user_of_a_slice_has_a_row(models: list[str]) -> None:
    users = pd.DataFrame({"user_id": [1, 2], "country": ["A", "B"]})
    pairs = [("r1", 1), ("r1", 2), ("r2", 1)]
    lists = pd.DataFrame(
        [(model, run, user, 1, 1) for model in models for run, user in pairs],
        columns=["model", "run", "user_id", "item_id", "rank"],
    )
    truth = pd.DataFrame({"user_id": [1, 2], "item_id": [1, 1]})
    options = {"settings": {"audience": "recommended"}, "check": False}
    with sm.Evaluator(lists, truth, users=users, **options) as evaluator:
        found = evaluator.evaluate("recall@1", by=["run", "country"])
    rows = found[["run", "country", "n_users"]].to_numpy().tolist()
    expected = [["r1", "A", 1], ["r1", "B", 1], ["r2", "A", 1], ["r2", "B", 0]]
    assert sorted(rows) == sorted(expected * len(models))
