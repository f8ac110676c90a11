"""Cost of many cutoffs, models and slices: time and memory as their number grows.

    python benchmarks/many.py [--cases cutoffs models slices] [--limit 240]

Every case runs in a separate process, from the start of Python to the result. The script prints CPU
seconds, seconds and peak memory. The tables are small, so that planning dominates the cost of
cutoffs: 240 rows; of models, 200 rows each; of slices of users by country, 100,000 rows.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

NUMBERS = {
    "cutoffs": (1, 100, 200, 500, 1000),
    "models": (1, 100, 200, 500, 1000),
    "slices": (1, 500, 1000, 5000, 10_000),
}
USERS = {"cutoffs": 24, "models": 20, "slices": 10_000}
PER_USER = 10  # length of the lists
# no list repeats an item: the number of items is coprime to the steps
LISTS = """
    SELECT 'm' || models.range AS model, users.range AS user_id, places.range AS rank,
        (users.range * 7919 + places.range * 104729 + models.range) % 101 AS item_id
    FROM range({models}) AS models, range({users}) AS users, range(1, {per_user} + 1) AS places
"""
TRUTH = "SELECT DISTINCT user_id, item_id FROM lists WHERE (user_id * 31 + rank * 17) % 25 < 3"
COUNTRIES = "SELECT range AS user_id, 'c' || range % {countries} AS country FROM range({users})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=[*NUMBERS], default=[*NUMBERS])
    parser.add_argument("--limit", type=float, default=240, help="maximum seconds per case")
    options = parser.parse_args()
    for of in options.cases:
        for metrics, number in cases(of):
            with tempfile.TemporaryDirectory() as temporary:
                write_tables(Path(temporary), of, number)
                took = cost(Path(temporary), of, metrics, number, options.limit)
            print(f"{' '.join(metrics)}, {number:,} {of}: {took}", flush=True)


def cases(of: str) -> Iterator[tuple[list[str], int]]:
    """Yield the metrics and the number of cutoffs, models or slices of every case."""
    several = ["ndcg", "recall", "map", "precision"]
    for metrics in [["ndcg"], several] if of == "cutoffs" else [several]:
        yield from ((metrics, number) for number in NUMBERS[of])


def write_tables(folder: Path, of: str, number: int) -> None:
    """Write lists, held-out interactions and users as Parquet."""
    users, models = USERS[of], number if of == "models" else 1
    countries = COUNTRIES.format(countries=number, users=users)
    with duckdb.connect() as connection:
        lists = LISTS.format(models=models, users=users, per_user=PER_USER)
        connection.execute(f"CREATE TABLE lists AS {lists}")
        columns = "user_id, item_id, rank" + (", model" if of == "models" else "")
        connection.execute(f"COPY (SELECT {columns} FROM lists) TO '{folder / 'lists.parquet'}'")
        connection.execute(f"COPY ({TRUTH}) TO '{folder / 'truth.parquet'}'")
        connection.execute(f"COPY ({countries}) TO '{folder / 'users.parquet'}'")


def cost(folder: Path, of: str, metrics: list[str], number: int, limit: float) -> str:
    """Run one case in a separate process, and return its cost as text."""
    cutoffs, by = (number, "") if of == "cutoffs" else (1, "country" if of == "slices" else "")
    command = [sys.executable, "-c", RUN, str(folder), ",".join(metrics), str(cutoffs), by]
    started = time.perf_counter()
    try:
        found = subprocess.run(command, timeout=limit, check=True, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return f"not done in {limit:g} s"
    return f"{time.perf_counter() - started:.1f} s on the clock, {found.stdout.splitlines()[-1]}"


RUN = """
import resource, sys
import sqlmetrics as sm

folder, metrics, most, by = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3]), sys.argv[4]
users = {"users": f"{folder}/users.parquet"} if by else {}
with sm.Evaluator(f"{folder}/lists.parquet", f"{folder}/truth.parquet", **users) as evaluator:
    evaluator.rows(metrics, range(1, most + 1), by=[by] if by else None)
used = resource.getrusage(resource.RUSAGE_SELF)
unit = 2**20 if sys.platform == "darwin" else 2**10
print(f"{used.ru_utime + used.ru_stime:.1f} s of CPU, {used.ru_maxrss / unit:,.0f} MB")
"""


if __name__ == "__main__":
    main()
