"""Settings of metrics: their spellings and values, and the messages for others."""

from __future__ import annotations

import math

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from tests.support.notation import (
    further_frames,
    interaction_frame,
    log_rows,
)
from tests.support.two_users import SHORT_LISTS, SHORT_TRUTH


@pytest.mark.parametrize("name", ["map.divisor", "ap.divisor", "MAP.divisor"])
def test_a_setting_of_one_metric_holds_in_every_spelling(name: str) -> None:
    # one hit at rank 1: AP@3 = 1 / 3 with divisor k, 1 / 2 with the default
    with sm.Evaluator(SHORT_LISTS, SHORT_TRUTH, settings={name: "k"}) as evaluator:
        assert evaluator.evaluate("map@3")["value"][0] == pytest.approx(1 / 3)


def test_two_spellings_with_two_values_are_refused() -> None:
    with pytest.raises(sm.UsageError, match="set twice"):
        sm.Evaluator(
            SHORT_LISTS, SHORT_TRUTH, settings={"map.divisor": "k", "ap.divisor": "relevant"}
        )


def test_order_auto_is_no_other_metric() -> None:
    with sm.Evaluator(SHORT_LISTS, SHORT_TRUTH) as evaluator:
        assert evaluator.evaluate(["ndcg", "ndcg(order=auto)"])["metric"].tolist() == ["ndcg"]


def test_only_calls_that_divide_by_propensities_warn_that_there_are_none() -> None:
    logs = further_frames("auto", logs=log_rows({"u1": "a:1"}))["logs"]
    lists, truth = {"u1": ["a"]}, {"u1": ["a"]}
    with sm.Evaluator(lists, truth, logs=logs) as evaluator:
        for call in ("ips", "ips", "snips"):
            with pytest.warns(sm.SqlmetricsWarning, match="no column propensity"):
                evaluator.evaluate([call], k=1)
        for call in ("hit_rate", "hit_rate", "ctr"):  # warnings are errors here
            evaluator.evaluate([call], k=1)
        evaluator.per_user(["hit_rate"], k=1, long=True)


COPIES = {"u1": ["a", "a", "b"]}


@pytest.mark.parametrize(
    ("call", "settings"),
    [
        ("ndcg(gain=linear)", {"duplicate_recommendations": "join"}),
        ("ndcg(gain=exponential, ideal=all_relevant)", {"duplicate_recommendations": "join"}),
        ("alpha_ndcg", {"duplicate_recommendations": "join"}),
        ("auc", {"duplicate_recommendations": "join"}),
        ("kendall_tau", {"duplicate_recommendations": "count_once"}),
        ("auc", {"duplicate_recommendations": "count_once"}),
        ("inter_list_diversity", {"duplicate_recommendations": "count_once"}),
    ],
)
def test_what_copies_mean_nothing_for(call: str, settings: dict[str, str]) -> None:
    truth = interaction_frame([("u1", "a", 2), ("u1", "b", 1)])
    aspects = pd.DataFrame({"item_id": ["a"], "aspect": ["x"]})
    with (
        sm.Evaluator(COPIES, truth, aspects=aspects, settings=settings) as evaluator,
        pytest.raises(sm.UsageError, match="has no meaning for"),
    ):
        evaluator.evaluate([call], k=2)


@pytest.mark.parametrize("threshold", ["none", -0.5, "-inf"])
@pytest.mark.parametrize("call", ["dcg", "ndcg", "ndcg(ideal=all_k)"])
def test_gains_from_the_threshold_need_one(call: str, threshold: str | float) -> None:
    settings = {"relevant_from": threshold, "gain": "exponential_from"}
    with (
        sm.Evaluator({"u1": ["a"]}, {"u1": {"a": 1}}, settings=settings) as evaluator,
        pytest.raises(sm.SqlmetricsError, match=f"relevant_from of 0 or more, not {threshold}\\."),
    ):
        evaluator.evaluate([call], k=2)


@pytest.mark.parametrize("value", ["-inf", "-Infinity", -math.inf])
def test_no_lower_limit_has_one_spelling(value: str | float) -> None:
    truth = interaction_frame([("u1", "a", -1), ("u1", "b", 1)])
    with sm.Evaluator({"u1": ["a"]}, truth) as evaluator:
        (row,) = evaluator.evaluate([f"recall(relevant_from={value})@1"]).to_dict("records")
        assert (row["metric"], row["value"]) == ("recall(relevant_from=-inf)", 0.5)
        assert "inf" not in evaluator.sql(["recall@1"]).lower()
    with sm.Evaluator({"u1": ["a"]}, truth, settings={"relevant_from": value}) as evaluator:
        assert "inf" not in evaluator.sql(["recall@1", "auc@1"]).lower()
        assert evaluator.evaluate(["recall@1"])["value"].tolist() == [0.5]


@pytest.mark.parametrize("value", ["inf", math.inf, "nan", math.nan])
def test_other_limits_are_no_numbers(value: str | float) -> None:
    with pytest.raises(sm.UsageError, match="relevant_from must be a number, -inf or none, not"):
        sm.Evaluator({"u1": ["a"]}, {"u1": ["a"]}, settings={"relevant_from": value})


def test_counting_all_items_reads_no_catalogue() -> None:
    with sm.Evaluator({"u1": ["a", "b"]}, {"u1": ["a"]}) as evaluator:
        assert "catalogue" not in evaluator.sql(["coverage(counted=all, scale=count)@2"])
        for call in ("coverage(counted=all)@2", "coverage(scale=count)@2"):
            with pytest.raises(sm.UsageError, match="needs the table history"):
                evaluator.evaluate([call])


@pytest.mark.parametrize("metric", ["interactions", "recommendations"])
def test_what_to_do_with_copies_is_said_in_full(metric: str) -> None:
    tables = {"recommendations": {"u1": ["a"]}, "interactions": {"u1": ["a"]}} | {metric: COPIES}
    choices = Catalog.load().stage_params[f"duplicate_{metric}"].choices[1:]
    with sm.Evaluator(**tables) as evaluator, pytest.raises(sm.DataError) as caught:
        evaluator.evaluate(["recall@1"])
    *others, last = choices
    assert f"choose how to handle them ({', '.join(others)} or {last}) with " in str(caught.value)
    assert f"settings={{'duplicate_{metric}': …}}" in str(caught.value)


def test_users_without_a_relevant_item_can_have_the_best_value() -> None:
    lists = {1: [10, 11], 2: [10], 3: [10]}
    truth = pd.DataFrame({"user_id": [1, 2, 4], "item_id": [11, 12, 13], "relevance": [1, 0, 0]})
    best = {"audience": "either", "no_relevant": "one"}
    with sm.Evaluator(lists, truth, settings=best) as evaluator:
        users = evaluator.per_user(["ndcg@2", "mrr@2", "n_hits@2", "mean_rank@2"], long=True)
        means = evaluator.evaluate(["mrr@2", "mrr(no_relevant=zero)@2", "mrr(no_hits=drop)@2"])
        plain = evaluator.sql(["mrr@2"])
        with pytest.raises(sm.UsageError, match=r"from 0 to 1.*; first_rank is another metric"):
            evaluator.evaluate("first_rank(no_relevant=one)@2")
    assert users["user_id"].tolist() == [1, 2, 3]  # 4 has neither a list nor a relevant item
    assert users["mrr"].tolist() == [1 / 2, 1, 1]
    assert users["ndcg"].tolist()[1:] == [1, 1]
    assert users["n_hits"].tolist() == [1, 0, 0]  # 1 is not its best value
    assert users["mean_rank"].fillna(-1).tolist() == [2, -1, -1]
    assert means["value"].tolist() == pytest.approx([2.5 / 3, 0.5 / 3, 2.5 / 3], abs=1e-15)
    assert "n_relevant" in plain
    with pytest.raises(sm.UsageError, match=r"n_hits\.no_relevant.* is another metric"):
        sm.Evaluator(lists, truth, settings={"n_hits.no_relevant": "one"}).evaluate("n_hits")
