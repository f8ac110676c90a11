"""Run systems on tables of one size: once to compare numbers, or several times alternately."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .agreement import Agreement
from .registry import System
from .results import Cell, median_cost
from .running import Run, run
from .tables import Tables

#: The size of the tables for the comparison of numbers.
CHECKED_ROWS = 10_000

# a first run may compile code that later runs find on disk
_LIMIT_OF_CHECK = 900.0
# slower systems run only once
_SLOW = 10.0


class DisagreementError(Exception):
    """Numbers of systems differ from those of sqlmetrics; the message lists them."""


@dataclass(frozen=True)
class Entry:
    """A system, a kind of lists, and the interpreter of the system's environment."""

    system: System
    kind: str
    python: Path

    @property
    def place(self) -> tuple[str, str]:
        return self.system.name, self.kind

    def __str__(self) -> str:
        return f"{self.system.title}, {self.kind}"


def check(entries: Iterable[Entry], tables: Tables) -> list[Cell]:
    """Run every system once, and return a cell for each system without numbers.

    Raises:
        DisagreementError: a number differs from ours under the convention of the system.
    """
    agreement = Agreement(tables)
    without: list[Cell] = []
    wrong: list[str] = []
    for entry in entries:
        done = run(entry.system, entry.python, tables, entry.kind, _LIMIT_OF_CHECK)
        disagreements = _disagreements(agreement, entry, done)
        said = f"{len(done.numbers)} numbers, {len(disagreements)} disagree"
        print(f"{entry}: {said if done.cost else f'{done.outcome} {done.detail}'}", flush=True)
        wrong += disagreements
        if done.cost is None:
            without.append(_cell(entry, CHECKED_ROWS, [done]))
    if wrong:
        raise DisagreementError("\n".join(wrong))
    return without


def measure(
    entries: Sequence[Entry], tables: Tables, rows: int, runs: int, limit: float
) -> list[Cell]:
    """Run the systems alternately, and return a cell with medians for each.

    Args:
        entries: the systems to run.
        tables: the tables that they read.
        rows: the requested size.
        runs: the number of runs per system, unless it is slow.
        limit: the maximum seconds per run.

    Raises:
        DisagreementError: a number differs from ours under the convention of the system.
    """
    agreement = Agreement(tables)
    done: list[list[Run]] = [[] for _ in entries]
    for turn in range(runs):
        for entry, so_far in zip(entries, done, strict=True):
            if turn and not _worth_another(so_far):
                continue
            latest = run(entry.system, entry.python, tables, entry.kind, limit)
            so_far.append(latest)
            if wrong := _disagreements(agreement, entry, latest):
                raise DisagreementError("\n".join(wrong))
            _tell(entry, rows, latest)
    return [_cell(entry, rows, so_far) for entry, so_far in zip(entries, done, strict=True)]


def _worth_another(done: list[Run]) -> bool:
    cost = done[-1].cost
    return cost is not None and cost.wall <= _SLOW


def _disagreements(agreement: Agreement, entry: Entry, done: Run) -> list[str]:
    if done.cost is None:
        return []
    lines = agreement.disagreements(entry.system, entry.kind, done.numbers)
    return [f"{entry}: {line}" for line in lines]


def _cell(entry: Entry, rows: int, done: list[Run]) -> Cell:
    """Return the medians of the runs, or the outcome of the last run without numbers."""
    costs = [one.cost for one in done if one.cost]
    last = done[-1]
    return Cell(
        rows=rows,
        kind=entry.kind,
        system=entry.system.name,
        outcome=last.outcome,
        detail=last.detail,
        runs=len(done),
        cost=median_cost(costs) if last.cost else None,
    )


def _tell(entry: Entry, rows: int, done: Run) -> None:
    said = f"{done.outcome} {done.detail}"
    if cost := done.cost:
        said = f"{cost.wall:8.2f} s {cost.cpu:8.2f} CPU s {cost.memory / 1e6:8.0f} MB"
    print(f"{rows:>11,} {entry!s:40s} {said}", flush=True)
