"""Coverage of the 95 % intervals of metrics beyond accuracy, of users and of whole runs.

    python benchmarks/run_interval_coverage.py [--repetitions 200] [--of-users 1000]
        [--resamples 100] [--users 100 300 1000]

Draws the lists of n users many times from a known population, and counts how often each interval
contains the true value. A user prefers one of five categories; the items of the history and of the
list are drawn from a catalogue of 500 items with weights that decrease with the rank of the item,
three times as large for items of this category. Every repetition is a model of one evaluation, with
users of its own.

The intervals of metrics of users are value ± z standard errors, and the true value is the mean over
a large population. The intervals of metrics of runs are those of `--ci bootstrap --run-ci`. For
them, the script also prints the mean value of runs of n users, which differs from the value of the
population if the value depends on the number of users, and how often the interval contains it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np
import pandas as pd

import sqlmetrics as sm

AT_ONCE = 50  # models of one evaluation
ITEMS, CATEGORIES, KNOWN, LENGTH = 500, 5, 8, 10
POPULATION = 40_000  # users of the evaluation that gives the true values
OF_USERS = [
    *("calibration", "category_entropy", "unseen", "tail_share"),
    *("popularity_lift", "awrf"),
]
OF_RUNS = [
    *("exposure_parity", "statistical_parity", "group_popularity_lift"),
    *("gini", "item_entropy", "coverage"),
]
CATEGORY = np.arange(ITEMS) * 7 % CATEGORIES
POPULAR = 1 / np.arange(1, ITEMS + 1)


def drawn(random: np.random.Generator, users: int, tastes: Any, n: int, steepness: float) -> Any:
    """Draw n different items per user, with weights."""
    items = np.empty((users, n), dtype=np.int64)
    for first in range(0, users, 2000):
        some = slice(first, first + 2000)
        weights = POPULAR**steepness * np.where(tastes[some, None] == CATEGORY, 3.0, 1.0)
        arrival = random.exponential(size=weights.shape) / weights
        items[some] = np.argsort(arrival, axis=1)[:, :n]
    return items


def pairs(users: Any, items: Any) -> pd.DataFrame:
    rows = {"user_id": np.repeat(users, items.shape[1]), "item_id": items.ravel()}
    return pd.DataFrame(rows)


class World:
    """Items, and the history of a population, which fixes the popularity of the items."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.items = pd.DataFrame(
            {
                "item_id": np.arange(ITEMS),
                "category": [f"category {number}" for number in CATEGORY],
                "item_group": np.where(np.arange(ITEMS) % 3 == 0, "small", "large"),
            }
        )
        self.tastes = random.integers(0, CATEGORIES, POPULATION)
        self.history = pairs(
            -1 - np.arange(POPULATION), drawn(random, POPULATION, self.tastes, KNOWN, 0.7)
        )

    def evaluated(
        self, metrics: list[str], models: int, users: int, **interval: Any
    ) -> pd.DataFrame:
        """Evaluate models with lists of their own users."""
        n = models * users
        tastes, ids = self.random.integers(0, CATEGORIES, n), np.arange(n)
        known = pairs(ids, drawn(self.random, n, tastes, KNOWN, 0.7))
        lists = pairs(ids, drawn(self.random, n, tastes, LENGTH, 0.9))
        lists["rank"] = np.tile(np.arange(1, LENGTH + 1), n)
        lists["model"] = lists["user_id"] // users
        with sm.Evaluator(
            lists, known, history=pd.concat([self.history, known]), items=self.items,
            settings={"catalogue": "items"}, trust_input=True, check=False,
        ) as evaluator:  # fmt: skip
            return evaluator.evaluate(metrics, k=LENGTH, **interval)


def share(rows: pd.DataFrame, value: float) -> float:
    """Return the share of the intervals that contain a value."""
    return float(((rows["ci_low"] <= value) & (value <= rows["ci_high"])).mean())


def main() -> None:
    """Print one line per metric and number of users."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200, help="of metrics of runs")
    parser.add_argument("--of-users", type=int, default=1000, help="repetitions of the others")
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--users", type=int, nargs="+", default=[100, 300, 1000])
    options = parser.parse_args()
    started = time.process_time()
    world = World(np.random.default_rng(1))
    metrics = [*OF_USERS, *OF_RUNS]
    whole = world.evaluated(metrics, 1, POPULATION).set_index("metric")["value"]
    print("metric | users | population | covered | mean of runs | covered")
    for users in options.users:
        of_users = [
            world.evaluated(OF_USERS, AT_ONCE, users) for _ in range(options.of_users // AT_ONCE)
        ]
        of_runs = [
            world.evaluated(OF_RUNS, AT_ONCE, users, ci="bootstrap", run_ci=True,
                            resamples=options.resamples, seed=turn)
            for turn in range(1, options.repetitions // AT_ONCE + 1)
        ]  # fmt: skip
        found = pd.concat([*of_users, *of_runs])
        for metric in metrics:
            rows, true = found[found["metric"] == metric], float(whole[metric])
            line = f"{metric} | {users} | {true:.4f} | {share(rows, true):.3f}"
            if metric in OF_RUNS:
                mean = statistics.fmean(rows["value"])
                line += f" | {mean:.4f} | {share(rows, mean):.3f}"
            print(line, flush=True)
    print(f"{time.process_time() - started:.0f} CPU s")


if __name__ == "__main__":
    main()
