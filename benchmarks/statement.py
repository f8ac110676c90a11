"""Compare a run with the statement that it prints, in CPU time and memory.

    python benchmarks/statement.py [--rows 10000000] [--runs 5] [--memory-limit 2GB]

Six accuracy metrics at five cutoffs over trusted tables, for eight kinds of data: lists of 10 and
of 100 items, with scores or ranks, and with dense or sparse hits. Every measurement is a process of
its own: `Evaluator.evaluate`, or DuckDB alone with the printed statement. The processes run in
turn, and the script prints medians of CPU seconds and of the peak of memory. The same processes
over tables of a few rows are the start-up, which is taken off.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import duckdb
from data import SHARES, Case

import sqlmetrics as sm

METRICS = ["hit_rate", "precision", "recall", "map", "mrr", "ndcg"]
CUTOFFS = [1, 5, 10, 20, 100]
THREADS = 2
CASES = [
    Case(hits, length, order)
    for length, order, hits in product((10, 100), ("score", "rank"), SHARES)
]
FEW = 200  # rows of the tables that show the start-up

RUN = """
import sqlmetrics as sm
with sm.Evaluator({lists!r}, {truth!r}, trust_input=True, **{options!r}) as evaluator:
    evaluator.evaluate({metrics!r}, k={cutoffs!r})
"""
STATEMENT = """
import duckdb
with open({statement!r}) as file, duckdb.connect(config={options!r}) as connection:
    connection.execute(file.read()).fetchall()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="recommendations")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--memory-limit", default="8GB", help="of DuckDB, for both")
    parser.add_argument("--directory", type=Path, help="folder of the tables, created if missing")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, DuckDB {duckdb.__version__}, "
          f"{options.rows:,} rows, memory limit {options.memory_limit}")  # fmt: skip
    print(f"{'':24s}{'run':>16s}{'statement':>16s}{'CPU':>8s}{'memory':>8s}")
    with tempfile.TemporaryDirectory() as temporary:
        directory = options.directory or Path(temporary)
        for case in CASES:
            ours, printed = costs(case, directory, options.rows, options.runs, options.memory_limit)
            numbers = [f"{cpu:7.2f} s {memory:4.0f} MB" for cpu, memory in (ours, printed)]
            ratios = [f"{a / max(b, 1e-9):8.2f}" for a, b in zip(ours, printed, strict=True)]
            print(f"{case.name:24s}", *numbers, *ratios, sep="", flush=True)


def costs(
    case: Case, directory: Path, rows: int, runs: int, limit: str
) -> list[tuple[float, float]]:
    """Return the CPU seconds and the megabytes of a run and its statement, without start-up."""
    # a process of its own: the kernel counts the parent's peak of memory for its children
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        commands = [
            pool.submit(command, case, directory, n_rows, kind, limit).result()
            for kind in ("run", "statement")
            for n_rows in (rows, FEW)
        ]
    taken = [[measured(one) for one in commands] for _ in range(runs)]
    return [
        (
            statistics.median(each[place][0] - each[place + 1][0] for each in taken),
            statistics.median(each[place][1] - each[place + 1][1] for each in taken),
        )
        for place in (0, 2)
    ]


def command(case: Case, directory: Path, rows: int, kind: str, limit: str) -> list[str]:
    """Return the command line of a run, or of DuckDB with the printed statement."""
    lists, truth = map(str, case.write(directory, rows))
    options = {"threads": THREADS, "memory_limit": limit}
    if kind == "run":
        code = RUN.format(
            lists=lists, truth=truth, options=options, metrics=METRICS, cutoffs=CUTOFFS
        )
    else:
        path = Path(lists).with_name("statement.sql")
        with sm.Evaluator(lists, truth, trust_input=True) as evaluator:
            path.write_text(evaluator.sql(METRICS, k=CUTOFFS), encoding="utf-8")
        code = STATEMENT.format(statement=str(path), options=options)
    return [sys.executable, "-c", code]


def measured(arguments: list[str]) -> tuple[float, float]:
    """Run a process; return its CPU seconds and the peak of its memory in megabytes.

    Raises:
        SystemExit: the process fails.
    """
    process = subprocess.Popen(arguments)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(process.returncode)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
