"""Student's t-distribution: its quantiles for SQL, and scipy, which only some tests need."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import Any

from sqlmetrics.errors import imported

_TERMS = 20


def special(needed_by: str) -> Any:
    """Import `scipy.special`; `scipy.stats`, which most tests do not need, imports far longer.

    Raises:
        UsageError: scipy is not installed.
    """
    return scipy_module("special", needed_by)


def scipy_module(name: str, needed_by: str) -> Any:
    """Import a module of scipy.

    Raises:
        UsageError: scipy is not installed.
    """
    verb = "need" if " and " in needed_by else "needs"
    return imported(f"scipy.{name}", f"{needed_by} {verb} scipy", "stats")


@functools.lru_cache(maxsize=16)
def quantile_series(confidence: float) -> tuple[float, ...]:
    """Return c1, c2, … of the quantile of Student's t with d degrees of freedom, for SQL.

    The quantile of the two-sided interval is z exp(c1 / d + c2 / d² + …), where z is that of the
    normal distribution. The series interpolates the exact quantiles in Chebyshev nodes of 1 / d;
    its relative error for 1, 2, … degrees of freedom is below 1e-12 for levels up to 95 %, and
    below 1e-9 up to 99.9 %. It needs no scipy, whose import would take longer than many results.
    """
    tail = (1 - confidence) / 2
    z = NormalDist().inv_cdf(1 - tail)
    angles = (math.pi * (number + 0.5) / _TERMS for number in range(_TERMS))
    nodes = [(1 + math.cos(angle)) / 2 for angle in angles]
    values = [math.log(_quantile(1 / node, tail, z) / z) / node for node in nodes]
    return tuple(_interpolated(nodes, values))


def _quantile(freedom: float, tail: float, start: float) -> float:
    """Return the quantile above which a share of the distribution is, by Newton's method."""
    t = start
    for _ in range(100):
        above = _share_above(t, freedom)
        # the logarithm of the share is concave, so that no step goes beyond the quantile
        step = above * math.log(above / tail) / _density(t, freedom)
        t += step
        if abs(step) < 1e-15 * t:
            break
    return t


def _density(t: float, freedom: float) -> float:
    half = (freedom + 1) / 2
    factor = math.lgamma(half) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    return math.exp(factor - half * math.log1p(t * t / freedom))


def _share_above(t: float, freedom: float) -> float:
    """Return the share of the distribution above t: half an incomplete beta function."""
    x, a, b = freedom / (freedom + t * t), freedom / 2, 0.5
    if x > (a + 1) / (a + b + 2):  # where the fraction converges more quickly from the other side
        return 0.5 - _beta(1 - x, b, a) / 2
    return _beta(x, a, b) / 2


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction (Lentz)."""
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(front + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / (1 + term * d), 1 + term / c
            fraction *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return front * fraction


def _interpolated(nodes: Sequence[float], values: Sequence[float]) -> list[float]:
    """Return the coefficients of the polynomial through some points, in exact arithmetic."""
    xs, divided = [Fraction(node) for node in nodes], [Fraction(value) for value in values]
    for order in range(1, len(xs)):
        for place in range(len(xs) - 1, order - 1, -1):
            gap = xs[place] - xs[place - order]
            divided[place] = (divided[place] - divided[place - 1]) / gap
    series = [Fraction(0)] * len(xs)
    for x, own in zip(reversed(xs), reversed(divided), strict=True):
        shifted = [Fraction(0), *series[:-1]]
        series = [up - x * same for up, same in zip(shifted, series, strict=True)]
        series[0] += own
    return [float(number) for number in series]
