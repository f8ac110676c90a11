"""Alpha-nDCG against ndeval, through pyndeval 0.0.8 and ir_measures 0.4.3."""

import pandas as pd
import pytest

import sqlmetrics as sm

# relevant items with their aspects, a list, and what ndeval printed at 1, 3 and 10. Of items with
# equal gains, ndeval's ideal list takes the largest id first, and ours the smallest; this matters
# for the first two users.
PRINTED = {
    "ties": ("1:bc 6:bd 8:ac", "4 0 9 1", [0, 0, 0.22897003849061157]),
    "ties low in the list": (
        "0:bd 3:ac 6:ac 9:ad", "7 8 2 5 3 9 10 1 4 11", [0, 0, 0.32542561784410307],
    ),
    "no hit": ("1:a 11:bc", "0 7 3 2 10 5 4 9 8", [0, 0, 0]),
    "five items": (
        "0:ad 10:d 2:bcd 5:a 9:b", "11 7 2 10 1 5 3 4 6 8",
        [0, 0.3574496995942261, 0.4594810307252811],
    ),
    "six items": (
        "0:d 1:bc 10:bd 2:bcd 5:c 8:bcd", "7 11 1 10 8 2 9",
        [0, 0.2382997997294841, 0.5284938583187067],
    ),
}  # fmt: skip


def test_numbers_that_ndeval_printed() -> None:
    # ids in the opposite order, so that the smallest one is the largest one there
    lists, aspects = [], []
    for user, (relevant, listed, _) in PRINTED.items():
        lists += [(user, -int(item), rank) for rank, item in enumerate(listed.split(), start=1)]
        for item, letters in (entry.split(":") for entry in relevant.split()):
            aspects += [(user, -int(item), letter) for letter in letters]
    rows = pd.DataFrame(aspects, columns=["user_id", "item_id", "aspect"])
    truth = rows[["user_id", "item_id"]].drop_duplicates()
    recommendations = pd.DataFrame(lists, columns=["user_id", "item_id", "rank"])
    with sm.Evaluator(recommendations, truth, aspects=rows, threads=1) as evaluator:
        values = evaluator.per_user("alpha_ndcg", k=[1, 3, 10], long=True)
    found = values.sort_values("k").groupby("user_id")["alpha_ndcg"].apply(list).to_dict()
    for user, (_, _, expected) in PRINTED.items():
        assert found[user] == pytest.approx(expected, abs=1e-12), user


def test_ir_measures_breaks_ties_of_aspects_by_the_smallest_id_as_text() -> None:
    """Of 9, 10, 7 and 100 with equal scores, 10 and 100 come first: both have the aspect a.

    StRecall@1: one of two aspects. P_IA@2: the mean of 2/2 (a) and 0/2 (b). AP_IA: the mean of 1
    for a and 1/4 for b. ir_measures 0.4.3 with pyndeval 0.0.8 has these numbers.
    """
    lists = pd.DataFrame({"user_id": 1, "item_id": [9, 10, 7, 100], "score": 0.5})
    aspects = pd.DataFrame({"user_id": 1, "item_id": [10, 9, 100], "aspect": ["a", "b", "a"]})
    truth = aspects[["user_id", "item_id"]].assign(relevance=1)
    expected = {"subtopic_recall@1": 0.5, "p_ia@2": 0.5, "map_ia": 0.625}
    with sm.Evaluator(
        lists, truth, aspects=aspects, convention="ir_measures", check=False
    ) as evaluator:
        for spec, value in expected.items():
            assert evaluator.evaluate(spec)["value"].item() == pytest.approx(value, abs=1e-12), spec


def test_ir_measures_compares_scores_of_aspects_in_double_precision() -> None:
    """In single precision, both scores would be equal, and a, with the aspect, would be first."""
    lists = pd.DataFrame({"user_id": 1, "item_id": ["a", "b"], "score": [0.1, 0.1 + 1e-10]})
    aspects = pd.DataFrame({"user_id": [1], "item_id": ["a"], "aspect": ["s"]})
    truth = aspects[["user_id", "item_id"]].assign(relevance=1)
    with sm.Evaluator(
        lists, truth, aspects=aspects, convention="ir_measures", check=False
    ) as evaluator:
        assert evaluator.evaluate("subtopic_recall@1")["value"].item() == 0
