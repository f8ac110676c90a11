"""Compare sqlmetrics with other systems: the same files, the same numbers, their cost.

    python -m benchmarks.peers [--rows 10000,100000,1000000,10000000] [--runs 3] [--limit 150]

Each system has a virtual environment, created when needed, and each run is a new process that reads
the files, computes, and prints its numbers. First, the numbers of every system on a small table are
compared with those of sqlmetrics under the system's convention; if a number differs, nothing is
measured. Then all systems run alternately, several times, and medians are reported. A system that
exceeds the time limit or runs out of memory is skipped for larger tables.

After every size, a run of all systems updates results.json, RESULTS.md, the plots and the rows of
this version in history.csv. Sizes that it did not measure are kept if machine and versions are the
same. A run of some systems only prints, as does a run in which a system cannot be installed.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import platform
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from .environments import NotInstalledError, environment, version
from .measuring import CHECKED_ROWS, DisagreementError, Entry, check, measure
from .registry import BY_NAME, QUICK, REFERENCE, System
from .report import page
from .results import (
    Cell,
    Results,
    Size,
    history_rows,
    read_results,
    write_history,
    write_results,
)
from .tables import write_tables

BENCHMARKS = Path(__file__).resolve().parents[1]
RESULTS = BENCHMARKS / "results.json"


def main() -> int:
    options = parse_options()
    recording = options.systems == list(BY_NAME) and not options.smoke
    if recording and find_spec("matplotlib") is None:
        print("to draw the results: pip install -e '.[bench]'", file=sys.stderr)
        return 2
    systems = [BY_NAME[name] for name in options.systems]
    entries, lost = prepare(systems, options.environments, dict(options.python))
    with tempfile.TemporaryDirectory() as temporary:
        tables = options.tables or Path(temporary)
        try:
            lost += check(entries, write_tables(tables / str(CHECKED_ROWS), CHECKED_ROWS))
            if not options.smoke:
                recording = recording and not lost
                recorded = read_results(RESULTS) if recording else None
                for results in measure_sizes(options, entries, lost, tables, recorded):
                    if recording:
                        record(results)
                print(page(results))
        except DisagreementError as error:
            print(f"numbers that disagree:\n{error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
            return 130
    for cell in lost:
        print(f"{cell.system}, {cell.kind}: {cell.outcome}: {cell.detail}", file=sys.stderr)
    return 1 if lost else 0


def prepare(
    systems: Iterable[System], folder: Path, pythons: dict[str, str]
) -> tuple[list[Entry], list[Cell]]:
    """Create the environments; return the systems that can run, and those that cannot."""
    made: dict[str, Path | NotInstalledError] = {}
    entries: list[Entry] = []
    lost: list[Cell] = []
    for system in systems:
        if system.folder not in made:
            try:
                made[system.folder] = environment(system, folder, pythons)
            except NotInstalledError as error:
                made[system.folder] = error
        python = made[system.folder]
        for kind in system.kinds:
            if isinstance(python, Path):
                entries.append(Entry(system, kind, python))
            else:
                lost.append(Cell(0, kind, system.name, "not installed", str(python)))
    return entries, lost


def measure_sizes(
    options: argparse.Namespace,
    entries: list[Entry],
    lost: list[Cell],
    folder: Path,
    recorded: Results | None,
) -> Iterator[Results]:
    """Measure one size after another; skip larger sizes for systems that ended without numbers.

    Yields:
        The results so far, with comparable recorded results of other sizes.
    """
    versions = {entry.system.name: version(entry.system, entry.python) for entry in entries}
    measured = Results(datetime.date.today().isoformat(), machine(), versions)
    results = recorded.merged(measured) if recorded else measured
    without = {(cell.system, cell.kind) for cell in lost}
    for rows in options.rows:
        ended = results.ended_below(rows)
        tables = write_tables(folder / str(rows), rows)
        running = [entry for entry in entries if entry.place not in without | ended.keys()]
        cells = measure(running, tables, rows, options.runs, options.limit)
        cells += [
            Cell(rows, cell.kind, cell.system, "left out", f"{cell.outcome} at {cell.rows:,} rows")
            for cell in ended.values()
        ]
        cells += [replace(cell, rows=rows) for cell in lost]
        size = Size(rows, tables.rows, tables.users, tables.hits)
        results = results.merged(replace(measured, sizes=(size,), cells=tuple(cells)))
        yield results


def record(results: Results) -> None:
    """Write the results, the page, the plots and the rows of the history."""
    from .plots import draw  # imported here, because plotting needs an extra

    write_results(RESULTS, results)
    (BENCHMARKS / "RESULTS.md").write_text(page(results), encoding="utf-8")
    write_history(BENCHMARKS / "history.csv", history_rows(results))
    draw(results, BENCHMARKS / "plots")


def machine() -> str:
    """Return a description of the machine: processor, cores, memory, system and Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"{platform.system()}, Python {platform.python_version()}"
    )


def processor() -> str:
    """Return the name of the processor if the system provides it."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--rows", type=sizes, default=sizes("10000,100000,1000000,10000000"),
        help="comma-separated sizes of the tables",
    )  # fmt: skip
    parser.add_argument(
        "--runs", type=positive, default=3, help="number of runs per system, unless it is slow"
    )
    parser.add_argument("--limit", type=float, default=150, help="maximum seconds per run")
    parser.add_argument(
        "--systems", type=names, default=list(BY_NAME),
        help=f"comma-separated: {', '.join(BY_NAME)}",
    )  # fmt: skip
    parser.add_argument(
        "--smoke", action="store_true",
        help="only compare the numbers of systems that install quickly",
    )  # fmt: skip
    parser.add_argument(
        "--environments", type=Path, default=BENCHMARKS / ".environments",
        help="folder of the virtual environments",
    )  # fmt: skip
    parser.add_argument(
        "--tables", type=Path, help="folder that keeps the tables; default: a temporary folder"
    )
    parser.add_argument(
        "--python", type=interpreter, action="append", default=[], metavar="SYSTEM=PATH",
        help="Python for the environment of a system",
    )  # fmt: skip
    options = parser.parse_args()
    if options.smoke:
        options.systems = list(QUICK)
    return options


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def sizes(text: str) -> list[int]:
    return sorted(positive(part.replace("_", "")) for part in text.split(","))


def names(text: str) -> list[str]:
    """Parse names of systems, in their order, and add the reference system."""
    given = {*text.split(","), REFERENCE}
    if unknown := given - set(BY_NAME):
        raise argparse.ArgumentTypeError(f"no such system: {', '.join(sorted(unknown))}")
    return [name for name in BY_NAME if name in given]


def interpreter(text: str) -> tuple[str, str]:
    system, equals, path = text.partition("=")
    if system not in BY_NAME or not equals:
        raise argparse.ArgumentTypeError(f"not SYSTEM=PATH: {text}")
    return BY_NAME[system].folder, path


if __name__ == "__main__":
    sys.exit(main())
