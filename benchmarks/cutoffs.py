"""Cost of many cutoffs: time and memory for 1:100, 1:200, 1:500 and 1:1000.

    python benchmarks/cutoffs.py [--users 24] [--per-user 10] [--most 1000] [--limit 240]

Every case runs in a separate process, from the start of Python to the result. The script prints CPU
seconds, seconds and peak memory. The default table has 240 rows, so that planning dominates the
cost; `--users 10000 --per-user 100` has a million rows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

CUTOFFS = [1, 100, 200, 500, 1000]
METRICS = [["ndcg"], ["ndcg", "recall", "map", "precision"]]
LISTS = """
    SELECT users.range AS user_id, places.range AS rank,
        (users.range * 7919 + places.range * 104729) % {items} AS item_id
    FROM range({users}) AS users, range(1, {per_user} + 1) AS places
"""
TRUTH = "SELECT user_id, item_id FROM lists WHERE (user_id * 31 + rank * 17) % 25 < 3"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=24)
    parser.add_argument("--per-user", type=int, default=10, help="length of the lists")
    parser.add_argument("--most", type=int, default=max(CUTOFFS), help="maximum number of cutoffs")
    parser.add_argument("--limit", type=float, default=240, help="maximum seconds per case")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_tables(folder, options.users, options.per_user)
        print(f"{options.users * options.per_user:,} rows")
        for metrics in METRICS:
            for most in (most for most in CUTOFFS if most <= options.most):
                took = cost(folder, metrics, most, options.limit)
                print(f"{' '.join(metrics)} 1:{most}: {took}", flush=True)


def write_tables(folder: Path, users: int, per_user: int) -> None:
    """Write lists and held-out interactions as Parquet."""
    with duckdb.connect() as connection:
        items = 10 * per_user + 1  # coprime to the steps, so that no list repeats an item
        lists = LISTS.format(users=users, per_user=per_user, items=items)
        connection.execute(f"CREATE TABLE lists AS {lists}")
        connection.execute(f"COPY lists TO '{folder / 'lists.parquet'}'")
        connection.execute(f"COPY ({TRUTH}) TO '{folder / 'truth.parquet'}'")


def cost(folder: Path, metrics: list[str], most: int, limit: float) -> str:
    """Run one case in a separate process, and return its cost as text."""
    command = [sys.executable, "-c", RUN, str(folder), ",".join(metrics), str(most)]
    started = time.perf_counter()
    try:
        found = subprocess.run(command, timeout=limit, check=True, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return f"not done in {limit:g} s"
    return f"{time.perf_counter() - started:.1f} s on the clock, {found.stdout.splitlines()[-1]}"


RUN = """
import resource, sys
import sqlmetrics as sm

folder, metrics, most = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
with sm.Evaluator(f"{folder}/lists.parquet", f"{folder}/truth.parquet") as evaluator:
    evaluator.rows(metrics, range(1, most + 1))
used = resource.getrusage(resource.RUSAGE_SELF)
unit = 2**20 if sys.platform == "darwin" else 2**10
print(f"{used.ru_utime + used.ru_stime:.1f} s of CPU, {used.ru_maxrss / unit:,.0f} MB")
"""


if __name__ == "__main__":
    main()
