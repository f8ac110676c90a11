"""Metrics of arrays of labels and scores, as training libraries call them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, make_scorer, ndcg_score
from sklearn.model_selection import cross_val_score

import sqlmetrics as sm

LABELS = [[0, 3, 1], [2, 0, 0], [0, 1, 0]]
SCORES = [[0.9, 0.5, 0.5], [0.3, 0.3, 0.1], [0.2, 0.7, 0.1]]


def test_two_dimensions_are_those_of_scikit_learn() -> None:
    """Equal scores are averaged, as in scikit-learn."""
    ndcg = sm.metric("ndcg@2", convention="sklearn")
    assert ndcg(LABELS, SCORES) == pytest.approx(ndcg_score(LABELS, SCORES, k=2), abs=1e-12)
    assert ndcg.higher_is_better
    assert repr(ndcg) == "sqlmetrics.metric('ndcg@2', convention='sklearn')"


def test_groups_are_lists_and_without_groups_there_is_one() -> None:
    mrr = sm.metric("mrr")
    labels, scores = np.ravel(LABELS), np.ravel(SCORES)
    # the first hits have the ranks 2, 1 and 1: equal scores are in the order of rows
    assert mrr(labels, scores, group=[3, 3, 3]) == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert mrr(labels, scores) == 1 / 2  # the hit with the score 0.7, behind 0.9
    assert mrr(labels, scores, group=[3, 6]) == pytest.approx((1 / 2 + 1) / 2)
    assert math.isnan(mrr([0, 0], [0.5, 0.1]))


class Rows:
    """The methods of a data set that LightGBM and XGBoost pass to a metric."""

    def get_label(self) -> Any:
        return np.ravel(LABELS)

    def get_group(self) -> Any:
        return np.array([3, 6])

    def get_uint_info(self, name: str) -> Any:
        return {"group_ptr": np.array([0, 3, 9], dtype=np.uint32)}[name]


def test_libraries_that_train_rankers() -> None:
    mrr, mean_rank = sm.metric("mrr@5"), sm.metric("first_rank")
    scores = np.ravel(SCORES)
    assert mrr.lightgbm(scores, Rows()) == ("mrr@5", pytest.approx(3 / 4), True)
    assert mrr.xgboost(scores, Rows()) == ("mrr@5", pytest.approx(3 / 4))
    assert mean_rank.lightgbm(scores, Rows()) == ("first_rank", pytest.approx(3 / 2), False)
    with pytest.raises(sm.UsageError, match="neither high nor low values are better"):
        sm.metric("calibration_ratio").lightgbm(scores, Rows())


def test_a_scorer_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    draw = np.random.default_rng(1)
    x = draw.normal(size=(60, 2))
    y = (x[:, 0] + draw.normal(size=60) > 0).astype(int)
    ours = make_scorer(sm.metric("map(divisor=relevant)"), response_method="decision_function")
    theirs = make_scorer(average_precision_score, response_method="decision_function")
    found, expected = (
        cross_val_score(LogisticRegression(), x, y, scoring=scorer, cv=3)
        for scorer in (ours, theirs)
    )
    assert found == pytest.approx(expected, abs=1e-12)


DO_NOT_FIT: list[tuple[tuple[Any, ...], str]] = [
    (([1, 0], [0.5]), r"labels have the shape \(2,\) and scores \(1,\)"),
    (([1, 0], [0.5, 0.1], [3]), "add up to 3, but there are 2 labels"),
    (([1, 0], [0.5, math.nan]), "1 of 2 scores is NULL, NaN or infinite"),
    (([], []), "give two arrays of the same shape"),
    (([[1, 0], [1, 0, 0]], [[0.1, 0.2], [0.1, 0.2, 0.3]]), "labels: the lists have different"),
    ((["a", "b"], [0.5, 0.1]), "labels: not all values are numbers"),
    (([1, 0], [1j, 0.1]), "scores: not all values are numbers"),
    (([1, 0, 0], [3, 2, 1], list("aab")), "'a' is not the length of a list. If group has an"),
    (([1, 0, 0], [3, 2, 1], [0, 0, 1]), "add up to 1, but there are 3 labels. If group has"),
    (([1, 0, 0], [3, 2, 1], [1.5, 1.5]), "1.5 is not the length of a list"),
    (([1, 0, 0], [3, 2, 1], [-1, 4]), "-1 is not the length of a list"),
    (([[1, 0], [1, 0]], [[2, 1], [2, 1]], [2, 2]), "each row of labels with two dimensions"),
]


def test_arrays_that_do_not_fit() -> None:
    for (labels, scores, *group), message in DO_NOT_FIT:
        with pytest.raises(sm.DataError, match=message):
            sm.metric("mrr")(labels, scores, group=group[0] if group else None)


def test_the_remedies_for_ragged_lists_and_for_ids_of_lists() -> None:
    mrr = sm.metric("mrr")
    labels, scores = [[1, 0], [1, 0, 0]], [[0.1, 0.2], [0.1, 0.2, 0.3]]
    lengths = [len(items) for items in labels]
    assert mrr(np.concatenate(labels), np.concatenate(scores), group=lengths) == (1 / 2 + 1 / 3) / 2
    ids = np.array(list("aabbb"))
    lengths = np.unique(ids, return_counts=True)[1]
    assert mrr(np.concatenate(labels), np.concatenate(scores), group=lengths) == (1 / 2 + 1 / 3) / 2
    assert mrr([1, 0, 0], [3, 2, 1], group=[1.0, 2.0]) == 1  # the second list has no relevant item


def test_ids_of_one_list_read_as_lengths_are_a_warning() -> None:
    """The sum of the ids 1, 1, 1 is the number of labels (catboost#2355)."""
    mrr = sm.metric("mrr")
    with pytest.warns(sm.DataWarning, match=r"as many lists as labels \(3\)\. If group has an id"):
        assert mrr([0, 0, 1], [3, 2, 1], group=[1, 1, 1]) == 1
    assert mrr([1], [3], group=[1]) == 1


def test_ids_of_lists_in_any_order() -> None:
    """The lists are those of `group`; only the order of rows differs."""
    labels, scores = np.array([0, 2, 1, 1, 0]), np.array([0.9, 0.8, 0.1, 0.3, 0.6])
    ids = np.array(["shoes", "shoes", "shoes", "hats", "hats"])
    metric = sm.metric("ndcg(gain=linear)@2")
    order = [3, 0, 4, 2, 1]
    expected = metric(labels, scores, group=[3, 2])
    assert metric(labels[order], scores[order], qid=ids[order]) == expected
    assert metric(labels, scores, qid=[7, 7, 7, 2, 2]) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"qid": [1, 1]}, r"qid has the shape \(2,\), but there are 3 labels"),
        ({"qid": [1, None, 2]}, "the id of row 1 is missing"),
        ({"qid": [1, 1, 2], "group": [2, 1]}, "omit one"),
        ({"group": [4, 4, 9]}, r"add up to 17, but there are 3 labels.*write qid="),
    ],
)
def test_ids_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sm.DataError, match=message):
        sm.metric("mrr")([0, 1, 1], [0.3, 0.2, 0.1], **options)
    with pytest.raises(sm.DataError, match="or omit qid"):
        sm.metric("mrr")([[0, 1]], [[0.3, 0.2]], qid=[1])


def test_other_types_of_numbers() -> None:
    kinds: list[Any] = ["float16", "longdouble", object]
    for kind in kinds:
        labels, scores = np.array([0, 1], dtype=kind), np.array([0.25, 0.5], dtype=kind)
        assert sm.metric("mrr")(labels, scores) == 1


def test_one_metric_is_needed() -> None:
    with pytest.raises(sm.UsageError, match="stands for several metrics"):
        sm.metric("all")
    with pytest.raises(sm.UsageError, match="did you mean 'ndcg'"):
        sm.metric("ngcd@10")
