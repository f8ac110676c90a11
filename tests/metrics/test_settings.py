"""Settings of metrics, their spellings and values."""

from __future__ import annotations

import pytest

import sqlmetrics as sm
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
