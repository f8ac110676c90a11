"""Time and memory of runs with unusual shapes, with and without a memory limit.

    python benchmarks/extremes.py [--scale 1.0] [--cases many_rows 'one_user*'] [--limits 8GB]

The shapes are ten million rows, one user with five million rows, five million users, 200 models,
10,000 slices and 1,000 cutoffs. Every run is a command in a separate process. A row of the output
has the limit, exit code, seconds, CPU seconds, peak memory, CPU seconds as a multiple of the run
without a limit, and the error message, if any. `--scale 0.01` makes the tables a hundred times
smaller.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import duckdb

LISTS = """
COPY (
    SELECT users.user_id, {model} places.place * 7919 % 100003 AS item_id,
        (places.place * 7919 + users.user_id * 104729) % 1000003 / 1e6 AS score
    FROM range({users}) AS users (user_id), range({per_user}) AS places (place) {models}
    ORDER BY users.user_id
) TO '{file}'
"""
TRUTH = """
COPY (
    SELECT users.user_id, (users.user_id * 31 + places.place * 3) % {per_user} * 7919 % 100003
        AS item_id
    FROM range({users}) AS users (user_id), range({relevant}) AS places (place)
    ORDER BY users.user_id
) TO '{file}'
"""
GROUPS = """
COPY (
    SELECT users.user_id, format('g{{:05d}}', users.user_id % {groups}) AS segment
    FROM range({users}) AS users (user_id)
) TO '{file}'
"""
ACCURACY = ["ndcg@10", "recall@10", "map@10"]


@dataclass(frozen=True)
class Shape:
    """Tables of one shape, and the request to compute."""

    users: int
    per_user: int
    arguments: tuple[str, ...] = (*ACCURACY,)
    models: int = 1
    groups: int = 0
    limits: tuple[str, ...] = ("1GB", "512MB", "256MB")
    relevant: int = 5


SHAPES = {
    "many_rows": Shape(100_000, 100, limits=("1GB", "512MB", "256MB", "64MB", "16MB")),
    "one_user": Shape(1, 5_000_000, relevant=1000),
    "many_users": Shape(5_000_000, 2, relevant=1),
    "many_models": Shape(500, 100, models=200),
    "many_slices": Shape(100_000, 20, (*ACCURACY, "--by", "segment"), groups=10_000),
    "many_cutoffs": Shape(1_000, 100, ("ndcg", "recall", "map", "precision", "-k", "1:1000")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="factor for all sizes")
    parser.add_argument("--cases", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--limits", nargs="+", metavar="LIMIT", help="default: by shape")
    options = parser.parse_args()
    print(
        f"{os.cpu_count()} cores, Python {platform.python_version()}, DuckDB {duckdb.__version__}"
    )
    print(f"{'shape':13} {'rows':>11} {'limit':>6} {'exit':>4} {'s':>7} {'CPU s':>7} "
          f"{'peak MB':>8} {'x CPU':>6}")  # fmt: skip
    for name, shape in SHAPES.items():
        if any(fnmatch.fnmatch(name, pattern) for pattern in options.cases):
            with tempfile.TemporaryDirectory() as folder:
                report(name, shape, options.limits or shape.limits, options.scale, Path(folder))


def report(name: str, shape: Shape, limits: Sequence[str], scale: float, folder: Path) -> None:
    """Write the tables of a shape, and measure it without a limit and under each limit."""
    # in a separate process, because the peak memory of a command includes that of its parent
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as writer:
        command = writer.submit(written, shape, scale, folder).result()
    rows = duckdb.sql(f"SELECT count(*) FROM '{folder}/lists.parquet'").fetchall()[0][0]
    whole = 0.0
    for limit in ("", *limits):
        limited = [*command, "--memory-limit", limit] if limit else command
        code, seconds, cpu, peak, message = measured(limited, folder)
        whole = whole or cpu
        print(f"{name:13} {rows:11,} {limit or 'none':>6} {code:4} {seconds:7.1f} {cpu:7.1f} "
              f"{peak:8.0f} {cpu / whole:6.2f}  {message}", flush=True)  # fmt: skip


def written(shape: Shape, scale: float, folder: Path) -> list[str]:
    """Write the tables, and return the command that evaluates them."""

    def scaled(number: int) -> int:
        return max(int(number * scale), 1)

    one_list = shape.users == 1
    users = 1 if one_list else scaled(shape.users)
    per_user = scaled(shape.per_user) if one_list else shape.per_user
    several = shape.models > 1
    lists, truth, groups = (folder / f"{table}.parquet" for table in ("lists", "truth", "users"))
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(
            LISTS.format(
                users=users,
                per_user=per_user,
                model="format('m{:03d}', models.model) AS model," if several else "",
                models=f", range({shape.models}) AS models (model)" if several else "",
                file=lists,
            ).replace("% 100003", f"% {max(100_003, 3 * per_user)}")
        )
        connection.execute(
            TRUTH.format(
                users=users, per_user=per_user, relevant=shape.relevant, file=truth
            ).replace("% 100003", f"% {max(100_003, 3 * per_user)}")
        )
        if shape.groups:
            connection.execute(GROUPS.format(users=users, groups=scaled(shape.groups), file=groups))
    command = [sys.executable, "-m", "sqlmetrics", "evaluate", *shape.arguments]
    command += ["-r", str(lists), "-i", str(truth), "--no-check", "-o", str(folder / "out.csv")]
    return [*command, "--force", *(["--users", str(groups)] if shape.groups else [])]


def measured(command: list[str], folder: Path) -> tuple[int, float, float, float, str]:
    """Run a command; return its exit code, seconds, CPU seconds, peak megabytes and message."""
    start = time.perf_counter()
    with (folder / "stderr.txt").open("w+") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        stderr.seek(0)
        lines = stderr.read().splitlines()
    process.returncode = os.waitstatus_to_exitcode(status)
    message = next((line for line in lines if "error" in line), lines[0] if lines else "")
    cpu = usage.ru_utime + usage.ru_stime
    return process.returncode, seconds, cpu, usage.ru_maxrss / 1024, message[:160]


if __name__ == "__main__":
    main()
