"""Findings about ties name the values with relevant items last and first."""

import pandas as pd

import sqlmetrics as sm

TRUTH = pd.DataFrame({"user_id": [1], "item_id": ["b"]})
# b shares places 2 to 4 with c and d, in the order of ids
ROWS = pd.DataFrame({"user_id": 1, "item_id": list("acbd"), "score": [0.9, 0.5, 0.5, 0.5]})


def finding(evaluator: sm.Evaluator, metrics: list[str]) -> str:
    found = evaluator.check(metrics, k=4)
    return str(found["found"][found["check"] == "recommendations_ties_decide"].item())


def test_the_finding_names_the_bounds() -> None:
    with sm.Evaluator(ROWS, TRUTH) as evaluator:
        text = finding(evaluator, ["mrr"])
        none = finding(evaluator, ["n_recommended"])
    expected = "mrr@4 is 0.5000; with other orders of equal scores it would be between "
    assert expected + "0.2500 and 0.5000" in text
    assert "between" not in none


def test_of_equal_bounds_the_first_model_is_named() -> None:
    lists = {"b": ROWS, "a": ROWS.iloc[::-1]}
    with sm.Evaluator(lists, TRUTH) as evaluator:
        assert "mrr@4 of a is 0.5000" in finding(evaluator, ["mrr"])


def test_bounds_that_are_equal() -> None:
    """All four items are in the top 4."""
    with sm.Evaluator(ROWS, TRUTH) as evaluator:
        text = finding(evaluator, ["recall"])
    assert "recall@4 is the same for every order of equal scores, to 4 digits" in text


def test_the_model_with_the_widest_bounds() -> None:
    without = ROWS.assign(score=[0.9, 0.7, 0.6, 0.5])
    with sm.Evaluator({"als": without, "popular": ROWS}, TRUTH) as evaluator:
        assert "mrr@4 of popular is 0.5000" in finding(evaluator, ["mrr"])
