"""The setting unjudged: recommended items without a row of their user in the interactions."""

import math
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import sqlmetrics as sm
from sqlmetrics.export.duckdb_macros import script
from tests.support.evaluators import Evaluator

# the list d1 … d6: d3 and d6 are unjudged, d2 and d5 are judged and not relevant
LISTS = {"u": ["d1", "d2", "d3", "d4", "d5", "d6"]}
GRADES = {"d1": 1, "d2": 0, "d4": 2, "d5": 0, "d7": 1}
METRICS = ["precision@3", "ndcg(gain=linear)@3", "map(divisor=relevant)"]


def graded(grades: dict[str, float], user: str = "u") -> pd.DataFrame:
    rows = [(user, item, grade) for item, grade in grades.items()]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "relevance"])


TRUTH = graded(GRADES)


def values(lists: Any, metrics: list[str], truth: Any = TRUTH, **settings: Any) -> list[float]:
    with Evaluator(lists, truth, settings=settings) as evaluator:
        return [float(value) for value in evaluator.evaluate(metrics)["value"]]


def gain(*grades: float) -> float:
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


# by choice: precision@3, ndcg@3 and average precision, worked by hand
BY_HAND = {
    "nonrelevant": [1 / 3, gain(1, 0, 0) / gain(2, 1, 1), (1 + 2 / 4) / 3],
    # d1 d2 d4 d5 are left
    "drop": [2 / 3, gain(1, 0, 2) / gain(2, 1, 1), (1 + 2 / 3) / 3],
    # d3 and d6 get the grade 2, in the list and in the ideal list: 5 relevant items
    "best": [2 / 3, gain(1, 0, 2) / gain(2, 2, 2), (1 + 2 / 3 + 3 / 4 + 4 / 6) / 5],
}


@pytest.mark.parametrize("unjudged", BY_HAND)
def test_values_worked_by_hand(unjudged: str) -> None:
    assert values(LISTS, METRICS, unjudged=unjudged) == pytest.approx(BY_HAND[unjudged])


def test_values_of_ir_measures() -> None:
    """Executed with judged_only of ir_measures on the same list."""
    assert BY_HAND["nonrelevant"] == pytest.approx([0.333333, 0.319394, 0.5], abs=1e-6)
    assert BY_HAND["drop"] == pytest.approx([0.666667, 0.638788, 0.555556], abs=1e-6)


def test_scores_give_the_same_order_and_seen_items_go_first() -> None:
    rows = [("u", item, 9.0 - place) for place, item in enumerate(LISTS["u"])]
    scored = pd.DataFrame([("u", "d9", -math.inf), *rows], columns=["user_id", "item_id", "score"])
    history = pd.DataFrame({"user_id": ["u"], "item_id": ["d2"]})
    settings = {"unjudged": "drop", "masked_scores": "drop", "drop_seen": True}
    with Evaluator(scored, TRUTH, history=history, settings=settings) as evaluator:
        ranked = evaluator.stage("ranked").sort_values("rank")
    assert ranked["item_id"].to_list() == ["d1", "d4", "d5"]
    assert ranked["rank"].to_list() == [1, 2, 3]


def test_every_model_has_its_own_unjudged_items() -> None:
    models = {"one": LISTS, "other": {"u": ["d3", "x", "d1"], "stranger": ["x"]}}
    metrics = [*METRICS, "recall@2", "n_relevant", "err", "ndcg@2"]
    found = values(models, metrics, unjudged="best")
    apart = [values(lists, metrics, unjudged="best") for lists in models.values()]
    assert found == pytest.approx(apart[0] + apart[1])
    assert apart[1][4] == 5  # d1, d4, d7, d3 and x


def test_models_whose_order_depends_on_relevance() -> None:
    """The order reads the relevance of unjudged items, which must not read the order."""
    rows = [("one", "u", "d1", 1.0), ("other", "u", "x", 1.0)]
    lists = pd.DataFrame(rows, columns=["model", "user_id", "item_id", "score"])
    truth = pd.DataFrame({"user_id": ["u"], "item_id": ["d1"]})
    settings = {
        "unjudged": "best", "ties": "worst", "duplicate_recommendations": "cut_then_dedup"
    }  # fmt: skip
    with Evaluator(lists, truth, settings=settings) as evaluator:
        found = evaluator.evaluate(["recall@1"])["value"].to_list()
    assert found == [1, 1 / 2]  # of the other list, x is relevant beside d1


def test_the_grade_is_the_highest_of_all_users_or_max_grade() -> None:
    lists = {"u": ["x", "d1"], "v": ["d1"]}
    truth = pd.concat([TRUTH, graded({"d1": 3}, "v")])
    assert values(lists, ["dcg(gain=linear)@1"], truth, unjudged="best") == [3.0]
    stops = [2**3 - 1, 2**4 - 1]  # of x: the highest grade is 3 or 4, of 2^3 or 2^4
    for stop, size, spec in zip(stops, (2**3, 2**4), ("err@1", "err(max_grade=4)@1"), strict=True):
        expected = (stop / size + 7 / size) / 2
        assert values(lists, [spec], truth, unjudged="best") == pytest.approx([expected])
    ungraded = pd.DataFrame({"user_id": ["u"], "item_id": ["d1"]})
    assert values({"u": ["x"]}, ["precision@1"], ungraded, unjudged="best") == [1.0]


def test_a_highest_relevance_of_zero_makes_no_item_relevant() -> None:
    lists = {"u": ["x"], "stranger": ["x"]}
    truth = graded({"d2": 0})
    with Evaluator(lists, truth, settings={"unjudged": "best"}) as evaluator:
        frame = evaluator.evaluate(["precision(audience=judged)@1"])
    assert (frame["value"].item(), frame["n_users"].item()) == (0.0, 1)  # the highest grade is 0


REFUSED = {
    "surprisal": ("drop", "applies only to metrics with a value per user"),
    "coverage": ("best", "applies only to metrics with a value per user"),
    "auc": ("drop", "applies only to metrics with a value per user"),
    "judged": ("drop", "depends on which items are judged"),
    "kendall_tau": ("best", "reads the rows of judged items"),
    "inf_ap": ("best", "reads the rows of judged items"),
    "ndpm": ("best", "reads the rows of judged items"),
    "pearson": ("best", "reads the rows of judged items"),
    "alpha_ndcg": ("best", "reads the rows of judged items"),
}


def test_metrics_without_this_choice_are_refused() -> None:
    with Evaluator(LISTS, TRUTH) as evaluator:
        for metric, (unjudged, reason) in REFUSED.items():
            with pytest.raises(sm.UsageError, match=reason) as caught:
                evaluator.evaluate([f"{metric}(unjudged={unjudged})@2"])
            assert "METRIC.unjudged" in str(caught.value)
        with pytest.raises(sm.UsageError, match="cannot be 'worst'; choose one of"):
            evaluator.evaluate(["ndcg(unjudged=worst)"])


def test_lists_without_a_judged_item() -> None:
    with (
        pytest.raises(sm.DataError, match="unjudged=drop removed all rows"),
        Evaluator({"u": ["x"], "v": ["d1"]}, TRUTH, settings={"unjudged": "drop"}) as evaluator,
    ):
        evaluator.evaluate(["ndcg@2"])


def test_slices_of_items_drop_the_same_items_and_credit_none() -> None:
    items = pd.DataFrame({"item_id": [*GRADES, "d3", "d6"], "kind": list("xxyyxxx")})
    with Evaluator(LISTS, TRUTH, items=items) as evaluator:
        frame = evaluator.evaluate(["n_hits(unjudged=drop)@3"], by_item="kind")
        # d1 of kind x is first, and d4 of kind y third
        assert frame["value"].to_list() == [1, 1]
        with pytest.raises(sm.UsageError, match="which are in no slice"):
            evaluator.evaluate(["recall(unjudged=best)@3"], by_item="kind")


def test_macros_drop_them() -> None:
    lists = [("u", item, rank) for rank, item in enumerate(LISTS["u"], start=1)]
    with duckdb.connect() as connection:
        connection.execute(script(sm.Evaluator, ["precision"], settings={"unjudged": "drop"}))
        connection.register("recs", pd.DataFrame(lists, columns=["user_id", "item_id", "rank"]))
        connection.register("truth", TRUTH)
        ((value,),) = connection.execute(
            "SELECT value FROM sm_precision('recs', 'truth', k := 3)"
        ).fetchall()
    assert value == pytest.approx(BY_HAND["drop"][0])


def test_explain_walks_to_a_convention_that_drops_them(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    path.write_text('title = "Ours"\n[settings]\nunjudged = "drop"\n')
    with Evaluator(LISTS, TRUTH) as evaluator:
        steps = evaluator.explain("precision@3", start=path)
    assert steps["setting"].to_list()[1:] == ["unjudged"]
    assert steps["value"].to_list() == pytest.approx([2 / 3, 1 / 3])
