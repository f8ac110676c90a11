"""`debiased` against RecTools' `debias_config`, which draws the interactions that it removes.

The literals are means over 4000 random states and their standard errors, printed by
tests/references/systems/debias_rectools.py in an environment with RecTools 0.19.0.
"""

import pandas as pd
import pytest

import sqlmetrics as sm
from tests.references import data
from tests.support.evaluators import Evaluator

BORDER = 14
SIMULATED = {
    "recall": (0.0395335, 7.68e-05),
    "precision": (0.0366999, 5e-05),
    "ndcg": (0.0400421, 6.3e-05),
    "hit_rate": (0.151044, 0.0001832),
}


@pytest.fixture(scope="module")
def evaluator() -> sm.Evaluator:
    made = data.tables("plain")
    truth = pd.DataFrame(made["history"])[["user_id", "item_id"]].drop_duplicates()
    lists = pd.DataFrame(made["baseline"])[["user_id", "item_id", "rank"]]
    return Evaluator(lists, truth)


def test_the_border_is_that_of_rectools(evaluator: sm.Evaluator) -> None:
    assert evaluator.stage("accepted_users", "debiased")["border"].tolist() == [BORDER]


@pytest.mark.parametrize("of", SIMULATED)
def test_the_mean_over_random_states_is_the_expected_value(
    evaluator: sm.Evaluator, of: str
) -> None:
    """Four standard errors are also less than a hundredth of the value."""
    mean, error = SIMULATED[of]
    assert 4 * error < mean / 100
    value = evaluator.evaluate([f"debiased(of={of})@5"])["value"].item()
    assert value == pytest.approx(mean, abs=4 * error)


def test_without_debiasing_the_values_are_others(evaluator: sm.Evaluator) -> None:
    plain = evaluator.evaluate(["recall@5"])["value"].item()
    mean, error = SIMULATED["recall"]
    assert abs(plain - mean) > 40 * error
