"""Compare the numbers of a system with those of sqlmetrics under its convention."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sqlmetrics as sm
from sqlmetrics.metrics.catalog import Catalog
from sqlmetrics.metrics.conventions import Convention
from sqlmetrics.metrics.settings import Settings
from sqlmetrics.metrics.spec import parse_spec

from .registry import System
from .tables import Tables

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Number:
    """A number that a system returned; `k` is None for whole lists."""

    name: str
    k: int | None
    value: float


class Agreement:
    """Compares numbers for tables of one size; numbers of sqlmetrics are cached."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._ours: dict[tuple[object, ...], dict[tuple[str, int | None], float]] = {}

    def disagreements(self, system: System, kind: str, said: Iterable[Number]) -> list[str]:
        """Return a line for each number that differs from ours by more than the tolerance."""
        numbers = sorted(said, key=lambda number: (number.name, number.k or 0))
        if not numbers:
            return ["no numbers"]
        asked = tuple(dict.fromkeys((number.name, number.k) for number in numbers))
        key = (kind, system.convention, tuple(sorted(system.settings.items())), asked)
        if key not in self._ours:
            self._ours[key] = self._compute(system, kind, asked)
        found = self._ours[key]
        return [
            f"{number.name}@{number.k}: {number.value!r} there, {ours!r} here"
            for number in numbers
            if not abs(number.value - (ours := found[number.name, number.k])) <= TOLERANCE
        ]

    def _compute(
        self, system: System, kind: str, asked: Iterable[tuple[str, int | None]]
    ) -> dict[tuple[str, int | None], float]:
        """Return {(name, k): our value}, with one call for all cutoffs and one for whole lists."""
        convention = Convention.load(system.convention)
        specs = convention.covers or {name: name for name, _ in asked}
        settings = Settings(Catalog.load(), convention, dict(system.settings))
        found: dict[tuple[str, int | None], float] = {}
        with sm.Evaluator(
            self._tables.recommendations(kind),
            self._tables.interactions,
            convention=system.convention,
            settings=dict(system.settings),
            memory_limit="4GiB",  # leaves the remaining memory to the measured system
        ) as evaluator:
            for cut in (True, False):
                names = {name for name, k in asked if (k is not None) == cut}
                if not names:
                    continue
                cutoffs = sorted({k for _, k in asked if k is not None}) if cut else None
                result = evaluator.evaluate(sorted({specs[name] for name in names}), k=cutoffs)
                for name in names:
                    ours = settings.request(parse_spec(specs[name])).name
                    rows = result[result["metric"] == ours]
                    for k, value in zip(rows["k"], rows["value"], strict=True):
                        found[name, int(k) if cut else None] = float(value)
        return found
