"""Numbers of partitions, and ranges of users."""

from __future__ import annotations

from dataclasses import dataclass

MOST = 9999


@dataclass(frozen=True)
class Bounds:
    """A range of the first key column: `low` <= key < `high`; None means unbounded."""

    low: int | str | None = None
    high: int | str | None = None
