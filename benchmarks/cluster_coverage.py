"""How often 95 % intervals contain the true mean when users have several lists.

    python benchmarks/cluster_coverage.py --repetitions 2000

Lists of a user have hits with a probability of the user, drawn from a beta distribution with the
mean 0.2, so that the values of two lists of a user have the given correlation. The intervals are
those of the formulas that the tests compare the statements with: value ± z standard errors of
independent lists, --cluster, --cluster with --ci bootstrap (a third of the repetitions).

A second table is of weighted means and of slices: lists with the weights 1, 2 or 5, and slices with
half of the lists, each by a fair coin. Its intervals are the first two.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

MEAN, LEVEL, RESAMPLES = 0.2, 0.95, 500
Array: TypeAlias = npt.NDArray[Any]


def hits(draw: np.random.Generator, users: int, lists: int, correlation: float) -> Array:
    """Return the number of hits in the lists of every user."""
    if correlation == 0:
        return draw.binomial(lists, MEAN, users)
    size = 1 / correlation - 1
    return draw.binomial(lists, draw.beta(MEAN * size, (1 - MEAN) * size, users))


def intervals(sums: Array, lists: int, draw: np.random.Generator) -> Iterator[tuple[float, float]]:
    """Yield the intervals from the sum of values of every user: normal, clusters, bootstrap."""
    users, n = len(sums), len(sums) * lists
    value = sums.sum() / n
    deviation = np.sqrt(value * (1 - value) * n / (n - 1))  # of values 0 and 1
    z = stats.norm.ppf((1 + LEVEL) / 2)
    yield value - z * deviation / np.sqrt(n), value + z * deviation / np.sqrt(n)
    residuals = sums - value * lists
    error = np.sqrt(users / (users - 1) * (residuals**2).sum()) / n
    t = stats.t.ppf((1 + LEVEL) / 2, users - 1)
    yield value - t * error, value + t * error
    weights = draw.poisson(1, (RESAMPLES, users))
    means = (weights @ sums) / np.maximum(weights.sum(axis=1) * lists, 1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    yield low, high


def coverage(users: int, lists: int, correlation: float, repetitions: int) -> list[float]:
    """Return the share of intervals of each kind that contain the mean."""
    draw = np.random.default_rng([users, lists, int(100 * correlation)])
    found, counts = np.zeros(3), np.zeros(3)
    for repetition in range(repetitions):
        sums = hits(draw, users, lists, correlation)
        of_all = intervals(sums, lists, draw)
        for kind in range(3 if repetition % 3 == 0 else 2):
            low, high = next(of_all)
            found[kind] += low <= MEAN <= high
            counts[kind] += 1
    return list(found / counts)


def of_parts(values: Array, weights: Array, given: float = MEAN) -> tuple[bool, bool]:
    """Return whether the intervals of a weighted mean contain the true one: normal, clusters.

    `values` and `weights` have a row per user and a column per list; a weight of 0 is a list
    outside the slice. A user without a list does not count.
    """
    inside = weights > 0
    n, users = inside.sum(), inside.any(axis=1).sum()
    value = (weights * values).sum() / weights.sum()
    residuals = weights * (values - value)
    error = np.sqrt(n / (n - 1) * (residuals**2).sum()) / weights.sum()
    of_clusters = np.sqrt(users / (users - 1) * (residuals.sum(axis=1) ** 2).sum()) / weights.sum()
    z, t = stats.norm.ppf((1 + LEVEL) / 2), stats.t.ppf((1 + LEVEL) / 2, users - 1)
    distance = abs(value - given)
    return distance <= z * error, distance <= t * of_clusters


def coverage_of_parts(
    kind: str, users: int, lists: int, correlation: float, repetitions: int
) -> list[float]:
    """Return the share of intervals that contain the mean, for weighted means or slices."""
    draw = np.random.default_rng([users, lists, int(100 * correlation), len(kind)])
    size = 1 / correlation - 1
    found = np.zeros(2)
    for _ in range(repetitions):
        shares = draw.beta(MEAN * size, (1 - MEAN) * size, (users, 1))
        values = draw.random((users, lists)) < shares
        choices = [1, 2, 5] if kind == "weighted" else [0, 1]
        found += of_parts(values, draw.choice(choices, (users, lists)))
    return list(found / repetitions)


def main() -> None:
    """Print a row per correlation and number of lists, a column per number of users."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    repetitions = parser.parse_args().repetitions
    sizes = (10, 30, 200, 2000)
    print("| correlation | lists per user |", " | ".join(f"{n:,} users" for n in sizes), "|")
    print("|---:|---:|" + "---|" * len(sizes))
    for correlation in (0.0, 0.1, 0.3):
        for lists in (3, 5, 10):
            cells = [
                " / ".join(
                    f"{100 * share:.0f}" for share in coverage(n, lists, correlation, repetitions)
                )
                for n in sizes
            ]
            print(f"| {correlation:g} | {lists} |", " | ".join(cells), "|", flush=True)
    print("\n| mean | correlation | lists per user |", end=" ")
    print(" | ".join(f"{n:,} users" for n in sizes), "|")
    print("|---|---:|---:|" + "---|" * len(sizes))
    for kind, correlation, lists in itertools.product(("weighted", "slice"), (0.1, 0.3), (5, 10)):
        cells = [
            " / ".join(
                f"{100 * share:.0f}"
                for share in coverage_of_parts(kind, n, lists, correlation, repetitions)
            )
            for n in sizes
        ]
        print(f"| {kind} | {correlation:g} | {lists} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
