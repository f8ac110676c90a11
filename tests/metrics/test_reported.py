"""Reported numbers: their texts, digits and percentages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sqlmetrics as sm
from sqlmetrics.metrics.reported import ReportedNumber, read_numbers


def read(numbers: Any) -> ReportedNumber:
    (number,) = read_numbers(numbers)
    return number


@pytest.mark.parametrize(
    ("text", "value", "half_a_unit"),
    [
        ("map@10=0.7616", 0.7616, 0.00005),
        ("map@10=.41", 0.41, 0.005),
        ("map@10=0.410", 0.41, 0.0005),
        ("map@10=0.4 ", 0.4, 0.05),
        ("map@10 = 7.616e-1", 0.7616, 0.00005),
        ("map@10=1", 1, 0.5),
        ("map@10=-0.25", -0.25, 0.005),
        ("map@10=76.16%", 0.7616, 0.00005),
        ("map@10=76 %", 0.76, 0.005),
        ("map(divisor=k)@10=0.76", 0.76, 0.005),
        ({"map@10": 0.76}, 0.76, 0.005),
        ({"map@10": "0.760"}, 0.76, 0.0005),
        ({"map@10": np.float64(0.76)}, 0.76, 0.005),
        ({"map@10": np.float32(0.76)}, 0.76, 0.005),
        ({"map@10": 1}, 1, 0.5),
        (["map@10=0.76", "map@10=0.76"], 0.76, 0.005),
    ],
)
def test_a_number_stands_for_the_values_that_round_to_it(
    text: Any, value: float, half_a_unit: float
) -> None:
    (reading,) = read(text).readings(1.0)
    assert reading.value == pytest.approx(value, rel=1e-15)
    assert reading.tolerance == pytest.approx(half_a_unit, rel=1e-9)
    for side in (-1, 1):
        assert reading.matches(value + side * 0.99 * half_a_unit)
        assert reading.matches(value + side * half_a_unit)
        assert not reading.matches(value + side * 1.01 * half_a_unit)


def test_long_numbers_match_up_to_the_noise_of_sums() -> None:
    (reading,) = read("map@10=0.7857142857142857").readings(1.0)
    assert reading.matches(0.7857142857142857 + 1e-12)
    assert reading.distance(0.7857142857142857 + 1e-12) == 0
    assert not reading.matches(0.7857142857142857 + 1e-8)


@pytest.mark.parametrize(
    ("text", "largest", "percentages"),
    [
        ("map@10=76.16", 1.0, [False, True]),
        ("map@10=0.7616", 1.0, [False]),
        ("map@10=1", 1.0, [False]),
        ("map@10=100", 1.0, [False, True]),
        ("map@10=761.6", 1.0, [False]),
        ("dcg@10=4.2", None, [False]),
        ("dcg@10=4.2%", None, [True]),
        ("map@10=0.7%", 1.0, [True]),
    ],
)
def test_numbers_above_the_range_can_be_percentages(
    text: str, largest: float | None, percentages: list[bool]
) -> None:
    readings = read(text).readings(largest)
    assert [reading.in_percent for reading in readings] == percentages
    if percentages == [False, True]:
        assert readings[1].value == pytest.approx(float(text.partition("=")[2]) / 100)


def test_parts() -> None:
    number = read("als: ndcg(gain=exponential)@10=0.41")
    assert (number.model, str(number.spec), number.text) == (
        "als", "ndcg(gain=exponential)@10", "0.41",
    )  # fmt: skip
    assert str(number) == "als: ndcg(gain=exponential)@10=0.41"
    assert read("map=0.41").spec.cutoff is None
    assert len(read_numbers({"map@10": 0.4, "ndcg@10": 0.5})) == 2


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ("map@10=abc", "'abc' is not a number"),
        ("map@10=", "no number after ="),
        ("map=", "no number after ="),
        ("map@10", "has no number; write METRIC@K=NUMBER"),
        ("map(divisor=k)@10", "has no number; write METRIC@K=NUMBER"),
        ("=0.7", "has no metric"),
        ("als:=0.7", "has no metric"),
        ("map@10=0,7616", "Write it with a point: 0.7616"),
        ("map@10=1,234.5", "'1,234.5' is not a number"),
        ("map@10=nan", "'nan' is not a number"),
        ("map@10=inf", "'inf' is not a number"),
        ("map@10=1e999", "too large"),
        ("map@ten=0.7", "k must be a positive whole number"),
        ("map@10==0.7", "k must be a positive whole number"),
        ([], "no number given"),
        ({}, "no number given"),
        (3, "numbers are texts"),
        ([3], "a reported number is a text"),
        ({"map@10": True}, "True is not a number"),
        ({"map@10": None}, "None is not a number"),
        ({"map@10": float("nan")}, "'nan' is not a number"),
        ({3: 0.5}, "a metric is a text"),
    ],
)
def test_mistyped_numbers_are_refused(numbers: Any, message: str) -> None:
    with pytest.raises(sm.UsageError) as refused:
        read_numbers(numbers)
    assert message in str(refused.value)
