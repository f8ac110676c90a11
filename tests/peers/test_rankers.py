"""The conventions of scikit-learn and of libraries for learning to rank."""

import math
import random
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    dcg_score,
    label_ranking_average_precision_score,
    log_loss,
    ndcg_score,
)

import sqlmetrics as sm
from tests.support.evaluators import Evaluator
from tests.support.ranker_numbers import (
    AS_PROBABILITIES,
    LISTS,
    LRAP,
    NUMBERS,
    WEIGHTED,
    WEIGHTS,
)


def tables(lists: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return recommendations and interactions from labels and scores."""
    rows = [
        (name, item, label, score)
        for name, (labels, scores) in lists.items()
        for item, (label, score) in enumerate(zip(labels, scores, strict=True))
    ]
    both = pd.DataFrame(rows, columns=["user_id", "item_id", "relevance", "score"])
    return both[["user_id", "item_id", "score"]], both[["user_id", "item_id", "relevance"]]


@pytest.mark.parametrize("library", ["sklearn", "lightgbm", "xgboost", "catboost"])
def test_numbers_that_the_libraries_printed(library: str) -> None:
    lists, truth = tables(LISTS)
    with Evaluator(lists, truth, convention=library, threads=1) as evaluator:
        for spec in [spec for of, spec in NUMBERS if of == library]:
            frame = evaluator.per_user([spec], k=[2, 4], long=True)
            found = frame.set_index(["user_id", "k"]).iloc[:, -1].to_dict()
            for place, expected in NUMBERS[library, spec].items():
                assert found[place] == pytest.approx(expected, abs=6e-7), (spec, place)
        if library == "sklearn":
            whole = evaluator.per_user(["lrap"]).set_index("user_id")["lrap"].to_dict()
            assert {n: whole[n] for n in LRAP} == pytest.approx(LRAP, abs=6e-7)


@pytest.mark.filterwarnings("ignore:.*equal scores")
@pytest.mark.parametrize(("library", "spec"), WEIGHTED)
def test_weighted_means_of_the_libraries(library: str, spec: str) -> None:
    for (with_nothing, k), expected in WEIGHTED[library, spec].items():
        names = [name for name in WEIGHTS if name != "nothing" or with_nothing]
        lists, truth = tables({name: LISTS[name] for name in names})
        users = pd.DataFrame({"user_id": names, "weight": [WEIGHTS[name] for name in names]})
        settings = {"aggregate": "weighted_mean"}
        with Evaluator(lists, truth, users=users, convention=library, settings=settings) as own:
            value = own.evaluate(spec, k=k)["value"].item()
        # nDCG of a list without a relevant item counts 1 there, instead of its weight
        counts_once = with_nothing and spec == "ndcg" and library != "catboost"
        surplus = WEIGHTS["nothing"] - 1 if counts_once else 0
        assert value - surplus / users["weight"].sum() == pytest.approx(expected, abs=1e-12), k


@pytest.mark.parametrize(
    ("metric", "spec"),
    [("err", "err(stop=linear, max_grade=1)"), ("pfound", "pfound(max_grade=1)")],
)
def test_grades_that_are_probabilities(metric: str, spec: str) -> None:
    labels, scores = LISTS["graded"]
    lists, truth = tables({"graded": ([label / 4 for label in labels], scores)})
    with Evaluator(lists, truth, settings={"order": "score"}, threads=1) as evaluator:
        value = evaluator.evaluate(spec, k=4)["value"].item()
    assert value == pytest.approx(AS_PROBABILITIES[metric], abs=6e-7)


def test_scikit_learn_on_drawn_lists() -> None:
    draw = random.Random(11)
    lists = {"no positives": ([0, 0, 0], [1.0, 1.0, 0.5]), "one": ([2, 2], [1.0, 1.0])}
    for number in range(200):
        n = draw.randint(2, 8)
        labels = [draw.choice([0, 0, 1, 2, 3]) for _ in range(n)]
        lists[f"list {number}"] = (labels, [draw.choice([0.1, 0.5, 0.5, 0.9]) for _ in range(n)])
    recommendations, truth = tables(lists)
    cells = 0
    with Evaluator(recommendations, truth, convention="sklearn", threads=1) as evaluator:
        frame = evaluator.per_user(["ndcg", "dcg", "lrap"], k=[3], long=True)
        whole = evaluator.per_user(["ndcg", "dcg", "lrap"])
    for k, values in ((3, frame), (None, whole)):
        for user, ndcg, dcg, lrap in zip(
            values.user_id, values.ndcg, values.dcg, values.lrap, strict=True
        ):
            labels, scores = (np.array([row], dtype=float) for row in lists[user])
            expected = [ndcg_score(labels, scores, k=k), dcg_score(labels, scores, k=k)]
            assert [ndcg, dcg] == pytest.approx(expected, abs=1e-9), (user, k)
            cells += 2
            if k is None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    one = label_ranking_average_precision_score(labels > 0, scores)
                assert lrap == pytest.approx(one, abs=1e-9), user
                cells += 1
    assert cells == 5 * len(lists)
    assert not math.isnan(frame.ndcg.sum())


def test_log_loss_clips_as_scikit_learn_does() -> None:
    """The machine epsilon of double precision, 2^-52: -ln of it is 52 ln 2."""
    lists, truth = tables({"certain": ([1, 0], [0.0, 1.0])})
    with Evaluator(lists, truth, convention="sklearn", check=False) as evaluator:
        value = evaluator.evaluate("log_loss")["value"].item()
    assert value == pytest.approx(52 * math.log(2), abs=1e-12)
    assert value == pytest.approx(log_loss([1, 0], [0.0, 1.0]), abs=1e-12)


@pytest.mark.parametrize(
    ("library", "spec"),
    [
        ("sklearn", "dcg"),
        ("sklearn", "ndcg"),
        ("torchmetrics", "ndcg"),
        ("catboost", "ndcg"),
        ("catboost", "dcg"),
        ("evidently", "ndcg"),
        ("rexmex", "dcg"),
        ("lightgbm", "ndcg"),
        ("xgboost", "ndcg"),
    ],
)
def test_the_description_says_that_negative_gains_differ(library: str, spec: str) -> None:
    labels, scores = [0, 1, -1, 0], [0.1, 0.5, 0.6, 0.7]
    # the one relevant item is the third
    assert sm.metric(spec, convention=library)(labels, scores) == pytest.approx(0.5, abs=1e-12)
    text = str(sm.description(spec, convention=library))
    _, found, differs = text.partition("not reproduced by the convention:\n")
    assert found
    assert "below 0" in differs.partition("\n\n")[0]
