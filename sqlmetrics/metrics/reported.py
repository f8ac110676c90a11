"""Reported numbers: `als: map@10=0.7616` is a metric and the number that somebody reported."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Number
from typing import Any, TypeAlias

from sqlmetrics.errors import UsageError
from sqlmetrics.metrics.spec import MetricSpec, parse_spec, unique

# what a caller gives: texts such as "map@10=0.7616", or metric -> number
Numbers: TypeAlias = str | Iterable[str] | Mapping[str, Any]

GRAMMAR = "[MODEL:] METRIC[@K]=NUMBER[%]"
_EXAMPLE = "for example map@10=0.7616"
_NUMBER = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*(%)?", re.ASCII)
_COMMA = re.compile(r"[-+]?\d*,\d+\s*%?", re.ASCII)
_NOISE = 1e-9
"""The smallest difference that counts.

Libraries that compute the same number differ in its last digits, since they add in another order.
"""
_SINGLE = 1e-6  # the same of sums in single precision
_DIGITS_OF_SINGLE = 7


@dataclass(frozen=True)
class Reading:
    """A value that a reported number stands for, and how far a value that matches may lie from it.

    `in_percent`: the number is the value in percent.
    """

    value: float
    tolerance: float
    in_percent: bool

    def matches(self, computed: float) -> bool:
        """Return whether a computed value is this number, to the digits of the number."""
        return abs(computed - self.value) <= self.tolerance

    def in_single_precision(self) -> Reading:
        """Return the reading of a number that was computed in single precision."""
        tolerance = _SINGLE * max(1.0, abs(self.value))
        return replace(self, tolerance=max(self.tolerance, tolerance))

    def distance(self, computed: float) -> float:
        """Return how far a computed value lies from this number; 0 for the same number."""
        distance = abs(computed - self.value)
        return 0.0 if distance <= _least(self.value) else distance


@dataclass(frozen=True)
class ReportedNumber:
    """A number that somebody reported for a metric.

    `text` is the number as it was given. `model` is None where the number can be that of any model.
    """

    spec: MetricSpec
    text: str
    number: Decimal
    in_percent: bool = False
    model: str | None = None

    def __str__(self) -> str:
        model = "" if self.model is None else f"{self.model}: "
        return f"{model}{self.spec}={self.text}"

    @property
    def may_be_single(self) -> bool:
        """Return whether the number has the digits of single precision, or more."""
        return len(self.number.normalize().as_tuple().digits) >= _DIGITS_OF_SINGLE

    def readings(self, largest: float | None) -> list[Reading]:
        """Return the values that the number can stand for.

        `largest`: the largest value of the metric; None: there is none. A number above it can be a
        percentage too.
        """
        readings = [] if self.in_percent else [self._reading(0)]
        if self.in_percent or (largest is not None and largest < self.number <= 100 * largest):
            readings.append(self._reading(2))
        return readings

    def _reading(self, shift: int) -> Reading:
        exponent = self.number.as_tuple().exponent
        assert isinstance(exponent, int)
        value = float(self.number.scaleb(-shift))
        half_a_unit = float(Decimal(5).scaleb(exponent - shift - 1))
        # with the noise: the end of an interval is not a number of binary digits
        return Reading(value, max(half_a_unit + 1e-15, _least(value)), shift > 0)


def _least(value: float) -> float:
    return _NOISE * max(1.0, abs(value))


def read_numbers(numbers: Numbers) -> list[ReportedNumber]:
    """Read reported numbers, each once.

    Raises:
        UsageError: there are none, or one that cannot be read.
    """
    if isinstance(numbers, Mapping):
        pairs = [(metric, _text_of(metric, number)) for metric, number in numbers.items()]
        read = [_reported(metric, number, f"{metric}={number}") for metric, number in pairs]
    elif isinstance(numbers, str):
        read = [_parse(numbers)]
    elif isinstance(numbers, Iterable):
        read = [_parse(text) for text in numbers]
    else:
        raise UsageError(f"numbers are texts such as 'map@10=0.7616', not {numbers!r}")
    if not read:
        raise UsageError(f"no number given; write METRIC@K=NUMBER, {_EXAMPLE}")
    return unique(read)


def _text_of(metric: Any, number: Any) -> str:
    if isinstance(number, str):
        return number.strip()
    if isinstance(number, Number) and not isinstance(number, bool):
        return str(number)  # a NumPy number too
    raise UsageError(f"{metric}: {number!r} is not a number")


def _parse(text: Any) -> ReportedNumber:
    """Parse `[MODEL:] METRIC[@K]=NUMBER[%]`."""
    if not isinstance(text, str):
        raise UsageError(f"a reported number is a text such as 'map@10=0.7616', not {text!r}")
    # parameters of a metric have equals signs too, in parentheses
    metric, equals, number = text.rpartition("=")
    if not equals or ")" in number:
        raise UsageError(
            f"{text!r} has no number; write METRIC@K=NUMBER without spaces, {_EXAMPLE}"
        )
    return _reported(metric, number.strip(), text)


def _reported(metric: Any, number: str, text: str) -> ReportedNumber:
    if not isinstance(metric, str):
        raise UsageError(f"a metric is a text such as 'map@10', not {metric!r}")
    model, _, spec = metric.rpartition(":")
    if not spec.strip():
        raise UsageError(f"{text!r} has no metric; write METRIC@K=NUMBER, {_EXAMPLE}")
    read = parse_spec(spec)
    if not number:
        raise UsageError(f"{text!r} has no number after =; write METRIC@K=NUMBER, {_EXAMPLE}")
    match = _NUMBER.fullmatch(number)
    if match is None:
        hint = ""
        if _COMMA.fullmatch(number):
            hint = f"write it with a point: {number.replace(',', '.')}"
        raise UsageError(f"{text!r}: {number!r} is not a number", remedy=hint)
    found = ReportedNumber(
        read, number, Decimal(match[1]), match[2] is not None, model.strip() or None
    )
    if not math.isfinite(float(found.number)):
        raise UsageError(f"{text!r}: {number} is too large")
    return found
