"""The tie-breaking rules by relevance, and expected values over all orders of tied items."""

import itertools
import math
import random
import re
import statistics
import warnings
from typing import Any

import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.errors import SqlmetricsError
from tests.support.evaluators import Evaluator

LABELS = [("a", 0), ("b", 2), ("c", 1), ("d", 0)]
SCORES = {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.1}
SUMS = [
    "n_hits",
    "precision",
    "recall",
    "dcg(gain=exponential)",
    "ndcg(gain=linear)",
    "ndcg",
    "rbp",
]


def evaluator(rows: list[tuple[Any, ...]], truth: list[tuple[Any, ...]], **more: Any) -> Any:
    return Evaluator(
        recommendations=pd.DataFrame(rows, columns=["user_id", "item_id", "score"]),
        interactions=pd.DataFrame(truth, columns=["user_id", "item_id", "relevance"]),
        threads=1,
        **more,
    )


def values(ties: str, metrics: list[str], k: list[int], order: str = "abcd") -> dict[Any, float]:
    rows = [(1, item, SCORES[item]) for item in order]
    truth = [(1, *row) for row in LABELS]
    with evaluator(rows, truth, settings={"ties": ties}) as one:
        frame = one.evaluate(metrics, k=k)
    return {(m, int(n)): v for m, n, v in zip(frame.metric, frame.k, frame.value, strict=True)}


def test_three_tied_items_by_hand() -> None:
    ideal = 2 + 1 / math.log2(3)
    mean = (1 + 1 / math.log2(3)) / 3  # of the weights of the ranks 1, 2 and, below the cut, 3
    average = values("average", ["ndcg(gain=linear)", "precision", "n_hits"], [2, 4])
    assert average["ndcg(gain=linear)", 2] == pytest.approx(3 * mean / ideal)
    assert average["ndcg(gain=linear)", 2] == pytest.approx(0.619906, abs=1e-6)  # scikit-learn
    assert average["ndcg(gain=linear)", 4] == pytest.approx(0.809953, abs=1e-6)
    assert average["n_hits", 2] == pytest.approx(4 / 3)
    assert average["precision", 2] == pytest.approx(2 / 3)
    for order in ("abcd", "dcba", "bcad"):
        worst = values("worst", ["ndcg(gain=linear)", "map"], [2, 4], order)
        assert worst["ndcg(gain=linear)", 2] == pytest.approx(0.239812, abs=1e-6)  # CatBoost
        assert worst["ndcg(gain=linear)", 4] == pytest.approx(0.619906, abs=1e-6)
        assert worst["map", 4] == pytest.approx((1 / 2 + 2 / 3) / 2)
        best = values("best", ["ndcg(gain=linear)", "map"], [2], order)
        assert best == {("ndcg(gain=linear)", 2): 1, ("map", 2): 1}
    last_first = values("row_reversed", ["ndcg(gain=linear)"], [2])
    assert last_first["ndcg(gain=linear)", 2] == pytest.approx(0.859719, abs=1e-6)  # ignore_ties


def test_average_worst_and_best_of_all_orders_of_tied_items() -> None:
    draw = random.Random(5)
    rows, truth = [], []
    for user in range(40):
        items = draw.sample("abcdefgh", draw.randint(1, 6))
        rows += [(user, item, draw.choice([1.0, 1.0, 2.0, 3.0])) for item in items]
        relevant = draw.sample("abcdefgh", draw.randint(1, 5))
        truth += [(user, item, draw.choice([1, 1, 2, 3, 0])) for item in relevant]
    found = {}
    with evaluator(rows, truth) as one:
        for ties in ("average", "worst", "best"):
            specs = [f"{m.rstrip(')')}{', ' if ')' in m else '('}ties={ties})" for m in SUMS]
            frame = one.per_user(specs, k=[2, 4], long=True)
            for spec, metric in zip(specs, SUMS, strict=True):
                (name,) = (c for c in frame.columns if sm_name(c) == sm_name(spec))
                for user, k, value in zip(frame.user_id, frame.k, frame[name], strict=True):
                    found[ties, metric, user, k] = value
    assert len(found) > 1000
    for (ties, metric, user, k), value in found.items():
        grades = {item: grade for owner, item, grade in truth if owner == user}
        scores = [(item, score) for owner, item, score in rows if owner == user]
        of_orders = [value_of_order(order, grades, metric, k) for order in orders(scores)]
        expected = {"average": statistics.fmean, "worst": min, "best": max}[ties](of_orders)
        assert value == pytest.approx(expected, abs=1e-12), (ties, metric, user, k)


def sm_name(spec: str) -> tuple[str, ...]:
    metric, _, params = spec.rstrip(")").partition("(")
    return metric, *sorted(params.replace(" ", "").split(","))


def orders(rows: list[tuple[Any, ...]]) -> list[list[str]]:
    """Return all orders of the items that the scores allow."""
    rows = sorted(rows, key=lambda row: -row[1])
    groups = [
        [row[0] for row in group] for _, group in itertools.groupby(rows, key=lambda row: row[1])
    ]
    permutations = itertools.product(*map(itertools.permutations, groups))
    return [list(itertools.chain(*order)) for order in permutations]


def value_of_order(order: list[str], grades: dict[str, int], spec: str, k: int) -> float:
    """Return the value of one list; relevant are the items with a grade above 0."""
    relevant = [grade for grade in sorted(grades.values(), reverse=True) if grade > 0]
    if not relevant:
        return math.nan
    top = [max(grades.get(item, 0), 0) for item in order[:k]]
    hits = [float(grade > 0) for grade in top]
    discounts = [1 / math.log2(rank + 1) for rank in range(1, k + 1)]

    def summed(gains: list[float]) -> float:
        return sum(gain * weight for gain, weight in zip(gains, discounts, strict=False))

    return {
        "n_hits": sum(hits),
        "precision": sum(hits) / k,
        "recall": sum(hits) / len(relevant),
        "dcg(gain=exponential)": summed([2.0**grade - 1 for grade in top]),
        "ndcg(gain=linear)": summed(list(map(float, top))) / summed(list(map(float, relevant))),
        "ndcg": summed(hits) / summed([1.0] * len(relevant)),
        "rbp": 0.2 * sum(hit * 0.8**place for place, hit in enumerate(hits)),
    }[spec]


def test_averaged_ties_keep_shares_within_their_range() -> None:
    """All items are relevant and tied: every share is exactly 1, whatever rounding adds up to."""
    metrics = [
        "precision", "recall", "recall(divisor=min_k_relevant)", "ndcg", "rbp(normalise=ideal)",
        "rbp(normalise=ideal, p=1)",
    ]  # fmt: skip
    lists = [(user, item, 1.0) for user in range(2, 40) for item in range(user)]
    with evaluator(lists, lists, settings={"ties": "average"}) as one:
        found = one.per_user(metrics, k=[1, 2, 3, 6, 1000], long=True)
    shares = found.drop(columns=["user_id", "k"])
    assert shares.max(axis=None) <= 1
    full = found[found["k"] == 1000].drop(columns=["user_id", "k", "precision"])
    assert full.min(axis=None) > 1 - 1e-12


def test_averaged_ties_of_hits_below_the_cutoff() -> None:
    """The only hit, c, is at rank 3, below the cutoffs 1 and 2."""
    lists = [(1, "a", 0.9), (1, "b", 0.8), (1, "c", 0.7)]
    metrics = ["precision", "recall", "ndcg", "ndcg(gain=linear)", "rbp(normalise=ideal)"]
    with evaluator(lists, [(1, "c", 2)], settings={"ties": "average"}) as one:
        found = one.evaluate(metrics, k=[1, 2, 3], ci="none")
    values = found.pivot(index="metric", columns="k", values="value")
    assert values[[1, 2]].to_numpy().tolist() == [[0, 0]] * len(metrics)
    assert values[3].to_dict() == pytest.approx(
        {
            "precision": 1 / 3,
            "recall": 1,
            "ndcg": 1 / 2,
            "ndcg(gain=linear)": 1 / 2,
            "rbp(normalise=ideal)": 0.8**2,
        }
    )


def test_ties_refused_where_they_have_no_meaning() -> None:
    rows = [(1, item, SCORES[item]) for item in "abcd"]
    truth = [(1, *row) for row in LABELS]
    with evaluator(rows, truth, history=pd.DataFrame({"user_id": [1], "item_id": ["a"]})) as one:
        for spec, why in {
            "map(ties=average)": "ties=average applies only to metrics that are sums over",
            "popularity(ties=worst)": "ties=worst applies only to metrics with a value per user",
            "coverage(ties=best)": "ties=best applies only to metrics with a value per user",
            "precision(ties=average, duplicate_recommendations=join)": "join has no meaning for",
            "precision(ties=worst, duplicate_interactions=bag)": "bag has no meaning for ties=",
        }.items():
            with pytest.raises(SqlmetricsError, match=why):
                one.evaluate([spec], k=[2])
        # ranks have no ties, so that the rule has no effect
        ranked = pd.DataFrame({"user_id": [1, 1], "item_id": ["a", "b"], "rank": [1, 2]})
    with Evaluator(
        recommendations=ranked,
        interactions=pd.DataFrame({"user_id": [1], "item_id": ["b"]}),
        settings={"ties": "average"},
    ) as one:
        assert one.evaluate(["mrr"]).value.tolist() == [0.5]


def test_relevant_items_with_negative_relevance_are_above_others() -> None:
    rows = [(1, item, 0.5) for item in "abc"]
    settings = {"relevant_from": float("-inf")}
    with evaluator(rows, [(1, "b", -3)], settings=settings) as one:
        frame = one.evaluate(["mrr(ties=worst)", "mrr(ties=best)"], k=[3])
    assert frame.value.tolist() == pytest.approx([1 / 3, 1])


def test_slices_of_items_keep_the_order_by_relevance() -> None:
    rows = [(1, item, SCORES[item]) for item in "abcd"]
    truth = [(1, *row) for row in LABELS]
    items = pd.DataFrame({"item_id": list("abcd"), "kind": ["x", "x", "y", "y"]})
    with evaluator(rows, truth, items=items, settings={"ties": "worst"}) as one:
        frame = one.evaluate(["n_hits"], k=[2, 3], by="items.kind")
    found = {(s, k): v for s, k, v in zip(frame.iloc[:, 0], frame.k, frame.value, strict=True)}
    assert found["x", 2] == 0  # b, the item of kind x, is third
    assert found["x", 3] == found["y", 2] == 1


def test_metrics_that_were_not_named_are_those_that_the_rule_applies_to() -> None:
    rows = [(1, item, SCORES[item]) for item in "abcd"]
    truth = [(1, *row) for row in LABELS]
    with evaluator(rows, truth, settings={"ties": "average"}, check=False) as one:
        frame = one.evaluate(k=[2])
        assert set(frame["metric"]) & {"ndcg", "map"} == {"ndcg"}
        with pytest.raises(sm.UsageError, match="map: ties=average applies only to"):
            one.evaluate(["ndcg", "map"], k=[2])


def test_findings_name_the_rule_of_the_request() -> None:
    """A spec, a setting of one metric and a convention can have their own."""
    rows = [(1, item, SCORES[item]) for item in "abcd"]
    truth = [(1, *row) for row in LABELS]
    with evaluator(rows, truth, settings={"map.ties": "row"}, check=True) as one:
        for specs, rules in [
            (["ndcg(ties=worst)"], {"worst"}),
            (["ndcg", "map", "mrr"], {"item_asc", "row"}),
            (["ndcg(ties=average)"], set()),
            (["ndcg(ties=average)", "n_recommended"], set()),
            (["n_recommended"], {"item_asc"}),
        ]:
            found = one.check(specs, k=[2])
            for check in ("recommendations_ties_decide", "recommendations_tied_scores"):
                texts = " ".join(found["found"][found["check"] == check])
                assert set(re.findall(r"ties=(\w+)", texts)) == rules, (specs, check)
        with pytest.warns(sm.DataWarning, match="the tie-breaking rule ties=worst decides"):
            one.evaluate("ndcg(ties=worst)@2")
    with evaluator(rows, truth, settings={"ties": "worst"}) as one:
        assert "ties=worst" in " ".join(one.check()["found"])
    with evaluator(rows, truth, check=True) as one, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        one.identify("ndcg@2=0.123", convention="standard")  # tries all rules
    texts = " ".join(str(warning.message) for warning in caught)
    assert re.findall(r"rule ties=(\w+)", texts) == ["item_asc"]


def test_a_rule_for_some_metrics_of_a_convention() -> None:
    """Metrics of the convention to which the rule does not apply are refused only if asked for."""
    rows = [(1, item, SCORES[item]) for item in "abcd"]
    truth = [(1, *row) for row in LABELS]
    with evaluator(rows, truth, convention="lightgbm", settings={"ties": "average"}) as one:
        assert one.evaluate("ndcg(gain=linear)@2").value.tolist() == pytest.approx([0.619906])
        with pytest.raises(sm.UsageError, match="ties=average applies only to"):
            one.evaluate("map@2")


def test_settings_without_meaning_under_a_convention_that_no_metric_uses() -> None:
    """catboost, whose rule is worst, does not cover the metric: its ties do not matter."""
    with (
        evaluator(
            [(1, "a", 0.5), (1, "b", 0.5)],
            [(1, "a", 1)],
            convention="catboost",
            fallback="standard",
            settings={"duplicate_interactions": "bag"},
        ) as one,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", sm.DataWarning)
        assert one.evaluate(["sufficient"], k=[2]).value.tolist() == [1.0]
