"""Gaps: the differences between the values of slices, summed up in one number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from sqlmetrics.errors import check_choice

GapKind = Literal["difference", "ratio", "mad", "std"]
GAPS: tuple[GapKind, ...] = get_args(GapKind)


def checked_gaps(gaps: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the gaps asked for, each once.

    Raises:
        UsageError: there is no such gap.
    """
    asked = [gaps] if isinstance(gaps, str) else list(gaps or ())
    for gap in asked:
        check_choice("gap", gap, GAPS)
    return tuple(dict.fromkeys(asked))
