"""Slices of items, against evaluators whose interactions are those of the slice."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sqlglot
from sqlglot import exp

import sqlmetrics as sm
from sqlmetrics.errors import (
    UsageError,
)
from sqlmetrics.metrics.catalog import Catalog
from tests.support.evaluators import Evaluator
from tests.support.sliced_world import (
    ALS,
    LISTED,
    MAIN,
    OF_RUNS,
    WORLD,
    Parts,
    Tables,
    assert_same,
    evaluate,
    items_of,
    items_of_decade,
    of_items,
    stacked,
)
from tests.support.worlds import OF_LISTS

GRADED = ["err(max_grade=3)", "pfound(max_grade=3)", "kendall_tau", "spearman_rho"]
JUDGED = [  # metrics of the relevant items
    "ndcg", "ndcg(gain=exponential)", "ndcg(gain=linear, ideal=all_relevant)", "dcg(gain=linear)",
    "recall", "recall(divisor=min_k_relevant)", "precision", "precision(divisor=length)", "map",
    "map(divisor=all_positions)", "mar", "mrr", "r_precision", "hit_rate", "f_beta(beta=2)",
    "roc_auc", "alpha_ndcg", "money_recall", *GRADED,
    "n_hits", "n_recommended", "n_relevant", "sufficient", "user_coverage",
    "accuracy", "mcc", "fallout", "fallout(nonrelevant=catalogue)", "bpref", "pairwise_accuracy",
    "eleven_point", "interpolated_precision", "ncrr", "rbp", "rbp(gain=linear, max_grade=3)",
    "first_rank", "mean_rank", "percentile_rank(unlisted=catalogue_mean)", "pap", "partial_auc",
    "recall_at_precision", "set_map", "inf_ap", "cwl", "cwl(browsing=ap, gain=linear, max_grade=3)",
    "ndpm", "pearson", "pwa", "relevance_position",
    "epc", "efd(discount=none)", "serendipity", "subtopic_recall", "p_ia", "map_ia", "nrbp",
    "err_ia", "ips_recall", "effective_relevant", "ips_ndcg(propensity=jain)", "compat",
]  # fmt: skip


def name_of(spec: str) -> str:
    return spec.partition("(")[0]


_NAMED = set(map(name_of, (*JUDGED, *LISTED, *OF_RUNS)))
JUDGED += [
    name
    for name, metric in Catalog.load().metrics.items()
    if metric.is_of_relevant_items and name not in _NAMED
]


def test_items_of_a_genre_are_all_that_is_relevant(world: sm.Evaluator, parts: Parts) -> None:
    """Every metric that has slices of items; `l` is not in items, `j` and `k` have no genre."""
    assert items_of("(none)") == ["j", "k", "l"]
    assert items_of("rock") == ["a", "b", "e", "g", "i"]  # i, which has it twice, once
    found = world.evaluate(JUDGED, k=4, by_item="category")
    assert_same(found, parts.expected("category", lambda part: part.evaluate(JUDGED, k=4)))


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
    with Evaluator(lists, truth, items=items) as evaluator:
        found = evaluator.evaluate(["mrr", "recall@3", "precision@4"], by_item="kind")
    # b at place 2 is all that is relevant in x, d at place 4 in y, z is in no list
    rows = found.pivot(index="kind", columns="metric", values="value")
    assert rows.loc["x"].to_dict() == {"mrr": 1 / 2, "recall": 1, "precision": 1 / 4}
    assert rows.loc["y"].to_dict() == {"mrr": 1 / 4, "recall": 0, "precision": 1 / 4}
    assert rows.loc["(none)"].to_dict() == {"mrr": 0, "recall": 0, "precision": 0}


def test_items_of_other_slices_are_judged_in_the_residual() -> None:
    """All three items are judged, so only items below the third could add to rbp: 0.5 ** 3."""
    lists = pd.DataFrame({"user_id": 1, "item_id": ["a", "b", "c"], "rank": [1, 2, 3]})
    truth = pd.DataFrame({"user_id": 1, "item_id": ["a", "b", "c"], "relevance": [1, 1, 0]})
    items = pd.DataFrame({"item_id": ["a", "b", "c"], "category": ["x", "y", "x"]})
    with Evaluator(lists, truth, items=items) as evaluator:
        metrics = ["rbp(output=residual, p=0.5)", "rbp(output=residual, p=0.5)@2"]
        found = evaluator.evaluate(metrics, by_item="category")
    rows = found[["category", "k", "value"]].fillna({"k": 0}).values.tolist()
    assert sorted(rows) == [["x", 0, 0.125], ["x", 2, 0.25], ["y", 0, 0.125], ["y", 2, 0.25]]


def test_the_highest_grade_is_that_of_all_slices() -> None:
    """A grade means the same in every slice: without max_grade, the highest of all there is."""
    truth = WORLD["interactions"].query("item_id == 'b' or relevance < 3")
    tables = {**MAIN, "interactions": truth, "items": WORLD["items"]}
    asked: list[dict[str, Any]] = [{"by": "country"}, {"by_item": "item_id"}]
    assert truth["relevance"].max() == 3
    with Evaluator(**tables) as evaluator:
        for options in asked:
            found = evaluator.evaluate(["err@5", "pfound@5"], **options)
            graded = evaluator.evaluate(["err(max_grade=3)@5", "pfound(max_grade=3)@5"], **options)
            assert_same(found[["value", "n_users"]], graded[["value", "n_users"]])


def test_interactions_outside_the_slice_do_not_count() -> None:
    truth = pd.DataFrame({"user_id": "u", "item_id": list("abc"), "relevance": [1, 0, 1]})
    items = pd.DataFrame({"item_id": list("abcd"), "kind": list("xyyx")})
    metrics = ["bpref", "fallout(nonrelevant=catalogue)@1", "kendall_tau"]
    settings = {"catalogue": "items"}
    with Evaluator({"u": list("bca")}, truth, items=items, settings=settings) as evaluator:
        whole = evaluator.evaluate(metrics)["value"].to_list()
        found = evaluator.evaluate(metrics, by_item="kind")
    # b, judged not relevant, is above a and c: 1 - 1/1. One of b and d is in the top 1. Of three
    # pairs, (b, c) and (b, a) are discordant, and c and a are equally relevant.
    assert whole == pytest.approx([0, 1 / 2, -2 / math.sqrt(3 * 2)], rel=1e-12)
    rows = found.pivot(index="kind", columns="metric", values="value")
    # In x, only a is judged: nothing is above it. b, c and d are not relevant, and b is listed.
    assert rows.loc["x"].dropna().to_dict() == {
        "bpref": 1, "fallout(nonrelevant=catalogue)": pytest.approx(1 / 3),
    }  # fmt: skip
    # In y, b is above c: 1 - 1/1. a, b and d are not relevant, and b is listed.
    assert rows.loc["y"].to_dict() == {
        "bpref": 0, "fallout(nonrelevant=catalogue)": pytest.approx(1 / 3), "kendall_tau": -1,
    }  # fmt: skip


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
    with Evaluator(**many_users(), memory_limit="200MB", temp_limit="20MB") as evaluator:
        found = evaluator.evaluate("recall@10", by=by)
        whole = evaluator.evaluate("recall@10", by=by, combinations=True)
    assert len(whole) > len(found) > 8
    assert found["n_users"].min() > 0


@pytest.mark.parametrize("by", ["month", "popularity", "items.category"])
def test_the_user_and_the_slice_of_a_row_come_from_one_table(by: str) -> None:
    """From two tables, an engine may join all users of a slice with each other."""
    with Evaluator(**many_users()) as evaluator:
        statement = sqlglot.parse_one(
            evaluator.sql(["recall@10", "ndcg@10"], by=by, physical=True), "duckdb"
        )
    queries = {cte.alias: cte.this for cte in statement.find_all(exp.CTE)}
    hits = queries["hits"]
    home = "month" if by == "month" else "item_slices"  # every item has a month: nothing to add
    columns = {column.alias_or_name: column.unalias() for column in hits.expressions}
    assert {columns[key].table for key in ("user_id", "item_slice")} == {home}
    joined = {join.alias_or_name: join.args["on"] for join in hits.args["joins"]}
    assert "lists_by_item" not in joined  # every hit is in a list
    tables = {column.table for column in joined["relevant_users"].find_all(exp.Column)}
    assert tables == {"relevant_users", home}


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
    listed = {name_of(spec): spec for spec in (*LISTED, *OF_RUNS)}
    judged = set(map(name_of, JUDGED)) - listed.keys()
    for metric in OF_LISTS.values():
        if metric.name in judged:
            continue
        asked = listed.get(metric.name, metric.name)
        with pytest.raises(UsageError) as caught:
            world.evaluate(["recall@5", f"{asked}@5"], by_item="category")
        message = str(caught.value)
        assert message.startswith(metric.name)
        assert "slices of items support only metrics of relevant items" in message
        assert ("one value for all users" in message) == (metric.grain == "run")
    with pytest.raises(UsageError, match=r"^coverage has one value for all users"):
        world.evaluate(["recall@5", "coverage@5"], by="month")
    with pytest.raises(UsageError, match=r"^popularity reads"):
        world.per_user(["popularity@5"], by_item="popularity", long=True)


def test_an_audience_that_does_not_depend_on_the_slice_is_refused(world: sm.Evaluator) -> None:
    with pytest.raises(UsageError, match="baseline_users"):
        world.evaluate(["recall(audience=baseline)@5"], by_item="category")


def test_aspects_of_users_have_no_slices_of_items() -> None:
    own = WORLD["interactions"].assign(aspect="x")[["user_id", "item_id", "aspect"]]
    with Evaluator(**MAIN, items=WORLD["items"], aspects=own) as evaluator:
        found = evaluator.evaluate(["alpha_ndcg@5"], by="country")
        assert found["country"].unique().tolist() == Parts.SLICES["country"]
        with pytest.raises(UsageError, match="alpha_ndcg reads aspects"):
            evaluator.evaluate(["alpha_ndcg@5"], by_item="decade")


def test_slices_by_a_column_of_the_key_and_of_the_interactions() -> None:
    lists = pd.DataFrame({"user_id": 1, "date": ["x", "y"], "item_id": ["a", "b"], "rank": [1, 1]})
    rows = [(1, "x", "a", "web"), (1, "y", "c", "app"), (2, "y", "b", None), (2, "y", "d", "web")]
    truth = pd.DataFrame(rows, columns=["user_id", "date", "item_id", "channel"])
    with Evaluator(lists, truth, key=("user_id", "date")) as evaluator:
        by_date = evaluator.evaluate("recall@1", by="date")
        by_channel = evaluator.evaluate("recall@1", by_item="channel")
        dropped = evaluator.evaluate("recall(no_recommendations=drop)@1", by="date")
        for by, message in (("interactions.date", "write date without"), ("model", "in each row")):
            with pytest.raises(UsageError, match=message):
                evaluator.evaluate("recall@1", by=by)
        with pytest.raises(UsageError, match="already in each row of per-user values"):
            evaluator.per_user("recall@1", by="date")
    # on y, the list of user 1 has no hit, and user 2 has no list
    assert by_date[["date", "value", "n_users"]].values.tolist() == [["x", 1, 1], ["y", 0, 2]]
    assert dropped["n_users"].tolist() == [1, 1]
    wanted = [["app", 0, 1], ["web", 0.5, 2], ["(none)", 0, 1]]
    assert by_channel[["channel", "value", "n_users"]].values.tolist() == wanted


def test_an_item_of_a_user_with_several_values_is_refused() -> None:
    rows = [(1, "a", "web"), (1, "a", "app")]
    truth = pd.DataFrame(rows, columns=["user_id", "item_id", "channel"])
    settings = {"duplicate_interactions": "set"}
    with (
        Evaluator({1: ["a"]}, truth, settings=settings) as evaluator,
        pytest.raises(sm.DataError, match="column channel: 1 item of users has several values"),
    ):
        evaluator.evaluate("recall@1", by_item="interactions.channel")
