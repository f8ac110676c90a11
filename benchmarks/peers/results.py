"""Measurements: medians, ratios to sqlmetrics, and the files that store them."""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from .registry import REFERENCE
from .running import Cost

_HISTORY_COLUMNS = ("version", "date", "rows", "kind", "system", "outcome", "wall", "cpu", "memory")


@dataclass(frozen=True)
class Cell:
    """A system on lists of one size and kind: medians of its runs, or the reason for none.

    Attributes:
        rows: the requested size.
        kind: the kind of lists.
        system: the name of the system.
        outcome: "measured", the outcome of a run without numbers, "not installed", or "left out" if
            it had no numbers at a smaller size.
        detail: more about the outcome.
        runs: the number of runs.
        cost: the medians of the runs.
    """

    rows: int
    kind: str
    system: str
    outcome: str
    detail: str = ""
    runs: int = 0
    cost: Cost | None = None


@dataclass(frozen=True)
class Size:
    """The contents of tables of one size; `asked` is the requested size."""

    asked: int
    rows: int
    users: int
    hits: int


@dataclass(frozen=True)
class Results:
    """Measurements on one machine, with one set of versions.

    Attributes:
        date: the date of the last measurement.
        machine: the machine.
        versions: the versions of the systems and of Python.
        sizes: the sizes of the tables, in order.
        cells: the measurements.
    """

    date: str
    machine: str
    versions: dict[str, str]
    sizes: tuple[Size, ...] = ()
    cells: tuple[Cell, ...] = field(default=(), repr=False)

    def cell(self, rows: int, kind: str, system: str) -> Cell | None:
        """Return a measurement, or None."""
        wanted = (rows, kind, system)
        return next((c for c in self.cells if (c.rows, c.kind, c.system) == wanted), None)

    def ended_below(self, rows: int) -> dict[tuple[str, str], Cell]:
        """Return {(system, kind): cell} of the smallest size without numbers.

        Only sizes below `rows` count, and only outcomes that larger sizes share: too much time or
        memory.
        """
        found: dict[tuple[str, str], Cell] = {}
        for cell in sorted(self.cells, key=lambda cell: cell.rows):
            if cell.rows < rows and cell.outcome in ("time limit", "out of memory"):
                found.setdefault((cell.system, cell.kind), cell)
        return found

    def merged(self, newer: Results) -> Results:
        """Return these results, with sizes replaced by those of newer results.

        If machine or versions differ, the times are not comparable, and only the newer results are
        returned.
        """
        if (self.machine, self.versions) != (newer.machine, newer.versions):
            return newer
        renewed = {size.asked for size in newer.sizes}
        sizes = [*(s for s in self.sizes if s.asked not in renewed), *newer.sizes]
        return replace(
            newer,
            sizes=tuple(sorted(sizes, key=lambda size: size.asked)),
            cells=(*(c for c in self.cells if c.rows not in renewed), *newer.cells),
        )


def median_cost(costs: Sequence[Cost]) -> Cost:
    """Return the separate medians of seconds, CPU seconds and memory."""
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
        round(statistics.median(cost.memory for cost in costs)),
    )


def ratios(cost: Cost, reference: Cost) -> tuple[float, float, float]:
    """Return seconds, CPU seconds and memory as multiples of the reference's."""
    return (
        cost.wall / reference.wall,
        cost.cpu / reference.cpu,
        cost.memory / reference.memory,
    )


def history_rows(results: Results) -> list[dict[str, str]]:
    """Return a row per system, size and kind: its cost as multiples of that of sqlmetrics."""
    rows = []
    for cell in results.cells:
        if cell.system == REFERENCE:
            continue
        row = {
            "version": results.versions[REFERENCE],
            "date": results.date,
            "rows": str(cell.rows),
            "kind": cell.kind,
            "system": cell.system,
            "outcome": cell.outcome,
        }
        reference = results.cell(cell.rows, cell.kind, REFERENCE)
        if cell.cost and reference and reference.cost:
            found = ratios(cell.cost, reference.cost)
            row |= {
                name: f"{x:.2f}" for name, x in zip(("wall", "cpu", "memory"), found, strict=True)
            }
        rows.append(row)
    return rows


def write_history(path: Path, rows: Iterable[dict[str, str]]) -> None:
    """Write rows to the history, replacing those of the same version, size, kind and system."""
    key = ("version", "rows", "kind", "system")
    kept: dict[tuple[str, ...], dict[str, str]] = {}
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            kept = {tuple(row[name] for name in key): row for row in csv.DictReader(file)}
    kept |= {tuple(row[name] for name in key): row for row in rows}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _HISTORY_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept.values())


def read_results(path: Path) -> Results | None:
    """Return the results stored in a file, or None."""
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    cells = (
        Cell(**(cell | {"cost": Cost(**cell["cost"]) if cell["cost"] else None}))
        for cell in found["cells"]
    )
    sizes = (Size(**size) for size in found["sizes"])
    return Results(**(found | {"sizes": tuple(sizes), "cells": tuple(cells)}))


def write_results(path: Path, results: Results) -> None:
    """Write results so that diffs show the changed cells."""
    fields = asdict(results)
    parts = [f' "{name}": {json.dumps(fields[name])}' for name in ("date", "machine", "versions")]
    for name in ("sizes", "cells"):
        lines = ",\n".join("  " + json.dumps(entry) for entry in fields[name])
        parts.append(f' "{name}": [\n{lines}\n ]')
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
