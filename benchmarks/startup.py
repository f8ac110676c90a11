"""Cost of short commands, as a multiple of a query by hand and of the necessary imports.

    python benchmarks/startup.py [--users 100] [--per-user 100] [--runs 15]

The commands run alternately, each in a separate Python process, after one warm-up. The script
prints medians of CPU seconds and seconds from start to end of the process, and their ratios.
Compiled modules are kept in a temporary directory, as in an installation; compiled templates are
kept by Jinja. "DuckDB, by hand" computes the same two metrics without checks,
in a process that imports only DuckDB.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

IMPORT = "import sqlmetrics"
HELP = "sqlmetrics --help"
EVALUATE = "sqlmetrics evaluate"
TRUSTED = "sqlmetrics evaluate --trust-input"
BY_HAND = "DuckDB, by hand"
IN_PYTHON = "Evaluator.evaluate"
FRAMES = "import duckdb, pandas"
CLICK = "import click"
PACKAGES = "import duckdb, pandas, sqlglot, jinja2"
COMPARED = (
    (EVALUATE, BY_HAND), (TRUSTED, BY_HAND), (IMPORT, FRAMES), (HELP, CLICK), (EVALUATE, PACKAGES),
    (IN_PYTHON, PACKAGES),
)  # fmt: skip

METRICS = ["ndcg@10", "recall@10"]
LISTS = """
    SELECT users.range AS user_id, (7 * users.range + places.range) % {items} AS item_id,
        places.range AS rank
    FROM range(1, {users} + 1) AS users, range(1, {per_user} + 1) AS places
"""
TRUTH = "SELECT user_id, item_id FROM lists WHERE rank % 3 = 1"
QUERY = """
    WITH relevant AS (
        SELECT user_id, count(*) AS n_relevant FROM '{truth}' GROUP BY user_id
    ), hits AS (
        SELECT lists.user_id, count(*) AS n_hits, sum(1 / log2(rank + 1)) AS dcg
        FROM '{lists}' AS lists
        JOIN '{truth}' AS truth USING (user_id, item_id)
        WHERE rank <= 10
        GROUP BY lists.user_id
    ), ideal AS (
        SELECT range AS n, sum(1 / log2(range + 1)) OVER (ORDER BY range) AS dcg FROM range(1, 11)
    )
    SELECT avg(coalesce(hits.dcg / ideal.dcg, 0)), avg(coalesce(n_hits / n_relevant, 0))
    FROM relevant
    JOIN ideal ON ideal.n = least(n_relevant, 10)
    LEFT JOIN hits USING (user_id)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--per-user", type=int, default=100, help="length of the lists")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        n_rows = write_tables(folder, options.users, options.per_user)
        print(f"{platform.machine()}, Python {platform.python_version()}, DuckDB "
              f"{duckdb.__version__}, {n_rows:,} recommendations, {options.runs} runs")  # fmt: skip
        report(measured(commands(folder), options.runs, folder / "modules"))


def write_tables(folder: Path, users: int, per_user: int) -> int:
    """Write lists and interactions as Parquet; return the number of rows of the lists."""
    with duckdb.connect() as connection:
        lists = LISTS.format(users=users, per_user=per_user, items=10 * per_user)
        connection.execute(f"CREATE TABLE lists AS {lists}")
        connection.execute(f"COPY lists TO '{folder / 'lists.parquet'}'")
        connection.execute(f"COPY ({TRUTH}) TO '{folder / 'truth.parquet'}'")
        return users * per_user


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the command line of each measured command."""
    lists, truth = str(folder / "lists.parquet"), str(folder / "truth.parquet")
    program = [sys.executable, "-m", "sqlmetrics"]
    call = f"import sqlmetrics as sm; sm.Evaluator({lists!r}, {truth!r}).evaluate({METRICS})"
    query = QUERY.format(lists=lists, truth=truth)
    by_hand = f"import duckdb; print(duckdb.connect().execute({query!r}).fetchall())"
    evaluate = [*program, "evaluate", *METRICS, "-r", lists, "-i", truth]
    return {
        BY_HAND: [sys.executable, "-c", by_hand],
        **{code: [sys.executable, "-c", code] for code in (CLICK, FRAMES, PACKAGES, IMPORT)},
        HELP: [*program, "--help"],
        EVALUATE: evaluate,
        TRUSTED: [*evaluate, "--trust-input"],
        IN_PYTHON: [sys.executable, "-c", call],
    }


def measured(
    commands: dict[str, list[str]], runs: int, modules: Path
) -> dict[str, tuple[float, float]]:
    """Return the median CPU seconds and seconds of each command."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for run in range(runs + 1):
        for name, command in commands.items():
            cpu, clock = cpu_of_children(), time.perf_counter()
            run_quietly(command, modules)
            if run:
                times[name].append((cpu_of_children() - cpu, time.perf_counter() - clock))
    return {
        name: (statistics.median(cpu for cpu, _ in taken), statistics.median(s for _, s in taken))
        for name, taken in times.items()
    }


def run_quietly(command: list[str], modules: Path) -> None:
    """Run a command without its output; `modules` keeps compiled modules."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(modules)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # data warnings
    subprocess.run(command, check=True, env=environment, **quiet)


def cpu_of_children() -> float:
    """Return the CPU seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def report(times: dict[str, tuple[float, float]]) -> None:
    for name, (cpu, clock) in times.items():
        print(f"{name:<45}{cpu:7.3f} CPU s {clock:7.3f} s")
    print()
    for name, base in COMPARED:
        cpu, clock = (times[name][part] / times[base][part] for part in (0, 1))
        print(f"{name:<33} / {base:<40}{cpu:5.2f} x CPU, {clock:5.2f} x clock")


if __name__ == "__main__":
    main()
