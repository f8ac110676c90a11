"""Cost of repeated evaluations in one process, as a multiple of the printed statement.

    python benchmarks/loop.py [--users 1000 10000 100000] [--runs 7]

Every run evaluates new lists of 50 items in a data frame, with six metrics at five cutoffs. "new"
is a new evaluator, "with_tables" one that shares everything else with the first. The statement runs
in one connection, without checks, from the same frame to rows.
"""

from __future__ import annotations

import argparse
import functools
import warnings
from collections.abc import Callable

import duckdb
import numpy as np
import pandas as pd
from timing import measure

import sqlmetrics as sm

METRICS = ["ndcg", "recall", "precision", "map", "mrr", "hit_rate"]
CUTOFFS = [1, 5, 10, 20, 50]
N_ITEMS = 5_000
STATEMENT = "printed statement"
MODES = {
    "": {"check": False},
    ", with data checks": {"check": True},
    ", trusted": {"trust_input": True},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    warnings.simplefilter("ignore", sm.DataWarning)
    for n_users in options.users:
        print(f"{n_users:,} users")
        times = measure(actions(n_users), options.runs)
        for name, cpu in times.items():
            print(f"  {name:<32}{cpu:8.3f} CPU s{cpu / times[STATEMENT]:8.2f} x")


def actions(n_users: int) -> dict[str, Callable[[], object]]:
    """Return the measured actions by name."""
    random = np.random.default_rng(1)
    truth = pd.DataFrame(
        {
            "user_id": np.repeat(np.arange(n_users), 10),
            "item_id": random.integers(0, N_ITEMS, n_users * 10),
        }
    ).drop_duplicates()
    frames = [lists(n_users, random) for _ in range(2)]  # in turn, so that each run has other rows
    with sm.Evaluator(frames[0], truth, check=False) as evaluator:
        statement = evaluator.sql(METRICS, CUTOFFS)
    connection = duckdb.connect()
    connection.register("sqlmetrics_interactions", truth)

    def following() -> pd.DataFrame:
        frames.reverse()
        return frames[0]

    def run_statement() -> object:
        connection.register("sqlmetrics_recommendations", following())
        return connection.execute(statement).fetchall()

    def new(mode: str) -> object:
        with sm.Evaluator(following(), truth, **MODES[mode]) as evaluator:
            return evaluator.evaluate(METRICS, CUTOFFS)

    def with_tables(base: sm.Evaluator) -> object:
        with base.with_tables(recommendations=following()) as evaluator:
            return evaluator.evaluate(METRICS, CUTOFFS)

    known: dict[str, Callable[[], object]] = {STATEMENT: run_statement}
    for mode, given in MODES.items():
        base = sm.Evaluator(frames[0], truth, **given)
        base.evaluate(METRICS, CUTOFFS)
        known[f"new{mode}"] = functools.partial(new, mode)
        known[f"with_tables{mode}"] = functools.partial(with_tables, base)
    return known


def lists(n_users: int, random: np.random.Generator) -> pd.DataFrame:
    """Return lists of 50 different items per user, with random scores."""
    users = np.repeat(np.arange(n_users), 50)
    start = np.repeat(random.integers(0, N_ITEMS, n_users), 50)
    items = (start + np.tile(np.arange(50) * 37, n_users)) % N_ITEMS
    return pd.DataFrame({"user_id": users, "item_id": items, "score": random.random(len(users))})


if __name__ == "__main__":
    main()
