"""Format values and names for messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlmetrics.texts.masking import masked

_LONGEST = 80  # characters


def shown(value: Any) -> str:
    """Return a value as JSON, truncated to fit into a message."""
    text = masked(json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "…"


_NOISE = 6
"""Number of digits beyond the shown ones that affect rounding.

The last digits of a mean depend on the order in which the engine adds the values. If all digits
affected rounding, a mean of 0.14315 could be shown as 0.1431 in one run and 0.1432 in the next.
"""


def rounded(value: float, digits: int) -> float:
    """Round to a number of decimal places, reproducibly across runs."""
    return round(round(value, digits + _NOISE), digits)


def with_significant(value: float, digits: int) -> float:
    """Round to a number of significant digits, reproducibly across runs."""
    return float(f"{float(f'{value:.{digits + _NOISE}g}'):.{digits}g}")


def by_number(number: object, forms: str) -> str:
    """Return the first of two texts (`row has|rows have`) if a number is 1, else the second."""
    one, _, several = forms.partition("|")
    return one if str(number) == "1" else several


_MOST_NAMES = 10


def listed(names: Iterable[Any]) -> str:
    """List at most ten names, and the number of the others."""
    return and_more([*names], _MOST_NAMES)


def and_more(names: Sequence[Any], most: int = 1) -> str:
    """List the first names, and the number of the others."""
    first = ", ".join(map(str, names[:most]))
    return f"{first} and {len(names) - most:,} more" if len(names) > most else first
