"""Values and names as messages show them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

_LONGEST = 80  # characters


def shown(value: Any) -> str:
    """Return a value as JSON, cut to a length that fits into a message."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "…"


_NOISE = 6
"""Digits behind those that are shown that decide how they are rounded.

The last digits of a mean depend on the order in which the engine adds the values. If they decided,
a mean of 0.14315 would be 0.1431 in one run and 0.1432 in the next.
"""


def rounded(value: float, digits: int) -> float:
    """Round to digits after the point, in every run alike."""
    return round(round(value, digits + _NOISE), digits)


def with_significant(value: float, digits: int) -> float:
    """Round to significant digits, in every run alike."""
    return float(f"{float(f'{value:.{digits + _NOISE}g}'):.{digits}g}")


def and_more(names: Sequence[Any], most: int = 1) -> str:
    """List the first names, and the number of the others."""
    listed = ", ".join(map(str, names[:most]))
    return f"{listed} and {len(names) - most} more" if len(names) > most else listed
