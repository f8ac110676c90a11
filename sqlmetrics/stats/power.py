"""The power of comparisons: how small a difference a test could have found.

The power is that of the two-sided t-test for a difference that is assumed, never for the observed
one: the power for that is another form of its p-value (Hoenig and Heisey, The abuse of power, The
American Statistician 2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from sqlmetrics.errors import UsageError
from sqlmetrics.stats.student import special

_NEEDED_BY = "the power of a test"
_USUAL = 0.8
_MOST_UNITS = 10**12


@dataclass(frozen=True)
class Power:
    """The power that a comparison should have, and the difference that it should detect.

    Attributes:
        power: the probability to find a difference.
        detect: the difference: absolute, or a share of the value of the baseline; None for no
            number of users.
        is_share: whether it is such a share.
    """

    power: float = _USUAL
    detect: float | None = None
    is_share: bool = False

    @classmethod
    def of(cls, power: float | None, detect: float | str | None) -> Power | None:
        """Create it from the arguments of `Evaluator.compare`; None if neither is given.

        Raises:
            UsageError: an argument is invalid, or scipy is not installed.
        """
        if power is None and detect is None:
            return None
        power = _USUAL if power is None else power
        if isinstance(power, bool) or not isinstance(power, int | float) or not 0 < power < 1:
            raise UsageError(f"power must be between 0 and 1, not {power!r}")
        special(_NEEDED_BY)
        if detect is None:
            return cls(float(power))
        text = str(detect).strip()
        is_share = text.endswith("%")
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = math.nan
        if isinstance(detect, bool) or not 0 < number < math.inf:
            raise UsageError(
                f"detect must be a difference above 0, such as 0.01, or a share of the baseline's "
                f"value, such as '1%', not {detect!r}"
            )
        return cls(float(power), number / 100 if is_share else number, is_share)


def smallest_difference(error: float, n_units: float, alpha: float, power: float) -> float:
    """Return the smallest difference that a t-test finds with some probability.

    Args:
        error: the standard error of the mean difference.
        n_units: the number of users or clusters; one more than the degrees of freedom.
        alpha: the significance level of the two-sided test.
        power: the probability.

    Returns: the difference; NaN for fewer than two units, or if all differences are equal, because
        they then tell nothing about others.
    """
    if not (error > 0 and n_units > 1):
        return math.nan
    found = _power_for(n_units - 1, alpha)
    low, high = 0.0, 1.0
    while found(high) < power:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if found(middle) < power else (low, middle)
    return high * error


def units_needed(
    difference: float, deviation: float, alpha: float, power: float, freedom_of_one: float = 1.0
) -> float:
    """Return the smallest number of units for which the test finds a difference.

    Args:
        difference: the difference.
        deviation: the standard deviation of the difference of one unit.
        alpha, power: see `smallest_difference`.
        freedom_of_one: the degrees of freedom that every unit but the first adds.

    Returns: the number; NaN for no difference, an unknown deviation or one of 0, and for more than
        10^12 units.
    """
    if not (difference > 0 and deviation > 0):
        return math.nan

    def is_enough(n: int) -> bool:
        found = _power_for(freedom_of_one * (n - 1), alpha)
        return found(difference / deviation * math.sqrt(n)) >= power

    enough = 2
    while not is_enough(enough):
        enough *= 2
        if enough > _MOST_UNITS:
            return math.nan
    too_few = enough // 2 if enough > 2 else 1
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        too_few, enough = (too_few, middle) if is_enough(middle) else (middle, enough)
    return float(enough)


def _power_for(freedom: float, alpha: float) -> Callable[[float], float]:
    """Return the power of a two-sided t-test by the noncentrality: difference / standard error."""
    distributions = special(_NEEDED_BY)
    critical = float(distributions.stdtrit(freedom, 1 - alpha / 2))

    def below(shift: float, end: float) -> float:
        share = float(distributions.nctdtr(freedom, shift, end))
        return 0.0 if math.isnan(share) else share  # scipy has NaN for tails that are nearly 0

    def power(shift: float) -> float:
        return 1 - below(shift, critical) + below(shift, -critical)

    return power
